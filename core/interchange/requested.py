"""A branch in the words of a provider, as the bytes of a file."""

import json

from core.errors import UserError
from core.types import BranchTaken


def request(taken: BranchTaken, provider: str) -> bytes:
    """The whole branch as the JSON of one request to a provider.

    Raises ``UserError`` for what that provider cannot be sent, such as some files.
    """
    if taken.body is None:
        raise UserError("This branch cannot be written as a request.", hint="Reload the page.")
    return (json.dumps(taken.body(provider), ensure_ascii=False, indent=2) + "\n").encode()


def program(taken: BranchTaken, provider: str) -> bytes:
    """A Python program that asks every turn of the branch again with a provider's SDK.

    Raises ``UserError`` where nothing was asked, or a file does not go in.
    """
    if taken.script is None:
        raise UserError("This branch cannot be written as a program.", hint="Reload the page.")
    return taken.script(provider).encode()
