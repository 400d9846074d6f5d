"""The analyses that can be asked for and the tools that answer them, as far as a plan looks at them."""

from __future__ import annotations

from dataclasses import dataclass

from engine.planning.choosing.choose import Embed
from engine.planning.choosing.score import LEAST, Candidate, candidates, weighed
from engine.planning.reading.read import read
from engine.planning.reading.reading import Reading
from engine.planning.tables.sheets import Data
from engine.text.stopwords import STOP
from engine.text.tokens import tokens
from engine.toolbox.analyses import Analysis, load_analyses
from engine.toolbox.registry import ToolRegistry

_NO_TERM = frozenset("and by to effect compare prolong groups difference".split())
"""Words of what a tool is known by that make it a phrase about data."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """What can be asked and done."""

    registry: ToolRegistry
    analyses: dict[str, Analysis]
    embed: Embed | None
    """Texts to vectors; planning works without, a little less well."""
    terms: frozenset[tuple[str, ...]]
    """What tools are called and known by, as stems."""

    @classmethod
    def of(cls, registry: ToolRegistry, embed: Embed | None = None) -> Catalogue:
        """Return the analyses of all fields with these tools."""
        names = [name for spec in registry for name in (spec.title, *spec.keywords)]
        said = [tokens(name) for name in names if " " in name or "-" in name or name.isupper()]
        # `over the weeks` is no term: its week may well be a column.
        terms = [words for words in said if len(words) == 1 or sum(word.text not in STOP for word in words) > 1]
        # Nor does `dose and sex`, `effect of age` or `dose groups` keep these words from naming columns.
        terms = [words for words in terms if not {word.text for word in words} & _NO_TERM]
        return cls(registry, load_analyses(), embed, frozenset(tuple(word.stem for word in words) for words in terms))

    def read(self, question: str, data: Data) -> Reading:
        """Return what a question says of the data."""
        return read(question, data, self.terms)

    def candidates(
        self, reading: Reading, data: Data, *, first: int = 0, last: int | None = None, whole: Reading | None = None
    ) -> list[Candidate]:
        """Return the analyses that a question, or a stretch of it, may ask for, likeliest first (see `score`)."""
        found = candidates(reading, data, self.analyses, self.registry, self.embed, first=first, last=last, whole=whole)
        found = [c for c in found if c.feasible or not reading.lived]
        named = {*reading.named()}
        if not any(made.column in named for sheet in data.sheets for made in sheet.made):
            return found
        # A column that a step makes already is not asked for once more: `max weight loss per group`.
        return [
            c for c in found if c.bound is None or not any(p.role == "formula" for p in c.bound.spec.params)
        ] or found

    def every(self, reading: Reading, data: Data) -> list[Candidate]:
        """Return all analyses that could be bound to the data: the candidates of a question first, then what no word speaks for."""
        found = self.candidates(reading, data)
        known = {item.analysis.id for item in found}
        others = {key: LEAST for key in self.analyses if key not in known}
        return [*found, *weighed(others, reading, data, self.analyses, [*self.registry])]
