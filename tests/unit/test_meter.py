"""The next send, measured: tokens from counts and estimates, window, what is warm, price."""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from core import Config, Run, Runner, Session, Store, show
from core.branching import new_node
from core.errors import TurntreeError, Unsupported
from core.local import Engine, Server, Weights
from core.meter import Meter, Warm, count, measure
from core.providers import adapters
from core.providers.anthropic import ADAPTER as CLAUDE
from core.providers.compatible import ADAPTER as COMPATIBLE
from core.providers.echo import ADAPTER as ECHO_ADAPTER
from core.providers.gemini import ADAPTER as GEMINI
from core.providers.local import Local
from core.providers.openai import ADAPTER as OPENAI
from core.types import AttachmentRef, Caching, Node, Request, Text, Usage, new_id
from tests.conftest import ECHO
from tests.unit.house import add, ask, grow

WEIGHTS = Weights(id="tiny", label="Tiny", path=Path("tiny.gguf"))
CLAUDE_CONFIG = Config(provider="anthropic", model="claude-opus-5-5")


def metered(store: Store, session: Session, **place: Any) -> Meter:
    return measure(store, show(store, session.id, **place))


def part(meter: Meter, name: str) -> int:
    return next(part.tokens for part in meter.parts if part.name == name)


def answered(
    store: Store,
    branch_id: str,
    text: str = "an answer",
    *,
    config: Config = ECHO,
    ago: float = 0.0,
    usage: Usage = Usage(input_tokens=900, output_tokens=100),
    finish: str = "stop",
    objective: str = "",
) -> Node:
    """The answer to the branch's tip, of a run that began so many seconds ago."""
    branch = store.branches.get(branch_id)
    began = datetime.fromtimestamp(time.time() - ago, UTC).isoformat(timespec="milliseconds")
    run = Run(
        id=id_from(time.time() - ago),
        session_id=branch.session_id,
        branch_id=branch_id,
        context_tip_id=branch.tip_id,
        purpose="reply",
        config=config,
        state="running",
        owner="somebody",
        started_at=began,
    )
    store.runs.start(
        run, request=Request(envelope={"model": config.model}, messages=()), objective=objective
    )
    node = add(store, branch.session_id, branch.tip_id, text, "assistant")
    store.runs.end(
        run.id,
        finish_reason=finish,  # type: ignore[arg-type]
        node_id=node.id,
        usage=usage,
        first_token_ms=0,
        duration_ms=1,
    )
    store.branches.move(branch_id, node.id, why="answer")
    return node


def id_from(moment: float) -> str:
    from ulid import ULID

    return str(ULID.from_timestamp(moment))[:10] + new_id()[10:]


# --- tokens ----------------------------------------------------------------------------------


def test_an_empty_session_sends_nothing_but_what_is_written(store: Store, session: Session) -> None:
    meter = metered(store, session)
    assert (meter.tokens, meter.exact, meter.window, meter.cost) == (0, False, 8192, 0)
    assert meter.warm == Warm(tokens=0)


