"""Begun anywhere, continued anywhere: one conversation of twelve turns, from each to each.

Every request goes to a strict fake, which refuses what the provider would. What is looked at
besides: nothing that is bound to one provider reaches another, and what a provider gave comes
back to it to the letter.
"""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from core.store import Store
from core.types import AttachmentRef, Node, Run, Thinking, ToolCall
from tests.contract.four import NAMES, Place, places
from tests.contract.media import PNG
from tests.contract.story import RECAP, Story, recap, tell, telling
from tests.fakes.chat_completions import Seen

KEY = "sk-fake-matrix-0123456789abcdefWXYZ"
BOUND = ("signature", "data", "encrypted_content", "thoughtSignature")
"""Where providers put what only they can read."""
NAMED = ("rs_", "msg_", "fc_")
"""How items begin that are known by a name at their provider only."""


@pytest.fixture(scope="module", params=NAMES)
def begun(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Story]:
    """The story as it stands after twelve turns on one provider."""
    path: Path = tmp_path_factory.mktemp("matrix") / "sessions.db"
    with (
        pytest.MonkeyPatch.context() as patched,
        places(KEY) as found,
        Store.open(path) as store,
        telling(store, found) as story,
    ):
        for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
            patched.delenv(name, raising=False)
        tell(story, found[request.param])
        yield story


@pytest.fixture
def start(begun: Story) -> Place:
    """Where the story began."""
    return begun.places[begun.runs[0].config.provider]


@pytest.fixture
def story(begun: Story, request: pytest.FixtureRequest) -> Story:
    """The story on a branch of its own for one test."""
    first = next(b for b in begun.store.branches.of(begun.session_id) if b.name == "main, later")
    begun.branch_id = first.id
    begun.fork(request.node.name)
    return begun


@pytest.fixture(scope="module")
def all_places() -> Iterator[dict[str, Place]]:
    with places(KEY) as found:
        yield found


@pytest.fixture(params=NAMES)
def target(begun: Story, request: pytest.FixtureRequest) -> Place:
    """Where the story goes on."""
    return begun.places[request.param]


# --- 4x4 -------------------------------------------------------------------------------------


def test_the_first_provider_got_its_own_back_in_every_turn(begun: Story, start: Place) -> None:
    main = next(b for b in begun.store.branches.of(begun.session_id) if b.name == "main")
    begun.branch_id = main.id
    assert len(start.seen) >= 16
    judge_all(begun, start.seen, begun.runs[: len(start.seen)])


def test_a_finished_conversation_goes_on(story: Story, start: Place, target: Place) -> None:
    with judged(story):
        story.ask(target, "And what now?")
        calling = story.ask(target, "Look.", calls=story.calls(target))
        story.results(calling, "fog", "hail")
        story.reply(target)
        story.ask(target, "Thanks.")
        story.ask(start, "Back to you.")


def test_a_tool_loop_goes_on(story: Story, start: Place, target: Place) -> None:
    """The provider changes between call and result, twice within one turn."""
    with judged(story):
        calling = story.ask(start, "Look.", calls=story.calls(start))
        story.results(calling, "fog", "hail")
        again = story.reply(target, calls=story.calls(target))
        story.results(again, "dew", "haze")
        third = story.reply(start, calls=story.calls(start, 1))
        story.results(third, "ice")
        story.reply(target)
        story.ask(start, "Thanks.")


def test_a_call_without_its_result_goes_on(story: Story, start: Place, target: Place) -> None:
    with judged(story):
        story.ask(start, "Look.", calls=story.calls(start))
        story.ask(target, "Never mind.")


def test_a_fork_in_the_middle_goes_on(begun: Story, start: Place, target: Place) -> None:
    side = next(b for b in begun.store.branches.of(begun.session_id) if b.name == "side")
    begun.branch_id = side.id
    begun.fork(f"side to {target.name}")
    with judged(begun):
        begun.ask(target, "Bolder still.")
        begun.ask(start, "And you?")


def test_another_system_prompt_unbinds_what_was_made_under_the_old_one(
    story: Story, start: Place
) -> None:
    other = replace(start, config=replace(start.config, system="Be long."))
    first = story.ask(other, "And now?", calls=story.calls(start))
    story.results(first, "fog", "hail")
    story.reply(other)
    story.ask(other, "Go on.")
    wire = [bare(message) for message in start.seen[-1].body[start.messages]]
    made = [node for node in story.lineage[:-1] if node.raw is not None]
    assert all(holds(wire, node.raw["items"]) for node in made[-2:])
    if start.name != "compatible":  # nothing there is bound
        assert not any(holds(wire, node.raw["items"]) for node in made[:-2])
    assert [seen.refused for seen in start.seen if seen.refused] == []


