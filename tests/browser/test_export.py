"""Taking things away: every kind of file, from wherever it can be asked for, byte by byte."""

import io
import json
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import docx
import pypdf
import pytest
from playwright.sync_api import BrowserContext, Locator, expect

from core import Session, exporting, fork
from core.exporting import comparison as comparing
from core.exporting import whole
from core.formats import writers
from core.lanes import side_by_side
from core.types import Include, Taken, Writer
from tests.browser.desk import Desk, conversation
from tests.browser.server import Server

PLAN = """# The plan

Costs stay under **12,000 euros**, $5 a head & <b>no</b> more.

| item | cost |
|---|---|
| train | 400 |

```python
print("hello")
```

```sql
SELECT 1;
```
"""
TALK = ("Draft a plan.", "A first try.", "Add a table and code.", PLAN)
HOSTILE = "<script>window.top.hacked = 1; hacked = 1</script><img src=x onerror=hacked=1> end"
PATIENCE = 30_000  # milliseconds; a PDF on a busy machine takes its time


@pytest.fixture
def session(desk: Desk) -> Session:
    return conversation(desk.server.store, *TALK, title="Offsite in Porto", objective="A plan")


def dialog(desk: Desk) -> Locator:
    return desk.page.get_by_role("dialog", name="Export")


def from_header(desk: Desk, what: str | None = None) -> None:
    """Open the dialog of what is shown."""
    desk.page.get_by_role("button", name="Export", exact=True).click()
    expect(dialog(desk)).to_be_visible()
    if what:
        choose(desk, what)


def from_turn(desk: Desk, article: Locator) -> None:
    """Open the dialog from the menu of a message."""
    desk.act(article, "More")
    desk.page.get_by_role("menuitem", name="Export…").click()
    expect(dialog(desk)).to_be_visible()


def choose(desk: Desk, label: str) -> None:
    """Choose one of a row of buttons of the dialog."""
    button = dialog(desk).get_by_role("radio", name=label, exact=True)
    button.or_(dialog(desk).get_by_role("button", name=label, exact=True)).first.click()


def close(desk: Desk) -> None:
    dialog(desk).get_by_role("button", name="Close", exact=True).click()
    expect(dialog(desk)).to_have_count(0)


def downloaded(desk: Desk, wanted: exporting.File, label: str = "") -> bytes:
    """Press Download once the file of that name and kind is the one that is shown."""
    foot = dialog(desk).locator(".st-key-export_foot")
    expect(foot).to_contain_text(f"{wanted.name} · {label}", timeout=PATIENCE)
    expect(desk.page.get_by_test_id("stSpinner")).to_have_count(0)
    with desk.page.expect_download() as coming:
        foot.get_by_role("button", name="Download", exact=True).click()
    assert coming.value.suggested_filename == wanted.name
    return Path(coming.value.path()).read_bytes()


def every(desk: Desk, of: Iterable[Writer], take: Callable[[], Taken]) -> None:
    """Choose one kind of file after the other; what comes down is what the format writes."""
    for writer in of:
        choose(desk, writer.label)
        wanted = exporting.write(take(), writer.name, Include())
        assert_same(downloaded(desk, wanted, writer.label), wanted)


def assert_same(got: bytes, wanted: exporting.File) -> None:
    """The same bytes; of office files, which note when they were made, the same words."""
    if wanted.name.endswith((".docx", ".pdf", ".xlsx")):
        assert words(got, wanted.name) == words(wanted.content, wanted.name)
    else:
        assert got == wanted.content, wanted.name


def words(content: bytes, name: str) -> Any:
    if name.endswith(".docx"):
        return [one.text for one in docx.Document(io.BytesIO(content)).paragraphs]
    if name.endswith(".pdf"):
        return [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(content)).pages]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return sorted(archive.namelist())


# --- each kind -----------------------------------------------------------------------------------


