"""A branch as a configuration of promptfoo: every turn of the person is a test of one conversation,
and the last one asserts what the session's checks ask for.

promptfoo fills in templates twice, in what it is given and in what came out of it. So no text of a
conversation holds a bare brace here: each is put as JSON with ``\\u007b`` for it, which is read
back as the brace when the prompt is parsed, and never as a template.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from core.interchange.replayed import (
    body_of,
    json_text,
    listed,
    name_of,
    phrases,
    python_of,
    settings,
    system_of,
    turns,
)
from core.types import BranchTaken, Check, Include, Json, Scope, well_formed

_PROMPT = """\
[
  {% if system %}{"role": "system", "content": {{ system }} },{% endif %}
  {% for turn in _conversation %}
  {"role": "user", "content": {{ turn.input | dump | replace("{", "\\\\u007b") }} },
  {"role": "assistant", "content": {{ turn.output | dump | replace("{", "\\\\u007b") }} },
  {% endfor %}
  {"role": "user", "content": {{ said }} }
]"""
_SERVERS = {"openai": "openai:responses", "anthropic": "anthropic:messages", "gemini": "google"}
_CAMEL = {"max_output_tokens": "maxOutputTokens", "top_p": "topP", "top_k": "topK"}
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")
_NOT_JS = re.compile(r"\(\?[aiLmsux#P(>]|\\[AZzGKXRpPhHN]|[*+?}]\+|\[\[")
"""What patterns of ours may hold and JavaScript does not read, or reads as something else."""


class Promptfoo:
    """The person's turns with the checks of the last answer."""

    name = "promptfoo"
    label = "promptfoo test file (YAML)"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "yaml"
    media_type = "application/yaml"
    options: frozenset[str] = frozenset()

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The configuration. Raises ``UserError`` where nobody said anything."""
        return well_formed("\n".join(_lines(taken))).encode()


def _lines(taken: BranchTaken) -> Iterator[str]:
    said = turns(taken)
    provider, unknown = _provider(taken)
    yield "# yaml-language-server: $schema=https://promptfoo.dev/config-schema.json"
    yield "# Run it with: npx promptfoo@latest eval -c <this file>"
    if unknown:
        yield f"# Settings that have no name there, and are left out: {listed(unknown)}"
    for one in said:
        if one.files:
            yield f"# Turn {one.number} had files, which are left out: {_comment(one.files)}"
    yield f"description: {json_text(f'{taken.session.title} · {taken.branch.name}')}"
    yield "prompts:"
    yield "  - label: conversation"
    yield "    raw: |-"
    yield from (f"      {line}" for line in _PROMPT.splitlines())
    yield "providers:"
    yield from _block(provider)
    if system := system_of(taken):
        yield "defaultTest:"
        yield "  vars:"
        yield f"    system: {json_text(_literal(system))}"
    yield "tests:"
    for one in said:
        yield f"  - description: {json_text(f'Turn {one.number}')}"
        yield "    vars:"
        yield f"      said: {json_text(_literal(one.text))}"
        yield "    metadata:"
        yield "      conversationId: turntree"
        if one is said[-1] and (asserts := list(_asserts(taken))):
            yield "    assert:"
            for found in asserts:
                yield from (f"    {line}" for line in _block(found))
    yield ""


def _comment(names: Sequence[str]) -> str:
    return json_text(listed(names))


def _literal(text: str) -> str:
    """A text as JSON in which no template begins."""
    return json.dumps(text, ensure_ascii=False).replace("{", "\\u007b")


def _block(values: Mapping[str, Json]) -> Iterator[str]:
    """An item of a list, a name a line."""
    for place, (name, value) in enumerate(values.items()):
        yield f"{'    ' if place else '  - '}{name}: {json_text(value)}"


def _provider(taken: BranchTaken) -> tuple[dict[str, Json], list[str]]:
    config = taken.config
    known, unknown = settings(config, config.provider)
    model = well_formed(config.model)
    if config.provider == "gemini":
        told: dict[str, Any] = {
            _CAMEL.get(name, "stopSequences" if name == "stop_sequences" else name): value
            for name, value in known.items()
        }
        known = {"generationConfig": told} if told else {}
    if config.provider in _SERVERS:
        return {"id": f"{_SERVERS[config.provider]}:{model}", "config": known}, unknown
    server = "{{ env.TURNTREE_BASE_URL | default('http://127.0.0.1:8080/v1') }}"
    own = {"apiBaseUrl": server, "apiKeyEnvar": "TURNTREE_API_KEY"}
    return {"id": f"openai:chat:{model}", "config": {**own, **known}}, unknown


# --- what the last answer must pass -------------------------------------------------------------


def _asserts(taken: BranchTaken) -> Iterator[dict[str, Json]]:
    for check in taken.checks:
        if found := _assert(check):
            yield {**found, "metric": _safe(name_of(check))}
    if done := taken.session.done_when.strip():
        words = f"It is done when: {well_formed(done)}"
        yield {"type": "llm-rubric", "value": _safe(words), "metric": "definition of done"}


def _safe(text: str) -> str:
    """Words for people or a model, in which no template begins."""
    return _TEMPLATE.sub(lambda found: f"{found[0][0]} {found[0][1]}", text)


def _assert(check: Check) -> dict[str, Json] | None:
    body = body_of(check)
    match check.kind:
        case "contains":
            return _contains(str(body.get("text", "")), case=bool(body.get("case")))
        case "regex":
            return _regex(str(body.get("pattern", "")))
        case "schema":
            return {"type": "contains-json", "value": _schema(body)}
        case "length":
            return {"type": "javascript", "value": _length(body)}
        case "number":
            return {"type": "javascript", "value": _number(body)}
        case "forbidden":
            return {"type": "javascript", "value": _forbidden(body)}
        case "expression":
            code = python_of(str(body.get("text", "")))
            if code is None or _TEMPLATE.search(code):
                return None
            return {"type": "python", "value": _EXPRESSION.format(code=code)}


def _contains(text: str, *, case: bool) -> dict[str, Json]:
    if not _TEMPLATE.search(text) and "://" not in text:
        return {"type": "contains" if case else "icontains", "value": text}
    wanted = _literal(text)
    if case:
        return {"type": "javascript", "value": f"output.includes({wanted})"}
    told = f"output.toLowerCase().includes({wanted}.toLowerCase())"
    return {"type": "javascript", "value": told}


def _regex(pattern: str) -> dict[str, Json]:
    if not _NOT_JS.search(pattern):
        return {"type": "javascript", "value": f'new RegExp({_literal(pattern)}, "u").test(output)'}
    told = f"import re\nreturn re.search({_python(pattern)}, output) is not None"
    return {"type": "python", "value": told}


def _python(text: str) -> str:
    """A text as Python in which no template begins."""
    return _literal(text).replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _schema(body: Mapping[str, Any]) -> Json:
    given = body.get("schema", body)
    if isinstance(given, str):
        try:
            return json.loads(given)
        except ValueError:
            return {}
    return given


def _length(body: Mapping[str, Any]) -> str:
    size = (
        "Array.from(output).length"
        if body.get("unit") == "chars"
        else "output.split(/\\s+/).filter(Boolean).length"
    )
    least, most = body.get("least"), body.get("most")
    told = [f"{size} >= {least}" if least is not None else ""]
    told += [f"{size} <= {most}" if most is not None else ""]
    return " && ".join(filter(None, told)) or "true"


def _number(body: Mapping[str, Any]) -> str:
    value, near = float(body.get("value") or 0), abs(float(body.get("tolerance") or 0))
    pattern = r"/(?<![\w.,])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?/gu"
    room = max(near, 1e-9 * max(abs(value), 1e-3))
    return (
        f'(output.match({pattern}) || []).some(n => Math.abs(Number(n.replaceAll(",", "")'
        f'.replace("−", "-")) - ({value!r})) <= {room!r})'
    )


def _forbidden(body: Mapping[str, Any]) -> str:
    found = []
    for phrase in phrases(body):
        words = r"\s+".join(_quoted(word) for word in phrase.split())
        before = r"(?<![\p{L}\p{N}_])" if phrase[0].isalnum() else ""
        after = r"(?![\p{L}\p{N}_])" if phrase[-1].isalnum() else ""
        found.append(_literal(before + words + after))
    return f'![{", ".join(found)}].some(one => new RegExp(one, "iu").test(output))'


def _quoted(word: str) -> str:
    """A word as a pattern of JavaScript that stands for itself."""
    return re.sub(r"[\\^$.*+?()\[\]{}|/]", r"\\\g<0>", word)


_EXPRESSION = """\
import json as _json, re as _re
text = output
words, chars, lines = len(text.split()), len(text), len(text.splitlines())
lower = lambda value: str(value).lower()
count = lambda part, whole: whole.count(part)
numbers = [float(n.replace(",", "").replace("−", "-")) for n in _re.findall(
    r"(?<![\\w.,])[-+−]?(?:\\d[\\d,]*)(?:\\.\\d+)?(?:[eE][-+]?\\d+)?", text)]
try:
    json = _json.loads(text)
except ValueError:
    json = None
return bool({code})"""


FORMAT = Promptfoo()
