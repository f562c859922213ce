"""A provider that never says the same twice: its answers are counted."""

from collections.abc import Callable, Iterator, Mapping
from itertools import count
from typing import Any

from tests.contract import cases_anthropic, cases_compatible, cases_gemini, cases_openai
from tests.contract.case import Scene
from tests.contract.four import Place
from tests.fakes.chat_completions import Play

_STEPS: Mapping[str, Callable[[Scene], list[Any]]] = {
    "anthropic": cases_anthropic.steps,
    "compatible": cases_compatible.steps,
}


class _Counted(list[Any]):
    """The steps of an answer, made when it is given."""

    def __init__(self, steps: Callable[[], list[Any]]) -> None:
        super().__init__([b""])
        self.steps = steps

    def __iter__(self) -> Iterator[Any]:
        return iter(self.steps())


def numbered(place: Place) -> None:
    """Let a place answer ``Answer 1 it is.``, then ``Answer 2 it is.``, and so on."""
    numbers = count(1)

    def scene() -> Scene:
        return Scene(text=(f"Answer {next(numbers)}", " it is."))

    if place.name == "openai":
        place.server.play = lambda body: Play(steps=cases_openai.steps(scene(), body))
    elif place.name == "gemini":
        place.server.play = lambda model, body: Play(steps=cases_gemini.steps(scene()))
    else:
        steps = _STEPS[place.name]
        place.play(Play(steps=_Counted(lambda: steps(scene()))))
