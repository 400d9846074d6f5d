"""What a question about links that may exist asks for: candidates of a type for an entity, or why two may be linked."""

from __future__ import annotations

import re
from dataclasses import dataclass

from engine.domain.knowledge import NodeType

_NOUNS: dict[str, NodeType] = {
    "drug": NodeType.DRUG, "compound": NodeType.DRUG, "medicine": NodeType.DRUG, "medication": NodeType.DRUG,
    "treatment": NodeType.DRUG, "therap": NodeType.DRUG, "gene": NodeType.GENE, "target": NodeType.GENE,
    "protein": NodeType.GENE, "disease": NodeType.DISEASE, "disorder": NodeType.DISEASE, "condition": NodeType.DISEASE,
    "indication": NodeType.DISEASE, "pathway": NodeType.PATHWAY, "process": NodeType.GO_TERM,
    "side effect": NodeType.SIDE_EFFECT, "symptom": NodeType.SYMPTOM, "tissue": NodeType.ANATOMY,
    "cell type": NodeType.CELL_TYPE,
}  # fmt: skip
"""How the words for a sought type begin."""
_SEEK = re.compile(
    rf"\b(?P<noun>{'|'.join(_NOUNS)})(?:s|es|ies|y)?\b(?P<between>(?:\s+[\w-]+){{0,3}}?)"
    r"\s+(?:that\s+|which\s+|to\s+)?"
    r"(?P<verb>treat|help|work|matter|cause|affect|influence|bind|target|inhibit|regulate|associate|link|involve|relate|"
    r"play|drive|contribute|benefit|for|in|against|act|repurpose)\w*\b\s*(?P<rest>.+)$",
    re.IGNORECASE,
)
_TURNED = re.compile(
    rf"\b(?P<noun>{'|'.join(_NOUNS)})(?:s|es|ies|y)?\s+(?:might|may|could|would|can|does|do)\s+(?P<rest>.+?)\s+"
    r"(?:treat|help|cause|affect|influence|bind|target|inhibit|regulate|act|work|be)\w*(?:\s+(?:in|on|against|with|for))?$",
    re.IGNORECASE,
)
"""The entity before the verb: which diseases might aspirin treat."""
_MAY = re.compile(
    r"\b(?:might|may|could|would|can|candidates?|repurpos\w*|new|novel|likely|potential\w*|possib\w+|promising|predict\w*)\b",
    re.IGNORECASE,
)
_WHY = re.compile(
    r"^\W*(?:why|how|by what (?:mechanism|way)\w*)\s+(?:might|may|could|would|can|does|do|is|are)\s+(?P<both>.+)$",
    re.IGNORECASE,
)
_JOINS = re.compile(
    r"\s+(?:(?:be\s+|help\s+)?(?:affect|influence|treat|cause|help|act|work|matter|bind|inhibit|regulate|drive|raise|"
    r"lower|link|relate|associate|connect|protect|worsen|improve|change|play)\w*)(?:\s+(?:on|in|to|with|against|"
    r"a role in|from|for))?\s+",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"^(?:(?:by|role|a|an|the|in|of|with|against|to|for|on|patients|people|treating|progression|onset)\s+)+",
    re.IGNORECASE,
)
_TRAILING = re.compile(r"(?:\s+(?:and why|in patients|patients))?[\s?.!]*$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class LinkAsked:
    """A question about links that may exist."""

    first: str
    """An entity in words; "" where candidates for it are sought."""
    last: str
    """The other entity in words."""
    sought: NodeType | None = None
    """The type of the candidates; None where two entities are named."""


def link_asked(question: str, *, surely: bool = False) -> LinkAsked | None:
    """Return what a question asks of possible links, None when it asks something else.

    Args:
        question: what is asked.
        surely: whether it is known to be such a question: then it needs no word for what may be.
    """
    text = " ".join(question.split())
    if not surely and not _MAY.search(text):
        return None
    if why := _WHY.match(text):
        parts = _JOINS.split(_TRAILING.sub("", why["both"]), maxsplit=1)
        first, last = (_LEADING.sub("", part.strip()) for part in (parts if len(parts) == 2 else ("", "")))
        return LinkAsked(first, last) if first and last else None
    seek = _TURNED.search(_TRAILING.sub("", text)) or _SEEK.search(text)
    if seek is None:
        return None
    last = _LEADING.sub("", _TRAILING.sub("", seek["rest"]).strip())
    kind = next(kind for word, kind in _NOUNS.items() if seek["noun"].lower().startswith(word))
    return LinkAsked("", last, kind) if last else None
