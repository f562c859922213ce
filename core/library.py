"""What people keep to use again: prompts, conversations, system prompts and presets. Pure.

A text may hold variables: ``{{name}}``, with letters, digits, spaces, ``_`` and ``-`` in the
name. ``\\{{name}}`` stands for the very characters ``{{name}}``; what is no name, as
``{{ user.id }}`` or ``{{{raw}}}``, is left as it is. A variable has a type and may have a
default; one that nobody declared is a line of text without one.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from pydantic import TypeAdapter

from core.errors import UserError
from core.types import CONFIG, Config, well_formed

Kind = Literal["prompt", "conversation", "system", "preset"]
VariableKind = Literal["text", "long", "choice", "number"]
KINDS: tuple[Kind, ...] = get_args(Kind)
MOST_TURNS, MOST_VARIABLES, MOST_CHOICES, MOST_TAGS = 100, 50, 100, 20
MOST_CHARACTERS, MOST_OF_A_NAME, MOST_OF_A_LINE = 200_000, 120, 2_000
_VARIABLE = re.compile(r"(\\?)(?<!\{)\{\{(?!\{)[ \t]*([^\W\d][\w \t-]{0,59}?)[ \t]*\}\}(?!\})")
_FEW = {"prompt": 1, "system": 1, "preset": 0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """A blank in a text. ``ask`` is what the person is asked; without it, the name."""

    name: str
    kind: VariableKind = "text"
    default: str = ""
    choices: tuple[str, ...] = ()
    ask: str = ""

    @property
    def label(self) -> str:
        """What stands above the field."""
        return self.ask or self.name[:1].upper() + self.name[1:]


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """What a version holds: one text, or the turns of a conversation in order, or a config.

    ``about`` tells in a sentence what it is for.
    """

    turns: tuple[str, ...] = ()
    variables: tuple[Variable, ...] = ()
    config: Config | None = None
    about: str = ""


BODY: TypeAdapter[Body] = TypeAdapter(Body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A body as it was saved; never changed. ``number`` counts from 1 within its item."""

    body: Body
    note: str = ""
    created_at: str = ""
    number: int = 0
    id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing of the library with its versions, the oldest first, as files hold it."""

    kind: Kind
    name: str
    tags: tuple[str, ...] = ()
    versions: tuple[Version, ...] = ()

    @property
    def body(self) -> Body:
        """The newest version's."""
        return self.versions[-1].body if self.versions else Body()


def names_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The variables of some texts, each once, in the order they come."""
    found: dict[str, None] = {}
    for text in texts:
        for match in _VARIABLE.finditer(text):
            if not match[1]:
                found.setdefault(_plain(match[2]))
    return tuple(found)


def variables_of(body: Body) -> tuple[Variable, ...]:
    """The variables that its texts use, as declared; others are lines of text."""
    declared = {_plain(variable.name): variable for variable in body.variables}
    return tuple(declared.get(name, Variable(name=name)) for name in names_in(body.turns))


def preview(body: Body, values: Mapping[str, str]) -> tuple[str, ...]:
    """The turns with the values there are; a variable without one stays as it stands."""
    known = {v.name: values.get(v.name) or v.default for v in variables_of(body)}
    return _put(body.turns, {name: value for name, value in known.items() if value.strip()})


def fill(body: Body, values: Mapping[str, str]) -> tuple[str, ...]:
    """The turns with every variable replaced; what is blank takes its default.

    Values are put in as they are: ``{{…}}`` inside of one stays. Raises ``UserError`` that
    names every variable without a value, and every value that does not fit its type.
    """
    chosen: dict[str, str] = {}
    missing, wrong = [], []
    for variable in variables_of(body):
        value = values.get(variable.name) or ""
        value = value if value.strip() else variable.default
        if not value.strip():
            missing.append(variable.label)
        elif trouble := _misfit(variable, value):
            wrong.append(f"{variable.label}: {trouble}")
        chosen[variable.name] = value
    if missing:
        raise UserError(f"Nothing is filled in for: {', '.join(missing)}.", hint="Fill it in.")
    if wrong:
        raise UserError(f"{'; '.join(wrong)}.", hint="Change it, then try again.")
    return _put(body.turns, chosen)


def _put(turns: Iterable[str], values: Mapping[str, str]) -> tuple[str, ...]:
    def word(match: re.Match[str]) -> str:
        return match[0][1:] if match[1] else values.get(_plain(match[2]), match[0])

    # In one pass: what looks like a variable in a value is not one.
    return tuple(_VARIABLE.sub(word, text) for text in turns)


def number_in(text: str) -> float | None:
    """The finite number that a text is, or None."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def number_text(number: float) -> str:
    """3.0 as "3", 0.25 as "0.25"."""
    whole = number.is_integer() and abs(number) < 1e15
    return str(int(number)) if whole else repr(number)


def _misfit(variable: Variable, value: str) -> str:
    if variable.kind == "number" and number_in(value) is None:
        return f"{value.strip()!r} is not a number"
    if variable.kind == "choice" and value not in variable.choices:
        return f"{value!r} is not one of {', '.join(variable.choices) or 'its choices'}"
    return ""


def _plain(name: str) -> str:
    return " ".join(name.split())


# --- what may be kept ------------------------------------------------------------------------


