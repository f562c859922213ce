"""Differences of texts: they cover both to the character, and tell what a reader looks for."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.diff import Diff, Segment, alike, blocks, compare, of_new, of_old, words
from core.diff.alike import matches

LINES = st.sampled_from(
    [
        "",
        "a b",
        "a  c, d",
        "| a | b |",
        "|---|---|",
        "| c | d e |",
        "| c \\| x |",
        "```py",
        "```",
        "~~~~",
        "# x",
        "- 1,200.50 don’t",
        "我喜欢 苹果",
        "e\u0301 👩\u200d💻",
        "\x0c\u2028 \r",
    ]
)
TEXTS = st.one_of(
    st.text(max_size=60), st.lists(LINES, max_size=12).map("\n".join), st.text("ab |-`\n")
)


def segments(found: Diff) -> list[Segment]:
    return [one for hunk in found.hunks for one in hunk.segments]


def told(old: str, new: str) -> list[tuple[str, str]]:
    return [(one.op, one.text) for one in words(old, new)]


@given(TEXTS, TEXTS)
@example("x", "x\n\n| a |\n|-|\n")
def test_a_diff_gives_either_text_from_the_other(old: str, new: str) -> None:
    for one, other in ((old, new), (new, old)):
        found = segments(compare(one, other))
        assert of_old(found) == one
        assert of_new(found) == other
        assert all(segment.text for segment in found)


@given(TEXTS)
def test_blocks_are_the_text(text: str) -> None:
    assert "".join(one.text for one in blocks(text)) == text
    assert all(one.op == "same" for one in segments(compare(text, text)))
    assert compare(text, text).share == 1


@given(TEXTS, TEXTS)
def test_what_is_told_of_words_covers_both(old: str, new: str) -> None:
    found = words(old, new)
    assert (of_old(found), of_new(found)) == (old, new)
    assert all(one.op != other.op for one, other in pairwise(found))  # neighbours of a kind are one


NUMBERS = st.lists(st.integers(0, 6), max_size=40)


@given(NUMBERS, NUMBERS, st.sampled_from([0, 30, 10_000]))
def test_what_stayed_is_in_order_and_the_same_however_long(
    old: list[int], new: list[int], area: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(alike, "_AREA", area)
        patch.setattr(alike, "_SAMPLED", 1)
        i = j = 0
        for x, y, length in matches(old, new):
            assert length > 0
            assert x >= i
            assert y >= j
            assert old[x : x + length] == new[y : y + length]
            i, j = x + length, y + length
        assert i <= len(old)
        assert j <= len(new)


def test_what_is_too_long_to_align_at_once_is_anchored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(alike, "_AREA", 2_000)
    old = list(range(1000))
    new = [n if n % 50 else -n for n in old]
    stayed = sum(length for _, _, length in matches(old, new))
    assert stayed > 950
    assert matches(old, [n + 5000 for n in old]) == []


def test_only_the_words_that_changed_are_told() -> None:
    assert told("keep\na big dog\n", "keep\na small dog\n") == [
        ("same", "keep\na "),
        ("removed", "big"),
        ("added", "small"),
        ("same", " dog\n"),
    ]
    assert told("It costs 1,200.50 now", "It costs 1,350 now")[1:3] == [
        ("removed", "1,200.50"),
        ("added", "1,350"),
    ]
    assert told("don’t go", "do go")[0] == ("removed", "don’t")


def test_space_alone_is_told_too() -> None:
    assert told("a b", "a\nb") == [
        ("same", "a"),
        ("removed", " "),
        ("added", "\n"),
        ("same", "b"),
    ]


def test_chinese_is_told_by_characters_and_counted_so() -> None:
    assert told("我喜欢吃苹果。", "我喜欢吃香蕉。") == [
        ("same", "我喜欢吃"),
        ("removed", "苹果"),
        ("added", "香蕉"),
        ("same", "。"),
    ]
    found = compare("我喜欢吃苹果。", "我喜欢吃香蕉。")
    assert (found.same, found.added, found.removed) == (4, 2, 2)


def test_characters_of_several_parts_stay_whole() -> None:
    assert ("removed", "👩\u200d💻") in told("x 👩\u200d💻", "x 👩\u200d🔬")
    assert ("removed", "नमस्ते") in told("नमस्ते b", "नमस्कार b")


def test_a_word_that_stayed_by_chance_between_long_changes_is_part_of_them() -> None:
    found = told("one two three the four five six", "seven eight nine the ten eleven twelve")
    assert [op for op, _ in found] == ["removed", "added"]


def test_code_is_compared_by_lines_and_never_within() -> None:
    old = "Text\n\n```py\na = 1  # first\nb = 2\n```\n"
    found = compare(old, old.replace("first", "second"))
    assert [hunk.kind for hunk in found.hunks] == ["prose", "code"]
    assert [(one.op, one.text) for one in found.hunks[1].segments] == [
        ("same", "```py\n"),
        ("removed", "a = 1  # first\n"),
        ("added", "a = 1  # second\n"),
        ("same", "b = 2\n```\n"),
    ]


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("```\n| a | b |\n|---|---|\n\n# x\n", ["code"]),
        ("````\n```\nx\n```\n````\nend", ["code", "prose"]),
        ("| a |\n|---|\n| b |\nafter", ["table", "prose"]),
        ("a | b\n--|--\nc | d\n\nx", ["table", "prose"]),
        ("a\n---\nb | c", ["prose"]),
        ("\n\na\n\n\nb\n", ["prose", "prose"]),
        ("a\n```\nx", ["prose", "code"]),
    ],
)
def test_texts_are_in_paragraphs_tables_and_code(text: str, kinds: list[str]) -> None:
    assert [one.kind for one in blocks(text)] == kinds


TABLE = "| Step | Owner | Days |\n|---|---|---|\n| Press | Ana | 3 |\n| Page | Bo | 5 |\n"


def rows(old: str, new: str) -> list[tuple[str, list[list[tuple[str, str]]]]]:
    (hunk,) = compare(old, new).hunks
    assert hunk.kind == "table"
    return [(r.op, [[(s.op, s.text) for s in cell] for cell in r.cells]) for r in hunk.rows]


def test_a_table_is_compared_by_rows_and_cells() -> None:
    new = TABLE.replace("| Bo | 5", "| Bo | 7").replace("| Page", "| Talk | Cy | 2 |\n| Page")
    found = rows(TABLE, new)
    assert [op for op, _ in found] == ["same", "same", "added", "changed"]
    assert found[3][1] == [
        [("same", "Page")],
        [("same", "Bo")],
        [("removed", "5"), ("added", "7")],
    ]


def test_a_column_that_came_is_told_as_a_column() -> None:
    new = "| Step | Where | Owner | Days |\n|---|---|---|---|\n| Press | Rome | Ana | 3 |\n"
    found = rows(TABLE, new)
    assert [op for op, _ in found] == ["changed", "changed", "removed"]
    assert found[1][1] == [
        [("same", "Press")],
        [("added", "Rome")],
        [("same", "Ana")],
        [("same", "3")],
    ]


def test_a_table_stays_itself_when_the_words_around_it_change() -> None:
    old = f"Before it\n\n{TABLE}\nAfter it\n"
    new = f"Said anew\n\n{TABLE.replace('Ana', 'Eva')}\nAnd at the end\n"
    assert [hunk.kind for hunk in compare(old, new).hunks] == ["prose", "table", "prose"]


def test_long_texts_are_aligned() -> None:
    old = "\n\n".join(f"Paragraph {n} says that item {n * 7} costs {n} euros." for n in range(9000))
    new = old.replace("item 7000 ", "item 7001 ").replace("Paragraph 5 ", "Section 5 ")
    found = compare(old, new)
    assert (found.added, found.removed) == (2, 2)
    assert of_new(segments(found)) == new
