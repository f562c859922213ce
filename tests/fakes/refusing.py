"""What fake servers refuse, and rules that several of them share."""

import base64
import re
from collections.abc import Mapping
from typing import Any


class Refused(Exception):
    """What a real server would not take."""

    def __init__(self, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.message, self.param, self.code = message, param, code


MAGIC = {
    "image/png": b"\x89PNG\r\n",
    "image/jpeg": b"\xff\xd8\xff",
    "image/gif": b"GIF8",
    "image/webp": b"RIFF",
}
PDF = {"application/pdf": b"%PDF-"}


def check_data_url(url: Any, kinds: Mapping[str, bytes], where: str) -> None:
    """Refuse what is not a file of these kinds in a data URL."""
    found = re.fullmatch(r"data:([a-z/+]+);base64,([A-Za-z0-9+/]+=*)", str(url))
    if found is None or found[1] not in kinds:
        raise Refused(f"Invalid '{where}': unsupported data URL.", where, "invalid_image_url")
    if not base64.b64decode(found[2], validate=True).startswith(kinds[found[1]]):
        raise Refused(f"Invalid '{where}': not what it says.", where, "invalid_image")
