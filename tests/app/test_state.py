"""What the tab remembers, where the script is ended in the middle of an act."""

from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx
from streamlit.testing.v1 import AppTest

from tests.app.conftest import memory, sound


def news(address: str = "") -> None:
    """Ask for another run of the script while it runs, as the news of another tab do."""
    context = get_script_run_ctx()
    assert context is not None
    assert context.script_requests is not None
    context.script_requests.request_rerun(RerunData(query_string=address))


def _begins() -> None:
    import streamlit as st

    from pages.components import state
    from tests.app.test_state import news

    begun = st.session_state.setdefault("begun", [])
    if state.kept("run") is None and len(begun) < 3:
        begun.append("a run")
        news()
        state.keep("run", begun[-1])
    st.text(f"{len(begun)} begun")


def _goes() -> None:
    import streamlit as st

    from pages.components import state
    from tests.app.test_state import news

    there = state.place()
    moved = st.session_state.setdefault("moved", [])
    if not moved:
        moved.append(True)
        news("session=old")
        state.go(state.Place(session="new", branch="b"))
    st.text(f"{there.session} {there.branch} {st.query_params.get('session')}")


def _begins_in_a_fragment() -> None:
    import streamlit as st

    from pages.components import pane, state
    from tests.app.test_state import news

    begun = st.session_state.setdefault("begun", [])

    @pane.fragment()
    def drawn() -> None:
        if st.button("Begin"):
            begun.append("a run")
            news()
            state.keep("run", begun[-1])

    drawn()
    if not begun:
        return
    st.text(str(state.kept("run")))


def test_what_a_fragment_began_is_known_too() -> None:
    test = sound(AppTest.from_function(_begins_in_a_fragment).run())
    sound(test.button[0].click().run())
    assert test.text[0].value == "a run"


def test_what_was_begun_is_known_although_the_script_was_ended() -> None:
    test = sound(AppTest.from_function(_begins).run())
    assert test.text[0].value == "1 begun"
    assert memory(test)["kept.run"] == "a run"


def test_a_way_that_was_begun_is_gone_to_its_end() -> None:
    test = AppTest.from_function(_goes)
    test.query_params["session"] = "old"
    sound(test.run())
    assert test.text[0].value == "new b new"
