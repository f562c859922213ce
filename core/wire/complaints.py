"""Reading what a provider complains about: from status, code and words to our error.

Providers word the same trouble differently and put the telling code in different places.
Every adapter fills in a :class:`Complaint`; what it means is decided here, once. No SDK is
known here, and no secret leaves.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from core.errors import (
    AuthFailed,
    BadReply,
    BadRequest,
    ContextTooLong,
    NoPermission,
    Overloaded,
    ProviderError,
    QuotaExhausted,
    RateLimited,
    Timeout,
    TurntreeError,
    UnknownModel,
    Unreachable,
)
from core.types import Json

_BY_CODE: tuple[tuple[type[TurntreeError], frozenset[str]], ...] = (
    (
        ContextTooLong,
        frozenset({"context_length_exceeded", "exceed_context_size_error", "request_too_large"}),
    ),
    (
        QuotaExhausted,
        frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_error"}),
    ),
    (AuthFailed, frozenset({"invalid_api_key", "authentication_error"})),
    (UnknownModel, frozenset({"model_not_found"})),
    (NoPermission, frozenset({"permission_error", "permission_denied"})),
    (RateLimited, frozenset({"rate_limit_exceeded", "rate_limit_error", "too_many_requests"})),
    (Overloaded, frozenset({"overloaded_error", "server_error", "api_error", "unavailable_error"})),
)
_BY_STATUS: dict[int, type[TurntreeError]] = {
    401: AuthFailed,
    402: QuotaExhausted,
    403: NoPermission,
    408: Timeout,
    409: Overloaded,
    413: ContextTooLong,
    429: RateLimited,
    504: Timeout,
    524: Timeout,
}
_TOO_LONG = re.compile(
    r"(context|prompt).{0,40}(length|long|window|exceed)|exceed.{0,40}(context|prompt)"
    r"|too many tokens|input token count",
    re.IGNORECASE | re.DOTALL,
)
_NO_MODEL = re.compile(
    r"model.{0,120}(not found|not exist|unknown|not supported|not a valid)|unknown model",
    re.IGNORECASE | re.DOTALL,
)
_BAD_KEY = re.compile(
    r"(api.?key|(access|auth|bearer)\S* token).{0,30}(invalid|not valid|incorrect)|"
    r"(invalid|incorrect).{0,20}api.?key",
    re.IGNORECASE,
)
_WAIT = re.compile(
    r"(?:again|retry)\D{0,20}((?:[\d.]+\s*(?:ms|milliseconds?|s|sec(?:ond)?s?|m|min(?:ute)?s?"
    r"|h|hours?)\b\s*|[\d.]+(?:h|m(?!s)))+)",
    re.IGNORECASE,
)
_SPAN = re.compile(r"([\d.]+)\s*(ms|milli|s|m|h)", re.IGNORECASE)
_UNITS = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PATH = re.compile(r"[a-z_]\w*(?:(?:\.|\[)\w+\]?)*")
_NONE: Mapping[str, str] = {}
_MASKED = re.compile(r"[\w-]*(?:\*{2,}|\.{3}|…)[\w-]*")
_LOOKS_SECRET = re.compile(r"\b(?:sk|pk|gsk|xai|hf)[-_][\w*-]{6,}|\bBearer\s+\S+", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Complaint:
    """What a provider said. ``codes`` are its code and type, whichever it gave.

    ``parameter`` is what it finds fault with: a setting under our own name for it, or else as
    the provider calls it.
    """

    text: str = ""
    status: int | None = None
    codes: frozenset[str] = frozenset()
    parameter: str | None = None
    request_id: str | None = None
    retry_after: float | None = None


def error_for(
    complaint: Complaint, *, provider: str, model: str, secrets: Iterable[str] = ()
) -> TurntreeError:
    """Our error for a complaint, with every trace of the ``secrets`` taken out."""
    secrets = tuple(secrets)
    if complaint.parameter and redacted(complaint.parameter, secrets) != complaint.parameter:
        complaint = replace(complaint, parameter=None)
    kind = kind_of(complaint)
    said = redacted(" ".join(complaint.text.split()), secrets)[:500] or "it did not say why"
    if kind is UnknownModel:
        return UnknownModel(f"The provider does not know the model {model!r}: {said}")
    answered = f"The provider answered {complaint.status}" if complaint.status else ""
    error = kind(f"{answered or 'The provider broke off'}: {said}", hint=_hint(kind, complaint))
    if isinstance(error, ProviderError):
        error.provider, error.model, error.status = provider, model, complaint.status
        error.request_id = redacted(complaint.request_id or "", secrets) or None
        error.retry_after, error.parameter = complaint.retry_after, complaint.parameter
    return error


def kind_of(complaint: Complaint) -> type[TurntreeError]:
    """Which error it is: by code first, then by wording, last by status."""
    status, text = complaint.status, complaint.text
    by_code = next((kind for kind, codes in _BY_CODE if codes & complaint.codes), None)
    if by_code is not None and by_code is not Overloaded:
        return by_code
    if status in (400, 401) and _BAD_KEY.search(text):
        return AuthFailed
    about_input = complaint.parameter in (None, "messages", "prompt", "input", "model")
    if status in (None, 400, 413, 422, 500) and about_input and _TOO_LONG.search(text):
        return ContextTooLong
    about_model = complaint.parameter == "model" or (
        complaint.parameter is None and _NO_MODEL.search(text)
    )
    if status in (400, 404, 422) and about_model:
        return UnknownModel
    if by_code is not None:
        return by_code
    if status is None:
        return BadReply
    if 300 <= status < 400:
        return Unreachable
    return _BY_STATUS.get(status, BadRequest if status < 500 else Overloaded)


def _hint(kind: type[TurntreeError], complaint: Complaint) -> str | None:
    if kind is Unreachable or (kind is BadRequest and complaint.status in (404, 405)):
        return "Check the server's address: it usually ends in /v1."
    if kind is BadRequest and complaint.parameter:
        return f"Clear or change {complaint.parameter!r} in the settings, then retry."
    if kind is BadRequest and {"content_filter", "content_policy_violation"} & complaint.codes:
        return "Reword what you sent, then retry."
    return None


def retry_after(headers: Mapping[str, str], text: str = "") -> float | None:
    """Seconds to wait, from the headers (number, milliseconds or date) or from the words."""
    if milliseconds := _number(headers.get("retry-after-ms")):
        return milliseconds / 1000
    given = headers.get("retry-after")
    if (seconds := _number(given)) is not None:
        return seconds
    if given:
        try:
            return max(0.0, (parsedate_to_datetime(given) - datetime.now(UTC)).total_seconds())
        except (ValueError, TypeError):  # neither a number nor a date with a zone
            pass
    if found := _WAIT.search(text):
        spans = _SPAN.findall(found[1])
        return sum((_number(n) or 0.0) * _UNITS[unit.lower()] for n, unit in spans)
    return None


def _number(text: str | None) -> float | None:
    try:
        value = float(text or "")
    except ValueError:
        return None
    return value if 0 <= value < float("inf") else None


def redacted(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, nor halves of them, nor what else looks like a key."""
    kept = [secret for secret in secrets if len(secret) >= 6]
    for secret in kept:
        text = text.replace(secret, "[key]")
    text = _LOOKS_SECRET.sub("[key]", text)
    text = _MASKED.sub(lambda match: _masked(match[0], kept), text)
    return re.sub(
        r"[\w-]{6,}",
        lambda word: "[key]" if any(word[0] in secret for secret in kept) else word[0],
        text,
    )


