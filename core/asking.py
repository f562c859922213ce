"""Everything a run needs before it starts: the request, or why there can be none."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from core.binding import build, seal
from core.context import call_for, continuation
from core.errors import TurntreeError
from core.live import Sealing
from core.policies import NOTHING, Choices
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
    lineage: Sequence[Node],
    config: Config,
    session: Session,
    purpose: Purpose,
    choices: Choices = NOTHING,
) -> Prepared:
    """Build the request that answers a lineage; its last node may be unwritten yet."""
    try:
        call = call_for(lineage, config, session, choices)
    except TurntreeError as error:
        return _refused(error)
    if purpose == "continue":
        call = continuation(call, prefill=model_info(config.provider, config.model).prefill)
    # What continues an answer is half of one: its items say nothing of the other half.
    return ready(store, lineage, call, config, sealing=purpose != "continue")


def ready(
    store: Store, lineage: Sequence[Node], call: Call, config: Config, *, sealing: bool = False
) -> Prepared:
    """The request of any call that a session makes. ``lineage`` is what it speaks of."""
    call = _shared(store, lineage, call)
    try:
        found = adapter(config.provider)
        request = build(found, call)
    except TurntreeError as error:
        return _refused(error)
    sealed = partial(seal, found, call, request) if sealing else unsealed
    return Prepared(request=request, sealed=sealed)


def path_to(store: Store, tip_id: str, node: Node | None = None) -> tuple[Node, ...]:
    """The lineage of ``tip_id``; ``node``, if given, is that tip, yet unwritten."""
    if node is None:
        return store.nodes.lineage(tip_id)
    return (*store.nodes.lineage(node.parent_id), node)


def _refused(error: TurntreeError) -> Prepared:
    nothing = Request(envelope={}, messages=())
    return Prepared(request=nothing, sealed=unsealed, failure=error.failure())


def _shared(store: Store, lineage: Sequence[Node], call: Call) -> Call:
    """The call with its files, and with what lets a provider reuse the beginning: whose tree it
    is, and how much of it the sibling branches share."""
    call = replace(call, attachments=store.attachments)
    if not lineage:
        return call
    near = [node.id for node in lineage[-_NEAR:]]
    fork = store.nodes.last_fork(near)
    shared = None
    if fork is not None:
        own = set(near[near.index(fork) + 1 :])
        count = len(call.messages)
        shared = next((i for i in range(count) if call.messages[i].node_id in own), count)
    return replace(call, cache_key=lineage[0].id, shared_until=shared)


def unsealed(items: Json) -> Json:
    """No items are kept of what makes no node."""
    return None
