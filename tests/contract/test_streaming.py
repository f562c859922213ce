"""What every adapter makes of an answer, whole or broken."""

import json
import threading
import time
import traceback

import pytest

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
from core.types import Adapter, Delta, End, Event, FinishReason, Progress, Stop, ToolCall, Usage
from tests.contract.case import Case, Scene, Trouble, ending, events, words

pytestmark = pytest.mark.needs("stream")

ERRORS: dict[Trouble, type[TurntreeError]] = {
    "bad_key": AuthFailed,
    "no_credit": QuotaExhausted,
    "no_permission": NoPermission,
    "unknown_model": UnknownModel,
    "rate_limited": RateLimited,
    "quota": QuotaExhausted,
    "overloaded": Overloaded,
    "server_error": Overloaded,
    "gateway_timeout": Timeout,
    "context_too_long": ContextTooLong,
    "context_too_long_in_words": ContextTooLong,
    "too_many_bytes": ContextTooLong,
    "bad_parameter": BadRequest,
    "unprocessable": BadRequest,
    "not_found": BadRequest,
    "redirect": Unreachable,
    "page_instead_of_api": BadReply,
}


def test_words_arrive_in_order_and_then_the_end(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(text=["Hello", " big", " world"])) as stage:
        found = events(adapter, stage)
    assert words(found) == "Hello big world"
    assert ending(found).finish_reason == "stop"
    assert ending(found).resolved_model


@pytest.mark.parametrize("size", [1, 7])
def test_text_cut_anywhere_on_the_wire_arrives_whole(
    case: Case, adapter: Adapter, size: int
) -> None:
    text = "Grüße, 世界 😀 نص 👩‍👩‍👧"
    with case.stage(Scene(text=[text], slice=size)) as stage:
        assert words(events(adapter, stage)) == text


@pytest.mark.needs("slow")
def test_words_arrive_while_the_answer_is_being_written(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(text=["a", " b", " c"], pause=0.1)) as stage:
        times = [
            time.monotonic()
            for event in adapter.stream(adapter.build(stage.call), stage.endpoint, Stop())
            if isinstance(event, Delta)
        ]
    assert times[-1] - times[0] > 0.15


@pytest.mark.needs("thinking")
def test_thinking_is_told_apart_from_the_answer(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(thinking=["Let me", " see."], text=["Yes"])) as stage:
        found = events(adapter, stage)
    assert (words(found, "thinking"), words(found)) == ("Let me see.", "Yes")


@pytest.mark.needs("progress")
def test_progress_comes_before_the_first_word(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(progress=4)) as stage:
        found = events(adapter, stage)
    shares = [event.share for event in found[:4] if isinstance(event, Progress)]
    assert shares == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
def test_the_reason_for_ending_is_told(case: Case, adapter: Adapter, reason: FinishReason) -> None:
    with case.stage(Scene(finish=reason)) as stage:
        assert ending(events(adapter, stage)).finish_reason == reason


@pytest.mark.needs("refusal")
def test_a_refusal_is_an_answer_with_its_own_reason(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(text=[], refusal="I cannot help.")) as stage:
        found = events(adapter, stage)
    assert words(found) == "I cannot help."
    assert ending(found).finish_reason == "refusal"


@pytest.mark.needs("tools")
def test_tool_calls_are_put_together(case: Case, adapter: Adapter) -> None:
    calls = [
        ToolCall(id="call_a", name="weather", arguments='{"city": "Zürich"}'),
        ToolCall(id="call_b", name="clock", arguments="{}"),
    ]
    with case.stage(Scene(text=["Let me look."], calls=calls, finish="tool_call")) as stage:
        found = events(adapter, stage)
    made = [event for event in found if isinstance(event, ToolCall)]
    assert [(c.name, json.loads(c.arguments)) for c in made] == [
        ("weather", {"city": "Zürich"}),
        ("clock", {}),
    ]
    assert len({call.id for call in made}) == 2
    assert ending(found).finish_reason == "tool_call"


