"""The rules of Gemini's REST interface, and how it complains of a breach."""

import base64
import json
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from tests.fakes.chat_completions import Play

Body = dict[str, Any]
DUMMY = base64.b64encode(b"skip_thought_signature_validator").decode()


class Refused(Exception):
    """What the real server would not take."""

    def __init__(
        self,
        message: str,
        code: int = 400,
        status: str = "INVALID_ARGUMENT",
        *,
        field: str = "",
        reason: str = "",
    ) -> None:
        super().__init__(message)
        self.message, self.code, self.status = message, code, status
        self.field, self.reason = field, reason

    def play(self) -> Play:
        details: list[Body] = []
        if self.reason:
            details.append(error_info(self.reason))
        if self.field:
            details.append(violation(self.field, self.message))
        return refusal(self.code, self.message, self.status, *details)


def refusal(code: int, message: str, status: str, *details: Body) -> Play:
    """An error in Google's shape."""
    error: Body = {"code": code, "message": message, "status": status}
    if details:
        error["details"] = list(details)
    return Play(status=code, body={"error": error})


def error_info(reason: str) -> Body:
    kind = "type.googleapis.com/google.rpc.ErrorInfo"
    return {"@type": kind, "reason": reason, "domain": "googleapis.com"}


def violation(field: str, description: str) -> Body:
    kind = "type.googleapis.com/google.rpc.BadRequest"
    return {"@type": kind, "fieldViolations": [{"field": field, "description": description}]}


def retry_info(delay: str) -> Body:
    return {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}


def quota(quota_id: str) -> Body:
    kind = "type.googleapis.com/google.rpc.QuotaFailure"
    return {"@type": kind, "violations": [{"quotaMetric": "requests", "quotaId": quota_id}]}


def signature(model: str, before: Sequence[Body], part: Body) -> str:
    """What the model signs a part with, answering the contents before it."""
    bare = {name: value for name, value in part.items() if name != "thoughtSignature"}
    text = json.dumps([model, list(before), bare], sort_keys=True)
    return base64.b64encode(sha256(text.encode()).digest()).decode()


# --- judging requests ---------------------------------------------------------------------

_TOP = {
    "contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings",
    "cachedContent", "serviceTier", "store",
}  # fmt: skip
_GENERATION: dict[str, tuple[Any, float, float]] = {
    "temperature": ((int, float), 0, 2),
    "topP": ((int, float), 0, 1),
    "topK": (int, 1, 1000),
    "maxOutputTokens": (int, 1, 1_000_000),
    "seed": (int, -(2**31), 2**31 - 1),
    "presencePenalty": ((int, float), -2, 2),
    "frequencyPenalty": ((int, float), -2, 2),
    "candidateCount": (int, 1, 8),
}
_OTHERS = {"stopSequences", "thinkingConfig", "responseMimeType", "responseJsonSchema"}
_PARTS: dict[str, set[str]] = {
    "text": {"text", "thought", "thoughtSignature"},
    "inlineData": {"inlineData"},
    "functionCall": {"functionCall", "thoughtSignature"},
    "functionResponse": {"functionResponse"},
}
_FILES = {"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif", "application/pdf"}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")
SCHEMA = {
    "$id", "$defs", "$ref", "$anchor", "type", "format", "title", "description", "enum", "items",
    "prefixItems", "minItems", "maxItems", "minimum", "maximum", "anyOf", "oneOf", "properties",
    "additionalProperties", "required", "propertyOrdering",
}  # fmt: skip


def known(thing: Any, names: set[str], where: str) -> None:
    """All fields are known ones."""
    if not isinstance(thing, dict):
        raise Refused(f"Invalid value at '{where}'.", field=where)
    for name in thing:
        if name not in names:
            raise Refused(
                f"Invalid JSON payload received. Unknown name \"{name}\" at '{where}': Cannot"
                " find field.", field=where,
            )  # fmt: skip


def check(model: str, body: Body) -> None:
    """Raise :class:`Refused` at the first thing that is not right."""
    known(body, _TOP, "request")
    if "systemInstruction" in body:
        known(body["systemInstruction"], {"parts", "role"}, "system_instruction")
        for part in body["systemInstruction"]["parts"]:
            if set(part) != {"text"} or not part["text"].strip():
                raise Refused("System instructions must be text and not empty.")
    _check_generation(model, body.get("generationConfig", {}))
    names = _check_tools(body)
    _check_contents(model, body.get("contents"), names)


