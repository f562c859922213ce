"""What the fake of the Responses API refuses, and how it signs the reasoning it gives."""

import json
import re
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from tests.fakes.refusing import MAGIC, PDF, Refused, check_data_url

Body = dict[str, Any]

# --- signing reasoning -----------------------------------------------------------------------


def reasoning(body: Body, number: int, text: str) -> Body:
    """A reasoning item for the answer to ``body``, whose seal only fits there."""
    key = f"rs_{len(body['input'])}_{number}"
    summary = [{"type": "summary_text", "text": text}]
    seal = _seal(body, len(body["input"]), key, summary)
    return {"id": key, "type": "reasoning", "summary": summary, "encrypted_content": seal}


def _seal(body: Body, size: int, key: str, summary: Any) -> str:
    bound = [
        body["model"],
        body.get("instructions"),
        body.get("tools"),
        body["input"][:size],
        key,
        summary,
    ]
    return f"sealed.{size}.{sha256(json.dumps(bound, sort_keys=True).encode()).hexdigest()}"


def _check_seal(body: Body, item: Body, where: str) -> None:
    found = re.fullmatch(r"sealed\.(\d+)\.[0-9a-f]{64}", str(item.get("encrypted_content")))
    size = int(found[1]) if found else -1
    if not found or item["encrypted_content"] != _seal(body, size, item["id"], item["summary"]):
        message = f"The encrypted content for item {item.get('id')} could not be verified."
        raise Refused(message, where, "invalid_encrypted_content")


# --- judging requests ------------------------------------------------------------------------

_NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_EFFORTS = {"none", "minimal", "low", "medium", "high", "xhigh", "max"}
_ALLOWED = {
    "model", "input", "instructions", "max_output_tokens", "temperature", "top_p", "reasoning",
    "text", "tools", "tool_choice", "parallel_tool_calls", "store", "include", "stream",
    "prompt_cache_key", "metadata", "service_tier", "truncation", "top_logprobs",
    "stream_options", "safety_identifier",
}  # fmt: skip


def thinks(model: str) -> bool:
    """Which models reason, by this fake's own book."""
    return model.startswith(("gpt-5", "gpt-6", "o1", "o3", "o4"))


def check(body: Any) -> None:
    """Raise :class:`Refused` at the first thing that is not right."""
    if not isinstance(body, dict):
        raise Refused("The body must be an object.")
    for name in body:
        if name not in _ALLOWED:
            raise Refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    _check_model(body)
    if body.get("store") is not False:
        raise Refused("This organization keeps nothing: 'store' must be false.", "store")
    if body.get("stream") is not True:
        raise Refused("This fake only streams.", "stream")
    _check_settings(body)
    _check_tools(body.get("tools"), body.get("tool_choice"))
    _check_items(body)


def check_count(body: Any) -> None:
    """The same for counting, which has fewer parameters."""
    for name in set(body) & {"store", "stream", "include", "max_output_tokens", "temperature"}:
        raise Refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    check({**body, "store": False, "stream": True})


def _check_model(body: Body) -> None:
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refused("Missing required parameter: 'model'.", "model", "missing_required_parameter")
    if body["model"] == "no-such-model":
        message = "The requested model 'no-such-model' does not exist."
        raise Refused(message, "model", "model_not_found")


def _check_settings(body: Body) -> None:
    thinking = thinks(body["model"])
    for name in ("temperature", "top_p"):
        if name in body and thinking and (body.get("reasoning") or {}).get("effort") != "none":
            raise Refused(
                f"Unsupported parameter: '{name}' is not supported with this model.", name
            )
        if name in body:
            _number(name, body[name], (int, float), 0, 2 if name == "temperature" else 1)
    if "max_output_tokens" in body:
        _number("max_output_tokens", body["max_output_tokens"], int, 16, 10**6)
    _choices(body, "reasoning", {"effort": _EFFORTS, "summary": {"auto", "concise", "detailed"}})
    if "reasoning" in body and not thinking:
        message = "Unsupported parameter: 'reasoning.effort' is not supported with this model."
        raise Refused(message, "reasoning.effort", "unsupported_parameter")
    _choices(body, "text", {"verbosity": {"low", "medium", "high"}})
    if body.get("include") not in (None, ["reasoning.encrypted_content"]):
        raise Refused("Invalid value: 'include'.", "include", "invalid_value")
    if body.get("include") and not thinking:
        raise Refused("Encrypted content is not supported with this model.", "include")
    if "instructions" in body and not str(body["instructions"] or "").strip():
        raise Refused("Invalid 'instructions': empty string.", "instructions")
    key = body.get("prompt_cache_key", "k")
    if not isinstance(key, str) or not 1 <= len(key) <= 64:
        raise Refused("Invalid 'prompt_cache_key': string too long.", "prompt_cache_key")


