"""A phone, a dark room, a keyboard: the same page."""

import io
from collections.abc import Callable

import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, expect

from tests.browser.desk import Desk, conversation
from tests.browser.server import Server

CODE = (
    "Run:\n\n```python\n"
    + "x = 1  # "
    + "long " * 60
    + "\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
)
WIDE = "| " + " | ".join(f"column {n}" for n in range(30)) + " |\n|" + "---|" * 30 + "\n"
TALK = ("first question", CODE, "second question " + "w" * 300, WIDE + "**fin**")


@pytest.fixture
def phone(new_context: Callable[..., BrowserContext], server: Server) -> Desk:
    context = new_context(
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
        device_scale_factor=2,
    )
    return Desk(context.new_page(), server)


def fits(desk: Desk) -> None:
    """Nothing reaches over the edge of the screen."""
    width = desk.page.evaluate("document.scrollingElement.scrollWidth")
    assert width <= 390, width
    for article in desk.feed.get_by_role("article").all():
        box = article.bounding_box()
        assert box is not None
        assert box["x"] >= 0, box
        assert box["x"] + box["width"] <= 390, box
    over: list[str] = desk.page.get_by_role("main").evaluate(
        """main => [...main.querySelectorAll('button, input, textarea, h1, p')]
        .filter((e) => e.checkVisibility() && e.getBoundingClientRect().right > innerWidth)
        .map((e) => e.outerHTML.slice(0, 200))"""
    )
    assert over == []


def test_the_start_page_fits_a_phone(phone: Desk) -> None:
    phone.open()
    expect(phone.page.get_by_role("button", name="Open").first).to_be_visible()
    fits(phone)


def test_a_conversation_fits_a_phone_and_goes_on_there(phone: Desk) -> None:
    phone.open(conversation(phone.server.store, *TALK))
    expect(phone.answer(2)).to_be_visible()
    fits(phone)
    phone.box.fill("from the phone")
    phone.page.get_by_role("button", name="Send message").click()
    expect(phone.words(phone.answer(3))).to_have_text("from the phone")
    fits(phone)


def test_on_a_phone_the_tree_and_the_settings_are_in_a_drawer(phone: Desk) -> None:
    phone.open(conversation(phone.server.store, *TALK))
    expect(phone.answer(2)).to_be_visible()
    expect(phone.tree).to_be_hidden()
    phone.page.get_by_role("button", name="Tree", exact=True).click()
    drawer = phone.page.get_by_role("dialog")
    expect(drawer.get_by_role("treeitem")).to_have_count(4)
    expect(drawer.get_by_role("combobox", name="Provider")).to_be_visible()
    fits(phone)
    drawer.get_by_role("treeitem").first.click()
    expect(phone.you(1)).to_be_in_viewport()


def test_on_a_phone_every_act_of_a_turn_is_in_reach(phone: Desk) -> None:
    phone.open(conversation(phone.server.store, "a question", "an answer"))
    answer = phone.answer(1)
    answer.tap()
    answer.get_by_role("button", name="More").tap()
    menu = phone.page.get_by_role("menu", name="More")
    expect(menu.get_by_role("menuitem", name="Mark final")).to_be_visible()
    fits(phone)
    menu.get_by_role("menuitem", name="Mark final").tap()
    expect(answer.get_by_text("final", exact=True)).to_be_visible()
    answer.get_by_role("button", name="Fork here").tap()
    expect(phone.facts()).to_contain_text("take 2")


def light_share(desk: Desk) -> float:
    """How much of the screen is bright."""
    picture = Image.open(io.BytesIO(desk.page.screenshot())).convert("L")
    histogram = picture.histogram()
    return sum(histogram[180:]) / sum(histogram)


@pytest.mark.parametrize("width", [1440, 390])
def test_in_the_dark_nothing_has_a_light_background(
    new_context: Callable[..., BrowserContext], server: Server, width: int
) -> None:
    context = new_context(color_scheme="dark", viewport={"width": width, "height": 844})
    desk = Desk(context.new_page(), server).open()
    assert light_share(desk) < 0.05
    desk.open(conversation(server.store, *TALK, title="In the dark", objective="See it"))
    expect(desk.answer(2)).to_be_visible()
    desk.act(desk.answer(1), "Edit")
    assert light_share(desk) < 0.05
    desk.page.get_by_role("button", name="Export", exact=True).click()
    expect(desk.page.get_by_role("button", name="Download", exact=True)).to_be_visible()
    assert light_share(desk) < 0.05
    desk.page.goto(f"{server.url}sessions")
    expect(desk.page.get_by_role("heading", name="Sessions")).to_be_visible()
    assert light_share(desk) < 0.05


def test_the_light_page_is_light(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, *TALK))
    expect(desk.answer(2)).to_be_visible()
    assert light_share(desk) > 0.8


def test_everything_that_can_be_pressed_has_a_name(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, *TALK))
    expect(desk.answer(2)).to_be_visible()
    for role in ("button", "textbox", "combobox", "link", "treeitem"):
        for control in desk.page.get_by_role(role, name="").all():
            named = control.evaluate(
                "e => (e.ariaLabel || e.innerText || e.title || e.labels?.length"
                " || e.getAttribute('aria-labelledby') || '').toString().trim()"
            )
            assert named, control.evaluate("e => e.outerHTML.slice(0, 300)")


def test_a_whole_turn_by_keyboard_alone(desk: Desk) -> None:
    desk.open(conversation(desk.server.store))
    desk.page.keyboard.press("/")
    desk.page.keyboard.type("typed")
    desk.page.keyboard.press("Enter")
    expect(desk.words(desk.answer(1))).to_have_text("typed")
    expect(desk.box).to_be_focused()
    inside = "e => e.contains(e.getRootNode().activeElement)"
    for _ in range(30):
        desk.page.keyboard.press("Shift+Tab")
        if desk.feed.evaluate(inside):
            break
    if not desk.answer(1).evaluate(inside):
        desk.page.keyboard.press("Alt+ArrowDown")
    desk.page.keyboard.press("x")
    expect(desk.answer(1).get_by_text("final", exact=True)).to_be_visible()


def test_the_page_does_not_jump_while_one_reads_an_older_turn(desk: Desk) -> None:
    talk = [f"message {n}\n\n" + "words " * 60 for n in range(20)]
    desk.open(conversation(desk.server.store, *talk))
    expect(desk.answer(10)).to_be_visible()
    desk.send("/delay 30\n" + " ".join(f"w{n}" for n in range(60)))
    expect(desk.live).to_contain_text("w3")
    desk.you(5).scroll_into_view_if_needed()
    desk.you(5).hover()
    desk.page.mouse.wheel(0, -50)
    expect(desk.page.get_by_role("button", name="Jump to latest")).to_be_visible()
    before = desk.you(5).bounding_box()
    expect(desk.answer(11)).to_be_attached()
    after = desk.you(5).bounding_box()
    assert before is not None
    assert after is not None
    assert abs(before["y"] - after["y"]) <= 1
