"""Texts with variables, what may be kept, and the library as files."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.changes import changes
from core.errors import BadFile, UserError
from core.library import (
    MOST_CHARACTERS,
    Body,
    Item,
    Variable,
    Version,
    as_text,
    check,
    clean_name,
    clean_tags,
    cleaned,
    fill,
    matches,
    names_in,
    number_text,
    preview,
    variables_of,
)
from core.library_files import MOST_BYTES, file_name, read, to_json, to_markdown
from core.library_templates import entries, templates
from core.types import Config

CONFIG = Config(provider="echo", model="echo-1", system="Be brief", sampling={"t": 0.5})


def body(*turns: str, **more: Any) -> Body:
    return Body(turns=turns, **more)


# --- variables -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("{{a}} {{ b }} {{a}}", ("a", "b")),
        (
            "{{two words}} {{under_score}} {{da-sh}} {{x1}}",
            ("two words", "under_score", "da-sh", "x1"),
        ),
        ("{{größe}} {{主题}}", ("größe", "主题")),
        ("{{two  \t words}}", ("two words",)),
        (r"\{{a}} is {{b}}", ("b",)),
        (
            "{{{raw}}} {{ user.id }} {{#if x}} {{1}} {{}} {{ }} {a} {{a\nb}} {{" + "a" * 61 + "}}",
            (),
        ),
        ("{{a}}{{b}}", ("a", "b")),
        ("{{a", ()),
    ],
)
def test_variables_are_found_and_what_is_none_is_left(text: str, names: tuple[str, ...]) -> None:
    assert names_in([text]) == names


def test_a_declared_variable_keeps_its_type_and_others_are_lines() -> None:
    number = Variable(name="n", kind="number")
    found = variables_of(body("{{a}} {{n}}", variables=(number, Variable(name="unused"))))
    assert found == (Variable(name="a"), number)
    assert found[0].label == "A"


def test_filling_is_one_pass_and_asked_once_for_all_turns() -> None:
    script = body("Tell {{who}} of {{what}}", r"Again, {{what}}, not \{{what}}")
    assert fill(script, {"who": "{{what}}", "what": "x\\1 {{who}}"}) == (
        "Tell {{what}} of x\\1 {{who}}",
        "Again, x\\1 {{who}}, not {{what}}",
    )


def test_blank_takes_the_default_and_everything_missing_is_named_at_once() -> None:
    script = body("{{a}} {{b}} {{c}}", variables=(Variable(name="b", default="B"),))
    with pytest.raises(UserError, match="A, C") as caught:
        fill(script, {"a": "  ", "b": ""})
    assert caught.value.hint
    assert fill(script, {"a": "1", "c": "3"}) == ("1 B 3",)
    assert preview(script, {"a": "1"}) == ("1 B {{c}}",)


def test_what_does_not_fit_its_type_is_said_with_the_name() -> None:
    script = body(
        "{{n}} {{c}}",
        variables=(
            Variable(name="n", kind="number", ask="How many?"),
            Variable(name="c", kind="choice", choices=("x", "y")),
        ),
    )
    for values in ({"n": "many", "c": "x"}, {"n": "nan", "c": "x"}, {"n": "inf", "c": "x"}):
        with pytest.raises(UserError, match="How many"):
            fill(script, values)
    with pytest.raises(UserError, match="not one of x, y"):
        fill(script, {"n": "1", "c": "z"})
    assert fill(script, {"n": "3", "c": "y"}) == ("3 y",)
    assert [number_text(n) for n in (3.0, 0.25, 1e20, -2.0)] == ["3", "0.25", "1e+20", "-2"]


@given(st.text(), st.text())
def test_any_text_without_variables_is_left_as_it_is(before: str, after: str) -> None:
    text = (before + after).replace("{", "(")
    assert fill(body(text), {}) == (text,)


# --- what may be kept ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "given_body", "words"),
    [
        ("prompt", body(), "text is empty"),
        ("prompt", body("  \n"), "text is empty"),
        ("prompt", body("a", "b"), "2 turns"),
        ("conversation", body("a", " "), "Turn 2 is empty"),
        ("conversation", body(*["a"] * 101), "101 turns"),
        ("prompt", body("a" * (MOST_CHARACTERS + 1)), "characters"),
        ("prompt", body(" ".join(f"{{{{v{n}}}}}" for n in range(51))), "51 variables"),
        ("prompt", body("a", about="a" * 2001), "description"),
        ("prompt", body("{{c}}", variables=(Variable(name="c", kind="choice"),)), "choose from"),
        (
            "prompt",
            body("{{c}}", variables=(Variable(name="c", kind="number", default="x"),)),
            "default of C",
        ),
        (
            "prompt",
            body("{{c}}", variables=(Variable(name="c", ask="a" * 2001),)),
            "too long",
        ),
        (
            "prompt",
            body(
                "{{c}}",
                variables=(Variable(name="c", kind="choice", choices=tuple(map(str, range(101)))),),
            ),
            "more than 100",
        ),
        ("preset", Body(), "provider"),
        ("preset", Body(config=Config(provider="x", model="")), "model"),
    ],
)
def test_what_could_not_be_used_is_refused_with_a_reason(
    kind: Any, given_body: Body, words: str
) -> None:
    with pytest.raises(UserError, match=words) as caught:
        check(kind, given_body)
    assert caught.value.hint


def test_a_body_is_mended_before_it_is_kept() -> None:
    mended = cleaned(
        "prompt",
        body(
            "a \ud83d {{ x  y }}",
            about=" two \n lines ",
            config=CONFIG,
            variables=(Variable(name="gone"), Variable(name="x y", choices=("a", "a"))),
        ),
    )
    assert mended.turns == ("a \ufffd {{ x  y }}",)
    assert (mended.about, mended.config) == ("two lines", None)
    assert mended.variables == (Variable(name="x y"),)
    preset = cleaned("preset", body("words", config=Config(provider="p", model="\ud83d")))
    assert (preset.turns, preset.config) == ((), Config(provider="p", model="\ufffd"))


def test_names_and_tags_are_lines() -> None:
    assert clean_name("  a \n b ") == "a b"
    assert clean_tags([" B  c ", "b c", "", "A"]) == ("a", "b c")
    for name in ("", " \n", "a" * 121):
        with pytest.raises(UserError):
            clean_name(name)
    with pytest.raises(UserError):
        clean_tags(map(str, range(21)))


def test_all_of_an_item_can_be_searched_and_read() -> None:
    told = as_text("conversation", body("one {{x}}", "two", about="What for"))
    assert told == "What for\n\nTurn 1\none {{x}}\n\nTurn 2\ntwo\n\n{{x}}: text\n"
    assert matches((told,), "TWO what") and not matches((told,), "two three")
    assert "t: 0.5" in as_text("preset", Body(config=CONFIG))


# --- changes -------------------------------------------------------------------------------------


@given(st.text(alphabet="ab \n"), st.text(alphabet="ab \n"))
def test_both_texts_are_in_their_changes(old: str, new: str) -> None:
    found = changes(old, new)
    assert "".join(c.text for c in found if c.kind != "added") == old
    assert "".join(c.text for c in found if c.kind != "removed") == new


def test_only_the_word_that_changed_is_told() -> None:
    told = [(c.kind, c.text) for c in changes("keep\na big dog\n", "keep\na small dog\n")]
    assert told == [
        ("same", "keep\na "),
        ("removed", "big"),
        ("added", "small"),
        ("same", " dog\n"),
    ]


def test_a_long_stretch_is_told_in_lines() -> None:
    long = "word " * 2000
    assert [c.kind for c in changes(long + "a", long + "b")] == ["removed", "added"]


# --- files ---------------------------------------------------------------------------------------

CHOICE = Variable(name="tone", kind="choice", choices=("warm", "dry"), default="dry", ask="Tone?")
ITEMS = (
    Item(
        kind="conversation",
        name="A – ünï “q”",
        tags=("x", "y z"),
        versions=(
            Version(body=body("one"), note="first", created_at="2026-01-02T03:04:05.000Z"),
            Version(body=body("one {{tone}}", "two\n\n---\n", variables=(CHOICE,), about="What")),
        ),
    ),
    Item(kind="preset", name="P", versions=(Version(body=Body(config=CONFIG)),)),
    Item(kind="system", name="S", versions=(Version(body=body("You are {{who}}")),)),
)


def test_json_comes_back_as_it_went() -> None:
    again = read("a.json", to_json(ITEMS))
    filled = [cleaned(item.kind, version.body) for item in ITEMS for version in item.versions]
    assert [version.body for item in again for version in item.versions] == filled
    assert [(i.kind, i.name, i.tags) for i in again] == [(i.kind, i.name, i.tags) for i in ITEMS]
    assert again[0].versions[0].note == "first"
    assert again[0].versions[0].created_at == "2026-01-02T03:04:05.000Z"
    assert to_json(again) == to_json(read("b.JSON", to_json(again)))


def test_markdown_comes_back_in_its_words() -> None:
    (item,) = read("other name.md", to_markdown(ITEMS[0]).encode())
    assert (item.kind, item.name) == ("conversation", "A – ünï “q”")
    assert item.body.turns == ("one {{tone}}", "two\n\n---")
    (prompt,) = read("My prompt.txt", "\ufeffLine\r\n\r\n## Turn 2\r\nno script".encode())
    assert (prompt.kind, prompt.name) == ("prompt", "My prompt")
    assert prompt.body.turns == ("Line\n\n## Turn 2\nno script",)
    assert to_markdown(prompt) == prompt.body.turns[0]


def test_file_names_are_for_every_system() -> None:
    assert file_name("A/b: ünï?", "json") == "a-b-ünï.json"
    assert file_name("///", "md") == "library.md"


def whole(*items: Any, **more: Any) -> bytes:
    return json.dumps({"format": "turntree-library", "version": 1, "items": items} | more).encode()


def one(**more: Any) -> dict[str, Any]:
    return {"kind": "prompt", "name": "N", "versions": [{"turns": ["a"]}]} | more


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.json", b"", "is empty"),
        ("a.json", b" \n", "is empty"),
        ("a.json", b"{", "is not JSON"),
        ("a.json", b'{"a": NaN}', "not JSON"),
        ("a.json", b"[" * 100_000, "nested too deeply"),
        ("a.json", b"[" * 50 + b"]" * 50, "nested too deeply"),
        ("a.json", "é".encode("latin-1"), "UTF-8"),
        ("a.json", '{"a": 1}'.encode("utf-16"), "UTF-8"),
        ("a.md", b"a\0b", "UTF-8"),
        ("a.md", b"\x89PNG\r\n", "UTF-8"),
        ("a.pdf", b"%PDF", "neither"),
        ("noending", b"x", "neither"),
        ("a.txt", b"a" * (MOST_BYTES + 1), "5.0 MB"),
        ("a.txt", b"a" * (MOST_CHARACTERS + 1), "characters"),
        ("a.md", b"## Turn 1\n\n## Turn 2\nb", "Turn 1 is empty"),
        ("a.json", b"[]", "not a library"),
        ("a.json", b'{"format": "other"}', "not a library"),
        ("a.json", whole(version=2), "has version 2"),
        ("a.json", whole(items={}), "no list"),
        ("a.json", whole(*[one()] * 1001), "no list"),
        ("a.json", whole("x"), "item 1"),
        ("a.json", whole(one(), one(kind="tool")), "item 2, kind"),
        ("a.json", whole(one(name="")), "no name"),
        ("a.json", whole(one(name=3)), "item 1, name"),
        ("a.json", whole(one(tags="x")), "item 1, tags"),
        ("a.json", whole(one(versions=[])), "0 versions"),
        ("a.json", whole(one(versions=[{"turns": ["a"]}] * 201)), "201 versions"),
        ("a.json", whole(one(versions=["x"])), "versions"),
        ("a.json", whole(one(versions=[{"turns": [1]}])), "turns"),
        ("a.json", whole(one(versions=[{"turns": [" "]}])), "empty"),
        ("a.json", whole(one(versions=[{"turns": ["{{a}}"], "variables": [{}]}])), "name"),
        (
            "a.json",
            whole(one(versions=[{"turns": ["a"], "variables": [{"name": "a", "kind": "file"}]}])),
            "kind",
        ),
        ("a.json", whole(one(kind="preset")), "provider"),
        ("a.json", whole(one(kind="preset", versions=[{"config": {"provider": 1}}])), "provider"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_whole_with_a_reason(
    name: str, content: bytes, words: str
) -> None:
    with pytest.raises(BadFile, match=words) as caught:
        read(name, content)
    assert name in caught.value.message
    assert caught.value.hint


def test_unknown_fields_half_characters_and_odd_times_do_no_harm() -> None:
    odd = {"turns": ["a \ud83d"], "created_at": "yesterday", "note": 3, "colour": "red"}
    (item,) = read("a.json", whole(one(versions=[odd], author="x"), author="y"))
    assert item.versions == (Version(body=body("a \ufffd")),)


# --- templates -----------------------------------------------------------------------------------


def test_the_templates_are_sound_and_can_be_run_when_filled() -> None:
    assert len(templates()) >= 8
    assert sum(item.kind == "conversation" for item in templates().values()) >= 3
    names = [item.name for item in templates().values()]
    assert len(set(names)) == len(names)
    for entry in entries():
        assert entry.body.about, entry.name
        for variable in variables_of(entry.body):
            assert variable.ask, f"{entry.name}: {variable.name}"
        values = {
            v.name: v.default or (v.choices[0] if v.choices else "7")
            for v in variables_of(entry.body)
        }
        for turn in fill(entry.body, values):
            assert "{{" not in turn
        declared = {variable.name for variable in entry.body.variables}
        assert declared == set(names_in(entry.body.turns)), entry.name
