"""The tree as a picture: PNG, with a font of the house.

A tree of thousands of messages makes a very long picture: straight stretches of it are folded, and
what is longer still is drawn smaller.
"""

import re
from pathlib import Path

from core.interchange.tree_picture import LIGHT, drawing
from core.types import Include, Scope, TreeTaken, well_formed

_FOLDER = Path(__file__).with_name("fonts")
_FONTS = [str(_FOLDER / f"DejaVuSans{style}.ttf") for style in ("", "-Bold", "-Oblique")]
_MANY = 400  # messages; of more, straight stretches are folded
_SHARP = 2.0
_HIGHEST = 16_000  # pixels: more is not opened everywhere, and takes too much memory
_SIZE = re.compile(r'height="(\d+)"')


class TreePng:
    """Every message a dot in its lane, with the beginning of its words."""

    name = "tree_png"
    label = "Picture of the tree (PNG)"
    scopes: frozenset[Scope] = frozenset({"tree"})
    ending = "png"
    media_type = "image/png"
    options: frozenset[str] = frozenset()

    def write(self, taken: TreeTaken, include: Include) -> bytes:
        """The picture, at most 16,000 pixels high."""
        import resvg_py

        svg = drawing(taken, fold=len(taken.nodes) > _MANY, colours=LIGHT)
        size = _SIZE.search(svg)
        high = int(size[1]) if size else 1
        return bytes(
            resvg_py.svg_to_bytes(
                svg_string=well_formed(svg),
                zoom=min(_SHARP, _HIGHEST / high),
                font_files=_FONTS,
                font_family="DejaVu Sans",
                sans_serif_family="DejaVu Sans",
            )
        )


FORMAT = TreePng()
