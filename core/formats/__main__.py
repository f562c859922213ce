"""``python -m core.formats list|export|import``: sessions out and in without the page.

    list                      the sessions; --formats tells what can be read and written
    export --session ID …     one file for each (of our own format one for all); --all takes all
    import FILE …             conversations from elsewhere; --dry-run only looks

The database is that of the page: ``--db``, else ``TURNTREE_DB``, else ``sessions.db``. Ends with
0 when all was done, 1 when part of it was not (it says which), 2 for a command that makes no
sense, 3 when nothing could be read or written, 4 when the database cannot be used, 130 when
Ctrl-C ended it. What is done by then stays.
"""

import argparse
import json
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from core import exporting
from core.errors import BadFile, NotFound, StoreError, TurntreeError, UserError
from core.exporting import whole
from core.exporting.provenance import beside
from core.formats import formats, writer
from core.formats._console import Interrupted, bar, interruptible, print_out, say, target, tell
from core.importing import Preview, Report, preview, take
from core.interchange.source import FileSource
from core.store import Store
from core.types import (
    AnswerTaken,
    Config,
    Damaged,
    Include,
    Json,
    LeftOut,
    Reader,
    Scope,
    Stop,
    Writer,
)

DONE, PARTLY, USAGE, NOTHING, NO_DATABASE, INTERRUPTED = 0, 1, 2, 3, 4, 130
_LOCAL = Config(provider="local", model="")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; the exit code."""
    parser = _parser()
    wanted = parser.parse_args(arguments)
    stop = Stop()
    try:
        with interruptible(stop):
            return int(wanted.act(wanted, stop))
    except Interrupted:
        return INTERRUPTED
    except StoreError as error:
        tell(error)
        return NO_DATABASE
    except TurntreeError as error:
        tell(error)
        return NOTHING
    except BrokenPipeError:  # who reads our words has gone
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return PARTLY
    except OSError as error:
        say(f"{error.filename or 'A file'}: {error.strerror or error}.")
        return NOTHING
    except Exception as error:  # noqa: BLE001 - a person at a terminal gets words, whatever it is
        say(f"Something is wrong in Turntree itself: {type(error).__name__}: {error}")
        return NOTHING


# --- list ---------------------------------------------------------------------------------------


def _list(wanted: argparse.Namespace, stop: Stop) -> int:
    if wanted.formats:
        return _list_formats(as_json=wanted.json)
    with _opened(wanted) as store:
        ids = whole.every(store, binned=wanted.binned)
        rows = [_row(store, session_id) for session_id in ids]
    if wanted.json:
        return _print_json(rows)
    for row in rows:
        bin_mark = "  (in the bin)" if row["binned"] else ""
        print_out(
            f"{row['id']}  {row['updated_at']}  {row['messages']:>6,}  {row['title']}{bin_mark}"
        )
    return DONE


def _row(store: Store, session_id: str) -> dict[str, Json]:
    session = store.sessions.get(session_id)
    return {
        "id": session.id,
        "title": session.title,
        "updated_at": session.updated_at,
        "messages": store.imports.tally(session_id)[0],
        "branches": len(store.branches.names(session_id)),
        "binned": session.binned_at is not None,
    }


def _list_formats(*, as_json: bool) -> int:
    rows: list[dict[str, Json]] = [
        {
            "name": one.name,
            "label": one.label,
            "reads": isinstance(one, Reader),
            "writes": sorted(one.scopes) if isinstance(one, Writer) else [],
        }
        for one in sorted(formats().values(), key=lambda one: str(one.name))
    ]
    if as_json:
        return _print_json(rows)
    for row in rows:
        does = ["import"] if row["reads"] else []
        does += [f"export of {', '.join(row['writes'])}"] if row["writes"] else []
        print_out(f"{row['name']:<22}{row['label']:<38}{'; '.join(does)}")
    return DONE


def _print_json(value: Json) -> int:
    print_out(json.dumps(value, ensure_ascii=False, indent=2))
    return DONE


# --- export -------------------------------------------------------------------------------------


def _export(wanted: argparse.Namespace, stop: Stop) -> int:
    found = writer(wanted.format)
    with _opened(wanted) as store:
        ids = whole.every(store, binned=wanted.binned) if wanted.all else wanted.session
        if not ids:
            raise UserError("There is no session to export.", hint="Import one, or begin one.")
        ids = [_id_of(store, given) for given in ids]
        if found.name == "native":
            return _export_whole(store, ids, wanted, stop)
        return _export_each(store, found, ids, wanted, stop)


def _export_whole(store: Store, ids: list[str], wanted: argparse.Namespace, stop: Stop) -> int:
    one = store.sessions.get(ids[0]).title if len(ids) == 1 else "sessions"
    name = exporting.file_name(one, ending=writer("native").ending)
    with target(wanted, name) as stream, bar("Sessions", len(ids)) as told:
        if not whole.sessions(store, ids, stream, progress=told, stop=stop):
            raise Interrupted
    return DONE


def _export_each(
    store: Store, found: Writer, ids: list[str], wanted: argparse.Namespace, stop: Stop
) -> int:
    if len(ids) > 1 and (wanted.out == "-" or Path(wanted.out or ".").suffix):
        raise UserError("These are several files.", hint="Name a folder with --out.")
    include = Include(
        thinking=wanted.thinking,
        tools=not wanted.no_tools,
        metadata=not wanted.no_metadata,
        recaps=wanted.recaps,
        pieces=wanted.pieces,
    )
    done, used = 0, set[str]()
    with bar("Files", len(ids)) as told:
        for number, session_id in enumerate(ids, 1):
            if stop.is_set():
                return INTERRUPTED
            try:
                file = _made(store, found, session_id, wanted, include)
                name = whole.unused(file.name, used)
                with target(wanted, name, several=len(ids) > 1) as stream:
                    stream.write(file.content)
            except UserError as error:
                say(f"{store.sessions.get(session_id).title}: {error.message} {error.hint}")
            else:
                done += 1
            told(number)
    return DONE if done == len(ids) else PARTLY if done else NOTHING


def _made(
    store: Store, found: Writer, session_id: str, wanted: argparse.Namespace, include: Include
) -> exporting.File:
    """A session's file; with --provenance an archive of the answer and where it came from."""
    taken = whole.of_session(
        store, session_id, found.name, scope=wanted.of, branch_name=wanted.branch or ""
    )
    file = exporting.write(taken, found.name, include)
    if not wanted.provenance:
        return file
    if not isinstance(taken, AnswerTaken):
        raise UserError("Provenance goes beside an answer.", hint="Say: --of answer.")
    return beside(store, file, session_id, taken.node.id)


