"""No secret in a log, whoever writes it: SDKs and the transport log headers at DEBUG.

Servers echo what they were sent, in headers too. So whatever any logger of this process says is
searched for the keys and headers that are in use.
"""

import logging
import traceback
from collections.abc import Iterable
from threading import Lock
from typing import Any

_SHORTEST = 6  # characters; a shorter one would be found in any word
_lock = Lock()
_secrets: frozenset[str] = frozenset()
_installed = False
_usual = logging.getLogRecordFactory()


def keep_secret(values: Iterable[str]) -> None:
    """From now on these are not logged in this process."""
    global _secrets, _installed, _usual
    new = {value for value in values if len(value) >= _SHORTEST} - _secrets
    if not new:
        return
    with _lock:
        _secrets |= new
        if not _installed:
            _usual = logging.getLogRecordFactory()
            logging.setLogRecordFactory(_record)
            _installed = True


def _record(*args: Any, **more: Any) -> logging.LogRecord:
    record = _usual(*args, **more)
    try:
        told = record.getMessage()
    except Exception:  # noqa: BLE001 - the logger tells of that itself
        return record
    if (hidden := _without(told)) is not told:
        record.msg, record.args = hidden, ()
    if record.exc_info and record.exc_info[0] is not None:
        told = "".join(traceback.format_exception(*record.exc_info))
        if (hidden := _without(told)) is not told:
            record.exc_info, record.exc_text = None, hidden.rstrip()
    return record


def _without(text: str) -> str:
    """The very same text if none of the secrets is in it."""
    for secret in _secrets:
        if secret in text:
            text = text.replace(secret, "[key]")
    return text
