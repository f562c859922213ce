"""A server that answers every Chat Completions request with the same 200 chunks.

``python -m bench.server`` prints its port. As little as HTTP needs, on bare asyncio in a
process of its own, so that what is measured is the client. The model's name says how fast the
chunks come: ``burst``, or ``paced`` with 20 ms before each.
"""

import asyncio
import json
from contextlib import suppress

CHUNKS = 200
PACE = 0.020  # seconds
_WORDS = "A word at a time, as a model would write it, until the answer is complete.".split()


def _event(delta: dict[str, str] | None, finish: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    chunk = {
        "id": "chatcmpl-bench",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "bench-1",
        "choices": [] if delta is None else [choice],
        **more,
    }
    return _framed(b"data: " + json.dumps(chunk).encode() + b"\n\n")


def _framed(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"cache-control: no-cache\r\n\r\n"
)
_WORD_EVENTS = [_event({"content": f"{_WORDS[n % len(_WORDS)]} "}) for n in range(CHUNKS)]
_USAGE = {"prompt_tokens": 2000, "completion_tokens": CHUNKS, "total_tokens": 2000 + CHUNKS}
_END = _event({}, "stop") + _event(None, usage=_USAGE) + _framed(b"data: [DONE]\n\n") + b"0\r\n\r\n"


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = int(head.split("content-length:")[1].split("\r\n")[0])
            request = json.loads(await reader.readexactly(length))
            writer.write(_HEAD)
            for event in _WORD_EVENTS:
                if request["model"] == "paced":
                    await asyncio.sleep(PACE)
                writer.write(event)
            writer.write(_END)
            await writer.drain()
    writer.close()


async def main() -> None:
    """Serve until the process ends."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
