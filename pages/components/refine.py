"""The words that the chips beside the composer put into it, each about one dimension.

What stands in square brackets is to be written over.
"""

from core import Session, View

_DIMENSIONS = (
    ("Tone", "Change only the tone: make it [warmer and more direct]."),
    ("Length", "Change only the length: bring it to [150 words] and keep every fact."),
    ("Audience", "Change only the audience: write it for [someone new to the subject]."),
    ("Format", "Change only the format: give it as [a table with one row per option]."),
    ("Evidence", "Add evidence: support [each claim] with a figure or a source, and say where"
     " there is none."),
    ("Risks", "Add the risks: name [the three biggest], how likely each is, and what would"
     " reduce it."),
    ("Forward look", "Add a forward look: what should happen in [the next 90 days], and how we"
     " will know that it works."),
)  # fmt: skip
_SENTENCES = (
    ("Fork", "Let's pause here. I want to explore a different direction. Going back to your"
     " [earlier suggestion], what if we [alternative approach]?"),
    ("Recap", "To recap what we've decided so far: [summary]. Now let's move on to [what is"
     " next]."),
)  # fmt: skip
_ASKED = (
    ("Restate", "restate", "Insert everything you asked for on this branch, as one list"),
    ("Summarise decisions", "decisions", "Ask beside the conversation for the key decisions"),
    ("Consolidate", "consolidate", "Gather everything into one prompt for a clean branch"),
)


def chips(view: View) -> list[dict[str, str]]:
    """The chips of a conversation in their order: ``label``, and ``text`` to insert or an
    ``action`` to do; ``about`` says more. ``kind`` is refine, sentence or ask."""
    found = [{"kind": "refine", "label": name, "text": text} for name, text in _DIMENSIONS]
    sentences = [*_SENTENCES, *_back(view.session)]
    found += [{"kind": "sentence", "label": name, "text": text} for name, text in sentences]
    return found + [
        {"kind": "ask", "label": name, "action": action, "about": about}
        for name, action, about in _ASKED
    ]


def _back(session: Session) -> tuple[tuple[str, str], ...]:
    goal = session.objective.strip().rstrip(".")
    if not goal:
        return ()
    words = f"Coming back to our goal of {goal[:1].lower()}{goal[1:]}: [what to bring back]."
    return (("Back to the goal", words),)
