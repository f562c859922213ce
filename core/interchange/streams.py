"""JSON, JSON lines and text out of a source, a value at a time, with the place of every fault."""

import codecs
import io
import json
import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from hashlib import sha256

from core.errors import BadFile
from core.interchange import deep
from core.types import Carried, Damaged, Json, Source

MOST_OF_ONE = 128 * 2**20
"""Characters of one conversation: what has to be in memory at a time."""
MOST_OF_A_LINE = 128 * 2**20
_PIECE = 2**20
_TAIL = 32
_BLANK = re.compile(r"\s*")
_ENDS = "the list has no end"
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FAULTS = (KeyError, TypeError, ValueError, AttributeError, IndexError, RecursionError)


class _Values:
    """JSON values in a text that is read piece by piece; one of them is in memory at a time.

    Whether a value is broken or only not read to its end yet, the place of the error tells: what
    is cut off fails at the end of what was read, or in a string that nobody closed.
    """

    def __init__(self, source: Source) -> None:
        self._source, self._stream = source, text_stream(source)
        self._text = ""
        self._at = self._before = 0
        self.ended = False
        self._decoder = json.JSONDecoder(strict=False)

    @property
    def place(self) -> int:
        """Characters before the one that is looked at."""
        return self._before + self._at

    def look(self) -> str:
        """The next character that is not blank; nothing at the end."""
        while True:
            self._at = _BLANK.match(self._text, self._at).end()  # type: ignore[union-attr]
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def skip(self) -> None:
        """Go on past the character that :meth:`look` saw."""
        self._at += 1

    def value(self) -> Json:
        """The value that begins here. Raises ``ValueError`` or ``RecursionError``."""
        while True:
            try:
                found, self._at = self._decode()
            except json.JSONDecodeError as error:
                if not self.cut(error) or not self._more():
                    raise
            else:
                return found

    def _decode(self) -> tuple[Json, int]:
        try:
            return self._decoder.raw_decode(self._text, self._at)
        except RecursionError:
            return deep.decode(self._text, self._at)

    def cut(self, error: Exception) -> bool:
        """Whether this is the error of a value that is not there to its end."""
        if not isinstance(error, json.JSONDecodeError):
            return str(error) == _ENDS
        return error.msg.startswith("Unterminated") or error.pos > len(self._text) - _TAIL

    def close(self) -> None:
        """Close the source."""
        self._stream.close()

    def _more(self) -> bool:
        """Read on, twice as much each time; False at the end."""
        if self.ended:
            return False
        if len(self._text) - self._at > MOST_OF_ONE:
            raise BadFile(
                f"{self._source.name} has a conversation of more than {MOST_OF_ONE // 2**20} MB"
                f" (from character {self.place:,}).",
                hint="Split the file; nothing past this place was read.",
            )
        piece = self._stream.read(max(_PIECE, len(self._text) - self._at))
        self.ended = not piece
        self._text, self._before = self._text[self._at :] + piece, self._before + self._at
        self._at = 0
        return bool(piece)


def items(source: Source, under: str = "") -> Iterator[tuple[str, Json]]:
    """The conversations of a JSON file: those of a list, one alone, or one after another, each
    with its place (``conversations.json, conversation 12``). ``under`` is the key of the list,
    where an object is wrapped around it.

    Raises ``BadFile`` where the JSON breaks off; what came before it has been yielded.
    """
    values = _Values(source)
    count = 0
    try:
        if under:
            _unwrap(values, under)
        in_list = values.look() == "["
        if in_list:
            values.skip()
        while (char := values.look()) and char != "]":
            if char == ",":
                values.skip()
                continue
            value = values.value()
            count += 1
            yield f"{source.name}, conversation {count:,}", value
        if in_list and not char:
            raise ValueError(_ENDS)  # noqa: TRY301 - one place tells of every fault
    except (ValueError, RecursionError) as error:
        raise _broken(source, values, count, error) from error
    finally:
        values.close()


def _unwrap(values: _Values, key: str) -> None:
    """Go to the list under a key of the object that begins here. Raises ``ValueError``."""
    values.look()
    values.skip()
    while values.look() == '"':
        found = values.value()
        if values.look() == ":":
            values.skip()
        if values.look() == "[" and found == key:
            return
        values.value()
        if values.look() == ",":
            values.skip()
    raise ValueError(f"there is no list under {key!r}")


def _broken(source: Source, values: _Values, count: int, error: Exception) -> BadFile:
    """The JSON of a source ends or breaks: where, and what was read before."""
    if isinstance(error, RecursionError):
        what = "is nested more deeply than any export"
    elif values.cut(error):
        what = "ends in the middle"
    else:
        what = f"is not JSON any more ({_first_line(error)})"
    before = f" {count:,} before it could be read." if count else ""
    return BadFile(
        f"{source.name} {what}, in conversation {count + 1:,}, at or after character"
        f" {values.place:,}.{before}",
        hint="Export it again where it is from, or go on with what could be read.",
    )


def whole(source: Source) -> Json:
    """The one value of a JSON file. Raises ``BadFile``."""
    for _, value in items(source):
        return value
    raise BadFile(f"{source.name} is empty.", hint="Choose another file.")


