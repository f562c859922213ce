"""Names, ids and schemas of tools, as strict servers want them."""

import re
from collections.abc import Mapping
from hashlib import sha256

from core.errors import Unsupported
from core.types import Json, Tool

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
LONGEST_ID = 40


def checked_name(tool: Tool) -> str:
    """The name of a tool on offer. Raises :class:`Unsupported` for one no server takes."""
    if not _NAME.fullmatch(tool.name):
        raise Unsupported(
            f"No model can be offered a tool called {tool.name!r}.",
            hint="Use letters, digits, _ and - only, at most 64 of them.",
        )
    return tool.name


def past_name(name: str) -> str:
    """The name of a tool in a call of the past, which another provider may have allowed."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "unnamed"


def past_id(given: str) -> str:
    """The id of a call of the past; one too long for strict servers becomes a short one."""
    if len(given) <= LONGEST_ID:
        return given
    return f"call_{sha256(given.encode('utf-8', 'replace')).hexdigest()[:32]}"


def object_schema(parameters: Mapping[str, Json]) -> dict[str, Json]:
    """The schema of an object, which servers insist on even for a tool that takes nothing."""
    return {"type": "object", "properties": {}, **parameters}
