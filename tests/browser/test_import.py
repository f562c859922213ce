"""Conversations from elsewhere, in a real browser: dropped, looked at, imported, walked."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from core.formats import reader
from core.types import Branch
from tests.browser.desk import Desk, conversation
from tests.browser.server import Server
from tests.contract.shelf import Case, cases, source_of

PATIENCE = 60_000  # ms; a thread reads and writes meanwhile, on a busy machine
WALKED = 3  # branches


def richest() -> list[Case]:
    """Of every format the file with the most branches and messages."""
    found: dict[str, Case] = {}
    for case in cases():
        if "broke" not in case.expected and _size(case) > _size(found.get(case.format)):
            found[case.format] = case
    return list(found.values())


def _size(case: Case | None) -> tuple[int, int]:
    talks = case.expected.get("conversations", []) if case else []
    sizes = [(one.get("branches", 1), one.get("messages", 1)) for one in talks]
    return max(sizes, default=(0, 0))


def importing(desk: Desk) -> Page:
    """The tab Import, with nothing at hand."""
    page = desk.page
    page.goto(f"{desk.server.url}sessions?tab=Import")
    uploader = page.get_by_text("Drop an export here")
    again = page.get_by_role("button", name="Import something else")
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    expect(uploader.or_(again).or_(cancel).first).to_be_visible(timeout=PATIENCE)
    if not uploader.is_visible():
        again.or_(cancel).first.click()
    expect(uploader).to_be_visible()
    return page


def drop(page: Page, *files: Any) -> None:
    page.locator("input[type=file]").set_input_files(list(files))


def preview(page: Page) -> Locator:
    """The words that say that nothing is written yet, once the file was looked at."""
    shown = page.get_by_text("This is a preview: nothing is imported yet.")
    expect(shown).to_be_visible(timeout=PATIENCE)
    return shown


def take(page: Page) -> None:
    page.get_by_role("button", name=re.compile(r"^Import [\d,]+ conversation")).click()
    expect(page.get_by_role("button", name="Import something else")).to_be_visible(timeout=PATIENCE)


def told(page: Page) -> Locator:
    return page.get_by_text(re.compile(r"imported\. .* read back"))


def talks(number: int) -> dict[str, Any]:
    """A file of many small conversations."""
    found = [
        {
            "id": f"many-{n}",
            "conversations": [
                {"from": "human", "value": f"Question {n}"},
                {"from": "gpt", "value": f"Answer {n}"},
            ],
        }
        for n in range(number)
    ]
    return held("many.json", json.dumps(found))


def held(name: str, text: str) -> dict[str, Any]:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": text.encode()}


@pytest.mark.parametrize("case", richest(), ids=str)
def test_every_kind_of_file_is_dropped_looked_at_imported_and_walked(
    desk: Desk, case: Case, tmp_path: Path
) -> None:
    page, store = importing(desk), desk.server.store
    drop(page, getattr(source_of(case, tmp_path), "path"))  # noqa: B009 - of files alone
    label = reader(case.format).label
    expect(preview(page)).to_contain_text(label)
    take(page)
    expect(told(page)).to_be_visible()
    sessions = store.imports.reports(1)[0]["report"]["sessions"]
    assert len(sessions) <= len(case.expected["conversations"])

    page.get_by_role("button", name=re.compile("^Open ")).first.click()
    expect(desk.tree).to_be_visible(timeout=PATIENCE)
    assert desk.place()["session"] in sessions

    most = max(sessions, key=lambda one: len(store.branches.of(one)))
    for branch in store.branches.of(most)[:WALKED]:
        desk.open(store.sessions.get(most))
        walk(desk, branch)


def walk(desk: Desk, branch: Branch) -> None:
    """Go to the branch by the tree: its last message is there, with the model that wrote it."""
    store = desk.server.store
    tag = desk.branch(branch.name)
    if tag.count():
        tag.first.click()
    else:  # its tag is one of several at a row
        desk.page.goto(f"{desk.server.url}?session={branch.session_id}&branch={branch.id}")
    assert branch.tip_id is not None
    last = desk.page.locator(f'article[data-node-id="{branch.tip_id}"]')
    expect(last).to_be_visible(timeout=PATIENCE)
    node = store.nodes.get(branch.tip_id)
    model = store.imports.models([node.id]).get(node.id)
    if model and node.role == "assistant":
        expect(last.locator(".meta")).to_contain_text(model)
        expect(last.locator(".meta")).to_contain_text("imported")


def test_what_cannot_be_read_is_said_and_the_next_file_can_be_dropped(desk: Desk) -> None:
    page = importing(desk)
    drop(page, held("holiday.json", '{"a picture": "of the sea"}'))
    error = page.get_by_role("alert").filter(has_text="holiday.json")
    expect(error).to_contain_text("of no kind that can be imported", timeout=PATIENCE)
    expect(error).to_contain_text("These can be: ")
    drop(page, held("empty.zip", ""))
    expect(page.get_by_role("alert").filter(has_text="empty.zip is empty.")).to_be_visible(
        timeout=PATIENCE
    )
    drop(page, talks(2))
    preview(page)
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_text("Drop an export here")).to_be_visible()


def test_one_chooses_and_what_is_here_already_is_known(own_desk: Desk) -> None:
    store = own_desk.server.store
    conversation(store)
    own_desk.open()
    own_desk.page.get_by_role("link", name="Import", exact=True).click()
    page = own_desk.page
    expect(page.get_by_role("tab", name="Import")).to_have_attribute("aria-selected", "true")
    drop(page, talks(40))
    preview(page)
    page.get_by_role("button", name="Leave out all").click()
    expect(page.get_by_text("0 of 40 chosen")).to_be_visible()
    search = page.get_by_role("textbox", name="Search the titles")
    search.fill("question 3")
    search.press("Enter")
    page.get_by_role("button", name="Choose these 13").click()
    expect(page.get_by_text("13 of 40 chosen")).to_be_visible()
    page.get_by_role("checkbox", name=re.compile("^Question 31")).set_checked(False, force=True)
    expect(page.get_by_role("button", name="Import 12 conversations")).to_be_visible()
    page.reload()  # what was dropped and chosen is not lost with the page
    expect(page.get_by_text("12 of 40 chosen")).to_be_visible(timeout=PATIENCE)
    take(page)
    expect(told(page)).to_contain_text("12 conversations imported.")
    assert store.sessions.count() == 13

    page = importing(own_desk)
    drop(page, talks(40))
    preview(page)
    expect(page.get_by_text("28 of 40 chosen")).to_be_visible()
    take(page)
    expect(told(page)).to_contain_text("28 conversations imported.")
    page = importing(own_desk)
    page.locator("summary").filter(has_text="12 new").click()
    expect(page.get_by_text("12 conversations imported.")).to_be_visible()


def test_text_is_pasted(desk: Desk) -> None:
    page = importing(desk)
    page.locator("summary").filter(has_text="Paste text instead").click()
    text = page.get_by_role("textbox", name="A conversation as text, or JSON")
    text.fill("You: What is a heron?\n\nModel: A **bird** <b>that</b> waits.\n")
    text.blur()
    page.get_by_role("button", name="Look at it").click()
    preview(page)
    take(page)
    page.get_by_role("button", name=re.compile("^Open ")).first.click()
    expect(desk.words(desk.you(1))).to_have_text("What is a heron?", timeout=PATIENCE)
    expect(desk.words(desk.answer(1))).to_have_text("A bird <b>that</b> waits.")


def test_an_import_goes_on_without_the_page_and_can_be_cancelled(
    own_desk: Desk, own_server: Server
) -> None:
    page, store = importing(own_desk), own_server.store
    drop(page, talks(4000))
    preview(page)
    page.get_by_role("button", name="Import 4,000 conversations").click()
    expect(page.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE)
    page.goto("about:blank")
    before = store.sessions.count()
    page.goto(f"{own_server.url}sessions?tab=Import")
    cancel = page.get_by_role("button", name="Cancel", exact=True)
    done = page.get_by_role("button", name="Import something else")
    expect(cancel.or_(done).first).to_be_visible(timeout=PATIENCE)
    if cancel.is_visible():  # on a fast machine all of it may be in by now
        cancel.click(timeout=PATIENCE)
    expect(done).to_be_visible(timeout=PATIENCE)
    report = store.imports.reports(1)[0]["report"]
    assert report["new"] == store.sessions.count() >= before
    assert report["cancelled"] == (report["new"] < 4000)