def lines(source: Source) -> Iterator[tuple[str, str]]:
    """Every line that is not blank, with its place (``chat.jsonl, line 12``). Raises ``BadFile``
    for one that is too long."""
    for number, line in enumerate(_lines(text_stream(source), source), start=1):
        if line.strip():
            yield f"{source.name}, line {number:,}", line


def json_lines(source: Source) -> Iterator[tuple[str, Json | Damaged]]:
    """Every line's value with its place; a :class:`Damaged` for a line that is no JSON."""
    for place, line in lines(source):
        try:
            yield place, _loaded(line)
        except (ValueError, RecursionError) as error:
            deep_one = isinstance(error, RecursionError)
            why = "nested more deeply than any export" if deep_one else _first_line(error)
            yield place, Damaged(place=place, why=why if deep_one else f"not JSON: {why}")


def values(source: Source) -> Iterator[tuple[str, Json | Damaged]]:
    """The values of a file that is JSON or JSON lines, whichever it is: of lines, a broken one
    spoils none but itself. Raises ``BadFile`` as :func:`items` does."""
    lines_of_head = decoded_head(source).lstrip().split("\n")
    if any(line.startswith("{") and _is_value(line) for line in lines_of_head):
        yield from json_lines(source)
    else:
        yield from items(source)


def _loaded(line: str) -> Json:
    """The value of a line, however deep. Raises ``ValueError`` or ``RecursionError``."""
    try:
        return json.loads(line, strict=False)
    except RecursionError:
        found, end = deep.decode(line, 0)
        if line[end:].strip():
            raise json.JSONDecodeError("Extra data", line, end) from None
        return found


def _is_value(line: str) -> bool:
    try:
        _loaded(line)
    except (ValueError, RecursionError):
        return False
    return True


def text_stream(source: Source) -> io.TextIOBase:
    """The source as text, its encoding by its first bytes. Bytes that it does not have become
    half characters, which :func:`core.interchange.growing.grow` replaces and tells of."""
    head = source.head()
    name = next((name for bom, name in _BOMS if head.startswith(bom)), _guess(head))
    # Only UTF-8 has half characters to spare for bytes that are none.
    errors = "surrogateescape" if name.startswith("utf-8") else "replace"
    return io.TextIOWrapper(source.open(), encoding=name, errors=errors, newline=None)


def text(source: Source, most: int = MOST_OF_A_LINE) -> str:
    """All of it as text. Raises ``BadFile`` for more than ``most`` bytes."""
    if source.size > most:
        raise BadFile(
            f"{source.name} is too large for text ({source.size / 2**20:,.0f} MB).",
            hint=f"At most {most // 2**20} MB; split it.",
        )
    with text_stream(source) as stream:
        return stream.read(most)


def each(
    values: Iterator[tuple[str, Json | Damaged]], convert: Callable[[Json], Carried | None]
) -> Iterator[Carried | Damaged]:
    """Convert each value; one that is not as it should be is damaged, and the next goes on.

    ``convert`` returns None for what is no conversation at all: that is told too.
    """
    for place, value in values:
        if isinstance(value, Damaged):
            yield value
            continue
        try:
            found = convert(value)
        except BadFile as error:
            yield Damaged(place=place, why=error.message)
        except _FAULTS as error:
            yield Damaged(place=place, why=f"not as expected: {_named(error)}")
        else:
            yield found or Damaged(place=place, why="there is no conversation in it")


def compact(value: Json) -> str:
    """A value as JSON text for a tool's arguments or its result; text stays as it is."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (RecursionError, ValueError):
        return "(nested too deeply to show)"


def fingerprint(*values: object) -> str:
    """A key for what came without an id: the same content has the same one."""
    return sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()


def decoded_head(source: Source) -> str:
    """The first 64 KiB as text, without a byte order mark."""
    return _decoded(source.head())


@lru_cache(maxsize=4)  # every format looks at the same one
def _decoded(head: bytes) -> str:
    name = next((name for bom, name in _BOMS if head.startswith(bom)), _guess(head))
    return codecs.getincrementaldecoder(name)("replace").decode(head)


def is_json(source: Source) -> bool:
    """Whether the first character could begin JSON of ours: a list or an object."""
    return decoded_head(source).lstrip()[:1] in ("[", "{")


def _guess(head: bytes) -> str:
    """UTF-16 without a mark shows in its zeros; everything else is taken for UTF-8."""
    sample = head[:400]
    if len(sample) >= 4 and sample[1::2].count(0) > len(sample) // 4:
        return "utf-16-le"
    if len(sample) >= 4 and sample[::2].count(0) > len(sample) // 4:
        return "utf-16-be"
    return "utf-8"


def _lines(stream: io.TextIOBase, source: Source) -> Iterator[str]:
    with stream:
        number = 0
        while line := stream.readline(MOST_OF_A_LINE):
            number += 1
            if len(line) >= MOST_OF_A_LINE:
                raise BadFile(
                    f"{source.name}, line {number:,} is longer than {MOST_OF_A_LINE // 2**20} MB.",
                    hint="It is damaged or of another kind; nothing past this line was read.",
                )
            yield line


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__)[:160].rstrip(" .")


def _named(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"there is no {str(error)[:80]}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return _first_line(error)
