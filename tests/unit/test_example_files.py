"""The worked examples: whole trees, sound numbers, and prose that keeps what it promises."""

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import core

FOLDER = Path(core.__file__).parent / "examples"
NAMES = ("retention-playbook", "executive-summary", "slow-ci-pipeline")
TOP_KEYS = {
    "title",
    "blurb",
    "icon",
    "objective",
    "done_when",
    "turn_budget",
    "system",
    "nodes",
    "branches",
    "marks",
}
NODE_KEYS = {"key", "parent", "role", "text", "author"}
FORK_SENTENCE = "Let's pause here. I want to explore a different direction. Going back to your "


@cache
def example(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))
    return loaded


def nodes_of(name: str) -> dict[str, dict[str, Any]]:
    return {node["key"]: node for node in example(name)["nodes"]}


def lineage(name: str, tip: str) -> list[dict[str, Any]]:
    nodes, path, key = nodes_of(name), [], tip
    while key is not None:
        path.append(nodes[key])
        key = nodes[key]["parent"]
    return path[::-1]


def branch(name: str, title: str) -> dict[str, Any]:
    return next(item for item in example(name)["branches"] if item["name"] == title)


def final_text(name: str) -> str:
    (final,) = (mark["node"] for mark in example(name)["marks"] if mark["kind"] == "final")
    return str(nodes_of(name)[final]["text"])


def words(text: str) -> int:
    """Words a reader reads: table bars, rules and lone signs do not count."""
    return sum(bool(re.search(r"\w", piece)) for piece in text.split())


def numbers(text: str) -> set[str]:
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))


def test_there_are_exactly_the_three_examples() -> None:
    assert {path.stem for path in FOLDER.glob("*.json")} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_example_has_every_field_and_no_other(name: str) -> None:
    loaded = example(name)
    assert set(loaded) == TOP_KEYS
    for key in ("title", "blurb", "objective", "done_when", "system"):
        assert isinstance(loaded[key], str) and loaded[key].strip() == loaded[key] != ""
    assert len(loaded["blurb"]) <= 90
    assert "\n" not in loaded["blurb"]
    assert type(loaded["turn_budget"]) is int
    assert 4 <= loaded["turn_budget"] <= 6


def test_each_card_has_its_own_icon() -> None:
    assert {example(name)["icon"] for name in NAMES} == {"map", "edit", "branch"}


@pytest.mark.parametrize("name", NAMES)
def test_nodes_form_one_tree_with_parents_before_children(name: str) -> None:
    seen: set[str] = set()
    for node in example(name)["nodes"]:
        assert node["key"] not in seen
        assert (node["parent"] is None) == (not seen), "one root, and it comes first"
        assert node["parent"] is None or node["parent"] in seen
        seen.add(node["key"])


@pytest.mark.parametrize("name", NAMES)
def test_people_and_models_take_turns(name: str) -> None:
    nodes = nodes_of(name)
    for node in nodes.values():
        before = nodes[node["parent"]]["role"] if node["parent"] else "assistant"
        assert {node["role"], before} == {"user", "assistant"}


@pytest.mark.parametrize("name", NAMES)
def test_every_node_says_who_wrote_it(name: str) -> None:
    for node in nodes_of(name).values():
        if node["role"] == "user":
            assert set(node) == NODE_KEYS
            assert node["author"] == "person"
        else:
            assert set(node) == NODE_KEYS | {"model"}
            assert node["author"] in {"model", "hand-edited"}
            assert node["model"] == "example"


@pytest.mark.parametrize("name", NAMES)
def test_a_hand_edited_answer_stands_beside_the_one_it_came_from(name: str) -> None:
    nodes = nodes_of(name).values()
    for edited in (node for node in nodes if node["author"] == "hand-edited"):
        origins = [
            node
            for node in nodes
            if node["parent"] == edited["parent"] and node["author"] == "model"
        ]
        assert len(origins) == 1
        assert origins[0]["text"] != edited["text"]


@pytest.mark.parametrize("name", NAMES)
def test_every_leaf_is_the_tip_of_one_branch(name: str) -> None:
    loaded, nodes = example(name), nodes_of(name)
    leaves = set(nodes) - {node["parent"] for node in nodes.values()}
    tips = [item["tip"] for item in loaded["branches"]]
    assert sorted(tips) == sorted(leaves)
    assert all(nodes[tip]["role"] == "assistant" for tip in tips)


@pytest.mark.parametrize("name", NAMES)
def test_branches_are_named_noted_and_fork_where_they_say(name: str) -> None:
    first, *others = example(name)["branches"]
    trunk = {node["key"] for node in lineage(name, first["tip"])}
    assert first["forked_from"] is None
    for item in (first, *others):
        assert set(item) == {"name", "tip", "forked_from", "note"}
        assert item["name"] and item["note"]
    for item in others:
        shared = [node["key"] for node in lineage(name, item["tip"]) if node["key"] in trunk]
        assert shared[-1] == item["forked_from"]
    assert len({item["name"] for item in (first, *others)}) == 1 + len(others)


@pytest.mark.parametrize("name", NAMES)
def test_every_branch_finishes_within_the_turn_budget(name: str) -> None:
    for item in example(name)["branches"]:
        asked = [node for node in lineage(name, item["tip"]) if node["role"] == "user"]
        assert 3 <= len(asked) <= example(name)["turn_budget"]


