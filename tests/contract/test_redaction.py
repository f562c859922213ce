"""No key and no secret header leaves: looked for wherever words are kept or shown.

Every provider answers with what a person must see and what nobody may: errors that echo the
request's headers, refusals with the key in every field, broken streams, addresses with a
password in them. Then all there is is searched: logs of every logger at DEBUG, what was
printed, every byte beside the database, the ledger, exports, code of calls, and the page.
"""

import io
import json
import logging
import traceback
import zipfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, get_args

import pytest
from streamlit.testing.v1 import AppTest

from core import Config, Run, Runner, Store, endpoints, exporting, keys
from core.errors import TurntreeError, UserError
from core.exchange import FILES, exchange, written
from core.exporting import provenance
from core.exporting.comparison import comparison
from core.exporting.provenance_page import Kind, as_file
from core.formats import writers
from core.keys import endpoint_of
from core.ledger import csv_lines
from core.providers import adapter
from core.store.ledger import Filter
from core.types import AnswerTaken, Include, Taken
from core.view import show
from pages import backend
from pages.components import thread
from tests.contract.case import Scene
from tests.contract.four import NAMES, Place, places
from tests.fakes.chat_completions import HangUp, Play, sse

KEY = "Zebra7Quartz-9Falcon3Mango_5VioletQ"
"""Like no provider's keys, so that it is not for its looks that it is found."""
TEAM = "hush.Lagoon5/Pepper8=Velvet+2Saffron"
PASSWORD = "Walrus4Copper-8Meadow1LanternX"
HEADER = "X-Team-Secret"
ROOT = Path(__file__).parents[2]


@dataclass
class Desk:
    """One provider under the pages' own runner, and everything that was logged."""

    place: Place
    name: str
    runner: Runner
    store: Store
    logged: list[str]
    secrets: tuple[str, ...]
    failures: list[str] = field(default_factory=list)
    sessions: list[str] = field(default_factory=list)

    def clean(self, where: str, words: Iterable[str]) -> None:
        """Neither whole secrets, nor an end or the middle of one: half a key is too much."""
        traces = [t for s in self.secrets for t in (s, s[:9], s[-9:], s[9:18])]
        for text in words:
            for trace in traces:
                assert trace not in text, f"{trace!r} is in {where}: {text[:2000]}"

    def ask(self, play: Play | None = None) -> Run:
        """A question in a session of its own, answered by ``play``."""
        if play is not None:
            self.place.play(play)
        config = Config(provider=self.name, model=self.place.config.model)
        session = self.store.sessions.create(config=config, title="Talk")
        self.sessions.append(session.id)
        sent = self.runner.send(str(session.current_branch_id), "Hi")
        assert isinstance(sent, Run)
        run = self.runner.wait(sent.id, 30)
        assert run.state == "ended"
        return run

    def call(self, act: Callable[[Any], object]) -> None:
        """One of the calls that settings make; whatever it raises is shown there."""
        found = adapter(self.name)
        try:
            act(found)
        except TurntreeError as error:
            shown = [repr(error), repr(error.failure()), *traceback.format_exception(error)]
            self.failures += shown


# --- the desk --------------------------------------------------------------------------------


class _Listener(logging.Handler):
    def __init__(self, logged: list[str]) -> None:
        super().__init__(logging.DEBUG)
        self.logged = logged

    def emit(self, record: logging.LogRecord) -> None:
        formatted = logging.Formatter("%(name)s %(message)s").format(record)
        self.logged += [formatted, repr(record.args), repr(record.msg)]


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Everything that any logger says, at DEBUG."""
    found: list[str] = []
    listener, root = _Listener(found), logging.getLogger()
    loggers = [one for one in root.manager.loggerDict.values() if isinstance(one, logging.Logger)]
    before = [(one, one.level, one.propagate, one.disabled) for one in (root, *loggers)]
    for one in (root, *loggers):
        if not one.name.startswith(("asyncio", "uvicorn", "sse_starlette")):  # the fakes' own
            one.setLevel(logging.DEBUG)
            one.propagate, one.disabled = True, False
    root.addHandler(listener)
    yield found
    root.removeHandler(listener)
    for one, level, propagate, disabled in before:
        one.level, one.propagate, one.disabled = level, propagate, disabled
        one.manager._clear_cache()  # type: ignore[attr-defined]


@pytest.fixture(params=["its own", "a named server"])
def way(request: pytest.FixtureRequest) -> str:
    """Whether the provider is the company's, or a server that a person named."""
    return str(request.param)


