"""A request as code that a person can run elsewhere. The key is never in it."""

import json
import shlex
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pprint import pformat

from core.types import Json


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
