"""A transcript: text with the speakers' names in it, pasted or saved.

Known are names at the start of a line (``You: …``, ``**Assistant**: …``, ``Human: …``), names
alone on a line or in a heading (``## User``, ``You said:``, as a page that was copied has it), and
the Markdown that Turntree writes itself. The first name of each side settles how the two are
called: the same words in an answer are then words. What is between two names stays as it is but
for the blank lines around it. A text without speakers is none of these.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from core.errors import BadFile
from core.interchange import streams
from core.interchange.times import iso
from core.interchange.turns import Turns
from core.types import Carried, Damaged, Part, Role, Source, Text

_PEOPLE = (
    "you", "user", "human", "me", "person", "prompt", "question", "q", "du", "ich", "nutzer",
    "vous", "moi", "utilisateur", "usuario", "tú", "yo",
)  # fmt: skip
_MODELS = (
    "model", "assistant", "ai", "bot", "answer", "response", "a", "chatgpt", "gpt", "gpt-4",
    "gpt-4o", "gpt-5", "claude", "gemini", "bard", "copilot", "bing", "grok", "llama", "mistral",
    "le chat", "deepseek", "perplexity", "qwen", "ki", "assistent", "modell", "asistente", "ia",
    "chatbot",
)  # fmt: skip
_ROLES: dict[str, Role] = {
    **dict.fromkeys(_PEOPLE, "user"),
    **dict.fromkeys(_MODELS, "assistant"),
    "system": "system",
}
_SAID: dict[str, Role] = {
    "you said": "user",
    "du hast gesagt": "user",
    "vous avez dit": "user",
    "has dicho": "user",
    "hai detto": "user",
}
_ANSWERED = re.compile(
    r"([\w .+-]{1,40}?) (?:said|responded|replied|hat gesagt|a dit|dijo|ha detto)", re.IGNORECASE
)
_OURS = re.compile(r"## (?:Turn \d+ · (.+)|Recap \(.+\))")
_FACTS = re.compile(r"\*(\d{4}-\d\d-\d\d) (\d\d:\d\d) UTC\b.*\*(?:\n|\Z)")
_STARRED = re.compile(r"\*\*([^*\n:]{1,40}?)(?::\*\*|\*\*[ \t]*:)[ \t]?(.*)")
_HEADED = re.compile(
    r"(?:#{1,6}[ \t]+(?:\*\*)?([^*\n:#]{1,40}?)(?:\*\*)?:?(?:\*\*)?|\*\*([^*\n:]{1,40}?)\*\*)[ \t]*"
)
_PLAIN = re.compile(r"([^\W\d_][\w -]{0,39}?):[ \t]?(.*)")
_ALONE = re.compile(r"([^\n:]{1,60}?)[ \t]*:?[ \t]*")
_FENCE = re.compile(r"[ ]{0,3}(```+|~~~+)")
_ABOUT = re.compile(r"\*\*([A-Z][a-z ]{2,20}):\*\*[ ]?(.*)")
_ATTACHED = re.compile(r"Attached: (`[^`\n]+`(?:, `[^`\n]+`)*)")
_BLANK_START = re.compile(r"\A(?:[ \t]*\n)+")
_EDITED = " (edited by hand)"
_RECAP = "(recap)"


@dataclass(frozen=True, slots=True)
class _Name:
    """A speaker's name that stands in a line: how it is written, and what follows it there."""

    style: str
    called: str
    role: Role
    rest: str
    model: str = ""


@dataclass(frozen=True, slots=True)
class _Turn:
    name: _Name
    text: str


