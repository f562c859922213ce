"""What is kept of providers: servers a person named, lists of models, a person's own figures.

Keys and the values of headers are never here.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from core.errors import NameTaken, NotFound
from core.store.database import Database
from core.types import ModelInfo, OwnPrice, now

_MODELS: TypeAdapter[tuple[ModelInfo, ...]] = TypeAdapter(tuple[ModelInfo, ...])
_OWN: TypeAdapter[OwnPrice] = TypeAdapter(OwnPrice)


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedEndpoint:
    """A server that a person named.

    ``name`` never changes: it is the provider's name in configs and runs. ``protocol`` is an
    adapter's name. Of the headers only the names are kept.
    """

    name: str
    label: str
    protocol: str
    base_url: str
    header_names: tuple[str, ...] = ()
    created_at: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelList:
    """The models a provider listed, and when it was asked."""

    models: tuple[ModelInfo, ...]
    fetched_at: str


class Providers:
    """Named servers by name, lists by provider, own figures by provider and model."""

    def __init__(self, db: Database) -> None:
        self._db = db

    # --- named servers ---

    def endpoints(self) -> list[NamedEndpoint]:
        """All of them, the oldest first."""
        with self._db.read() as db:
            rows = list(db.query("SELECT * FROM endpoints ORDER BY created_at, name"))
        return [_endpoint(row) for row in rows]

    def endpoint(self, name: str) -> NamedEndpoint:
        """The one of that name. Raises :class:`NotFound`."""
        with self._db.read() as db:
            for row in db.query("SELECT * FROM endpoints WHERE name = ?", [name]):
                return _endpoint(row)
        raise NotFound("There is no such endpoint.", hint="It may have been removed elsewhere.")

    def add_endpoint(self, endpoint: NamedEndpoint) -> NamedEndpoint:
        """Keep it. Raises :class:`NameTaken` for a name or label that another one has."""
        with self._db.write() as db:
            self._refuse_taken(endpoint)
            db.conn.execute(
                "INSERT INTO endpoints (name, label, protocol, base_url, header_names_json,"
                " created_at) VALUES (?,?,?,?,?,?)",
                [
                    endpoint.name,
                    endpoint.label,
                    endpoint.protocol,
                    endpoint.base_url,
                    json.dumps(endpoint.header_names),
                    now(),
                ],
            )
            return self.endpoint(endpoint.name)

    def change_endpoint(self, endpoint: NamedEndpoint) -> None:
        """Write its label, address and header names. Raises :class:`NameTaken`."""
        with self._db.write() as db:
            self._refuse_taken(endpoint)
            db.conn.execute(
                "UPDATE endpoints SET label = ?, base_url = ?, header_names_json = ?"
                " WHERE name = ?",
                [
                    endpoint.label,
                    endpoint.base_url,
                    json.dumps(endpoint.header_names),
                    endpoint.name,
                ],
            )

    def remove_endpoint(self, name: str) -> None:
        """Forget it, its list and a person's figures for it. Sessions and runs stay."""
        with self._db.write() as db:
            db.conn.execute("DELETE FROM endpoints WHERE name = ?", [name])
            db.conn.execute("DELETE FROM model_lists WHERE provider = ?", [name])
            db.conn.execute("DELETE FROM own_models WHERE provider = ?", [name])

    def _refuse_taken(self, endpoint: NamedEndpoint) -> None:
        label = endpoint.label.casefold()
        for other in self.endpoints():
            if other.label.casefold() == label and other.name != endpoint.name:
                raise NameTaken(f"Another endpoint is called {other.label!r}.")

    # --- lists of models ---

    def fetched(self) -> dict[str, str]:
        """When each provider was last asked for its models."""
        with self._db.read() as db:
            return dict(db.conn.execute("SELECT provider, fetched_at FROM model_lists").fetchall())

    def list_of(self, provider: str) -> ModelList | None:
        """The provider's list as last fetched. None too for one that is not understood any more."""
        with self._db.read() as db:
            row = db.conn.execute(
                "SELECT models_json, fetched_at FROM model_lists WHERE provider = ?", [provider]
            ).fetchone()
        if row is None:
            return None
        try:
            return ModelList(models=_MODELS.validate_json(row[0]), fetched_at=row[1])
        except ValidationError:
            return None

    def keep_list(self, provider: str, models: Iterable[ModelInfo]) -> ModelList:
        """Keep a list that has just come, in place of the one before."""
        kept = ModelList(models=tuple(models), fetched_at=now())
        with self._db.write() as db:
            db.conn.execute(
                "INSERT OR REPLACE INTO model_lists (provider, models_json, fetched_at)"
                " VALUES (?,?,?)",
                [provider, _MODELS.dump_json(kept.models).decode(), kept.fetched_at],
            )
        return kept

    # --- a person's own figures ---

    def own(self, provider: str, model: str) -> OwnPrice | None:
        """A person's own figures of a model, if there are any."""
        return self.own_of(provider).get(model)

    def own_of(self, provider: str) -> Mapping[str, OwnPrice]:
        """A person's own figures of a provider's models, by model."""
        with self._db.read() as db:
            rows = db.conn.execute(
                "SELECT model, body_json FROM own_models WHERE provider = ? ORDER BY model",
                [provider],
            ).fetchall()
        return {model: _OWN.validate_json(body) for model, body in rows}

    def set_own(self, provider: str, model: str, own: OwnPrice | None) -> None:
        """Keep a person's figures of a model; None, or none at all, forgets them."""
        with self._db.write() as db:
            if own is None or own == OwnPrice():
                db.conn.execute(
                    "DELETE FROM own_models WHERE provider = ? AND model = ?", [provider, model]
                )
                return
            db.conn.execute(
                "INSERT OR REPLACE INTO own_models (provider, model, body_json) VALUES (?,?,?)",
                [provider, model, _OWN.dump_json(own, exclude_none=True).decode()],
            )


def _endpoint(row: Mapping[str, Any]) -> NamedEndpoint:
    columns = dict(row)
    names = tuple(json.loads(columns.pop("header_names_json")))
    return NamedEndpoint(header_names=names, **columns)