def _check_generation(model: str, config: Any) -> None:
    where = "generation_config"
    known(config, {*_GENERATION, *_OTHERS}, where)
    for name, (kind, low, high) in _GENERATION.items():
        if name in config:
            value = config[name]
            if isinstance(value, bool) or not isinstance(value, kind) or not low <= value <= high:
                snake = re.sub("[A-Z]", lambda c: f"_{c[0].lower()}", name)
                raise Refused(f"Invalid value at '{where}.{snake}'.", field=f"{where}.{snake}")
    stops = config.get("stopSequences", ["a"])
    if not 1 <= len(stops) <= 5 or not all(isinstance(stop, str) and stop for stop in stops):
        raise Refused("At most 5 stop sequences, none of them empty.")
    thinking = config.get("thinkingConfig", {})
    known(thinking, {"includeThoughts", "thinkingBudget", "thinkingLevel"}, "thinking_config")
    if thinking and re.match(r"gemini-1|gemini-2\.0|gemma", model):
        raise Refused("Thinking is not enabled for this model.")
    if "thinkingLevel" in thinking and "thinkingBudget" in thinking:
        raise Refused("You can only set only one of thinking budget and thinking level.")
    if thinking.get("thinkingLevel", "LOW") not in ("MINIMAL", "LOW", "MEDIUM", "HIGH"):
        raise Refused("Thinking level is not supported for this model.")
    if "thinkingLevel" in thinking and model.startswith("gemini-2"):
        raise Refused("Thinking level is not supported for this model.")
    if "responseJsonSchema" in config:
        check_schema(config["responseJsonSchema"])
        if config.get("responseMimeType") != "application/json":
            raise Refused("response_json_schema needs response_mime_type application/json.")


def _check_tools(body: Body) -> set[str]:
    names: set[str] = set()
    for tool in body.get("tools", []):
        known(tool, {"functionDeclarations"}, "tools[0]")
        for declared in tool["functionDeclarations"]:
            known(declared, {"name", "description", "parametersJsonSchema"}, "declaration")
            if not _NAME.fullmatch(declared["name"]) or declared["name"] in names:
                raise Refused(f"Invalid or duplicate function name: {declared['name']}")
            names.add(declared["name"])
            check_schema(declared.get("parametersJsonSchema", {}))
    config = body.get("toolConfig", {})
    known(config, {"functionCallingConfig"}, "tool_config")
    calling = config.get("functionCallingConfig", {})
    known(calling, {"mode", "allowedFunctionNames"}, "function_calling_config")
    mode = calling.get("mode", "AUTO")
    if mode not in ("AUTO", "ANY", "NONE", "VALIDATED") or (calling and not names):
        raise Refused("Function calling config is set without function_declarations.")
    allowed = set(calling.get("allowedFunctionNames", []))
    if (allowed and mode not in ("ANY", "VALIDATED")) or allowed - names:
        raise Refused("Allowed function names are not among the declared ones.")
    return names


