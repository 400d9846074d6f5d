"""Which strategy answers a question, by rule.

This version knows one strategy, the plan of steps (`dag`); a question for another is answered with a
sentence instead of being forced into it.
"""

from __future__ import annotations

import re

from engine.domain.datatypes import DataType
from engine.domain.profile import Profile
from engine.domain.results import Route
from engine.errors import UserError

_STEP_WORDS = re.compile(r"\b(then|and then|after that|next|finally|also)\b|[;,?.]\s", re.IGNORECASE)
_DOMAIN_WORDS = {
    "transcriptomics": r"rna.?seq|transcript|express|deseq|differential|volcano",
    "functional genomics": r"pathway|enrich|gsea|gene set|hallmark|ontology",
    "single-cell": r"single.?cell|scrna|cell type|cluster|umap|leiden|pbmc",
    "clinical": r"surviv|hazard|kaplan|cox|patient|trial|mortality",
    "statistics": r"regress|correlat|anova|t.?test|compare|association|chi",
}
_DOMAIN_TYPES = {
    DataType.COUNT_MATRIX: "transcriptomics",
    DataType.GENE_SET_LIBRARY: "functional genomics",
    DataType.ANNDATA: "single-cell",
    DataType.SURVIVAL_TABLE: "clinical",
}


def route(question: str, profiles: list[Profile], *, forced: str = "auto") -> Route:
    """Return the strategy for a question with its reasons.

    Raises:
        UserError: when a strategy is asked for that this version does not have.
    """
    if forced not in ("auto", "dag"):
        message = f"The strategy {forced!r} is not available in this version."
        raise UserError(message, advice="Use --strategy auto or --strategy dag.")
    types = [profile.best.type for profile in profiles if profile.best]
    domains = [name for name, words in _DOMAIN_WORDS.items() if re.search(words, question, re.IGNORECASE)]
    domains += [_DOMAIN_TYPES[kind] for kind in types if kind in _DOMAIN_TYPES and _DOMAIN_TYPES[kind] not in domains]
    parts = 1 + len(_STEP_WORDS.findall(question.strip()))
    reasons = ["The question asks for an analysis of data, which a checked plan of steps answers."]
    if profiles:
        reasons.append(f"{len(profiles)} data file{'s' if len(profiles) != 1 else ''} came with it.")
    steps = max(1, parts) + len(types)
    return Route(
        strategy="dag",
        confidence=1.0 if forced == "dag" else 0.95 if profiles else 0.6,
        method="forced" if forced == "dag" else "heuristic",
        reasons=reasons,
        complexity=round(min(1.0, 0.15 * steps), 2),
        estimated_steps=steps,
        domains=domains,
    )
