"""What is gathered for an export, which file it becomes, and what that file is called."""

import csv
import io
import zipfile
from dataclasses import replace

import pytest

from core import Runner, Session, edit, fork, prune
from core.errors import NotFound, Unsupported, UserError
from core.exporting import answer, branch, file_name, scope_of, tree, write
from core.formats import writers
from core.recap import activate, add
from core.store import Store
from core.types import AnswerTaken, Include, Node, Text, new_id, now
from tests.unit.house import grow, parts, told


def taken(text: str, title: str = "A plan") -> AnswerTaken:
    node = Node(
        id=new_id(), session_id=new_id(), parent_id=None, role="assistant",
        parts=(Text(text=text),), author="model", created_at=now(),
    )  # fmt: skip
    return AnswerTaken(title=title, node=node)


# --- subjects -----------------------------------------------------------------------------------


def test_an_answer_is_its_words_and_the_branch_that_leads_to_it(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "one", "ONE", "two", "TWO")
    other = fork(store, nodes[1].id, from_branch=main, name="other")
    found = answer(store, session.id, nodes[3].id)
    assert (found.text, found.title) == ("TWO", session.title)
    assert found.branch == "main"
    store.sessions.change(session.id, current_branch_id=other.id)
    assert answer(store, session.id, nodes[1].id).branch == "other"


def test_a_message_or_branch_of_another_session_is_not_found(
    store: Store, session: Session, main: str
) -> None:
    node = grow(store, main, "one")[0]
    other = store.sessions.create(config=session.config)
    with pytest.raises(NotFound):
        answer(store, other.id, node.id)
    with pytest.raises(NotFound):
        branch(store, other.id, main)
    with pytest.raises(NotFound):
        branch(store, other.id, str(other.current_branch_id), tip_id=node.id)


def test_a_branch_comes_with_its_runs_models_marks_recaps_and_files(
    runner: Runner, session: Session, main: str
) -> None:
    store = runner.store
    file = store.attachments.add("plan.txt", "text/plain", b"a plan")
    store.attachments.add("other.txt", "text/plain", b"not of this branch")
    run = runner.wait(runner.send(main, "one", files=(file,)).id, 10)
    store.nodes.mark(str(run.node_id), "star", "yes")
    recap = add(store, session.id, str(run.node_id), "We said one.")
    activate(store, main, recap.id)
    found = branch(store, session.id, main)
    assert told(found.nodes) == ["one", "one"]
    assert found.runs[str(run.node_id)].id == run.id
    assert found.models == {run.node_id: "echo-1"}
    assert found.marks[str(run.node_id)] == {"star": "yes"}
    assert (found.recaps, found.active_recap) == ((recap,), recap)
    assert dict(found.files) == {file.sha256: b"a plan"}


def test_a_branch_up_to_a_node(store: Store, session: Session, main: str) -> None:
    nodes = grow(store, main, "one", "ONE", "two", "TWO")
    assert told(branch(store, session.id, main, tip_id=nodes[1].id).nodes) == ["one", "ONE"]


def test_models_of_imported_answers_are_known(store: Store, session: Session, main: str) -> None:
    nodes = grow(store, main, "one", "ONE")
    store.imports.note_nodes([(nodes[1].id, "key", "openai", "gpt-4o")])
    assert branch(store, session.id, main).models == {nodes[1].id: "gpt-4o"}


def test_a_tree_has_every_message_but_those_in_the_bin(
    store: Store, session: Session, main: str
) -> None:
    nodes = grow(store, main, "one", "ONE", "two", "TWO")
    node, made = edit(store, main, nodes[2].id, parts("deux"))
    grow(store, made.id, "DEUX")
    found = tree(store, session.id)
    assert sorted(told(found.nodes)) == ["DEUX", "ONE", "TWO", "deux", "one", "two"]
    ids = [one.id for one in found.nodes]
    assert all(one.parent_id is None or ids.index(one.parent_id) < ids.index(one.id)
               for one in found.nodes)  # fmt: skip
    prune(store, node.id)
    assert sorted(told(tree(store, session.id).nodes)) == ["ONE", "TWO", "one", "two"]


# --- files --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["markdown", "plain_text"])
@pytest.mark.parametrize(
    "text", ["", "  \n\n", "# A\n\n- b  \n\n```\nopen", "no end\r\nof line", "a\x00b", "<b>$5 & c"]
)
def test_an_answer_is_exactly_its_words(name: str, text: str) -> None:
    assert write(taken(text), name).content == text.encode()


