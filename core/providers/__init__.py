"""One adapter a file. This folder is scanned: nothing anywhere holds a list of providers.

To add a provider, add a module here whose ``ADAPTER`` fulfils :class:`core.types.Adapter`.
Servers that a person named are registered beside the scanned ones, each an adapter of its own;
and what a provider's list of models told is remembered here, by provider.
"""

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache
from threading import Lock
from types import MappingProxyType

from core.errors import NameTaken, NotFound
from core.types import Adapter, ModelInfo
from core.wire.served import Assuming, Served, Spoken

_lock = Lock()
_all: dict[str, Adapter] | None = None
_learned: dict[str, Mapping[str, ModelInfo]] = {}


@cache
def scanned() -> Mapping[str, Adapter]:
    """The adapters in this folder by name. Importing one loads no SDK."""
    found = (
        importlib.import_module(f"{__name__}.{module.name}").ADAPTER
        for module in pkgutil.iter_modules(__path__)
    )
    return MappingProxyType({adapter.name: adapter for adapter in found})


def adapters() -> dict[str, Adapter]:
    """Every adapter by name: the scanned ones, hidden ones included, then the named servers."""
    global _all
    if _all is None:
        with _lock:
            _all = _all or dict(scanned())
    return _all


def adapter(name: str) -> Adapter:
    """The adapter called ``name``. Raises :class:`NotFound`."""
    try:
        return adapters()[name]
    except KeyError:
        raise NotFound(
            f"There is no provider called {name!r}.", hint="Choose another provider in Settings."
        ) from None


# --- named servers ---------------------------------------------------------------------------


def protocols() -> dict[str, Adapter]:
    """The adapters whose protocol a named server may speak."""
    return {name: found for name, found in scanned().items() if isinstance(found, Spoken)}


def register(served: Adapter) -> None:
    """Add an adapter, or put it in place of the one it replaces.

    Raises :class:`NameTaken` for the name of a scanned one: its key would go astray.
    """
    global _all
    if served.name in scanned():
        raise NameTaken(f"{served.name!r} is the name of a provider.")
    with_it = adapters() | {served.name: served}
    with _lock:  # replaced, never changed: others are walking through the old one
        _all = with_it


def unregister(name: str) -> None:
    """Take a registered adapter out, and forget what its list told. None there is no fault."""
    global _all
    without = {key: found for key, found in adapters().items() if key != name or key in scanned()}
    with _lock:
        _all = without
        _learned.pop(name, None)


# --- models ----------------------------------------------------------------------------------


def learn(provider: str, models: Iterable[ModelInfo]) -> None:
    """Remember what the provider's own list says, in place of what it said before."""
    listed = MappingProxyType({info.id: info for info in models})
    with _lock:
        _learned[provider] = listed


def learned(provider: str) -> Mapping[str, ModelInfo]:
    """What the provider's own list said, by model, in its order; empty before it was asked."""
    return _learned.get(provider, MappingProxyType({}))


def model_info(provider: str, model: str) -> ModelInfo:
    """What is known of a model: from the provider's list, else from the adapter's suggestions,
    else what may be assumed of one typed by hand. Bare for a provider that is gone."""
    found = adapters().get(provider)
    listed = learned(provider).get(model)
    known = next((info for info in found.models() if info.id == model), None) if found else None
    if listed is not None:
        return _filled(listed, known) if known else listed
    if known is not None:
        return known
    if isinstance(found, Assuming):
        return found.assume(model)
    return ModelInfo(id=model, label=model)


def _filled(listed: ModelInfo, known: ModelInfo) -> ModelInfo:
    """What a list says, with the gaps filled from what the adapter knew."""
    return replace(
        listed,
        label=known.label if listed.label == listed.id else listed.label,
        window=listed.window if listed.window is not None else known.window,
        output_limit=(
            listed.output_limit if listed.output_limit is not None else known.output_limit
        ),
        prefill=listed.prefill or known.prefill,
    )


__all__ = [
    "Served",
    "adapter",
    "adapters",
    "learn",
    "learned",
    "model_info",
    "protocols",
    "register",
    "scanned",
    "unregister",
]
