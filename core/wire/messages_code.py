"""A request of Anthropic's Messages protocol as code that a person can run. No key is in it."""

import json
import pprint
import shlex
from collections.abc import Mapping
from string import Template

from core.types import Json

COUNTED = frozenset(
    {"model", "messages", "system", "tools", "tool_choice", "thinking", "output_config", "speed"}
)
"""What the counting of tokens takes."""
_ARGUMENTS = COUNTED | frozenset(
    {"max_tokens", "stop_sequences", "metadata", "service_tier"}
    | {"inference_geo", "container", "diagnostics", "cache_control"}
)

_SCRIPT = Template("""import os
import sys

import anthropic

client = anthropic.Anthropic(
    api_key=os.environ["$key"],
    base_url=$url,
)

request = $request

with client.messages.stream(**request) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)
    answer = stream.get_final_message()

print()
for block in answer.content:
    if block.type == "tool_use":
        print(block.name, block.input)
print(answer.stop_reason, answer.usage, file=sys.stderr)
""")


def script(sent: Mapping[str, Json], root: str, key: str) -> str:
    """The request with the official SDK; ``key`` names the environment's variable."""
    given = {name: value for name, value in sent.items() if name in _ARGUMENTS}
    extra = {n: value for n, value in sent.items() if n not in _ARGUMENTS and n != "stream"}
    if extra:
        given["extra_body"] = extra
    request = pprint.pformat(given, width=96, sort_dicts=False)
    return _SCRIPT.substitute(key=key, url=repr(root), request=request)


def curl(sent: Mapping[str, Json], root: str, key: str, version: str) -> str:
    """The request for a shell; the body stands between two words, as long as it may be."""
    body = json.dumps(sent, ensure_ascii=False, indent=1)
    return (
        f"curl -sS -N {shlex.quote(f'{root}/v1/messages')} \\\n"
        f'  -H "Authorization: Bearer ${key}" \\\n'
        f"  -H 'anthropic-version: {version}' \\\n"
        "  -H 'content-type: application/json' \\\n"
        f"  --data-binary @- <<'END_OF_REQUEST'\n{body}\nEND_OF_REQUEST\n"
    )
