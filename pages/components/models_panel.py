"""What is known of models: a line under the chosen one, a table of all, a person's own figures."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import streamlit as st

from core import TurntreeError
from core.models import Facts, Known, offered, refresh, table
from core.models import facts as facts_of
from core.store import Store
from core.types import ModelInfo, OwnPrice
from pages.components import frame, state

_WHENCE = {"list": "the provider's list", "yours": "you", "built in": "Turntree"}


# --- in words --------------------------------------------------------------------------------


def tokens(count: int | None) -> str:
    """A number of tokens for people: 200k, 1.05M."""
    if count is None:
        return "unknown"
    if count >= 1_000_000:
        return f"{count / 1_000_000:.4g}M"
    return f"{count / 1000:.4g}k" if count >= 1000 else str(count)


def dollars(price: Decimal | None) -> str:
    """Dollars with as many digits as they need."""
    if price is None:
        return "unknown"
    digits = f"{price.normalize():f}"
    return f"${digits}" if "." not in digits or len(digits.split(".")[1]) > 1 else f"${price:.2f}"


def able(info: ModelInfo) -> str:
    """What a model takes and does, besides text."""
    flags = {"thinking": info.thinking, "images": info.images, "tools": info.tools}
    return ", ".join(name for name, has in flags.items() if has)


def line(known: Facts) -> str:
    """Window, prices and abilities of a model, and whose prices they are."""
    window = f"{tokens(known.window.value)} window" if known.window.value else "window unknown"
    return " · ".join(filter(None, [window, *_prices(known), able(known.info)]))


def _prices(known: Facts) -> list[str]:
    asked, answered = known.input, known.output
    if {asked.source, answered.source} == {"free"}:
        return ["free"]
    if asked.value is None and answered.value is None:
        return ["price unknown"]
    said = f"{dollars(asked.value)} in, {dollars(answered.value)} out per M"
    if known.dearer_above:
        said += f", more above {tokens(known.dearer_above)}"
    return [said, f"prices from {_whence(asked, answered)}"]


def _whence(*known: Known[Any]) -> str:
    sources = dict.fromkeys(_WHENCE.get(one.source, one.source) for one in known)
    return " and ".join(source for source in sources if source != "unknown")


def ago(at: str | None, now: datetime | None = None) -> str:
    """How long ago a list was fetched."""
    if at is None:
        return "not fetched yet"
    passed = ((now or datetime.now(UTC)) - datetime.fromisoformat(at)).total_seconds()
    for seconds, word in ((86_400, "day"), (3600, "h"), (60, "min")):
        if passed >= seconds:
            number = int(passed // seconds)
            plural = "s" if word == "day" and number > 1 else ""
            return f"fetched {number} {word}{plural} ago"
    return "fetched just now"


# --- drawn -----------------------------------------------------------------------------------


def caption(store: Store, provider: str, model: str) -> None:
    """The line under the chosen model."""
    if model:
        st.caption(line(facts_of(store, provider, model)).replace("$", "\\$"))


def fetch(store: Store, provider: str) -> int | None:
    """Ask for the list; how many models it has, or None once what went wrong was noted."""
    try:
        return len(refresh(store, provider).models)
    except TurntreeError as error:
        state.flash_error(error)
        return None


def draw(store: Store, provider: str, label: str, *, lists: bool) -> None:
    """The table, how fresh it is, and the person's own figures. ``lists`` says that it has one."""
    with st.container(horizontal=True, vertical_alignment="center"):
        known = offered(provider, store.providers.own_of(provider))
        fresh = f" · {ago(store.providers.fetched().get(provider))}" if lists else ""
        st.markdown(f"**{len(known)} models**{fresh}")
        if lists and st.button("Refresh", icon=":material/refresh:", key=f"{provider}.refresh"):
            with st.spinner("Asking…"):
                count = fetch(store, provider)
            if count is not None:
                state.flash(f"{count} models.")
            st.rerun()
    if known:
        _table(table(store, provider))
    _figures(store, provider, known, label)