@pytest.fixture(params=NAMES)
def desk(
    request: pytest.FixtureRequest,
    way: str,
    path: Path,
    logged: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Desk]:
    monkeypatch.setenv("TURNTREE_DB", str(path))
    monkeypatch.setattr("core.live._RETRIES", 0)
    monkeypatch.setattr(keys, "_typed", {})
    monkeypatch.setattr(keys, "_from_keyring", lambda name: None)
    monkeypatch.setattr(endpoints, "forget", lambda name: None)
    backend.close()
    with places(KEY, [request.param]) as found:
        place = found[request.param]
        runner = backend.runner()
        name = place.name
        if way == "a named server":
            url = place.endpoint.base_url
            name = endpoints.add(runner.store, label="Ours", protocol=name, base_url=url).name
            endpoints.add_header(runner.store, name, HEADER)
            keys.type_in(keys.header_slot(name, HEADER), TEAM)
            keys.type_in(name, KEY)
        else:
            aim(place, place.endpoint.base_url, monkeypatch)
        secrets = (KEY, PASSWORD, TEAM) if way == "a named server" else (KEY, PASSWORD)
        yield Desk(place, name, runner, runner.store, logged, secrets)
        if way == "a named server":
            endpoints.remove(backend.store(), name)
        backend.close()