def check_schema(schema: Any) -> None:
    """The documented dialect of JSON Schema, keyword by keyword."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict) or set(schema) - SCHEMA:
        raise Refused(f"Unknown keywords in the JSON schema: {schema}")
    if "$ref" in schema and any(not name.startswith("$") for name in schema):
        raise Refused("Nothing may stand beside $ref.")
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    inner += [one for name in ("anyOf", "oneOf", "prefixItems") for one in schema.get(name, [])]
    inner += [schema[name] for name in ("items", "additionalProperties") if name in schema]
    for one in inner:
        check_schema(one)


def _check_contents(model: str, contents: Any, tools: set[str]) -> None:
    if not isinstance(contents, list) or not contents:
        raise Refused("GenerateContentRequest.contents: contents is not specified")
    before: Body = {}
    for number, content in enumerate(contents):
        where = f"contents[{number}]"
        known(content, {"role", "parts"}, where)
        if content.get("role") not in ("user", "model"):
            raise Refused("Please use a valid role: user, model.")
        if not content.get("parts"):
            raise Refused(f"{where}.parts must not be empty.")
        for part in content["parts"]:
            _check_part(part, content["role"], where)
        _check_order(before, content, number)
        _check_responses(before, content)
        _check_signatures(model, contents[:number], content["parts"])
        before = content
    if _calls(before):
        raise Refused(_UNEQUAL)
    _check_current_turn(model, contents)


_UNEQUAL = (
    "Please ensure that the number of function response parts is equal to the number of function"
    " call parts of the function call turn."
)


def _check_part(part: Any, role: str, where: str) -> None:
    kinds = [kind for kind in _PARTS if kind in part]
    if len(kinds) != 1:
        raise Refused("A part must have exactly one initialized field: required oneof field 'data'")
    kind = kinds[0]
    known(part, _PARTS[kind], f"{where}.parts")
    if kind == "text" and not (part["text"].strip() or "thoughtSignature" in part):
        raise Refused(f"{where}: Unable to submit an empty text parameter.")
    if kind in ("functionResponse", "inlineData") and role != "user":
        raise Refused(f"{kind} is not the model's to give.")
    if kind == "functionCall":
        known(part[kind], {"name", "args", "id"}, f"{where}.parts.function_call")
        if role != "model" or not isinstance(part[kind].get("args", {}), dict):
            raise Refused("A function call has an object of arguments and is the model's.")
        if not _NAME.fullmatch(part[kind]["name"]):
            raise Refused("Invalid function name.")
    if kind == "functionResponse":
        known(part[kind], {"name", "response", "id"}, f"{where}.parts.function_response")
        if not part[kind].get("name") or not isinstance(part[kind].get("response"), dict):
            raise Refused("A function response has a name and an object.")
    if kind == "inlineData":
        known(part[kind], {"mimeType", "data"}, f"{where}.parts.inline_data")
        if part[kind]["mimeType"] not in _FILES:
            raise Refused(f"Unsupported MIME type: {part[kind]['mimeType']}")
        if not base64.b64decode(part[kind]["data"], validate=True):
            raise Refused("inline_data is empty.")


def _calls(content: Mapping[str, Any]) -> list[Body]:
    return [p["functionCall"] for p in content.get("parts", []) if "functionCall" in p]


def _responses(content: Mapping[str, Any]) -> list[Body]:
    return [p["functionResponse"] for p in content.get("parts", []) if "functionResponse" in p]


def _check_order(before: Body, content: Body, number: int) -> None:
    if number == 0 and content["role"] != "user":
        raise Refused("Please ensure that the first content is the user's.")
    if before and before["role"] == content["role"] and not _responses(before):
        raise Refused("Please ensure that multiturn requests alternate between user and model.")
    if _responses(content) and len(_responses(content)) != len(content["parts"]):
        raise Refused("Function responses can not be mixed with other parts.")


def _check_responses(before: Body, content: Body) -> None:
    calls, responses = _calls(before), _responses(content)
    if responses and not calls:
        raise Refused(
            "Please ensure that function response turn comes immediately after a function call"
            " turn."
        )
    if len(calls) != len(responses):
        raise Refused(_UNEQUAL)
    for call, response in zip(calls, responses, strict=True):
        if call["name"] != response["name"] or call.get("id") != response.get("id"):
            raise Refused("functionResponse.id does not match functionCall.id")


def _check_signatures(model: str, before: Sequence[Body], parts: Sequence[Body]) -> None:
    for part in parts:
        given = part.get("thoughtSignature")
        if given is None or (given == DUMMY and "functionCall" in part):
            continue
        wanted = signature(model, before, part)
        if given != wanted:
            raise Refused("Thought signature is not valid.")


def _check_current_turn(model: str, contents: Sequence[Body]) -> None:
    """In the current turn, the first function call of every step must be signed."""
    if re.match(r"gemini-[12]\b|gemma", model):
        return
    start = max(
        (n for n, c in enumerate(contents) if c["role"] == "user" and not _responses(c)),
        default=0,
    )
    for number, content in enumerate(contents[start:], start):
        first = next((p for p in content["parts"] if "functionCall" in p), None)
        if first is not None and "thoughtSignature" not in first:
            name = first["functionCall"]["name"]
            raise Refused(
                f"Function call is missing a thought_signature in functionCall parts: `{name}` in"
                f" the {number}. content block."
            )
