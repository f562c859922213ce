"""What Google says of an error, in the words that all adapters share."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace

from core.types import Json
from core.wire.complaints import Complaint, read

_VAGUE = {"p", "k", "tokens", "sequences", "type", "level", "thoughts", "config", "schema"}
_THINKING = ("thinking_budget", "thinking_level", "include_thoughts")
"""What is to blame when a model does not think at all, the likeliest first."""


def complaint(
    told: Json, *, status: int | None, headers: Mapping[str, str], settings: Mapping[str, str]
) -> Complaint:
    """Google's body: a message, a status in words, details of several kinds; or anything else.

    ``settings`` are those that were sent: their names on the wire, with our own.
    """
    body = told.get("error", told) if isinstance(told, dict) else told
    body = body if isinstance(body, dict) else {"message": str(body or "")}
    found = read(body, status=status, headers=headers)
    listed = body.get("details")
    details = [d for d in listed if isinstance(d, dict)] if isinstance(listed, list) else []
    wait = next((d["retryDelay"] for d in details if d.get("retryDelay")), None)
    if isinstance(wait, str) and re.fullmatch(r"\d+(\.\d+)?s", wait):
        found = replace(found, retry_after=float(wait[:-1]))
    codes = _codes(str(body.get("status") or ""), found.text, details, bool(wait))
    culprit = _culprit(found, details, settings) if found.status in (None, 400, 422) else None
    return replace(found, codes=found.codes | codes, parameter=culprit)


def _codes(status: str, text: str, details: list[dict[str, Json]], waits: bool) -> set[str]:
    """The common codes for what Google says in its own way."""
    if any(entry.get("reason") == "API_KEY_INVALID" for entry in details):
        return {"invalid_api_key"}
    if status == "RESOURCE_EXHAUSTED":
        # The words are the same for a minute's quota as for a day's.
        quotas = json.dumps([entry.get("violations") for entry in details])
        spent = "PerDay" in quotas or (not waits and re.search("billing|credit", text))
        return {"insufficient_quota" if spent else "rate_limit_exceeded"}
    if status == "FAILED_PRECONDITION" and "billing" in text:
        return {"billing_error"}
    if status == "FAILED_PRECONDITION" and "location" in text:
        return {"permission_denied"}
    return {status.lower()}


def _culprit(
    found: Complaint, details: list[dict[str, Json]], settings: Mapping[str, str]
) -> str | None:
    """The setting that is to blame: the first that is named in the fields or in the words."""
    fields = [v.get("field", "") for d in details for v in d.get("fieldViolations") or []]
    said = " ".join([*map(str, fields), found.text])
    places = [
        (mention.start(), setting)
        for name, setting in settings.items()
        if (mention := _mention(name, setting, said))
    ]
    if places:
        return min(places)[1]
    thinks = re.search(r"\bthinking\b", said, re.IGNORECASE)
    return next((s for s in _THINKING if thinks and s in settings.values()), None)


def _mention(name: str, setting: str, said: str) -> re.Match[str] | None:
    long = re.sub(r"([A-Z])", r"_\1", name).lower()
    spoken = {name, long, setting, setting.replace("_", " "), setting.split("_")[-1]}
    names = "|".join(sorted(spoken - _VAGUE, key=len, reverse=True))
    return re.search(rf"(?<![a-z])({names})(?![a-z])", said, re.IGNORECASE)
