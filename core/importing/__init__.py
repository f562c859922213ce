"""Conversations from elsewhere: look at a file, choose, take. One transaction a conversation.

What a file holds is never in memory but for the conversation at hand. A conversation that came
before is known by its key, its messages by theirs: only what is new is added, and said.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict

from core.errors import BadFile, StoreError
from core.formats import found_in
from core.importing import one as conversation
from core.importing.beside import beside
from core.importing.report import Found, Preview, Report
from core.interchange.growing import left_out
from core.store import Store
from core.types import Carried, Config, Damaged, LeftOut, Reader, Source, Stop

_MOST_TOLD = 200  # repairs and damages that a report lists; the rest is counted

Progress = Callable[[int, int], None]
"""Called with the conversations and the messages so far."""

__all__ = ["Found", "Preview", "Progress", "Report", "preview", "take"]


def preview(
    store: Store, source: Source, progress: Progress | None = None, stop: Stop | None = None
) -> Preview:
    """What a file holds, and what of it is here already. Writes nothing.

    Raises ``BadFile`` where there is nothing to import at all.
    """
    found: list[Found] = []
    damaged: list[Damaged] = []
    seen: set[tuple[str, str]] = set()
    messages = 0
    broke = ""
    try:
        for number, (reader, one) in enumerate(_conversations(source)):
            if stop is not None and stop.is_set():
                break
            if reader is None or isinstance(one, Damaged):
                assert isinstance(one, Damaged)
                damaged.append(one)
                continue
            found.append(_found(store, reader, one, number, seen))
            messages += found[-1].messages
            if progress is not None:
                progress(len(found), messages)
    except BadFile as error:
        if not found and not damaged:
            raise
        broke = f"{error.message} {error.hint}"
    whole = not broke and not (stop is not None and stop.is_set())
    return Preview(
        name=source.name,
        found=tuple(found),
        damaged=tuple(damaged),
        left_out=_beside(source, {one.format for one in found}, damaged) if whole else (),
        broke=broke,
    )


def take(
    store: Store,
    source: Source,
    *,
    config: Config,
    chosen: Collection[int] | None = None,
    progress: Progress | None = None,
    stop: Stop | None = None,
) -> Report:
    """Import the conversations with the ``chosen`` numbers, or all; the report is kept too.

    ``config`` is what their next answers are asked with. A conversation is written whole or not
    at all; what was written before a fault, or before ``stop``, stays. Raises ``BadFile`` where
    there is nothing to import, and a ``StoreError`` once the report is kept, if it can be.
    """
    report = Report(name=source.name)
    seen: set[tuple[str, str]] = set()
    counted: Counter[tuple[str, str]] = Counter()
    readers: set[str] = set()
    try:
        for number, (reader, one) in enumerate(_conversations(source)):
            if stop is not None and stop.is_set():
                report.cancelled = True
                break
            if reader is None or isinstance(one, Damaged):
                _tell_damage(report, one)
                continue
            readers.add(reader.name)
            if chosen is not None and number not in chosen:
                report.passed_over += 1
                continue
            try:
                taken = conversation.write(store, reader, one, config, seen)
            except BadFile as error:  # of this one nothing was written; the next goes on
                place = f"{source.name}, {one.title or 'Untitled'}"
                _tell_damage(report, Damaged(place=place, why=error.message))
                continue
            _add(report, reader, one, taken, counted)
            if progress is not None:
                progress(report.new + report.extended + report.unchanged, report.messages)
    except BadFile as error:
        if not (report.sessions or report.damaged or report.unchanged or report.passed_over):
            raise
        report.broke = f"{error.message} {error.hint}"
    except StoreError as error:
        report.broke = f"{error.message} {error.hint}"
        report.left_out = list(left_out(counted))
        _keep(store, report)
        raise
    report.left_out = list(left_out(counted))
    if not (report.cancelled or report.broke):
        report.left_out += _beside(source, readers, report.damaged)
    _keep(store, report)
    return report


def _conversations(source: Source) -> Iterator[tuple[Reader | None, Carried | Damaged]]:
    """Every conversation of a file; a member of an archive that breaks off ends only itself."""
    found = list(found_in(source))
    for one in found:
        if isinstance(one, Damaged):
            yield None, one
            continue
        reader, part = one
        try:
            for carried in reader.read(part):
                yield reader, carried
        except BadFile as error:
            if len(found) == 1:
                raise
            yield None, Damaged(place=part.name, why=error.message)


def _beside(
    source: Source, readers: Collection[str], damaged: Sequence[Damaged]
) -> tuple[LeftOut, ...]:
    """Only of what was read to its end. Our own archives hold nothing but what their manifest
    names, opened when it is needed."""
    return () if "native" in readers else beside(source, damaged)


def _found(
    store: Store, reader: Reader, one: Carried, number: int, seen: set[tuple[str, str]]
) -> Found:
    session_id, known = conversation.standing(store, reader, one, seen)
    return Found(
        number=number,
        format=reader.name,
        label=reader.label,
        title=one.title,
        messages=len(one.nodes),
        branches=len(one.branches),
        new=sum(node.key not in known for node in one.nodes),
        at=one.updated_at or one.at,
        session_id=session_id,
        binned=bool(session_id and store.sessions.get(session_id).binned_at),
        left_out=conversation.staying(one),
        repairs=one.repairs,
    )


def _add(
    report: Report,
    reader: Reader,
    one: Carried,
    taken: conversation.Taken,
    counted: Counter[tuple[str, str]],
) -> None:
    if reader.label not in report.formats:
        report.formats.append(reader.label)
    report.new += taken.made
    report.extended += not taken.made and bool(taken.messages)
    report.unchanged += not taken.made and not taken.messages
    report.messages += taken.messages
    report.checked += taken.messages
    report.branches += taken.branches
    if taken.made or taken.messages:
        report.sessions.append(taken.session_id)
        counted.update(taken.left_out)
    if taken.binned and (taken.made or taken.messages) and len(report.notes) < _MOST_TOLD:
        report.notes.append(f"{one.title or 'Untitled'} is in the bin: restore it from there.")
    for repair in one.repairs:
        if len(report.repairs) < _MOST_TOLD:
            report.repairs.append(f"{one.title or 'Untitled'}: {repair}")
        else:
            report.more_repairs += 1


def _tell_damage(report: Report, one: Carried | Damaged) -> None:
    assert isinstance(one, Damaged)
    if len(report.damaged) < _MOST_TOLD:
        report.damaged.append(one)
    else:
        report.more_damaged += 1


def _keep(store: Store, report: Report) -> None:
    told = asdict(report) | {"sessions": report.sessions[:_MOST_TOLD]}
    store.imports.keep_report(", ".join(report.formats), report.name, told)