def test_an_answer_comes_down_in_every_kind_of_file(desk: Desk, session: Session) -> None:
    store = desk.server.store
    desk.open(session)
    expect(desk.answer(2)).to_be_visible()
    from_turn(desk, desk.answer(2))
    node = store.nodes.lineage(store.branches.of(session.id)[0].tip_id)[-1]
    every(desk, writers("answer"), lambda: exporting.answer(store, session.id, node.id))
    pieces = next(one for one in writers("answer") if "pieces" in one.options)
    choose(desk, pieces.label)
    choose(desk, "Tables")
    taken = exporting.answer(store, session.id, node.id)
    wanted = exporting.write(taken, pieces.name, Include(pieces="tables"))
    assert downloaded(desk, wanted) == wanted.content
    assert b"train,400" in wanted.content


def test_a_branch_comes_down_in_every_kind_of_file(desk: Desk, session: Session) -> None:
    store, branch = desk.server.store, str(session.current_branch_id)
    desk.open(session)
    expect(desk.answer(2)).to_be_visible()
    from_header(desk, "Branch")
    every(desk, writers("branch"), lambda: exporting.branch(store, session.id, branch))


def test_a_session_comes_down_in_every_kind_of_file(desk: Desk, session: Session) -> None:
    store = desk.server.store
    desk.open(session)
    expect(desk.answer(2)).to_be_visible()
    from_header(desk, "Whole session")
    every(desk, writers("tree"), lambda: exporting.tree(store, session.id))


def test_a_comparison_comes_down_in_every_kind_of_file(desk: Desk, session: Session) -> None:
    store, main = desk.server.store, str(session.current_branch_id)
    nodes = store.nodes.lineage(store.branches.get(main).tip_id)
    other = fork(store, nodes[1].id, from_branch=main)
    made = side_by_side(store, session.id, [main, other.id])
    desk.page.goto(f"{desk.server.url}compare?session={session.id}&comparison={made.id}")
    from_header(desk)
    every(
        desk,
        writers("comparison"),
        lambda: comparing.comparison(store, session.id, made.id),
    )
    close(desk)
    expect(desk.page.get_by_role("button", name="Add lane")).to_be_visible()


# --- from where ----------------------------------------------------------------------------------


def test_the_answer_marked_final_is_the_one_that_is_exported(desk: Desk, session: Session) -> None:
    desk.open(session)
    desk.act(desk.answer(1), "Mark final")
    expect(desk.row("A first try., final")).to_be_visible()
    from_header(desk)
    expect(dialog(desk)).to_contain_text("the answer marked final")
    wanted = exporting.File(
        name="offsite-in-porto-answer.md", media_type="text/markdown", content=TALK[1].encode()
    )
    assert downloaded(desk, wanted) == TALK[1].encode()


def test_a_question_exports_the_path_to_it_or_the_whole_branch(
    desk: Desk, session: Session
) -> None:
    store, branch = desk.server.store, str(session.current_branch_id)
    nodes = store.nodes.lineage(store.branches.get(branch).tip_id)
    desk.open(session)
    from_turn(desk, desk.you(1))
    choose(desk, "Plain text")
    path = exporting.branch(store, session.id, branch, nodes[0].id)
    wanted = exporting.write(path, "plain_text", Include())
    assert downloaded(desk, wanted) == wanted.content
    dialog(desk).get_by_text("Only up to this message").click()
    whole = exporting.write(exporting.branch(store, session.id, branch), "plain_text", Include())
    size = dialog(desk).locator(".st-key-export_foot")
    expect(size).not_to_contain_text(f"{len(wanted.content)} B")
    assert downloaded(desk, whole) == whole.content


def test_from_the_tree_and_from_the_list_of_sessions(desk: Desk, session: Session) -> None:
    store = desk.server.store
    desk.open(session)
    desk.row_menu("The plan", "Export branch…")
    expect(dialog(desk)).to_contain_text("2 turns on branch main")
    close(desk)
    desk.page.goto(f"{desk.server.url}sessions")
    row = desk.page.get_by_test_id("stHorizontalBlock").filter(has_text="Offsite in Porto").first
    row.get_by_role("button", name="Export", exact=True).click()
    expect(dialog(desk)).to_contain_text("Offsite in Porto")
    native = next(one for one in writers("tree") if one.media_type == "application/zip")
    choose(desk, native.label)
    wanted = exporting.write(
        exporting.tree(store, max(row["id"] for row in store.sessions.recent(1))), native.name
    )
    got = downloaded(desk, wanted)
    assert zipfile.ZipFile(io.BytesIO(got)).testzip() is None
    close(desk)


