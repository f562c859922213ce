"""What Anthropic's messages refuse, by the documented rules and stricter than those."""

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

Body = dict[str, Any]


class Refused(Exception):
    """What a real server would not take."""

    def __init__(self, message: str, status: int = 400, kind: str = "invalid_request_error"):
        super().__init__(message)
        self.message, self.status, self.kind = message, status, kind


FORCES_NO_TOOL = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-fable-5-1")
PREFILLS = ("claude-haiku-4-5", "claude-sonnet-4-5")
WAYS_TO_THINK = {
    "claude-opus-5-5": ("adaptive",),
    "claude-sonnet-5-5": ("adaptive", "enabled", "between_tools"),
    "claude-haiku-4-5": ("enabled", "disabled"),
}
_COUNTED = {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config"}
_KNOWN = _COUNTED | {"max_tokens", "stream", "stop_sequences", "cache_control", "metadata"}
_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_ID = re.compile(r"[a-zA-Z0-9_-]+")
_MAGIC = {
    "image/png": b"\x89PNG",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}


def check(body: Any, counting: bool = False) -> None:
    """Raise :class:`Refused` at the first thing that is not right."""
    if not isinstance(body, dict):
        raise Refused("The request body is not an object.")
    for name in body:
        if name not in (_COUNTED if counting else _KNOWN):
            raise Refused(f"{name}: Extra inputs are not permitted")
    model = body.get("model")
    if not isinstance(model, str) or not model:
        raise Refused("model: Field required")
    if not model.startswith("claude-"):
        raise Refused(f"model: {model}", 404, "not_found_error")
    if not counting:
        _whole("max_tokens", body.get("max_tokens"), 0, 128_000)
    _check_stops(body.get("stop_sequences", ["x"]))
    _check_system(body.get("system", "x"))
    names = _check_tools(body)
    _check_thinking(body)
    _check_effort(body.get("output_config", {}))
    _check_messages(body, names)
    _check_marks(body)
    _check_signatures(body)


def _whole(name: str, value: Any, low: int, high: int) -> None:
    if value is None:
        raise Refused(f"{name}: Field required")
    if isinstance(value, bool) or not isinstance(value, int):
        raise Refused(f"{name}: Input should be a valid integer")
    if not low <= value <= high:
        raise Refused(f"{name}: {value} > {high}, which is the maximum allowed number")


def _check_stops(stops: Any) -> None:
    if not isinstance(stops, list) or not all(isinstance(s, str) and s.strip() for s in stops):
        raise Refused("stop_sequences: each stop sequence must contain non-whitespace")


def _check_system(system: Any) -> None:
    blocks = [{"type": "text", "text": system}] if isinstance(system, str) else system
    if not isinstance(blocks, list):
        raise Refused("system: Input should be a valid list")
    for block in blocks:
        _fields("system", block, {"type", "text"}, {"cache_control"})
        if block["type"] != "text" or not block["text"].strip():
            raise Refused("system: text content blocks must be non-empty")


def _fields(where: str, thing: Any, needed: set[str], free: set[str] | None = None) -> None:
    """Exactly the fields that are known, and all that are needed."""
    if not isinstance(thing, dict):
        raise Refused(f"{where}: Input should be an object")
    if missing := needed - set(thing):
        raise Refused(f"{where}.{min(missing)}: Field required")
    if more := set(thing) - needed - (free or set()):
        raise Refused(f"{where}.{min(more)}: Extra inputs are not permitted")


# --- tools and thinking ----------------------------------------------------------------------


def _check_tools(body: Body) -> set[str]:
    tools = body.get("tools", [])
    if "tools" in body and not (isinstance(tools, list) and tools):
        raise Refused("tools: List should have at least 1 item")
    names: set[str] = set()
    for n, tool in enumerate(tools):
        where = f"tools.{n}.custom"
        free = {"description", "cache_control", "strict"}
        _fields(where, tool, {"name", "input_schema"}, free)
        if not _NAME.fullmatch(tool["name"]):
            raise Refused(f"{where}.name: String should match pattern '{_NAME.pattern}'")
        if tool["name"] in names:
            raise Refused("tools: Tool names must be unique.")
        names.add(tool["name"])
        schema = tool["input_schema"]
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise Refused(f"{where}.input_schema.type: Input should be 'object'")
        if set(schema) & {"oneOf", "anyOf", "allOf"}:
            raise Refused(f"{where}.input_schema: input_schema does not support oneOf at the top")
    _check_choice(body, names)
    return names


def _check_choice(body: Body, names: set[str]) -> None:
    if "tool_choice" not in body:
        return
    choice = body["tool_choice"]
    if not names:
        raise Refused("tool_choice: may only be specified while providing tools")
    kind = choice.get("type") if isinstance(choice, dict) else None
    if kind not in ("auto", "any", "none", "tool"):
        raise Refused("tool_choice: Input should be a valid dictionary")
    _fields("tool_choice", choice, {"type", "name"} if kind == "tool" else {"type"})
    if kind == "tool" and choice["name"] not in names:
        raise Refused(f"tool_choice: Tool '{choice['name']}' not found in provided tools")
    if kind in ("any", "tool"):
        if body["model"] in FORCES_NO_TOOL:
            raise Refused("tool_choice: forced tool use is not supported by this model")
        if body.get("thinking", {}).get("type") in ("enabled", "adaptive"):
            raise Refused("Thinking may not be enabled when tool_choice forces tool use.")


def _check_thinking(body: Body) -> None:
    if "thinking" not in body:
        return
    thinking = body["thinking"]
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in ("adaptive", "enabled", "disabled", "between_tools"):
        raise Refused("thinking: Input tag does not match any of the expected tags")
    if kind not in WAYS_TO_THINK.get(body["model"], (kind,)):
        raise Refused(f"thinking.type: {kind} is not supported by this model")
    needed = {"type", "budget_tokens"} if kind == "enabled" else {"type"}
    free = {"display"} if kind in ("adaptive", "enabled") else set()
    _fields("thinking", thinking, needed, free)
    if thinking.get("display", "omitted") not in ("summarized", "omitted"):
        raise Refused("thinking.display: Input should be 'summarized' or 'omitted'")
    if kind == "enabled":
        budget = thinking["budget_tokens"]
        _whole("thinking.enabled.budget_tokens", budget, 1024, 1_000_000)
        if budget >= body.get("max_tokens", budget + 1):
            raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")


def _check_effort(config: Any) -> None:
    _fields("output_config", config, set(), {"effort"})
    if config.get("effort", "low") not in ("low", "medium", "high", "xhigh", "max"):
        raise Refused("output_config.effort: Input should be 'low', 'medium', 'high' …")


# --- messages --------------------------------------------------------------------------------

_BLOCKS: dict[str, tuple[set[str], set[str], tuple[str, ...]]] = {
    "text": ({"text"}, {"cache_control"}, ("user", "assistant")),
    "image": ({"source"}, {"cache_control"}, ("user",)),
    "document": ({"source"}, {"title", "cache_control"}, ("user",)),
    "tool_use": ({"id", "name", "input"}, {"cache_control", "caller"}, ("assistant",)),
    "tool_result": ({"tool_use_id", "content"}, {"is_error", "cache_control"}, ("user",)),
    "thinking": ({"thinking", "signature"}, set(), ("assistant",)),
    "redacted_thinking": ({"data"}, set(), ("assistant",)),
}


def _check_messages(body: Body, names: set[str]) -> None:
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise Refused("messages: at least one message is required")
    owed: set[str] = set()
    ids: set[str] = set()
    for n, message in enumerate(messages):
        where = f"messages.{n}"
        _fields(where, message, {"role", "content"})
        if message["role"] not in ("user", "assistant"):
            raise Refused(f"{where}: Input should be 'user' or 'assistant'")
        if n == 0 and message["role"] != "user":
            raise Refused("messages: first message must use the user role")
        blocks = blocks_of(message)
        if not blocks:
            raise Refused(f"{where}: content must not be empty")
        for place, block in enumerate(blocks):
            _check_block(f"{where}.content.{place}", message["role"], block)
        owed = _check_calls(where, blocks, owed, ids)
        if blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            raise Refused(f"{where}: The final block in an assistant message cannot be `thinking`.")
    if owed:
        raise Refused(f"{where}: `tool_use` ids were found without `tool_result` blocks: {owed}")
    if ids and not names:
        raise Refused("Requests which include `tool_use` or `tool_result` blocks must define tools")
    _check_prefill(body, messages[-1])


def _check_prefill(body: Body, last: Body) -> None:
    if last["role"] != "assistant":
        return
    if body["model"] not in PREFILLS:
        raise Refused("This model does not support assistant message prefill.")
    block = blocks_of(last)[-1]
    if block["type"] == "text" and block["text"] != block["text"].rstrip():
        raise Refused("messages: final assistant content cannot end with trailing whitespace")


def blocks_of(message: Body) -> list[Body]:
    """The content as blocks; a string is short for one of text."""
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _check_block(where: str, role: str, block: Any) -> None:
    kind = block.get("type") if isinstance(block, dict) else None
    if kind not in _BLOCKS or role not in _BLOCKS[kind][2]:
        raise Refused(f"{where}: `{kind}` blocks are not permitted in {role} messages")
    needed, free, _ = _BLOCKS[kind]
    _fields(where, block, {"type", *needed}, free)
    if kind == "text" and not (isinstance(block["text"], str) and block["text"].strip()):
        raise Refused(f"{where}: text content blocks must contain non-whitespace text")
    if kind in ("image", "document"):
        _check_source(f"{where}.{kind}.source", kind, block["source"])
    if kind == "tool_use":
        if not _ID.fullmatch(block["id"]) or not _NAME.fullmatch(block["name"]):
            raise Refused(f"{where}.tool_use.id: String should match pattern '{_ID.pattern}'")
        if not isinstance(block["input"], dict):
            raise Refused(f"{where}.tool_use.input: Input should be a valid dictionary")
    if kind == "tool_result":
        content = block["content"]
        if not isinstance(content, str) or not isinstance(block.get("is_error", False), bool):
            raise Refused(f"{where}.tool_result.content: Input should be a valid string")


def _check_source(where: str, kind: str, source: Body) -> None:
    _fields(where, source, {"type", "media_type", "data"})
    if source["type"] == "text":
        if kind != "document" or source["media_type"] != "text/plain" or not source["data"]:
            raise Refused(f"{where}: Input should be plain text")
        return
    media = source["media_type"]
    if source["type"] != "base64" or media not in (
        _MAGIC if kind == "image" else ("application/pdf",)
    ):
        raise Refused(f"{where}.media_type: Input should be 'image/jpeg', 'image/png', …")
    try:
        content = base64.b64decode(source["data"], validate=True)
    except (binascii.Error, ValueError, TypeError):
        raise Refused(f"{where}: invalid base64 data") from None
    if not content.startswith(_MAGIC.get(media, b"%PDF-")):
        raise Refused(f"{where}: The file was specified using {media} but appears to be another")


def _check_calls(where: str, blocks: Sequence[Body], owed: set[str], ids: set[str]) -> set[str]:
    """Every call is answered in the next message, before anything else, and just once."""
    results = [block for block in blocks if block["type"] == "tool_result"]
    if blocks[: len(results)] != results:
        raise Refused(f"{where}: `tool_result` blocks must come before any other content")
    for result in results:
        if result["tool_use_id"] not in owed:
            raise Refused(f"{where}: unexpected `tool_use_id` found in `tool_result` blocks")
        owed = owed - {result["tool_use_id"]}
    if owed:
        raise Refused(
            f"{where}: `tool_use` ids were found without `tool_result` blocks immediately after:"
            f" {', '.join(sorted(owed))}."
        )
    made = [block["id"] for block in blocks if block["type"] == "tool_use"]
    if len(set(made)) != len(made) or ids & set(made):
        raise Refused("messages: `tool_use` ids must be unique")
    ids.update(made)
    return set(made)


# --- breakpoints and signatures --------------------------------------------------------------


def prefix_of(body: Body) -> Iterator[Body]:
    """All blocks in the order in which they are cached."""
    yield from body.get("tools", [])
    system = body.get("system")
    yield from [{"type": "text", "text": system}] if isinstance(system, str) else system or []
    for message in body["messages"]:
        yield from ({"role": message["role"], **block} for block in blocks_of(message))


def _check_marks(body: Body) -> None:
    marks = [b["cache_control"] for b in prefix_of(body) if "cache_control" in b]
    if "cache_control" in body:
        marks.append(body["cache_control"])
    if len(marks) > 4:
        raise Refused(f"A maximum of 4 blocks with cache_control may be provided: {len(marks)}.")
    for mark in marks:
        _fields("cache_control", mark, {"type"}, {"ttl"})
        if mark["type"] != "ephemeral" or mark.get("ttl", "5m") not in ("5m", "1h"):
            raise Refused("cache_control: Input should be 'ephemeral'")


def bare(block: Mapping[str, Any]) -> Body:
    """A block without its breakpoint."""
    return {name: value for name, value in block.items() if name != "cache_control"}


def joined(messages: Sequence[Body]) -> list[Body]:
    """The messages as the server reads them: neighbours of one role are one turn."""
    made: list[Body] = []
    for message in messages:
        blocks = [bare(block) for block in blocks_of(message)]
        if made and made[-1]["role"] == message["role"]:
            made[-1]["content"] += blocks
        else:
            made.append({"role": message["role"], "content": blocks})
    return made


def signature(body: Body, before: Sequence[Body], thought: str) -> str:
    """What binds a thought to its model and to all that came before it."""
    head = [bare(block) for block in prefix_of({**body, "messages": []})]
    bound = json.dumps([body["model"], head, joined(before), thought], sort_keys=True)
    return "sig_" + hashlib.sha256(bound.encode()).hexdigest()


def _check_signatures(body: Body) -> None:
    for n, message in enumerate(body["messages"]):
        for place, block in enumerate(blocks_of(message)):
            thought = block.get("thinking", "redacted")
            given = {"thinking": "signature", "redacted_thinking": "data"}.get(block["type"])
            if given and block[given] != signature(body, body["messages"][:n], thought):
                where = f"messages.{n}.content.{place}"
                raise Refused(f"{where}: Invalid `signature` in `thinking` block")
