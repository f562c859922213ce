"""The templates that come with Turntree, as files of the library's own format.

They are read from here and never written into a database: whoever wants another wording makes
a copy and changes that. So a newer Turntree can better them without touching anybody's words,
and none comes back that a person has put into the bin.
"""

from functools import cache
from importlib.resources import files

from core.library import Item, Kind
from core.library_files import read
from core.store import Store
from core.store.library import Entry


@cache
def templates() -> dict[str, Item]:
    """Every template by its file's name, in the order of these."""
    found = sorted(
        (item for item in files(__name__).iterdir() if item.name.endswith(".json")),
        key=lambda item: item.name,
    )
    return {
        file.name.removesuffix(".json"): read(file.name, file.read_bytes())[0] for file in found
    }


PREFIX = "template:"
"""What the ids of templates begin with: they are no rows of the database."""


@cache
def entries() -> tuple[Entry, ...]:
    """The templates as the library shows them, with version number 0."""
    return tuple(
        Entry(
            id=PREFIX + name,
            kind=item.kind,
            name=item.name,
            tags=item.tags,
            created_at="",
            updated_at="",
            binned_at=None,
            body=item.body,
            number=0,
            note="",
        )
        for name, item in templates().items()
    )


def find(store: Store, item_id: str) -> Entry:
    """A template, or an item of a person's own, by its id. Raises ``NotFound``."""
    return next((entry for entry in entries() if entry.id == item_id), None) or store.library.get(
        item_id
    )


def listed(store: Store, *kinds: Kind) -> list[Entry]:
    """What can be used of these kinds: a person's own, the latest first, then the templates."""
    own = store.library.entries(*kinds)
    return [*own, *(entry for entry in entries() if entry.kind in kinds)]
