"""Reading complaints: kinds, waiting times, and what must not be repeated."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from core import errors
from core.wire.complaints import Complaint, error_for, kind_of, read, redacted, retry_after

KEY = "sk-proj-AbCdEfGh0123456789"


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (400, "request (6031 tokens) exceeds the available context size", errors.ContextTooLong),
        (400, "prompt is too long: 5000 tokens > 4096 maximum", errors.ContextTooLong),
        (500, "the prompt exceeds the context window", errors.ContextTooLong),
        (400, "API key not valid. Please pass a valid API key.", errors.AuthFailed),
        (404, "model 'x' not found", errors.UnknownModel),
        (400, "The model `x` does not exist", errors.UnknownModel),
        (404, "Not Found", errors.BadRequest),
        (418, "teapot", errors.BadRequest),
        (529, "busy", errors.Overloaded),
        (502, "", errors.Overloaded),
        (302, "", errors.Unreachable),
        (None, "who knows", errors.BadReply),
    ],
)
def test_a_complaint_is_told_by_its_words_and_status(
    status: int | None, text: str, kind: type[Exception]
) -> None:
    assert kind_of(Complaint(text=text, status=status)) is kind


def test_a_code_is_believed_before_the_words() -> None:
    complaint = Complaint(
        text="too many tokens per minute", codes=frozenset({"rate_limit_exceeded"})
    )
    assert kind_of(complaint) is errors.RateLimited


def test_a_setting_named_like_the_context_is_not_a_context_too_long() -> None:
    complaint = Complaint(text="Unknown: context_length", status=400, parameter="context_length")
    assert kind_of(complaint) is errors.BadRequest


@pytest.mark.parametrize(
    "text",
    ["max_tokens is invalid", "with this model max_tokens is not supported"],
)
def test_a_setting_that_is_refused_is_neither_a_key_nor_a_model(text: str) -> None:
    complaint = read({"message": text}, status=400, headers={}, knobs={"max_tokens": "max_tokens"})
    assert kind_of(complaint) is errors.BadRequest


@pytest.mark.parametrize(
    ("headers", "text", "seconds"),
    [
        ({"retry-after": "7"}, "", 7),
        ({"retry-after": "0"}, "", 0),
        ({"retry-after-ms": "1500"}, "", 1.5),
        ({"retry-after": "soon"}, "", None),
        ({"retry-after": "-3"}, "", None),
        ({"retry-after": "nan"}, "", None),
        ({}, "Please try again in 20s.", 20),
        ({}, "Please try again in 350ms.", 0.35),
        ({}, "Please try again in 1m30s.", 90),
        ({}, "Please retry after 2 minutes.", 120),
        ({}, "Limit 3, used 3.", None),
    ],
)
def test_the_time_to_wait_is_found(
    headers: dict[str, str], text: str, seconds: float | None
) -> None:
    found = retry_after(headers, text)
    assert found == (pytest.approx(seconds) if seconds is not None else None)


def test_the_time_to_wait_may_be_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert retry_after({"retry-after": later}) == pytest.approx(60, abs=3)


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        f"Bearer {KEY} is unknown",
        "Incorrect key: sk-proj-********6789",
        "Incorrect key: sk-p...6789",
        "key AbCdEfGh0123 is gone",
        "other key sk-live-000011112222",
    ],
)
def test_no_part_of_a_key_is_repeated(text: str) -> None:
    shown = redacted(text, [KEY])
    assert "[key]" in shown
    assert not any(part in shown for part in ("6789", "AbCd", "0000", "sk-"))


def test_ordinary_words_are_left_alone() -> None:
    text = "Rate limit reached for gpt-x... please wait ** a little **; a_long_word_here"
    assert redacted(text, [KEY, "short"]) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"message": "plain"}, "plain"),
        ({"detail": "words"}, "words"),
        ({"detail": [{"loc": ["body", "seed"], "msg": "bad"}]}, "seed: bad"),
        ({"detail": [{}]}, "?: "),
        ("only words", "only words"),
        ("<html>a page</html>", ""),
        ({"message": {"nested": 1}}, ""),
        (None, ""),
        ([1, 2], ""),
    ],
)
def test_the_words_are_found_in_any_body(body: Any, text: str) -> None:
    assert read(body, status=400, headers={}).text == text


def test_an_error_holds_all_that_was_told() -> None:
    complaint = read(
        {"message": f"seed is bad for {KEY}", "code": None, "type": "invalid_request_error"},
        status=422,
        headers={"x-request-id": "r1"},
        knobs={"temperature": "temperature", "seed": "seed"},
    )
    error = error_for(complaint, provider="p", model="m", secrets=[KEY])
    assert isinstance(error, errors.BadRequest)
    assert (error.parameter, error.request_id, error.status) == ("seed", "r1", 422)
    assert str(error) == "The provider answered 422: seed is bad for [key]"
