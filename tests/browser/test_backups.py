"""Backups in a real browser: made while one works, looked into, restored, carried away."""

import sqlite3
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from core import backups
from tests.browser.desk import Desk, conversation

PATIENCE = 60_000  # ms; everything is copied and checked meanwhile


def tab(desk: Desk) -> Page:
    desk.page.goto(f"{desk.server.url}sessions?tab=Backups")
    expect(desk.page.get_by_role("button", name="Back up now")).to_be_visible(timeout=PATIENCE)
    return desk.page


def look_inside(page: Page) -> Locator:
    page.get_by_role("button", name="Look inside").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_text("Its latest sessions")).to_be_visible(timeout=PATIENCE)
    return dialog


def test_a_backup_is_made_looked_into_and_brings_back_what_was(own_desk: Desk) -> None:
    store = own_desk.server.store
    conversation(store, "a question", "an answer", title="Before the backup")
    page = tab(own_desk)
    expect(page.get_by_text("There is none yet.")).to_be_visible()
    page.get_by_role("button", name="Back up now").click()
    expect(page.get_by_text("made by you")).to_be_visible(timeout=PATIENCE)

    conversation(store, "another", "one", title="After the backup")
    page = tab(own_desk)
    expect(own_desk.sidebar.get_by_role("button", name="After the backup")).to_be_visible()
    dialog = look_inside(page)
    expect(dialog).to_contain_text("Before the backup")
    expect(dialog).not_to_contain_text("After the backup")
    dialog.get_by_role("button", name="Replace everything with this backup").click()
    expect(dialog).to_have_count(0, timeout=PATIENCE)
    expect(own_desk.sidebar.get_by_role("button", name="After the backup")).to_have_count(0)
    expect(own_desk.sidebar.get_by_role("button", name="Before the backup")).to_be_visible()

    page = tab(own_desk)
    expect(page.get_by_text("made before a restore")).to_be_visible()
    dialog = look_inside(page)  # the way back
    expect(dialog).to_contain_text("After the backup")
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)


def test_a_backup_is_carried_away_and_comes_back_from_its_file(
    own_desk: Desk, tmp_path: Path
) -> None:
    store = own_desk.server.store
    conversation(store, "a question", "an answer", title="Carried away")
    page = tab(own_desk)
    page.get_by_role("button", name="Back up now").click()
    button = page.get_by_role("button", name="Download")
    expect(button).to_be_visible(timeout=PATIENCE)
    with page.expect_download() as caught:
        button.click()
    carried = tmp_path / caught.value.suggested_filename
    caught.value.save_as(carried)
    with sqlite3.connect(carried) as db:
        assert db.execute("SELECT title FROM sessions").fetchall() == [("Carried away",)]
    db.close()
    page.get_by_role("button", name="Delete", exact=True).click()
    page.get_by_role("button", name="Delete this backup").click()
    expect(page.get_by_text("There is none yet.")).to_be_visible()

    page.locator("summary").filter(has_text="Restore from a file").click()
    page.locator("input[type=file]").set_input_files(
        {"name": "photo.db", "mimeType": "application/octet-stream", "buffer": b"no database" * 99}
    )
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_role("alert")).to_contain_text("photo.db", timeout=PATIENCE)
    expect(dialog.get_by_role("button", name="Replace everything")).to_have_count(0)
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
    page.locator("input[type=file]").set_input_files(carried)
    expect(dialog).to_contain_text("Carried away", timeout=PATIENCE)
    dialog.get_by_role("button", name="Replace everything with this backup").click()
    expect(dialog).to_have_count(0, timeout=PATIENCE)
    expect(own_desk.sidebar.get_by_role("button", name="Carried away")).to_be_visible()


def test_backups_by_themselves_are_chosen_once_and_stay_chosen(own_desk: Desk) -> None:
    page = tab(own_desk)
    keep = page.get_by_role("spinbutton", name="Keep the latest")
    expect(keep).to_be_disabled()
    page.get_by_role("combobox", name="Back up automatically").click()
    page.get_by_role("option", name="Every day").click()
    expect(keep).to_be_enabled()
    keep.fill("3")
    keep.press("Enter")
    expect(page.get_by_role("combobox", name="Back up automatically")).to_be_visible()
    page = tab(own_desk)
    expect(page.get_by_role("spinbutton", name="Keep the latest")).to_have_value("3")
    assert backups.plan(own_desk.server.store) == backups.Plan(hours=24, keep=3)
