"""The laboratory: does it help to ask all at once, turn by turn, or with a remedy?

Tasks that can be checked without a judge are asked in seven ways (``modes``), many times, of
one model; the user of every conversation is a script. The ways, and the figures told of them,
follow "LLMs Get Lost In Multi-Turn Conversation" (arXiv 2505.06120); the items are our own.
"""

from bench.lab.cli import main

__all__ = ["main"]
