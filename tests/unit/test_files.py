"""What is taken of the files that people attach, and why the rest is not."""

import io
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from core import Store
from core.errors import BadFile, UserError
from core.files import (
    LIMITS,
    MOST_BYTES,
    MOST_BYTES_OF_A_MESSAGE,
    MOST_BYTES_OF_TEXT,
    MOST_FILES,
    MOST_PIXELS,
    PLAIN,
    SMALL,
    Upload,
    attach,
    clean_name,
    decoded,
    heading,
    message,
    read,
    reworded,
    small_picture,
    sort_out,
)
from core.types import AttachmentRef, Text, Thinking, ToolCall
from core.wire.files import kind_of, text_in
from tests.contract.media import CAT, PAPER, PDF, PNG


def picture(kind: str, size: tuple[int, int] = (40, 30), mode: str = "RGB") -> bytes:
    made = io.BytesIO()
    Image.effect_noise(size, 90).convert(mode).save(made, kind)
    return made.getvalue()


def up(content: bytes | None, name: str = "file.bin") -> Upload:
    return Upload(name=name, content=content)


# --- kinds -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (PNG, "image/png"),
        (picture("JPEG"), "image/jpeg"),
        (picture("GIF"), "image/gif"),
        (picture("WEBP"), "image/webp"),
        (picture("PNG", mode="RGBA"), "image/png"),
        (picture("JPEG", mode="CMYK"), "image/jpeg"),
        (PDF, "application/pdf"),
        (b"\r\n" + PDF, "application/pdf"),
        (b"words", PLAIN),
        (b"<svg onload=alert(1)></svg>", PLAIN),
        (b"<!doctype html><script>alert(1)</script>", PLAIN),
        (b"A page about the mark %PDF- in files", PLAIN),
        (b"BM is not only the start of a bitmap", PLAIN),
        (b"\x1b[31mred\x1b[0m\n", PLAIN),
    ],
)
def test_the_bytes_say_what_a_file_is_and_its_name_is_not_believed(
    content: bytes, media_type: str
) -> None:
    for name in ("a.png", "b.html", "c.pdf", "noending"):
        assert read(up(content, name)).media_type == media_type


@pytest.mark.parametrize(
    ("content", "why", "hint"),
    [
        (None, "did not arrive", "again"),
        (b"", "is empty", "another"),
        (b"\xef\xbb\xbf", "is empty", "another"),
        (b"PK\x03\x04\x14\0\0\0 word/document.xml", "an Office document", "PDF"),
        (b"BM6\0\0\0\0\0", "a bitmap", "PNG"),
        (b"RIFF\0\0\0\0WAVEfmt ", "a sound or a film", "images"),
        (b"\0\0\0\x18ftypheic", "not taken", "JPEG"),
        (bytes(range(256)) * 4, "neither", "images"),
        (b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0", "neither", "images"),
        ("Привет, как дела?".encode("cp1251"), "neither", "text"),
        (picture("PNG")[:-300], "is damaged", "anew"),
        (picture("JPEG", (200, 200))[:900], "is damaged", "anew"),
        (picture("WEBP")[:100], "is damaged", "anew"),
        (picture("GIF")[:40], "is damaged", "anew"),
        (b"\x89PNG\r\n\x1a\n", "is damaged", "anew"),
        (b"%PDF-1.7\n1 0 obj", "its end is missing", "again"),
        (PDF.replace(b"/Root", b"/Encrypt 5 0 R/Root"), "encrypted", "without a password"),
        (PDF.replace(b"/Root", b"/Encrypt<</V 4>>/Root"), "encrypted", "without a password"),
    ],
)
def test_what_is_not_taken_says_why_and_what_to_do(
    content: bytes | None, why: str, hint: str
) -> None:
    with pytest.raises(BadFile) as refused:
        read(up(content, "my file.x"))
    assert why in refused.value.message
    assert "“my file.x”" in refused.value.message
    assert hint in refused.value.hint


def test_a_picture_of_too_many_pixels_is_refused_before_it_is_unpacked() -> None:
    header = b"\0\0\0\rIHDR" + (9000).to_bytes(4, "big") * 2 + b"\x08\2\0\0\0"
    crc = zlib.crc32(header[4:]).to_bytes(4, "big")
    assert MOST_PIXELS < 9000**2
    with pytest.raises(BadFile, match="million pixels"):
        read(up(b"\x89PNG\r\n\x1a\n" + header + crc + b"\0\0\0\0IEND\xaeB`\x82"))


# --- limits ------------------------------------------------------------------------------------


def test_the_limits_are_kept_and_stated() -> None:
    read(up(PDF + b"%" * (MOST_BYTES - len(PDF) - 6) + b"\n%%EOF"))
    with pytest.raises(BadFile, match="10 MB"):
        read(up(PDF + b"%" * MOST_BYTES))
    read(up(b"x" * MOST_BYTES_OF_TEXT))
    with pytest.raises(BadFile, match="text may have 2 MB"):
        read(up(b"x" * (MOST_BYTES_OF_TEXT + 1)))
    for number in ("10 files", "10 MB each", "20 MB together", "text up to 2 MB"):
        assert number in LIMITS


def test_what_is_too_much_is_refused_and_the_rest_is_taken() -> None:
    good, bad = sort_out(up(b"%d" % n, f"{n}.txt") for n in range(MOST_FILES + 2))
    assert len(good) == MOST_FILES
    assert ["10.txt" in one.message for one in bad] == [True, False]
    assert all("another message" in one.hint for one in bad)
    good, bad = sort_out(
        [up(b"ab", "no.txt"), up(b"a", "yes.txt")], size=MOST_BYTES_OF_A_MESSAGE - 1
    )
    assert [file.name for file in good] == ["yes.txt"]
    assert "20 MB together" in bad[0].message


def test_one_bad_file_keeps_none_of_the_others_from_being_held(store: Store, main: str) -> None:
    bad = attach(store, main, [up(PNG, "a.png"), up(b"", "b"), up(b"text", "c.txt")])
    assert len(bad) == 1
    assert [file.name for file in store.attachments.pending(main)] == ["a.png", "c.txt"]


# --- text --------------------------------------------------------------------------------------

WORDS = "Grüße – “naïve” Ærøskøbing, 12,50 €\n"


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"]
)
def test_text_is_kept_as_utf_8_whatever_it_came_in(encoding: str) -> None:
    file = read(up(WORDS.encode(encoding), "a.csv"))
    assert file.content == WORDS.encode()
    ref = AttachmentRef(sha256="", media_type=file.media_type, name=file.name)
    assert kind_of(ref, file.content) == "text"


