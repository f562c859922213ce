"""One adapter a file. This folder is scanned: nothing anywhere holds a list of providers.

To add a provider, add a module here whose ``ADAPTER`` fulfils :class:`core.types.Adapter`.
"""

import importlib
import pkgutil
from functools import cache

from core.errors import NotFound
from core.types import Adapter, ModelInfo


@cache
def adapters() -> dict[str, Adapter]:
    """Every adapter by name, hidden ones included. Importing one loads no SDK."""
    found = (
        importlib.import_module(f"{__name__}.{module.name}").ADAPTER
        for module in pkgutil.iter_modules(__path__)
    )
    return {adapter.name: adapter for adapter in found}


def adapter(name: str) -> Adapter:
    """The adapter called ``name``. Raises :class:`NotFound`."""
    try:
        return adapters()[name]
    except KeyError:
        raise NotFound(
            f"There is no provider called {name!r}.", hint="Choose another provider in Settings."
        ) from None


def model_info(provider: str, model: str) -> ModelInfo:
    """What is known of a model; a bare :class:`ModelInfo` for one typed by hand, or of a
    provider that is not here any more."""
    found = adapters().get(provider)
    for info in found.models() if found else ():
        if info.id == model:
            return info
    return ModelInfo(id=model, label=model)
