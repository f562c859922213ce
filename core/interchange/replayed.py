"""A conversation that is played again elsewhere: what is said in each turn, with which settings,
and what the last answer must pass. Pure."""

import ast
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from core.errors import UserError
from core.types.compared import Check
from core.types.kept import AttachmentRef, Config, Json, well_formed
from core.types.taken import BranchTaken

_SETTINGS: Mapping[str, Mapping[str, str]] = {
    "openai": {
        "max_tokens": "max_output_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
    },
    "anthropic": {
        "max_tokens": "max_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
        "top_k": "top_k",
        "stop_sequences": "stop_sequences",
    },
    "gemini": {
        "max_tokens": "max_output_tokens",
        "temperature": "temperature",
        "top_p": "top_p",
        "top_k": "top_k",
        "seed": "seed",
        "stop": "stop_sequences",
    },
}
_CHAT: Mapping[str, str] = {
    "max_tokens": "max_tokens",
    "temperature": "temperature",
    "top_p": "top_p",
    "frequency_penalty": "frequency_penalty",
    "presence_penalty": "presence_penalty",
    "seed": "seed",
    "stop": "stop",
    "reasoning_effort": "reasoning_effort",
}
SDKS = frozenset(_SETTINGS)
"""The providers that are spoken to with their own SDK; any other as a chat server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """A person's turn as it was sent; ``files`` are the names of what cannot come along."""

    number: int
    text: str
    files: tuple[str, ...] = ()


def turns(taken: BranchTaken) -> list[Said]:
    """What the person said, turn by turn. Raises ``UserError`` where they said nothing."""
    found: list[Said] = []
    for node in taken.nodes:
        if node.role != "user":
            continue
        suffix = node.sent_suffix.strip("\n")
        files = [part.name for part in node.parts if isinstance(part, AttachmentRef)]
        text = well_formed(f"{node.text}\n\n{suffix}" if suffix else node.text)
        found.append(Said(number=len(found) + 1, text=text, files=tuple(files)))
    if not any(one.text.strip() for one in found):
        raise UserError(
            "There is nothing to play again: nobody said anything on this branch.",
            hint="Choose another branch.",
        )
    return found


def system_of(taken: BranchTaken) -> str:
    """The system text as it is sent."""
    return well_formed(taken.system or taken.config.system).strip()


def settings(config: Config, provider: str) -> tuple[dict[str, Json], list[str]]:
    """The settings under the names that a provider's SDK has for them, and those it has none for.
    Any provider but those of :data:`SDKS` is a chat server."""
    names = _SETTINGS.get(provider, _CHAT)
    known = {names[one]: value for one, value in config.sampling.items() if one in names}
    return known, [one for one in config.sampling if one not in names]


# --- checks -------------------------------------------------------------------------------------


def body_of(check: Check) -> Mapping[str, Any]:
    """What a check asks for."""
    return check.body if isinstance(check.body, Mapping) else {}


def name_of(check: Check) -> str:
    """A check in a few words."""
    body = body_of(check)
    match check.kind:
        case "contains":
            said = f"contains {body.get('text', '')}"
        case "regex":
            said = f"matches {body.get('pattern', '')}"
        case "schema":
            said = "is JSON of the schema"
        case "length":
            said = f"has {_bounds(body)} {body.get('unit', 'words')}"
        case "number":
            said = f"says the number {body.get('value')}"
        case "forbidden":
            said = f"never says {', '.join(phrases(body))}"
        case "expression":
            said = f"{body.get('text', '')}"
    line = " ".join(well_formed(said).split())
    return f"{line[:79]}…" if len(line) > 80 else line


def _bounds(body: Mapping[str, Any]) -> str:
    least, most = body.get("least"), body.get("most")
    if least is None:
        return f"at most {most}" if most is not None else "any number of"
    return f"at least {least}" if most is None else f"{least} to {most}"


def phrases(body: Mapping[str, Any]) -> list[str]:
    """What may not be said."""
    given = body.get("phrases", [])
    lines = given.splitlines() if isinstance(given, str) else [str(one) for one in given]
    return [line.strip() for line in lines if line.strip()]


# --- expressions --------------------------------------------------------------------------------

NAMES = ("text", "words", "chars", "lines", "numbers", "json")
"""What an expression may speak of."""
_CONSTANTS = {"true": True, "false": False, "null": None}
_FUNCTIONS = frozenset({"len", "min", "max", "sum", "abs", "round", "lower", "count"})
_LONGEST = 500
_NODES = (
    ast.Expression,
    ast.BoolOp,
    ast.And,
    ast.Or,
    ast.BinOp,
    ast.Add,
    ast.Sub,
    ast.Mult,
    ast.Div,
    ast.FloorDiv,
    ast.Mod,
    ast.UnaryOp,
    ast.Not,
    ast.USub,
    ast.UAdd,
    ast.Compare,
    ast.Eq,
    ast.NotEq,
    ast.Lt,
    ast.LtE,
    ast.Gt,
    ast.GtE,
    ast.In,
    ast.NotIn,
    ast.Is,
    ast.IsNot,
    ast.Call,
    ast.Name,
    ast.Load,
    ast.Constant,
    ast.IfExp,
    ast.Subscript,
    ast.Slice,
)


def python_of(expression: str) -> str | None:
    """An expression of a check as Python that can do nothing but compute; None for one that holds
    anything else. It may have come with a file from anywhere, and will run on somebody's machine.
    """
    text = expression.strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        tree = ast.parse(text, mode="eval")
        found = list(ast.walk(tree))
        if not all(_harmless(node) for node in found):
            return None
        called = {id(node.func) for node in found if isinstance(node, ast.Call)}
        named = [node for node in found if isinstance(node, ast.Name) and id(node) not in called]
        if not all(node.id in NAMES or node.id in _CONSTANTS for node in named):
            return None
        return ast.unparse(ast.fix_missing_locations(_Constants().visit(tree)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _harmless(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        return (
            isinstance(node.func, ast.Name)
            and node.func.id in _FUNCTIONS
            and not node.keywords
            and not any(isinstance(one, ast.Starred) for one in node.args)
        )
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, str | int | float)
    return isinstance(node, _NODES)


class _Constants(ast.NodeTransformer):
    """Puts Python's own words for true, false and null."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name, or what it stands for."""
        if node.id in _CONSTANTS:
            return ast.Constant(_CONSTANTS[node.id])
        return node


# --- literals -----------------------------------------------------------------------------------


def json_text(value: Json) -> str:
    """JSON on one line that YAML reads the same."""
    told = json.dumps(value, ensure_ascii=False)
    return "".join(f"\\u{ord(one):04x}" if _odd(one) else one for one in told)


def _odd(one: str) -> bool:
    """Characters that YAML wants escaped, and that editors do not show."""
    code = ord(one)
    return 0x7F <= code <= 0x9F or code in (0x2028, 0x2029, 0xFEFF, 0xFFFE, 0xFFFF)


def python_text(value: Json) -> str:
    """A value as Python writes it, in ASCII but for letters and signs that can be seen."""
    return repr(value)


def listed(names: Sequence[str]) -> str:
    """Names in a row."""
    return ", ".join(" ".join(name.split()) for name in names)