def clean_name(name: str) -> str:
    """A name on one line. Raises ``UserError`` for none, or for one that is too long."""
    plain = well_formed(" ".join(name.split()))
    if not plain:
        raise UserError("It has no name.", hint="Give it one.")
    if len(plain) > MOST_OF_A_NAME:
        raise UserError(
            f"The name has {len(plain)} characters; {MOST_OF_A_NAME} fit.", hint="Shorten it."
        )
    return plain


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Tags on one line each, in lower case, each once, sorted. Raises ``UserError``."""
    plain = sorted({well_formed(" ".join(tag.split())).casefold() for tag in tags} - {""})
    if len(plain) > MOST_TAGS or any(len(tag) > MOST_OF_A_NAME for tag in plain):
        raise UserError(
            f"Up to {MOST_TAGS} tags of {MOST_OF_A_NAME} characters fit.", hint="Take some away."
        )
    return tuple(plain)


def cleaned(kind: Kind, body: Body) -> Body:
    """The body as it may be kept: half characters mended, undeclared variables declared.

    Declarations that no text uses are left out. Raises nothing; see :func:`check`.
    """
    turns = tuple(well_formed(turn) for turn in body.turns)
    used = variables_of(replace(body, turns=turns)) if kind != "preset" else ()
    config = _clean_config(body.config) if body.config else None
    return Body(
        turns=turns if kind != "preset" else (),
        variables=tuple(_clean_variable(variable) for variable in used),
        config=config if kind == "preset" else None,
        about=well_formed(" ".join(body.about.split())),
    )


def _clean_config(config: Config) -> Config:
    told = json.dumps(CONFIG.dump_python(config), ensure_ascii=False, default=list)
    return CONFIG.validate_json(well_formed(told))


def _clean_variable(variable: Variable) -> Variable:
    choices = dict.fromkeys(well_formed(" ".join(choice.split())) for choice in variable.choices)
    return Variable(
        name=_plain(variable.name),
        kind=variable.kind,
        default=well_formed(variable.default),
        choices=tuple(choice for choice in choices if choice) if variable.kind == "choice" else (),
        ask=well_formed(" ".join(variable.ask.split())),
    )


def check(kind: Kind, body: Body) -> None:
    """Raises ``UserError`` for a body that could not be used: says what, and what helps."""
    if kind == "preset":
        if body.config is None or not body.config.provider or not body.config.model:
            raise UserError("A preset needs a provider and a model.", hint="Choose both.")
        return
    if not body.turns or not all(turn.strip() for turn in body.turns):
        blank = next((n for n, turn in enumerate(body.turns, 1) if not turn.strip()), 1)
        where = f"Turn {blank}" if kind == "conversation" and body.turns else "The text"
        raise UserError(f"{where} is empty.", hint="Write something, or remove it.")
    _check_sizes(kind, body)
    for variable in variables_of(body):
        _check_variable(variable)


def _check_sizes(kind: Kind, body: Body) -> None:
    most = _FEW.get(kind, MOST_TURNS)
    for count, allowed, what in (
        (len(body.turns), most, "turns"),
        (len(names_in(body.turns)), MOST_VARIABLES, "variables"),
        (max(map(len, body.turns)), MOST_CHARACTERS, "characters in one text"),
        (len(body.about), MOST_OF_A_LINE, "characters in its description"),
    ):
        if count > allowed:
            raise UserError(
                f"It has {count:,} {what}; {allowed:,} fit.", hint="Make it smaller, or two of it."
            )


def _check_variable(variable: Variable) -> None:
    name = variable.label
    if variable.kind == "choice" and not variable.choices:
        raise UserError(f"{name} has nothing to choose from.", hint="Write its choices.")
    if len(variable.choices) > MOST_CHOICES:
        raise UserError(f"{name} has more than {MOST_CHOICES} choices.", hint="Take some away.")
    longest = max(map(len, (variable.ask, *variable.choices)))
    if longest > MOST_OF_A_LINE or len(variable.default) > MOST_CHARACTERS:
        raise UserError(f"The words of {name} are too long.", hint="Shorten them.")
    if variable.default.strip() and (trouble := _misfit(variable, variable.default)):
        raise UserError(f"The default of {name} does not fit: {trouble}.", hint="Change it.")


# --- as words ----------------------------------------------------------------------------------


def as_text(kind: Kind, body: Body) -> str:
    """All that a body says, for reading, searching and comparing versions."""
    lines = [body.about, ""] if body.about else []
    if body.config is not None:
        lines += [f"Provider: {body.config.provider}", f"Model: {body.config.model}"]
        lines += [f"{name}: {value}" for name, value in sorted(body.config.sampling.items())]
        lines += [f"Context policy: {body.config.policy}", "System prompt:", body.config.system]
    for number, turn in enumerate(body.turns, 1):
        lines += [f"Turn {number}", turn, ""] if kind == "conversation" else [turn, ""]
    lines += [_told(variable) for variable in variables_of(body)]
    return "\n".join(lines).strip() + "\n"


def _told(variable: Variable) -> str:
    more = [f"choices {' | '.join(variable.choices)}"] if variable.choices else []
    more += [f"default {variable.default}"] if variable.default else []
    more += [f"asks {variable.ask}"] if variable.ask else []
    return f"{{{{{variable.name}}}}}: " + ", ".join([variable.kind, *more])


def matches(item_words: Iterable[str], query: str) -> bool:
    """Whether every word of a query is somewhere in an item's words."""
    told = "\n".join(item_words).casefold()
    return all(word in told for word in query.casefold().split())
