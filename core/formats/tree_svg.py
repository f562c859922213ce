"""The tree as a picture: SVG, light or dark as its reader is."""

from core.interchange.tree_picture import drawing
from core.types import Include, Scope, TreeTaken, well_formed


class TreeSvg:
    """Every message a dot in its lane, with the beginning of its words."""

    name = "tree_svg"
    label = "Picture of the tree (SVG)"
    scopes: frozenset[Scope] = frozenset({"tree"})
    ending = "svg"
    media_type = "image/svg+xml"
    options: frozenset[str] = frozenset()

    def write(self, taken: TreeTaken, include: Include) -> bytes:
        """The picture; every message is drawn."""
        return well_formed(drawing(taken)).encode()


FORMAT = TreeSvg()
