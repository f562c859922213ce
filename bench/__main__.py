"""``python -m bench``, one or more of ``BENCHES`` after it, or ``lab`` with its options."""

import sys
from importlib import import_module

BENCHES = ("storage", "turn", "adapters", "lanes", "diff", "carrying", "browser", "fidelity")


def main(wanted: list[str]) -> int:
    """Run some benches, or all; 2 for a name that there is not."""
    if wanted[:1] == ["lab"]:  # takes a model and its time: never among all
        return int(import_module("bench.lab").main(wanted[1:]))
    if unknown := [name for name in wanted if name not in BENCHES]:
        print(f"There is no bench called {unknown[0]!r}: use {', '.join(BENCHES)}.")
        return 2
    for name in wanted or BENCHES:
        import_module(f"bench.{name}").run()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