def _table(rows: list[Facts]) -> None:
    """Read only and drawn by the browser: three hundred rows are no burden."""
    st.dataframe(
        {
            "Model": [row.info.id for row in rows],
            "Window": [row.window.value for row in rows],
            "Longest answer": [row.output_limit.value for row in rows],
            "In": [_number(row.input) for row in rows],
            "Cached": [_number(row.cached) for row in rows],
            "Out": [_number(row.output) for row in rows],
            "Takes": [able(row.info) for row in rows],
            "Window from": [row.window.source for row in rows],
            "Prices from": [_of_prices(row) for row in rows],
        },
        hide_index=True,
        height=min(38 + 35 * len(rows), 360),
        placeholder="unknown",
        column_config={
            "Model": st.column_config.TextColumn(pinned=True, width="medium"),
            "Window": st.column_config.NumberColumn(format="localized", help="Tokens"),
            "Longest answer": st.column_config.NumberColumn(format="localized", help="Tokens"),
            **{
                name: st.column_config.NumberColumn(
                    format="$%.4g", help="Dollars per million tokens, an estimate"
                )
                for name in ("In", "Cached", "Out")
            },
        },
        alt="What is known of each model",
    )


def _number(known: Known[Decimal]) -> float | None:
    return None if known.value is None else float(known.value)


def _of_prices(row: Facts) -> str:
    sources = dict.fromkeys(known.source for known in (row.input, row.output))
    more = f" · dearer >{tokens(row.dearer_above)}" if row.dearer_above else ""
    return " and ".join(sources) + more


def _figures(store: Store, provider: str, known: tuple[ModelInfo, ...], label: str) -> None:
    own = store.providers.own_of(provider)
    title = f"Your own figures ({len(own)})" if own else "Your own figures"
    with frame.folding(f"{provider}.figures", title, icon=":material/edit:", small=True) as opened:
        if not opened:
            return
        st.caption("They go before every other source. What you leave empty stays as it was.")
        model = st.selectbox(
            "Model",
            [info.id for info in known],
            index=None,
            accept_new_options=True,
            placeholder="Choose or type a model",
            key=f"{provider}.figures.model",
        )
        if model:
            _figures_of(store, provider, model, own.get(model) or OwnPrice())


def _figures_of(store: Store, provider: str, model: str, own: OwnPrice) -> None:
    known = facts_of(store, provider, model)
    scope = f"{provider}.own.{model}.{hash(own)}"
    with st.form(scope, border=False):
        first, second, third = st.columns(3)
        asked = _dollars("In, USD per M", own.input, known.input, first, f"{scope}.in")
        cached = _dollars("Cached, USD per M", own.cached, known.cached, second, f"{scope}.cached")
        answered = _dollars("Out, USD per M", own.output, known.output, third, f"{scope}.out")
        left, right, _ = st.columns(3)
        window = _tokens("Window", own.window, known.window, left, f"{scope}.window")
        limit = _tokens(
            "Longest answer", own.output_limit, known.output_limit, right, f"{scope}.limit"
        )
        saved = st.form_submit_button("Save your figures", type="primary")
    if saved:
        mine = OwnPrice(
            input=asked, cached=cached, output=answered, window=window, output_limit=limit
        )
        store.providers.set_own(provider, model, mine)
        state.flash(f"Saved for {model}.")
        st.rerun()
    if own != OwnPrice():
        st.button(
            "Reset to what is known",
            key=f"{scope}.reset",
            on_click=store.providers.set_own,
            args=[provider, model, None],
        )


def _dollars(
    label: str, mine: Decimal | None, known: Known[Decimal], place: Any, key: str
) -> Decimal | None:
    value = place.number_input(
        label,
        min_value=0.0,
        value=None if mine is None else float(mine),
        step=0.01,
        format="%.6g",
        placeholder=_now(known.value, known.source),
        key=key,
    )
    return None if value is None else Decimal(str(value))


def _tokens(label: str, mine: int | None, known: Known[int], place: Any, key: str) -> int | None:
    value = place.number_input(
        f"{label}, tokens",
        min_value=1,
        value=mine,
        step=1000,
        placeholder=_now(known.value, known.source),
        key=key,
    )
    return None if value is None else int(value)


def _now(value: object, source: str) -> str:
    return "unknown" if value is None else f"{value} ({source})"