def aim(place: Place, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the company's own adapter ask at ``url``."""
    if place.name == "compatible":
        monkeypatch.setenv("TURNTREE_COMPATIBLE_URL", url)
        monkeypatch.setenv("TURNTREE_COMPATIBLE_KEY", KEY)
    else:
        monkeypatch.setattr(place.adapter, "default_url", url)
        keys.type_in(place.name, KEY)


# --- what providers say ----------------------------------------------------------------------

_ECHO = {"Authorization": f"Bearer {KEY}", "x-goog-api-key": KEY, HEADER: TEAM}
_TOLD = " ".join(f"{name}: {value}" for name, value in _ECHO.items())
_NOW = {"retry-after": "0", "x-request-id": KEY, "request-id": TEAM, "x-echo": KEY}


def _error(status: int, message: str, **more: Any) -> Play:
    error = {"message": message, "type": "invalid_request_error", **more}
    return Play(status=status, body={"type": "error", "error": error}, headers=_NOW)


PLAYS: Sequence[Play] = (
    _error(401, f"Incorrect API key provided: {KEY}.", code="invalid_api_key"),
    _error(401, f"You sent {KEY[:12]}{'*' * 8}{KEY[-9:]}", code=KEY),
    _error(403, f"Not with {TEAM}", type=KEY, kind=TEAM),
    _error(400, f"Bad value {KEY}", param=KEY),
    _error(400, f"Bad header {TEAM}", param=TEAM, details=[{"reason": KEY}]),
    _error(404, f"model {KEY} not found", param="model", code="model_not_found"),
    _error(429, f"Slow down, {KEY}", code="rate_limit_exceeded"),
    _error(500, f"Failed with {_TOLD}", request={"headers": _ECHO}),
    _error(500, json.dumps(_ECHO), echo=_ECHO),
    _error(503, repr(_ECHO)),
    Play(status=500, body={"headers": _ECHO}, headers=_NOW),
    Play(status=500, body=f"<html>{_TOLD}</html>", headers=_NOW),
    Play(status=502, body=_TOLD, headers=_NOW),
    Play(status=422, body={"detail": [{"loc": ["body", KEY], "msg": TEAM}]}),
    Play(status=422, body={"detail": f"{KEY}, {TEAM}"}),
    Play(status=307, body="", headers={"location": f"http://x:{KEY}@192.0.2.1/{TEAM}"}),
    Play(status=200, body=f"<html>{_TOLD}</html>", headers=_NOW),
    Play(status=200, body=_ECHO, headers=_NOW),
    Play(steps=[sse({"error": {"message": _TOLD, "type": KEY, "param": TEAM}})], headers=_NOW),
    Play(steps=[sse({"type": "error", "error": {"message": KEY, "code": 500}})]),
    Play(steps=[f"data: {KEY}\n\n".encode()]),
    Play(steps=[f"{TEAM}: x\nevent: {KEY}\ndata: {{{KEY}\n\n".encode(), HangUp()]),
)


# --- the tests -------------------------------------------------------------------------------


def test_what_a_provider_echoes_goes_nowhere(
    desk: Desk, path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for play in PLAYS:
        run = desk.ask(play)
        if play.status != 200:
            assert run.failure is not None
            assert run.failure.message
    desk.place.put(Scene(text=("All", " well."), thinking=("Hm.",)))
    assert desk.ask().finish_reason == "stop"
    search(desk, path, capfd)


def test_a_wrong_key_is_not_told_of(
    desk: Desk, path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    desk.place.server.key = "another"
    assert desk.ask().failure is not None
    endpoint = endpoint_of(adapter(desk.name))
    desk.call(lambda found: found.list_models(endpoint))
    desk.call(lambda found: found.count_tokens(desk.store.runs.sent(_runs(desk)[-1].id), endpoint))
    assert desk.failures
    assert KEY not in repr(endpoint)
    search(desk, path, capfd)


def test_a_transport_that_fails_says_nothing_of_what_it_carried(
    desk: Desk, path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("core.wire.connections.READ_SECONDS", 0.3)
    assert desk.ask(Play(steps=[HangUp()])).failure is not None
    assert desk.ask(Play(wait=5)).failure is not None
    nowhere = "http://127.0.0.1:9/v1"
    if desk.name == desk.place.name:
        aim(desk.place, nowhere, monkeypatch)
    else:
        endpoints.move(desk.store, desk.name, nowhere)
    failure = desk.ask().failure
    assert failure is not None
    assert failure.kind == "Unreachable"
    search(desk, path, capfd)


ADDRESSES = (
    "http://me:{secret}@127.0.0.1:{port}/v1",
    "http://{secret}@127.0.0.1:{port}",
    "ftp://me:{secret}@127.0.0.1/v1",
    "http://me:{secret}@[::1/v1",
    "http://me:{secret}@127.0.0.1:99999999/v1",
    "me:{secret}@127.0.0.1",
    "http://127.0.0.1:{port}/v1?key={secret}",
    "http://127.0.0.1:{port}/v1#{secret}",
    "http://me:{secret}@127.0.0.1:9/v1",
)


@pytest.mark.parametrize("way", ["its own"], indirect=True)
def test_a_password_in_an_address_goes_nowhere(
    desk: Desk, path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    port = desk.place.endpoint.base_url.split(":")[2].split("/")[0]
    desk.place.put(Scene())
    for form in ADDRESSES:
        url = form.format(secret=PASSWORD, port=port)
        aim(desk.place, url, monkeypatch)
        failure = desk.ask().failure
        assert failure is not None, form
        endpoint = endpoint_of(adapter(desk.name))
        desk.call(lambda found, at=endpoint: found.list_models(at))
        with suppress(UserError):
            endpoints.add(desk.store, label="x", protocol=desk.name, base_url=url)
            raise AssertionError(f"{form} would be kept in the file")
        search_code(desk)
    assert desk.place.seen == [], "a password was sent, or would have been"
    search(desk, path, capfd)


# --- the search ------------------------------------------------------------------------------


def _runs(desk: Desk) -> list[Run]:
    return [desk.store.runs.get(line["id"]) for line in desk.store.ledger.every(Filter())]


def search(desk: Desk, path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Look everywhere. That there is something to look at is seen to as well."""
    runs = _runs(desk)
    assert runs
    desk.clean("a failure", desk.failures)
    desk.clean("the ledger", [repr(run) + repr(desk.store.runs.sent(run.id)) for run in runs])
    desk.clean("an export", exports(desk))
    desk.clean("the page", pages(desk))
    search_code(desk)
    desk.clean("the log", desk.logged)
    heard = any("httpx2" in line for line in desk.logged)
    assert heard == bool(desk.place.seen), "the transport should be heard"
    files_are_clean(desk, path)
    backend.close()
    files_are_clean(desk, path)
    desk.clean("what was printed", capfd.readouterr())


def files_are_clean(desk: Desk, path: Path) -> None:
    there = [file for file in path.parent.rglob("*") if file.is_file()]
    assert path in there
    desk.clean("a file", [f"{file} {file.read_bytes().decode('latin-1')}" for file in there])


def search_code(desk: Desk) -> None:
    for run in _runs(desk):
        sent = exchange(desk.store, run.id)
        desk.clean("what is shown of a call", [repr(sent)])
        desk.clean("the code of a call", [written(sent, form) for form in FILES if sent.body])


def subjects(desk: Desk) -> Iterator[Taken]:
    """Everything that can be exported of all sessions."""
    for session_id in desk.sessions:
        branches = desk.store.branches.of(session_id)
        yield exporting.tree(desk.store, session_id)
        yield comparison(desk.store, session_id, branch_ids=[one.id for one in branches])
        for branch in branches:
            taken = exporting.branch(desk.store, session_id, branch.id)
            yield taken
            for node in taken.nodes[-1:]:  # the branch has the words of all
                yield exporting.answer(desk.store, session_id, node.id)


def exports(desk: Desk) -> Iterator[str]:
    """Every kind of file of every subject, with all that can be in it."""
    include = Include(thinking=True, recaps="expanded")
    for taken in subjects(desk):
        for writer in writers(exporting.scope_of(taken)):
            with suppress(UserError):  # an answer without code, a provider that cannot take it
                yield unpacked(exporting.write(taken, writer.name, include).content)
        if isinstance(taken, AnswerTaken):
            manifest = provenance.manifest(desk.store, taken.node.session_id, taken.node.id)
            yield from (as_file(manifest, kind).content.decode() for kind in get_args(Kind))
    yield "".join(csv_lines(desk.store.ledger.every(Filter())))


def unpacked(content: bytes) -> str:
    """A file as text; of an archive, what is in it."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return content.decode("latin-1")
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return "\n".join(archive.read(name).decode("latin-1") for name in archive.namelist())


def pages(desk: Desk) -> Iterator[str]:
    """All that reaches the browser: what the thread is given, and whole pages."""
    for session_id in desk.sessions:
        view = show(desk.store, session_id)
        yield repr(thread.trouble(desk.runner, view))
    test = AppTest.from_file(ROOT / "pages" / "main.py", default_timeout=30)
    test.query_params["session"] = desk.sessions[-1]
    for page in (None, "runs.py", "settings.py"):
        if page:
            test.switch_page(page)
        test.run()
        assert not test.exception, [error.value for error in test.exception]
        found = [*protos(test._tree)]
        assert len(found) > 5
        yield from found


def protos(block: Any) -> Iterator[str]:
    """Every element below, as it goes to the browser."""
    yield str(getattr(block, "proto", ""))
    for child in getattr(block, "children", {}).values():
        yield from protos(child)
