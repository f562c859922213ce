"""Files in the conversation: attached by picker, drop and paste, seen, kept, and gone for good."""

import base64
import io
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Locator, expect

from core import Config, Session
from core.files import LIMITS
from core.types import AttachmentRef, Text
from tests.browser.desk import Desk, conversation


def picture(colour: str = "teal", size: tuple[int, int] = (320, 200)) -> bytes:
    made = io.BytesIO()
    Image.new("RGB", size, colour).save(made, "PNG")
    return made.getvalue()


def file(name: str, content: bytes, kind: str = "") -> dict[str, Any]:
    return {"name": name, "mimeType": kind, "buffer": content}


CAT = file("cat.png", picture(), "image/png")
NOTES = file("notes.txt", b"line one\nline two", "text/plain")
PAPER = io.BytesIO()
Image.new("RGB", (200, 200), "white").save(PAPER, "PDF")
PDF = file("paper.pdf", PAPER.getvalue(), "application/pdf")
DOCX = file("letter.docx", b"PK\x03\x04\x14\0\0\0word")
EVIL = b"<script>window.evil = 1</script><img src=x onerror='window.evil = 1'>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="window.evil = 1"><rect/></svg>'


@pytest.fixture
def session(desk: Desk) -> Session:
    return conversation(desk.server.store)


@pytest.fixture
def talk(desk: Desk, session: Session) -> Desk:
    desk.open(session)
    expect(desk.page.get_by_role("button", name="Upload files")).to_be_visible()
    return desk


def pick(desk: Desk, *files: dict[str, Any]) -> None:
    """Choose files with the button of the composer."""
    with desk.page.expect_file_chooser() as chooser:
        desk.page.get_by_role("button", name="Upload files").click()
    chooser.value.set_files(list(files))
    for one in files:
        expect(attached(desk, one["name"])).to_be_visible()
    # Enter is not heard before the file is there, and a picture takes a moment.
    expect(desk.page.get_by_test_id("stChatInputSubmitButton")).to_be_enabled()


def attached(desk: Desk, name: str) -> Locator:
    """A file in the composer, not yet sent."""
    return desk.page.get_by_test_id("stFileChip").filter(has_text=name)


def chip(place: Any, name: str) -> Locator:
    return place.get_by_role("button", name=f"Preview {name}", exact=True)


def waiting(desk: Desk) -> Locator:
    return desk.page.get_by_role("group", name="Files for the next message")


def drop(desk: Desk, where: Locator, path: Path) -> None:
    """Drag a file from outside the browser there, and let go."""
    box = where.bounding_box()
    assert box is not None
    told = desk.page.context.new_cdp_session(desk.page)
    dragged = {"items": [], "files": [str(path)], "dragOperationsMask": 1}
    place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
    for kind in ("dragEnter", "dragOver"):
        told.send("Input.dispatchDragEvent", {"type": kind, "data": dragged, **place})
    expect(desk.page.get_by_text("Drag and drop files here")).to_be_visible()
    for kind in ("dragOver", "drop"):
        told.send("Input.dispatchDragEvent", {"type": kind, "data": dragged, **place})


def paste(desk: Desk, one: dict[str, Any]) -> None:
    """Paste a picture into the composer."""
    desk.box.evaluate(
        """(box, [name, type, data]) => {
            const bytes = Uint8Array.from(atob(data), (c) => c.charCodeAt(0));
            const clipboardData = new DataTransfer();
            clipboardData.items.add(new File([bytes], name, { type }));
            const how = { bubbles: true, cancelable: true, composed: true, clipboardData };
            box.dispatchEvent(new ClipboardEvent('paste', how));
        }""",
        [one["name"], one["mimeType"], base64.b64encode(one["buffer"]).decode()],
    )


def parts(desk: Desk, session: Session) -> list[Any]:
    """What the session's first message is made of."""
    store = desk.server.store
    tip = store.branches.of(session.id)[0].tip_id
    return list(store.nodes.lineage(tip)[0].parts)