def _masked(word: str, secrets: list[str]) -> str:
    """``sk-ab***yz`` and ``sk-ab...yz`` show both ends of a key."""
    ends = [end for end in re.split(r"\*{2,}|\.{3}|…", word) if len(end) >= 3]
    shown = any(end in secret for end in ends for secret in secrets)
    return "[key]" if shown else word


def read(
    body: Json, *, status: int | None, headers: Mapping[str, str], knobs: Mapping[str, str] = _NONE
) -> Complaint:
    """The complaint in an error body of any shape: the object, bare words, a page, nothing.

    ``knobs`` are the settings that were sent: their places in the request, with our names.
    One that is named in the words is the culprit even if the provider did not put it in a
    field of its own.
    """
    told: Mapping[str, Json] = body if isinstance(body, Mapping) else {}
    text = told.get("message") or _details(told.get("detail")) or body
    text = text if isinstance(text, str) and not text.lstrip().startswith("<") else ""
    code = told.get("code")
    if status is None or status < 300:
        status = code if isinstance(code, int) and 400 <= code < 600 else None
    field = told.get("param")
    named = (setting_at(str(field), knobs) or field) if field else setting_named(text, knobs)
    wait = told.get("retry_after")
    return Complaint(
        text=text,
        status=status,
        codes=frozenset(str(value).lower() for value in (code, told.get("type")) if value),
        parameter=str(named) if named and status in (None, 400, 422) else None,
        request_id=headers.get("x-request-id"),
        retry_after=retry_after(headers, text) if wait is None else _number(str(wait)),
    )


def setting_named(words: str, knobs: Mapping[str, str]) -> str | None:
    """Our name of the first setting in the words. Of a path, ``thinking.budget_tokens``, the
    inner names count first."""
    ours = {place.lower(): name for place, name in knobs.items()}
    for path in _PATH.findall(words.lower()):
        for place in (path, *reversed(re.split(r"[.\[\]]+", path))):
            if place in ours:
                return ours[place]
    return None


def setting_at(field: str, knobs: Mapping[str, str]) -> str | None:
    """Our name of the setting that a field of the request is, or holds."""
    inside = (name for place, name in knobs.items() if place.startswith(f"{field}."))
    return setting_named(field, knobs) or next(inside, None)


def _details(detail: Json) -> str:
    """The words of a validation report: a string, or a list of places and messages."""
    if isinstance(detail, list):
        entries = [entry for entry in detail if isinstance(entry, Mapping)]
        return "; ".join(f"{(e.get('loc') or ['?'])[-1]}: {e.get('msg', '')}" for e in entries)
    return detail if isinstance(detail, str) else ""
