"""What the words of a question ask to have looked up."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.domain.knowledge import Node
from engine.strategies.react.lookup import Step

_KNOWN = re.compile(
    r"\b(?:what(?:'s| is| do (?:we|you))? (?:is )?(?:already )?kno\w+|tell me (?:something )?(?:about|of)|literature|"
    r"papers?|publications?|pubmed|published|who (?:has )?(?:found|shown|described)|prior knowledge|knowledge graph|"
    r"have we (?:seen|found|done|analy[sz]ed)|did we (?:find|see|do)|remember\w*|earlier analys[ie]s)\b",
    re.IGNORECASE,
)
"""What asks for knowledge and not for a computation."""

_LITERATURE = re.compile(
    r"\b(?:literature|papers?|publications?|pubmed|published|articles?|reviews?|citations?)\b", re.I
)

_OWN = re.compile(
    r"\b(?:my|our|this|these|the|attached|uploaded) (?:\w+ )?(?:data|dataset|file|files|table|samples|sheet)\b", re.I
)


def asks_what_is_known(question: str) -> bool:
    """Say whether the words ask for knowledge or past analyses; with data they name, they may still ask to compute."""
    return _KNOWN.search(question) is not None


def asks_for_literature(question: str) -> bool:
    """Say whether the words ask for what was published."""
    return _LITERATURE.search(question) is not None


def is_of_own_data(question: str) -> bool:
    """Say whether the words ask for something of the asker's own data, which no other knowledge answers."""
    return not asks_what_is_known(question) and _OWN.search(question) is not None


def named_in(steps: Sequence[Step]) -> list[Node]:
    """Return the entities that look-ups have named, once each."""
    return list({node.id: node for step in steps for node in step.found.entities}.values())
