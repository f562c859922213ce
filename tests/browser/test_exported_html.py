"""Exported pages in a real browser: nothing runs, nothing is asked for, and the tree is walked."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from core.formats import writer
from core.types import Comparison, ComparisonTaken, Difference, Include, LaneTaken, TreeTaken
from tests.contract.subjects import AT, EVIL, branch, forked, hostile, node, session

Opened = Callable[[str, bytes], Page]


@pytest.fixture(params=["light", "dark"])
def opened(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens a file in a tab that complains about every request but the one for the file."""
    context = browser.new_context(
        viewport={"width": 1440, "height": 900}, color_scheme=request.param
    )
    asked: list[str] = []

    def open_it(name: str, content: bytes) -> Page:
        file = tmp_path / name
        file.write_bytes(content)
        page = context.new_page()
        page.on("request", lambda one: asked.append(one.url))
        page.goto(file.as_uri())
        return page

    yield open_it
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []


def page_of(taken: TreeTaken) -> bytes:
    return writer("tree_html").write(taken, Include(thinking=True))


def shown(page: Page) -> list[str]:
    """The messages that can be seen, by their place in the file."""
    return [str(one.get_attribute("id")) for one in page.locator("article:visible").all()]


def nothing_ran(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.locator("script, iframe, [onerror], [onload]").count() == 0
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")


def test_the_tree_is_walked_by_mouse_and_keyboard(opened: Opened) -> None:
    page = opened("tree.html", page_of(forked()))
    assert shown(page) == ["n1", "n2", "n3", "n5"]  # the open path
    page.get_by_role("link", name="How much?").click()
    expect(page.locator("#n7")).to_be_visible()
    assert shown(page) == ["n1", "n2", "n4", "n6", "n7", "n8"]
    ways = page.locator("#n2").get_by_role("navigation", name="Ways on")
    expect(ways.get_by_role("link")).to_have_count(3)
    ways.get_by_role("link", name="Shorter").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#n5")).to_be_visible()
    assert shown(page) == ["n1", "n2", "n3", "n5"]
    page.locator("#n3").get_by_role("link", name="Next version").click()
    expect(page.locator("#n8")).to_be_visible()
    page.keyboard.press("Tab")  # goes on from the message that was led to
    assert page.evaluate("!!document.activeElement.closest('article, main')")
    page.go_back()
    expect(page.locator("#n5")).to_be_visible()
    page.get_by_role("link", name="Another beginning").click()
    expect(page.locator("#n10")).to_be_visible()
    assert shown(page) == ["n10"]
    nothing_ran(page)


def test_on_a_phone_the_map_is_behind_a_button(opened: Opened) -> None:
    page = opened("tree.html", page_of(forked()))
    page.set_viewport_size({"width": 390, "height": 844})
    tree = page.get_by_role("navigation", name="Map of the tree")
    expect(tree).to_be_hidden()
    page.get_by_text("Map", exact=True).click()
    expect(tree).to_be_visible()
    tree.get_by_role("link", name="How much?").click()
    expect(page.locator("#n8")).to_be_visible()
    nothing_ran(page)


def test_hostile_text_does_nothing(opened: Opened) -> None:
    page = opened("tree.html", page_of(hostile()))
    page.get_by_role("navigation", name="Map of the tree").get_by_role("link").last.click()
    expect(page.locator("#n3")).to_be_visible()
    nothing_ran(page)
    lanes = tuple(
        LaneTaken(
            name=EVIL,
            lane=None,
            branch=branch(EVIL, name),
            model=EVIL,
            nodes=(node(name, "q0", EVIL),),
            metrics={EVIL: EVIL},
        )
        for name in ("a1", "a2")
    )
    taken = ComparisonTaken(
        session=session(EVIL, objective=EVIL),
        comparison=Comparison(id="c", session_id="s", name=EVIL, created_at=AT),
        name=EVIL,
        shared=(node("q0", None, EVIL),),
        lanes=lanes,
        differences=(Difference(of=EVIL, against=EVIL, diff=f"---\n+++\n-{EVIL}", likeness=0.5),),
    )
    page = opened("comparison.html", writer("comparison_html").write(taken, Include()))
    expect(page.get_by_text("window.hacked = 1").first).to_be_visible()
    nothing_ran(page)


def test_pictures_of_the_tree_do_nothing_either(opened: Opened) -> None:
    page = opened("tree.svg", writer("tree_svg").write(hostile(), Include()))
    expect(page.get_by_text("3 messages · 1 branch")).to_be_visible()
    assert page.evaluate("window.hacked") is None
