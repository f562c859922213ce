"""The embedded model: llama.cpp in a process of our own, spoken to like any local server.

What a person leaves unset is filled in from the model's card before the request is built, so
that what the ledger holds is exactly what was sent.
"""

from collections.abc import Generator, Iterator
from dataclasses import replace

from core import local
from core.errors import ProviderError, Unreachable
from core.local import Server, Weights
from core.providers.compatible import Compatible
from core.types import (
    Caching,
    Call,
    Delta,
    Endpoint,
    Event,
    Json,
    Knob,
    ModelInfo,
    Progress,
    Request,
    Stop,
)

NAME = "local"
LOOK_SECONDS = 0.25
LOST_SECONDS = 1.0
KNOBS = (
    Knob(
        name="temperature",
        label="Temperature",
        kind="number",
        low=0.0,
        high=2.0,
        step=0.05,
        help="0 always takes the likeliest word; higher is more varied.",
    ),
    Knob(name="top_p", label="Top p", kind="number", low=0.0, high=1.0, step=0.05),
    Knob(
        name="top_k",
        label="Top k",
        kind="integer",
        low=0,
        high=200,
        step=1,
        help="Choose among this many likeliest words; 0 is no limit.",
    ),
    Knob(
        name="repeat_penalty",
        label="Repeat penalty",
        kind="number",
        low=0.5,
        high=2.0,
        step=0.05,
        help="Above 1, words already used become less likely.",
    ),
    Knob(
        name="max_tokens",
        label="Longest answer",
        kind="integer",
        low=1,
        step=1,
        help="In tokens. Small models may otherwise not find an end.",
    ),
    Knob(
        name="seed",
        label="Seed",
        kind="integer",
        low=0,
        high=2**32 - 2,
        step=1,
        help="The same seed and settings give the same answer.",
    ),
)
ELSEWHERE = "http://127.0.0.1:8080/v1"
"""Where llama.cpp's own server answers when it is started by hand."""
EXTRAS = {"cache_prompt": True, "return_progress": True}


class Local:
    """The adapter of the embedded model. Needs no endpoint: it starts its own."""

    name = NAME
    label = "Embedded model"
    key_names: tuple[str, ...] = ()
    default_url = ""
    counts = False

    def __init__(self, engine: local.Engine = local.ENGINE) -> None:
        self._engine = engine
        self._chat = Compatible(NAME, self.label, takes=frozenset())

    def hidden(self) -> bool:
        """Never: without weights, the page says how to get them."""
        return False

    def models(self) -> tuple[ModelInfo, ...]:
        """The weights on this machine, the preferred first; if none, the one to fetch."""
        there = local.available()
        if there:
            return tuple(_info(weights) for weights in there)
        missing = local.preferred()
        return (replace(_info(missing), note=f"Not fetched yet. {missing.note}"),)

    def list_models(self, endpoint: Endpoint | None) -> tuple[ModelInfo, ...]:
        """The same as :meth:`models`: what is on this machine is all there is."""
        return self.models()

    def count_tokens(self, request: Request, endpoint: Endpoint | None) -> int | None:
        """None: counting would start the process, and the estimate is close."""
        return None

    def caching(self, model: str) -> Caching | None:
        """All that the running process has read or written; nothing once it has ended."""
        return Caching(seconds=self._engine.age(model), answers=True)

    def body(self, request: Request) -> Json:
        """As Chat Completions."""
        return self._chat.body(request)

    def script(self, request: Request, base_url: str) -> str:
        """For any llama.cpp server with the same weights; the embedded one answers only us."""
        return self._chat.script(request, base_url or ELSEWHERE)

    def curl(self, request: Request, base_url: str) -> str:
        """As :meth:`script`."""
        return self._chat.curl(request, base_url or ELSEWHERE)

    def build(self, call: Call) -> Request:
        """As Chat Completions, the model card's settings filled in. Pure in the call.

        Raises :class:`Unsupported` for files other than text.
        """
        chosen = {name: value for name, value in call.sampling.items() if value is not None}
        sampling = {**local.sampling_of(call.model), **chosen}
        request = self._chat.build(replace(call, sampling=sampling))
        return replace(request, envelope={**request.envelope, **EXTRAS})

    def stream(  # the endpoint is our own, so the given one is not used
        self,
        request: Request,
        endpoint: Endpoint | None,
        stop: Stop,
    ) -> Iterator[Event]:
        """Have the process ready, then stream. A stopped stream just ends.

        Raises :class:`LocalModelError` if there are no weights or the process does not
        start, :class:`Unreachable` if it ends in the middle.
        """
        weights = yield from self._present(str(request.envelope["model"]), stop)
        server = yield from self._leased(weights, stop) if weights else _nothing()
        if server is None:
            return
        try:
            yield from self._answer(server, request, stop)
        finally:
            self._engine.release(server)

    def _present(self, model: str, stop: Stop) -> Generator[Event, None, Weights | None]:
        """The weights of a model, waiting for a fetch of them that is under way."""
        while not stop.is_set():
            fetch = local.fetching()
            if fetch is None or fetch.done or fetch.entry.id != model:
                return local.find(model)
            yield Progress(stage="fetching the model", share=fetch.share)
            stop.wait(LOOK_SECONDS)
        return None

    def _leased(self, weights: Weights, stop: Stop) -> Generator[Event, None, Server | None]:
        """A server of these weights, once other weights are no longer in use."""
        while not stop.is_set():
            server = self._engine.lease(weights)
            if server is not None:
                return server
            yield Progress(stage="waiting for another model's answer")
            stop.wait(LOOK_SECONDS)
        return None

    def _answer(self, server: Server, request: Request, stop: Stop) -> Iterator[Event]:
        endpoint = server.wait(0.0)
        while endpoint is None:
            yield Progress(stage="starting the embedded model")
            if stop.wait(LOOK_SECONDS):
                return
            endpoint = server.wait(0.0)
        try:
            for event in self._chat.stream(request, endpoint, stop):
                self._note(event)
                yield event
        except ProviderError as error:
            if server.is_lost(LOST_SECONDS):
                raise _lost(server) from error
            raise

    def _note(self, event: Event) -> None:
        """Keep the status that pages show in step with what the process does."""
        if isinstance(event, Progress):
            self._engine.note_reading(event.share)
        elif isinstance(event, Delta):
            self._engine.note_reading(None)


ADAPTER = Local()


def _info(weights: Weights) -> ModelInfo:
    return ModelInfo(
        id=weights.id,
        label=weights.label,
        window=local.context_size(),
        knobs=KNOBS,
        prefill=True,
        free=True,
        note=weights.note,
    )


def _nothing() -> Generator[Event, None, None]:
    """No server, and nothing to say about it."""
    return
    yield


def _lost(server: Server) -> Unreachable:
    return Unreachable(
        f"The embedded model's process ended unexpectedly ({server.ending()}).",
        hint="Retry or continue: it is started again. If it happens again, the machine may be "
        "short of memory: choose the tiny model (TURNTREE_MODEL=tiny).",
        provider=NAME,
        model=server.weights.id,
    )
