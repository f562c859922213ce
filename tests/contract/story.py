"""A conversation of twelve turns, played through the runner on one provider.

In it: a recap at its head, thinking in every answer, an image, tools called side by side and
one after the other, a result that is an error and one that never came, an answer edited by
hand, two messages in a row, an answer cut short, and a fork.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from unittest.mock import patch

import core.asking
from core.branching import arrive, edit, fork, new_node
from core.runner import Runner
from core.store import Store
from core.types import (
    Adapter,
    AttachmentRef,
    Call,
    Endpoint,
    FinishReason,
    Node,
    Part,
    Run,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)
from tests.contract.case import Scene
from tests.contract.four import Place
from tests.contract.media import CAT, PNG

TURNS = 12
RECAP = "Recap of what was said before: two cities were compared, Bern was liked better."
TOOLS = (
    Tool(
        name="weather",
        description="The weather of a place.",
        parameters={"type": "object", "properties": {"city": {"type": "string"}}},
    ),
    Tool(name="clock", description="The time.", parameters={}),
)
_CITIES = ("Zürich", "Bern")


@dataclass
class Story:
    """A session with its runner and the places it can be told at."""

    store: Store
    runner: Runner
    places: dict[str, Place]
    session_id: str
    branch_id: str
    runs: list[Run] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=count)

    # --- one step each ---

    def ask(
        self, place: Place, words: str, files: tuple[AttachmentRef, ...] = (), **scene: object
    ) -> Node:
        """A person's message and its answer."""
        self._put(place, **scene)
        sent = self.runner.send(self.branch_id, words, files=files, config=place.config)
        assert isinstance(sent, Run)
        return self._answer(sent, scene)

    def say(self, *parts: Part) -> Node:
        """A person's message that nobody answers yet."""
        return self._add("user", parts)

    def reply(self, place: Place, **scene: object) -> Node:
        """An answer to whatever stands at the tip."""
        self._put(place, **scene)
        return self._answer(
            self.runner.regenerate(self.branch_id, self.tip, config=place.config), scene
        )

    def results(self, answer: Node, *texts: str, is_error: bool = False) -> Node:
        """What the tools said, the last call's result first: they run side by side."""
        calls = [part for part in answer.parts if isinstance(part, ToolCall)]
        assert len(calls) == len(texts)
        made = [
            ToolResult(call_id=call.id, name=call.name, text=text, is_error=is_error)
            for call, text in zip(calls, texts, strict=True)
        ]
        return self._add("tool", tuple(reversed(made)))

    def calls(self, place: Place, number: int = 2) -> tuple[ToolCall, ...]:
        """Calls with ids as that provider gives them."""
        ids = {
            "openai": lambda n: f"call_{next(self._numbers):024d}",
            "anthropic": lambda n: f"toolu_{next(self._numbers):022d}",
            # One with an id and one without: both are to be met.
            "gemini": lambda n: "" if n else f"fc-{next(self._numbers)}",
            # Simple servers count anew in every answer.
            "compatible": lambda n: f"call_{n}",
        }[place.name]
        return tuple(
            ToolCall(id=ids(n), name="weather", arguments=f'{{"city": "{_CITIES[n]}"}}')
            for n in range(number)
        )

    def fork(self, name: str) -> None:
        """Go on from here on a branch of its own."""
        self.branch_id = fork(self.store, self.tip, from_branch=self.branch_id, name=name).id

    # --- looking ---

    @property
    def tip(self) -> str:
        tip = self.store.branches.get(self.branch_id).tip_id
        assert tip is not None
        return tip

    @property
    def lineage(self) -> Sequence[Node]:
        return self.store.nodes.lineage(self.tip)

    # --- inside ---

    def _put(self, place: Place, **scene: object) -> None:
        number = next(self._numbers)
        given = {
            "thinking": (f"thought-{place.name}", f"-{number}."),
            "text": (f"Words {number}", f" of {place.name}."),
            "finish": "tool_call" if scene.get("calls") else "stop",
            **scene,
        }
        place.put(Scene(**given))  # type: ignore[arg-type]

    def _answer(self, run: Run, scene: dict[str, object]) -> Node:
        ended = self.runner.wait(run.id)
        self.runs.append(ended)
        usual: FinishReason = "tool_call" if scene.get("calls") else "stop"
        assert ended.failure is None, ended.failure
        assert ended.finish_reason == scene.get("finish", usual)
        assert ended.node_id is not None
        node = self.store.nodes.get(ended.node_id)
        assert self.tip == node.id
        return node

    def _add(self, role: str, parts: tuple[Part, ...]) -> Node:
        tip = self.store.branches.get(self.branch_id).tip_id
        node = new_node(self.session_id, tip, role, parts)  # type: ignore[arg-type]
        with self.store.write():
            self.store.nodes.add(node)
            arrive(self.store, self.branch_id, node, replaces=tip, why="send")
        return node


