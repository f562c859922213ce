"""Checks: tests of an answer that need no model. Pure: a check and a text make a result.

What a check holds may have come with a file from anywhere: patterns run against a clock,
expressions know no attribute and no loop, and no schema fetches another from an address.
"""

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import regex
from jsonschema import SchemaError
from simpleeval import InvalidExpression, SimpleEval, safe_add, safe_mult

from core.schemas import PATIENCE, Said, json_of, look_over, said_of, short
from core.types import Check, CheckKind, Json

NUMBER = regex.compile(r"(?<![\w.,])[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?")
_LONGEST = 500  # characters of an expression
_HIGHEST = 1e6  # of a base, and of what it is raised to: numbers stay numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a check says of a text. ``passed`` is None where it could not be made; ``why`` tells
    in a few words."""

    check: Check
    passed: bool | None
    why: str = ""

    @property
    def name(self) -> str:
        """The check in words."""
        return described(self.check.kind, self.check.body)


def results(checks: Sequence[Check], text: str) -> list[Result]:
    """What each check says of an answer. Never raises: a check that fails to run says so."""
    return [_result(check, text) for check in checks]


def _result(check: Check, text: str) -> Result:
    try:
        passed, why = _KINDS[check.kind](_body(check.body), text)
    except TimeoutError:
        passed, why = None, f"The pattern took longer than {PATIENCE:g} s."
    except Exception as error:  # noqa: BLE001 - a check is a person's own, and may be anything
        passed, why = None, short(f"{type(error).__name__}: {error}", 200)
    return Result(check=check, passed=passed, why=why)


def trouble(kind: CheckKind, body: Json) -> str:
    """What is wrong with a check before it is kept; empty when nothing is."""
    known = _body(body)
    try:
        if kind == "regex":
            regex.compile(str(known.get("pattern", "")))
        elif kind == "schema":
            look_over(known)
        elif kind == "expression":
            ast.parse(_expression(known), mode="eval")
        elif kind == "number":
            float(known["value"])
        elif kind == "length" and operator.gt(*_ends(known)):
            return "At least is more than at most."
    except (regex.error, SchemaError, ValueError, SyntaxError, KeyError, TypeError) as error:
        return short(str(getattr(error, "message", error)), 200)
    except (RecursionError, MemoryError):
        return "It is nested too deeply."
    return "" if _asks(kind, known) else "There is nothing to check."


def _asks(kind: CheckKind, body: Mapping[str, Any]) -> bool:
    if kind == "length":
        return body.get("least") is not None or body.get("most") is not None
    if kind == "forbidden":
        return bool(_phrases(body))
    needed = {"contains": "text", "regex": "pattern", "expression": "text"}.get(kind)
    return needed is None or bool(str(body.get(needed, "")).strip())


def described(kind: CheckKind, body: Json) -> str:
    """A check in words."""
    known = _body(body)
    match kind:
        case "contains":
            return f"contains “{short(str(known.get('text', '')))}”"
        case "regex":
            return f"matches {short(str(known.get('pattern', '')))}"
        case "schema":
            return "is JSON of the schema"
        case "length":
            return f"{_bounds(known)} {known.get('unit', 'words')}"
        case "number":
            near = known.get("tolerance")
            return f"says {_plain(known.get('value'))}{f' ± {_plain(near)}' if near else ''}"
        case "forbidden":
            return f"never says {', '.join(f'“{short(one)}”' for one in _phrases(known))}"
        case "expression":
            return short(str(known.get("text", "")))


# --- the kinds ----------------------------------------------------------------------------------


def _contains(body: Mapping[str, Any], text: str) -> Said:
    wanted = str(body.get("text", ""))
    if not body.get("case"):
        wanted, text = wanted.casefold(), text.casefold()
    found = wanted in text
    return found, "" if found else "It is not there."


def _regex(body: Mapping[str, Any], text: str) -> Said:
    found = regex.search(str(body.get("pattern", "")), text, timeout=PATIENCE)
    return bool(found), f"“{short(found[0])}”" if found else "Nothing matches."


def _length(body: Mapping[str, Any], text: str) -> Said:
    unit = body.get("unit", "words")
    size = len(text) if unit == "chars" else len(text.split())
    least, most = body.get("least"), body.get("most")
    fits = (least is None or size >= least) and (most is None or size <= most)
    return fits, f"{size:,} {unit}"


def _ends(body: Mapping[str, Any]) -> tuple[float, float]:
    least, most = body.get("least"), body.get("most")
    return (-math.inf if least is None else least), (math.inf if most is None else most)


def _bounds(body: Mapping[str, Any]) -> str:
    least, most = body.get("least"), body.get("most")
    if least is None:
        return f"at most {_plain(most)}" if most is not None else "any number of"
    return f"at least {_plain(least)}" if most is None else f"{_plain(least)} to {_plain(most)}"


def _plain(value: Any) -> str:
    """A number as people write it; anything else as it is."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return short(str(value))
    return f"{value:,}" if isinstance(value, int) else f"{value:,.12g}"


