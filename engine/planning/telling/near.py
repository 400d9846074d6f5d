"""Which columns the words of a question that name nothing may mean, by sentence vectors: `septic` and `sepsis_confirme`.

Half of what is nearest is not what was meant, so this orders what a person is offered and decides nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from engine.planning.choosing.choose import Embed, vectors_of
from engine.planning.choosing.coverage import unexplained
from engine.planning.naming.lexicon import UNITS
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data
from engine.text.names import name_parts


def near(reading: Reading, data: Data, embed: Embed | None, names: Sequence[str]) -> dict[str, float]:
    """Return, for each column, the cosine with the nearest of the words that nothing explains; {} without an embedder."""
    left = unexplained(reading, [], [], data.called())
    words = list(dict.fromkeys(reading.words[at].text for at in left))
    if not words or not names:
        return {}
    spoken = [" ".join(p for p in name_parts(name) if p not in UNITS) or name for name in names]
    vectors = vectors_of([*words, *spoken], embed)
    if vectors is None:
        return {}
    likeness = (vectors[: len(words)] @ vectors[len(words) :].T).max(axis=0)
    return dict(zip(names, map(float, likeness), strict=True))
