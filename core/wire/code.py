"""A request as code that a person can run elsewhere. The key is never in it."""

import json
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pprint import pformat
from urllib.parse import urlsplit, urlunsplit

from core.types import Json


def public(address: str) -> str:
    """An address as code may hold it: without a name, password or parameters that stand in it.

    Empty for one that cannot be read.
    """
    try:
        parts = urlsplit(address)
        if not parts.netloc:  # "name:password@host" is read as a path
            return address.rpartition("@")[2].partition("?")[0].partition("#")[0]
        return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))
    except ValueError:
        return ""


def arguments(given: Mapping[str, Json], indent: str = "    ") -> str:
    """Keyword arguments as Python source, one a line."""
    lines = []
    for name, value in given.items():
        source = pformat(value, width=92, sort_dicts=False)
        lines.append(textwrap.indent(f"{name}={source},", indent))
    return "\n".join(lines)


def split_known(
    body: Mapping[str, Json], known: Iterable[str]
) -> tuple[dict[str, Json], dict[str, Json]]:
    """What of a body an SDK has a name for, and the rest, which goes in as extra."""
    names = frozenset(known)
    return (
        {name: value for name, value in body.items() if name in names},
        {name: value for name, value in body.items() if name not in names},
    )


def script_with(script: str, headers: Mapping[str, str]) -> str:
    """The Python script of a call with more headers: the environment's name of each value."""
    if not headers:
        return script
    given = ", ".join(f"{name!r}: os.environ[{key!r}]" for name, key in headers.items())
    # The client comes before the request, and with it before any word of a conversation.
    if "http_options={" in script.partition("\n)\n")[0]:
        return script.replace("http_options={", f'http_options={{"headers": {{{given}}}, ', 1)
    options = f"client = client.with_options(default_headers={{{given}}})\n"
    return script.replace("\n)\n", f"\n)\n{options}", 1)


def curl_with(command: str, headers: Mapping[str, str]) -> str:
    """The command line with more headers: the environment's name of each value."""
    more = "".join(f'  --header "{name}: ${{{key}}}" \\\n' for name, key in headers.items())
    return command.replace("\\\n", f"\\\n{more}", 1)


def curl(url: str, headers: Sequence[str], body: Mapping[str, Json]) -> str:
    """A shell command that posts the body and prints the answer as it comes.

    ``headers`` may name variables of the shell. The body goes in through stdin: arguments are
    short on many systems, and JSON over several lines can never hold the word that ends it.
    """
    dressed = " \\\n".join(f'  --header "{header}"' for header in headers)
    return (
        f"curl --silent --show-error --no-buffer --globoff --url {shlex.quote(url)} \\\n"
        f"{dressed} \\\n"
        f"  --data-binary @- <<'END_OF_BODY'\n"
        f"{json.dumps(body, indent=1, ensure_ascii=False)}\n"
        f"END_OF_BODY\n"
    )
