"""The scripted provider in the contract suite: scenes become scripts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from core.types import Usage
from tests.contract.case import Scene, Stage, ask

_ERRORS = {
    "bad_key": "AuthFailed",
    "no_credit": "QuotaExhausted",
    "no_permission": "NoPermission",
    "unknown_model": "UnknownModel",
    "rate_limited": "RateLimited",
    "quota": "QuotaExhausted",
    "overloaded": "Overloaded",
    "server_error": "Overloaded",
    "gateway_timeout": "Timeout",
    "context_too_long": "ContextTooLong",
    "context_too_long_in_words": "ContextTooLong",
    "too_many_bytes": "ContextTooLong",
    "bad_parameter": "BadRequest",
    "unprocessable": "BadRequest",
    "not_found": "BadRequest",
    "redirect": "Unreachable",
    "page_instead_of_api": "BadReply",
}


class EchoCase:
    name = "echo"
    model = "echo-1"
    can = frozenset(
        {"build", "stream", "thinking", "tools", "refusal", "progress", "usage", "slow", "cut_off"}
    )

    @contextmanager
    def stage(self, scene: Scene) -> Iterator[Stage]:
        yield Stage(call=ask("/script " + json.dumps(self._script(scene)), self.model))

    def _script(self, scene: Scene) -> dict[str, Any]:
        reply = "".join(scene.text) + scene.refusal
        script: dict[str, Any] = {
            "reply": reply,
            "thinking": "".join(scene.thinking),
            "progress": scene.progress,
            "delay": scene.pause * 1000,
            "finish": "refusal" if scene.refusal else (scene.finish or "stop"),
            "tools": [(call.name, json.loads(call.arguments)) for call in scene.calls],
            "usage": asdict(scene.usage or Usage()),
        }
        if scene.finish is None:
            script |= {"reply": f"{reply} and more", "cut": len(reply.split())}
        if scene.stall or scene.wait:
            script["stall"] = 0 if scene.wait else len(reply.split())
        if scene.trouble:
            script |= {"fail": _ERRORS[scene.trouble], "retry_after": 7, "status": 429}
            script["after"] = len(reply.split()) if scene.trouble_after_text else 0
        return script

    def exceptions(self) -> Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
        return {}

    def translate(self, exc: Exception) -> Exception:
        return exc


CASE = EchoCase()
