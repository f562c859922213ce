"""A Gemini request as code that a person can run: a Python script, a curl command line."""

from pprint import pformat

from core.types import Json, Request
from core.wire import code

_SCRIPT = """\
import os

from google import genai

client = genai.Client(
    api_key=os.environ[{key}],
    enterprise=False,
    http_options={{"base_url": {host}, "api_version": {version}}},
)
stream = client.models.generate_content_stream(
    model={model},
    contents={contents},
    config={config},
)
for chunk in stream:
    for candidate in (chunk.candidates or [])[:1]:
        for part in (candidate.content and candidate.content.parts) or []:
            if part.function_call:
                print(part.function_call.name, part.function_call.args, flush=True)
            elif part.text and not part.thought:
                print(part.text, end="", flush=True)
print()
"""


def script(request: Request, host: str, version: str, key_name: str) -> str:
    """The call with the official SDK, streaming to the standard output; no secret in it."""
    envelope = dict(request.envelope)
    config = {
        **envelope.pop("generationConfig", {}),
        **{name: value for name, value in envelope.items() if name != "model"},
        "automaticFunctionCalling": {"disable": True},
    }
    return _SCRIPT.format(
        key=_literal(key_name),
        host=_literal(host),
        version=_literal(version),
        model=_literal(envelope["model"]),
        contents=_indented(list(request.messages)),
        config=_indented(config),
    )


def curl(request: Request, host: str, version: str, key_name: str) -> str:
    """The call as a shell command; the key is a variable of the shell."""
    model = str(request.envelope["model"])
    path = model if "/" in model else f"models/{model}"
    url = f"{host}/{version}/{path}:streamGenerateContent?alt=sse"
    rest = {name: value for name, value in request.envelope.items() if name != "model"}
    headers = (f"x-goog-api-key: ${key_name}", "Content-Type: application/json")
    return code.curl(url, headers, {**rest, "contents": list(request.messages)})


def _literal(value: Json) -> str:
    return repr(value)


def _indented(value: Json) -> str:
    return pformat(value, width=96, sort_dicts=False).replace("\n", "\n    ")