@pytest.mark.parametrize("name", NAMES)
def test_marks_point_at_nodes_and_the_current_branch_ends_in_the_final(name: str) -> None:
    loaded, nodes = example(name), nodes_of(name)
    pairs = [(mark["node"], mark["kind"]) for mark in loaded["marks"]]
    assert len(pairs) == len(set(pairs))
    for mark in loaded["marks"]:
        assert set(mark) == {"node", "kind", "value"}
        assert mark["node"] in nodes
        assert mark["kind"] in {"final", "note", "label"}
        assert mark["value"]
    finals = [mark["node"] for mark in loaded["marks"] if mark["kind"] == "final"]
    assert finals == [loaded["branches"][0]["tip"]]


@pytest.mark.parametrize("name", NAMES)
def test_answers_are_neither_thin_nor_long(name: str) -> None:
    for node in nodes_of(name).values():
        assert node["text"] == node["text"].strip() != ""
        if node["role"] == "assistant":
            assert 80 <= words(node["text"]) <= 260, node["key"]


@pytest.mark.parametrize("name", NAMES)
def test_answers_show_markdown_that_is_well_formed(name: str) -> None:
    answers = [node["text"] for node in nodes_of(name).values() if node["role"] == "assistant"]
    together = "\n".join(answers)
    assert re.search(r"^##? ", together, re.MULTILINE)
    assert re.search(r"^- ", together, re.MULTILINE)
    assert re.search(r"^\|[-:| ]+\|$", together, re.MULTILINE)
    for text in answers:
        assert text.count("**") % 2 == 0
        assert text.count("```") % 2 == 0
        tables = re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE)
        for table in tables:
            assert len({row.count("|") for row in table.strip().split("\n")}) == 1


@pytest.mark.parametrize("name", NAMES)
def test_text_holds_no_links_no_raw_html_and_no_pictograms(name: str) -> None:
    raw = json.dumps(example(name), ensure_ascii=False)
    assert "http" not in raw
    assert not re.search(r"</?[a-zA-Z]", raw)
    assert not re.search("[\U0001f000-\U0001faff\u2600-\u27bf]", raw)


def test_the_executive_summary_keeps_its_own_definition_of_done() -> None:
    final = final_text("executive-summary")
    nodes = nodes_of("executive-summary")
    assert words(final) <= 120
    assert not re.search(r"\b(may|might|could|seem\w*|appear\w*)\b", final, re.IGNORECASE)
    for kept in ("31%", "$1.02 million", "June", "every later replacement"):
        assert kept in final
    known = numbers(nodes["u1"]["text"]) | numbers(nodes["a1"]["text"]) | {str(24 + 60)}
    assert numbers(final) <= known


def test_the_executive_summary_computes_what_it_says_it_computed() -> None:
    first = nodes_of("executive-summary")["a1"]["text"]
    saved = 60 * 30_000 * (42 - 29) // 100
    assert f"${saved:,}" in first
    assert f"{1_020_000 / saved:.1f} years" in first
    assert f"{1 - 29 / 42:.0%}" in first
    assert f"{212 / 180 - 1:.0%}" in first


def test_only_the_last_paragraph_of_the_summary_was_edited_by_hand() -> None:
    nodes = nodes_of("executive-summary")
    drafted = nodes["a3"]["text"].split("\n\n")
    edited = nodes["a3-edited"]["text"].split("\n\n")
    assert drafted[:-1] == edited[:-1]
    assert drafted[-1] != edited[-1]


def test_the_playbook_keeps_its_own_definition_of_done() -> None:
    rows = [row for row in final_text("retention-playbook").split("\n") if re.match(r"\| \d", row)]
    assert 1 <= len(rows) <= 6
    for row in rows:
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == 5
        assert all(cells)
    plays = nodes_of("retention-playbook")["a3"]["text"]
    hours = [float(found) for found in re.findall(r"\(([\d.]+) h\)", plays)]
    assert len(hours) == len(rows)
    assert sum(hours) == 10


def test_the_pipeline_stages_add_up_to_45_minutes() -> None:
    table = nodes_of("slow-ci-pipeline")["a1"]["text"]
    rows = re.findall(r"^\|[^|]+\| (\d+) \| (\d+)% \|", table, re.MULTILINE)
    assert sum(int(minutes) for minutes, _ in rows) == 45
    for minutes, share in rows:
        assert round(int(minutes) / 45 * 100) == int(share)


def test_the_pipeline_forks_one_diagnosis_into_two_approaches_of_two_turns() -> None:
    name = "slow-ci-pipeline"
    kept, other = branch(name, "Cache and prune"), branch(name, "Split and parallelise")
    fork = other["forked_from"]
    for item in (kept, other):
        tail = [node["key"] for node in lineage(name, item["tip"])]
        assert len(tail[tail.index(fork) + 1 :]) == 4
    path = lineage(name, other["tip"])
    after = path[[node["key"] for node in path].index(fork) + 1]
    assert after["text"].startswith(FORK_SENTENCE)
    assert ", what if we " in after["text"]


def test_the_pipeline_example_shows_one_block_of_code() -> None:
    answers = [node["text"] for node in nodes_of("slow-ci-pipeline").values()]
    assert sum(len(re.findall(r"^```bash$", text, re.MULTILINE)) for text in answers) == 1
