"""Messages that wait for a choice: nothing is forced, and no word is lost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from core import Runner, View
from core.estimate import tokens_of
from core.overflow import larger
from pages.components import meter
from pages.components.act import Act
from pages.components.sidebar import label as plain

_TAKE_BACK = ("Take back", "unqueue")
_SHOWN = 400  # characters of a message that waits


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What is said of a message that waits, and what can be done with it: label and action, the
    first one proposed."""

    said: Callable[[View], str]
    choices: tuple[tuple[str, str], ...]
    roomier: bool = False
    """Whether models with a larger window are offered too."""


OFFERS: dict[str, Offer] = {
    "offer": Offer(
        said=lambda _: "**Fork here?** Your message starts with “Fork:”.",
        choices=(
            ("Fork from the previous turn", "fork_offered"),
            ("Send as written", "send_queued"),
            _TAKE_BACK,
        ),
    ),
    "offer_past": Offer(
        said=lambda view: (
            f"**Go past the plan?** {view.session.turn_budget} turns were planned; this would be"
            f" turn {view.turn + 1}."
        ),
        choices=(
            ("Finish instead", "finish_instead"),
            ("Go on anyway", "go_past"),
            _TAKE_BACK,
        ),
    ),
    "offer_long": Offer(
        said=lambda _: (
            "**More than the model's window holds.** Your message is kept; with a recap of the"
            " beginning, fewer turns or a larger window it can go."
        ),
        choices=(
            ("Recap first", "recap"),
            ("Send only the last turns", "send_last"),
            ("Send anyway", "send_queued"),
            _TAKE_BACK,
        ),
        roomier=True,
    ),
}
"""By the state of what waits in the queue."""


def draw(runner: Runner, view: View, handle: Callable[[Act], None]) -> None:
    """The messages of the branch that wait for a choice, each with its buttons.

    Above the composer, which they were sent from: in the conversation nobody might see them.
    """
    queued = runner.store.branches.queued(view.branch.id)
    if not (waiting := [one for one in queued if one["state"] in OFFERS]):
        return
    with st.bottom, st.container(key="offers"):
        for one in waiting:
            with st.container(border=True, key=f"offer.{one['id']}"):
                _offer(runner, view, one, OFFERS[one["state"]], handle)


def _offer(
    runner: Runner,
    view: View,
    waiting: Mapping[str, Any],
    offer: Offer,
    handle: Callable[[Act], None],
) -> None:
    st.markdown(offer.said(view))
    words = waiting["text"]
    st.text(words if len(words) <= _SHOWN else f"{words[:_SHOWN]}…")
    if waiting["files"]:
        st.caption("With " + ", ".join(file.name for file in waiting["files"]))
    with st.container(horizontal=True):
        for number, (label, action) in enumerate(offer.choices):
            st.button(
                label,
                key=f"{action}.{waiting['id']}",
                type="secondary" if number else "primary",
                on_click=handle,
                args=[{"action": action, "id": waiting["id"]}],
            )
        if offer.roomier:
            _larger(runner, view, waiting, handle)


def _larger(
    runner: Runner, view: View, waiting: Mapping[str, Any], handle: Callable[[Act], None]
) -> None:
    """The models whose window would hold it, the larger first."""
    # What is there already is known to be nearly all of this window, if not more.
    models = larger(runner.store, view.config, round(tokens_of(waiting["text"])))
    if not models:
        return
    with st.popover("A larger window", icon=":material/open_in_full:"):
        for number, one in enumerate(models):
            key = "" if one.ready else " · :small[needs a key]"
            st.button(
                f"{plain(one.label)} · {meter.brief(one.window)}{key}",
                key=f"larger.{number}.{waiting['id']}",
                type="tertiary",
                on_click=handle,
                args=[
                    {
                        "action": "send_larger",
                        "id": waiting["id"],
                        "provider": one.provider,
                        "model": one.model,
                    }
                ],
            )
