"""The ASGI app: the Streamlit script, the live routes beside it, and who may ask.

Start it with ``streamlit run app.py`` (``make run`` does).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import Response
from starlette.routing import Mount
from starlette.staticfiles import StaticFiles

from core.errors import StoreError
from pages import backend, live

LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]


@asynccontextmanager
async def lifespan(_: st.App) -> AsyncIterator[None]:
    """Open the database with the server, so that dead runs are swept before anyone looks."""
    with suppress(StoreError):  # the page says it, and tries again
        backend.runner()
    yield
    backend.close()


class Static(StaticFiles):
    """Our own files, asked for anew each time: after an update no old one may linger."""

    def file_response(self, *args: Any, **more: Any) -> Response:
        """As ever, but not to be used without asking."""
        response = super().file_response(*args, **more)
        response.headers["cache-control"] = "no-cache"
        return response


app = st.App(
    Path(__file__).with_name("pages") / "main.py",
    lifespan=lifespan,
    routes=[
        *live.routes,
        # Streamlit looks for static files beside the script; ours stand at the top.
        Mount("/app/static", Static(directory=Path(__file__).with_name("static"))),
    ],
    middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK)],
)