def test_a_stray_nul_is_replaced_and_many_mean_that_it_is_no_text() -> None:
    assert decoded(b"a log\0 with one" + b" line" * 50) == "a log\ufffd with one" + " line" * 50
    assert decoded(b"a\0b\0\0c\0\0\0d") is None


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1))
def test_every_text_in_utf_8_comes_through(text: str) -> None:
    assert decoded(text.encode()) == text.removeprefix("\ufeff")


@given(st.binary(max_size=400))
def test_whatever_is_taken_as_text_an_adapter_can_read(content: bytes) -> None:
    text = decoded(content)
    if text is not None:
        assert text_in(text.encode()) is not None


# --- names and small pictures ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("../../etc/passwd", "passwd"),
        (r"C:\Users\me\a b.txt", "a b.txt"),
        ("a\n\tb\0.txt", "a b.txt"),
        ("harmless\u202etxt.exe", "harmlesstxt.exe"),
        ("", "unnamed"),
        ("dir/", "unnamed"),
        ("x" * 300 + ".png", "x" * 115 + "….png"),
        ("👩‍👩‍👧 café.png", "👩‍👩‍👧 café.png"),
    ],
)
def test_a_name_is_cleaned(name: str, clean: str) -> None:
    assert clean_name(name) == clean


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "GIF", "WEBP"])
def test_a_small_picture_is_small_and_keeps_its_shape(kind: str) -> None:
    small = Image.open(io.BytesIO(small_picture(picture(kind, (1600, 400)))))
    assert small.format == "WEBP"
    assert small.size == (SMALL[0], SMALL[0] // 4)


def test_a_small_picture_stands_upright_and_keeps_clear_what_is_clear() -> None:
    lying = Image.new("RGB", (400, 200))
    exif = Image.Exif()
    exif[0x0112] = 6
    made = io.BytesIO()
    lying.save(made, "JPEG", exif=exif)
    width, height = Image.open(io.BytesIO(small_picture(made.getvalue()))).size
    assert (width, height) == (SMALL[1] // 2, SMALL[1])
    clear = io.BytesIO()
    Image.new("RGBA", (10, 10), (0, 0, 0, 0)).save(clear, "PNG")
    assert Image.open(io.BytesIO(small_picture(clear.getvalue()))).mode == "RGBA"


def test_there_is_no_small_picture_of_words() -> None:
    with pytest.raises(BadFile):
        small_picture(b"words")


# --- messages ----------------------------------------------------------------------------------


def test_files_come_before_the_words_and_blank_words_are_left_out() -> None:
    assert message("look", (CAT,)) == (CAT, Text(text="look"))
    assert message(" \n", (CAT,)) == (CAT,)
    with pytest.raises(UserError, match="nothing to send"):
        message(" ")


def test_other_words_keep_the_files_and_the_tools() -> None:
    call = ToolCall(id="1", name="f", arguments="{}")
    parts = (CAT, Thinking(text="hm"), Text(text="a"), PAPER, Text(text="b"), call)
    assert reworded(parts, "new") == (CAT, PAPER, Text(text="new"), call)
    assert reworded((CAT, Text(text="a")), "") == (CAT,)
    with pytest.raises(UserError, match="nothing to send"):
        reworded((Text(text="a"),), " ")


def test_a_message_is_called_by_its_words_or_its_files() -> None:
    assert heading((CAT, Text(text="look"))) == "look"
    assert heading((CAT, PAPER)) == "cat.png, paper.pdf"
