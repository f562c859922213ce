"""The embedded model in the contract suite: only what it builds; its wire is `compatible`'s."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from tests.contract.case import Scene, Stage


class LocalCase:
    name = "local"
    model = "tiny"
    can = frozenset({"build"})

    def stage(self, scene: Scene) -> AbstractContextManager[Stage]:
        raise NotImplementedError

    def exceptions(self) -> Mapping[type[Exception], Sequence[tuple[Exception, type[Exception]]]]:
        return {}

    def translate(self, exc: Exception) -> Exception:
        return exc


CASE = LocalCase()
