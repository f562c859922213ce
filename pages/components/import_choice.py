"""What a file holds, before anything of it is written: which conversations are wanted."""

from collections import Counter
from collections.abc import Sequence

import streamlit as st

from core import Runner
from core.importing import Found, Preview
from core.intake import Arrival, Intake
from core.types import LeftOut
from pages.components import config_panel, import_report, pane, sidebar, state, words

_PAGE = 25


def draw(runner: Runner, intake: Intake, one: Arrival) -> None:
    """Sums, what will not come along, the list, and the buttons."""
    held = one.preview
    assert held is not None
    st.markdown(f"#### {sidebar.label(held.name)}", anchors=False)
    st.caption(f"{_kinds(held)} · This is a preview: nothing is imported yet.")
    _sums(held)
    if held.broke:
        st.warning(
            f"The file could be read only up to a point. {sidebar.label(held.broke)}"
            " What stands before that point can be imported.",
            icon=":material/warning:",
        )
    import_report.damaged([(each.place, each.why) for each in held.damaged])
    _choice(runner, intake, one)


def _kinds(held: Preview) -> str:
    return sidebar.label(", ".join(sorted({one.label for one in held.found})) or "Nothing readable")


def _sums(held: Preview) -> None:
    known = [one for one in held.found if one.session_id]
    import_report.facts(
        {
            "Conversations": len(held.found),
            "Messages": sum(one.messages for one in held.found),
            "Branches": sum(one.branches for one in held.found),
            "New conversations": len(held.found) - len(known),
            "With new messages": sum(bool(one.new) for one in known) or None,
            "Here already": sum(not one.new for one in known) or None,
        }
    )


@pane.fragment()
def _choice(runner: Runner, intake: Intake, one: Arrival) -> None:
    """The list, a page at a time. A fragment: a tick draws nothing else anew."""
    held = one.preview
    if intake.current is not one or one.state != "looked" or held is None:
        st.rerun()
        return  # of use to tests alone: in the app nothing comes after a rerun
    _left_out([found for found in held.found if found.number in one.chosen], held.left_out)
    if held.found:
        _list(intake, one, held)
    _buttons(runner, intake, one)


def _left_out(wanted: Sequence[Found], beside: Sequence[LeftOut]) -> None:
    counted: Counter[tuple[str, str]] = Counter()
    for left in beside:
        counted[left.what, left.why] += left.count
    for found in wanted:
        for left in found.left_out:
            counted[left.what, left.why] += left.count
    import_report.left_out(
        [(what, count, why) for (what, why), count in counted.items()], ahead=True
    )
    repaired = [
        f"{found.title or 'Untitled'}: {told}" for found in wanted for told in found.repairs
    ]
    import_report.repairs(repaired[:200], max(0, len(repaired) - 200), scope="import.ahead")


def _list(intake: Intake, one: Arrival, held: Preview) -> None:
    query = ""
    with st.container(horizontal=True, vertical_alignment="center", key="import_filter"):
        if len(held.found) > 1:
            query = st.text_input(
                "Search the titles",
                placeholder="Search the titles",
                label_visibility="collapsed",
                icon=":material/search:",
                key=f"import.query.{one.id}",
            )
        found = _matching(held.found, query)
        if len(held.found) > 1:
            _all_or_none(intake, found, query)
        st.caption(f"{len(one.chosen):,} of {len(held.found):,} chosen", width="content")
    if not found:
        st.caption(f"No title has the words {sidebar.label(query.strip())}.")
        return
    pages = -(-len(found) // _PAGE)
    page = 1
    # Above the list, so that a press of the same button turns page after page.
    if pages > 1:
        page = st.pagination(pages, key=f"import.page.{one.id}.{pages}")
    with st.container(key="import_choice"):
        for each in found[(page - 1) * _PAGE : page * _PAGE]:
            _line(intake, one, each)


def _matching(found: Sequence[Found], query: str) -> list[Found]:
    wanted = query.casefold().split()
    return [one for one in found if all(word in one.title.casefold() for word in wanted)]


def _all_or_none(intake: Intake, found: Sequence[Found], query: str) -> None:
    numbers = [one.number for one in found]
    which = f"these {len(found):,}" if query.strip() else "all"
    for label, on in ((f"Choose {which}", True), (f"Leave out {which}", False)):
        st.button(
            label,
            key=f"import.choose.{on}",
            type="tertiary",
            disabled=not found,
            on_click=intake.choose,
            args=[numbers],
            kwargs={"on": on},
        )


def _line(intake: Intake, one: Arrival, found: Found) -> None:
    key = f"import.take.{one.id}.{found.number}"
    chosen = found.number in one.chosen
    state.control(key, chosen)
    st.checkbox(
        f"{sidebar.label(found.title) or 'Untitled'}  \n:small[{_facts(found)}]",
        value=chosen,
        key=key,
        on_change=lambda: intake.choose([found.number], on=state.value(key)),
        width="stretch",
    )


def _facts(found: Found) -> str:
    told = [words.counted(found.messages, "message")]
    if found.branches > 1:
        told.append(f"{found.branches:,} branches")
    if found.at:
        told.append(words.moment(found.at)[:10])
    told.append(_standing(found))
    if found.repairs:
        told.append(f":orange[{words.counted(len(found.repairs), 'repair')}]")
    if found.left_out:
        number = sum(left.count for left in found.left_out)
        told.append(f"{number:,} left out")
    return " · ".join(told)


def _standing(found: Found) -> str:
    if not found.session_id:
        return ":green[new]"
    if found.new:
        return f":blue[{words.counted(found.new, 'new message')}]"
    return "here already"


def _buttons(runner: Runner, intake: Intake, one: Arrival) -> None:
    number = len(one.chosen)
    with st.container(horizontal=True, vertical_alignment="center", key="import_buttons"):
        if st.button(
            f"Import {words.counted(number, 'conversation')}" if number else "Import",
            type="primary",
            icon=":material/download:",
            disabled=not number,
            key="import.go",
        ):
            intake.take(config_panel.default_config(runner))
            st.rerun()
        if st.button("Cancel", key="import.dismiss", help="Forget the file; nothing is imported"):
            intake.cancel()
            st.rerun()
        if not number:
            st.caption(_why_none(one), width="content")


def _why_none(one: Arrival) -> str:
    held = one.preview
    assert held is not None
    if held.found and not any(found.new or not found.session_id for found in held.found):
        return "Everything in this file is here already."
    return "Choose at least one conversation." if held.found else "There is nothing to import."