def _number(body: Mapping[str, Any], text: str) -> Said:
    value, near = float(body["value"]), abs(float(body.get("tolerance") or 0))
    found = numbers_in(text)
    if not found:
        return False, "There is no number."
    closest = min(found, key=lambda one: abs(one - value))
    # A little room for what decimals cannot hold: 0.1 + 0.2.
    passed = math.isclose(closest, value, rel_tol=1e-9, abs_tol=near + 1e-12)
    return passed or abs(closest - value) <= near, f"The closest is {_plain(closest)}."


def _forbidden(body: Mapping[str, Any], text: str) -> Said:
    said = [phrase for phrase in _phrases(body) if _says(text, phrase)]
    return not said, ", ".join(f"“{short(one)}”" for one in said)


def _says(text: str, phrase: str) -> bool:
    """Whether a phrase is said, as whole words, in any case and however it is spaced."""
    words = r"\s+".join(regex.escape(word) for word in phrase.split())
    before = r"(?<!\w)" if phrase.strip()[:1].isalnum() else ""
    after = r"(?!\w)" if phrase.strip()[-1:].isalnum() else ""
    return bool(regex.search(before + words + after, text, regex.IGNORECASE, timeout=PATIENCE))


def _phrases(body: Mapping[str, Any]) -> list[str]:
    given = body.get("phrases", [])
    lines = given.splitlines() if isinstance(given, str) else [str(one) for one in given]
    return [line.strip() for line in lines if line.strip()]


# --- expressions --------------------------------------------------------------------------------


def _expression_check(body: Mapping[str, Any], text: str) -> Said:
    names = _names(text)
    asked = SimpleEval(
        operators=_OPERATORS, functions=dict(_FUNCTIONS), names=lambda node: _named(names, node.id)
    )
    # No attributes: a method of a text can make another one of any size.
    for kind in (ast.Attribute, ast.JoinedStr, ast.FormattedValue):
        asked.nodes.pop(kind, None)
    try:
        said = asked.eval(_expression(body))
    except (InvalidExpression, SyntaxError) as error:
        return None, short(str(error), 160)
    return bool(said), "" if isinstance(said, bool) else short(repr(said))


def _expression(body: Mapping[str, Any]) -> str:
    text = str(body.get("text", "")).strip()
    if len(text) > _LONGEST:
        raise ValueError(f"An expression of more than {_LONGEST} characters is not read.")
    return text


def _names(text: str) -> dict[str, Callable[[], Any]]:
    """What an expression may speak of; each is worked out when it is named."""
    return {
        "text": lambda: text,
        "words": lambda: len(text.split()),
        "chars": lambda: len(text),
        "lines": lambda: len(text.splitlines()),
        "numbers": lambda: numbers_in(text),
        "json": lambda: json_of(text),
        "true": lambda: True,
        "false": lambda: False,
        "null": lambda: None,
    }


def _named(names: Mapping[str, Callable[[], Any]], name: str) -> Any:
    if name not in names:
        raise InvalidExpression(
            f"There is no {name!r}: use text, words, chars, lines, numbers, json."
        )
    return names[name]()


def numbers_in(text: str) -> list[float]:
    """Every number in a text; "1,234.5" is one."""
    plain = (found[0].replace(",", "").replace("−", "-") for found in NUMBER.finditer(text))
    return [value for one in plain if math.isfinite(value := float(one))]


def _of_numbers(act: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The same for numbers only: "%" would fill in a text, of any width."""

    def made(left: Any, right: Any) -> Any:
        for one in (left, right):
            if not isinstance(one, int | float) or abs(one) > 1e300:
                raise InvalidExpression("This works on numbers only.")
        return act(left, right)

    return made


def _power(base: float, exponent: float) -> float:
    if abs(base) > _HIGHEST or abs(exponent) > 100:
        raise InvalidExpression("The power is too high.")
    return math.pow(base, exponent)


def _count(part: str, text: Any) -> int:
    return int(text.count(part))


_OPERATORS: dict[type, Callable[..., Any]] = {
    ast.Add: safe_add,
    ast.Sub: _of_numbers(operator.sub),
    ast.Mult: safe_mult,
    ast.Div: _of_numbers(operator.truediv),
    ast.FloorDiv: _of_numbers(operator.floordiv),
    ast.Mod: _of_numbers(operator.mod),
    ast.Pow: _of_numbers(_power),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.In: lambda part, whole: operator.contains(whole, part),
    ast.NotIn: lambda part, whole: not operator.contains(whole, part),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "len": len,
    "min": min,
    "max": max,
    "sum": sum,
    "abs": abs,
    "round": round,
    "lower": lambda text: str(text).lower(),
    "count": _count,
}


def _body(body: Json) -> Mapping[str, Any]:
    return body if isinstance(body, dict) else {}


_KINDS: Mapping[CheckKind, Callable[[Mapping[str, Any], str], Said]] = {
    "contains": _contains,
    "regex": _regex,
    "schema": said_of,
    "length": _length,
    "number": _number,
    "forbidden": _forbidden,
    "expression": _expression_check,
}
