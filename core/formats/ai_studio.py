"""Google AI Studio: a prompt as the Studio saves it to Drive, mostly without an ending.

``{"runSettings", "systemInstruction", "chunkedPrompt": {"chunks": […], "pendingInputs"}}``. One
turn is often several chunks; thoughts are chunks of their own, and so are code and what it gave.
Files are names of things in Drive. What was typed and never sent is no message. A prompt that was
branched off names the other file: here it is a conversation of its own.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite

from core.interchange import fields, streams
from core.interchange.gemini_turns import Calls, instruction, joined, part
from core.interchange.glimpse import glimpse
from core.interchange.times import iso
from core.interchange.turns import Turns, apart
from core.types import Carried, Damaged, Json, Part, Source, Text, Thinking

_IN_DRIVE = {
    "driveDocument": "a document in Drive",
    "driveImage": "a picture in Drive",
    "driveAudio": "a sound in Drive",
    "driveVideo": "a film in Drive",
    "youtubeVideo": "a YouTube film",
}
_INLINE = ("inlineFile", "inlineImage", "inlineAudio", "inlineVideo", "inlineData")
_SETTINGS = {"temperature": "temperature", "topP": "top_p", "maxOutputTokens": "max_tokens"}


class AIStudio:
    """One prompt a file."""

    name = "ai_studio"
    label = "Google AI Studio"

    def recognise(self, source: Source) -> float:
        """Sure of chunks beside the settings of a run."""
        value = glimpse(source).value
        if not isinstance(value, Mapping):
            return 0.0
        if isinstance(value.get("chunkedPrompt"), Mapping):
            return 0.97
        settings = fields.mapping(value, "runSettings")
        model = fields.words(settings, "model")
        return 0.8 if model.startswith("models/") and "systemInstruction" in value else 0.0

    def read(self, source: Source) -> Iterator[Carried | Damaged]:
        """The conversation."""
        yield from streams.each(streams.items(source), _conversation)


def _conversation(value: Json) -> Carried | None:
    prompt = fields.mapping(value, "chunkedPrompt")
    if not prompt:
        return None
    turns = Turns()
    if words := instruction(fields.mapping(value).get("systemInstruction")):
        turns.system.append(words)
    settings = fields.mapping(value, "runSettings")
    gathering = _Gathering(turns, fields.words(settings, "model").removeprefix("models/"))
    for chunk in fields.several(prompt, "chunks"):
        gathering.take(chunk)
    gathering.end()
    drafts = [*fields.several(prompt, "pendingInputs"), *fields.several(value, "pendingInputs")]
    unsent = sum(bool(fields.words(draft, "text").strip()) for draft in drafts)
    if unsent:
        turns.leave("drafts", "they were never sent", unsent)
    if fields.mapping(value, "branchParent"):
        turns.leave("links to another prompt", "each file is a conversation of its own")
    sampling = {
        ours: settings[name] for name, ours in _SETTINGS.items() if _is_number(settings.get(name))
    }
    return turns.carried(
        title=fields.words(value, "title", "displayName"),
        at=gathering.first_at,
        model=gathering.model,
        provider="gemini" if gathering.model else "",
        sampling=sampling,
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and isfinite(value)


@dataclass(slots=True)
class _Gathering:
    """Chunks of one speaker after another are one turn."""

    turns: Turns
    model: str
    role: str = ""
    parts: list[Part] = field(default_factory=list)
    at: str | None = None
    first_at: str | None = None
    calls: Calls = field(default_factory=Calls)

    def take(self, chunk: Json) -> None:
        """One more chunk."""
        if not isinstance(chunk, Mapping):
            self.turns.leave("entries that are no chunks", "they hold nothing")
            return
        role = "assistant" if fields.words(chunk, "role") == "model" else "user"
        if role != self.role:
            self.end()
        at = iso(chunk.get("createTime"))
        self.role, self.at = role, self.at or at
        self.first_at = self.first_at or at
        self.parts = apart(self.parts, self._parts(chunk))

    def end(self) -> None:
        """The turn is over."""
        if self.parts or self.turns.notes:
            mine = self.role == "assistant"
            self.turns.add(
                "assistant" if mine else "user",
                self.parts,
                at=self.at,
                model=self.model if mine else "",
                provider="gemini" if mine and self.model else "",
            )
        self.parts, self.at = [], None

    def _parts(self, chunk: Mapping[str, Json]) -> list[Part]:
        found: list[Part] = []
        words = fields.words(chunk, "text")
        for piece in [] if words else fields.several(chunk, "parts"):
            found += part(piece, self.turns, self.calls)
        found = joined(found)
        if chunk.get("isThought") is True or chunk.get("thought") is True:
            told = words or "".join(one.text for one in found if isinstance(one, Text))
            return [Thinking(text=told)] if told else []
        said: list[Part] = [Text(text=words)] if words else []
        for name in ("executableCode", "codeExecutionResult", "functionCall", "functionResponse"):
            if isinstance(chunk.get(name), Mapping):
                found += part({name: chunk[name]}, self.turns, self.calls)
        if error := fields.words(chunk, "errorMessage"):
            self.turns.leave("errors in place of an answer", error[:120])
        return said + found + self._files(chunk)

    def _files(self, chunk: Mapping[str, Json]) -> list[Part]:
        found: list[Part] = []
        for name in _INLINE:
            if held := fields.mapping(chunk, name):
                title = fields.words(held, "displayName", "name")
                media_type = fields.words(held, "mimeType")
                found += self.turns.encoded(title, media_type, held.get("data"))
        for name, called in _IN_DRIVE.items():
            if held := fields.mapping(chunk, name):
                found += self.turns.absent(fields.words(held, "name", "title", "id") or called)
        return found


FORMAT = AIStudio()
