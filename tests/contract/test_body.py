"""What an adapter says it sends is what it sends: to the last value, with every kind of part."""

import json
from typing import Any

import pytest

from core import Run, Session, Store
from core.providers import compatible, echo, local
from core.types import (
    Adapter,
    Call,
    Endpoint,
    Message,
    Part,
    Request,
    Role,
    Stop,
    Text,
    new_id,
    now,
)
from tests.conftest import ECHO
from tests.contract.case import Case, Scene
from tests.contract.cases_compatible import CASE as CHAT
from tests.contract.media import CAT, FILES, NOTES
from tests.contract.respond import CALL, RESULT, WEATHER

AWKWARD = 'Grüße, 世界 😀 \u2028 "quoted" \\ \x7f </script>'


def say(role: Role, *parts: Part | str) -> Message:
    made = tuple(Text(text=part) if isinstance(part, str) else part for part in parts)
    return Message(role=role, parts=made)


def full(model: str, **more: Any) -> Call:
    """A call with all that a call can have."""
    messages = (
        say("user", AWKWARD, CAT, NOTES),
        say("assistant", "Look.", CALL),
        say("tool", RESULT),
        say("user", "And tomorrow?"),
    )
    given = {
        "system": AWKWARD,
        "tools": (WEATHER,),
        "tool_choice": "auto",
        "sampling": {"max_tokens": 512},
        "attachments": FILES,
        "cache_key": "tree",
        "shared_until": 1,
    }
    return Call(**{"model": model, "messages": messages, **given, **more})


def kept(store: Store, session: Session, request: Request) -> Request:
    """The request as the ledger gives it back."""
    assert session.current_branch_id
    run = Run(
        id=new_id(),
        session_id=session.id,
        branch_id=session.current_branch_id,
        context_tip_id=None,
        purpose="reply",
        config=ECHO,
        state="running",
        owner="me",
        started_at=now(),
    )
    store.runs.start(run, request=request)
    return store.runs.sent(run.id)


def arrived(adapter: Any, request: Request, endpoint: Endpoint | None, seen: list[Any]) -> Any:
    """The JSON that reached the server."""
    list(adapter.stream(request, endpoint, Stop()))
    assert len(seen) == 1
    assert seen[0].refused is None
    return json.loads(seen[0].raw)


@pytest.mark.needs("stream", "http")
def test_what_is_shown_is_what_went_over_the_wire(
    case: Case, adapter: Adapter, store: Store, session: Session
) -> None:
    with case.stage(Scene()) as stage:
        request = adapter.build(full(case.model))
        sent = arrived(adapter, request, stage.endpoint, stage.seen)
    assert adapter.body(request) == sent
    assert adapter.body(kept(store, session, request)) == sent


@pytest.mark.needs("build")
def test_showing_changes_nothing(case: Case, adapter: Adapter) -> None:
    request = adapter.build(full(case.model, attachments={}, messages=(say("user", "Hi"),)))
    before = json.dumps([dict(request.envelope), request.messages])
    assert adapter.body(request) == adapter.body(request)
    json.dumps(adapter.body(request), allow_nan=False)
    assert json.dumps([dict(request.envelope), request.messages]) == before


def test_the_embedded_model_is_sent_what_is_shown() -> None:
    words = (say("user", AWKWARD), say("assistant", "Look."), say("user", "And?"))
    request = local.ADAPTER.build(full(CHAT.model, messages=words, tools=(), tool_choice=None))
    assert local.ADAPTER.body(request)["cache_prompt"] is True
    plain = compatible.ADAPTER.build(full(CHAT.model, messages=words))
    with CHAT.stage(Scene()) as stage:
        sent = arrived(local.ADAPTER._chat, plain, stage.endpoint, stage.seen)
    assert local.ADAPTER.body(plain) == sent


def test_the_scripted_provider_shows_what_it_is_given() -> None:
    request = echo.ADAPTER.build(full("echo-1"))
    body = echo.ADAPTER.body(request)
    assert body["messages"] == list(request.messages)
    assert body["model"] == "echo-1"
