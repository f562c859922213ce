"""The settings of the next run: provider, model, system prompt, and the knobs the model has."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import streamlit as st

from core import Config, Runner
from core.local import LocalStatus, fetch_in_background, status
from core.providers import adapter, adapters, model_info
from core.types import Json, Knob

_FIRST_CHOICE = "local"


def models_offered() -> list[dict[str, str]]:
    """Every model that a menu may offer: ``provider, model, label``."""
    return [
        {"provider": name, "model": info.id, "label": info.label}
        for name, found in adapters().items()
        if not found.hidden()
        for info in found.models()
    ]


def default_config(runner: Runner) -> Config:
    """The config of the newest session without its system prompt, else the embedded model."""
    for row in runner.store.sessions.recent(1):
        config = runner.store.sessions.get(row["id"]).config
        if config.provider in adapters() and not adapter(config.provider).hidden():
            return replace(config, system="")
    offered = [found for found in adapters().values() if not found.hidden()]
    first = next((found for found in offered if found.name == _FIRST_CHOICE), offered[0])
    models = first.models()
    return Config(provider=first.name, model=models[0].id if models else "")


def draw(config: Config, choose: Callable[[Config], None], *, scope: str) -> None:
    """Controls for ``config``; every change is given to ``choose`` and holds for the next run."""
    offered = {name: found.label for name, found in adapters().items() if not found.hidden()}
    offered.setdefault(config.provider, adapter(config.provider).label)
    provider = st.selectbox(
        "Provider",
        list(offered),
        index=list(offered).index(config.provider),
        format_func=offered.__getitem__,
        key=f"{scope}.provider",
    )
    if provider != config.provider:
        models = adapter(provider).models()
        choose(
            Config(provider=provider, model=models[0].id if models else "", system=config.system)
        )
        st.rerun()
    changed = replace(config, model=_model(config, scope))
    changed = replace(changed, system=_system(config, scope))
    changed = replace(changed, sampling=_sampling(changed, scope))
    if changed != config:
        choose(changed)


def _model(config: Config, scope: str) -> str:
    labels = {info.id: info.label for info in adapter(config.provider).models()}
    labels.setdefault(config.model, config.model)
    model = st.selectbox(
        "Model",
        list(labels),
        index=list(labels).index(config.model),
        format_func=lambda name: labels.get(name, name),
        accept_new_options=True,
        key=f"{scope}.model.{config.provider}",
        help="Any name that the provider knows may be typed.",
    )
    if note := model_info(config.provider, model or config.model).note:
        st.caption(note)
    return model or config.model


def _system(config: Config, scope: str) -> str:
    return st.text_area(
        "System prompt",
        value=config.system,
        height=110,
        placeholder="Who the model is, and how it should answer",
        key=f"{scope}.system",
        help="Used from the next message on. Each answer keeps the one it was made with.",
    )


def _sampling(config: Config, scope: str) -> dict[str, Json]:
    knobs = model_info(config.provider, config.model).knobs
    if not knobs:
        return dict(config.sampling)
    chosen: dict[str, Json] = {}
    with st.expander("Sampling", type="compact"):
        st.caption("Unset knobs are not sent: the model's own defaults hold.")
        for knob in knobs:
            value = _knob(knob, config.sampling.get(knob.name), scope)
            if value not in (None, "", []):
                chosen[knob.name] = value
    return chosen


def _knob(knob: Knob, value: Json, scope: str) -> Json:
    key = f"{scope}.knob.{knob.name}"
    match knob.kind:
        case "number" | "integer":
            return _number(knob, value, key)
        case "choice":
            choices = list(knob.choices)
            at = choices.index(value) if value in choices else None
            return st.selectbox(knob.label, choices, index=at, key=key, help=knob.help or None)
        case "list":
            text = st.text_input(
                knob.label,
                value=", ".join(value or []),
                key=key,
                placeholder="not set",
                help=knob.help or "Separate with commas.",
            )
            return [item.strip() for item in text.split(",") if item.strip()]
        case _:
            return st.text_input(knob.label, value=value or "", key=key, help=knob.help or None)


def _number(knob: Knob, value: Json, key: str) -> Json:
    number: Any = int if knob.kind == "integer" else float
    return st.number_input(
        knob.label,
        min_value=None if knob.low is None else number(knob.low),
        max_value=None if knob.high is None else number(knob.high),
        value=None if value is None else number(value),
        step=number(knob.step or (1 if knob.kind == "integer" else 0.1)),
        placeholder="not set",
        key=key,
        help=knob.help or None,
    )


# --- the embedded model's state -------------------------------------------------------------

_BUSY = {"fetching", "starting", "reading"}


def local_state() -> None:
    """Say how the embedded model is, and offer to fetch it; follows along while it changes."""
    _local_state_following() if status().state in _BUSY else _local_state()


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


@st.fragment(run_every=1.0)
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
