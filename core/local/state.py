"""How the embedded model is doing, as a value that pages draw."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

State = Literal["not_fetched", "fetching", "starting", "reading", "ready", "idle", "failed"]

WORDS: dict[State, str] = {
    "not_fetched": "not fetched yet",
    "fetching": "fetching",
    "starting": "starting",
    "reading": "reading the prompt",
    "ready": "ready",
    "idle": "ready to start",
    "failed": "failed",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalStatus:
    """``share`` is 0 to 1 while fetching or reading, if known; ``why`` explains a failure.

    ``path`` is the file of the weights that the state is about.
    """

    state: State
    share: float | None = None
    why: str = ""
    model_label: str = ""
    path: Path | None = None

    @property
    def words(self) -> str:
        """The state for a person: ``fetching 43%``, ``failed: no space left``."""
        text = WORDS[self.state]
        if self.share is not None:
            text += f" {round(self.share * 100)}%"
        return f"{text}: {self.why}" if self.why else text