@contextmanager
def telling(
    store: Store, places: dict[str, Place], tools: Sequence[Tool] = TOOLS
) -> Iterator[Story]:
    """A new story; runs find the fakes, and their calls offer ``tools``."""
    real = core.asking.call_for

    def call_for(*asked: object) -> Call:
        return replace(real(*asked), tools=tuple(tools))  # type: ignore[arg-type]

    def endpoint_of(adapter: Adapter) -> Endpoint:
        return places[adapter.name].endpoint

    with (
        patch("core.asking.call_for", call_for),
        patch("core.launcher.endpoint_of", endpoint_of),
    ):
        runner = Runner(store)
        first = next(iter(places.values()))
        session = store.sessions.create(config=first.config)
        assert session.current_branch_id is not None
        yield Story(store, runner, places, session.id, session.current_branch_id)
        runner.close()


def tell(story: Story, place: Place) -> None:
    """The twelve turns; the story then stands on a fork of its first branch."""
    recap(story)
    story.ask(place, "And Zürich?")  # 1
    picture = story.store.attachments.add(CAT.name, CAT.media_type, PNG)
    story.ask(place, "What is this?", files=(picture,))  # 2
    side_by_side = story.ask(place, "Weather in both?", calls=story.calls(place))  # 3
    story.results(side_by_side, "rain", "sun")
    story.reply(place)
    edited = story.ask(place, "Shorter.")  # 4
    edit(story.store, story.branch_id, edited.id, (Text(text="By hand: rain and sun."),))
    _one_after_the_other(story, place)  # 5
    story.say(Text(text="Wait."))  # 6
    story.ask(place, "Only one of them.")
    story.ask(place, "Look again.", calls=story.calls(place, 1))  # 7, and its result never comes
    story.ask(place, "Never mind.")  # 8
    story.ask(place, "A long list.", finish="length")  # 9
    start, main = story.tip, story.branch_id
    story.fork("side")
    story.ask(place, "Bolder, on the side.")  # 10
    story.branch_id = main
    assert story.tip == start
    story.ask(place, "Bolder.")  # 10
    story.fork("main, later")
    wordless = story.ask(place, "Both, at once.", text=(), calls=story.calls(place))  # 11
    story.results(wordless, "", "sun")
    story.reply(place)
    story.ask(place, "Thanks, Grüße 😀")  # 12
    assert sum(node.text != "Wait." for node in story.lineage if node.role == "user") == TURNS + 1


def recap(story: Story) -> None:
    """What stands for older turns: for now a message at the head of them."""
    story.say(Text(text=RECAP))


def _one_after_the_other(story: Story, place: Place) -> None:
    """A turn of two rounds of tools, the first of which goes wrong."""
    first = story.ask(place, "And the weather tomorrow?", calls=story.calls(place, 1))
    story.results(first, "no such day", is_error=True)
    again = story.reply(place, calls=story.calls(place, 1))
    story.results(again, "snow")
    story.reply(place)