@pytest.mark.needs("cut_off")
def test_a_stream_that_just_ends_was_cut_off_and_keeps_what_came(
    case: Case, adapter: Adapter
) -> None:
    with case.stage(Scene(text=["Half", " an"], finish=None)) as stage:
        found = events(adapter, stage)
    assert words(found) == "Half an"
    assert ending(found).finish_reason == "cut_off"


@pytest.mark.needs("usage")
@pytest.mark.parametrize(
    "usage",
    [
        Usage(input_tokens=100, output_tokens=50, cached_tokens=80, reasoning_tokens=20),
        Usage(input_tokens=1, output_tokens=0, cached_tokens=0),
        Usage(),
    ],
)
def test_usage_is_told_and_unknown_is_not_zero(case: Case, adapter: Adapter, usage: Usage) -> None:
    with case.stage(Scene(usage=usage)) as stage:
        assert ending(events(adapter, stage)).usage == usage


def test_what_is_kept_of_an_answer_is_json(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(text=["Hi \ud83d", "\ude00", " \ud83d"])) as stage:
        found = events(adapter, stage)
    kept = json.dumps(ending(found).raw, ensure_ascii=False)
    if "http" in case.can:
        kept.encode()


@pytest.mark.parametrize("trouble", ERRORS)
def test_trouble_becomes_our_error(case: Case, adapter: Adapter, trouble: Trouble) -> None:
    with case.stage(Scene(trouble=trouble)) as stage, pytest.raises(TurntreeError) as caught:
        events(adapter, stage)
    assert type(caught.value) is ERRORS[trouble]
    assert caught.value.message
    assert caught.value.hint
    assert len(stage.seen) == ("http" in case.can), "retries are the runner's to make"
    if isinstance(caught.value, ProviderError) and "http" in case.can:
        assert caught.value.provider == case.name
        assert caught.value.model == case.model


def test_the_time_to_wait_is_told(case: Case, adapter: Adapter) -> None:
    with (
        case.stage(Scene(trouble="rate_limited")) as stage,
        pytest.raises(RateLimited) as caught,
    ):
        events(adapter, stage)
    assert (caught.value.retry_after, caught.value.status) == (7, 429)
    assert caught.value.retryable


@pytest.mark.parametrize("trouble", ["rate_limited", "server_error", "context_too_long"])
def test_trouble_in_the_middle_keeps_the_words_before_it(
    case: Case, adapter: Adapter, trouble: Trouble
) -> None:
    found: list[Event] = []
    with case.stage(Scene(trouble=trouble, trouble_after_text=True)) as stage:
        stream = adapter.stream(adapter.build(stage.call), stage.endpoint, Stop())
        with pytest.raises(ERRORS[trouble]):
            found.extend(stream)
    assert words(found) == "Hello world"


@pytest.mark.parametrize("where", ["before the headers", "in the middle"])
def test_stop_from_another_thread_is_heard_in_silence(
    case: Case, adapter: Adapter, where: str
) -> None:
    early = where == "before the headers"
    stop = Stop()
    with case.stage(Scene(stall=not early, wait=30 if early else 0)) as stage:
        timer = threading.Timer(0.3, stop.set)
        timer.start()
        began = time.monotonic()
        found = events(adapter, stage, stop)
        took = time.monotonic() - began
        timer.join()
        if stage.hung_up:
            assert stage.hung_up.wait(10), "the provider never saw the connection close"
    assert words(found) == ("" if early else "Hello world")
    assert not any(isinstance(event, End) for event in found)
    assert 0.2 < took < 0.8


def test_nothing_is_sent_after_stop(case: Case, adapter: Adapter) -> None:
    stop = Stop()
    stop.set()
    with case.stage(Scene()) as stage:
        assert events(adapter, stage, stop) == []
        assert stage.seen == []


def test_a_reader_that_leaves_closes_the_stream(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(stall=True)) as stage:
        stream = adapter.stream(adapter.build(stage.call), stage.endpoint, Stop())
        assert isinstance(next(iter(stream)), Delta)
        stream.close()  # type: ignore[attr-defined]
        if stage.hung_up:
            assert stage.hung_up.wait(10)


