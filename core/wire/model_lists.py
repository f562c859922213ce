"""Lists of models as servers of many kinds give them, read as far as they tell.

Every gateway adds fields of its own to the one that all have, the id. What none of them says
is left open: a window is unknown then, and tools and images are the server's to refuse.
"""

import re
from collections.abc import Mapping
from dataclasses import replace

from core.types import Json, Knob, ModelInfo
from core.wire.loose import of, several, words

KNOBS = (
    Knob(name="temperature", label="Temperature", kind="number", low=0.0, high=2.0, step=0.05),
    Knob(name="top_p", label="Top p", kind="number", low=0.0, high=1.0, step=0.05),
    Knob(
        name="max_tokens",
        label="Longest answer",
        kind="integer",
        low=1,
        step=1,
        help="In tokens, thinking included.",
    ),
    Knob(
        name="reasoning_effort",
        label="Thinking effort",
        kind="choice",
        choices=("none", "minimal", "low", "medium", "high"),
        help="Only models that think take it.",
    ),
    Knob(
        name="frequency_penalty",
        label="Frequency penalty",
        kind="number",
        low=-2.0,
        high=2.0,
        step=0.1,
    ),
    Knob(
        name="presence_penalty",
        label="Presence penalty",
        kind="number",
        low=-2.0,
        high=2.0,
        step=0.1,
    ),
    Knob(name="seed", label="Seed", kind="integer", low=0, high=2**31 - 1, step=1),
    Knob(name="stop", label="Stop at", kind="list", help="Up to four texts that end the answer."),
)
"""What Chat Completions has settings for; a server may take fewer."""

_OTHER_KINDS = re.compile(
    r"embed|rerank|whisper|\btts\b|transcri|moderation|dall-e|stable-diffusion|\bsdxl\b|\bflux\b",
    re.IGNORECASE,
)
_WINDOWS = ("context_length", "context_window", "max_model_len", "max_context_length", "n_ctx")
_OUTPUTS = ("max_completion_tokens", "max_output_tokens")
_CHAT_KINDS = ("", "chat", "language", "llm", "vlm", "base", "model", "completion", "text")


def models_of(body: Json, *, free: bool = False) -> tuple[ModelInfo, ...]:
    """The models that write text, in the server's order; ``free`` says that none costs."""
    entries = [*several(body), *several(of(body, "data")), *several(of(body, "models"))]
    found: dict[str, ModelInfo] = {}
    for entry in entries:
        name = words(of(entry, "id")) or words(of(entry, "model")) or words(of(entry, "name"))
        if name and name not in found and _writes_text(entry, name):
            found[name] = replace(_info(entry, name), free=free or _costs_nothing(entry))
    return tuple(found.values())


def _writes_text(entry: Json, name: str) -> bool:
    outputs = several(of(of(entry, "architecture"), "output_modalities"))
    if outputs:
        return "text" in outputs
    if of(of(entry, "capabilities"), "completion_chat") is False:
        return False
    kind = words(of(entry, "type")).lower()
    return kind in _CHAT_KINDS and not _OTHER_KINDS.search(name)


def _info(entry: Json, name: str) -> ModelInfo:
    places = (entry, of(entry, "meta"), of(entry, "top_provider"))
    settings = several(of(entry, "supported_parameters"))
    inputs = several(of(of(entry, "architecture"), "input_modalities"))
    told = of(entry, "capabilities")
    return ModelInfo(
        id=name,
        label=words(of(entry, "display_name")) or words(of(entry, "name")) or name,
        window=_first(places, _WINDOWS),
        output_limit=_first(places, _OUTPUTS),
        knobs=_knobs(settings),
        thinking=bool({"reasoning", "include_reasoning"} & set(settings)),
        images="image" in inputs if inputs else _flag(told, "vision"),
        tools="tools" in settings if settings else _flag(told, "function_calling"),
    )


def _knobs(settings: list[Json]) -> tuple[Knob, ...]:
    """Those a model is said to take; all of them where nothing is said."""
    if not settings:
        return KNOBS
    taken = {*settings, *(["reasoning_effort"] if "reasoning" in settings else [])}
    return tuple(knob for knob in KNOBS if knob.name in taken)


def _flag(capabilities: Json, name: str) -> bool:
    """What is said of a capability; True if nothing is, for then only trying tells."""
    said = of(capabilities, name)
    return said if isinstance(said, bool) else True


def _first(places: tuple[Json, ...], names: tuple[str, ...]) -> int | None:
    values = [of(place, name) for name in names for place in places]
    return next(
        (n for n in values if isinstance(n, int) and not isinstance(n, bool) and n > 0), None
    )


def _costs_nothing(entry: Json) -> bool:
    prices = of(entry, "pricing")
    if not isinstance(prices, Mapping):
        return False
    asked = [prices.get("prompt"), prices.get("completion")]
    return all(str(price) in ("0", "0.0") for price in asked)
