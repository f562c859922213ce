"""A server that answers every request with the same words, in the protocol it was asked in.

``python -m bench.server`` prints its port. As little as HTTP needs, on bare asyncio in a
process of its own, so that what is measured is the client. The model's name says how the words
come: ``burst``, 200 chunks at once; ``paced`` with 20 ms before each; ``short``, 50 paced ones.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress

from tests.contract import cases_anthropic, cases_gemini, cases_openai
from tests.contract.case import Scene, Usage

CHUNKS = 200
SHORT = 50
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
_COUNTED = {"prompt_tokens": 2000, "completion_tokens": CHUNKS, "total_tokens": 2000 + CHUNKS}


def _chat(words: Sequence[str]) -> list[bytes]:
    """The events of an answer as Chat Completions; the last one ends the answer."""
    said = [_event({"content": word}) for word in words]
    end = _event({}, "stop") + _event(None, usage=_COUNTED) + _framed(b"data: [DONE]\n\n")
    return [*said, end]


def _answers(count: int) -> dict[str, list[bytes]]:
    """The events of an answer of so many chunks, by what the path of its protocol holds."""
    words = [f"{_WORDS[n % len(_WORDS)]} " for n in range(count)]
    scene = Scene(text=words, usage=Usage(input_tokens=2000, output_tokens=count))
    others = {
        "/responses": cases_openai.steps(scene, {}),
        "/messages": cases_anthropic.steps(scene),
        "GenerateContent": cases_gemini.steps(scene),
    }
    framed = {
        path: [_framed(step) for step in steps if isinstance(step, bytes)]
        for path, steps in others.items()
    }
    return {"/chat/completions": _chat(words), **framed}


_LONG, _BRIEF = _answers(CHUNKS), _answers(SHORT)


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            path = head.split(" ", 2)[1]
            length = int(head.lower().split("content-length:")[1].split("\r\n")[0])
            request = json.loads(await reader.readexactly(length))
            model = request.get("model") or path.split("/models/")[1].split(":")[0]
            answers = _BRIEF if model == "short" else _LONG
            writer.write(_HEAD)
            for event in next(events for part, events in answers.items() if part in path):
                if model != "burst":
                    await asyncio.sleep(PACE)
                writer.write(event)
            writer.write(b"0\r\n\r\n")
            await writer.drain()
    writer.close()


async def main() -> None:
    """Serve until the process ends."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
