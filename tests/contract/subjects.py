"""Subjects of exports that are put together by hand: rich ones, and ones that mean harm."""

from collections.abc import Sequence
from typing import Any

from core.types import (
    Branch,
    BranchTaken,
    Check,
    CheckKind,
    Config,
    Json,
    Node,
    Session,
    Text,
    Thinking,
    TreeTaken,
)

AT = "2026-11-21T09:30:00.000Z"
EVIL = (
    "<script>window.hacked = 1</script><img src=x onerror='window.hacked=2'>"
    "[a](javascript:window.hacked=3) ![p](https://evil.example/p.png) {{ env.HOME }} {% raw %}"
    " <svg onload=window.hacked=4></svg> </style></article></main> \"'&\0\x1b\u2028\ud800 日本語 😀"
)


def node(name: str, parent: str | None, text: str = "", role: str = "", **more: Any) -> Node:
    """A message; even depths are the person's unless ``role`` says otherwise."""
    told: Any = role or ("assistant" if name.startswith("a") else "user")
    return Node(
        id=name,
        session_id="s",
        parent_id=parent,
        role=told,
        parts=more.pop("parts", (Text(text=text or name),)),
        author="person" if told == "user" else "model",
        created_at=AT,
        **more,
    )


def branch(name: str, tip: str | None) -> Branch:
    return Branch(id=f"b-{name}", session_id="s", name=name, tip_id=tip, created_at=AT)


def session(title: str = "A plan", **more: Any) -> Session:
    config = more.pop("config", Config(provider="openai", model="gpt-6"))
    return Session(id="s", title=title, config=config, created_at=AT, updated_at=AT, **more)


def tree(nodes: Sequence[Node], tip: str | None, *branches: Branch, **more: Any) -> TreeTaken:
    return TreeTaken(
        session=more.pop("session", session()),
        nodes=tuple(nodes),
        branches=branches,
        tip_id=tip,
        **more,
    )


def forked() -> TreeTaken:
    """q1 a1 then three ways on: q2 a2 (open), q3 a3 q4 a4, q5; and a second beginning."""
    nodes = [
        node("q1", None, "Draft a plan"),
        node("a1", "q1", "## The plan\n\n| a | b |\n|---|--:|\n| 1 | 2 |"),
        node("q2", "a1", "Shorter"),
        node("q3", "a1", "Bolder"),
        node("a2", "q2", "Short."),
        node("a3", "q3", "Bold.", parts=(Thinking(text="Hm"), Text(text="Bold."))),
        node("q4", "a3", "How much?"),
        node("a4", "q4", "A lot."),
        node("q5", "a1", EVIL),
        node("q0", None, "Another beginning"),
    ]
    marks = {"a1": {"final": "", "label": "<b>kept</b>"}}
    return tree(
        nodes,
        "a2",
        branch("main", "a2"),
        branch("bolder <i>", "a4"),
        branch("evil", "q5"),
        marks=marks,
        models={"a1": "gpt-6", "a2": "gpt-6", "a3": EVIL, "a4": "claude"},
    )


def hostile() -> TreeTaken:
    """Everything that a person or a file can name means harm."""
    nodes = [node("q1", None, EVIL), node("a1", "q1", EVIL), node("q2", "a1", EVIL)]
    return tree(
        nodes,
        "q2",
        branch(EVIL, "q2"),
        session=session(EVIL, objective=EVIL, done_when=EVIL),
        marks={"a1": {"label": EVIL, "final": EVIL}},
        models={"a1": EVIL},
    )


def chain(count: int) -> TreeTaken:
    """One long conversation."""
    names = [f"{'qa'[n % 2]}{n}" for n in range(count)]
    nodes = [node(name, names[n - 1] if n else None) for n, name in enumerate(names)]
    return tree(nodes, names[-1], branch("main", names[-1]))


def played(*said: str, checks: Sequence[tuple[CheckKind, Json]] = (), **more: Any) -> BranchTaken:
    """A branch in which these were asked, each answered."""
    config = more.pop("config", Config(provider="openai", model="gpt-6"))
    nodes: list[Node] = []
    for number, text in enumerate(said):
        nodes.append(node(f"q{number}", nodes[-1].id if nodes else None, text))
        nodes.append(node(f"a{number}", nodes[-1].id, f"answer {number}"))
    return BranchTaken(
        session=session(config=config, **more),
        branch=branch("main", nodes[-1].id if nodes else None),
        nodes=tuple(nodes),
        config=config,
        system=config.system,
        checks=tuple(
            Check(id=str(n), session_id="s", kind=kind, body=body, created_at=AT)
            for n, (kind, body) in enumerate(checks)
        ),
    )
