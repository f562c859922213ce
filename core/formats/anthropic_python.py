"""A branch as a Python program: the same turns, asked again one by one with Anthropic's own SDK.

What was answered then stands beside, to compare. The key comes from the environment.
"""

from core.interchange.requested import program
from core.types import BranchTaken, Include, Scope


class AnthropicPython:
    """Needs the package anthropic to run."""

    name = "anthropic_python"
    label = "Python with the Anthropic SDK"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "py"
    media_type = "text/x-python"
    options: frozenset[str] = frozenset()

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The program. Raises ``UserError`` where nothing was asked, or a file does not go in."""
        return program(taken, "anthropic")


FORMAT = AnthropicPython()