def shown(picture: Locator) -> bool:
    return bool(picture.evaluate("(image) => image.complete && image.naturalWidth > 0"))


# --- three ways in -----------------------------------------------------------------------------


def test_picked_files_are_sent_shown_and_there_after_a_reload(talk: Desk, session: Session) -> None:
    pick(talk, CAT, PDF, NOTES)
    talk.ask("look at these", "look at these", 1)
    for _ in range(2):
        for name in ("cat.png", "paper.pdf", "notes.txt"):
            expect(chip(talk.you(1), name)).to_be_visible()
        expect(chip(talk.you(1), "cat.png").locator("img[src^='blob:']")).to_be_visible()
        assert shown(chip(talk.you(1), "cat.png").locator("img"))
        expect(chip(talk.you(1), "paper.pdf")).to_contain_text(re.compile(r"PDF · \d"))
        talk.page.reload()
    kinds = [(part.name, part.media_type) for part in parts(talk, session)[:3]]
    assert kinds == [
        ("cat.png", "image/png"),
        ("paper.pdf", "application/pdf"),
        ("notes.txt", "text/plain"),
    ]
    assert parts(talk, session)[3] == Text(text="look at these")


@pytest.mark.parametrize("anywhere", [False, True])
def test_a_file_is_dropped_on_the_composer_or_anywhere(
    talk: Desk, tmp_path: Path, anywhere: bool
) -> None:
    path = tmp_path / "cat.png"
    path.write_bytes(CAT["buffer"])
    drop(talk, talk.tree if anywhere else talk.box, path)
    expect(attached(talk, "cat.png")).to_have_count(1)
    talk.ask("dropped", "dropped", 1)
    expect(chip(talk.you(1), "cat.png")).to_be_visible()


def test_a_picture_is_pasted(talk: Desk, session: Session) -> None:
    talk.box.focus()
    paste(talk, CAT)
    expect(attached(talk, "cat.png")).to_have_count(1)
    talk.ask("pasted", "pasted", 1)
    expect(chip(talk.you(1), "cat.png")).to_be_visible()


def test_a_file_alone_begins_a_session_and_names_it(desk: Desk) -> None:
    desk.open()
    pick(desk, file("only me.txt", b"words"))
    desk.box.press("Enter")
    expect(chip(desk.you(1), "only me.txt")).to_be_visible()
    expect(desk.page.get_by_role("textbox", name="Title")).to_have_value("only me.txt")
    expect(desk.row("only me.txt")).to_be_visible()


def test_the_same_file_twice_is_stored_once(own_desk: Desk) -> None:
    store = own_desk.server.store
    session = conversation(store)
    own_desk.open(session)
    pick(own_desk, CAT)
    own_desk.ask("one", "one", 1)
    pick(own_desk, {**CAT, "name": "again.png"})
    own_desk.ask("two", "two", 2)
    expect(chip(own_desk.you(2), "again.png")).to_be_visible()
    assert len(store.attachments) == 1


# --- previews ----------------------------------------------------------------------------------


def test_a_picture_opens_large_and_escape_closes_it_without_stopping_an_answer(talk: Desk) -> None:
    pick(talk, CAT)
    talk.send("/delay 300\n" + "slow words " * 40)
    expect(talk.live).to_be_visible()
    chip(talk.you(1), "cat.png").click()
    preview = talk.page.get_by_role("dialog", name="Preview of cat.png")
    expect(preview.get_by_role("img", name="cat.png")).to_be_visible()
    assert shown(preview.get_by_role("img", name="cat.png"))
    expect(preview.get_by_role("link", name="Download")).to_have_attribute("download", "cat.png")
    talk.page.keyboard.press("Escape")
    expect(preview).to_have_count(0)
    expect(chip(talk.you(1), "cat.png")).to_be_focused()
    expect(talk.live).to_be_visible()
    talk.page.get_by_role("button", name="Stop").click()


