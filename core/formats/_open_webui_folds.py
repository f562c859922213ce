"""An answer of Open WebUI taken apart: reasoning, tools and words.

They stand folded in its text, escaped for HTML, and in newer versions once more as a list of
items beside it.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.interchange import fields, streams
from core.types import Json, Parts, Text, Thinking, ToolCall, ToolResult

_ATTRIBUTE = re.compile(r'(?<![\w-])([\w-]++)="([^"]*)"')
_FOLDED = ("reasoning", "tool_calls", "code_interpreter")


def unfolded(said: str) -> Parts:
    """The text of an answer, and what is folded in it, in its order. A fold that nobody closed
    stays text."""
    found: list[Any] = []
    done = at = 0
    spoken = False
    while (at := said.find("<details", at)) >= 0:
        opened = said.find(">", at)
        if opened < 0:
            break
        attributes = dict(_ATTRIBUTE.findall(said[at:opened]))
        at_line_start = at == 0 or said[at - 1] == "\n"
        if attributes.get("type") not in _FOLDED or not at_line_start:
            at = opened
            continue
        closed = said.find("</details>", opened)
        if closed < 0:
            break
        spoken = _say(found, said[done:at], below=done > 0 and not spoken) or spoken
        found += _fold(attributes, said[opened + 1 : closed])
        at = done = closed + len("</details>")
        done += said.startswith("\n", done)
    _say(found, said[done:], below=done > 0 and not spoken)
    return tuple(found)


def _say(found: list[Any], words: str, *, below: bool) -> bool:
    """Add words, if they are any. Blank lines between a fold at the top and the text ``below``
    it are none of the text."""
    if not words.strip():
        return False
    found.append(Text(text=words.lstrip("\n") if below else words))
    return True


def _fold(attributes: Mapping[str, str], body: str) -> list[Any]:
    body = re.sub(r"\A\s*<summary>[^<]*</summary>", "", body).strip("\n")
    if attributes["type"] == "reasoning":
        words = _unquoted(html.unescape(body))
        return [Thinking(text=words)] if words.strip() else []
    key, name = attributes.get("id", ""), attributes.get("name", "")
    if attributes["type"] == "code_interpreter":
        name, body = "code_interpreter", html.unescape(body)
        arguments, result = body, _unpacked(attributes.get("output", ""))
    else:
        arguments = _unpacked(attributes.get("arguments", ""))
        result = _unpacked(attributes.get("result", "")) or html.unescape(body).strip()
    call = ToolCall(id=key, name=name, arguments=arguments)
    return [call, *([ToolResult(call_id=key, name=name, text=result)] if result else [])]


def _unquoted(words: str) -> str:
    """Reasoning stands there as a quotation, each line behind ``>``."""
    rows = words.split("\n")
    if any(row.strip() and not row.startswith(">") for row in rows):
        return words
    return "\n".join(row.removeprefix(">").removeprefix(" ") for row in rows)


def _unpacked(value: str) -> str:
    """An attribute: escaped for HTML, and mostly JSON of a text that is JSON itself."""
    text = html.unescape(value)
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inner if isinstance(inner, str) else text


def bare(words: str) -> str:
    """Words without any blanks: whether two texts say the same."""
    return "".join(words.split())


def output_of(items: Sequence[Mapping[str, Json]]) -> Parts:
    """The parts of an answer as newer versions keep them beside the text."""
    found: list[Any] = []
    names = {fields.words(one, "call_id"): fields.words(one, "name") for one in items}
    for one in items:
        kind = fields.words(one, "type")
        key = fields.words(one, "call_id", "id")
        if kind == "message":
            _add_words(found, _words(one, "content"))
        elif kind == "reasoning" and (words := _words(one, "summary") or _words(one, "content")):
            found.append(Thinking(text=words))
        elif kind == "function_call":
            arguments = streams.compact(one.get("arguments", ""))
            found.append(ToolCall(id=key, name=fields.words(one, "name"), arguments=arguments))
        elif kind == "function_call_output":
            result = _words(one, "output")
            found.append(ToolResult(call_id=key, name=names.get(key, ""), text=result))
        elif kind == "open_webui:code_interpreter":
            found.append(
                ToolCall(id=key, name="code_interpreter", arguments=fields.words(one, "code"))
            )
            if made := one.get("output"):
                told = streams.compact(made)
                found.append(ToolResult(call_id=key, name="code_interpreter", text=told))
    return tuple(found)


def _add_words(found: list[Any], words: str) -> None:
    """Text of its own line, when there was text before the tools."""
    if not words.strip():
        return
    for place in range(len(found) - 1, -1, -1):
        if isinstance(found[place], Text):
            if not found[place].text.endswith("\n"):
                found[place] = Text(text=f"{found[place].text}\n")
            break
    found.append(Text(text=words))


def _words(item: Mapping[str, Json], key: str) -> str:
    """The texts under a key: a list of parts, or a text by itself."""
    held = item.get(key)
    if isinstance(held, str):
        return held
    return "".join(fields.words(part, "text") for part in fields.several(item, key))
