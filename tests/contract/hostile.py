"""Files that mean harm or came to harm, each made here in a few words.

``HOSTILE`` maps a name to how its bytes are made and what must come of it: *refused* (a message,
nothing written), *damaged* (told with its place, the rest is read), *repaired* (read whole, what
was put right is told) or *read*. ``told`` is part of what is said.
"""

import io
import json
import random
import sqlite3
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Ends = Literal["refused", "damaged", "repaired", "read"]
LONE = "\ud83d"


@dataclass(frozen=True)
class Hostile:
    make: Callable[[], bytes]
    ends: Ends | tuple[Ends, ...]
    told: str = ""
    file: str = "export.json"


def dumped(value: Any) -> bytes:
    return json.dumps(value).encode()


# --- one good conversation of each, to be spoilt ---


def gpt(*messages: tuple[str, str | None, str], **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation of ``(key, parent, text)``; speakers by the key's first letter."""
    mapping = {
        key: {"id": key, "parent": parent, "children": [], "message": gpt_message(key, text)}
        for key, parent, text in messages
    }
    for key, parent, _ in messages:
        if parent in mapping:
            mapping[parent]["children"].append(key)
    last = messages[-1][0] if messages else None
    return {
        "id": "c1",
        "conversation_id": "c1",
        "title": "T",
        "create_time": 1.7e9,
        "update_time": 1.7e9,
        "current_node": last,
        "mapping": mapping,
    } | more


def gpt_message(key: str, text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": key,
        "author": {"role": "assistant" if key.startswith("a") else "user"},
        "create_time": 1.7e9,
        "content": {"content_type": "text", "parts": [text]},
        "recipient": "all",
        "weight": 1.0,
        "metadata": {},
    } | more


GOOD = (("u1", None, "Hello"), ("a1", "u1", "Good day"))


def spoilt(**more: Any) -> bytes:
    return dumped([gpt(*GOOD, **more)])


def message(**more: Any) -> bytes:
    """A good conversation with one message spoilt."""
    found = gpt(*GOOD)
    found["mapping"]["a1"]["message"] |= more
    return dumped([found])


def claude(*messages: dict[str, Any], **more: Any) -> bytes:
    return dumped(
        [
            {
                "uuid": "c-1",
                "name": "T",
                "created_at": "2025-06-01T10:00:00.000000Z",
                "updated_at": "2025-06-01T10:00:00.000000Z",
                "account": {"uuid": "me"},
                "chat_messages": list(messages),
            }
            | more
        ]
    )


def said(key: str, parent: str | None, text: str, **more: Any) -> dict[str, Any]:
    return {
        "uuid": key,
        "parent_message_uuid": parent,
        "text": text,
        "content": [{"type": "text", "text": text}],
        "sender": "assistant" if key.startswith("a") else "human",
        "created_at": "2025-06-01T10:00:00.000000Z",
        "updated_at": "2025-06-01T10:00:00.000000Z",
        "attachments": [],
        "files": [],
    } | more


def webui(messages: Any, current: Any = "a1") -> bytes:
    chat = {"title": "T", "models": ["m"], "history": {"currentId": current, "messages": messages}}
    return dumped(
        [{"id": "w1", "user_id": "me", "title": "T", "chat": chat, "created_at": 1700000000}]
    )


def web(key: str, parent: str | None, children: Sequence[str] = (), text: str = "x") -> Any:
    return {
        "id": key,
        "parentId": parent,
        "childrenIds": list(children),
        "role": "assistant" if key.startswith("a") else "user",
        "content": text,
        "timestamp": 1700000000,
    }


def libre(messages: Any, **more: Any) -> bytes:
    return dumped(
        {
            "conversationId": "l1",
            "endpoint": "openAI",
            "title": "T",
            "exportAt": "10:00:00",
            "branches": True,
            "recursive": False,
            "options": {"model": "m"},
            "messages": messages,
        }
        | more
    )


def libre_message(key: str, parent: str | None, text: str = "x") -> dict[str, Any]:
    return {
        "messageId": key,
        "parentMessageId": parent,
        "isCreatedByUser": not key.startswith("a"),
        "sender": "User",
        "text": text,
    }


HEADER = {"user_name": "Me", "character_name": "She", "create_date": "x", "chat_metadata": {}}


def tavern(*rows: Any) -> bytes:
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows).encode()


def row(text: str = "x", **more: Any) -> dict[str, Any]:
    return {"name": "Me", "is_user": True, "is_system": False, "mes": text, "send_date": "x"} | more