def test_text_is_shown_as_it_is_and_close_closes_it(talk: Desk) -> None:
    pick(talk, NOTES)
    talk.ask("read", "read", 1)
    chip(talk.you(1), "notes.txt").click()
    preview = talk.page.get_by_role("dialog", name="Preview of notes.txt")
    expect(preview.locator("pre")).to_have_text("line one\nline two")
    preview.get_by_role("button", name="Close").click()
    expect(preview).to_have_count(0)


@pytest.mark.parametrize(("name", "content"), [("page.html", EVIL), ("drawing.svg", SVG)])
def test_nothing_in_a_file_ever_runs(talk: Desk, name: str, content: bytes) -> None:
    pick(talk, file(name, content, "image/svg+xml" if name.endswith("svg") else "text/html"))
    talk.ask("hostile", "hostile", 1)
    chip(talk.you(1), name).click()
    preview = talk.page.get_by_role("dialog", name=f"Preview of {name}")
    expect(preview.locator("pre")).to_have_text(content.decode())
    address = preview.get_by_role("link", name="Download").get_attribute("href")
    kind = "async (address) => (await (await fetch(address)).blob()).type"
    assert talk.page.evaluate(kind, address).startswith("text/plain")
    assert talk.page.evaluate("window.evil") is None


def test_a_file_is_given_only_to_our_own_page_and_never_as_a_page(
    talk: Desk, session: Session
) -> None:
    ref = talk.server.store.attachments.add("page.html", "text/html", EVIL)
    address = f"{talk.server.url}api/files/{ref.sha256}"
    assert talk.page.request.get(address).status == 403
    kept: list[dict[str, str]] = []
    talk.page.on("request", lambda request: kept.append(request.headers))
    pick(talk, CAT)
    talk.ask("look", "look", 1)
    expect(chip(talk.you(1), "cat.png").locator("img[src]")).to_be_visible()
    token = next(h["x-turntree-token"] for h in kept if "x-turntree-token" in h)
    answer = talk.page.request.get(address, headers={"x-turntree-token": token})
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]
    assert "immutable" in answer.headers["cache-control"]
    for wrong in (f"{address}?size=thumb", f"{talk.server.url}api/files/unknown"):
        assert talk.page.request.get(wrong, headers={"x-turntree-token": token}).status == 404


def test_small_pictures_are_fetched_only_for_what_is_on_the_screen(desk: Desk) -> None:
    store = desk.server.store
    session = conversation(store)
    runs = [Text(text="word " * 400)]
    from core.branching import new_node

    tip = None
    for number in range(16):
        colour = f"#{number * 9:02x}50{255 - number * 9:02x}"
        ref = store.attachments.add(f"{number}.png", "image/png", picture(colour))
        role = "assistant" if number % 2 else "user"
        tip = store.nodes.add(new_node(session.id, tip, role, (ref, *runs))).id
    store.branches.move(session.current_branch_id or "", tip, why="send")
    asked: list[str] = []
    desk.page.on("request", lambda r: asked.append(r.url) if "size=thumb" in r.url else None)
    desk.open(session)
    expect(chip(desk.feed, "15.png").locator("img[src]")).to_be_attached()
    desk.page.wait_for_timeout(500)
    assert 1 <= len(asked) <= 6, asked
    desk.feed.get_by_role("article").first.scroll_into_view_if_needed()
    expect(chip(desk.feed, "0.png").locator("img[src]")).to_be_visible()


# --- keeping -----------------------------------------------------------------------------------


def test_an_edited_message_keeps_its_files_even_without_words(talk: Desk, session: Session) -> None:
    pick(talk, CAT)
    talk.ask("first words", "first words", 1)
    talk.act(talk.you(1), "Edit")
    editor = talk.page.get_by_role("textbox", name="Edit this turn")
    editor.fill("other words")
    editor.press("Control+Enter")
    expect(talk.words(talk.answer(1))).to_have_text("other words")
    expect(chip(talk.you(1), "cat.png")).to_be_visible()
    talk.act(talk.you(1), "Edit")
    editor.fill("")
    talk.page.get_by_role("button", name="Send", exact=True).click()
    expect(talk.you(1)).not_to_contain_text("other words")
    expect(chip(talk.you(1), "cat.png")).to_be_visible()


