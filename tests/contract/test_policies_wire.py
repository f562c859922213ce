"""Every context policy through every protocol: the strict fakes take what is sent, and the words
on the wire are those of the policy."""

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest

from core import Config, Run, Store
from core.policies import POLICIES
from core.recap import activate, add
from core.types import Node, Override, OverrideKind
from core.wire.readable import readable
from tests.contract.four import NAMES, Place, places
from tests.contract.media import CAT, PNG
from tests.contract.story import Story, telling

KEY = "sk-test-policies"
CHOICES = ("nothing", "recap", "pin", "mute", "all")


@pytest.fixture(scope="module")
def fakes() -> Iterator[dict[str, Place]]:
    with places(KEY) as found:
        yield found


def tell(story: Story, place: Place) -> list[Node]:
    """Three turns with an image, tools side by side and one after the other, and a question that
    waits for its answer."""
    picture = story.store.attachments.add(CAT.name, CAT.media_type, PNG)
    story.ask(place, "First question.", files=(picture,))
    called = story.ask(place, "Second question.", calls=story.calls(place))
    story.results(called, "rain", "sun")
    again = story.reply(place, calls=story.calls(place, 1))
    story.results(again, "snow")
    story.reply(place)
    story.ask(place, "Third question.")
    return list(story.lineage)


def change(story: Story, nodes: list[Node], what: str) -> None:
    store, first = story.store, nodes[1]
    calling = next(node for node in nodes if node.role == "tool")
    marks: dict[str, list[tuple[OverrideKind, Node]]] = {
        "pin": [("pin", first)],
        "mute": [("mute", nodes[0])],
        "all": [("pin", first), ("mute", calling)],
    }
    for kind, node in marks.get(what, []):
        override = Override(kind=kind, target_id=node.id)
        store.recaps.override(story.branch_id, override)
    if what in ("recap", "all"):
        recap = add(store, story.session_id, first.id, "One thing was settled.")
        activate(store, story.branch_id, recap.id)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("what", CHOICES)
def test_every_policy_is_taken_by_every_protocol(
    store: Store, fakes: dict[str, Place], name: str, what: str
) -> None:
    place = fakes[name]
    with telling(store, {name: place}) as story:
        nodes = tell(story, place)
        change(story, nodes, what)
        start = story.tip
        for policy in POLICIES:
            store.branches.choose_policy(story.branch_id, policy, 1)
            if policy == "auto" and what not in ("recap", "all"):
                continue  # has a recap written first: a test of the runner
            said = _sent(story, place, policy)
            _check(policy, what, said)
            store.branches.move(story.branch_id, start, why="undo")


def _sent(story: Story, place: Place, policy: str) -> list[tuple[str, str]]:
    """Role and words of every message that the fake was sent under a policy, all validated."""
    config = _config(story, place, policy)
    sent = story.runner.send(story.branch_id, "Fourth question.", config=config)
    assert isinstance(sent, Run)
    ended = story.runner.wait(sent.id, 20)
    assert ended.failure is None, (policy, ended.failure)
    body = place.seen[-1].body
    assert KEY not in json.dumps(body)
    shown = readable(body)
    return [
        (message.role, "\n".join(piece.text for piece in message.pieces if piece.kind == "text"))
        for message in shown.messages
    ]


def _config(story: Story, place: Place, policy: str) -> Config:
    return replace(place.config, policy=policy, keep_turns=2 if policy == "auto" else 1)


def _check(policy: str, what: str, said: list[tuple[str, str]]) -> None:
    words = "\n".join(text for _, text in said)
    role, first = next(one for one in said if one[0] not in ("system", "developer"))
    assert role == "user", (policy, said)
    assert "Fourth question." in words
    recapped = what in ("recap", "all")
    assert ("One thing was settled." in first) == recapped
    muted = what == "mute"
    if policy != "last":
        assert ("First question." in words) == (not recapped and not muted)
    if policy in ("snowball", "snowball_last"):
        asked = [f"{n} question." for n in ("First", "Second", "Third") if n in words]
        last = said[-1][1]
        assert all(one in last for one in asked)
        assert last.endswith("Also,\n\nFourth question.\n")
    if policy == "restate":
        assert said[-1][1].startswith("Just to recapitulate")
    if policy == "concat":
        assert len([one for one in said if one[0] == "user"]) == 1
    if policy in ("yours", "concat") and what in ("nothing", "recap", "mute"):
        assert all(role in ("user", "system", "developer") for role, _ in said)


@pytest.mark.parametrize("name", NAMES)
def test_a_recap_that_is_undone_brings_back_the_very_bytes(
    store: Store, fakes: dict[str, Place], name: str
) -> None:
    place = fakes[name]
    with telling(store, {name: place}) as story:
        nodes = tell(story, place)
        start, bodies = story.tip, []
        recap = add(store, story.session_id, nodes[1].id, "R")
        # The first two make a fork of this place, which moves a breakpoint of the cache.
        for active in (None, None, None, recap.id, None):
            activate(store, story.branch_id, active)
            _sent(story, place, "full")
            bodies.append(json.dumps(place.seen[-1].body, sort_keys=True))
            store.branches.move(story.branch_id, start, why="undo")
        assert bodies[2] == bodies[4] != bodies[3]
