"""Every readable export, of rich and hostile subjects, opened by someone else's code."""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import docx
import pypdf
import pytest

from core.errors import UserError
from core.formats import writer, writers
from core.interchange.blocks import blocks, plain
from core.types import (
    AnswerTaken,
    AttachmentRef,
    Branch,
    BranchTaken,
    Config,
    Include,
    Node,
    Parts,
    Recap,
    Run,
    Session,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
)

AT = "2026-03-01T10:00:00.000Z"
PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "606060000000050001a5f645400000000049454e44ae426082"
)

RICH = """\
# A plan for Zürich

Intro with **bold**, *italic*, ***both***, `code()`, ~~gone~~ and a [link](https://example.org/?a=1&b=2).
A second line: ≥ ✓ ½ “quoted” — Ελληνικά, Кириллица.

1. First
2. Second
   - nested
     - deeper
3. Third

Another:

7. Seven

> A quote
>
> - inside

| Name | Amount |
|:-----|------:|
| Alpha | 1,200.50 |
| Beta `x` | -3 |

```python
def f(x):
    return {"a": [1, 2]}
```

---

###### Small heading

$5 & <b>not bold</b> &amp; "stays".
"""

HOSTILE = {
    "nothing": "",
    "blank": " \n\t\n ",
    "control": "a\x00b\x07c\x1bd\x7fe\x9ff\ufffeg\uffffh\x0bi\x0cj",
    "half characters": "one \ud83d two \udc00 three \ud83d\ude00",
    "script": "<script>alert(1)</script><img src=x onerror=alert(1)><svg onload=alert(1)>",
    "links": "[a](javascript:alert(1)) [i](/local) [j](ftp://x.example) "
    "[b](data:text/html;base64,PHM+) [c](vbscript:x) "
    "<javascript:alert(1)> ![d](https://example.org/track.gif) ![e](javascript:1) "
    '[f](https://example.org/"onmouseover="alert(1)) [g][h]\n\n[h]: javascript:alert(1)',
    "markup in names": '# </title><script>alert(1)</script>\n\n```"><script>\nx\n```',
    "not closed": "```python\nprint(1)\n\nand on | and on\n\n**bold *and",
    "deep quotes": ">" * 3000 + " deep",
    "deep lists": "\n".join("  " * n + "- item" for n in range(200)),
    "brackets": "[" * 4000 + "x" + "](" * 400,
    "stars": "*a_" * 4000,
    "one long word": "x" * 60_000,
    "one long line of code": "```\n" + "y" * 30_000 + "\n```",
    "wide table": "|" + "c|" * 120 + "\n|" + "-|" * 120 + "\n|" + "1|" * 120 + "\n",
    "long table": "|a|b|\n|-|-|\n" + "|1|2|\n" * 600,
    "huge cell": "|a|b|\n|-|-|\n|" + "word " * 4000 + "|2|\n",
    "ragged table": "|a|b|\n|-|-|\n|1|\n|1|2|3|4|\n||\n",
    "formula": "|=1+1|@x|\n|-|-|\n|+cmd|-2|\n",
    "far numbers": "0. zero\n1. one\n\n999999999. many\n",
    "writing": "漢字かな交じり文 한국어 עברית العربية हिन्दी ไทย 🎉👩‍💻🇨🇭",
    "signs": "𝔘𝔫𝔦 \ue000\u202eevil\u200b",
    "line ends": "one\r\ntwo\rthree\u2028four\u0085five",
    "soft": "soft\u00adhyphen no\u00a0break",
    "entities": "&#0; &#x0; &lt;b&gt; &nbsp; ]]> <![CDATA[x]]> <?xml?> %PDF-1.4 <!--",
    "many": "word " * 12_000,
    "rich": RICH,
}
READABLE = ("markdown", "plain_text", "html", "docx", "pdf")


def node(role: str, parts: Parts, number: int, author: str = "model") -> Node:
    return Node(
        id=f"01J0000000000000000000{number:04}", session_id="01J" + "S" * 23,
        parent_id=f"01J0000000000000000000{number - 1:04}" if number else None,
        role=role, parts=parts, author=author, created_at=AT,
    )  # fmt: skip