@pytest.mark.parametrize("first", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_tools_that_are_not_on_offer_any_more(
    tmp_path: Path, all_places: dict[str, Place], first: str, other: str
) -> None:
    """Some providers must be told of tools that were called: that changes what thoughts are
    bound to, so that they cannot be given back."""
    with (
        Store.open(tmp_path / "sessions.db") as store,
        telling(store, all_places, tools=()) as story,
    ):
        start, target = all_places[first], all_places[other]
        recap(story)
        story.ask(start, "One")
        calling = story.ask(target, "Two", calls=story.calls(target))
        story.results(calling, "fog", "hail")
        story.reply(start)
        story.ask(target, "Three")
        story.ask(start, "Four")
    assert [seen.refused for place in (start, target) for seen in place.seen if seen.refused] == []


# --- the judge -------------------------------------------------------------------------------


class judged:  # noqa: N801 - reads as a word of the tests
    """Everything that is sent within is judged at the end."""

    def __init__(self, story: Story) -> None:
        self.story = story

    def __enter__(self) -> None:
        self.before = {name: len(place.seen) for name, place in self.story.places.items()}
        self.runs = len(self.story.runs)

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is not None:
            return
        runs = self.story.runs[self.runs :]
        for name, place in self.story.places.items():
            own = [run for run in runs if run.config.provider == name]
            judge_all(self.story, place.seen[self.before[name] :], own)


def judge_all(story: Story, seen: Sequence[Seen], runs: Sequence[Run]) -> None:
    assert len(seen) == len(runs)
    for request, run in zip(seen, runs, strict=True):
        judge(story, request, run)
    requests = {run.context_tip_id: request for run, request in zip(runs, seen, strict=True)}
    for run in runs:
        place = story.places[run.config.provider]
        above = [node.id for node in story.store.nodes.lineage(run.context_tip_id)]
        earlier = [requests[tip].body for tip in above[:-1] if tip in requests]
        for body in earlier:
            begins_with(requests[run.context_tip_id].body, body, place.messages)


def begins_with(body: Any, earlier: Any, messages: str) -> None:
    """What was sent before is sent again to the letter: caches live on that."""
    shorter = bare(earlier[messages])
    assert bare(body[messages])[: len(shorter)] == shorter


def judge(story: Story, seen: Seen, run: Run) -> None:
    """One request, and what the ledger says of it."""
    assert seen.refused is None
    place = story.places[run.config.provider]
    above = story.store.nodes.lineage(run.context_tip_id)
    sent = story.store.runs.sent(run.id)
    assert place.adapter.body(sent) == json.loads(seen.raw)
    wire = [bare(message) for message in seen.body[place.messages]]
    no_blank_in(wire)
    made = sum(isinstance(part, ToolCall) for node in above for part in node.parts)
    assert calls_with_results(wire) == made
    if any(isinstance(part, AttachmentRef) for node in above for part in node.parts):
        assert b64encode(PNG).decode() in seen.raw.decode()
    assert RECAP in seen.raw.decode()
    for node in above:
        if node.raw is None:
            continue
        if node.raw["provider"] == place.name:
            assert holds(wire, node.raw["items"]), f"not to the letter: {node.raw['items']}"
        else:
            for secret in bound_in(node):
                assert secret not in seen.raw.decode(), f"{secret} is not for {place.name}"
    assert all(f"thought-{name}" not in seen.raw.decode() for name in NAMES if name != place.name)


def bare(message: Any) -> Any:
    """Without the cache's breakpoints, which come and go."""
    if isinstance(message, dict):
        return {n: bare(value) for n, value in message.items() if n != "cache_control"}
    return [bare(one) for one in message] if isinstance(message, list) else message


def bound_in(node: Node) -> set[str]:
    """All of an answer that means something to its own provider only."""
    found = {part.text for part in node.parts if isinstance(part, Thinking)}
    for item in walk(node.raw["items"]):
        found |= {item[name] for name in BOUND if item.get(name)}
        if str(item.get("id", "")).startswith(NAMED):
            found.add(item["id"] + '"')
    assert found
    return found


def walk(thing: Any) -> Iterator[dict[str, Any]]:
    """Every object in it."""
    inner = (
        thing.values() if isinstance(thing, Mapping) else thing if isinstance(thing, list) else ()
    )
    if isinstance(thing, dict):
        yield thing
    for one in inner:
        yield from walk(one)


def holds(wire: Sequence[Any], items: Sequence[Any]) -> bool:
    """Whether the items stand in the conversation, in a row, whatever holds them."""
    lists = [wire, *(m.get("parts") or m.get("content") for m in wire)]
    return any(
        row[start : start + len(items)] == list(items)
        for row in lists
        if isinstance(row, list)
        for start in range(len(row))
    )


def no_blank_in(wire: Sequence[Any]) -> None:
    for block in walk(list(wire)):
        signed = "thoughtSignature" in block
        for name in ("text", "content", "output", "parts"):
            value = block.get(name, "words")
            if name == "content" and "tool_calls" in block and value is None:
                continue
            assert signed or (value.strip() if isinstance(value, str) else value), block


def calls_with_results(wire: Sequence[Any]) -> int:
    """How many calls there are, each with its result behind it, under the same id."""
    owed: list[Any] = []
    count = 0
    for block in walk(list(wire)):
        kind = block.get("type")
        if kind in ("tool_use", "function_call", "function"):
            owed.append(block.get("call_id") or block["id"])
        elif "functionCall" in block:
            owed.append(block["functionCall"].get("id"))
        elif kind == "function_call_output" or set(block) & {"tool_use_id", "tool_call_id"}:
            names = ("call_id", "tool_use_id", "tool_call_id")
            owed.remove(next(block[name] for name in names if name in block))
            count += 1
        elif "functionResponse" in block:
            owed.remove(block["functionResponse"].get("id"))
            count += 1
    assert owed == []
    return count