def test_all_sessions_come_down_in_one_file(
    own_server: Server, new_context: Callable[..., BrowserContext]
) -> None:
    desk = Desk(new_context().new_page(), own_server)
    one = conversation(own_server.store, *TALK, title="One")
    two = conversation(own_server.store, *TALK, title="Two")
    desk.page.goto(f"{own_server.url}sessions")
    desk.page.get_by_role("button", name="Export several").click()
    over = desk.page.get_by_role("dialog", name="Export sessions")
    over.get_by_role("button", name="Make a file of 2 sessions").click()
    button = over.get_by_role("button", name="Download", exact=True)
    expect(button).to_be_visible(timeout=PATIENCE)
    with desk.page.expect_download() as coming:
        button.click()
    stream = io.BytesIO()
    whole.sessions(own_server.store, [one.id, two.id], stream)
    assert Path(coming.value.path()).read_bytes() == stream.getvalue()


def test_a_re_run_is_asked_for_from_the_provenance(desk: Desk) -> None:
    store = desk.server.store
    desk.open(conversation(store))
    desk.ask("Say exactly this.", "Say exactly this.", 1)
    from_turn(desk, desk.answer(1))
    choose(desk, "Provenance")
    page = dialog(desk).locator("iframe").content_frame
    expect(page.locator("body")).to_contain_text("Not asked again yet", timeout=PATIENCE)
    dialog(desk).get_by_role("button", name="Re-run", exact=True).click()
    expect(dialog(desk)).to_contain_text("the same, word for word", timeout=PATIENCE)
    expect(page.locator("body")).to_contain_text("gave the same words", timeout=PATIENCE)
    with desk.page.expect_download() as coming:
        dialog(desk).get_by_role("button", name="JSON", exact=True).click()
    manifest = json.loads(Path(coming.value.path()).read_bytes())
    assert manifest["reproduces"] is True
    assert [one["author"] for one in manifest["path"]] == ["person", "model"]
    close(desk)
    expect(desk.answer(2)).to_have_count(0)


# --- what is seen first --------------------------------------------------------------------------


def test_the_preview_runs_nothing_and_asks_for_nothing(desk: Desk) -> None:
    session = conversation(desk.server.store, "Say it", HOSTILE, title="Hostile")
    desk.open(session)
    expect(desk.answer(1)).to_be_visible()
    from_header(desk)
    choose(desk, "HTML")
    frame = dialog(desk).locator("iframe")
    expect(frame).to_have_attribute("sandbox", "")
    expect(frame.content_frame.locator("body")).to_contain_text("end")
    choose(desk, "Markdown")
    shown = dialog(desk).get_by_role("region", name="Preview")
    expect(shown).to_contain_text("end")
    assert desk.page.evaluate("window.hacked") is None
    choose(desk, "Text")
    expect(dialog(desk).get_by_test_id("stCode")).to_contain_text("onerror=hacked=1")


def test_what_is_chosen_is_remembered_and_escape_closes(desk: Desk, session: Session) -> None:
    desk.open(session)
    expect(desk.answer(2)).to_be_visible()
    from_header(desk, "Branch")
    choose(desk, "Plain text")
    expect(dialog(desk)).to_contain_text(".txt")
    close(desk)
    from_header(desk)
    foot = dialog(desk).locator(".st-key-export_foot")
    expect(foot).to_contain_text(".txt")
    with desk.page.expect_download():
        foot.get_by_role("button", name="Download", exact=True).click()
    desk.page.keyboard.press("Escape")  # the focus has stayed in the dialog
    expect(dialog(desk)).to_have_count(0)
    expect(desk.box).to_be_enabled()


def test_on_a_phone_all_of_it_can_be_reached(
    new_context: Callable[..., BrowserContext], server: Server
) -> None:
    context = new_context(viewport={"width": 390, "height": 844})
    desk = Desk(context.new_page(), server)
    desk.open(conversation(server.store, *TALK, title="Small"))
    expect(desk.answer(2)).to_be_visible()
    from_header(desk, "Branch")
    button = dialog(desk).get_by_role("button", name="Download", exact=True)
    button.scroll_into_view_if_needed()
    expect(button).to_be_in_viewport()
    wide = desk.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 390
