"""Everything a run needs before it starts: the request, or why there can be none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.binding import build, seal
from core.context import call_for, continuation
from core.errors import TurntreeError
from core.live import Sealing
from core.providers import adapter, model_info
from core.store import Store
from core.types import Call, Config, Failure, Json, Node, Purpose, Request, Session

_NEAR = 100  # messages from the end among which the last fork is looked for


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """What is about to be sent, and how the raw items of its answer are sealed."""

    request: Request
    sealed: Sealing
    failure: Failure | None = None


def prepare(
    store: Store,
    tip_id: str,
    node: Node | None,
    config: Config,
    session: Session,
    purpose: Purpose,
) -> Prepared:
    """Build the request that answers ``tip_id``; ``node``, if given, is that tip, yet unwritten."""
    if node is None:
        lineage = store.nodes.lineage(tip_id)
    else:
        lineage = (*store.nodes.lineage(node.parent_id), node)
    call = _shared(store, lineage, call_for(lineage, config, session))
    if purpose == "continue":
        call = continuation(call, prefill=model_info(config.provider, config.model).prefill)
    try:
        found = adapter(config.provider)
        request = build(found, call)
    except TurntreeError as error:
        nothing = Request(envelope={}, messages=())
        return Prepared(request=nothing, sealed=_unsealed, failure=error.failure())
    # What continues an answer is half of one: its items say nothing of the other half.
    sealed = _unsealed if purpose == "continue" else partial(seal, found, call, request)
    return Prepared(request=request, sealed=sealed)


def _shared(store: Store, lineage: Sequence[Node], call: Call) -> Call:
    """The call with its files, and with what lets a provider reuse the beginning: whose tree it
    is, and how much of it the sibling branches share."""
    near = [node.id for node in lineage[-_NEAR:]]
    fork = store.nodes.last_fork(near)
    shared = None if fork is None else len(lineage) - len(near) + near.index(fork) + 1
    files = store.attachments
    return replace(call, cache_key=lineage[0].id, shared_until=shared, attachments=files)


def _unsealed(items: Json) -> Json:
    return None