def test_every_scope_has_its_writers() -> None:
    assert {"markdown", "plain_text", "html", "docx", "pdf", "pieces"} <= {
        one.name for one in writers("answer")
    }
    assert {"markdown", "plain_text", "html", "docx", "pdf"} <= {
        one.name for one in writers("branch")
    }


def test_a_format_is_refused_what_it_cannot_hold(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    with pytest.raises(Unsupported, match="cannot hold a branch"):
        write(branch(store, session.id, main), "pieces")
    with pytest.raises(NotFound):
        write(taken("x"), "scroll")


def test_a_scope_is_told_from_its_subject(store: Store, session: Session, main: str) -> None:
    grow(store, main, "one")
    subjects = [taken("x"), branch(store, session.id, main), tree(store, session.id)]
    assert [scope_of(one) for one in subjects] == ["answer", "branch", "tree"]


@pytest.mark.parametrize(
    ("title", "more", "name"),
    [
        ("From Plan to Playbook", (), "from-plan-to-playbook.md"),
        ("From Plan", ("answer",), "from-plan-answer.md"),
        ("", (), "turntree.md"),
        ("🎉 / .. \\ :*?", (), "turntree.md"),
        ("../../etc/passwd", (), "etc-passwd.md"),
        ("Zürich – Genève", (), "zürich-genève.md"),
        ("CON\x00\n\t", (), "turntree-con.md"),
        ("nul", ("aux",), "nul-aux.md"),
        ("🎉", ("answer",), "turntree-answer.md"),
        ("a b c d e f g h i j", (), "a-b-c-d-e-f-g-h.md"),
    ],
)
def test_a_file_gets_a_name_that_every_system_takes(
    title: str, more: tuple[str, ...], name: str
) -> None:
    assert file_name(title, *more, ending="md") == name


@pytest.mark.parametrize("title", ["x" * 5000, "é" * 300, "漢" * 300, "word" * 30 + " " + "y" * 90])
def test_a_file_name_is_never_too_long_for_a_disk(title: str) -> None:
    name = file_name(title, "answer", ending="docx")
    assert len(name.encode()) <= 255
    assert name.endswith("-answer.docx"), "what it is stays told"


def test_a_long_name_of_a_branch_does_not_push_out_the_title() -> None:
    name = file_name("A plan", "b" * 5000, ending="md")
    assert name.startswith("a-plan-bbb")
    assert len(name) < 130


# --- pieces -------------------------------------------------------------------------------------

MIXED = """\
Here it is:

```python title="../../app.py"
print("hi")
```

| Name | Sum |
|------|----:|
| Ann | -3.5 |
| =cmd() | **bold**, and more |

```js
let a = 1
```

~~~
no language
~~~
"""


def members(content: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_several_pieces_are_an_archive_in_their_order() -> None:
    file = write(taken(MIXED), "pieces")
    assert (file.name, file.media_type) == ("a-plan-answer.zip", "application/zip")
    found = members(file.content)
    assert list(found) == ["app.py", "table-1.csv", "code-2.js", "code-3.txt"]
    assert found["app.py"] == b'print("hi")\n'
    assert found["code-3.txt"] == b"no language\n"
    assert write(taken(MIXED), "pieces").content == file.content


def test_one_piece_is_one_file_of_its_kind() -> None:
    file = write(taken("Run:\n\n```bash\nls -l\n```\n"), "pieces", Include(pieces="code"))
    assert (file.name, file.content) == ("a-plan-code.sh", b"ls -l\n")


def test_a_table_is_csv_that_no_spreadsheet_runs() -> None:
    file = write(taken(MIXED), "pieces", Include(pieces="tables"))
    assert (file.name, file.media_type) == ("a-plan-tables.csv", "text/csv")
    rows = list(csv.reader(io.StringIO(file.content.decode("utf-8-sig"))))
    assert rows == [["Name", "Sum"], ["Ann", "-3.5"], ["'=cmd()", "bold, and more"]]


@pytest.mark.parametrize(
    ("pieces", "message"), [("all", "neither"), ("code", "no code"), ("tables", "no table")]
)
def test_an_answer_without_pieces_says_so(pieces: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        write(taken("Only words."), "pieces", replace(Include(), pieces=pieces))
