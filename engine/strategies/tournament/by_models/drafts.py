"""What a model writes as a hypothesis, and what becomes of it: evidence is only what graph and texts bear out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from pydantic import Field, field_validator

from engine.domain.base import Value
from engine.domain.discovery.hypotheses import AssertedLink, EvidenceItem, Hypothesis, Method, Prediction
from engine.domain.knowledge import BIOLOGY, EdgeType
from engine.strategies.tournament.bridges.asserted import weighed
from engine.strategies.tournament.bridges.at_hand import DataAtHand
from engine.strategies.tournament.bridges.goal import LEAST_LINK
from engine.strategies.tournament.bridges.placing import Placing
from engine.strategies.tournament.bridges.written import IdeaWriter
from engine.strategies.tournament.roles import ItemFailed
from engine.text.prose import one_line
from engine.text.sentences import split_sentences

MOST_DRAFTS = 20
_LEAST_QUOTE = 20
"""Characters of a passage that says something."""
_QUOTED = 0.6
"""What a passage of a text given by the user is worth."""


class ModelPrediction(Value):
    """What must be seen, and what would contradict it."""

    says: str = Field(min_length=1, max_length=1_000)
    contradicted_by: str = Field(min_length=1, max_length=1_000)
    question: str = Field(
        default="",
        max_length=500,
        description="One question on the data at hand whose answer shows it, naming columns and groups as they are "
        "there; empty where these data cannot.",
    )
    direction: Literal["more", "less", "any"] = Field(
        default="any",
        description="Whether more or less is predicted in the group that the question names first (of two columns: "
        "whether they rise together); any where no way is predicted.",
    )


class ModelLink(Value):
    """What a hypothesis asserts, in the names of its text."""

    subject: str = Field(min_length=1, max_length=200, description="The one that acts.")
    relation: EdgeType = Field(description="How it acts, with its sign where it has one.")
    object: str = Field(min_length=1, max_length=200)
    denied: bool = Field(default=False, description="True when it is asserted not to be so.")
    through: list[str] = Field(default=[], max_length=6, description="What lies between, in order, by its mechanism.")

    @field_validator("relation")
    @classmethod
    def _of_biology(cls, relation: EdgeType) -> EdgeType:
        if relation not in BIOLOGY:
            raise ValueError(f"a hypothesis has one of these relations: {', '.join(sorted(BIOLOGY))}")
        return relation


class ModelHypothesis(Value):
    """A hypothesis as a model writes it."""

    text: str = Field(min_length=1, max_length=1_500, description="One or two plain sentences that can be wrong.")
    asserts: list[ModelLink] = Field(default=[], max_length=4, description="Each link that the text claims as new.")
    explanation: str = Field(default="", max_length=6_000, description="The mechanism in steps.")
    experiment: str = Field(default="", max_length=3_000)
    predictions: list[ModelPrediction] = Field(min_length=1, max_length=5)
    quotes: list[str] = Field(default=[], max_length=6, description="Passages of the literature, word for word.")


class ModelHypotheses(Value):
    """Several of them."""

    hypotheses: list[ModelHypothesis] = Field(min_length=1, max_length=MOST_DRAFTS)


@dataclass(frozen=True, slots=True)
class DraftKeeper:
    """Takes over what a model wrote."""

    placing: Placing
    at_hand: DataAtHand

    def kept(
        self,
        draft: ModelHypothesis,
        model: str,
        method: Method,
        *,
        texts: Sequence[str] = (),
        before: Sequence[str] = (),
        transcript: str = "",
    ) -> Hypothesis:
        """Return the hypothesis, with the evidence that graph and texts have for it.

        Args:
            draft: as it was written.
            model: who wrote it.
            method: how it came about.
            texts: the literature that quotes must stand in.
            before: texts of hypotheses that it must not repeat.
            transcript: the debate, or the look-ups.

        Raises:
            ItemFailed: when it says what one before says.
        """
        text = one_line(draft.text)
        if text.casefold() in {one_line(other).casefold() for other in before}:
            raise ItemFailed("The model repeats a hypothesis that exists.")
        one = Hypothesis(
            id="",
            text=text,
            explanation=draft.explanation.strip(),
            experiment=draft.experiment.strip(),
            method=method,
            predictions=[self._predicted(one) for one in draft.predictions],
            asserts=self._asserted(draft, text),
            by=model,
            transcript=transcript,
        )
        place, view = self.placing.place(one), self.placing.finder().view
        writer = IdeaWriter(view, self.at_hand)
        ways = place.idea.ways if place.idea is not None else ()
        against = place.idea.against if place.idea is not None else ()
        support = [writer.evidence(way) for way in ways] + [writer.evidence(way, against=True) for way in against]
        support = counted_once([*support, *writer.steps(place.links)])
        own = writer.own_test(place.entities, one.predictions[0].says, one.predictions)
        asserts = [link.link for link in place.links]
        return one.model_copy(
            update={
                "support": weighed([*support, *quoted(draft.quotes, texts)], asserts, self.placing.knowledge),
                "asserts": asserts,
                "entities": [view.nodes.id(number) for number in place.entities],
                "predictions": [*one.predictions, *own],
            }
        )

    def _predicted(self, said: ModelPrediction) -> Prediction:
        """Return a prediction; a question only where there are data that it can be asked of."""
        question = one_line(said.question) if self.at_hand.profiles else ""
        return Prediction(
            says=said.says,
            contradicted_by=said.contradicted_by,
            question=question,
            direction=said.direction if question else "any",
        )

    def _asserted(self, draft: ModelHypothesis, text: str) -> list[AssertedLink]:
        """Return what a draft asserts with the ids of the graph; a name that it has not stays a name."""
        entities = self.placing.knowledge.entities
        names = {name.strip() for link in draft.asserts for name in (link.subject, *link.through, link.object)}
        ids = {m.text.casefold(): m.node.id for m in entities.link(text) if m.score >= LEAST_LINK} if names else {}
        others = entities.ids([name for name in names if name.casefold() not in ids])

        def known(name: str) -> str:
            return ids.get(name.strip().casefold()) or others.get(name.strip(), name.strip())

        return [
            AssertedLink(
                subject=known(link.subject), relation=link.relation, object=known(link.object), denied=link.denied,
                through=[known(name) for name in link.through if name.strip()],
            )
            for link in draft.asserts
        ]  # fmt: skip


def counted_once(items: Sequence[EvidenceItem]) -> list[EvidenceItem]:
    """Return evidence without the single steps that a longer path goes by: they say nothing beside it."""
    gone = {frozenset(step) for item in items if len(item.nodes) > 2 for step in pairwise(item.nodes)}
    return [item for item in items if len(item.nodes) != 2 or frozenset(item.nodes) not in gone]


def quoted(quotes: Sequence[str], texts: Sequence[str]) -> list[EvidenceItem]:
    """Return the sentences of the texts that hold the passages, blanks aside; a passage that is not there is left out.

    What half a sentence is about often stands in its other half.
    """
    plain = [one_line(text) for text in texts]
    found: list[EvidenceItem] = []
    for quote in map(one_line, quotes):
        number, text = next(((n, text) for n, text in enumerate(plain, start=1) if quote in text), (0, ""))
        if len(quote) >= _LEAST_QUOTE and number:
            start = text.index(quote)
            around = [one for one in split_sentences(text) if one.start < start + len(quote) and one.end > start]
            says = text[around[0].start : around[-1].end]
            found.append(EvidenceItem(kind="article", says=says, source=f"literature {number}", strength=_QUOTED))
    return list({item.says: item for item in found}.values())
