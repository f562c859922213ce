"""A call in the form of Gemini's generateContent, as pure values.

All names are those of the REST interface, so that what is built is what goes over the wire.
No SDK, no network.
"""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import assert_never

from core.beginnings import Beginnings
from core.errors import Unsupported
from core.types import (
    AttachmentRef,
    Call,
    Json,
    Message,
    Parts,
    Text,
    Thinking,
    Tool,
    ToolCall,
    ToolResult,
    well_formed,
)
from core.wire.files import Form, media_type, mentioned, name_of, woven
from core.wire.gemini_schema import portable_schema
from core.wire.tools import checked_name, past_name

Content = dict[str, Json]

OLDER = re.compile(r"(models/)?(gemini-[12]\b|gemma|learnlm)|tunedModels/")
"""Models from before thought signatures were asked for and thoughts could always be shown."""
FOREIGN_SIGNATURE = base64.b64encode(b"skip_thought_signature_validator").decode()
"""Google's word for "this function call is not one of yours", where a signature must be."""
_BEGIN = "(The conversation begins with an answer.)"
_SPECIAL = {"max_tokens": "maxOutputTokens", "stop": "stopSequences"}
_THINKING = ("thinking_level", "thinking_budget", "include_thoughts")
_TOP = ("safety_settings", "cached_content", "service_tier", "store")
_FIXED = frozenset({"model", "contents", "tools", "tool_config", "system_instruction"})
"""What of the envelope is ours to say; a setting of that name is not sent."""


# --- all but the messages ----------------------------------------------------------------


def envelope(call: Call, thinks: bool) -> dict[str, Json]:
    """All but the contents; ``thinks`` asks for the thoughts as well, unless a setting says."""
    knobs = {n: v for n, v in sorted(call.sampling.items()) if v is not None and n not in _FIXED}
    made: dict[str, Json] = {"model": call.model}
    inner = [_words(message) for message in call.messages if message.role == "system"]
    if orders := [text for text in (well_formed(call.system), *inner) if text.strip()]:
        made["systemInstruction"] = {"parts": [{"text": "\n\n".join(orders)}]}
    if call.tools:
        made["tools"] = [{"functionDeclarations": [_declared(tool) for tool in call.tools]}]
        if call.tool_choice:
            made["toolConfig"] = {"functionCallingConfig": _choice(call.tool_choice)}
    made["generationConfig"] = _generation(knobs, thinks)
    return made | {camel(name): knobs[name] for name in _TOP if name in knobs}


def _generation(knobs: Mapping[str, Json], thinks: bool) -> dict[str, Json]:
    stops = knobs.get("stop") or []
    values = {**knobs, "stop": [s for s in ([stops] if isinstance(stops, str) else stops) if s]}
    made = {
        _SPECIAL.get(name, camel(name)): value
        for name, value in sorted(values.items())
        if name not in _THINKING and name not in _TOP and (name != "stop" or value)
    }
    if "response_json_schema" in knobs:
        made.setdefault("responseMimeType", "application/json")
    thinking = {camel(name): knobs[name] for name in _THINKING if name in knobs}
    if "thinkingLevel" in thinking:
        thinking["thinkingLevel"] = str(thinking["thinkingLevel"]).upper()
    shown = thinking.get("includeThoughts", thinks)
    if shown in (True, "yes"):
        thinking["includeThoughts"] = True
    else:
        thinking.pop("includeThoughts", None)
    return made | ({"thinkingConfig": thinking} if thinking else {})


def camel(name: str) -> str:
    """``max_output_tokens`` as ``maxOutputTokens``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def settings(made: Mapping[str, Json]) -> dict[str, str]:
    """What was set in an envelope: names as they go over the wire, with the settings' own."""
    generation = made.get("generationConfig") or {}
    sent = {*generation, *(generation.get("thinkingConfig") or {})} - {"thinkingConfig"}
    own = {wire: name for name, wire in _SPECIAL.items()}
    return {
        name: own.get(name, re.sub(r"[A-Z]", lambda c: f"_{c[0].lower()}", name))
        for name in sorted(sent | {camel(top) for top in _TOP if camel(top) in made})
    }


def _declared(tool: Tool) -> dict[str, Json]:
    return {
        "name": checked_name(tool),
        "description": tool.description,
        "parametersJsonSchema": portable_schema(tool.parameters),
    }


def _choice(choice: str) -> dict[str, Json]:
    modes = {"auto": "AUTO", "required": "ANY", "none": "NONE"}
    if choice in modes:
        return {"mode": modes[choice]}
    return {"mode": "ANY", "allowedFunctionNames": [choice]}


# --- the messages ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Owed:
    """A function call that waits for its result. ``wire_id`` is the provider's own, if any."""

    id: str
    name: str
    wire_id: str | None = None
    result: ToolResult | None = None


_State = tuple[tuple[Content, ...], tuple[_Owed, ...]]
_written: Beginnings[_State] = Beginnings()
"""Contents by whether calls are signed, with the calls that have no result yet."""


def contents(call: Call, signed: bool) -> list[Content]:
    """User and model in turn; one content of results right behind its calls; nothing empty.

    ``signed`` marks function calls that are not the model's own, as newer models demand it.
    That is done in old turns too, where it is not asked for: contents must not change later.
    """
    earlier, last = call.messages[:-1], call.messages[-1:]
    known, state = _written.longest(earlier, ((), ()), key=signed)
    made, owed = list(state[0]), list(state[1])
    for message in earlier[known:]:
        _write(message, call, signed, made, owed)
    _written.keep(earlier, (tuple(made), tuple(owed)), key=signed)
    for message in last:
        _write(message, call, signed, made, owed)
    _settle(made, owed)
    return made


