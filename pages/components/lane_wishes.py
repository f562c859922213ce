"""Choosing what answers: several lanes, or one config, each with its price before it is asked."""

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from core import Config, Store
from core.errors import TurntreeError
from core.forecast import Forecast, together
from core.lanes import MOST_LANES
from core.policies import POLICIES
from core.providers import adapters, model_info
from core.types import CONFIG, Session, new_id
from pages.components import config_panel, sidebar, state, words
from pages.components.frame import folding

_LAST = "lanes.last"
_MOST_TURNS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A lane as it is chosen: an id of its own for the controls, a config, how many samples."""

    id: str
    config: Config
    samples: int = 1


Change = Callable[[list[Choice]], None]


class Chosen:
    """The lanes chosen in a session: kept with it, and offered to the next one of this tab."""

    def __init__(self, store: Store, session: Session, scope: str) -> None:
        self._store, self._session, self._key = store, session.id, f"{scope}.{session.id}"

    def lanes(self, config: Config) -> list[Choice]:
        """What was chosen last; else the config at hand and another model beside it."""
        written = self._store.drafts.get(self._key) or state.kept(_LAST)
        found = _read(written) if written else []
        return found or [
            Choice(id=f"first{number}", config=one) for number, one in enumerate(_pair(config))
        ]

    def keep(self, lanes: list[Choice]) -> None:
        """From now on these."""
        told = [
            {
                "id": one.id,
                "samples": one.samples,
                "config": CONFIG.dump_python(one.config, mode="json"),
            }
            for one in lanes
        ]
        text = json.dumps(told)
        self._store.drafts.keep(self._session, self._key, text)
        state.keep(_LAST, text)


def _read(text: str) -> list[Choice]:
    try:
        return [
            Choice(
                id=str(one["id"]),
                samples=int(one["samples"]),
                config=CONFIG.validate_python(one["config"]),
            )
            for one in json.loads(text)
        ]
    except (ValueError, KeyError, TypeError):  # written by another version
        return []


def _pair(config: Config) -> list[Config]:
    """A config, and the same with the next model that is offered."""
    other = unused([Choice(id="", config=config)])
    return [config] if other == config else [config, other]


def with_model(config: Config, provider: str, model: str) -> Config:
    """The config with another model; knobs that it is not known to have are left unset."""
    known = {knob.name for knob in model_info(provider, model).knobs}
    same = provider == config.provider
    kept = {name: v for name, v in config.sampling.items() if same and name in known}
    return replace(config, provider=provider, model=model, sampling=kept)


# --- several lanes -------------------------------------------------------------------------------


def draw(
    lanes: list[Choice],
    change: Change,
    forecast: Callable[[Config, int], Forecast],
    *,
    scope: str,
) -> list[Forecast]:
    """A row for each lane, and a button for one more; ``change`` gets them after every act.

    Returns what each will come to.
    """
    found = []
    for number, lane in enumerate(lanes, 1):
        found.append(_lane(lanes, number, lane, change, forecast, f"{scope}.{lane.id}"))
    count = sum(lane.samples for lane in lanes)
    if count < MOST_LANES:
        st.button(
            "Add a model",
            icon=":material/add:",
            key=f"{scope}.add",
            type="tertiary",
            on_click=lambda: change([*lanes, Choice(id=new_id(), config=unused(lanes))]),
        )
    return found


def unused(lanes: list[Choice]) -> Config:
    """The last lane's config with a model that no lane has, of its provider if there is one; the
    same once more where every model is taken."""
    taken = {(lane.config.provider, lane.config.model) for lane in lanes}
    last = lanes[-1].config
    offered = [(one["provider"], one["model"]) for one in config_panel.models_offered()]
    free = [one for one in offered if one not in taken]
    free.sort(key=lambda one: one[0] != last.provider)  # its key is there
    return with_model(last, *free[0]) if free else last


def _lane(
    lanes: list[Choice],
    number: int,
    lane: Choice,
    change: Change,
    forecast: Callable[[Config, int], Forecast],
    scope: str,
) -> Forecast:
    def put(now: Choice) -> None:
        change([now if one.id == lane.id else one for one in lanes])

    with st.container(border=True, key=f"lane.{scope}", gap="small"):
        row = st.container(
            horizontal=True, vertical_alignment="bottom", gap="small", key=f"model_row.{scope}"
        )
        with row:
            model(
                f"Model {number}",
                lane.config,
                lambda config: put(replace(lane, config=config)),
                f"{scope}.model",
            )
            _samples(number, lane, put, f"{scope}.samples")
            st.button(
                f"Remove model {number}",
                icon=":material/close:",
                key=f"{scope}.remove",
                type="tertiary",
                disabled=len(lanes) == 1,
                on_click=lambda: change([one for one in lanes if one.id != lane.id]),
            )
        found = forecast(lane.config, lane.samples)
        tell(found, lane.config)
        more(lane.config, lambda config: put(replace(lane, config=config)), scope=scope)
    return found


def _samples(number: int, lane: Choice, put: Callable[[Choice], None], key: str) -> None:
    def change() -> None:
        put(replace(lane, samples=int(state.value(key) or 1)))

    state.control(key, lane.samples)
    st.number_input(
        f"Samples of model {number}",
        min_value=1,
        max_value=MOST_LANES,
        value=lane.samples,
        step=1,
        key=key,
        on_change=change,
        width=165,
    )


# --- one config ----------------------------------------------------------------------------------


def one(config: Config, choose: Callable[[Config], None], *, scope: str) -> None:
    """The controls of a single config: its model, and what else it sends."""
    model("Model", config, choose, f"{scope}.model")
    more(config, choose, scope=scope)


def model(label: str, config: Config, choose: Callable[[Config], None], key: str) -> None:
    """Any model that is offered, by provider; another name is typed, perhaps as provider:name."""
    names = labels(config)
    here = _name(config.provider, config.model)

    def change() -> None:
        if chosen := str(state.value(key) or "").strip():
            choose(with_model(config, *told(chosen, config.provider)))

    state.control(key, here)
    st.selectbox(
        label,
        list(names),
        index=list(names).index(here),
        format_func=lambda name: names.get(name, name),
        accept_new_options=True,
        key=key,
        on_change=change,
        help="Any name that the provider knows may be typed; of another provider as openai:name.",
    )


def labels(*configs: Config) -> dict[str, str]:
    """Every model that is offered, and those of ``configs``: "openai:gpt" to its words."""
    providers = {name: found.label for name, found in adapters().items()}
    found = {
        _name(one["provider"], one["model"]): f"{providers[one['provider']]} · {one['label']}"
        for one in config_panel.models_offered()
    }
    for config in configs:
        known = providers.get(config.provider, config.provider)
        name = model_info(config.provider, config.model).label or "no model chosen"
        found.setdefault(_name(config.provider, config.model), f"{known} · {name}")
    return words.distinct(found, lambda name: name.partition(":")[2])


def told(chosen: str, provider: str) -> tuple[str, str]:
    """Provider and model of what was chosen or typed; ``provider`` where none is named."""
    named, colon, model = chosen.partition(":")
    return (named, model.strip()) if colon and named in adapters() else (provider, chosen)


def _name(provider: str, model: str) -> str:
    return f"{provider}:{model}"


def more(config: Config, choose: Callable[[Config], None], *, scope: str) -> None:
    """System prompt, context policy and knobs, folded."""
    with folding(
        f"more.{scope}", "System prompt, context, sampling", icon=":material/tune:", small=True
    ) as opened:
        if not opened:
            return
        config_panel.system(config, choose, f"{scope}.system")
        policy(config, choose, scope)
        config_panel.knobs(config, choose, scope=scope)


def policy(config: Config, choose: Callable[[Config], None], scope: str) -> None:
    """What is sent of the conversation, and of how many turns."""
    key, keep = f"{scope}.policy", f"{scope}.keep"

    def change() -> None:
        if chosen := state.value(key):
            choose(replace(config, policy=chosen))

    policy = config.policy if config.policy in POLICIES else "full"
    state.control(key, policy)
    st.selectbox(
        "What is sent of the conversation",
        list(POLICIES),
        index=list(POLICIES).index(policy),
        format_func=lambda name: POLICIES[name].label,
        key=key,
        on_change=change,
    )
    known = POLICIES.get(config.policy)
    if known is None:
        return
    st.caption(known.sentence)
    if known.keeps:
        state.control(keep, config.keep_turns)
        st.number_input(
            "Last turns sent verbatim",
            min_value=0,
            max_value=max(_MOST_TURNS, config.keep_turns),
            value=config.keep_turns,
            step=1,
            key=keep,
            on_change=lambda: choose(replace(config, keep_turns=int(state.value(keep) or 0))),
        )


# --- what it comes to ----------------------------------------------------------------------------


def tell(found: Forecast, config: Config) -> None:
    """What one lane comes to, and a warning where it cannot fit."""
    st.caption(figures(found))
    if found.overflows:
        st.warning(
            f"{sidebar.label(config.model)} takes {words.number(found.window)} tokens; this is"
            f" ≈ {words.number(found.largest)}. Send less of the conversation, or choose a model"
            " with a larger window.",
            icon=":material/warning:",
        )


def figures(found: Forecast) -> str:
    """ "≈ 1,204 tokens in, ≈ 320 out · ≈ $0.0021"; what is unknown is said so."""
    calls = f"{words.counted(found.calls, 'call')} · " if found.calls > 1 else ""
    out = "" if found.output is None else f", ≈ {words.number(found.output)} out"
    return f"{calls}≈ {words.number(found.input)} tokens in{out} · {_money(found)}"


def _money(found: Forecast) -> str:
    if found.cost is None:
        return "price unknown"
    if found.cost == 0:
        return "free"
    rest = " without the answers" if found.output is None else ""
    return _dollars(f"≈ {words.money(found.cost)}{rest}")


def total(found: list[Forecast], noun: str) -> str:
    """All of it in a line: "3 lanes · ≈ 3,600 tokens in · ≈ $0.0189 + 1 of unknown price"."""
    sum_ = together(found)
    told = [words.counted(sum_.calls, noun), f"≈ {words.number(sum_.input)} tokens in"]
    if sum_.output:
        told[-1] += f", ≈ {words.number(sum_.output)} out"
    if sum_.cost is None:
        told.append("price unknown")
    else:
        known = "free" if sum_.cost == 0 else f"≈ {words.money(sum_.cost)}"
        if sum_.open:
            known += " without the answers"
        told.append(f"{known} + {sum_.unknown} of unknown price" if sum_.unknown else known)
    return _dollars(" · ".join(told))


def _dollars(text: str) -> str:
    return text.replace("$", "\\$")  # two of them would become a formula


def trouble(error: TurntreeError) -> None:
    """Why it cannot be done, inside a dialog that stays."""
    st.error(sidebar.label(f"{error.message} {error.hint}".strip()), icon=":material/error:")


def area(store: Store, session: Session, label: str, key: str, otherwise: str, **more: Any) -> str:
    """A field whose words outlive the tab, until they are sent."""
    written = store.drafts.get(key)
    shown = otherwise if written is None else written
    state.control(key, shown)
    written_now: str = st.text_area(
        label,
        shown,
        key=key,
        on_change=lambda: store.drafts.keep(session.id, key, state.value(key) or ""),
        **more,
    )
    return written_now