def _id_of(store: Store, given: str) -> str:
    """A session by its id, or by the beginning of it. Raises ``NotFound``."""
    ids = [one for one in whole.every(store, binned=True) if one.startswith(given.upper())]
    if len(ids) != 1:
        some = "no session" if not ids else f"{len(ids)} sessions"
        raise NotFound(f"There is {some} with the id {given!r}.", hint="See: list")
    return ids[0]


# --- import -------------------------------------------------------------------------------------


def _import(wanted: argparse.Namespace, stop: Stop) -> int:
    chosen = _numbers(wanted.choose) if wanted.choose else None
    if chosen is not None and len(wanted.files) > 1:
        raise UserError("Numbers are of one file.", hint="Import file by file with --choose.")
    codes = []
    with _opened(wanted, create=not wanted.dry_run) as store:
        for name in wanted.files:
            try:
                codes.append(_import_one(store, Path(name), chosen, wanted, stop))
            except BadFile as error:
                tell(error)
                codes.append(NOTHING)
            if stop.is_set():
                return INTERRUPTED
    return codes[0] if len(set(codes)) == 1 else PARTLY


def _import_one(
    store: Store, path: Path, chosen: set[int] | None, wanted: argparse.Namespace, stop: Stop
) -> int:
    source = FileSource(path)
    if wanted.dry_run:
        with bar("Conversations") as told:
            looked = preview(store, source, lambda done, _: told(done), stop)
        return _show_preview(looked, as_json=wanted.json)
    with bar("Conversations") as told:
        report = take(
            store,
            source,
            config=_next_config(store),
            chosen=chosen,
            progress=lambda done, _: told(done),
            stop=stop,
        )
    return _show_report(report, as_json=wanted.json)


def _next_config(store: Store) -> Config:
    """What the next answers are asked with: the model of the latest session."""
    recent = store.sessions.recent(1)
    config = store.sessions.get(recent[0]["id"]).config if recent else _LOCAL
    return Config(provider=config.provider, model=config.model)


def _show_preview(looked: Preview, *, as_json: bool) -> int:
    if as_json:
        _print_json(asdict(looked))
    else:
        print_out(f"{looked.name}: {len(looked.found):,} conversations")
        for one in looked.found:
            known = "" if one.session_id is None else f", {one.new:,} new"
            print_out(
                f"{one.number + 1:>5}  {one.label:<18}{one.messages:>6,} messages{known}"
                f"  {one.branches:>3} branches  {one.title or 'Untitled'}"
            )
            _show_changes(one.left_out, one.repairs, indent=7)
        _show_changes(looked.left_out, (), indent=2)
        _show_damages(looked.damaged, looked.broke)
    return PARTLY if looked.damaged or looked.broke else DONE