def answer(text: str, title: str = "A plan") -> AnswerTaken:
    return AnswerTaken(title=title, node=node("assistant", (Text(text=text),), 1))


def branch(text: str, title: str = "A plan") -> BranchTaken:
    """A branch with everything that a message can hold, its words given."""
    picture = AttachmentRef(sha256="a" * 64, media_type="image/png", name=f"pic {text[:20]}.png")
    page = AttachmentRef(sha256="b" * 64, media_type="text/html", name="page.html")
    config = Config(provider="echo", model="echo-1", system=text[:500])
    called = ToolCall(id="1", name="look", arguments='{"at": "it"}')
    result = ToolResult(call_id="1", name="look", text=text[:2000], is_error=True)
    nodes = (
        node("user", (Text(text=text), picture, page), 0, "person"),
        node("assistant", (Thinking(text=f"THOUGHT {text[:2000]}"), called), 1),
        node("tool", (result,), 2),
        node("assistant", (Text(text="so "), Text(text=text)), 3, "hand-edited"),
        node("user", (Text(text="LAST WORDS"),), 4, "person"),
    )
    session = Session(
        id="01J" + "S" * 23, title=title, config=config, created_at=AT, updated_at=AT,
        objective=text[:300], done_when="done",
    )  # fmt: skip
    run = Run(
        id="01J" + "R" * 23, session_id=session.id, branch_id="01J" + "B" * 23,
        context_tip_id=nodes[0].id, purpose="reply", config=config, state="ended", owner="",
        started_at=AT, node_id=nodes[1].id, finish_reason="length",
        usage=Usage(input_tokens=1234, output_tokens=56), cost_nanodollars=2_100_000,
    )  # fmt: skip
    recap = Recap(
        id="01J" + "C" * 23, session_id=session.id, covers_to=nodes[1].id,
        text=f"RECAPPED {text[:300]}", created_at=AT,
    )  # fmt: skip
    return BranchTaken(
        session=session,
        branch=Branch(
            id="01J" + "B" * 23, session_id=session.id, name="main", tip_id=nodes[-1].id,
            created_at=AT,
        ),
        nodes=nodes,
        config=config,
        runs={nodes[1].id: run},
        models={nodes[1].id: "echo-1-mini", nodes[3].id: "echo-1-mini"},
        marks={nodes[3].id: {"final": "yes", "note": text[:100]}},
        recaps=(recap,),
        active_recap=recap,
        files={"a" * 64: PIXEL, "b" * 64: b"<script>alert(1)</script>"},
    )  # fmt: skip


