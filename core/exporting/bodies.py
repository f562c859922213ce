"""A whole branch in the words of a provider: as the JSON of one request, and as a program.

What goes over the wire only for this app's sake (streaming, cache marks) is left out. There is no
key in any of it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from core.binding import build
from core.context import call_for, config_for, message_of
from core.errors import UserError
from core.exporting import programs
from core.providers import adapter, model_info
from core.store import Store
from core.types import Adapter, Branch, Call, Config, Json, Message, Node, Request, Session, Text
from core.wire import chat_completions as chat
from core.wire.served import Served, headers_of

_FOR_US = frozenset({"stream", "stream_options", "cache_breakpoints", "prompt_cache_key"})
_CHAT, _RESPONSES = "compatible", "openai"
_OPENAI_NAMES = {"max_tokens": "max_completion_tokens"}
_NOT_IN_CHAT = frozenset({"reasoning_summary"})


@dataclass(frozen=True, slots=True)
class _Speaking:
    """Who is spoken to, and with which settings. ``chats``: in Chat Completions."""

    adapter: Adapter
    config: Config
    chats: bool = False


def body(
    store: Store, session: Session, branch: Branch, nodes: Sequence[Node], provider: str
) -> Json:
    """The conversation as the JSON that a provider's server takes, every message of it.

    ``provider`` is an adapter's name; ``compatible`` is Chat Completions, ``openai`` Responses.
    The branch's own settings go along where they are that provider's; else a model of its is
    named. Raises ``UserError`` for what the provider cannot be sent, such as some files.
    """
    speaking = _speaking(config_for(session, branch), provider)
    call = _call(store, session, nodes, speaking)
    return _body(_request(speaking, call), speaking)


def script(
    store: Store, session: Session, branch: Branch, nodes: Sequence[Node], provider: str
) -> str:
    """A Python program that asks every turn again with the provider's SDK, keeping its own
    history, and prints the answers; those of this branch stand in it to compare.

    For ``openai`` it goes to the branch's own server where that speaks a form of OpenAI's, else
    to the company. Raises ``UserError`` where nothing was asked, and as :func:`body`.
    """
    speaking = _speaking(config_for(session, branch), provider, playing=True)
    whole = _call(store, session, nodes, speaking)
    asked = list(_asked(nodes))
    if not asked:
        raise UserError("Nothing was asked on this branch.", hint="Choose another branch.")
    orders = tuple(message for message in whole.messages if message.role == "system")
    turns: list[list[Json]] = []
    settings: Json = None
    for messages, _ in asked:
        own = tuple(message for message in messages if message.role != "system")
        first = settings is None
        call = replace(
            whole, system=whole.system if first else "", messages=(*orders, *own) if first else own
        )
        request = _request(speaking, call)
        settings = _bare(request).envelope if first else settings
        turns.append(list(request.messages))
    found = speaking.adapter
    return programs.written(
        protocol=_CHAT
        if speaking.chats
        else found.protocol
        if isinstance(found, Served)
        else found.name,
        title=session.title,
        settings=settings,
        turns=turns,
        answered=[answer for _, answer in asked],
        address=found.default_url,
        key=next(iter(found.key_names), ""),
        headers=headers_of(found),
    )


def _asked(nodes: Sequence[Node]) -> Iterable[tuple[tuple[Message, ...], str]]:
    """What was asked, turn by turn, with what was answered. An answer that comes before anything
    was asked belongs to the first turn."""
    asked: list[Message] = []
    answers: list[str] = []
    for node in nodes:
        if node.role == "user" and node.parts:
            if answers and any(message.role == "user" for message in asked):
                yield tuple(asked), "\n\n".join(answers)
                asked, answers = [], []
            asked += _spoken(answers)
            answers = []
            asked.append(replace(message_of(node), raw=None))
        elif node.role == "assistant" and node.text.strip():
            answers.append(node.text)
    if any(message.role == "user" for message in asked):
        yield tuple(asked), "\n\n".join(answers)


def _spoken(answers: Iterable[str]) -> list[Message]:
    return [Message(role="assistant", parts=(Text(text=words),)) for words in answers]


def _call(store: Store, session: Session, nodes: Sequence[Node], speaking: _Speaking) -> Call:
    config = replace(speaking.config, policy="full")
    return replace(call_for(nodes, config, session), attachments=store.attachments)


def _request(speaking: _Speaking, call: Call) -> Request:
    if not speaking.chats:
        return build(speaking.adapter, call)
    bare = replace(call, messages=tuple(replace(one, raw=None) for one in call.messages))
    files = frozenset({"image", "pdf"})
    return Request(envelope=chat.envelope(bare), messages=tuple(chat.messages(bare, files)))


def _bare(request: Request) -> Request:
    kept = {name: value for name, value in request.envelope.items() if name not in _FOR_US}
    return replace(request, envelope=kept)


def _body(request: Request, speaking: _Speaking) -> Json:
    bare = _bare(request)
    if not speaking.chats:
        return speaking.adapter.body(bare)
    model = bare.envelope["model"]
    return {"model": model, "messages": list(bare.messages), **bare.envelope}


def _speaking(config: Config, provider: str, *, playing: bool = False) -> _Speaking:
    """The branch's own adapter where it speaks that provider's form, else the provider's."""
    own = _own(config)
    spoken = own.protocol if isinstance(own, Served) else own.name if own else ""
    if provider == _RESPONSES and playing and spoken == _CHAT and own and own.default_url:
        return _Speaking(own, config, chats=True)
    if own is not None and provider in (spoken, own.name):
        return _Speaking(own, config, chats=spoken == _CHAT)
    if provider == _CHAT:
        return _chatting(config, own, spoken)
    found = adapter(provider)
    return _Speaking(found, _settings(config, found))


def _chatting(config: Config, own: Adapter | None, spoken: str) -> _Speaking:
    """Chat Completions: OpenAI's models answer in it too, under names of their own."""
    if spoken == "local":
        return _Speaking(adapter(_CHAT), config, chats=True)
    openai = adapter(_RESPONSES)
    if spoken != _RESPONSES:
        config = _settings(config, openai)
    sampling = {
        _OPENAI_NAMES.get(name, name): value
        for name, value in config.sampling.items()
        if name not in _NOT_IN_CHAT
    }
    return _Speaking(
        own if own and spoken == _RESPONSES else openai,
        replace(config, sampling=sampling),
        chats=True,
    )


def _own(config: Config) -> Adapter | None:
    try:
        return adapter(config.provider)
    except UserError:
        return None  # the provider is gone; its name alone is left


def _settings(config: Config, found: Adapter) -> Config:
    """The settings as another provider takes them: a model of its own, and what that knows."""
    model = next(iter(found.models()), None)
    if model is None:
        raise UserError(f"No model of {found.label} is known.", hint="Choose another format.")
    knobs = {knob.name for knob in model_info(found.name, model.id).knobs}
    sampling = {name: value for name, value in config.sampling.items() if name in knobs}
    return replace(config, provider=found.name, model=model.id, sampling=sampling)