# --- archives ---


def zipped(*members: tuple[str, bytes]) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return made.getvalue()


def bomb() -> bytes:
    """A gigabyte of zeros that packs to one megabyte."""
    made = io.BytesIO()
    with (
        zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open("conversations.json", "w", force_zip64=True) as member,
    ):
        for _ in range(64):
            member.write(bytes(2**24))
    return made.getvalue()


def lying_bomb() -> bytes:
    """The same, but the archive says that it is small."""
    packed = zlib.compressobj(9, zlib.DEFLATED, -15)
    body = b"".join(packed.compress(bytes(2**22)) for _ in range(32)) + packed.flush()
    name = b"conversations.json"
    sizes = struct.pack("<LLL", 0, len(body), 100)
    local = b"PK\x03\x04" + struct.pack("<HHHHH", 20, 0, 8, 0, 0) + sizes
    local += struct.pack("<HH", len(name), 0) + name
    central = b"PK\x01\x02" + struct.pack("<HHHHHH", 20, 20, 0, 8, 0, 0) + sizes
    central += struct.pack("<HHHHHLL", len(name), 0, 0, 0, 0, 0, 0) + name
    end = b"PK\x05\x06" + struct.pack(
        "<HHHHLLH", 0, 0, 1, 1, len(central), len(local) + len(body), 0
    )
    return local + body + central + end


def link() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        info = zipfile.ZipInfo("conversations.json")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc/passwd")
    return made.getvalue()


def encrypted() -> bytes:
    found = bytearray(zipped(("conversations.json", spoilt())))
    found[6] |= 1
    at = found.index(b"PK\x01\x02")
    found[at + 8] |= 1
    return bytes(found)


def bad_sum() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("conversations.json", spoilt())
    return made.getvalue().replace(b"Good day", b"Bad days", 1)


# --- databases ---


def database(*statements: str) -> bytes:
    db = sqlite3.connect(":memory:")
    for statement in statements:
        db.execute(statement)
    db.commit()
    found = db.serialize()
    db.close()
    return found


LLM = (
    "CREATE TABLE conversations (id TEXT PRIMARY KEY, name TEXT, model TEXT)",
    "CREATE TABLE responses (id TEXT PRIMARY KEY, model TEXT, prompt TEXT, system TEXT,"
    " prompt_json TEXT, options_json TEXT, response TEXT, response_json TEXT,"
    " conversation_id TEXT, duration_ms INTEGER, datetime_utc TEXT)",
)
LLM_TREE = (
    *LLM,
    "CREATE TABLE messages (hash TEXT PRIMARY KEY, parent_hash TEXT, role TEXT,"
    " provider_metadata TEXT)",
    "CREATE TABLE parts (message_hash TEXT, position INTEGER, type TEXT, text TEXT, payload TEXT,"
    " tool_name TEXT)",
    "CREATE TABLE threads (id TEXT PRIMARY KEY, name TEXT, tip_message_hash TEXT,"
    " forked_from TEXT, datetime_utc TEXT)",
    "CREATE TABLE turns (id TEXT PRIMARY KEY, thread_id TEXT, parent_message_hash TEXT,"
    " tip_message_hash TEXT, model TEXT, datetime_utc TEXT)",
)


def noise() -> bytes:
    return random.Random(7).randbytes(5000)


def chain(length: int) -> bytes:
    names = [("a" if place % 2 else "u") + str(place) for place in range(length)]
    return dumped(
        [gpt(*((name, names[at - 1] if at else None, "x") for at, name in enumerate(names)))]
    )


def nested(depth: int, opened: str, closed: str) -> bytes:
    return (opened * depth + closed * depth).encode()


def circle(length: int) -> bytes:
    return dumped([gpt(*((f"u{n}", f"u{(n + 1) % length}", f"{n}") for n in range(length)))])


def deep_replies(depth: int) -> bytes:
    text = '{"message_tree_id":"t","tree_state":"ready_for_export","prompt":'
    for place in range(depth):
        role = "assistant" if place % 2 else "prompter"
        text += f'{{"message_id":"m{place}","text":"x","role":"{role}","replies":['
    return (text + "]}" * depth + "}").encode()


def deep_children(depth: int) -> bytes:
    inner: Any = []
    for place in range(depth, 0, -1):
        inner = [libre_message(f"u{place}", f"u{place - 1}") | {"children": inner}]
    text = libre([]).decode().replace('"recursive": false', '"recursive": true')
    return text.replace('"messages": []', f'"messages": {json.dumps(inner)}').encode()


