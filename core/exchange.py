"""One call as it went out and as the answer came in, with the same call as code.

What is shown here is what the adapter sends: it comes from the stored request through the very
function that :meth:`core.types.Adapter.stream` uses.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from core.errors import NotFound, TurntreeError, Unsupported
from core.keys import endpoint_of
from core.providers import adapters
from core.store import Store
from core.types import PARTS, Adapter, Config, Json, Parts, Request, Run
from core.wire.code import public

Form = Literal["request", "reply", "python", "curl"]
FILES: Mapping[Form, tuple[str, str]] = {
    "request": ("request.json", "application/json"),
    "reply": ("reply.json", "application/json"),
    "python": ("call.py", "text/x-python"),
    "curl": ("call.sh", "text/x-shellscript"),
}
"""The name and media type of each form as a file."""

_STAYED = ("MissingKey", "LocalModelError", "BadFile", "Unsupported")
"""Failures that come up before anything leaves this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A call and its answer.

    ``body`` is the JSON of the request, None if none could be built. ``items`` are the answer
    as the provider's own items, put together from its stream, where they were kept; ``parts``
    are its words in any case, ``began`` those that an answer continues. ``address`` is where
    the provider answers now, without anything secret.
    """

    run: Run
    provider: str
    address: str
    request: Request
    body: Json
    items: Json
    parts: Parts
    began: Parts = ()

    @property
    def left(self) -> bool:
        """Whether the request went out, as far as can be known here."""
        failure = self.run.failure
        return self.body is not None and not (failure and failure.kind in _STAYED)


def exchange(store: Store, run_id: str, *, arrived: Parts | None = None) -> Exchange:
    """The call of a run, also of one that runs or has failed. Raises :class:`NotFound`.

    ``arrived`` is what has come of an answer that is still being written.
    """
    run, request = store.runs.get(run_id), store.runs.sent(run_id)
    found = adapters().get(run.config.provider)
    node = next(iter(store.nodes.many([run.node_id])), None) if run.node_id else None
    raw = node.raw if node is not None else None
    began: Parts = ()
    if node is not None and run.purpose == "continue" and run.context_tip_id:
        began = next((n.parts for n in store.nodes.many([run.context_tip_id])), ())
    return Exchange(
        run=run,
        provider=found.label if found else run.config.provider,
        address=_address(found) if found else "",
        request=request,
        body=_body(found, request),
        items=raw["items"] if isinstance(raw, dict) and "items" in raw else raw,
        # What a side run wrote is what came back, whatever was made of it since.
        parts=run.partial or node.parts if node is not None else arrived or run.partial,
        began=began,
    )


def written(of: Exchange, form: Form) -> str:
    """A form of the call as exact text. Raises :class:`Unsupported` where there is none."""
    if form == "reply":
        return _json(of.items if of.items is not None else PARTS.dump_python(of.parts, mode="json"))
    if of.body is None:
        raise Unsupported("No request could be built.", hint="The error says why.")
    if form == "request":
        return _json(of.body)
    found = adapters().get(of.run.config.provider)
    if found is None:
        raise Unsupported(
            f"There is no provider called {of.run.config.provider!r} any more.",
            hint="The request itself is still here: copy it as JSON.",
        )
    make = found.script if form == "python" else found.curl
    return make(of.request, of.address)


def differences(before: Config, after: Config) -> list[tuple[str, str, str]]:
    """What is set otherwise: name, before, after. Unset is empty."""
    names = ("provider", "model", "system", "policy")
    changed = [(name, str(getattr(before, name)), str(getattr(after, name))) for name in names]
    for name in sorted({*before.sampling, *after.sampling}):
        old, new = before.sampling.get(name), after.sampling.get(name)
        changed.append((name, _value(old), _value(new)))
    return [(name, old, new) for name, old, new in changed if old != new]


def settings_before(store: Store, of: Exchange) -> Config | None:
    """The settings of the call before this one on its branch."""
    earlier = store.ledger.before(of.run.id)
    return store.runs.get(earlier).config if earlier else None


def settings_now(store: Store, of: Exchange) -> Config | None:
    """The settings that the session's next call will have."""
    with suppress(NotFound):
        return store.sessions.get(of.run.session_id).config
    return None


def _body(found: Adapter | None, request: Request) -> Json:
    if not request.envelope:
        return None  # what failed while it was built is kept as nothing
    if found is None:
        return {**request.envelope, "messages": list(request.messages)}
    return found.body(request)


def _address(found: Adapter) -> str:
    """The endpoint's own address, without a name, password or parameter that stands in it."""
    endpoint = None
    with suppress(TurntreeError):  # a secrets file that cannot be read is told elsewhere
        endpoint = endpoint_of(found)
    return public(endpoint.base_url if endpoint else found.default_url)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _value(value: Json) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)
