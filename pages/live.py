"""The routes beside the pages: immutable bodies, older pages, tree nodes, the live stream.

One WebSocket a tab carries every running answer of its session. All routes ask for the token
of this process and, where a browser names one, for an origin on this very server.
"""

import asyncio
import json
import re
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from core.errors import NotFound, TurntreeError
from core.exchange import FILES, exchange, written
from core.files import small_picture
from core.live import Live
from core.roster import News
from core.types import CONVERSATION, PARTS
from core.view import show
from core.wire.files import IMAGES, PDF
from pages import backend
from pages.components.entry import entry_page, run_facts

_TICK = 1 / 30  # seconds between two looks at running answers
_IMMUTABLE = {"cache-control": "private, max-age=31536000, immutable"}
_FRESH = {"cache-control": "no-store"}
_FILE = _IMMUTABLE | {
    "x-content-type-options": "nosniff",
    "content-security-policy": "default-src 'none'; sandbox",
    "content-disposition": "attachment",
    "cross-origin-resource-policy": "same-origin",
}
_MOST_BODIES = 50
_MARKS = re.compile(r"^\W+(?=\w)|[*`#|]+")  # a row of the tree shows words, not Markdown
_MOST_ENTRIES = 200
_STRANGER = 4403  # closes a WebSocket that has no token of this process


def _from_here(connection: HTTPConnection) -> bool:
    origin = connection.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == connection.headers.get("host")


def _allowed(connection: HTTPConnection, token: str | None) -> bool:
    return _from_here(connection) and token == backend.TOKEN


def _guarded(
    answer: Callable[[Request], Response],
) -> Callable[[Request], Awaitable[Response]]:
    async def route(request: Request) -> Response:
        if not _allowed(request, request.headers.get("x-turntree-token")):
            return JSONResponse({"error": "Open this from Turntree's own page."}, 403)
        try:
            return await run_in_threadpool(answer, request)
        except NotFound as error:
            return JSONResponse({"error": error.message}, 404, headers=_FRESH)
        except ValueError:
            return JSONResponse({"error": "That is no number."}, 400, headers=_FRESH)
        except TurntreeError as error:
            return JSONResponse({"error": error.message}, 503, headers=_FRESH)

    return route


def _nodes(request: Request) -> Response:
    ids = request.path_params["ids"].split(",")[:_MOST_BODIES]
    nodes = [
        {
            "id": node.id,
            "role": node.role,
            "author": node.author,
            "created_at": node.created_at,
            "source_id": node.source_id,
            "sent_suffix": node.sent_suffix,
            "parts": PARTS.dump_python(node.parts, mode="json"),
        }
        for node in backend.store().nodes.many(ids)
    ]
    files = [part for node in nodes for part in node["parts"] if part["type"] == "attachment"]
    sizes = backend.store().attachments.sizes(file["sha256"] for file in files)
    for file in files:
        file["size"] = sizes.get(file["sha256"])
    return JSONResponse({"nodes": nodes}, headers=_IMMUTABLE)


def _file(request: Request) -> Response:
    """A file's bytes, or with ``?size=thumb`` a small picture. Never anything that runs.

    Only kinds that are known for what they are keep their name; all else is plain text.
    """
    digest = request.path_params["sha"]
    files = backend.store().attachments
    media_type = files.about(digest).media_type
    if request.query_params.get("size") == "thumb":
        if media_type not in IMAGES:
            raise NotFound("There is no small picture of this file.")
        return Response(_small(digest), media_type="image/webp", headers=_FILE)
    if media_type not in (*IMAGES, PDF):
        media_type = "text/plain; charset=utf-8"
    return Response(files[digest], media_type=media_type, headers=_FILE)


@lru_cache(maxsize=128)
def _small(digest: str) -> bytes:
    return small_picture(backend.store().attachments[digest])


def _lineage(request: Request) -> Response:
    store = backend.store()
    tip = store.nodes.get(request.path_params["tip"])
    limit = min(int(request.query_params.get("limit", "60")), _MOST_ENTRIES)
    view = show(store, tip.session_id, node_id=tip.id)
    entries, more = entry_page(store, view, before=request.query_params.get("before"), limit=limit)
    return JSONResponse({"entries": entries, "more": more}, headers=_FRESH)


def _tree(request: Request) -> Response:
    after = int(request.query_params.get("after", "0"))
    rows = backend.store().nodes.outline(request.path_params["session"], after)
    fields = ("id", "parent_id", "role", "author", "snippet", "model")
    for row in rows:
        row["snippet"] = _MARKS.sub("", row["snippet"]).strip()
    return JSONResponse(
        {
            "seq": rows[-1]["seq"] if rows else after,
            "nodes": [[row[field] for field in fields] for row in rows],
        },
        headers=_FRESH,
    )


def _sent(request: Request) -> Response:
    """One form of a call, exact and whole: for the copy buttons of "What was sent"."""
    form = request.path_params["form"]
    if form not in FILES:
        return JSONResponse({"error": "There is no such form of a call."}, 404, headers=_FRESH)
    run = request.path_params["run"]
    live = backend.runner().live(run)
    of = exchange(backend.store(), run, arrived=live.parts() if live else None)
    return Response(written(of, form), media_type="text/plain; charset=utf-8", headers=_FRESH)


def _tips(session_id: str) -> dict[str, str | None]:
    return {branch.id: branch.tip_id for branch in backend.store().branches.of(session_id)}