def _write(
    message: Message, call: Call, signed: bool, made: list[Content], owed: list[_Owed]
) -> None:
    """Add a message. A call without its result and a result without its call are refused by
    the provider; a Stop leaves both behind, so the first gets a stand-in, the second words."""
    if message.role == "system":
        return
    stray = [
        Text(text=f"Result of {part.name}:\n{part.text}\n\n")
        for part in message.parts
        if isinstance(part, ToolResult) and not _answered(part, owed)
    ]
    role = "model" if message.role == "assistant" else "user"
    raw = _replayable(message.raw) if role == "model" else []
    parts = raw or _rendered((*stray, *message.parts), role, call, signed)
    if not parts:
        return
    _settle(made, owed)
    _say(made, role, parts, verbatim=bool(raw))
    ids = [part.id for part in message.parts if isinstance(part, ToolCall)]
    functions = [part["functionCall"] for part in parts if "functionCall" in part]
    for place, function in enumerate(functions):
        wire_id = function.get("id")
        own = ids[place] if place < len(ids) else wire_id or ""
        owed.append(_Owed(own, function.get("name", ""), wire_id))


def _answered(result: ToolResult, owed: list[_Owed]) -> bool:
    """Give the result to its call, known by its id or else by name and order."""
    waiting = [place for place, call in enumerate(owed) if call.result is None]
    by_id = [place for place in waiting if result.call_id and owed[place].id == result.call_id]
    nameless = [place for place in waiting if not (result.call_id and owed[place].id)]
    by_name = [place for place in nameless if owed[place].name == past_name(result.name)]
    for place in (by_id or by_name)[:1]:
        owed[place] = replace(owed[place], result=result)
        return True
    return False


def _settle(made: list[Content], owed: list[_Owed]) -> None:
    """One content with a response to every call, in the order of the calls."""
    if owed:
        made.append({"role": "user", "parts": [_response(call) for call in owed]})
        owed.clear()


def _response(call: _Owed) -> Content:
    result = call.result
    text = well_formed(result.text) if result else "(no result: the call was not run)"
    key = "error" if result is None or result.is_error else "output"
    made: Content = {"name": call.name, "response": {key: text or "(no output)"}}
    return {"functionResponse": {"id": call.wire_id, **made} if call.wire_id else made}


def _say(made: list[Content], role: str, parts: list[Json], verbatim: bool) -> None:
    """Add parts; two turns of one role become one. Function responses stand by themselves."""
    if not made and role == "model":
        made.append({"role": "user", "parts": [{"text": _BEGIN}]})
    last = made[-1] if made else {"role": "", "parts": [{}]}
    if last["role"] != role or "functionResponse" in last["parts"][-1]:
        made.append({"role": role, "parts": parts})
        return
    if not verbatim and "text" in last["parts"][-1] and "text" in parts[0]:
        parts = [{"text": f"\n\n{parts[0]['text']}"}, *parts[1:]]
    made[-1] = {"role": role, "parts": [*last["parts"], *parts]}


def _replayable(raw: Json) -> list[Json]:
    """The model's own parts, but for thoughts at the end that led to nothing."""
    parts = [part for part in raw if isinstance(part, dict)] if isinstance(raw, list) else []
    while parts and parts[-1].get("thought"):
        parts.pop()
    return parts


def _rendered(parts: Parts, role: str, call: Call, signed: bool) -> list[Json]:
    """Portable parts in their order; thinking is for its own model only."""
    made: list[Json] = []
    run: list[Text | AttachmentRef] = []
    for part in parts:
        match part:
            case Text() | AttachmentRef():
                run.append(part)
            case Thinking() | ToolResult():
                pass
            case ToolCall() if role != "model":
                pass
            case ToolCall():
                made += _spoken(run, role, call)
                run.clear()
                function = {"name": past_name(part.name), "args": _arguments(part.arguments)}
                first = signed and not any("functionCall" in other for other in made)
                mark = {"thoughtSignature": FOREIGN_SIGNATURE} if first else {}
                made.append({"functionCall": function, **mark})
            case _:
                assert_never(part)
    return made + _spoken(run, role, call)


def _spoken(run: list[Text | AttachmentRef], role: str, call: Call) -> list[Json]:
    """Words and files; a file in an answer can only be spoken of."""
    form: Form = mentioned if role == "model" else _inline
    pieces = woven(run, call.attachments, image=form, pdf=form)
    return [{"text": piece} if isinstance(piece, str) else piece for piece in pieces]


def _inline(file: AttachmentRef, content: bytes) -> Json:
    kind = media_type(file)
    if kind == "image/gif":
        raise Unsupported(
            f"Gemini cannot be sent GIF images: {name_of(file)}.",
            hint="Save the image as PNG, or remove it from the message, then retry.",
        )
    return {"inlineData": {"mimeType": kind, "data": base64.b64encode(content).decode("ascii")}}


def _arguments(text: str) -> dict[str, Json]:
    """Arguments as an object, which they must be here; anything else is wrapped in one."""
    text = well_formed(text)
    try:
        found = json.loads(text, parse_constant=_no_constant)
    except ValueError:
        found = None
    return found if isinstance(found, dict) else {"input": text} if text else {}


def _no_constant(name: str) -> None:
    raise ValueError(name)  # NaN and Infinity are not JSON


def _words(message: Message) -> str:
    return well_formed("".join(part.text for part in message.parts if isinstance(part, Text)))
