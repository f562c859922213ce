"""Whether an answer is JSON of a schema. Pure.

A schema may have come with a file from anywhere: it is checked against a clock, and fetches
nothing from an address.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import regex
from jsonschema import ValidationError, validators
from jsonschema.exceptions import best_match
from referencing import Registry
from referencing.exceptions import Unresolvable

from core.types import Json

PATIENCE = 1.0
"""Seconds that one pattern, or one schema, may look at one answer."""
Said = tuple[bool | None, str]
"""Whether an answer passes, None where that cannot be told; and why."""
Rule = Callable[[Any, Any, Any, Any], Any]
"""How a keyword of a schema is checked: what it finds wrong, or None."""
_FENCE = regex.compile(r"```[\w-]*[ \t]*\n(.*?)\n?```", regex.DOTALL)
_LATEST = validators.Draft202012Validator
_SHOWN = 60  # characters of words that are quoted


def short(text: str, longest: int = _SHOWN) -> str:
    """The beginning of a text, in one line."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def json_of(text: str) -> Json:
    """The JSON that an answer is: all of it, or its one fenced block. Raises ``ValueError``."""
    try:
        return json.loads(text)
    except ValueError:
        blocks = _FENCE.findall(text, timeout=PATIENCE)
        if len(blocks) != 1:
            raise
        return json.loads(blocks[0])


def look_over(body: Mapping[str, Any]) -> None:
    """Raise ``ValueError``, ``TypeError`` or ``SchemaError`` for a schema that cannot be used."""
    schema = _schema(body)
    validators.validator_for(schema, default=_LATEST).check_schema(schema)


def said_of(body: Mapping[str, Any], text: str) -> Said:
    """Whether an answer is JSON of the schema in ``body``. Raises as :func:`look_over` does."""
    try:
        value = json_of(text)
    except ValueError as error:
        return False, f"It is not JSON: {error}"
    schema = _schema(body)
    kind = validators.validator_for(schema, default=_LATEST)
    patient = validators.extend(kind, _patient(kind.VALIDATORS))  # type: ignore[no-untyped-call]
    try:
        # An empty registry: a schema may refer to itself, and to no address.
        found = patient(_of_one_draft(schema), registry=Registry()).iter_errors(value)
        wrong = best_match(found)
    except TimeoutError:
        return None, f"The schema took longer than {PATIENCE:g} s."
    except Unresolvable as error:
        return None, f"The schema refers to what is not in it: {error}"
    except RecursionError:
        return None, "The schema refers to itself without end."
    if wrong is None:
        return True, ""
    where = "".join(f"[{part!r}]" for part in wrong.absolute_path)
    return False, short(f"{where} {wrong.message}".strip(), 160)


def _schema(body: Mapping[str, Any]) -> Any:
    schema = body.get("schema", {})
    schema = json.loads(schema) if isinstance(schema, str) else schema
    if not isinstance(schema, dict | bool):
        raise TypeError("A schema is a JSON object.")
    return schema


def _patient(rules: Mapping[str, Rule]) -> dict[str, Rule]:
    """The rules of a draft, against a clock: a schema may ask for any amount of work."""
    end = time.monotonic() + PATIENCE

    def timed(rule: Rule) -> Rule:
        def ruled(validator: Any, asked: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
            for wrong in rule(validator, asked, value, schema) or ():
                yield wrong
                if time.monotonic() > end:
                    raise TimeoutError
            if time.monotonic() > end:
                raise TimeoutError

        return ruled

    own: dict[str, Rule] = {
        "pattern": _pattern,
        "patternProperties": _pattern_properties,
        "uniqueItems": _unique_items,
    }
    return {name: timed(rule) for name, rule in (dict(rules) | own).items()}


def _of_one_draft(schema: Any) -> Any:
    """A schema without the names of drafts within it: each would bring rules without a clock."""
    if isinstance(schema, list):
        return [_of_one_draft(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {k: v for k, v in schema.items() if not (k == "$schema" and isinstance(v, str))}
    return {name: _of_one_draft(value) for name, value in kept.items()}


def _unique_items(_: Any, wanted: Any, value: Any, __: Any) -> Iterator[ValidationError]:
    # Of its own: the library compares each with each.
    if wanted is True and isinstance(value, list):
        told = [_told_apart(one) for one in value]
        if len(set(told)) < len(told):
            yield ValidationError("The items are not all different.")


def _told_apart(value: Json) -> str:
    """Alike for values that JSON schema takes for equal: 1 and 1.0, but not 1 and true."""
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(k)}:{_told_apart(value[k])}' for k in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_told_apart, value))}]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)


def _pattern(_: Any, pattern: str, value: Any, __: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not regex.search(pattern, value, timeout=PATIENCE):
        yield ValidationError(f"{short(value)!r} does not match {pattern!r}")


def _pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, __: Any
) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    for pattern, schema in patterns.items():
        for name, item in value.items():
            if regex.search(pattern, name, timeout=PATIENCE):
                yield from validator.descend(item, schema, path=name, schema_path=pattern)
