"""The tree as pictures and as a page: laid out as the page does, opened by someone else's code,
and nothing in it that runs."""

import io
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest
from PIL import Image

from core.formats import writer
from core.interchange.graph import graph
from core.interchange.page import page, rendered
from core.types import Include, Text, TreeTaken
from tests.contract.subjects import EVIL, branch, chain, forked, hostile, node, tree

SVG = "{http://www.w3.org/2000/svg}"


def written(name: str, taken: TreeTaken) -> bytes:
    return writer(name).write(taken, Include(thinking=True))


class Seen(HTMLParser):
    """What is on a page: tags with their attributes, and the words."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words = ""
        self.depth = self.deepest = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "div":
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)

    def handle_endtag(self, tag: str) -> None:
        self.depth -= tag == "div"

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_open_path_is_alone_in_the_first_lane() -> None:
    found = graph(forked().nodes, "a2")
    told = [(row.node.id if row.node else None, row.lane) for row in found.rows]
    assert told == [
        (None, 0),
        ("q0", 1),
        ("q1", 0),
        ("a1", 0),
        ("q3", 1),
        ("a3", 1),
        ("q4", 1),
        ("a4", 1),
        ("q5", 1),
        ("q2", 0),
        ("a2", 0),
    ]
    assert found.path == {"q1", "a1", "q2", "a2"}


def test_a_tree_that_forks_everywhere_needs_few_lanes() -> None:
    names = [f"q{n}" for n in range(1023)]
    nodes = [node(name, names[(n - 1) // 2] if n else None) for n, name in enumerate(names)]
    assert graph(nodes, "q1022").lanes <= 12
    html = Seen(written("tree_html", tree(nodes, "q1022")).decode())
    assert html.deepest <= 16


def test_straight_stretches_are_folded_and_nothing_is_lost() -> None:
    found = graph(chain(100).nodes, "a99", fold=True)
    assert len(found.rows) == 3
    assert sum(row.folded or 1 for row in found.rows) == 100


@pytest.mark.parametrize("taken", [forked(), hostile(), chain(30), tree([], None)])
def test_the_picture_is_svg_with_every_message_and_no_act(taken: TreeTaken) -> None:
    svg = written("tree_svg", taken).decode()
    root = ET.fromstring(svg)
    kinds = {element.tag.removeprefix(SVG) for element in root.iter()}
    assert kinds <= {"svg", "title", "style", "rect", "text", "tspan", "line", "path", "circle"}
    dots = root.findall(f".//{SVG}circle[@r='5']") + root.findall(f".//{SVG}rect[@rx='2.5']")
    assert len(dots) == len(taken.nodes)
    for element in root.iter():
        assert not [name for name in element.attrib if name.startswith("on") or "href" in name]
    assert "url(" not in svg
    assert "@import" not in svg


def test_the_names_and_words_stand_in_the_picture() -> None:
    words = "".join(ET.fromstring(written("tree_svg", forked()).decode()).itertext())
    for told in ("A plan", "10 messages · 3 branches", "bolder <i>", "Draft a plan", "The plan"):
        assert told in words


def test_the_other_picture_is_png_and_sharp() -> None:
    with Image.open(io.BytesIO(written("tree_png", forked()))) as picture:
        assert picture.format == "PNG"
        assert picture.size[0] == 2080
        assert len(picture.convert("RGB").resize((200, 120)).getcolors(24_000) or ()) > 20


def test_characters_that_no_document_holds_become_marks_in_the_picture() -> None:
    bad = "a\x00b\x0bc\x1bd\ufffee\uffff half \ud83d end"
    taken = replace(forked(), session=replace(forked().session, title=bad, objective=bad))
    first = replace(taken.nodes[0], parts=(Text(text=bad),))
    taken = replace(taken, nodes=(first, *taken.nodes[1:]))
    picture = written("tree_svg", taken).decode()
    assert "d\ufffde\ufffd half \ufffd end" in "".join(ET.fromstring(picture).itertext())
    with Image.open(io.BytesIO(written("tree_png", taken))) as drawn:
        assert drawn.size[0] == 2080


@pytest.mark.timeout(120)
def test_a_picture_of_thousands_stays_within_bounds() -> None:
    names = [f"q{n}" for n in range(3000)]
    nodes = [node(name, names[n // 2] if n else None) for n, name in enumerate(names, 0)]
    nodes = [node("q0", None), *nodes[1:]]
    with Image.open(io.BytesIO(written("tree_png", tree(nodes, "q2999")))) as picture:
        assert picture.size[1] <= 16_000


def test_the_page_has_every_message_once_and_a_way_to_each() -> None:
    taken = forked()
    seen = Seen(written("tree_html", taken).decode())
    ids = [about["id"] for tag, about in seen.tags if tag == "article"]
    assert sorted(ids) == sorted(f"n{n}" for n in range(1, 11))
    links = {
        about["href"]
        for tag, about in seen.tags
        if tag == "a" and "row" in (about.get("class") or "")
    }
    assert links == {f"#{name}" for name in ids}
    assert "3 ways on from here" in seen.words
    assert "2 of 3" in seen.words


def test_what_is_left_out_is_left_out() -> None:
    taken = forked()
    with_it = writer("tree_html").write(taken, Include(thinking=True)).decode()
    without = writer("tree_html").write(taken, Include(thinking=False, metadata=False)).decode()
    assert ">Hm<" in with_it
    assert ">Hm<" not in without
    assert "2026-11-21" in with_it
    assert "2026-11-21" not in without


def test_hostile_text_is_text_on_the_page() -> None:
    seen = Seen(written("tree_html", hostile()).decode())
    tags = {tag for tag, _ in seen.tags}
    assert not tags & {"script", "img", "iframe", "object", "link", "base", "form", "image"}
    for _, about in seen.tags:
        assert not [name for name in about if name.startswith("on")]
        assert str(about.get("href") or "").startswith(("#", "https://evil.example/p.png", ""))
        assert "javascript:" not in str(about.get("href") or "")
    policy = [about["content"] for _, about in seen.tags if about.get("http-equiv")]
    assert policy == [
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none';"
        " form-action 'none'"
    ]
    assert seen.words.count("window.hacked = 1") >= 5


def test_a_conversation_may_be_as_long_as_it_likes() -> None:
    seen = Seen(written("tree_html", chain(3000)).decode())
    assert sum(tag == "article" for tag, _ in seen.tags) == 3000
    assert seen.deepest < 10


def test_pictures_of_a_message_come_along_and_other_files_by_name() -> None:
    from core.types import AttachmentRef

    refs = (
        AttachmentRef(sha256="1", media_type="image/png", name='a"b.png'),
        AttachmentRef(sha256="2", media_type="text/html", name="<x>.html"),
    )
    taken = tree(
        [node("q1", None, parts=refs)],
        "q1",
        branch("main", "q1"),
        files={"1": b"\x89PNG", "2": b"<script>"},
    )
    seen = Seen(written("tree_html", taken).decode())
    pictures = [about for tag, about in seen.tags if tag == "img"]
    assert pictures == [{"src": "data:image/png;base64,iVBORw==", "alt": 'a"b.png'}]
    assert "<x>.html" in seen.words


# --- Markdown on a page -------------------------------------------------------------------------


def test_markdown_becomes_what_it_is() -> None:
    html = rendered("# T\n\n|a|\n|-|\n|1|\n\n```py\nx < 1\n```\n\n~~no~~ [x](https://a.b) one\ntwo")
    for told in ("<h1>T</h1>", "<table>", "<td>1</td>", "x &lt; 1", "<s>no</s>", "one<br"):
        assert told in html
    assert '<a href="https://a.b" rel="noopener noreferrer nofollow">x</a>' in html


def test_pictures_from_elsewhere_are_links() -> None:
    seen = Seen(rendered("![a <b>](https://evil.example/x.png) ![d](data:image/png;base64,AAAA)"))
    assert [tag for tag, _ in seen.tags] == ["div", "p", "a", "img"]
    assert seen.tags[3][1]["src"] == "data:image/png;base64,AAAA"


@pytest.mark.parametrize(
    "text",
    [EVIL, "> " * 5000 + "deep", "- " * 3000 + "deep", "[" * 20_000, "x" * 500_000, "a\0b\x1b"],
)
def test_any_text_is_shown_and_none_of_it_acts(text: str) -> None:
    html = page("t", rendered(text))
    html.encode()
    seen = Seen(html)
    assert "script" not in {tag for tag, _ in seen.tags}
    assert "javascript:" not in "".join(str(about.get("href")) for _, about in seen.tags)
    assert text[-4:].replace("\0", "\ufffd").replace("\x1b", "\ufffd") in seen.words