def activity(html: str) -> bytes:
    """A card of a Takeout with this answer."""
    card = {"header": "Gemini Apps", "title": "Prompted x", "time": "2025-01-01T00:00:00.000Z"}
    return dumped([card | {"products": ["Gemini Apps"], "safeHtmlItem": [{"html": html}]}])


def shared_tools(length: int) -> bytes:
    """A chain of tools' messages, with an answer below each: told in full, it is a square."""
    found = gpt(("u0", None, "x"))
    above = "u0"
    for place in range(length):
        tool, answer = f"t{place}", f"a{place}"
        said = gpt_message(tool, "out") | {"author": {"role": "tool", "name": "python"}}
        found["mapping"] |= {
            tool: {"id": tool, "parent": above, "children": [], "message": said},
            answer: {
                "id": answer,
                "parent": tool,
                "children": [],
                "message": gpt_message(answer, "y"),
            },
        }
        above = tool
    return dumped([found])


TURN = {"from": "human", "value": "x"}
LINE = b'{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}'
SCRIPT = "<script>alert(1)</script><img src=x onerror=alert(2)>"

HOSTILE: dict[str, Hostile] = {
    # what is no export at all
    "nothing": Hostile(lambda: b"", "refused", "empty"),
    "blanks": Hostile(lambda: b" \n\t\n", "refused"),
    "one zero": Hostile(lambda: b"\0", "refused"),
    "noise": Hostile(noise, "refused"),
    "a picture": Hostile(lambda: b"\x89PNG\r\n\x1a\n" + noise(), "refused", file="a.png"),
    "a list that begins": Hostile(lambda: b"[", "refused"),
    "an object that begins": Hostile(lambda: b"{", "refused"),
    "an empty list": Hostile(lambda: b"[]", "refused"),
    "an empty object": Hostile(lambda: b"{}", "refused"),
    "null": Hostile(lambda: b"null", "refused"),
    "a number": Hostile(lambda: b"12", "refused"),
    "prose": Hostile(lambda: b"Nothing was said by anyone.\n" * 9, "refused", file="notes.txt"),
    "a web page": Hostile(lambda: f"<html>{SCRIPT}</html>".encode(), "refused", file="chat.html"),
    "arrays without end": Hostile(lambda: nested(100_000, "[", "]"), "refused"),
    "objects without end": Hostile(lambda: nested(100_000, '{"mapping":', "}"), "refused"),
    # JSON that came to harm
    "cut in a conversation": Hostile(lambda: spoilt()[:-40], "refused", "ends in the middle"),
    "cut after a conversation": Hostile(
        lambda: spoilt()[:-1] + b", " + spoilt()[1:-60], ("damaged", "repaired"), "conversation 2"
    ),
    "cut in a string": Hostile(lambda: spoilt()[:60], "refused"),
    "no end of the list": Hostile(lambda: spoilt()[:-1], ("damaged", "read")),
    "more behind the end": Hostile(lambda: spoilt() + b" and so on", "read"),
    "a comma too many": Hostile(lambda: spoilt()[:-1] + b",]", "read"),
    "a broken second one": Hostile(
        lambda: spoilt()[:-1] + b', {"mapping": {oops}}' + b" " * 100 + b"]", ("damaged",), "2"
    ),
    "things that are none": Hostile(
        lambda: b'[null, 1, "x", [], {}, ' + spoilt()[1:], ("read", "damaged")
    ),
    "UTF-16": Hostile(lambda: spoilt().decode().encode("utf-16"), "read"),
    "UTF-16 without a mark": Hostile(lambda: spoilt().decode().encode("utf-16-le"), "read"),
    "UTF-32": Hostile(lambda: spoilt().decode().encode("utf-32"), "read"),
    "UTF-8 with a mark": Hostile(lambda: b"\xef\xbb\xbf" + spoilt(), "read"),
    "Latin-1": Hostile(
        lambda: spoilt().replace(b"Good day", b"Gr\xfc\xdfe"), "repaired", "replaced"
    ),
    "half characters": Hostile(
        lambda: dumped([gpt(("u1", None, f"half {LONE}"))]), "repaired", "replaced"
    ),
    "half characters in ids": Hostile(
        lambda: dumped([gpt((f"u{LONE}", None, "x"), ("a", f"u{LONE}", "y"))]), "read"
    ),
    "zeros in text": Hostile(lambda: spoilt().replace(b"Good day", b"Good\\u0000day"), "read"),
    "bare zeros in text": Hostile(lambda: spoilt().replace(b"Good day", b"Good\0day"), "read"),
    "keys that come twice": Hostile(
        lambda: spoilt().replace(b'"title": "T"', b'"title": "T", "title": "S"'), "read"
    ),
    "numbers that are none": Hostile(
        lambda: spoilt(create_time=float("nan"), update_time=float("inf")), "read"
    ),
    "a number of 5,000 digits": Hostile(
        lambda: spoilt().replace(b"1700000000.0", b"1" * 5000), ("refused", "read")
    ),
    "a number beyond all": Hostile(lambda: spoilt().replace(b"1700000000.0", b"1e999"), "read"),
    "absurd dates": Hostile(lambda: spoilt(create_time=-9e30, update_time="yesterday"), "read"),
    "dates of other kinds": Hostile(
        lambda: spoilt(create_time={"a": []}, update_time=True), "read"
    ),
    # ChatGPT
    "a circle of two": Hostile(
        lambda: dumped([gpt(("u1", "a1", "x"), ("a1", "u1", "y"))]), "repaired", "circle"
    ),
    "its own parent": Hostile(lambda: dumped([gpt(("u1", "u1", "x"))]), "repaired", "circle"),
    "a circle of a thousand": Hostile(lambda: circle(1000), "repaired", "circle"),
    "orphans only": Hostile(
        lambda: dumped([gpt(("u1", "gone", "x"), ("a1", "gone too", "y"))]),
        "repaired",
        "not in the file",
    ),
    "a chain of 20,000": Hostile(lambda: chain(20_000), "read"),
    "5,000 beginnings": Hostile(
        lambda: dumped([gpt(*((f"u{n}", None, "x") for n in range(5000)))]), "read"
    ),
    "a mapping that is a list": Hostile(
        lambda: spoilt(mapping=[1, 2]), ("damaged", "refused", "read")
    ),
    "a mapping of nothing": Hostile(lambda: spoilt(mapping={}), ("damaged", "refused", "read")),
    "nodes that are text": Hostile(
        lambda: spoilt(mapping={"x": "y", "z": 3}), ("damaged", "refused", "read")
    ),
    "a message that is text": Hostile(
        lambda: spoilt(mapping={"x": {"id": "x", "message": "hello", "parent": None}}),
        ("damaged", "refused", "read"),
    ),
    "content of null": Hostile(lambda: message(content=None), "read"),
    "parts that are an object": Hostile(
        lambda: message(content={"content_type": "text", "parts": {"a": 1}}), "read"
    ),
    "parts of every kind": Hostile(
        lambda: message(content={"parts": [None, 1, {"text": []}, [[]], True]}), "read"
    ),
    "an author of null": Hostile(lambda: message(author=None), "read"),
    "a role nobody knows": Hostile(lambda: message(author={"role": "ghost"}), "read"),
    "metadata that is a list": Hostile(lambda: message(metadata=[]), "read"),
    "children that are numbers": Hostile(
        lambda: spoilt().replace(b'"children": ["a1"]', b'"children": [1, null, {}]'), "read"
    ),
    "a place that is a list": Hostile(lambda: spoilt(current_node=["a1"]), ("read", "repaired")),
    "a place that is gone": Hostile(lambda: spoilt(current_node="gone"), ("read", "repaired")),
    "an id that is an object": Hostile(lambda: spoilt(id={}, conversation_id=[]), "read"),
    "one id, two conversations": Hostile(
        lambda: dumped([gpt(*GOOD), gpt(("u9", None, "Other"))]), "read"
    ),
    "a title of a megabyte": Hostile(lambda: spoilt(title="T" * 2**20), "read"),
    "a title that is a list": Hostile(lambda: spoilt(title=["T"]), "read"),
    "a title with script": Hostile(lambda: spoilt(title=SCRIPT), "read"),
    "a title that turns around": Hostile(
        lambda: spoilt(title="a\u202egpj.exe\0\n\x1b[31m"), "read"
    ),
    "script in text": Hostile(lambda: dumped([gpt(("u1", None, SCRIPT))]), "read"),
    "a text of 5 MB": Hostile(lambda: dumped([gpt(("u1", None, "word " * 2**20))]), "read"),
    # Claude
    "Claude without messages": Hostile(
        lambda: claude(chat_messages=None), ("read", "refused", "damaged")
    ),
    "Claude in a circle": Hostile(
        lambda: claude(said("u1", "a1", "x"), said("a1", "u1", "y")), "repaired", "circle"
    ),
    "Claude with one id twice": Hostile(
        lambda: claude(said("u1", None, "x"), said("u1", None, "y")), "repaired", "id"
    ),
    "Claude with nulls": Hostile(lambda: claude(None, said("u1", None, "x"), 3), "read"),
    "Claude with blocks nobody knows": Hostile(
        lambda: claude(said("u1", None, "x", content=[{"type": "ghost"}, None, "x", 1])), "read"
    ),
    "Claude with a deep tool": Hostile(
        lambda: (
            claude(said("u1", None, "x"))
            .replace(
                b'"content": [', b'"content": [{"type": "tool_use", "name": "t", "input": DEEP}, '
            )
            .replace(b"DEEP", nested(700, '{"a":', "}").replace(b":}", b":1}", 1))
        ),
        ("read", "refused", "damaged"),
    ),
    # Open WebUI
    "Open WebUI in a circle": Hostile(
        lambda: webui({"u1": web("u1", "a1", ["a1"]), "a1": web("a1", "u1", ["u1"])}),
        "repaired",
        "circle",
    ),
    "Open WebUI with a place that is gone": Hostile(
        lambda: webui({"u1": web("u1", None)}, "gone"), ("read", "repaired")
    ),
    "Open WebUI with a list": Hostile(lambda: webui([1, 2]), ("read", "refused", "damaged")),
    "Open WebUI with folds unclosed": Hostile(
        lambda: webui({"a1": web("a1", None, text='<details type="reasoning">' * 20_000)}), "read"
    ),
    # LibreChat
    "LibreChat in a circle": Hostile(
        lambda: libre([libre_message("u1", "a1"), libre_message("a1", "u1")]), "repaired", "circle"
    ),
    "LibreChat 300 deep": Hostile(lambda: deep_children(300), ("repaired", "refused")),
    "LibreChat 5,000 deep": Hostile(
        lambda: libre([]).replace(b'"messages": []', b'"messages": ' + nested(5000, "[", "]")),
        "refused",
    ),
    # SillyTavern
    "SillyTavern with wild swipes": Hostile(
        lambda: tavern(HEADER, row(swipes="x", swipe_id=10**9), row(swipes=[1, None], swipe_id=-1)),
        "read",
        file="chat.jsonl",
    ),
    "SillyTavern in halves": Hostile(
        lambda: tavern(HEADER, row("one"), '{"name": "Me", "is_us', row("two")),
        ("damaged", "repaired", "read"),
        file="chat.jsonl",
    ),
    "SillyTavern with a header alone": Hostile(
        lambda: tavern(HEADER), ("read", "refused"), file="chat.jsonl"
    ),
    # others
    "OpenAssistant 200 deep": Hostile(lambda: deep_replies(200), "read", file="a.trees.jsonl"),
    "OpenAssistant 5,000 deep": Hostile(
        lambda: deep_replies(5000), ("refused", "damaged"), file="a.trees.jsonl"
    ),
    "ShareGPT of nothing": Hostile(
        lambda: dumped([{"conversations": "x", "from": "human", "value": "x"}]),
        ("refused", "read", "damaged"),
    ),
    "messages of all kinds": Hostile(
        lambda: dumped({"messages": [{"role": "ghost"}, None, {"role": "user", "content": 3}]}),
        ("read", "refused", "damaged"),
    ),
    "lines, one of them broken": Hostile(
        lambda: (
            dumped({"messages": [{"role": "user", "content": "x"}]})
            + b'\n{"messages": [\n'
            + dumped({"messages": [{"role": "user", "content": "y"}]})
        ),
        ("damaged", "repaired"),
        file="train.jsonl",
    ),
    "AI Studio with null chunks": Hostile(
        lambda: dumped({"runSettings": {"model": "m"}, "chunkedPrompt": {"chunks": [None, 3]}}),
        ("read", "refused", "damaged"),
    ),
    "100,000 speakers": Hostile(
        lambda: b"You:\n\nModel:\n\n" * 50_000, ("read", "refused"), file="chat.txt"
    ),
    "ShareGPT with turns that are text": Hostile(
        lambda: dumped([{"conversations": "x"}, {"conversations": [TURN]}]), "damaged", "no turns"
    ),
    "ShareGPT under one id": Hostile(
        lambda: dumped(
            [{"id": "x", "conversations": [TURN | {"value": str(n)}]} for n in range(3000)]
        ),
        "read",
    ),
    "a line without a conversation": Hostile(
        lambda: LINE + b'\n{"messages": 3}\n' + LINE.replace(b"y", b"z"),
        "damaged",
        "train.jsonl, line 2: there is no conversation",
        "train.jsonl",
    ),
    "a line that is too deep": Hostile(
        lambda: LINE + b"\n" + nested(100_000, '{"messages":', "}") + b"\n",
        "damaged",
        "train.jsonl, line 2: nested more deeply",
        "train.jsonl",
    ),
    "OpenAssistant lines 600 deep": Hostile(
        lambda: deep_replies(600) + b"\n" + deep_replies(2).replace(b'"t"', b'"s"'),
        "read",
        file="a.trees.jsonl",
    ),
    "blank lines without end": Hostile(
        lambda: b"You: a\n\nModel: b" + b"\n" * 300_000 + b"c\n", "read", file="chat.txt"
    ),
    "a fold with a name of 400,000": Hostile(
        lambda: webui({"a1": web("a1", None, text=f"<details {'a' * 400_000}>x")}), "read"
    ),
    "activity with tags unclosed": Hostile(
        lambda: activity('<a b="' * 100_000 + "<a " * 100_000 + "<!--" * 100_000), "read"
    ),
    "activity with odd declarations": Hostile(lambda: activity("x <![<![ y <!a"), "read"),
    "tools that every answer goes back to": Hostile(lambda: shared_tools(600), "read"),
    # archives
    "an archive cut off": Hostile(
        lambda: zipped(("conversations.json", spoilt()))[:-30], "refused", "zip", "export.zip"
    ),
    "a bomb": Hostile(bomb, "refused", "trap", "export.zip"),
    "a bomb that lies": Hostile(lying_bomb, ("refused", "damaged"), "", "export.zip"),
    "an archive in an archive": Hostile(
        lambda: zipped(("inner.zip", zipped(("conversations.json", spoilt())))),
        ("refused", "read"),
        file="export.zip",
    ),
    "paths that climb": Hostile(
        lambda: zipped(("../../../../etc/conversations.json", spoilt())), "read", file="export.zip"
    ),
    "a path from the root": Hostile(
        lambda: zipped(("/etc/conversations.json", spoilt())), "read", file="export.zip"
    ),
    "a link": Hostile(link, "refused", file="export.zip"),
    "an encrypted archive": Hostile(encrypted, ("refused", "damaged"), "", "export.zip"),
    "a wrong checksum": Hostile(bad_sum, ("refused", "damaged"), "", "export.zip"),
    "pictures only": Hostile(
        lambda: zipped(("a.png", noise()), ("b.png", noise())), "refused", file="export.zip"
    ),
    "an empty archive": Hostile(zipped, "refused", file="export.zip"),
    "one name twice": Hostile(
        lambda: zipped(("conversations.json", spoilt()), ("x/../conversations.json", b"[]")),
        "read",
        file="export.zip",
    ),
    # databases
    "a database cut off": Hostile(
        lambda: database(*LLM)[:3000], ("refused", "damaged"), file="logs.db"
    ),
    "a database of another": Hostile(
        lambda: database("CREATE TABLE bookmarks (url TEXT)"), "refused", file="logs.db"
    ),
    "a database's first bytes": Hostile(
        lambda: b"SQLite format 3\0" + noise(), ("refused", "damaged"), file="logs.db"
    ),
    "logs in a circle": Hostile(
        lambda: database(
            *LLM_TREE,
            "INSERT INTO messages VALUES ('h1', 'h2', 'user', NULL)",
            "INSERT INTO messages VALUES ('h2', 'h1', 'assistant', NULL)",
            "INSERT INTO parts VALUES ('h1', 0, 'text', 'x', NULL, NULL),"
            " ('h2', 0, 'text', 'y', NULL, NULL)",
            "INSERT INTO threads VALUES ('t1', 'T', 'h2', NULL, '2026-08-01 10:00:00')",
        ),
        ("repaired", "damaged", "refused"),
        file="logs.db",
    ),
    "logs of other types": Hostile(
        lambda: database(
            *LLM,
            "INSERT INTO responses (id, model, prompt, response, conversation_id, datetime_utc)"
            " VALUES (X'00FF', 3, X'FFFE', 4.5, X'01', 'x')",
        ),
        ("read", "damaged", "refused"),
        file="logs.db",
    ),
}
