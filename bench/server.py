"""A server that answers every request of the four protocols with the same 200 chunks.

``python -m bench.server`` prints its port. As little as HTTP needs, on bare asyncio in a
process of its own, so that what is measured is the client. The model's name says how fast the
chunks come, ``burst``, or ``paced`` with 20 ms before each, and after a dash how many.
``GET /last`` gives a hash of the JSON that came last: two requests can be told to be the same.
"""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256

from tests.fakes import anthropic, chat_completions, gemini, openai

CHUNKS = 200
PACE = 0.020  # seconds
_WORDS = "A word at a time, as a model would write it, until the answer is complete.".split()

Events = tuple[Sequence[bytes], Sequence[bytes], Sequence[bytes]]
"""What comes at once, what comes word by word, and the end."""


def _words(count: int) -> list[str]:
    return [f"{_WORDS[n % len(_WORDS)]} " for n in range(count)]


def _chat(words: list[str]) -> Events:
    usage = {"prompt_tokens": 2000, "completion_tokens": CHUNKS, "total_tokens": 2000 + CHUNKS}
    end = (chat_completions.chunk({}, "stop"), chat_completions.usage(**usage))
    said = [chat_completions.chunk({"content": word}) for word in words]
    return (), said, (*end, chat_completions.DONE)


def _responses(words: list[str]) -> Events:
    added, part, *said, done, whole = openai.message(0, words)
    usage = {"input_tokens": 2000, "output_tokens": CHUNKS, "total_tokens": 2000 + CHUNKS}
    return (*openai.created(), added, part), said, (done, whole, openai.completed(usage))


def _messages(words: list[str]) -> Events:
    first, *said, last = anthropic.text(*words)
    end = anthropic.end(output_tokens=CHUNKS)
    return (anthropic.start(input_tokens=2000, output_tokens=1), first), said, (last, *end)


def _gemini(words: list[str]) -> Events:
    usage = {"promptTokenCount": 2000, "candidatesTokenCount": CHUNKS}
    end = gemini.chunk({"text": ""}, finish="STOP", usageMetadata=usage)
    return (), [gemini.chunk({"text": word}) for word in words], (end,)


_PROTOCOLS = {
    "/chat/completions": _chat,
    "/responses": _responses,
    "/messages": _messages,
    ":streamGenerateContent": _gemini,
}
_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n"
    b"cache-control: no-cache\r\n\r\n"
)
_written: dict[tuple[str, int], Events] = {}
_last = b""


def _framed(body: bytes) -> bytes:
    return f"{len(body):x}\r\n".encode() + body + b"\r\n"


def _events(path: str, count: int) -> Events:
    protocol = next(name for name in _PROTOCOLS if path.endswith(name))
    if (protocol, count) not in _written:
        first, said, end = _PROTOCOLS[protocol](_words(count))
        framed = [[*map(_framed, events)] for events in (first, said, end)]
        _written[protocol, count] = (framed[0], framed[1], [*framed[2], b"0\r\n\r\n"])
    return _written[protocol, count]


async def _answer(writer: asyncio.StreamWriter, path: str, model: str) -> None:
    pace, _, count = model.partition("-")
    first, said, end = _events(path, int(count or CHUNKS))
    writer.write(_HEAD + b"".join(first))
    for event in said:
        if pace == "paced":
            await asyncio.sleep(PACE)
        writer.write(event)
    writer.write(b"".join(end))
    await writer.drain()


async def _serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    global _last
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            method, target, _ = head.split(" ", 2)
            if method == "GET":
                seen = sha256(json.dumps(json.loads(_last), sort_keys=True).encode()).hexdigest()
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: 64\r\n\r\n{seen}".encode())
                continue
            length = int(head.lower().split("content-length:")[1].split("\r\n")[0])
            _last = await reader.readexactly(length)
            path = target.partition("?")[0]
            # Where the model is not in the request it is in the path.
            model = json.loads(_last).get("model") or path.split("/")[-1].partition(":")[0]
            await _answer(writer, path, model)
    writer.close()


async def main() -> None:
    """Serve until the process ends."""
    server = await asyncio.start_server(_serve, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
