"""The fidelity check: what was said above and is missing from a recap of it.

Deterministic first, and pure: numbers, names, dates, quoted words and requirements, in whatever
notation. A model can be asked for more; what it answers is read here too.
"""

from core.fidelity.asking import answered, fidelity_call
from core.fidelity.check import FACTS, Finding, missing, overlap, with_line

__all__ = ["FACTS", "Finding", "answered", "fidelity_call", "missing", "overlap", "with_line"]
