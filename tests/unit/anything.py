"""Sessions with anything in them, made act by act: for what must bring everything along."""

import json
from collections.abc import Callable, Sequence

from core import Store, Text
from core.types import (
    AttachmentRef,
    Comparison,
    Failure,
    Job,
    Line,
    Node,
    Origin,
    Override,
    Recap,
    Request,
    Requirement,
    Run,
    Session,
    Step,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    Verdict,
    new_id,
    now,
)
from tests.conftest import ECHO

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360"
    "f8cfc0f01f00050001ff9e1b1d0c0000000049454e44ae426082"
)


class Maker:
    """Does acts to one session; ``number`` chooses among what is there, ``text`` is its words."""

    def __init__(self, store: Store, session: Session) -> None:
        self.store, self.session = store, session
        self.nodes: list[str] = []
        self.runs: list[str] = []
        self.comparisons: list[Comparison] = []

    def do(self, name: str, number: int, text: str) -> None:
        ACTS[name](self, number, text)

    # --- what there is ---

    def node(self, number: int) -> str:
        if not self.nodes:
            self.say(number, "first")
        return self.nodes[number % len(self.nodes)]

    def branch(self, number: int) -> str:
        live = self.store.branches.of(self.session.id)
        return live[number % len(live)].id

    def file(self, number: int, text: str) -> AttachmentRef:
        if number % 2:
            return self.store.attachments.add("picture.png", "image/png", PNG)
        return self.store.attachments.add(
            "a.txt", "text/plain", f"{'Plain words. ' * 400}{number} {text}".encode()
        )

    # --- acts ---

    def say(self, number: int, text: str, *more: object) -> None:
        parent = self.nodes[number % len(self.nodes)] if self.nodes and number % 7 else None
        role = "assistant" if number % 2 and parent else "user"
        node = Node(
            id=new_id(),
            session_id=self.session.id,
            parent_id=parent,
            role=role,
            parts=(*more, Text(text=text)),
            author=("person", "model", "hand-edited", "import")[number % 4],
            created_at=now(),
            source_id=self.nodes[0] if self.nodes and number % 5 == 0 else None,
            sent_suffix="" if number % 3 else "Keep to it.",
            raw={"items": [text, number / 7], "hash": "0", "after": 0} if number % 3 == 1 else None,
        )
        self.nodes.append(self.store.nodes.add(node).id)
        if number % 2:
            self.store.branches.move(self.branch(number), node.id, why="send")

    def think(self, number: int, text: str) -> None:
        self.say(
            number,
            text,
            Thinking(text=text[::-1]),
            ToolCall(id="1", name="look", arguments=json.dumps({"q": text})),
            ToolResult(call_id="1", name="look", text=text, is_error=bool(number % 2)),
        )

    def attach(self, number: int, text: str) -> None:
        self.say(number, text, self.file(number // 3, text))

    def fork(self, number: int, text: str) -> None:
        taken = self.store.branches.names(self.session.id)
        made = self.store.branches.create(
            self.session.id, f"{text} {len(taken)} {number}", self.node(number), self.node(number)
        )
        self.store.branches.annotate(made.id, text)
        if number % 2:
            self.store.branches.link(made.id, self.branch(number))
            self.store.branches.choose_config(made.id, ECHO)
            self.store.branches.choose_policy(made.id, "last_turns", number % 9)
        if number % 3 == 0:
            self.store.branches.go_past_budget(made.id)

    def prune(self, number: int, text: str) -> None:
        live = self.store.branches.of(self.session.id)
        if len(live) < 2:
            return
        gone = next(one for one in live if one.id != self.session.current_branch_id)
        self.store.branches.bin(gone.id, now())
        change = {"branch": gone.id, "name": gone.name, "from": gone.tip_id, "binned": True}
        self.store.branches.add_bin(self.session.id, gone.tip_id, [change], text)

    def mark(self, number: int, text: str) -> None:
        kind = ("label", "star", "rating", "final", "note")[number % 5]
        self.store.nodes.mark(self.node(number), kind, text)

    def recap(self, number: int, text: str) -> None:
        made = Recap(
            id=new_id(),
            session_id=self.session.id,
            covers_to=self.node(number),
            text=text,
            created_at=now(),
            run_id=self.runs[0] if self.runs else None,
        )
        self.store.recaps.add(made)
        branch, node = self.branch(number), self.node(number)
        self.store.recaps.override(branch, Override(kind="recap", target_id=made.id))
        self.store.recaps.override(branch, Override(kind="pin", target_id=node))
        self.store.recaps.override(self.branch(0), Override(kind="mute", target_id=node))

    def ask(self, number: int, text: str) -> None:
        run = Run(
            id=new_id(),
            session_id=self.session.id,
            branch_id=self.branch(number),
            context_tip_id=self.node(number),
            purpose=("reply", "drift", "recap")[number % 3],
            config=ECHO,
            state="running",
            owner="some-machine|1|2",
            started_at=now(),
            sample=number % 3,
            reads_id=self.node(0) if number % 4 == 0 else None,
        )
        self.runs.append(run.id)
        sent = [{"role": "user", "content": one} for one in (*"abc"[: number % 4], text)]
        request = Request(envelope={"model": "echo-1", "system": text}, messages=tuple(sent))
        pinned = (Override(kind="pin", target_id=self.node(0)),)
        self.store.runs.start(run, request=request, overrides=pinned, objective=text)
        if number % 5 == 0:
            self.store.runs.save_partial(run.id, (Text(text=text),), run.owner)
            return
        self.store.runs.end(
            run.id,
            finish_reason="stop" if number % 2 else "error",
            node_id=self.node(number) if number % 2 else None,
            usage=Usage(input_tokens=number, output_tokens=7),
            cost_nanodollars=number * 1000,
            duration_ms=number,
            failure=None if number % 2 else Failure(kind="Timeout", message=text, status=503),
            words=(Text(text=text),) if number % 3 else (),
        )

    def want(self, number: int, text: str) -> None:
        self.store.requirements.add(
            [
                Requirement(
                    id=new_id(),
                    session_id=self.session.id,
                    node_id=self.node(number),
                    text=text,
                    honoured=(None, True, False)[number % 3],
                    answer_id=self.node(0),
                    created_at=now(),
                )
            ]
        )

    def wait(self, number: int, text: str) -> None:
        branch = self.branch(number)
        files = (self.file(number, text),) if number % 2 else ()
        self.store.branches.enqueue(branch, text, ("waiting", "held")[number % 2], files=files)
        self.store.attachments.hold(branch, [self.file(number + 1, text)])
        self.store.drafts.keep(self.session.id, f"draft.{self.session.id}.{number % 5}", text)

    def compare(self, number: int, text: str) -> None:
        made = self.store.comparisons.create(self.session.id, text, at_id=self.node(number))
        lanes = [
            self.store.comparisons.add_lane(made.id, self.branch(number + place), sample=place)
            for place in range(2)
        ]
        self.store.comparisons.drop(lanes[0].id, now() if number % 2 else None)
        self.store.comparisons.keep(lanes[1].id)
        self.store.comparisons.set_blind(made.id, bool(number % 2))
        self.store.comparisons.note_origins(
            self.node(number), [Origin(node_id="", origin_id=self.node(0), kind="fuse")]
        )
        self.comparisons.append(made)

    def judge(self, number: int, text: str) -> None:
        tips = {self.branch(place): self.node(place) for place in range(2)}
        self.store.verdicts.add(
            Verdict(
                id=new_id(),
                session_id=self.session.id,
                by="judge" if number % 2 else "person",
                tips=tips,
                created_at=now(),
                comparison_id=self.comparisons[0].id if self.comparisons else None,
                winner=self.branch(number) if number % 3 else None,
                ratings={next(iter(tips)): number / 3},
                note=text,
                body={"votes": [text]} if number % 2 else None,
            )
        )
        self.store.verdicts.add_check(self.session.id, "contains", {"text": text})
        self.store.verdicts.choose_rubric(self.session.id, [{"text": text, "weight": 2.5}])

    def play(self, number: int, text: str) -> None:
        job = Job(
            id=new_id(),
            session_id=self.session.id,
            kind="matrix",
            name=text,
            created_at=now(),
            state=("running", "paused", "done")[number % 3],
            spec={"branch": self.branch(number), "turns": [text]},
        )
        line = Line(
            id=new_id(),
            job_id=job.id,
            place=0,
            name=text,
            config=ECHO,
            base_id=self.node(number),
            branch_id=self.branch(number) if number % 2 else None,
            values={"name": text},
        )
        step = Step(
            id=new_id(),
            line_id=line.id,
            turn=1,
            text=text,
            files=(self.file(number, text),) if number % 2 else (),
            rounds=(self.node(0),),
            state=("running", "waiting", "done")[number % 3],
            run_id=self.runs[0] if self.runs else None,
        )
        self.store.jobs.add(job, [(line, [step])])

    def come(self, number: int, text: str) -> None:
        """It came from elsewhere, part of it."""
        self.store.imports.note_session("chatgpt", f"{text}{number}", self.session.id)
        node = self.node(number)
        if node not in self.store.imports.nodes_of(self.session.id).values():
            self.store.imports.note_nodes([(node, f"key {number}", "openai", "gpt-9")])

    def plan(self, number: int, text: str) -> None:
        self.store.sessions.change(
            self.session.id,
            title=text,
            objective=text,
            turn_budget=number or None,
            money_budget=number,
            auto_recap=(number % 100) / 100,
        )
        if number % 11 == 0:
            self.store.sessions.bin(self.session.id)


ACTS: dict[str, Callable[[Maker, int, str], None]] = {
    name: getattr(Maker, name)
    for name in (
        "say think attach fork prune mark recap ask want wait compare judge play come plan".split()
    )
}
EVERYTHING = [(name, number, f"{name} {number} Grüße") for number in range(1, 7) for name in ACTS]


def made(store: Store, acts: Sequence[tuple[str, int, str]] = EVERYTHING) -> Session:
    """A session to which all this was done."""
    maker = Maker(store, store.sessions.create(config=ECHO))
    for act in acts:
        maker.do(*act)
    return store.sessions.get(maker.session.id)
