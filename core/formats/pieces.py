"""The pieces of an answer alone: its code blocks as files of their language, its tables as CSV.

One piece is one file; several are a zip archive, in the order they stand in the answer.
"""

import csv
import io
import re
import zipfile
from collections.abc import Iterator, Mapping

from core.errors import UserError
from core.interchange.blocks import Block, blocks, plain
from core.interchange.cells import is_formula
from core.types import AnswerTaken, Include, Scope, well_formed

_ENDINGS: Mapping[str, str] = {
    "python": "py", "py": "py", "python3": "py", "javascript": "js", "js": "js", "jsx": "jsx",
    "typescript": "ts", "ts": "ts", "tsx": "tsx", "bash": "sh", "sh": "sh", "shell": "sh",
    "zsh": "sh", "console": "txt", "powershell": "ps1", "json": "json", "jsonc": "json",
    "jsonl": "jsonl", "yaml": "yaml", "yml": "yaml", "toml": "toml", "ini": "ini", "html": "html",
    "css": "css", "scss": "scss", "sql": "sql", "markdown": "md", "md": "md", "java": "java",
    "c": "c", "cpp": "cpp", "c++": "cpp", "h": "h", "csharp": "cs", "cs": "cs", "c#": "cs",
    "go": "go", "golang": "go", "rust": "rs", "rs": "rs", "ruby": "rb", "rb": "rb", "php": "php",
    "swift": "swift", "kotlin": "kt", "kt": "kt", "scala": "scala", "r": "r", "lua": "lua",
    "perl": "pl", "haskell": "hs", "dart": "dart", "xml": "xml", "svg": "svg", "csv": "csv",
    "diff": "diff", "patch": "patch", "latex": "tex", "tex": "tex", "mermaid": "mmd",
    "dockerfile": "dockerfile", "makefile": "mk", "graphql": "graphql", "vue": "vue",
}  # fmt: skip
_NAMED = re.compile(r"(?:title|file|filename|name)=[\"']?([^\"'\s]+)|(?:^|\s)([\w./-]+\.\w{1,8})$")
_UNSAFE = re.compile(r"[^\w.-]+")
_FIGURE = re.compile(r"[-+]?[\d.,\s%€$£()]+")
_BYTE_ORDER_MARK = "\ufeff"  # without it spreadsheets take UTF-8 for something older
_MADE = (1980, 1, 1, 0, 0, 0)  # the same answer gives the same bytes
Piece = tuple[str, bytes]


class Pieces:
    """Code and tables, without the words around them."""

    name = "pieces"
    label = "Code and tables"
    scopes: frozenset[Scope] = frozenset({"answer"})
    ending = "zip"
    media_type = "application/zip"
    options = frozenset({"pieces"})

    def write(self, taken: AnswerTaken, include: Include) -> bytes:
        """The one piece, or an archive of several. Raises ``UserError`` where there is none."""
        found = _found(taken, include)
        if len(found) == 1:
            return found[0][1]
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            for name, content in found:
                member = zipfile.ZipInfo(name, _MADE)
                member.compress_type = zipfile.ZIP_DEFLATED
                archive.writestr(member, content)
        return packed.getvalue()

    def kind_of(self, taken: AnswerTaken, include: Include) -> tuple[str, str]:
        """The ending and media type of what :meth:`write` gives. Raises as it does."""
        found = _found(taken, include)
        if len(found) > 1:
            return self.ending, self.media_type
        ending = found[0][0].rpartition(".")[2]
        return ending, "text/csv" if ending == "csv" else "text/plain"


FORMAT = Pieces()


def _found(taken: AnswerTaken, include: Include) -> list[Piece]:
    """The pieces that are wanted, each under a name of its own."""
    kinds = {"all": ("code", "table"), "code": ("code",), "tables": ("table",)}[include.pieces]
    found = [block for block in blocks(taken.text) if block.kind in kinds]
    if not found:
        what = {"all": "neither code nor a table", "code": "no code", "tables": "no table"}
        raise UserError(
            f"There is {what[include.pieces]} in this answer.", hint="Export all of it instead."
        )
    return list(_pieces(found))


def _pieces(found: list[Block]) -> Iterator[Piece]:
    count = {"code": 0, "table": 0}
    taken: set[str] = set()
    for block in found:
        count[block.kind] += 1
        number = count[block.kind]
        if block.kind == "table":
            name, content = f"table-{number}.csv", _csv(block)
        else:
            name = _named(block.info) or f"code-{number}.{_ending(block.info)}"
            content = _whole(block.text).encode()
        if name.lower() in taken:
            name = f"{number}-{name}"
        taken.add(name.lower())
        yield name, content


def _whole(text: str) -> str:
    text = well_formed(text)
    return text if text.endswith("\n") or not text else text + "\n"


def _ending(info: str) -> str:
    """The ending of a language's files; of one that nobody knows it is text."""
    word = re.split(r"[\s{,:]", info.strip().lower(), maxsplit=1)[0]
    return _ENDINGS.get(word, "txt")


def _named(info: str) -> str:
    """The file name that the fence gives, without any folder."""
    found = _NAMED.search(info)
    if found is None:
        return ""
    name = _UNSAFE.sub("-", re.split(r"[/\\]", found[1] or found[2])[-1]).strip(".-")
    return name[:80] if "." in name else ""


def _csv(block: Block) -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\r\n")
    writer.writerows([_cell(plain(cell)) for cell in row] for row in block.rows)
    return (_BYTE_ORDER_MARK + well_formed(written.getvalue())).encode()


def _cell(words: str) -> str:
    """A cell such that no spreadsheet takes it for a formula; figures stay figures."""
    if is_formula(words) and not _FIGURE.fullmatch(words):
        return f"'{words}"
    return words
