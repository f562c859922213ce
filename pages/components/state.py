"""Where a tab is, and the little it remembers: the only ``session_state`` keys of ours.

The place lives in the address, so that a reload, a second tab or a shared link finds it again;
a copy is kept because a click on a page's link drops the address's parameters.

Streamlit may end a run of the script at each touch of ``session_state``. An act that has begun
must also be remembered, so the memory is one plain dict: in hand, nothing ends a run between
what is done and what the tab knows of it.
"""

import threading
import time
from dataclasses import asdict, dataclass
from typing import Any, NoReturn

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from core import Config, TurntreeError
from pages.components.act import Dialog

_PLACE, _FLASH, _INSERT, _NEW_CONFIG, _LEAVE, _SHOWN, _HEARD, _TAKEN, _OPEN, _KEPT = (
    "place",
    "flash",
    "insert",
    "new_config",
    "leave",
    "shown",
    "heard",
    "taken",
    "open",
    "kept",
)
_GOING = "going"  # a place that the address may not know yet
_REMEMBERED = 20  # acts of each element
MEMORY = "turntree"
_hand = threading.local()


def _memory() -> dict[str, Any]:
    """What the tab remembers, by name; after the first look without a touch of Streamlit's."""
    run = get_script_run_ctx(suppress_warning=True)
    if run is None or getattr(_hand, "run", None) is not run:
        _hand.memory = st.session_state.setdefault(MEMORY, {})
        _hand.run = run
    memory: dict[str, Any] = _hand.memory
    return memory


def in_hand() -> None:
    """Take the memory in hand, before anything is done that it has to know of."""
    _memory()


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """What the tab looks at; without a session, the start page."""

    session: str | None = None
    branch: str | None = None
    node: str | None = None
    run: str | None = None


def place() -> Place:
    """The place that the address names, or the one the tab was at before a page link."""
    if going := _memory().get(_GOING):
        go(going)  # the run that was on its way there was ended before the address knew
    named = {name: st.query_params.get(name) for name in Place.__slots__}
    if named["session"]:
        return Place(**named)
    kept: Place | None = _memory().get(_PLACE)
    return kept or Place()


def go(to: Place) -> None:
    """Go there, and write it into the address."""
    memory = _memory()
    memory[_PLACE] = memory[_GOING] = to
    wanted = {name: value for name, value in asdict(to).items() if value}
    if dict(st.query_params) != wanted:
        st.query_params.from_dict(wanted)
    del memory[_GOING]


def open_place(to: Place) -> None:
    """Go there, and to the playground from whatever page the tab is on."""
    go(to)
    _memory()[_LEAVE] = True


def leaving() -> bool:
    """Whether the tab is about to open a place on the playground; true once."""
    return bool(_memory().pop(_LEAVE, False))


_BOUND = "bound"


def compare(session_id: str, comparison_id: str | None, *, tab: str | None = None) -> NoReturn:
    """Go to the compare page, and to this comparison or part of it. What an element sends at the
    same moment would have the old page drawn once more instead: then :func:`bound` leads on."""
    wanted = {"session": session_id, "comparison": comparison_id, "tab": tab}
    keep(_BOUND, {name: value for name, value in wanted.items() if value})
    close_dialog()
    st.switch_page("compare.py", query_params=kept(_BOUND))


def bound() -> dict[str, str] | None:
    """The comparison that the tab is on its way to; None once it is there."""
    found: dict[str, str] | None = kept(_BOUND)
    return found


def arrived() -> None:
    """The compare page is drawn."""
    keep(_BOUND, None)


def taken(key: str, number: Any) -> None:
    """Note that what an element or input sent under this number is being done."""
    known = _memory().get(f"{_TAKEN}.{key}", ())
    _memory()[f"{_TAKEN}.{key}"] = (*known, number)[-_REMEMBERED:]


def was_taken(key: str, number: Any) -> bool:
    """Whether it was done before; never true of what carries no number."""
    return number is not None and number in _memory().get(f"{_TAKEN}.{key}", ())


def hear(key: str) -> None:
    """Note that the callback of an input ran."""
    _memory()[f"{_HEARD}.{key}"] = True


def heard(key: str) -> bool:
    """Whether the callback of an input ran before this run of the script; true once."""
    return bool(_memory().pop(f"{_HEARD}.{key}", False))


_WORDS = "words"


def heard_words(text: str) -> None:
    """Note that these words have come from the input."""
    keep(_WORDS, [*words_heard(), text][-_REMEMBERED:])


def words_heard() -> list[str]:
    """What has come from the input of late."""
    found: list[str] = kept(_WORDS, [])
    return found


def shown(listing: str, first: int) -> int:
    """How many rows of a listing are shown."""
    return int(_memory().get(f"{_SHOWN}.{listing}", first))


def show_more(listing: str, rows: int) -> None:
    """Show so many rows of a listing from now on."""
    _memory()[f"{_SHOWN}.{listing}"] = rows


