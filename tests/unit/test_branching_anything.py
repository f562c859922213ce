"""People do anything in any order, and nothing is lost: forks, edits, bins and undos at random."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from core import Branch, Store, edit, fork, prune, prune_branch, restore, show, undo
from core.branching import arrive, new_node
from core.errors import TurntreeError, UserError
from core.view import entries
from tests.conftest import ECHO
from tests.unit.house import OTHER, count, parts, path_of

WHICH = st.integers(min_value=0, max_value=7)


class Anything(RuleBasedStateMachine):
    """A person, or two tabs of one, on one session. The model's answers come at once."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store.open(Path(self.folder.name) / "sessions.db")
        session = self.store.sessions.create(config=ECHO)
        self.session = session.id
        self.nodes: list[str] = []
        self.most = 0

    def teardown(self) -> None:
        self.the_remembered_lineages_are_true()
        self.store.close()
        self.folder.cleanup()

    def a_branch(self, which: int) -> Branch:
        live = self.store.branches.of(self.session)
        return live[which % len(live)]

    def a_node(self, which: int) -> str:
        return self.nodes[which % len(self.nodes)]

    def write(self, branch: Branch, tip: str | None, why: str) -> None:
        role = OTHER[self.store.nodes.get(tip).role] if tip else "user"
        node = new_node(self.session, tip, role, parts(f"{role} {len(self.nodes)}"))
        with self.store.write():
            self.store.nodes.add(node)
            arrive(self.store, branch.id, node, replaces=tip, why=why)
        self.nodes.append(node.id)

    @rule(which=WHICH)
    def ask_and_be_answered(self, which: int) -> None:
        branch = self.a_branch(which)
        self.write(branch, branch.tip_id, "send")
        branch = self.a_branch(which)
        self.write(branch, branch.tip_id, "answer")

    @precondition(lambda self: self.nodes)
    @rule(which=WHICH, where=WHICH)
    def send_from_a_tab_that_lags_behind(self, which: int, where: int) -> None:
        self.write(self.a_branch(which), self.a_node(where), "send")

    @precondition(lambda self: self.nodes)
    @rule(which=WHICH, where=WHICH)
    def fork(self, which: int, where: int) -> None:
        binned = self.binned(self.a_node(where))
        try:
            made = fork(self.store, self.a_node(where), from_branch=self.a_branch(which).id)
        except UserError:
            assert binned
        else:
            assert made.tip_id == self.a_node(where)

    @precondition(lambda self: self.nodes)
    @rule(which=WHICH, where=WHICH)
    def edit(self, which: int, where: int) -> None:
        node, branch = edit(
            self.store, self.a_branch(which).id, self.a_node(where), parts(f"edit {which}")
        )
        self.nodes.append(node.id)
        if branch.tip_id != node.id:
            assert self.binned(node.id)

    @precondition(lambda self: self.nodes)
    @rule(where=WHICH)
    def prune(self, where: int) -> None:
        binned = self.binned(self.a_node(where))
        try:
            prune(self.store, self.a_node(where))
        except UserError:
            assert binned
        else:
            assert not binned

    @precondition(lambda self: self.nodes)
    @rule(where=WHICH)
    def prune_and_restore_at_once(self, where: int) -> None:
        before = self.tips()
        if self.binned(self.a_node(where)):
            return
        restore(self.store, prune(self.store, self.a_node(where)))
        assert self.tips() | before == self.tips(), "a branch did not come back as it was"

    @rule(which=WHICH)
    def prune_a_branch(self, which: int) -> None:
        branch = self.a_branch(which)
        try:
            prune_branch(self.store, branch.id)
        except TurntreeError:
            assert len(self.store.branches.of(self.session)) == 1

    @rule(which=WHICH)
    def prune_a_branch_and_restore_at_once(self, which: int) -> None:
        before = self.tips()
        if len(before) > 1:
            restore(self.store, prune_branch(self.store, self.a_branch(which).id))
            assert self.tips() == before

    @rule(which=WHICH)
    def restore(self, which: int) -> None:
        if bins := self.store.branches.bins(self.session):
            pruned = bins[which % len(bins)]
            restore(self.store, pruned["id"])
            assert pruned["root_id"] is None or not self.binned(pruned["root_id"])
            tips = {branch.tip_id for branch in self.store.branches.of(self.session)}
            assert {change["from"] for change in pruned["branches"]} <= tips

    @rule(which=WHICH)
    def undo(self, which: int) -> None:
        undo(self.store, self.a_branch(which).id)

    @rule(which=WHICH)
    def look_at_a_branch(self, which: int) -> None:
        self.store.sessions.change(self.session, current_branch_id=self.a_branch(which).id)

    def tips(self) -> dict[str, str | None]:
        return {branch.id: branch.tip_id for branch in self.store.branches.of(self.session)}

    def binned(self, node_id: str) -> bool:
        hidden = self.store.branches.hidden_roots(self.session)
        return any(node.id in hidden for node in self.store.nodes.lineage(node_id))

    @invariant()
    def no_node_is_ever_lost(self) -> None:
        number = count(self.store)
        assert number >= self.most
        assert number == len(self.nodes)
        self.most = number

    @invariant()
    def every_live_branch_stands_on_a_node_that_is_not_in_the_bin(self) -> None:
        for branch in self.store.branches.of(self.session):
            if branch.tip_id is not None:
                assert self.store.nodes.get(branch.tip_id).session_id == self.session
                assert not self.binned(branch.tip_id)

    @invariant()
    def there_is_a_live_branch_and_the_session_stands_on_one(self) -> None:
        live = {branch.id for branch in self.store.branches.of(self.session)}
        assert self.store.sessions.get(self.session).current_branch_id in live

    @invariant()
    def every_name_is_there_once(self) -> None:
        names = [branch.name for branch in self.store.branches.of(self.session)]
        assert len(names) == len(set(names))

    @invariant()
    def every_link_shows_something(self) -> None:
        for node_id in (None, *self.nodes[-3:], *self.nodes[:2]):
            view = show(self.store, self.session, node_id=node_id)
            entries(self.store, view)
            if node_id and not self.binned(node_id):
                assert any(node.id == node_id for node in view.lineage)
            assert not view.tip_id or not self.binned(view.tip_id)

    def the_remembered_lineages_are_true(self) -> None:
        with Store.open(self.store.path) as fresh:
            for branch in self.store.branches.of(self.session):
                assert path_of(fresh, branch) == path_of(self.store, branch)


TestAnything = Anything.TestCase
TestAnything.settings = settings(max_examples=60, stateful_step_count=40)
