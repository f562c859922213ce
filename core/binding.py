"""Which raw items go back to the provider: those whose beginning is unchanged, to the byte.

Signed thinking and encrypted reasoning are bound to a model and to everything that stood before
them; given back after a change, they fail the request or are dropped in silence. So an answer
is sealed with a hash of what it was made under: provider, model, system text, tools, and every
wire message. Where the seal does not hold any more, the portable parts are sent instead.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import blake2b

from core.beginnings import Beginnings
from core.types import Adapter, Call, Json, Message, Request
from core.wire.served import Served

_HEAD = ("system", "instructions", "systemInstruction", "tools")
"""What of an envelope stands before the messages, under the providers' names for it."""

_hashed: Beginnings[tuple[bytes, ...]] = Beginnings()
_offered: Beginnings[tuple[Message, ...]] = Beginnings()


def seal(adapter: Adapter, call: Call, request: Request, items: Json) -> Json:
    """An answer's raw items with what binds them; None without items."""
    if items is None:
        return None
    return {
        "provider": adapter.name,
        "model": call.model,
        "after": len(request.messages),
        "hash": _hashes(adapter, call, request)[-1].hex(),
        "items": items,
    }


def build(adapter: Adapter, call: Call) -> Request:
    """The call in the provider's form, with raw items wherever their seal holds.

    ``Message.raw`` of ``call`` holds sealed items; the adapter sees bare ones, or None. An
    answer whose beginning has changed goes out in portable parts, and with it what was made
    under it. What was made after that, under those very parts, is whole again.
    """
    seals = [message.raw for message in call.messages]
    whole = _messages(call, (adapter.name, call.model))
    sealed = [index for index, message in enumerate(whole) if message.raw is not None]
    plain = _messages(call, None) if sealed else ()
    chosen = whole
    while True:
        request = adapter.build(replace(call, messages=chosen))
        holds = _holding(adapter, call, request, seals) if sealed else bool
        raw = (index for index in sealed if chosen[index].raw is not None)
        broken = next((index for index in raw if not holds(index)), None)
        if broken is None:
            return request
        chosen = (*chosen[:broken], *plain[broken:])
        request = adapter.build(replace(call, messages=chosen))
        holds = _holding(adapter, call, request, seals)
        whole_again = next((i for i in sealed if i > broken and holds(i)), None)
        if whole_again is None:
            return request
        chosen = (*chosen[:whole_again], *whole[whole_again:])


def _messages(call: Call, maker: tuple[str, str] | None) -> tuple[Message, ...]:
    """The messages with the bare items of one provider and model, or without any.

    Known ones stay the very same objects, so that adapters need not write them anew.
    """
    # The last message is written anew with every call: a list that ends with it never returns.
    earlier, last = call.messages[:-1], call.messages[-1:]
    known, messages = _offered.longest(earlier, (), maker)
    messages += tuple(_bare(message, maker) for message in earlier[known:])
    _offered.keep(earlier, messages, maker)
    return messages + tuple(_bare(message, maker) for message in last)


def _bare(message: Message, maker: tuple[str, str] | None) -> Message:
    return message if message.raw is None else replace(message, raw=_items(message, maker))


def _items(message: Message, maker: tuple[str, str] | None) -> Json:
    raw = message.raw
    ours = isinstance(raw, dict) and (raw.get("provider"), raw.get("model")) == maker
    return raw["items"] if ours else None


def _holding(
    adapter: Adapter, call: Call, request: Request, seals: Sequence[Json]
) -> Callable[[int], bool]:
    """Tells of a message's seal whether it holds in this request."""
    hashes = _hashes(adapter, call, request)

    def holds(index: int) -> bool:
        after: int = seals[index]["after"]
        return after < len(hashes) and hashes[after] == bytes.fromhex(seals[index]["hash"])

    return holds


def _hashes(adapter: Adapter, call: Call, request: Request) -> tuple[bytes, ...]:
    """The hash of the beginning before each message, and of all of them at the end."""
    messages = request.messages
    tools = [[tool.name, tool.description, tool.parameters] for tool in call.tools]
    # Not only what was asked for: some providers are told of tools that were used long ago.
    head = [request.envelope.get(name) for name in _HEAD]
    # A named server may be moved: another address is another maker.
    maker = [adapter.name, *([adapter.default_url] if isinstance(adapter, Served) else [])]
    first = _hash(b"", [*maker, call.model, call.system, tools, head])
    known, hashes = _hashed.longest(messages, (first,), key=first)
    chain = [*hashes]
    for message in messages[known:]:
        chain.append(_hash(chain[-1], message))
    if earlier := messages[:-1]:  # the last is written anew for the next call
        _hashed.keep(earlier, tuple(chain[:-1]), key=first)
    _hashed.keep(messages, tuple(chain), key=first)
    return tuple(chain)


def _hash(before: bytes, value: Json) -> bytes:
    body = json.dumps(value, separators=(",", ":"), sort_keys=True)
    return blake2b(before + body.encode(), digest_size=16).digest()
