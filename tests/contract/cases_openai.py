"""OpenAI's Responses in the contract suite: scenes become what the API sends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from core.providers import openai
from core.types import Endpoint, Usage
from tests.contract import cases_compatible
from tests.contract.case import Scene, Stage, Trouble, ask
from tests.contract.cases_compatible import KEY
from tests.fakes import openai as fake
from tests.fakes.server import serving

MODEL = "gpt-6-sol"
TROUBLES: dict[Trouble, fake.Play] = {
    **cases_compatible.TROUBLES,
    "unknown_model": fake.refusal(
        400, "The requested model 'x' does not exist.", param="model", code="model_not_found"
    ),
    "overloaded": fake.refusal(503, "The engine is currently overloaded.", code="server_error"),
    "context_too_long": fake.refusal(
        400,
        "Your input exceeds the context window of this model.",
        param="input",
        code="context_length_exceeded",
    ),
}
_NOISE: Sequence[fake.Step] = (
    b": keep-alive\n\n",
    fake.event("keepalive"),
    fake.event("response.novelty.delta", delta="not for us", output_index=0),
    fake.event("response.output_text.annotation.added", annotation={"a": 1}),
    b"id: 7\nretry: 1000\n\n",
    fake.sse([1, 2]),
)
_INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


def steps(scene: Scene, body: fake.Body) -> list[fake.Step]:
    """The stream of a scene, in answer to a request."""
    stream: list[fake.Step] = [*fake.created()]
    place = 0
    if scene.thinking:
        item = fake.reasoning(body, place, "".join(scene.thinking))
        stream += fake.thought(place, item, scene.thinking)
        place += 1
    if scene.text:
        stream += fake.message(place, scene.text)
        place += 1
    if scene.refusal:
        stream += fake.message(place, [scene.refusal], refused=True)
        place += 1
    for call in scene.calls:
        stream += fake.tool_call(place, call.id, call.name, call.arguments)
        place += 1
    if scene.pause:
        stream = [step for piece in stream for step in (fake.Pause(scene.pause), piece)]
    if scene.stall:
        return [*stream, fake.Pause(30)]
    if scene.breaks:
        return [*stream, fake.HangUp()]
    if scene.trouble:
        error = TROUBLES[scene.trouble].body["error"]
        code = error["code"] or error["type"]
        return [*stream, fake.failed(code, error["message"])]
    if scene.finish in _INCOMPLETE:
        stream.append(fake.incomplete(_INCOMPLETE[scene.finish], _usage(scene.usage)))
    elif scene.finish is not None:
        stream.append(fake.completed(_usage(scene.usage)))
    if scene.noise:
        stream = [step for piece in stream for step in (*_NOISE, piece)]
    return fake.sliced(stream, scene.slice) if scene.slice else stream


def _usage(usage: Usage | None) -> dict[str, Any] | None:
    if usage is None:
        return None
    return {
        "input_tokens": usage.input_tokens,
        "input_tokens_details": {
            "cached_tokens": usage.cached_tokens,
            "cache_write_tokens": usage.cache_write_tokens,
        },
        "output_tokens": usage.output_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": 0,
    }


class OpenAICase:
    name = "openai"
    model = MODEL
    can = frozenset(
        {"build", "stream", "http", "thinking", "tools", "refusal", "usage", "slow", "cut_off"}
    )

    @contextmanager
    def stage(self, scene: Scene) -> Iterator[Stage]:
        server = fake.Responses(key=KEY)
        if scene.trouble and not scene.trouble_after_text:
            server.play = TROUBLES[scene.trouble]
        else:
            server.play = lambda body: fake.Play(steps=steps(scene, body), wait=scene.wait)
        openai._client.cache_clear()
        with serving(server.app) as address:
            yield Stage(
                call=ask("Hi", self.model, sampling={"reasoning_effort": "low"}),
                endpoint=Endpoint(base_url=f"{address}/v1", api_key=KEY),
                seen=server.seen,
                hung_up=server.hung_up,
            )
        assert [seen.refused for seen in server.seen if seen.refused] == []

    def exceptions(self) -> Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
        return cases_compatible.CASE.exceptions()

    def translate(self, exc: Exception) -> Exception:
        endpoint = Endpoint(base_url="http://127.0.0.1:1/v1", api_key=KEY)
        return openai.translate(exc, {"model": self.model}, endpoint)


CASE = OpenAICase()
