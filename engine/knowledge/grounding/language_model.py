"""Reading claims with a language model: it may split sentences and name predicates, and nothing else.

Its answer must name an `EdgeType` and two entities that the linker finds in the very sentence; what does not is put
aside and the sentence is read without it. Labels never come from it.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from engine.domain.knowledge import EdgeType, Mention
from engine.errors import ModelUnavailable
from engine.knowledge.claims.relations import Sense, kinds_of, options_for, possible, sense_of
from engine.knowledge.claims.statements import Read, Statement
from engine.knowledge.linking.linker import EntityLinker
from engine.knowledge.linking.meant import mutant_form
from engine.ports.chat import ChatMessage, ChatModel
from engine.text.sentences import Sentence

_BATCH = 20
_PREDICATES = sorted(kind.value for kind in EdgeType)
SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["claims"],
    "properties": {
        "claims": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["sentence", "subject", "predicate", "object", "negated"],
                "properties": {
                    "sentence": {"type": "integer", "minimum": 1},
                    "subject": {"type": "string"},
                    "predicate": {"type": "string", "enum": _PREDICATES},
                    "object": {"type": "string"},
                    "negated": {"type": "boolean"},
                    "hedged": {"type": "boolean"},
                },
            },
        }
    },
}
_INSTRUCTIONS = (
    "List every relation that each numbered sentence asserts or denies between two of its named biological entities. "
    "Give the sentence's number, subject and object exactly as written, the predicate from the list, and whether the "
    "sentence denies it. The subject is what acts: the drug, the disease or tissue that changes a gene's expression, "
    "the gene that is associated, expressed, involved or located. Double negatives assert. Questions, plans, "
    "conditions and guesses assert nothing. Add nothing of your own."
)


def reread(read: Sequence[Read], linker: EntityLinker, model: ChatModel) -> list[Read]:
    """Return the sentences as the model reads them where its answer is usable, otherwise as they were."""
    result = list(read)
    worth = [number for number, one in enumerate(result) if len(one.mentions) > 1]
    for start in range(0, len(worth), _BATCH):
        batch = worth[start : start + _BATCH]
        try:
            answer = _ask(model, [result[number].sentence.text for number in batch])
        except ModelUnavailable:
            return result
        for number, claims in zip(batch, _by_sentence(answer, len(batch)), strict=True):
            one = result[number]
            made = [_statement(one, claim, linker) for claim in claims]
            if made and all(made):
                result[number] = Read(one.sentence, [statement for statement in made if statement], one.mentions)
    return result


def _ask(model: ChatModel, texts: Sequence[str]) -> Any:
    numbered = "\n".join(f"{number}. {text}" for number, text in enumerate(texts, start=1))
    messages = [
        ChatMessage(role="system", content=f"{_INSTRUCTIONS}\nPredicates: {', '.join(_PREDICATES)}"),
        ChatMessage(role="user", content=numbered),
    ]
    reply = model.complete(messages, role="fast", schema=SCHEMA)
    if reply.data is not None:
        return reply.data
    try:
        return json.loads(reply.text)
    except ValueError:
        return None


def _by_sentence(answer: Any, count: int) -> list[list[dict[str, Any]]]:
    """Return the claims of each sentence; an answer of another shape gives none."""
    claims: list[list[dict[str, Any]]] = [[] for _ in range(count)]
    given = answer.get("claims") if isinstance(answer, dict) else None
    for claim in given if isinstance(given, list) else []:
        number = claim.get("sentence") if isinstance(claim, dict) else None
        if isinstance(number, int) and 1 <= number <= count:
            claims[number - 1].append(claim)
    return claims


def _statement(read: Read, claim: dict[str, Any], linker: EntityLinker) -> Statement | None:
    """Return a claim of the model as a statement, or None when it is not about this sentence or names no edge type."""
    try:
        kind = EdgeType(claim.get("predicate"))
    except ValueError:
        return None
    subject, object_ = (_mention(read, claim.get(role), linker) for role in ("subject", "object"))
    negated = claim.get("negated")
    if subject is None or object_ is None or subject.start == object_.start or not isinstance(negated, bool):
        return None
    pairs = [(a, b) for a in kinds_of(subject) for b in kinds_of(object_)]
    ends = next((pair for pair in pairs if kind in possible(*pair)), pairs[0])
    return Statement(
        text=read.sentence.text,
        mentions=(subject, object_),
        subject=options_for(subject, ends[0]),
        object=options_for(object_, ends[1]),
        sense=sense_of(kind, *ends) if kind in possible(*ends) else Sense(kind),
        negated=negated,
        hedged=claim.get("hedged") is True,
        mutant=next((form for m in (subject, object_) if (form := mutant_form(read.sentence, m, read.mentions))), ""),
    )


def _mention(read: Read, written: Any, linker: EntityLinker) -> Mention | None:
    """Return the entity the model wrote, which must stand in the sentence or be one that was found in it."""
    if not isinstance(written, str) or not written.strip():
        return None
    wanted = written.strip().lower()
    for mention in read.mentions:
        if wanted in (mention.text.lower(), mention.node.name.lower()):
            return mention
    return _linked(read.sentence, wanted, linker)


def _linked(sentence: Sentence, wanted: str, linker: EntityLinker) -> Mention | None:
    if wanted not in sentence.text.lower():
        return None
    start = sentence.text.lower().index(wanted)
    found = linker.link(sentence.text[start : start + len(wanted)])
    if len(found) != 1:
        return None
    start += sentence.start
    return found[0].model_copy(update={"start": start, "end": start + len(wanted)})