class Read(HTMLParser):
    """A page: its tags, its words, and where it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []
        self._hidden = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        self._hidden = tag in ("style", "title")

    def handle_endtag(self, tag: str) -> None:
        self._hidden = False

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.words.append(data)


def opened(name: str, content: bytes) -> str:
    """The words in a file, read by a program that is not ours; checks that it is whole."""
    if name == "docx":
        body = docx.Document(io.BytesIO(content)).element.body
        return "\n".join(one.text or "" for one in body.iter() if one.tag.endswith("}t"))
    if name == "pdf":
        reader = pypdf.PdfReader(io.BytesIO(content), strict=True)
        return "\n".join(page.extract_text() for page in reader.pages)
    if name == "html":
        return "".join(html_of(content).words)
    return content.decode()


def html_of(content: bytes) -> Read:
    found = Read()
    found.feed(content.decode())
    found.close()
    return found


def dense(text: str) -> str:
    return re.sub(r"\s+", "", text)


def expected(markdown: str) -> str:
    """The words of a Markdown text as a reader of the page gets them."""
    said = []
    for block in blocks(markdown):
        said.append(block.marker + plain(block.spans) + block.text)
        said += [plain(cell) for row in block.rows for cell in row]
    return dense("".join(said))


# --- every writer, whatever it is given ----------------------------------------------------------


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("name", READABLE)
def test_an_answer_of_any_words_can_be_opened_again(name: str, what: str) -> None:
    content = writer(name).write(answer(HOSTILE[what], title=HOSTILE[what][:300]), Include())
    opened(name, content)


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("name", READABLE)
def test_a_branch_of_any_words_can_be_opened_again(name: str, what: str) -> None:
    everything = Include(thinking=True, tools=True, metadata=True, recaps="expanded")
    content = writer(name).write(branch(HOSTILE[what], title=HOSTILE[what][:300]), everything)
    assert "LASTWORDS" in dense(opened(name, content))


@pytest.mark.parametrize("what", HOSTILE)
def test_pieces_of_any_answer_are_files_or_a_reason(what: str) -> None:
    for pieces in ("all", "code", "tables"):
        wanted = replace(Include(), pieces=pieces)
        found = list(blocks(HOSTILE[what]))
        kinds = {"all": {"code", "table"}, "code": {"code"}, "tables": {"table"}}[pieces]
        if any(one.kind in kinds for one in found):
            assert isinstance(writer("pieces").write(answer(HOSTILE[what]), wanted), bytes)
        else:
            with pytest.raises(UserError, match="answer"):
                writer("pieces").write(answer(HOSTILE[what]), wanted)


@pytest.mark.parametrize("name", READABLE)
def test_an_empty_branch_is_a_title(name: str) -> None:
    empty = replace(branch("x"), nodes=(), recaps=(), active_recap=None)
    assert "Aplan" in dense(opened(name, writer(name).write(empty, Include())))


def test_the_same_subject_gives_the_same_bytes() -> None:
    for name in ("markdown", "plain_text", "html", "pdf"):
        assert len({writer(name).write(branch(RICH), Include()) for _ in range(2)}) == 1, name


def test_every_writer_says_what_it_is() -> None:
    for one in [*writers("answer"), *writers("branch")]:
        assert one.label
        assert re.fullmatch(r"[a-z0-9.]+", one.ending)
        assert re.fullmatch(r"[\w.+-]+/[\w.+-]+", one.media_type)
        assert one.options <= set(Include.__dataclass_fields__)


# --- exactly the words --------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["html", "docx", "pdf"])
def test_a_rendered_answer_has_all_of_its_words_and_no_others(name: str) -> None:
    found = dense(opened(name, writer(name).write(answer(RICH), Include())))
    wanted = expected(RICH)
    if name != "pdf":  # there the browser, and the word processor, number and mark the items
        wanted = re.sub(r"•|(?<=\S)\d\.(?=First|Second|Third|Seven)", "", wanted)
    assert found == wanted


@pytest.mark.parametrize("deep", [12, 28, 40, 400])
@pytest.mark.parametrize("name", READABLE)
def test_no_word_is_lost_however_deep_it_stands(name: str, deep: int) -> None:
    quotes = "> " * deep + "QUOTED"
    lists = "\n".join("  " * n + f"- item{n}" for n in range(deep)) + "\n\nAFTER"
    words = dense(opened(name, writer(name).write(answer(f"{quotes}\n\n{lists}"), Include())))
    assert "QUOTED" in words
    assert "AFTER" in words
    assert [n for n in range(deep) if f"item{n}" not in words] == []


def test_a_pdf_keeps_what_its_font_cannot_draw_and_says_so() -> None:
    found = opened("pdf", writer("pdf").write(answer("漢字 and 🎉 end"), Include()))
    assert "漢字 and 🎉 end" in found
    assert "U+6F22" in found
    assert "U+" not in opened("pdf", writer("pdf").write(answer("plain ✓"), Include()))


def test_a_document_has_real_headings_lists_tables_and_links() -> None:
    document = docx.Document(io.BytesIO(writer("docx").write(answer(RICH), Include())))
    styles = {one.text: one.style.name for one in document.paragraphs}
    assert styles["A plan for Zürich"] == "Heading 1"
    assert styles["Small heading"] == "Heading 6"
    assert (styles["First"], styles["nested"]) == ("List Number", "List Bullet 2")
    assert styles['def f(x):\n    return {"a": [1, 2]}'] == "Code"
    assert [[cell.text for cell in row.cells] for row in document.tables[0].rows] == [
        ["Name", "Amount"], ["Alpha", "1,200.50"], ["Beta x", "-3"],
    ]  # fmt: skip
    relations = document.part.rels.values()
    assert "https://example.org/?a=1&b=2" in [
        one.target_ref for one in relations if one.is_external
    ]
    assert document.core_properties.title == "A plan"


def test_each_numbered_list_counts_for_itself() -> None:
    document = docx.Document(io.BytesIO(writer("docx").write(answer(RICH), Include())))
    numbers = {
        one.text: one._p.pPr.numPr.numId.val
        for one in document.paragraphs
        if one.style.name == "List Number"
    }
    assert numbers["First"] == numbers["Third"] != numbers["Seven"]


# --- safe ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", HOSTILE)
@pytest.mark.parametrize("subject", [answer, branch])
def test_nothing_in_a_page_runs_or_is_fetched(subject: object, what: str) -> None:
    page = writer("html").write(subject(HOSTILE[what], HOSTILE[what][:300]), Include())  # type: ignore[operator]
    found = html_of(page)
    allowed = {
        "html", "head", "meta", "title", "style", "body", "h1", "h2", "h3", "h4", "h5", "h6", "p",
        "br", "hr", "a", "em", "strong", "s", "code", "pre", "ul", "ol", "li", "blockquote", "div",
        "table", "thead", "tbody", "tr", "th", "td", "article", "details", "summary", "dl", "dt",
        "dd", "img", "main",
    }  # fmt: skip
    assert found.tags <= allowed
    for tag, name, value in found.attributes:
        assert name in {
            "href", "rel", "class", "start", "alt", "src", "charset", "name", "content",
            "http-equiv", "lang", "dir", "role", "aria-label", "tabindex", "style", "data-lang",
        }, (tag, name)  # fmt: skip
        if name == "href":
            assert re.match(r"(https?|mailto):", value)
        if name == "src":
            assert value.startswith("data:image/png;base64,")
        if name == "style":
            assert re.fullmatch(r"text-align:(left|center|right)", value)
    policy = next(v for t, n, v in found.attributes if n == "content" and "default-src" in v)
    assert "default-src 'none'" in policy
    assert "script" not in policy


# --- what a person wants in it -------------------------------------------------------------------


@pytest.mark.parametrize("name", READABLE)
def test_the_options_decide_what_is_in_a_transcript(name: str) -> None:
    def found(**wanted: object) -> str:
        return dense(opened(name, writer(name).write(branch("hello"), Include(**wanted))))

    assert "THOUGHT" not in found()
    assert "THOUGHThello" in found(thinking=True)
    assert "Toolcall:look" in found(tools=True)
    assert "Toolcall:look" not in found(tools=False)
    assert "Toolerror:look" not in found(tools=False)
    assert "1,234tokensin" in found(metadata=True)
    assert "ended:length" in found(metadata=True)
    assert "1,234tokensin" not in found(metadata=False)
    assert "2026-03-01" not in found(metadata=False)
    assert "RECAPPED" not in found(recaps="folded")
    assert "Recap(standsinforeverythingabove)" in found(recaps="folded")
    assert "RECAPPEDhello" in found(recaps="expanded")
    assert "Recap" not in found(recaps="none")


@pytest.mark.parametrize("name", READABLE)
def test_a_transcript_names_turns_models_files_and_hands(name: str) -> None:
    found = dense(opened(name, writer(name).write(branch("hello"), Include())))
    for words in (
        "Turn1·You", "Turn1·echo-1-mini", "Turn1·echo-1-mini(editedbyhand)", "Turn2·You",
        "pichello.png", "page.html", "sohello", "final",
    ):  # fmt: skip
        assert words in found, words


def test_a_fence_left_open_does_not_swallow_the_next_turn() -> None:
    text = writer("markdown").write(branch("```\nopen"), Include(metadata=False)).decode()
    headings = [plain(one.spans) for one in blocks(text) if one.kind == "heading"]
    assert len(headings) == 7  # a title, five messages and a recap


def test_pictures_are_in_the_page_and_other_files_only_named() -> None:
    page = html_of(writer("html").write(branch("hello"), Include()))
    sources = [value for tag, name, value in page.attributes if name == "src"]
    assert len(sources) == 1
    assert "page.html" in "".join(page.words)
