"""A branch as the JSON of OpenAI's Responses protocol: ``{"model", "instructions", "input"}``.

It is read back by the format of OpenAI messages, which knows both protocols.
"""

from core.interchange.requested import request
from core.types import BranchTaken, Include, Scope


class OpenAIResponses:
    """The newer of OpenAI's two protocols."""

    name = "openai_responses"
    label = "OpenAI Responses items (JSON)"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "json"
    media_type = "application/json"
    options: frozenset[str] = frozenset()

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The whole branch as a request. Raises ``UserError`` for files that do not go in."""
        return request(taken, "openai")


FORMAT = OpenAIResponses()
