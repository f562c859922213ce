"""Values that a spreadsheet may hold and does not run."""

import re

from core.types.kept import well_formed

LONGEST = 32_767
"""Characters that a cell of a spreadsheet holds."""
_ILLEGAL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
_CUT = "\n[cut: a cell holds no more]"


def clean(text: str) -> str:
    """Text without characters that no spreadsheet takes, and no longer than a cell."""
    told = _ILLEGAL.sub("\ufffd", well_formed(text)).replace("\r\n", "\n")
    # Spreadsheets count what lies beyond the first plane twice.
    if len(told.encode("utf-16-le")) // 2 <= LONGEST:
        return told
    most = 2 * (LONGEST - len(_CUT))
    return told.encode("utf-16-le")[:most].decode("utf-16-le", "ignore") + _CUT


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula, where nothing tells it otherwise."""
    return text.lstrip(" \n").startswith(_FORMULA)


def guarded(text: str) -> str:
    """The same for a file that has no types: a text that a spreadsheet would take for a formula
    begins with an apostrophe."""
    told = clean(text)
    return f"'{told}" if is_formula(told) else told
