"""The context section, the preview and what waits because it is too long, without a browser."""

import pytest
from streamlit.testing.v1 import AppTest

from core import Store, show
from core.meter import Saving
from core.policies import POLICIES
from core.preview import preview as look
from core.types import Override, OwnPrice
from pages import backend
from pages.components import acts, context_panel, meter, preview, state
from tests.app.conftest import Open, conversation, memory, said, sound
from tests.app.test_meter import made

TALK = ("first question", "first answer", "second question", "second answer")
LONG = "word " * 1100


def opened(app: Open, store: Store, *texts: str) -> tuple[AppTest, str]:
    session = conversation(store, *texts)
    test = app(session=session.id)
    memory(test)["open.context.page"] = True
    return sound(test.run()), session.id


def radio(test: AppTest) -> "object":
    return next(one for one in test.radio if one.label == "What is sent of this branch")


def test_every_policy_stands_beside_the_others_with_its_size(app: Open, store: Store) -> None:
    test, _ = opened(app, store, *TALK)
    shown = radio(test)
    assert shown.options == [policy.label for policy in POLICIES.values()]  # type: ignore[attr-defined]
    captions = shown.proto.captions  # type: ignore[attr-defined]
    assert [one.partition("tokens. ")[2] for one in captions] == [
        policy.sentence for policy in POLICIES.values()
    ]
    assert all(one.startswith("≈ ") for one in captions)
    assert shown.value == "full"  # type: ignore[attr-defined]


def test_closed_nothing_is_worked_out(
    app: Open, store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context_panel, "sizes", lambda *_: pytest.fail("asked"))
    app(session=conversation(store, *TALK).id)


def test_a_chosen_policy_is_the_branch_s_and_the_head_says_so(app: Open, store: Store) -> None:
    test, session = opened(app, store, *TALK)
    radio(test).set_value("last").run()  # type: ignore[attr-defined]
    sound(test)
    branch = show(store, session).branch
    assert (branch.policy, branch.keep_turns) == ("last", 4)
    number = next(one for one in test.number_input if one.label == "Last turns sent verbatim")
    sound(number.set_value(1).run())
    assert show(store, session).branch.keep_turns == 1
    assert "context: last turns (1)" in "".join(html.proto.body for html in test.get("html"))


def test_only_for_the_next_send(app: Open, store: Store) -> None:
    test, session = opened(app, store, *TALK)
    toggle = next(one for one in test.toggle if one.label == "Only for the next send")
    toggle.set_value(True).run()
    radio(test).set_value("concat").run()  # type: ignore[attr-defined]
    sound(test)
    assert show(store, session).branch.policy is None
    assert "Only the next send: **one list**" in said(test)
    test.chat_input[0].set_value("/count").run()
    sound(test)
    runner = backend.runner()
    for live in runner.live_in(session):
        live.done.wait(10)
    view = show(store, session)
    assert view.branch.policy is None
    run = store.runs.of_nodes([view.lineage[-1].id])[view.lineage[-1].id]
    assert run.config.policy == "concat"
    sound(test.run())
    assert "Only the next send" not in said(test)


def test_the_next_send_can_be_as_the_others_again(app: Open, store: Store) -> None:
    test, _ = opened(app, store, *TALK)
    next(one for one in test.toggle if one.label == "Only for the next send").set_value(True).run()
    next(one for one in test.button if one.label == "Cancel").click().run()
    assert "Only the next send" not in said(sound(test))


def test_recaps_that_write_themselves_are_switched_on_and_off(app: Open, store: Store) -> None:
    test, session = opened(app, store, *TALK)

    def toggle() -> "object":
        label = "Recap by itself when it gets long"
        return next(one for one in test.toggle if one.label == label)

    assert not toggle().value  # type: ignore[attr-defined]
    toggle().set_value(True).run()  # type: ignore[attr-defined]
    assert store.sessions.get(session).auto_recap == 0.8
    sound(test.slider[0].set_value(65).run())
    assert store.sessions.get(session).auto_recap == 0.65
    toggle().set_value(False).run()  # type: ignore[attr-defined]
    assert store.sessions.get(session).auto_recap is None


def test_what_is_too_long_waits_with_what_would_help(app: Open, store: Store) -> None:
    store.providers.set_own("echo", "echo-slow", OwnPrice(window=200_000))
    session = conversation(store, *[LONG] * 8)
    test = app(session=session.id)
    test.chat_input[0].set_value("and now?").run()
    sound(test)
    assert "More than the model's window holds" in said(test)
    labels = [one.label for one in test.button]
    for label in ("Recap first", "Send only the last turns", "Send anyway", "Take back"):
        assert label in labels
    assert any(label.startswith("Echo, slowly · 200k") for label in labels)
    assert len(show(store, session.id).lineage) == 8


def test_the_preview_is_html_without_a_word_of_html(store: Store) -> None:
    session = conversation(store, "<b>bold</b>", "& more", "third")
    branch = str(session.current_branch_id)
    nodes = store.nodes.lineage(show(store, session.id).tip_id)
    store.recaps.override(branch, Override(kind="mute", target_id=nodes[1].id))
    store.recaps.override(branch, Override(kind="pin", target_id=nodes[0].id))
    html = preview.html(look(store, show(store, session.id)))
    assert "&lt;b&gt;bold" in html
    assert "<b>bold" not in html
    assert "muted on this branch" in html
    assert ">pinned<" in html
    assert "your words" in html


def test_the_preview_opens_and_stays_open(app: Open, store: Store) -> None:
    session = conversation(store, *TALK)
    test = app(session=session.id)
    result = acts.perform(backend.runner(), show(store, session.id), {"action": "preview"})
    assert result.dialog is not None
    memory(test)["kept.dialog"] = result.dialog
    for _ in range(2):
        sound(test.run())
        assert "**Everything** · 5 messages" in said(test)
    assert state.dialog  # the only place of such keys


@pytest.mark.parametrize(
    ("saving", "text"),
    [
        (None, None),
        (Saving(tokens=150, keep=4, cost=0), None),
        (Saving(tokens=400, keep=4, cost=None), "≈ 400 tokens"),
        (Saving(tokens=400, keep=4, cost=0), "≈ 400 tokens"),
        (Saving(tokens=400, keep=4, cost=2_100_000), "≈ 400 tokens · $0.0021"),
        (Saving(tokens=400, keep=4, cost=-2_100_000), "≈ 400 tokens"),
    ],
)
def test_what_a_recap_would_save_is_said_where_it_is_worth_it(
    saving: Saving | None, text: str | None
) -> None:
    told = meter.saving(made(saving=saving))
    assert (told["text"] if told else None) == text
    if saving is not None and saving.cost is not None and saving.cost < 0:
        assert told is not None
        assert "costs $0.0021 more" in told["about"]


def test_the_parts_are_drawn_in_order_and_the_draft_last() -> None:
    names = [name for name, _ in meter.meter_data(made())["parts"]]
    assert names[-2:] == ["reminder", "your draft"]
