"""The ASGI app: the Streamlit script, the live routes beside it, and who may ask.

Start it with ``streamlit run app.py`` (``make run`` does).
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
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


app = st.App(
    Path(__file__).with_name("pages") / "main.py",
    lifespan=lifespan,
    routes=[
        *live.routes,
        # Streamlit looks for static files beside the script; ours stand at the top.
        Mount("/app/static", StaticFiles(directory=Path(__file__).with_name("static"))),
    ],
    middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK)],
)