class Transcript:
    """The words of a chat, with who said them."""

    name = "transcript"
    label = "Transcript (You: … / Model: …)"

    def recognise(self, source: Source) -> float:
        """Fairly sure of text in which both sides have a name."""
        head = streams.decoded_head(source)
        if "\0" in head or (streams.is_json(source) and not _brackets(head)):
            return 0.0
        turns, _ = _turns(head)
        roles = {turn.name.role for turn in turns}
        if {"user", "assistant"} <= roles:
            return 0.9 if turns[0].name.style == "ours" else 0.6
        return 0.55 if roles and source.size > len(source.head()) else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversation. Raises ``BadFile`` for a text in which nobody speaks."""
        turns, before = _turns(streams.text(source))
        if not {turn.name.role for turn in turns} & {"user", "assistant"}:
            raise BadFile(
                f"{source.name} names no speakers.",
                hint="Begin each message with You: or Model: on a line of its own.",
            )
        gathered = Turns()
        for turn in turns:
            _add(gathered, turn)
        title, told = _about(before, turns[0].name.style, gathered)
        if words := told.get("System prompt"):
            gathered.system.insert(0, words)
        made = gathered.carried(title=title)
        if made is not None:
            objective, done_when = told.get("Objective", ""), told.get("Done when", "")
            yield replace(made, objective=objective, done_when=done_when)


def _brackets(head: str) -> bool:
    """Whether a text only looks like JSON: it begins with a bracket and goes on in words."""
    return not re.match(r"\s*[\[{]\s*[\]}\[{\"\d-]", head)


def _add(gathered: Turns, turn: _Turn) -> None:
    words, at = turn.text, None
    if turn.name.style == "ours":
        if turn.name.called == _RECAP:
            gathered.leave("recaps", "they stand in for messages that are here themselves")
            return
        if found := _FACTS.match(words):
            at = iso(f"{found[1]}T{found[2]}:00Z")
            words = _BLANK_START.sub("", words[found.end() :])
        if found := _ATTACHED.match(words):
            for name in re.findall(r"`([^`\n]+)`", found[1]):
                gathered.absent(name)
            words = _BLANK_START.sub("", words[found.end() :].removeprefix("\n"))
    parts: list[Part] = [Text(text=words)] if words else []
    gathered.add(turn.name.role, parts, at=at, model=turn.name.model)


def _turns(text: str) -> tuple[list[_Turn], str]:
    """Who said what, and what stands before the first name."""
    lines = text.split("\n")
    fenced = _fenced(lines)
    names: list[tuple[int, _Name]] = []
    called: dict[Role, str] = {}
    for number, line in enumerate(lines):
        if fenced[number] or (len(line) > 20_000 and ":" not in line[:60]):
            continue
        found = _name_in(line, names[0][1].style if names else "")
        if found is not None and _same_speaker(found, called):
            names.append((number, found))
    if not names:
        return [], text
    ends = [number for number, _ in names[1:]] + [len(lines)]
    turns = [
        _Turn(name, _between(name.rest, lines[number + 1 : end]))
        for (number, name), end in zip(names, ends, strict=True)
    ]
    return turns, "\n".join(lines[: names[0][0]])


def _same_speaker(found: _Name, called: dict[Role, str]) -> bool:
    """Whether this is how the side is called in this text; the first time settles it."""
    if found.style in ("ours", "said"):
        return True
    return called.setdefault(found.role, found.called) == found.called


def _between(rest: str, lines: Sequence[str]) -> str:
    words = "\n".join([rest, *lines]) if rest else "\n".join(lines)
    words = _BLANK_START.sub("", words)
    end = len(words.rstrip(" \t\n"))
    blank = words.find("\n", end)
    return words if blank < 0 else words[:blank]


def _fenced(lines: Sequence[str]) -> list[bool]:
    """Which lines are in a block of code; a fence that nothing closes is none."""
    inside = [False] * len(lines)
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if found is None:
            continue
        if opened is None:
            opened = (number, found[1])
        elif found[1].startswith(opened[1]) and not line.strip().strip("`~"):
            inside[opened[0] : number + 1] = [True] * (number + 1 - opened[0])
            opened = None
    return inside


def _name_in(line: str, style: str) -> _Name | None:
    """The name that a line begins with, in the style of this text or, at first, in any."""
    for name, look in _STYLES.items():
        if style in ("", name) and (found := look(line)) is not None:
            return found
    return None


def _ours(line: str) -> _Name | None:
    found = _OURS.fullmatch(line.rstrip())
    if found is None:
        return None
    if found[1] is None:
        return _Name("ours", _RECAP, "system", "")
    who = found[1].removesuffix(_EDITED)
    role: Role = {"You": "user", "System": "system", "Tool": "tool"}.get(who, "assistant")  # type: ignore[assignment]
    model = who if role == "assistant" and who != "Model" else ""
    return _Name("ours", who, role, "", model)


def _said(line: str) -> _Name | None:
    found = _ALONE.fullmatch(line.strip()) if len(line) < 80 else None
    words = " ".join(found[1].lstrip("# *").rstrip("* ").split()) if found else ""
    if words.lower() in _SAID:
        return _Name("said", words, "user", "")
    answered = _ANSWERED.fullmatch(words)
    if answered and _ROLES.get(answered[1].lower()) == "assistant":
        return _Name("said", words, "assistant", "")
    return None


def _known(style: str, who: str, rest: str) -> _Name | None:
    role = _ROLES.get(" ".join(who.split()).lower())
    return None if role is None else _Name(style, who.strip().lower(), role, rest)


def _starred(line: str) -> _Name | None:
    found = _STARRED.fullmatch(line)
    return _known("starred", found[1], found[2]) if found else None


def _headed(line: str) -> _Name | None:
    found = _HEADED.fullmatch(line) if len(line) < 80 else None
    return _known("headed", found[1] or found[2], "") if found else None


def _plain(line: str) -> _Name | None:
    found = _PLAIN.fullmatch(line) if ":" in line[:45] else None
    return _known("plain", found[1], found[2] or "") if found else None


_STYLES = {
    "ours": _ours,
    "said": _said,
    "starred": _starred,
    "headed": _headed,
    "plain": _plain,
}


# --- what stands before the first message ------------------------------------------------------


def _about(before: str, style: str, gathered: Turns) -> tuple[str, dict[str, str]]:
    """The title, and what our own Markdown says of a conversation, by its label."""
    title, label, other = "", "", False
    told: dict[str, list[str]] = {}
    for line in before.split("\n"):
        found = _ABOUT.fullmatch(line) if style == "ours" else None
        if found:
            label = found[1]
            told[label] = [found[2]] if found[2] else []
        elif label and (line.startswith(">") or not told[label]):
            told[label] += [line.removeprefix(">").removeprefix(" ")] if line.strip() else []
        elif not title and line.startswith("# "):
            title = line[2:].strip()
        elif line.strip() and not (style == "ours" and line.startswith("Branch: ")):
            other = True
    if other:
        gathered.leave("words before the first speaker", "nobody is named who says them")
    return title, {name: "\n".join(lines) for name, lines in told.items()}


FORMAT = Transcript()