def _number(name: str, value: Any, kind: Any, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, kind):
        raise Refused(f"Invalid type for '{name}'.", name, "invalid_type")
    if not low <= value <= high:
        raise Refused(f"Invalid '{name}': out of range.", name, "integer_below_min_value")


def _choices(body: Body, name: str, inner: Mapping[str, set[str]]) -> None:
    given = body.get(name)
    if given is None and name not in body:
        return
    if not isinstance(given, dict) or not given:
        raise Refused(f"Invalid type for '{name}'.", name, "invalid_type")
    for field, value in given.items():
        if field not in inner or value not in inner[field]:
            message = f"Unsupported value: '{name}.{field}' does not support {value!r}."
            raise Refused(message, f"{name}.{field}", "unsupported_value")


def _check_tools(tools: Any, choice: Any) -> None:
    if tools is None and choice is None:
        return
    if not isinstance(tools, list) or not tools:
        raise Refused("'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    names = set()
    for number, tool in enumerate(tools):
        where = f"tools[{number}]"
        if set(tool) != {"type", "name", "description", "parameters", "strict"}:
            raise Refused(f"Missing or unknown parameter in '{where}'.", where)
        if tool["type"] != "function" or not _NAME.fullmatch(tool["name"]):
            raise Refused(f"Invalid '{where}.name'.", f"{where}.name", "invalid_value")
        _check_schema(tool, where)
        names.add(tool["name"])
    if len(names) != len(tools):
        raise Refused("Tool names must be unique.", "tools")
    named = isinstance(choice, dict) and set(choice) == {"type", "name"}
    if named and choice["type"] == "function" and choice["name"] in names:
        return
    if choice not in (None, "auto", "required", "none"):
        raise Refused("Invalid 'tool_choice'.", "tool_choice")


def _check_schema(tool: Body, where: str) -> None:
    schema = tool["parameters"]
    if not isinstance(schema, dict) or schema.get("type") != "object":
        raise Refused(f"Invalid schema for function '{tool['name']}'.", where)
    if not isinstance(schema.get("properties"), dict):
        raise Refused("In context=(), object schema missing properties.", where)
    if not isinstance(tool["strict"], bool):
        raise Refused(f"Invalid type for '{where}.strict'.", where, "invalid_type")
    if tool["strict"] and (
        schema.get("additionalProperties") is not False
        or set(schema.get("required", ())) != set(schema["properties"])
    ):
        raise Refused("'required' must hold every property of a strict schema.", where)


_FIELDS = {
    "message": {"type", "role", "content", "id", "status", "phase"},
    "reasoning": {"type", "id", "summary", "content", "encrypted_content", "status"},
    "function_call": {"type", "id", "call_id", "name", "arguments", "status"},
    "function_call_output": {"type", "call_id", "output"},
}


def _check_items(body: Body) -> None:
    items = body.get("input")
    if not isinstance(items, list) or not items:
        raise Refused("Missing required parameter: 'input'.", "input")
    owed: set[str] = set()
    called: set[str] = set()
    for number, item in enumerate(items):
        where = f"input[{number}]"
        kind = item.get("type", "message")
        if kind not in _FIELDS:
            raise Refused(f"Invalid value: '{kind}'.", f"{where}.type", "invalid_value")
        if unknown := set(item) - _FIELDS[kind]:
            name = f"{where}.{min(unknown)}"
            raise Refused(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
        if kind == "message":
            if item.get("role") != "assistant" and owed:
                raise Refused(f"No tool output found for function call {min(owed)}.", "input")
            _check_message(item, where)
        elif kind == "reasoning":
            _check_reasoning(body, items, number)
        elif kind == "function_call":
            _check_call(item, called, where)
            owed.add(item["call_id"])
            called.add(item["call_id"])
        else:
            _check_output(item, owed, where)
    if owed:
        raise Refused(f"No tool output found for function call {min(owed)}.", "input")


def _check_message(item: Body, where: str) -> None:
    if item.get("role") not in ("user", "assistant", "system", "developer"):
        raise Refused(f"Invalid value: '{where}.role'.", where, "invalid_value")
    content = item.get("content")
    if isinstance(content, str):
        if not content.strip():
            raise Refused(f"Invalid '{where}.content': empty.", where)
        return
    if not isinstance(content, list) or not content:
        raise Refused(f"Invalid type for '{where}.content'.", where, "invalid_type")
    if item["role"] == "assistant" and not str(item.get("id", "")).startswith("msg_"):
        raise Refused(f"Missing '{where}.id'.", where)
    for place, part in enumerate(content):
        judge = _PARTS.get(part.get("type", ""))
        spoken = part.get("type") in ("output_text", "refusal")
        if judge is None or spoken != (item["role"] == "assistant"):
            raise Refused(f"Invalid value: '{part.get('type')}'.", f"{where}.content[{place}]")
        judge(part, f"{where}.content[{place}]")


def _check_words(part: Body, where: str) -> None:
    if not str(part.get("text") or part.get("refusal") or "").strip():
        raise Refused(f"Invalid '{where}.text': empty.", where)


def _check_image(part: Body, where: str) -> None:
    if set(part) != {"type", "detail", "image_url"}:
        raise Refused(f"Missing or unknown parameter in '{where}'.", where)
    check_data_url(part["image_url"], MAGIC, where)


def _check_file(part: Body, where: str) -> None:
    if set(part) != {"type", "filename", "file_data"} or not part["filename"]:
        raise Refused(f"Missing or unknown parameter in '{where}'.", where)
    check_data_url(part["file_data"], PDF, where)


_PARTS: dict[str, Callable[[Body, str], None]] = {
    "input_text": _check_words,
    "output_text": _check_words,
    "refusal": _check_words,
    "input_image": _check_image,
    "input_file": _check_file,
}


def _check_reasoning(body: Body, items: list[Body], number: int) -> None:
    item, where = items[number], f"input[{number}]"
    if not thinks(body["model"]):
        raise Refused("Reasoning items are not supported with this model.", where)
    if not item.get("encrypted_content"):
        message = (
            f"Item with id '{item.get('id')}' not found. Items are not persisted when `store` is "
            "set to false."
        )
        raise Refused(message, where)
    _check_seal(body, item, where)
    after = items[number + 1] if number + 1 < len(items) else {}
    own = after.get("role") == "assistant" or after.get("type") in ("function_call", "reasoning")
    if not own:
        raise Refused(
            f"Item '{item['id']}' of type 'reasoning' was provided without its required "
            "following item.",
            where,
        )


def _check_call(item: Body, called: set[str], where: str) -> None:
    if not isinstance(item.get("call_id"), str) or not 1 <= len(item["call_id"]) <= 64:
        raise Refused(f"Invalid '{where}.call_id': string too long.", where)
    if item["call_id"] in called:
        raise Refused(f"Duplicate '{where}.call_id'.", where)
    if not _NAME.fullmatch(str(item.get("name"))):
        raise Refused(f"Invalid '{where}.name': string does not match pattern.", where)
    try:
        arguments = json.loads(item["arguments"])
    except (ValueError, TypeError, KeyError):
        arguments = None
    if not isinstance(arguments, dict):
        raise Refused(f"Invalid '{where}.arguments'.", where)


def _check_output(item: Body, owed: set[str], where: str) -> None:
    if item.get("call_id") not in owed:
        message = f"No tool call found for function call output with call_id {item.get('call_id')}."
        raise Refused(message, where)
    if not isinstance(item.get("output"), str) or not item["output"]:
        raise Refused(f"Invalid '{where}.output'.", where)
    owed.discard(item["call_id"])