def test_a_message_with_a_file_that_waits_keeps_it_and_taken_back_it_is_there_again(
    talk: Desk, session: Session
) -> None:
    talk.send("/stall 1\none two")
    expect(talk.live).to_be_visible()
    pick(talk, CAT)
    talk.send("next")
    expect(talk.queued()).to_contain_text("cat.png")
    talk.queued().get_by_role("button", name="Take back").click()
    expect(talk.box).to_have_value("next")
    expect(chip(waiting(talk), "cat.png")).to_be_visible()
    talk.page.reload()
    expect(chip(waiting(talk), "cat.png")).to_be_visible()
    talk.send("next")
    expect(talk.queued()).to_contain_text("cat.png")
    expect(waiting(talk)).to_have_count(0)
    talk.page.get_by_role("button", name="Stop").click()
    talk.queued().get_by_role("button", name="Send now").click()
    expect(chip(talk.you(2), "cat.png")).to_be_visible()


def test_what_is_not_taken_brings_back_the_words_and_keeps_the_other_files(
    talk: Desk, session: Session
) -> None:
    pick(talk, CAT, DOCX)
    expect(talk.page.get_by_text("letter.docx is not taken")).to_be_visible()
    talk.box.fill("my words")
    talk.box.press("Enter")
    expect(talk.page.get_by_text("“letter.docx” is an Office document")).to_be_visible()
    expect(talk.box).to_have_value("my words")
    expect(chip(waiting(talk), "cat.png")).to_be_visible()
    talk.ask("my words", "my words", 1)
    expect(chip(talk.you(1), "cat.png")).to_be_visible()
    expect(waiting(talk)).to_have_count(0)


def test_a_file_that_waits_can_be_removed_or_sent_without_words(
    talk: Desk, session: Session
) -> None:
    store, branch = talk.server.store, session.current_branch_id or ""
    for name, content in (("a.png", picture("red")), ("b.png", picture("blue"))):
        store.attachments.hold(branch, [store.attachments.add(name, "image/png", content)])
    talk.page.reload()
    talk.page.get_by_role("button", name="Remove a.png").click()
    expect(chip(waiting(talk), "a.png")).to_have_count(0)
    talk.page.get_by_role("button", name="Send without words").click()
    expect(chip(talk.you(1), "b.png")).to_be_visible()
    assert [part.name for part in parts(talk, session)] == ["b.png"]


def test_the_limits_and_a_model_without_images_are_told_before_sending(desk: Desk) -> None:
    store = desk.server.store
    session = store.sessions.create(config=Config(provider="local", model="smollm2-135m"))
    desk.open(session)
    desk.page.get_by_role("button", name="Upload files").hover()
    expect(desk.page.get_by_text(LIMITS)).to_be_visible()
    pick(desk, NOTES)
    expect(desk.page.get_by_text(LIMITS)).to_be_visible()
    pick(desk, CAT)
    expect(desk.page.get_by_text("takes no images. Choose another model")).to_be_visible()
    attached(desk, "cat.png").get_by_role("button", name="Remove cat.png").click()
    expect(desk.page.get_by_text("takes no images")).to_have_count(0)


def test_deleting_for_good_drops_the_bytes(own_desk: Desk) -> None:
    store = own_desk.server.store
    session = conversation(store, title="Goner")
    own_desk.open(session)
    pick(own_desk, CAT)
    own_desk.ask("look", "look", 1)
    (ref,) = [part for part in parts(own_desk, session) if isinstance(part, AttachmentRef)]
    assert ref.sha256 in store.attachments
    store.sessions.bin(session.id)
    own_desk.page.goto(own_desk.server.url + "sessions")
    own_desk.page.get_by_role("tab", name="Bin").click()
    own_desk.page.get_by_role("button", name="Delete for good").click()
    own_desk.page.get_by_role("dialog").get_by_role("button", name="Delete for good").click()
    expect(own_desk.page.get_by_text("The bin is empty.")).to_be_visible()
    assert ref.sha256 not in store.attachments
