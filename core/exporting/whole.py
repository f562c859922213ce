"""Sessions taken away whole: one, some or all of them, in one file of our own format or, to be
read elsewhere, as an archive with a file for each."""

import io
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import IO

from core.draft_history import final_draft
from core.errors import NotFound, UserError
from core.exporting import answer, branch, tree, write
from core.exporting.comparison import comparison
from core.formats import writer
from core.formats.native import WholeSession, pack
from core.store import Store
from core.types import Branch, Include, Scope, Stop, Taken

_ORDER: tuple[Scope, ...] = ("tree", "branch", "answer", "comparison")
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # of archives: the same content makes the same bytes
_MOST_TRIED = 1_000_000


def sessions(
    store: Store,
    ids: Iterable[str],
    stream: IO[bytes],
    *,
    progress: Callable[[int], None] | None = None,
    stop: Stop | None = None,
) -> bool:
    """Write these sessions to a stream, one in memory at a time. False when it was stopped: what
    is in the stream then is to be thrown away.

    ``progress`` is called with how many are done. The same sessions make the same bytes, in
    whatever order they are named. Raises ``NotFound`` for one that there is not, ``UserError``
    for none.
    """
    found = [one_of(store, session_id) for session_id in sorted(set(ids))]
    if not found:
        raise UserError("No session was chosen.", hint="Choose one, or all of them.")
    return pack(stream, found, progress, stop)


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """A session that an archive has no file of, and why."""

    title: str
    why: str


def each(
    store: Store,
    ids: Iterable[str],
    stream: IO[bytes],
    format_name: str,
    *,
    include: Include | None = None,
    progress: Callable[[int], None] | None = None,
) -> tuple[Left, ...]:
    """Write an archive with a file of that format for each session; what has none is told.

    Raises ``NotFound`` for a session or a format that there is not, ``UserError`` where there is
    no file at all.
    """
    found, left = list(dict.fromkeys(ids)), list[Left]()
    used: set[str] = set()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for number, session_id in enumerate(found, 1):
            title = store.sessions.get(session_id).title
            try:
                file = write(of_session(store, session_id, format_name), format_name, include)
            except UserError as error:
                left.append(Left(title=title, why=error.message))
            else:
                member = zipfile.ZipInfo(unused(file.name, used), _FIRST_DAY)
                archive.writestr(member, file.content, zipfile.ZIP_DEFLATED)
            if progress is not None:
                progress(number)
    if not used:
        why = left[0].why if left else "No session was chosen."
        raise UserError(why, hint="Choose another kind of file, or other sessions.")
    return tuple(left)


def bundle(*files: tuple[str, bytes]) -> bytes:
    """An archive of some files by name; the same files make the same bytes."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in files:
            archive.writestr(zipfile.ZipInfo(name, _FIRST_DAY), content, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


def unused(name: str, used: set[str]) -> str:
    """The name, with a number where a file has it already; it is used from now on. Compared as
    systems do that know no capitals."""
    stem, dot, ending = name.partition(".")
    for number in range(1, _MOST_TRIED):
        told = name if number == 1 else f"{stem}-{number}{dot}{ending}"
        if told.casefold() not in used:
            used.add(told.casefold())
            return told
    raise UserError("Too many files have the same name.", hint="Export fewer at once.")


def of_session(
    store: Store,
    session_id: str,
    format_name: str,
    *,
    scope: Scope | None = None,
    branch_name: str = "",
) -> Taken:
    """What of a session a file of that format is made of: of ``scope``, else the first that it
    can hold of tree, branch, final answer and latest comparison. The branch is the open one
    where none is named.

    Raises ``NotFound`` for a branch that it has not, ``UserError`` where there is nothing.
    """
    found = writer(format_name)
    what = scope or next(one for one in _ORDER if one in found.scopes)
    if what == "tree":
        return tree(store, session_id)
    if what == "comparison":
        standing = store.comparisons.of(session_id)
        if not standing:
            raise UserError("It has no comparison.", hint="Compare branches first.")
        return comparison(store, session_id, standing[0].id)
    through = _branch(store, session_id, branch_name)
    if what == "branch":
        return branch(store, session_id, through.id)
    last = final_draft(store, session_id, store.nodes.lineage(through.tip_id))
    if last is None:
        raise UserError("It has no answer yet.", hint="Ask for one first.")
    return answer(store, session_id, last.id)


def _branch(store: Store, session_id: str, name: str) -> Branch:
    """The branch of that name, else the open one."""
    live = store.branches.of(session_id)
    if name:
        named = [one for one in live if one.name == name]
        if not named:
            known = ", ".join(one.name for one in live[:20])
            raise NotFound(f"It has no branch called {name!r}.", hint=f"It has: {known}.")
        return named[0]
    current = store.sessions.get(session_id).current_branch_id
    return next((one for one in live if one.id == current), live[-1])


def one_of(store: Store, session_id: str) -> WholeSession:
    """A session to be packed. Raises ``NotFound``."""
    return WholeSession(
        id=session_id,
        title=store.sessions.get(session_id).title,
        records=lambda: store.portable.records(session_id),
        files=store.attachments,
    )


def every(store: Store, *, binned: bool = False) -> list[str]:
    """The ids of all sessions, the latest first; with ``binned`` those in the bin as well."""
    live = store.sessions.recent(store.sessions.count())
    gone = store.sessions.recent(store.sessions.count(binned=True), binned=True) if binned else []
    return [row["id"] for row in [*live, *gone]]