# --- over HTTP -------------------------------------------------------------------------------


@pytest.mark.needs("http")
def test_noise_between_the_events_is_ignored(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(noise=True, slice=11)) as stage:
        found = events(adapter, stage)
    assert words(found) == "Hello world"
    assert ending(found).finish_reason == "stop"


@pytest.mark.needs("http")
def test_a_connection_that_breaks_is_told(case: Case, adapter: Adapter) -> None:
    with (
        case.stage(Scene(breaks=True)) as stage,
        pytest.raises(Unreachable, match="broke") as caught,
    ):
        events(adapter, stage)
    assert caught.value.retryable


@pytest.mark.needs("http")
@pytest.mark.parametrize("early", [True, False])
def test_silence_is_not_waited_out_for_ever(
    case: Case, adapter: Adapter, early: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.wire.connections.READ_SECONDS", 0.3)
    with (
        case.stage(Scene(stall=not early, wait=30 if early else 0)) as stage,
        pytest.raises(Timeout),
    ):
        events(adapter, stage)


@pytest.mark.needs("http")
def test_a_key_never_reaches_an_error_nor_its_traceback(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene(trouble="bad_key")) as stage, pytest.raises(AuthFailed) as caught:
        events(adapter, stage)
    assert stage.endpoint
    written = "".join(traceback.format_exception(caught.value)) + repr(caught.value.failure())
    assert stage.endpoint.api_key not in written
    assert stage.endpoint.api_key[:8] not in written


@pytest.mark.needs("http")
def test_nothing_of_the_environment_reaches_the_provider(
    case: Case, adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    traps = (
        "OPENAI_API_KEY OPENAI_ADMIN_KEY OPENAI_ORG_ID OPENAI_PROJECT_ID ANTHROPIC_API_KEY"
        " ANTHROPIC_AUTH_TOKEN GOOGLE_API_KEY GEMINI_API_KEY"
    )
    for name in traps.split():
        monkeypatch.setenv(name, f"trap-{name}")
    for name in ("OPENAI_CUSTOM_HEADERS", "ANTHROPIC_CUSTOM_HEADERS"):
        monkeypatch.setenv(name, "X-Trap: trap-free\nAuthorization: trap-auth\nHost: trap-host")
    for name in ("OPENAI_BASE_URL", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, "http://127.0.0.1:9/trap")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with case.stage(Scene()) as stage:
        assert words(events(adapter, stage)) == "Hello world"
    sent = repr([(seen.headers, seen.raw) for seen in stage.seen])
    assert len(stage.seen) == 1
    assert "trap" not in sent
    assert "python" not in sent.lower()


@pytest.mark.needs("http")
def test_no_server_at_the_address_is_told(case: Case, adapter: Adapter) -> None:
    with case.stage(Scene()) as stage:
        pass
    with pytest.raises(Unreachable, match="No connection"):
        events(adapter, stage)


@pytest.mark.needs("http")
def test_every_exception_of_sdk_and_transport_is_mapped(case: Case) -> None:
    table = case.exceptions()
    roots = [kind for kind in table if not any(kind in other.__subclasses__() for other in table)]
    seen: set[type[Exception]] = set()
    while roots:
        kind = roots.pop()
        seen.add(kind)
        roots += [sub for sub in kind.__subclasses__() if not sub.__module__.startswith("tests")]
    missing = {f"{kind.__module__}.{kind.__name__}" for kind in seen - set(table)}
    assert not missing, f"not mapped: {missing}"
    for kind, samples in table.items():
        for sample, ours in samples:
            made = case.translate(sample)
            assert type(made) is ours, f"{kind.__name__} became {made!r}"
            assert "sk-fake" not in str(made)


@pytest.mark.needs("http")
def test_several_answers_at_once_do_not_mix(case: Case, adapter: Adapter) -> None:
    said: list[str] = []
    with case.stage(Scene(text=list("abcdef"), pause=0.02)) as stage:
        threads = [
            threading.Thread(target=lambda: said.append(words(events(adapter, stage))))
            for _ in range(6)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert said == ["abcdef"] * 6