def keep(name: str, value: Any) -> None:
    """Remember something for the life of the tab, across pages."""
    _memory()[f"{_KEPT}.{name}"] = value


def kept(name: str, otherwise: Any = None) -> Any:
    """What was kept under that name."""
    return _memory().get(f"{_KEPT}.{name}", otherwise)


def link() -> dict[str, str]:
    """The place as parameters for a link to another page."""
    return {name: value for name, value in asdict(place()).items() if value}


_LOOKED_INTO, _LAST_LOOK = "looked_into", "last_look"
_DIALOG = "dialog"


def look_into(run_id: str) -> None:
    """Keep the dialog with this call open from now on."""
    _memory()[_LOOKED_INTO] = _memory()[_LAST_LOOK] = run_id


def looked_into() -> str | None:
    """The call that the tab looks into."""
    found: str | None = _memory().get(_LOOKED_INTO)
    return found


def last_look() -> str | None:
    """The call that the tab looked into last, whether or not it still does."""
    found: str | None = _memory().get(_LAST_LOOK)
    return found


def look_away() -> None:
    """The person has closed the dialog, or the tab has gone elsewhere."""
    _memory().pop(_LOOKED_INTO, None)


def open_dialog(dialog: Dialog) -> None:
    """Show a dialog from now on, until the person closes it."""
    keep(_DIALOG, dialog)


def dialog() -> Dialog | None:
    """The dialog that is open."""
    found: Dialog | None = kept(_DIALOG)
    return found


def close_dialog() -> None:
    """The person has closed it, or done what it is for."""
    keep(_DIALOG, None)


def asked(name: str) -> str | None:
    """A parameter of the address; an empty one is none."""
    return st.query_params.get(name) or None


def ask(**parameters: str | None) -> None:
    """Write parameters into the address; None takes one out. The place stays remembered."""
    for name, value in parameters.items():
        if value:
            st.query_params[name] = value
        elif name in st.query_params:
            del st.query_params[name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flash:
    """A message to be shown once, after the act that caused it."""

    text: str
    hint: str = ""
    bad: bool = False


def flash(text: str, *, hint: str = "", bad: bool = False) -> None:
    """Show a message on the next run of the script."""
    _memory().setdefault(_FLASH, []).append(Flash(text=text, hint=hint, bad=bad))


def flash_error(error: TurntreeError) -> None:
    """Show what went wrong and what can be done."""
    flash(error.message, hint=error.hint, bad=True)


def take_flashes() -> list[Flash]:
    """The messages to show now."""
    taken: list[Flash] = _memory().pop(_FLASH, [])
    return taken


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """Words to put into the composer, once for each ``n``; ``whole`` in place of all there is."""

    text: str = ""
    n: int = 0
    whole: bool = False


def insert(text: str, *, whole: bool = False) -> None:
    """Put words into the composer, where the person may change them."""
    # The time, because a counter would start anew with a reload and repeat itself.
    _memory()[_INSERT] = Insert(text=text, n=time.time_ns() // 1_000_000, whole=whole)


def inserted() -> Insert:
    """The words last put into the composer."""
    found: Insert = _memory().get(_INSERT, Insert())
    return found


def new_config() -> Config | None:
    """The config chosen on the start page, before there is a session to hold it."""
    found: Config | None = _memory().get(_NEW_CONFIG)
    return found


def choose_new_config(config: Config) -> None:
    """Keep the config for the next new session of this tab."""
    _memory()[_NEW_CONFIG] = config


def control(key: str, stored: Any) -> None:
    """Let the widget ``key`` show what is stored. Call it before the widget is drawn.

    Only a difference is written: setting an equal value would still throw away what a person
    is typing into the widget at this moment. Give the widget the same as its default, too: a
    run that is interrupted may never reach the browser, and the next one says nothing of what
    was written. Without a default the browser would take the widget for empty, and store that.
    """
    if key not in st.session_state or st.session_state[key] != stored:
        st.session_state[key] = stored


def unfolded(name: str) -> bool:
    """Whether a part of the page that folds is open."""
    return bool(_memory().get(f"{_OPEN}.{name}", False))


def unfold(name: str, opened: bool = True) -> None:
    """Open or fold it from now on."""
    _memory()[f"{_OPEN}.{name}"] = opened


_ANEW = "anew"


def settings_changed() -> None:
    """Something else than the settings' own controls has changed the settings.

    The browser may be about to tell what the controls were before; of new ones it cannot.
    """
    keep(_ANEW, settings_number() + 1)


def settings_number() -> int:
    """What the keys of the settings' controls must hold."""
    found: int = kept(_ANEW, 0)
    return found


def value(key: str) -> Any:
    """What the widget ``key`` holds now; for its ``on_change``."""
    return st.session_state[key]


def triggered(key: str, trigger: str) -> Any:
    """What the element ``key`` has just sent, or None; for its callback."""
    return getattr(st.session_state.get(key), trigger, None)
