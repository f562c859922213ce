"""Which raw items go back to the provider: those whose beginning is unchanged, to the byte.

Signed thinking and encrypted reasoning are bound to a model and to everything that stood before
them; given back after a change, they fail the request or are dropped in silence. So an answer
is sealed with a hash of what it was made under: provider, model, system text, tools, and every
wire message. Where the seal does not hold any more, the portable parts are sent instead.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from core.beginnings import Beginnings
from core.types import Adapter, Call, Json, Message, Request

_hashed: Beginnings[tuple[bytes, ...]] = Beginnings()
_stripped: Beginnings[tuple[Message, ...]] = Beginnings()


def seal(adapter: Adapter, call: Call, request: Request, items: Json) -> Json:
    """An answer's raw items with what binds them; None without items."""
    if items is None:
        return None
    return {
        "provider": adapter.name,
        "model": call.model,
        "after": len(request.messages),
        "hash": _hashes(adapter, call, request.messages)[-1].hex(),
        "items": items,
    }


def build(adapter: Adapter, call: Call) -> Request:
    """The call in the provider's form, with raw items wherever their seal holds.

    ``Message.raw`` of ``call`` holds sealed items; the adapter sees bare ones, or None.
    """
    seals = [message.raw for message in call.messages]
    messages = _offered(adapter, call)
    while True:
        offered = replace(call, messages=messages)
        request = adapter.build(offered)
        broken = _first_broken(adapter, call, request, seals, messages)
        if broken is None:
            return request
        # What follows was made after the broken one: it cannot hold either.
        rest = tuple(replace(message, raw=None) for message in messages[broken:])
        messages = (*messages[:broken], *rest)


def _offered(adapter: Adapter, call: Call) -> tuple[Message, ...]:
    """The messages with bare items where provider and model are the same.

    Known ones stay the very same objects, so that adapters need not write them anew.
    """
    key = (adapter.name, call.model)
    known, offered = _stripped.longest(call.messages, (), key)
    offered += tuple(
        message if message.raw is None else replace(message, raw=_items(message, key))
        for message in call.messages[known:]
    )
    _stripped.keep(call.messages, offered, key)
    return offered


def _items(message: Message, key: tuple[str, str]) -> Json:
    raw = message.raw
    ours = isinstance(raw, dict) and (raw.get("provider"), raw.get("model")) == key
    return raw["items"] if ours else None


def _first_broken(
    adapter: Adapter,
    call: Call,
    request: Request,
    seals: Sequence[Json],
    messages: Sequence[Message],
) -> int | None:
    used = [index for index, message in enumerate(messages) if message.raw is not None]
    if not used:
        return None
    hashes = _hashes(adapter, call, request.messages)
    for index in used:
        after = seals[index]["after"]
        if after >= len(hashes) or hashes[after].hex() != seals[index]["hash"]:
            return index
    return None


def _hashes(adapter: Adapter, call: Call, messages: Sequence[Json]) -> tuple[bytes, ...]:
    """The hash of the beginning before each message, and of all of them at the end."""
    tools = [[tool.name, tool.description, tool.parameters] for tool in call.tools]
    first = _hash(b"", [adapter.name, call.model, call.system, tools])
    known, hashes = _hashed.longest(messages, (first,), key=first)
    chain = [*hashes]
    for message in messages[known:]:
        chain.append(_hash(chain[-1], message))
    _hashed.keep(messages, tuple(chain), key=first)
    return tuple(chain)


def _hash(before: bytes, value: Json) -> bytes:
    body = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return blake2b(before + body.encode(), digest_size=16).digest()
