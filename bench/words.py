"""Prose to measure with: made up of common words, never the same message twice."""

from random import Random

_WORDS = (
    "the of and to in a is that for it as was with be by on not he this are or his from at which"
    " but have an had they you were their one all we can her has there been if more when will"
    " would who so no customer churn retention onboarding strategy playbook quarter revenue pricing"
    " support ticket response team account health score usage feature adoption renewal contract"
    " segment email call weekly plan budget owner metric target risk reason interview survey result"
    " draft summary audience tone shorter clearer example evidence option trade assume measure"
    " pipeline build cache test parallel runner minute slow failure deploy branch review merge"
    " follow first second third because however therefore instead before after during between"
    " should could might every most several early late small large clear simple better worse"
    " discuss propose compare decide explain improve reduce increase prevent deliver maintain"
).split()


def prose(seed: int, length: int) -> str:
    """Exactly ``length`` characters of sentences; the same for the same seed."""
    random = Random(seed)
    sentences: list[str] = []
    size = 0
    while size <= length:
        words = random.choices(_WORDS, k=random.randint(6, 16))
        words[random.randrange(len(words))] += f"-{random.randrange(10_000)}"
        sentence = " ".join(words).capitalize() + "."
        sentences.append(sentence)
        size += len(sentence) + 1
    return " ".join(sentences)[: length - 1] + "."