async def _live(socket: WebSocket) -> None:
    if not _from_here(socket):
        await socket.close(_STRANGER)
        return
    await socket.accept()
    if not _allowed(socket, socket.query_params.get("token")):
        # A tab of an earlier process: only after an accept does it see the code, and asks anew.
        await socket.close(_STRANGER)
        return
    watcher = _Watcher(socket, socket.query_params.get("session", ""))
    stop_listening = backend.runner().listen(watcher.hear)
    hanging = asyncio.create_task(watcher.until_closed())
    try:
        await watcher.watch()
    except (WebSocketDisconnect, RuntimeError):
        pass  # the tab is gone; its run goes on
    finally:
        stop_listening()
        hanging.cancel()


class _Watcher:
    """One tab's eye on its session: sends what is new, thirty times a second at most."""

    def __init__(self, socket: WebSocket, session_id: str) -> None:
        self._socket = socket
        self._session = session_id
        self._loop = asyncio.get_running_loop()
        self._news: asyncio.Queue[News | None] = asyncio.Queue()
        self._read: dict[str, _Reader] = {}

    def hear(self, news: News) -> None:
        """Take news from any thread."""
        self._loop.call_soon_threadsafe(self._news.put_nowait, news)

    async def until_closed(self) -> None:
        """Wait for the tab to close the socket, or the server to end, and end :meth:`watch`."""
        with suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await self._socket.receive_text()
        self._news.put_nowait(None)

    async def watch(self) -> None:
        """Send the state, then every change, until the tab hangs up."""
        lives = [
            live
            for live in backend.runner().live_in(self._session)
            if live.run.purpose in CONVERSATION
        ]
        self._read = {live.run.id: _Reader(live) for live in lives}
        tips = await run_in_threadpool(_tips, self._session)
        runs = [reader.whole() for reader in self._read.values()]
        await self._send({"type": "hello", "runs": runs, "tips": tips})
        while True:
            try:
                timeout = _TICK if self._read else 30.0
                news = await asyncio.wait_for(self._news.get(), timeout)
            except TimeoutError:
                await self._send_deltas()
                continue
            if news is None:
                return
            await self._send_deltas()
            await self._tell(news)

    async def _tell(self, news: News) -> None:
        mine = news.session_id == self._session
        if mine and news.kind == "started" and news.run_id not in self._read:
            live = backend.runner().live(news.run_id or "")
            if live is not None and live.run.purpose in CONVERSATION:
                reader = self._read[live.run.id] = _Reader(live)
                await self._send({"type": "started", **reader.whole()})
            elif live is not None:  # beside the conversation: the page shows it, not the thread
                await self._send({"type": "changed", "session": news.session_id})
        elif mine and news.kind == "ended":
            await self._send_deltas()
            self._read.pop(news.run_id or "", None)
            await self._send(
                {
                    "type": "ended",
                    "run": news.run_id,
                    "branch": news.branch_id,
                    "node": news.node_id,
                    "session": news.session_id,
                }
            )
        else:
            await self._send({"type": "changed", "session": news.session_id})

    async def _send_deltas(self) -> None:
        for reader in self._read.values():
            for message in reader.new():
                await self._send(message)

    async def _send(self, message: dict[str, Any]) -> None:
        await self._socket.send_text(json.dumps(message))


class _Reader:
    """How far one tab has read one running answer."""

    def __init__(self, live: Live) -> None:
        self._live = live
        self._position = 0
        self._lengths = {"text": 0, "thinking": 0}
        self._stage: object = None

    def whole(self) -> dict[str, Any]:
        """The run with everything that has arrived; later calls of :meth:`new` go on from here."""
        words = self._advance()
        progress = self._live.progress
        self._stage = progress
        return run_facts(self._live.run) | {
            "text": words["text"],
            "thinking": words["thinking"],
            "stage": progress.stage,
            "share": progress.share,
        }

    def new(self) -> list[dict[str, Any]]:
        """Messages for what has arrived since the last look."""
        run_id, live = self._live.run.id, self._live
        messages: list[dict[str, Any]] = []
        stage: object = live.retry_at or live.progress
        if stage is not self._stage and stage != self._stage:
            self._stage = stage
            messages.append({"run": run_id, **_stage_message(live)})
        before = dict(self._lengths)
        for kind, text in self._advance().items():
            if text:
                messages.append(
                    {"type": "delta", "run": run_id, "kind": kind, "at": before[kind], "text": text}
                )
        return messages

    def _advance(self) -> dict[str, str]:
        deltas = self._live.deltas[self._position :]
        self._position += len(deltas)
        words = {
            kind: "".join(delta.text for delta in deltas if delta.kind == kind)
            for kind in self._lengths
        }
        for kind, text in words.items():
            self._lengths[kind] += len(text.encode("utf-16-le", "surrogatepass")) // 2
        return words


def _stage_message(live: Live) -> dict[str, Any]:
    if live.retry_at is not None:
        seconds = max(0.0, live.retry_at - time.time())
        return {"type": "retrying", "seconds": round(seconds, 1), "message": live.retry_why}
    return {"type": "progress", "stage": live.progress.stage, "share": live.progress.share}


routes = [
    Route("/api/nodes/{ids}", _guarded(_nodes)),
    Route("/api/lineage/{tip}", _guarded(_lineage)),
    Route("/api/tree/{session}", _guarded(_tree)),
    Route("/api/files/{sha}", _guarded(_file)),
    Route("/api/sent/{run}/{form}", _guarded(_sent)),
    WebSocketRoute("/api/live", _live),
]
