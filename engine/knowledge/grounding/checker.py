"""What the newest graph says of claims: those of a text, those that findings state as data, those that facts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.domain.findings import Finding
from engine.domain.knowledge import Claim, ClaimCheck, Edge
from engine.knowledge.grounding.check import check_text
from engine.knowledge.grounding.direct import opposed
from engine.knowledge.grounding.findings import check_findings
from engine.knowledge.grounding.told import ReadsClaims
from engine.knowledge.newest import NewestGraph
from engine.knowledge.recognising import Recognising


@dataclass(slots=True)
class ClaimChecker:
    """Checks claims against a workspace's graph. Methods may be called from any thread."""

    graph: NewestGraph
    recognising: Recognising
    reads: ReadsClaims = lambda text, names: None
    """Has a model read the claims of texts, where there is one."""

    def check(self, text: str) -> ClaimCheck:
        """Return a text's claims, each labelled by what the graph says of it."""
        linker = self.recognising.linker()  # first, so that the view is at least as new as the names
        return check_text(text, self.graph.view(), linker, self.reads)

    def check_findings(self, findings: Sequence[Finding]) -> dict[str, Claim]:
        """Return finding id -> what the graph says of what it asserts, for those that can be looked up."""
        lookup = self.recognising.lookup()
        return check_findings(findings, self.graph.view(), lookup)

    def opposed(self, edges: Sequence[Edge]) -> list[str]:
        """Return a sentence for each edge of which the graph states the opposite, too."""
        view = self.graph.view()
        return [text for edge in edges if (text := opposed(edge, view))]
