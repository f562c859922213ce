"""A branch as a Python program: the same turns, asked again one by one with Gemini's own SDK.

What was answered then stands beside, to compare. The key comes from the environment.
"""

from core.interchange.requested import program
from core.types import BranchTaken, Include, Scope


class GeminiPython:
    """Needs the package google-genai to run."""

    name = "gemini_python"
    label = "Python with the Gemini SDK"
    scopes: frozenset[Scope] = frozenset({"branch"})
    ending = "py"
    media_type = "text/x-python"
    options: frozenset[str] = frozenset()

    def write(self, taken: BranchTaken, include: Include) -> bytes:
        """The program. Raises ``UserError`` where nothing was asked, or a file does not go in."""
        return program(taken, "gemini")


FORMAT = GeminiPython()
