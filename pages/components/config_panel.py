"""The settings of the next run: provider, model, system prompt, and the knobs the model has."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from core import Config, Runner
from core.local import LocalStatus, fetch_in_background, status
from core.models import offered
from core.providers import adapter, adapters, model_info
from core.types import Knob
from pages import backend
from pages.components import library_presets, models_panel, pane, sidebar, state

_FIRST_CHOICE = "local"
_IN_MENUS = 12  # models of one provider in a menu; the settings offer all


def models_offered() -> list[dict[str, str]]:
    """Every model that a menu may offer: ``provider, model, label``."""
    return [
        {"provider": name, "model": info.id, "label": info.label}
        for name, found in adapters().items()
        if not found.hidden()
        for info in found.models() or offered(name)[:_IN_MENUS]
    ]


def default_config(runner: Runner) -> Config:
    """The config of the newest session without its system prompt, else the embedded model."""
    for row in runner.store.sessions.recent(1):
        config = runner.store.sessions.get(row["id"]).config
        if config.provider in adapters() and not adapter(config.provider).hidden():
            return replace(config, system="")
    shown = [found for found in adapters().values() if not found.hidden()]
    first = next((found for found in shown if found.name == _FIRST_CHOICE), shown[0])
    return Config(provider=first.name, model=_first_model(first.name))


def _first_model(provider: str) -> str:
    models = offered(provider)
    return models[0].id if models else ""


Choose = Callable[[Config], None]


def draw(config: Config, choose: Choose, *, scope: str, library: bool = True) -> None:
    """Controls for ``config``; every change is given to ``choose`` and holds for the next run.

    The widgets show what is stored and write only what the person changed: another tab may
    have chosen something else meanwhile. ``library`` offers what was kept there.
    """
    if library:
        library_presets.presets(backend.store(), config, choose, scope=scope)
    _provider(config, choose, f"{scope}.provider")
    _model(config, choose, f"{scope}.model.{config.provider}")
    system(config, choose, f"{scope}.system")
    if library:
        library_presets.system_prompts(backend.store(), config, choose, scope=scope)
    if model_info(config.provider, config.model).knobs:
        with st.expander("Sampling", type="compact"):
            knobs(config, choose, scope=scope)


def knobs(config: Config, choose: Choose, *, scope: str) -> None:
    """A control for each knob that the model has."""
    found = model_info(config.provider, config.model).knobs
    if found:
        st.caption("Unset knobs are not sent: the model's own defaults hold.")
    for knob in found:
        _knob(knob, config, choose, f"{scope}.knob.{knob.name}")


def _provider(config: Config, choose: Choose, key: str) -> None:
    labels = {name: found.label for name, found in adapters().items() if not found.hidden()}
    chosen = adapters().get(config.provider)
    labels.setdefault(config.provider, chosen.label if chosen else config.provider)

    def change() -> None:
        provider = state.value(key)
        choose(Config(provider=provider, model=_first_model(provider), system=config.system))

    state.control(key, config.provider)
    st.selectbox(
        "Provider",
        list(labels),
        index=list(labels).index(config.provider),
        format_func=labels.__getitem__,
        key=key,
        on_change=change,
    )


def _model(config: Config, choose: Choose, key: str) -> None:
    store, found = backend.store(), adapters().get(config.provider)
    own = store.providers.own_of(config.provider)
    labels = {info.id: info.label for info in offered(config.provider, own)}
    labels.setdefault(config.model, config.model or "not chosen yet")

    def change() -> None:
        if model := (state.value(key) or "").strip():
            known = {knob.name for knob in model_info(config.provider, model).knobs}
            kept = {name: v for name, v in config.sampling.items() if not known or name in known}
            choose(replace(config, model=model, sampling=kept))

    state.control(key, config.model)
    row = f"model_row.{key}"
    with st.container(
        key=row, horizontal=True, vertical_alignment="bottom", gap="xsmall", wrap=False
    ):
        st.selectbox(
            "Model",
            list(labels),
            index=list(labels).index(config.model),
            format_func=lambda name: labels.get(name, name),
            accept_new_options=True,
            key=key,
            on_change=change,
            help="Any name that the provider knows may be typed.",
        )
        if found is not None and found.default_url:
            _refresh(config.provider, key)
    models_panel.caption(store, config.provider, config.model)
    if note := model_info(config.provider, config.model).note:
        st.caption(sidebar.label(note))


def _refresh(provider: str, key: str) -> None:
    store = backend.store()
    when = models_panel.ago(store.providers.fetched().get(provider))
    if st.button(
        "Refresh the list of models",
        icon=":material/refresh:",
        key=f"{key}.refresh",
        help=f"Ask the provider for its models ({when})",
    ):
        with st.spinner("Asking…"):
            count = models_panel.fetch(store, provider)
        if count is not None:
            state.flash(f"{count} models.")
        st.rerun()


def system(config: Config, choose: Choose, key: str) -> None:
    """The system prompt."""
    state.control(key, config.system)
    st.text_area(
        "System prompt",
        config.system,
        height=110,
        placeholder="Who the model is, and how it should answer",
        key=key,
        on_change=lambda: choose(replace(config, system=state.value(key) or "")),
        help="Used from the next message on. Each answer keeps the one it was made with.",
    )


def _knob(knob: Knob, config: Config, choose: Choose, key: str) -> None:
    def change() -> None:
        value = state.value(key)
        if knob.kind == "list":
            value = [item.strip() for item in value.split(",") if item.strip()]
        rest = {name: v for name, v in config.sampling.items() if name != knob.name}
        unset = value is None or value in ("", [])
        choose(replace(config, sampling=rest if unset else rest | {knob.name: value}))

    stored = config.sampling.get(knob.name)
    asked: dict[str, Any] = {"key": key, "on_change": change, "help": knob.help or None}
    match knob.kind:
        case "number" | "integer":
            number: Any = int if knob.kind == "integer" else float
            state.control(key, None if stored is None else number(stored))
            st.number_input(
                knob.label,
                min_value=None if knob.low is None else number(knob.low),
                max_value=None if knob.high is None else number(knob.high),
                value=None,
                step=number(knob.step or (1 if knob.kind == "integer" else 0.1)),
                placeholder="not set",
                **asked,
            )
        case "choice":
            state.control(key, stored)
            at = knob.choices.index(stored) if stored in knob.choices else None
            st.selectbox(knob.label, knob.choices, index=at, placeholder="not set", **asked)
        case "list":
            listed = ", ".join(stored or [])
            state.control(key, listed)
            st.text_input(
                knob.label, listed, placeholder="not set, else separated by commas", **asked
            )
        case "text":
            state.control(key, stored or "")
            st.text_input(knob.label, stored or "", placeholder="not set", **asked)


# --- the embedded model's state -------------------------------------------------------------

_BUSY = {"fetching", "starting", "reading"}


def local_state() -> None:
    """Say how the embedded model is, and offer to fetch it; follows along while it changes."""
    if status().state in _BUSY:
        _local_state_following()
    else:
        _local_state()


def _local_state() -> None:
    now = status()
    said = describe(now)
    if now.state == "failed" or now.state == "not_fetched":
        st.warning(said, icon=":material/download:")
        if st.button("Fetch the model", icon=":material/download:", width="stretch"):
            fetch_in_background()
            st.rerun()
    elif now.state == "fetching":
        st.progress(now.share or 0.0, text=said)
    else:
        st.caption(said)


@pane.fragment(run_every=1.0)
def _local_state_following() -> None:
    _local_state()
    if status().state not in _BUSY:
        st.rerun()


def describe(now: LocalStatus) -> str:
    """The embedded model's state in words."""
    share = f" {now.share:.0%}" if now.share is not None else ""
    return {
        "not_fetched": "The embedded model has not been fetched yet (1.1 GB, once).",
        "fetching": f"Fetching {now.model_label}{share}",
        "starting": f"{now.model_label} is starting…",
        "reading": f"{now.model_label} is reading the prompt{share}",
        "ready": f"{now.model_label} is ready.",
        "idle": f"{now.model_label} starts with your first message.",
        "failed": f"The embedded model is not available: {now.why}",
    }[now.state]
