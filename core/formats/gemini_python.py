"""A branch as a Python program: the same turns, asked again one by one with Gemini's own SDK.

What was answered then stands beside, to compare. The key comes from the environment.
"""

from core.errors import UserError
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
        if taken.script is None:
            raise UserError("This branch cannot be written as a program.", hint="Reload the page.")
        return taken.script("gemini").encode()


FORMAT = GeminiPython()
