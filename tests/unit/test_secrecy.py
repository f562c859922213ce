"""What is secret is in no log, whoever writes it and however."""

import logging

import pytest

from core.wire import secrecy
from core.wire.secrecy import keep_secret

SECRET = "Otter6Granite-2Harbour8"


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrecy, "_secrets", frozenset())


def test_a_secret_is_hidden_in_words_in_arguments_and_in_tracebacks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    keep_secret([SECRET, "none"])
    log = logging.getLogger("of.a.stranger")
    with caplog.at_level(logging.DEBUG):
        log.debug("sent %s to %r", {"Authorization": f"Bearer {SECRET}"}, "there")
        log.info(f"it was {SECRET}")
        try:
            raise ValueError(f"bad {SECRET}")
        except ValueError:
            log.exception("it failed")
        log.info("none of it")
    assert SECRET not in caplog.text
    assert caplog.text.count("[key]") == 3
    assert "ValueError: bad [key]" in caplog.text
    assert "none of it" in caplog.text
    assert SECRET not in repr([record.__dict__ for record in caplog.records])


def test_what_holds_no_secret_is_logged_as_it_is(caplog: pytest.LogCaptureFixture) -> None:
    keep_secret([SECRET])
    with caplog.at_level(logging.INFO):
        logging.getLogger("x").info("%d of %d", 1, 2)
        try:
            raise ValueError("bad")
        except ValueError:
            logging.getLogger("x").exception("it failed")
    assert caplog.records[0].args == (1, 2)
    assert caplog.records[1].exc_info


def test_a_record_that_cannot_be_formatted_is_left_to_its_logger() -> None:
    keep_secret([SECRET])
    made = logging.getLogRecordFactory()("x", logging.INFO, __file__, 1, "%d", ("no",), None)
    assert made.args == ("no",)
