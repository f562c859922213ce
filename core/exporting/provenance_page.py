"""A manifest to read: the same facts as a page of Markdown or HTML, made of its JSON alone."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from core.exporting import File, file_name
from core.interchange.page import facts, page, rendered, shown
from core.interchange.transcript import SPEAKERS, day, money

Kind = Literal["json", "markdown", "html"]
Manifest = Mapping[str, Any]
Rows = Sequence[Sequence[str]]
Section = tuple[str, str, Rows]
"""A heading, a sentence, and a table whose first row is the head."""

_OUTCOMES = {
    "same": "gave the same words",
    "alike": "gave nearly the same words",
    "different": "gave other words",
}
_SHORT = 12  # characters of a hash that tell two apart
_ONE_LINE = 30  # characters
_NOTHING = "—"
_STYLE = "main { max-width: 72rem; } .one { white-space: nowrap; }\n"


def as_file(manifest: Manifest, kind: Kind) -> File:
    """The manifest as a file of one kind."""
    title = manifest["session"]["title"]
    if kind == "json":
        content = json.dumps(manifest, ensure_ascii=False, indent=2) + "\n"
        return _file(title, "json", "application/json", content.encode("utf-8", "replace"))
    if kind == "html":
        return _file(title, "html", "text/html", html(manifest).encode())
    return _file(title, "md", "text/markdown", markdown(manifest).encode("utf-8", "replace"))


def markdown(manifest: Manifest) -> str:
    """The page as Markdown."""
    lines = [f"# {_line(_title(manifest))}", "", verdict(manifest), ""]
    lines += [f"- **{name}:** {_line(value)}" for name, value in head(manifest)]
    for heading, sentence, rows in sections(manifest):
        lines += ["", f"## {heading}", ""]
        lines += [sentence, ""] if sentence else []
        lines += _table(rows) if len(rows) > 1 else []
    for recap in manifest["recaps"]:
        words = "\n".join(f"> {line}".rstrip() for line in recap["text"].splitlines())
        lines += ["", f"Recap {recap['recap_id']}:", "", words]
    return "\n".join(lines).rstrip() + "\n"


def html(manifest: Manifest) -> str:
    """The page as HTML that stands alone."""
    body = [f"<h1>{shown(_title(manifest))}</h1>", f"<p>{shown(verdict(manifest))}</p>"]
    body.append(facts(list(head(manifest))))
    for heading, sentence, rows in sections(manifest):
        body.append(f"<h2>{shown(heading)}</h2>")
        body += [f"<p>{shown(sentence)}</p>"] if sentence else []
        body += [_grid(rows)] if len(rows) > 1 else []
    for recap in manifest["recaps"]:
        label = shown(f"Recap {recap['recap_id']}")
        body.append(f"<details><summary>{label}</summary>{rendered(recap['text'])}</details>")
    return page(_title(manifest), "\n".join(["<main>", *body, "</main>"]), _STYLE)


def verdict(manifest: Manifest) -> str:
    """Whether the answer can still be had, in one sentence."""
    latest = next((one for one in manifest["reruns"] if one["state"] == "done"), None)
    if latest is None:
        return "Not asked again yet: whether the same request still gives this is not known."
    said = f"Asked again on {day(latest['at'])}, the same request {_OUTCOMES[latest['outcome']]}"
    if latest["outcome"] != "same":
        said += f" ({latest['likeness']:.0%} alike)"
    if latest["model_before"] != latest["model_now"]:
        said += f"; {latest['model_now']} answered in place of {latest['model_before']}"
    return f"{said}."


def head(manifest: Manifest) -> Iterator[tuple[str, str]]:
    """What is known of the answer as a whole."""
    answer, totals, session = manifest["answer"], manifest["totals"], manifest["session"]
    yield "Session", session["title"]
    if manifest["branch"]:
        yield "Branch", manifest["branch"]["name"]
    for name, key in (("Objective", "objective"), ("Done when", "done_when")):
        if session[key]:
            yield name, session[key]
    yield "Answer", f"{answer['node_id']}{', marked final' if answer['final'] else ''}"
    yield "Written", f"{day(answer['at'])} by {answer['model'] or _author(answer)}"
    yield "SHA-256", answer["sha256"]
    yield "Model calls", f"{totals['runs']:,}"
    tokens = totals["tokens"]
    yield "Tokens", f"{_count(tokens['input'])} in, {_count(tokens['output'])} out"
    yield "Cost", _cost(totals["cost_nanodollars"], totals["runs_of_unknown_cost"])
    if manifest["imported_from"]:
        yield "Imported from", manifest["imported_from"]["format"]
    yield "Exported", day(manifest["exported_at"])


def sections(manifest: Manifest) -> Iterator[Section]:
    """The tables: what went before the answer, and what it was asked with."""
    yield "Path", "Every message from the first to this one.", _path(manifest)
    yield "Model calls", "What was sent is named by the hashes it is kept under.", _runs(manifest)
    yield "Settings", "", _configs(manifest)
    if manifest["hand_edits"]:
        yield "Edited by hand", "", _edits(manifest)
    if manifest["recaps"]:
        yield "Recaps", "", _recaps(manifest)
    if manifest["origins"]:
        yield "Words from elsewhere", "", _origins(manifest)
    if manifest["reruns"]:
        yield "Asked again", "", _reruns(manifest)


def _path(manifest: Manifest) -> Rows:
    rows = [["Turn", "Who", "When", "Characters", "SHA-256", "Message"]]
    for one in manifest["path"]:
        who = one["model"] or SPEAKERS[one["role"]]
        note = {"hand-edited": " (edited by hand)", "import": " (imported)"}.get(one["author"], "")
        files = "".join(f", {file['name']}" for file in one["files"])
        rows.append(
            [
                str(one["turn"]), f"{who}{note}{files}", day(one["at"]), f"{one['characters']:,}",
                _short(one["sha256"]), one["node_id"],
            ]
        )  # fmt: skip
    return rows


def _runs(manifest: Manifest) -> Rows:
    rows = [["When", "Model", "Policy", "Sent: settings", "Sent: messages", "In", "Out", "Cost"]]
    for one in manifest["runs"]:
        kind = "" if one["purpose"] == "reply" else f" ({one['purpose'].replace('_', ' ')})"
        sent, tokens = one["sent"], one["tokens"]
        rows.append(
            [
                day(one["started_at"]), f"{one['model_answered'] or one['model_asked']}{kind}",
                _policy(one), _short(sent["settings_hash"]), _short(sent["messages_hash"]),
                _count(tokens["input"]), _count(tokens["output"]),
                _cost(one["cost_nanodollars"], 1 if one["cost_nanodollars"] is None else 0),
            ]
        )  # fmt: skip
    return rows


def _policy(run: Manifest) -> str:
    kinds = [one["kind"] for one in run["overrides"]]
    beside = [f"{kinds.count(kind)} {kind}" for kind in dict.fromkeys(kinds)]
    return ", ".join([run["policy"], *beside])


def _configs(manifest: Manifest) -> Rows:
    rows = [["Name", "Provider", "Model", "Sampling", "System prompt"]]
    for name, one in manifest["configs"].items():
        sampling = ", ".join(f"{key}={value}" for key, value in one["sampling"].items())
        rows.append(
            [name, one["provider"], one["model"], sampling or _NOTHING, one["system"] or _NOTHING]
        )
    return rows


def _edits(manifest: Manifest) -> Rows:
    rows = [["Message", "Made of", "Words added", "Words removed"]]
    for one in manifest["hand_edits"]:
        added, removed = one.get("words_added"), one.get("words_removed")
        rows.append([one["node_id"], one["source_id"] or _NOTHING, _count(added), _count(removed)])
    return rows


def _recaps(manifest: Manifest) -> Rows:
    rows = [["Recap", "Covers to", "SHA-256", "Sent in", "In force now"]]
    for one in manifest["recaps"]:
        calls = len(one["in_force_for_runs"])
        rows.append(
            [
                one["recap_id"], one["covers_to"], _short(one["sha256"]),
                f"{calls} call{'' if calls == 1 else 's'}", "yes" if one["in_force_now"] else "no",
            ]
        )  # fmt: skip
    return rows


def _origins(manifest: Manifest) -> Rows:
    rows = [["Message", "How", "From", "SHA-256"]]
    rows += [
        [one["node_id"], one["kind"], one["origin_id"], _short(one["sha256"])]
        for one in manifest["origins"]
    ]
    return rows


def _reruns(manifest: Manifest) -> Rows:
    rows = [["When", "Outcome", "Alike", "Model then", "Model now", "Tokens out"]]
    for one in manifest["reruns"]:
        alike = _NOTHING if one["likeness"] is None else f"{one['likeness']:.0%}"
        said = _OUTCOMES.get(one["outcome"] or "", one["error"] or one["state"])
        tokens = f"{_count(one['tokens_before']['output'])} → {_count(one['tokens_now']['output'])}"
        rows.append([day(one["at"]), said, alike, one["model_before"], one["model_now"], tokens])
    return rows


def _table(rows: Rows) -> list[str]:
    first, *rest = rows
    lines = ["| " + " | ".join(first) + " |", "|" + " --- |" * len(first)]
    lines += ["| " + " | ".join(_cell(one) for one in row) + " |" for row in rest]
    return lines


def _grid(rows: Rows) -> str:
    first, *rest = rows
    head = "".join(f"<th>{shown(one)}</th>" for one in first)
    body = "".join("<tr>" + "".join(map(_td, row)) + "</tr>\n" for row in rest)
    return f'<div class="scroll"><table class="grid"><tr>{head}</tr>\n{body}</table></div>'


def _td(words: str) -> str:
    """A cell; what is short stays on one line."""
    kind = ' class="one"' if len(words) <= _ONE_LINE else ""
    return f"<td{kind}>{shown(words)}</td>"


def _title(manifest: Manifest) -> str:
    return f"Provenance of an answer in “{manifest['session']['title']}”"


def _author(answer: Manifest) -> str:
    if answer["author"] == "hand-edited":
        return "a person, by hand"
    return SPEAKERS[answer["role"]]


def _cost(nanodollars: int | None, unknown: int) -> str:
    if nanodollars is None:
        return "unknown" if unknown else _NOTHING
    rest = f" + {unknown} of unknown cost" if unknown else ""
    return f"{money(nanodollars)}{rest}"


def _count(number: int | None) -> str:
    return "unknown" if number is None else f"{number:,}"


def _short(hashed: str | None) -> str:
    return hashed[:_SHORT] if hashed else _NOTHING


def _line(words: str) -> str:
    return " ".join(words.split())


def _cell(words: str) -> str:
    return _line(words).replace("\\", "\\\\").replace("|", "\\|")


def _file(title: str, ending: str, media_type: str, content: bytes) -> File:
    name = file_name(title, "provenance", ending=ending)
    return File(name=name, media_type=media_type, content=content)