def _show_report(report: Report, *, as_json: bool) -> int:
    if as_json:
        _print_json(asdict(report))
    else:
        print_out(
            f"{report.name}: {report.new:,} new, {report.extended:,} extended,"
            f" {report.unchanged:,} unchanged; {report.messages:,} messages, all read back"
        )
        _show_changes(report.left_out, report.repairs, indent=2)
        for note in report.notes:
            print_out(f"  note: {note}")
        _show_damages(report.damaged, report.broke)
    if report.cancelled:
        return INTERRUPTED
    return PARTLY if report.damaged or report.broke else DONE


def _show_changes(left_out: Iterable[LeftOut], repairs: Iterable[str], *, indent: int) -> None:
    for left in left_out:
        print_out(f"{'':>{indent}}left out: {left.what} ({left.count:,}): {left.why}")
    for repair in repairs:
        print_out(f"{'':>{indent}}repaired: {repair}")


def _show_damages(damaged: Iterable[Damaged], broke: str) -> None:
    for one in damaged:
        print_out(f"  not read: {one.place}: {one.why}")
    if broke:
        print_out(f"  ended early: {broke}")


def _numbers(told: str) -> set[int]:
    """``1,4-6`` as counted from 0. Raises ``UserError``."""
    found: set[int] = set()
    fine = True
    try:
        for piece in told.split(","):
            first, _, last = piece.partition("-")
            low, high = int(first), int(last or first)
            found.update(range(low - 1, min(high, 10**7)))
            fine = fine and 1 <= low <= high
    except ValueError:
        fine = False
    if not fine:
        raise UserError(
            f"{told!r} names no conversations.", hint="Write numbers as --dry-run shows: 1,4-6"
        )
    return found


@contextmanager
def _opened(wanted: argparse.Namespace, *, create: bool = False) -> Iterator[Store]:
    named = wanted.db or os.environ.get("TURNTREE_DB")
    path = Path(named).expanduser() if named else Path(__file__).parents[2] / "sessions.db"
    if not create and not path.exists():
        raise StoreError(f"There is no database {path}.", hint="Name it with --db.")
    with Store.open(path) as store:
        yield store


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m core.formats",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    listing = commands.add_parser("list", help="show the sessions, or the formats")
    listing.add_argument("--formats", action="store_true", help="show the formats instead")
    _add_export(commands.add_parser("export", help="write sessions to files"))
    bringing = commands.add_parser("import", help="take conversations from files")
    bringing.add_argument("files", nargs="+", metavar="FILE")
    bringing.add_argument("--dry-run", action="store_true", help="only look, write nothing")
    bringing.add_argument("--choose", metavar="1,4-6", help="only these, as --dry-run counts them")
    for command, act in ((listing, _list), (bringing, _import)):
        command.add_argument("--json", action="store_true", help="say it as JSON")
        command.set_defaults(act=act)
    listing.add_argument("--binned", action="store_true", help="the bin too")
    for command in commands.choices.values():
        command.add_argument("--db", metavar="FILE", help="the database")
    return parser


def _add_export(command: argparse.ArgumentParser) -> None:
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument(
        "--session", action="append", metavar="ID", help="once for each; its start will do"
    )
    which.add_argument("--all", action="store_true", help="every session")
    command.add_argument("--binned", action="store_true", help="with --all: the bin too")
    command.add_argument("--format", default="native", help="by its name in list --formats")
    command.add_argument("--out", metavar="FILE|FOLDER|-", help="else here, named for the session")
    command.add_argument("--force", action="store_true", help="replace what is there")
    command.add_argument("--of", choices=get_args(Scope), help="what of each, if not the most")
    command.add_argument("--pieces", choices=("all", "code", "tables"), default="all")
    command.add_argument("--provenance", action="store_true", help="beside an answer, as a zip")
    command.add_argument("--branch", metavar="NAME", help="else the one that is open")
    command.add_argument("--thinking", action="store_true", help="with the models' reasoning")
    command.add_argument("--no-tools", action="store_true", help="without tool calls")
    command.add_argument("--no-metadata", action="store_true", help="words alone")
    command.add_argument("--recaps", choices=("folded", "expanded", "none"), default="folded")
    command.set_defaults(act=_export)


if __name__ == "__main__":
    sys.exit(main())
