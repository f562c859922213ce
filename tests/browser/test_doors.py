"""What must not get in, and what is said when the database cannot be opened."""

import http.client
import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from core import Store
from tests.browser.desk import Desk, conversation
from tests.browser.server import Server

# --- who may ask -----------------------------------------------------------------------------

UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
}


def asked(server: Server, path: str, **headers: str) -> tuple[int, bytes]:
    """Status and body, asked for as no browser would."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request("GET", path, headers=named)
    answer = connection.getresponse()
    status = answer.status
    body = b"" if status == 101 else answer.read()
    connection.close()
    return status, body


@pytest.fixture
def token(desk: Desk) -> str:
    """The token of the running process, as its page knows it."""
    found: list[str] = []
    desk.page.on("websocket", lambda socket: found.append(socket.url))
    desk.open(conversation(desk.server.store, "a secret question", "a secret answer"))
    expect(desk.answer(1)).to_be_visible()
    url = next(url for url in found if "/api/live" in url)
    return url.partition("token=")[2].partition("&")[0]


@pytest.mark.parametrize(
    "path", ["/", "/_stcore/health", "/api/tree/x", "/app/static/thread/dom.js"]
)
def test_a_foreign_host_is_refused(server: Server, path: str) -> None:
    assert asked(server, path, Host="evil.example")[0] == 400
    assert asked(server, path, Host=f"evil.example:{server.port}")[0] == 400


@pytest.mark.parametrize("path", ["/_stcore/stream", "/api/live?token={token}&session={session}"])
def test_a_foreign_host_or_origin_gets_no_websocket(desk: Desk, token: str, path: str) -> None:
    server = desk.server
    path = path.format(token=token, session=desk.place()["session"])
    home = f"http://127.0.0.1:{server.port}"
    assert asked(server, path, **UPGRADE, Origin=home)[0] == 101
    assert asked(server, path, **UPGRADE, Host="evil.example")[0] in (400, 403)
    assert asked(server, path, **UPGRADE, Origin="http://evil.example")[0] == 403
    assert asked(server, path, **UPGRADE, Origin="null")[0] == 403


def test_the_routes_want_the_token_of_this_process_and_an_origin_of_this_server(
    desk: Desk, token: str
) -> None:
    server, session = desk.server, desk.place()["session"]
    path = f"/api/tree/{session}"
    status, body = asked(server, path, x_turntree_token=token)
    assert status == 200
    assert len(json.loads(body)["nodes"]) == 2
    for headers in (
        {},
        {"x_turntree_token": "guessed"},
        {"x_turntree_token": token, "Origin": "http://evil.example"},
        {"x_turntree_token": token, "Origin": "null"},
    ):
        status, body = asked(server, path, **headers)
        assert status == 403
        assert b"secret" not in body


def test_without_the_token_the_live_stream_says_nothing(desk: Desk, token: str) -> None:
    said = desk.page.evaluate(
        """(session) => new Promise((done) => {
            const socket = new WebSocket(`ws://${location.host}/api/live?session=${session}&token=no`);
            const heard = [];
            socket.onmessage = ({ data }) => heard.push(data);
            socket.onclose = ({ code }) => done({ code, heard });
        })""",
        desk.place()["session"],
    )
    assert said == {"code": 4403, "heard": []}


@pytest.mark.parametrize(
    "path",
    [
        "/api/tree/x?after=notanumber",
        "/api/lineage/nosuchnode",
        "/api/nodes/a,b,c",
        "/api/nodes/" + "x," * 500,
        "/app/static/../app.py",
        "/app/static/%2e%2e/app.py",
        "/app/static/..%2fsessions.db",
    ],
)
def test_odd_requests_are_answered_calmly(desk: Desk, token: str, path: str) -> None:
    status, body = asked(desk.server, path, x_turntree_token=token)
    assert status < 500
    assert b"streamlit" not in body.lower() or status != 200 or b"<!doctype html>" in body.lower()


# --- a database that cannot be opened --------------------------------------------------------


@pytest.fixture(scope="module")
def shut(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An app whose database is damaged before it starts; each test puts its own in place."""
    server = Server(tmp_path_factory.mktemp("shut"))
    server.path.write_bytes(b"This is no database at all. " * 500)
    try:
        yield server.start()
    finally:
        server.stop()


def refused(context: BrowserContext, server: Server, words: str) -> Desk:
    """The page says why, and leaves the file as it was."""
    before = server.path.read_bytes()
    desk = Desk(context.new_page(), server)
    desk.page.goto(server.url)
    expect(
        desk.page.get_by_role("heading", name="Turntree cannot open its database")
    ).to_be_visible(timeout=20_000)
    expect(desk.page.get_by_role("alert")).to_contain_text(words)
    expect(desk.page.get_by_text(str(server.path))).to_be_visible()
    assert server.path.read_bytes() == before
    return desk


def fresh(path: Path) -> None:
    """Put a good database in place of whatever is there."""
    for one in path.parent.glob("sessions.db*"):
        one.unlink()
    Store.open(path).close()


def run(path: Path, sql: str) -> None:
    connection = sqlite3.connect(path)
    connection.execute(sql)
    connection.commit()
    connection.close()


HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Lock the file from another process: this one reads it, and that would free its own lock."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        try:
            yield
        finally:
            holder.communicate()


def test_a_damaged_database_is_said_on_the_page(context: BrowserContext, shut: Server) -> None:
    shut.path.write_bytes(b"This is no database at all. " * 500)
    refused(context, shut, "not a")


def test_a_database_of_a_newer_version_is_said_on_the_page(
    context: BrowserContext, shut: Server
) -> None:
    fresh(shut.path)
    run(
        shut.path,
        "INSERT INTO _sqlite_migrations (migration_set, name, applied_at)"
        " VALUES ('turntree', 'm999_from_the_future', '2999-01-01')",
    )
    refused(context, shut, "newer")


def test_a_locked_database_is_said_on_the_page_and_opened_once_it_is_free(
    context: BrowserContext, shut: Server
) -> None:
    fresh(shut.path)
    run(shut.path, "PRAGMA journal_mode = DELETE")
    with held(shut.path):
        desk = refused(context, shut, "locked by another program")
    desk.page.get_by_role("button", name="Try again").click()
    expect(desk.box).to_be_visible(timeout=20_000)
    expect(desk.page.get_by_role("heading", name="Start broad.")).to_be_visible()
