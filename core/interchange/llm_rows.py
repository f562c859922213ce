"""Conversations of ``llm`` until 0.31: one row of ``responses`` a call, in the order of their ids.

A row has its prompt, without the fragments that were put before it, the answer, the calls that it
made, and the results of those that the row before made.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from core.interchange import fields
from core.interchange.growing import Grain, left_out, line
from core.interchange.llm_threads import covered, file, fragment
from core.interchange.streams import compact
from core.interchange.tables import Tables
from core.interchange.times import iso
from core.interchange.turns import Turns, apart, title_of
from core.types import Carried, Json, Part, Role, Text, Thinking, ToolCall, ToolResult, well_formed

Row = dict[str, Json]


def conversations(tables: Tables) -> Iterator[Carried]:
    """One after another; a row that is in none is one of its own."""
    at, rows = "", list[Row]()
    for row in tables.rows("responses", order=("conversation_id", "id")):
        key = fields.name_of(row.get("conversation_id"))
        if rows and (key != at or not key):
            yield from _conversation(tables, at, rows)
            rows = []
        at = key
        rows.append(row)
    if rows:
        yield from _conversation(tables, at, rows)


def _conversation(tables: Tables, key: str, rows: list[Row]) -> Iterator[Carried]:
    asked = [words for row in rows if (words := fields.words(row, "prompt"))]
    key = key or fields.name_of(rows[0].get("id"))
    if covered(tables, key, asked):
        return
    about = tables.row("conversations", id=key)
    reading = _Reading(tables)
    for row in rows:
        reading.take(row)
    reading.end()
    if not reading.grains:
        return
    grown = line(reading.grains)
    dates = [grain.at for grain in reading.grains if grain.at]
    yield Carried(
        key=key,
        title=well_formed(fields.words(about, "name")) or title_of(reading.grains),
        nodes=grown.nodes,
        branches=grown.branches,
        at=min(dates, default=None),
        updated_at=max(dates, default=None),
        system=well_formed(reading.system or ""),
        model=fields.words(rows[-1], "model"),
        files=reading.turns.files,
        left_out=(*grown.left_out, *left_out(reading.turns.left)),
        repairs=grown.repairs,
    )


@dataclass(slots=True)
class _Reading:
    """The messages so far, and the answer that may still go on: its tools have run."""

    tables: Tables
    turns: Turns = field(default_factory=Turns)
    grains: list[Grain] = field(default_factory=list)
    system: str | None = None
    answer: list[Part] = field(default_factory=list)
    row: Row = field(default_factory=dict)
    told: str = ""

    def take(self, row: Row) -> None:
        """One more call: what was asked, and what came."""
        key = fields.name_of(row.get("id"))
        prompt = self._whole("prompt_fragments", key, fields.words(row, "prompt"))
        held = list(self.tables.rows("prompt_attachments", order=("order",), response_id=key))
        results = self._results(key)
        goes_on = bool(self.answer) and bool(results) and not prompt and not held
        if not goes_on:
            self.end()
        self._system(row, key)
        if goes_on:
            self.answer += results
        elif prompt or held or results:
            asked: list[Part] = [Text(text=prompt)] if prompt else []
            for one in held:
                asked += file(self.tables, one.get("attachment_id"), self.turns)
            role: Role = "user" if asked or self.turns.notes else "tool"
            if results:
                self._add(f"{key}/results", "tool", results, row)
            if role == "user":
                self._add(f"{key}/prompt", role, asked, row)
        self.answer = apart(self.answer, self._answer(row, key))
        self.row = self.row if goes_on else row

    def end(self) -> None:
        """The answer is over."""
        if self.answer:
            model = fields.words(self.row, "resolved_model", "model")
            key = fields.name_of(self.row.get("id"))
            self._add(key, "assistant", self.answer, self.row, model)
        self.answer = []

    def _add(self, key: str, role: Role, parts: list[Part], row: Row, model: str = "") -> None:
        notes, self.turns.notes = self.turns.notes, []
        self.grains.append(
            Grain(
                key=key,
                parent=None,
                role=role,
                parts=tuple(parts),
                at=iso(row.get("datetime_utc")),
                model=model,
                marks={"note": "\n".join(notes)} if notes else {},
            )
        )

    def _system(self, row: Row, key: str) -> None:
        told = self._whole("system_fragments", key, fields.words(row, "system"))
        if not told or told == self.told:
            return
        self.told = told
        if self.system is None and not self.grains:
            self.system = told
        else:
            self._add(f"{key}/system", "system", [Text(text=told)], row)

    def _whole(self, table: str, key: str, words: str) -> str:
        rows = self.tables.rows(table, order=("order",), response_id=key)
        pieces = [fragment(self.tables, row.get("fragment_id")) for row in rows]
        return "\n".join([*pieces, words] if words else pieces)

    def _results(self, key: str) -> list[Part]:
        found: list[Part] = []
        for row in self.tables.rows("tool_results", order=("id",), response_id=key):
            found.append(
                ToolResult(
                    call_id=fields.words(row, "tool_call_id"),
                    name=fields.words(row, "name"),
                    text=fields.words(row, "output"),
                    is_error=bool(row.get("exception")),
                )
            )
            held = self.tables.rows("tool_results_attachments", tool_result_id=row.get("id"))
            for one in held:
                found += file(self.tables, one.get("attachment_id"), self.turns)
        return found

    def _answer(self, row: Row, key: str) -> list[Part]:
        thought, said = fields.words(row, "reasoning"), fields.words(row, "response")
        found: list[Part] = [Thinking(text=thought)] if thought else []
        found += [Text(text=said)] if said else []
        for call in self.tables.rows("tool_calls", order=("id",), response_id=key):
            found.append(
                ToolCall(
                    id=fields.words(call, "tool_call_id"),
                    name=fields.words(call, "name"),
                    arguments=compact(call.get("arguments") or "{}"),
                )
            )
        return found
