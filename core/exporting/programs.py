"""Programs that play a conversation again with a provider's own SDK. No key is in them."""

from collections.abc import Mapping, Sequence
from pprint import pformat
from string import Template

from core.types import Json, well_formed
from core.wire.code import public, script_with
from core.wire.openai_calls import NO_ACCOUNT

_KNOWN: Mapping[str, frozenset[str]] = {
    "openai": frozenset(
        {"model", "instructions", "include", "store", "reasoning", "text", "max_output_tokens"}
        | {"temperature", "top_p", "tools", "tool_choice"}
    ),
    "compatible": frozenset(
        {"model", "max_tokens", "max_completion_tokens", "temperature", "top_p", "stop", "seed"}
        | {"frequency_penalty", "presence_penalty", "reasoning_effort", "verbosity", "tools"}
    ),
    "anthropic": frozenset(
        {"model", "system", "max_tokens", "thinking", "output_config", "stop_sequences", "tools"}
        | {"tool_choice", "metadata"}
    ),
}
"""What each SDK has a name for; the rest goes in as extra."""

_BEGIN = Template('''\
"""A conversation of $count turns, asked again one by one.

The answers are printed as they come. After each one, the standard error says how much it is like
the one that was given before. Needs the package $package, and the key in $key.
"""

import os
import sys
from difflib import SequenceMatcher

$imported

client = $client

TITLE = $title

SETTINGS = $settings

# What was said, turn by turn, as the server takes it.
TURNS = $turns

# What was answered before, to compare with.
ANSWERED = $answered

''')
_END = """\
    likeness = SequenceMatcher(None, before.split(), answer.split(), autojunk=False).ratio()
    print(f"turn {number}: {likeness:.0%} of the words as before", file=sys.stderr)
"""
_LOOP = """\
history = []
for number, (turn, before) in enumerate(zip(TURNS, ANSWERED), start=1):
    history += turn
    answer = ""
    print(f"## Turn {number}", end="\\n\\n", flush=True)
"""
_PLAYED: Mapping[str, str] = {
    "openai": """\
    items = []
    with client.responses.create(input=history, stream=True, **SETTINGS) as stream:
        for event in stream:
            if event.type in ("response.output_text.delta", "response.refusal.delta"):
                answer += event.delta
                print(event.delta, end="", flush=True)
            elif event.type == "response.output_item.done":
                items.append(event.item.to_dict())
    history += items
    print("\\n")
""",
    "compatible": """\
    with client.chat.completions.create(messages=history, stream=True, **SETTINGS) as stream:
        for chunk in stream:
            for choice in (chunk.choices or [])[:1]:
                words = choice.delta.content or ""
                answer += words
                print(words, end="", flush=True)
    if answer:
        history.append({"role": "assistant", "content": answer})
    print("\\n")
""",
    "anthropic": """\
    with client.messages.stream(messages=history, **SETTINGS) as stream:
        for words in stream.text_stream:
            answer += words
            print(words, end="", flush=True)
        content = [block.to_dict() for block in stream.get_final_message().content]
    if content:
        history.append({"role": "assistant", "content": content})
    print("\\n")
""",
    "gemini": """\
    parts = []
    for chunk in client.models.generate_content_stream(
        model=MODEL, contents=history, config=SETTINGS
    ):
        for candidate in (chunk.candidates or [])[:1]:
            for part in (candidate.content and candidate.content.parts) or []:
                if part.text != "" or part.thought_signature:
                    parts.append(part.model_dump(exclude_none=True, mode="json"))
                if part.text and not part.thought:
                    answer += part.text
                    print(part.text, end="", flush=True)
    if parts:
        history.append({"role": "model", "parts": parts})
    print("\\n")
""",
}
_OPENAI = "https://api.openai.com/v1"
_PACKAGES = {"anthropic": "anthropic", "gemini": "google-genai"}


def written(
    *,
    protocol: str,
    title: str,
    settings: Mapping[str, Json],
    turns: Sequence[Sequence[Json]],
    answered: Sequence[str],
    address: str,
    key: str,
    headers: Mapping[str, str],
) -> str:
    """The program. ``turns`` are wire messages, ``key`` and ``headers`` names of variables."""
    protocol = protocol if protocol in _PLAYED else "compatible"
    made = _BEGIN.substitute(
        count=len(turns),
        package=_PACKAGES.get(protocol, "openai"),
        key=key or "OPENAI_API_KEY",
        imported="from google import genai"
        if protocol == "gemini"
        else f"import {_module(protocol)}",
        client=_client(protocol, public(address), key or "OPENAI_API_KEY"),
        title=repr(well_formed(title)),
        settings=_settings(protocol, settings),
        turns=_source([list(turn) for turn in turns]),
        answered=_source([well_formed(words) for words in answered]),
    )
    return script_with(made + _LOOP + _PLAYED[protocol] + _END, headers)


def _module(protocol: str) -> str:
    return "anthropic" if protocol == "anthropic" else "openai"


def _client(protocol: str, address: str, key: str) -> str:
    secret = f"api_key=os.environ[{key!r}],"
    if protocol == "gemini":
        host, version = _split(address)
        options = f'http_options={{"base_url": {host!r}, "api_version": {version!r}}},'
        return f"genai.Client(\n    {secret}\n    enterprise=False,\n    {options}\n)"
    name = "anthropic.Anthropic" if protocol == "anthropic" else "openai.OpenAI"
    address = address.removesuffix("/v1").rstrip("/") if protocol == "anthropic" else address
    elsewhere = protocol != "anthropic" and address != _OPENAI
    more = f"\n    default_headers={NO_ACCOUNT}," if elsewhere else ""
    return f"{name}(\n    {secret}\n    base_url={address!r},{more}\n)"


def _split(address: str) -> tuple[str, str]:
    """Host and version of an address that may name both."""
    bare = address.rstrip("/")
    for version in ("v1beta", "v1alpha", "v1"):
        if bare.endswith(f"/{version}"):
            return bare.removesuffix(f"/{version}"), version
    return bare, "v1beta"


def _settings(protocol: str, settings: Mapping[str, Json]) -> str:
    if protocol == "gemini":
        named = {name: value for name, value in settings.items() if name != "model"}
        config = {**named.pop("generationConfig", {}), **named}
        config["automaticFunctionCalling"] = {"disable": True}
        return f"{_source(config)}\n\nMODEL = {settings['model']!r}"
    known = _KNOWN[protocol]
    given = {name: value for name, value in settings.items() if name in known}
    extra = {name: value for name, value in settings.items() if name not in known}
    return _source({**given, "extra_body": extra} if extra else given)


def _source(value: Json) -> str:
    return pformat(value, width=96, sort_dicts=False)