def test_without_a_count_all_is_estimated(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one two three", "four five six")
    meter = metered(store, session)
    assert meter.tokens == 3 + 4 + 3 + 4
    assert part(meter, "history") == meter.tokens


def test_the_provider_s_count_covers_all_up_to_its_answer(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "one two three")
    answered(store, main)
    assert metered(store, session).tokens == 1000


def test_thinking_is_not_sent_again(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    answered(store, main, usage=Usage(input_tokens=900, output_tokens=100, reasoning_tokens=60))
    assert metered(store, session).tokens == 940


def test_what_came_after_the_count_is_estimated(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    answered(store, main)
    grow(store, main, "two more words", "and three of the answer")
    assert metered(store, session).tokens == 1000 + 3 + 4 + 5 + 4


@pytest.mark.parametrize("unknown", ["input_tokens", "output_tokens"])
def test_half_a_count_is_none(store: Store, session: Session, main: str, unknown: str) -> None:
    grow(store, main, "one")
    answered(store, main, usage=Usage(**{unknown: None} | {"cached_tokens": 5}))
    assert metered(store, session).tokens < 20


def test_the_count_of_another_model_is_not_taken(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    answered(store, main, config=replace(ECHO, model="echo-slow"))
    assert metered(store, session).tokens < 20


def test_another_system_prompt_is_set_off(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    answered(store, main, config=replace(ECHO, system="one two three four"))
    store.sessions.choose(session.id, replace(ECHO, system="one two three four five six"))
    assert metered(store, session).tokens == 1002
    store.sessions.choose(session.id, ECHO)
    assert metered(store, session).tokens == 996


def test_a_model_s_own_counts_correct_the_estimate(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "one")
    before = metered(store, session).calibration
    for _ in range(5):
        words = "word " * 200
        answered(store, main, words, usage=Usage(input_tokens=5, output_tokens=400))
        grow(store, main, "more")
    learned = metered(store, session).calibration
    assert (before.factor, before.answers) == (1.0, 0)
    assert learned.answers == 5
    assert learned.factor == pytest.approx((2000 + 200) / (1000 + 200), rel=0.01)


def test_answers_of_unknown_makeup_teach_nothing(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    answered(store, main, "word " * 200, finish="stopped")
    assert metered(store, session).calibration.answers == 0


def test_the_parts_add_up_to_the_whole(store: Store, session: Session, main: str) -> None:
    store.sessions.choose(session.id, replace(ECHO, system="Be a careful cook. " * 10))
    grow(store, main, "one two three")
    answered(store, main)
    meter = metered(store, session)
    assert sum(part.tokens for part in meter.parts) == meter.tokens
    names = ["system", "recap", "history", "attachments", "tools", "new text"]
    assert [p.name for p in meter.parts] == names
    assert part(meter, "system") > 30
    assert part(meter, "new text") == 0


def test_the_way_to_an_earlier_message_is_measured_as_far_as_it_goes(
    store: Store, session: Session, main: str
) -> None:
    _, second, *_ = grow(store, main, *["some words"] * 6)
    whole = metered(store, session).tokens
    store.branches.move(main, second.id, why="undo")
    assert metered(store, session).tokens == whole / 3


# --- files -----------------------------------------------------------------------------------


def test_a_text_file_is_estimated_and_a_picture_is_only_counted_as_a_file(
    store: Store, session: Session, main: str
) -> None:
    text = store.attachments.add("notes.txt", "text/plain", b"words " * 200)
    picture = AttachmentRef(sha256="f" * 64, media_type="image/png", name="a.png")
    node = new_node(session.id, None, "user", (text, picture, Text(text="Read it.")))
    store.nodes.add(node)
    store.branches.move(main, node.id, why="send")
    meter = metered(store, session)
    assert part(meter, "attachments") == 300
    assert meter.files == 1
    answered(store, main)  # the provider has counted them all
    meter = metered(store, session)
    assert (meter.tokens, meter.files, part(meter, "attachments")) == (1000, 0, 0)


def test_what_waits_beside_the_composer_is_in_the_next_send(
    store: Store, session: Session, main: str
) -> None:
    held = store.attachments.add("notes.txt", "text/plain", b"words " * 200)
    store.attachments.hold(main, [held])
    assert part(metered(store, session), "attachments") == 300


# --- the window ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tokens", "level"),
    [(100, "fine"), (6553, "fine"), (6554, "near"), (8191, "near"), (8192, "full")],
)
def test_the_person_is_warned_from_four_fifths_of_the_window(
    store: Store, session: Session, main: str, tokens: int, level: str
) -> None:
    grow(store, main, "one")
    answered(store, main, usage=Usage(input_tokens=tokens - 1, output_tokens=1))
    meter = metered(store, session)
    assert meter.share == tokens / 8192
    assert meter.level == level


def test_an_unknown_window_is_unknown_and_warns_of_nothing(
    store: Store, session: Session, main: str
) -> None:
    store.sessions.choose(session.id, Config(provider="compatible", model="somebody's"))
    grow(store, main, "word " * 100_000)
    meter = metered(store, session)
    assert (meter.window, meter.share, meter.level) == (None, None, "fine")
    assert (meter.cost, meter.warm) == (None, None)


def test_a_provider_that_is_gone_is_measured_too(store: Store, session: Session) -> None:
    store.sessions.choose(session.id, Config(provider="gone", model="m"))
    meter = metered(store, session)
    assert (meter.window, meter.warm, meter.cost, meter.countable) == (None, None, None, False)


# --- what is warm ----------------------------------------------------------------------------


def test_what_was_just_sent_is_warm_but_the_answer_to_it_is_not(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "one")
    answered(store, main)
    warm = metered(store, session).warm
    assert warm is not None
    assert warm.tokens == 900
    assert warm.until == pytest.approx(time.time() + 300, abs=5)


@pytest.mark.parametrize(("ago", "tokens"), [(290.0, 900), (310.0, 0), (86_400.0, 0)])
def test_warmth_ends_with_the_cache_s_lifetime(
    store: Store, session: Session, main: str, ago: float, tokens: int
) -> None:
    grow(store, main, "one")
    answered(store, main, ago=ago)
    warm = metered(store, session).warm
    assert warm is not None
    assert warm.tokens == tokens


def test_a_sibling_warms_what_it_shares(store: Store, session: Session, main: str) -> None:
    shared = grow(store, main, "one two three " * 50, "four five six " * 50)[-1]
    branch = store.branches.create(session.id, "other", shared.id, forked_from=shared.id)
    grow(store, branch.id, "seven " * 50)
    answered(store, branch.id, usage=Usage())
    grow(store, main, "eight " * 50, "nine " * 50)
    meter = metered(store, session, branch_id=main)
    assert meter.warm is not None
    assert meter.warm.tokens == 150 + 4 + 150 + 4
    assert meter.tokens == meter.warm.tokens + 50 + 4 + 50 + 4


@pytest.mark.parametrize(
    "other",
    [
        replace(ECHO, model="echo-slow"),
        replace(ECHO, system="Another one."),
    ],
    ids=["model", "system prompt"],
)
def test_another_beginning_is_cold(
    store: Store, session: Session, main: str, other: Config
) -> None:
    grow(store, main, "one")
    answered(store, main, config=other)
    assert metered(store, session).warm == Warm(tokens=0)


def test_another_objective_is_another_beginning(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    answered(store, main, objective="Plan a week")
    assert metered(store, session).warm == Warm(tokens=0)
    store.sessions.change(session.id, objective="Plan a week")
    warm = metered(store, session).warm
    assert warm is not None
    assert warm.tokens == 900


def test_a_run_that_got_no_word_warmed_nothing(runner: Runner, session: Session, main: str) -> None:
    ask(runner, main, "/fail BadRequest\none")
    assert metered(runner.store, session).warm == Warm(tokens=0)


def keeping(monkeypatch: pytest.MonkeyPatch, **more: Any) -> None:
    caching = Caching(**{"seconds": 300, **more})
    monkeypatch.setattr(type(ECHO_ADAPTER), "caching", lambda self, model: caching)


def test_a_beginning_too_short_is_not_kept(
    store: Store, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(store, main, "one")
    answered(store, main)
    for least, tokens in ((900, 900), (901, 0)):
        keeping(monkeypatch, least=least)
        warm = metered(store, session).warm
        assert warm is not None
        assert warm.tokens == tokens


def test_some_keep_the_answer_too(
    store: Store, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeping(monkeypatch, answers=True)
    grow(store, main, "one")
    answered(store, main)
    assert metered(store, session).warm == Warm(tokens=1000)


def test_a_setting_that_the_cache_is_bound_to_makes_it_another(
    store: Store, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    grow(store, main, "one")
    answered(store, main)
    store.sessions.choose(session.id, replace(ECHO, sampling={"max_tokens": 9}))
    for bound, tokens in ((frozenset(), 900), (frozenset({"max_tokens"}), 0)):
        keeping(monkeypatch, bound_to=bound)
        warm = metered(store, session).warm
        assert warm is not None
        assert warm.tokens == tokens


@pytest.mark.parametrize(
    ("adapter", "model", "seconds", "least"),
    [
        (CLAUDE, "claude-opus-5-5", 300, 512),
        (CLAUDE, "claude-sonnet-5-5", 300, 1024),
        (CLAUDE, "claude-opus-4-7", 300, 2048),
        (CLAUDE, "claude-haiku-4-5-20251001", 300, 4096),
        (OPENAI, "gpt-6-sol", 1800, 1024),
        (OPENAI, "gpt-5.6-luna", 1800, 1024),
        (OPENAI, "gpt-5.4-mini", 300, 1024),
        (GEMINI, "gemini-4-argon", 300, 4096),
        (GEMINI, "gemini-2.5-flash", 300, 2048),
    ],
)
def test_a_cache_s_lifetime_is_the_adapter_s_to_say(
    adapter: Any, model: str, seconds: float, least: int
) -> None:
    caching = adapter.caching(model)
    assert (caching.seconds, caching.least) == (seconds, least)


def test_what_nobody_knows_is_none() -> None:
    assert COMPATIBLE.caching("anything") is None
    assert GEMINI.caching("gemini-2.0-flash") is None


def test_every_adapter_says_whether_it_counts_and_what_it_keeps() -> None:
    for found in adapters().values():
        assert isinstance(found.counts, bool), found.name
        assert isinstance(found.caching("some-model"), Caching | None), found.name


def test_the_embedded_model_keeps_what_its_running_process_has_read() -> None:
    class Running:
        def age(self, model: str) -> float:
            return 42.0 if model == "tiny" else 0.0

    local = Local(Running())  # type: ignore[arg-type]
    for model, seconds in (("tiny", 42.0), ("other", 0.0)):
        caching = local.caching(model)
        assert caching is not None
        assert (caching.seconds, caching.answers) == (seconds, True)


def test_a_process_is_as_old_as_its_first_answer_and_only_for_its_own_weights() -> None:
    engine, server = Engine(), Server(WEIGHTS, lambda weights: None)
    assert engine.age("tiny") == 0.0
    engine._server = server
    assert engine.age("tiny") == 0.0  # still starting
    server._began = time.monotonic() - 5
    assert engine.age("tiny") == pytest.approx(5, abs=1)
    assert engine.age("other") == 0.0
    server.close()
    assert engine.age("tiny") == 0.0


# --- the price -------------------------------------------------------------------------------


def test_the_input_is_priced_with_what_is_warm_at_its_own_price(
    store: Store, session: Session, main: str
) -> None:
    store.sessions.choose(session.id, CLAUDE_CONFIG)
    grow(store, main, "one")
    answered(
        store, main, config=CLAUDE_CONFIG, usage=Usage(input_tokens=90_000, output_tokens=10_000)
    )
    meter = metered(store, session)
    assert meter.warm is not None
    assert (meter.tokens, meter.warm.tokens) == (100_000, 90_000)
    warm = meter.cost
    store.sessions.choose(session.id, replace(CLAUDE_CONFIG, sampling={"effort": "low"}))
    cold = metered(store, session)
    assert cold.warm == Warm(tokens=0)
    assert cold.cost is not None
    assert warm is not None
    assert 0 < warm < cold.cost / 5


# --- exact counts ----------------------------------------------------------------------------


def test_a_count_that_was_asked_for_holds_until_something_changes(
    store: Store, session: Session, main: str
) -> None:
    grow(store, main, "one two three", "four five six")
    view = show(store, session.id)
    assert count(store, view) == 7  # the words, and one letter
    meter = metered(store, session)
    assert (meter.tokens, meter.exact) == (7, True)
    assert sum(part.tokens for part in meter.parts) == 7
    store.sessions.choose(session.id, replace(ECHO, system="Be brief."))
    assert not metered(store, session).exact
    store.sessions.choose(session.id, ECHO)
    grow(store, main, "more")
    assert not metered(store, session).exact


def test_where_nobody_counts_it_is_said(store: Store, session: Session, main: str) -> None:
    store.sessions.choose(session.id, Config(provider="local", model="tiny"))
    grow(store, main, "one")
    assert not metered(store, session).countable
    with pytest.raises(Unsupported, match="does not count"):
        count(store, show(store, session.id))


def test_what_cannot_be_sent_cannot_be_counted(
    store: Store, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Request:
        raise Unsupported("No such files here.")

    monkeypatch.setattr(type(ECHO_ADAPTER), "build", refuse)
    with pytest.raises(TurntreeError, match="No such files"):
        count(store, show(store, session.id))


# --- the cost of a look ----------------------------------------------------------------------


def test_a_look_asks_the_database_for_no_more_when_the_conversation_is_long(
    store: Store, session: Session, main: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: list[int] = []
    asked: Callable[..., dict[str, Run]] = store.runs.of_nodes

    def counting(ids: Any) -> dict[str, Run]:
        wanted = list(ids)
        rows.append(len(wanted))
        return asked(wanted)

    monkeypatch.setattr(store.runs, "of_nodes", counting)
    grow(store, main, *["some words"] * 300)
    metered(store, session)
    assert rows == [20]
