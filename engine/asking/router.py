"""Which strategy answers a question, by rule.

This version knows one strategy, the plan of steps (`dag`); a question for another is answered with a
sentence instead of being forced into it.
"""

from __future__ import annotations

import difflib
import functools
import re

from engine.domain.datatypes import DataType
from engine.domain.profile import Profile
from engine.domain.results import Route
from engine.errors import UserError
from engine.planning.choosing.choose import Wording, probabilities
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import builtin_tools

_STEP_WORDS = re.compile(r"\b(then|and then|after that|next|finally|also)\b|[;,?.]\s", re.IGNORECASE)
_CLEAR = 0.2
"""The share of the wording's probability from which on a field of biology is a hint."""
_DOMAIN_TYPES = {
    DataType.COUNT_MATRIX: "transcriptomics",
    DataType.GENE_SET_LIBRARY: "functional genomics",
    DataType.ANNDATA: "single-cell",
    DataType.SURVIVAL_TABLE: "clinical",
}


@functools.cache
def _domain_of() -> dict[str, str]:
    """Return analysis -> the domain of the tools that carry it out, else the name of its field."""
    named = {key: tool.domain for tool in reversed(list(builtin_tools())) for key in tool.answers}
    fields = {item.field: named[key] for key, item in load_analyses().items() if key in named}
    return {
        key: named.get(key) or fields.get(item.field) or item.field
        for key, item in load_analyses().items()
        if item.data
    }


def _domains(question: str) -> list[str]:
    """Return the domains that the wording alone speaks for, by the chooser that also plans, the likeliest first."""
    shares: dict[str, float] = {}
    for key, share in probabilities([Wording(question, question)], None)[0].items():
        if domain := _domain_of().get(key):
            shares[domain] = shares.get(domain, 0.0) + share
    return sorted((name for name, share in shares.items() if share >= _CLEAR), key=lambda name: -shares[name])


def require_question(question: str, *, analysis: str = "", strategy: str = "auto") -> None:
    """Refuse what cannot be asked.

    Raises:
        UserError: for a question without a letter or a digit, an analysis that does not exist, or a strategy that this
            version does not have.
    """
    if not any(character.isalnum() for character in question):
        raise UserError("The question is empty.", advice="Ask in a sentence what you want to know of the data.")
    require_analysis(analysis)
    if strategy not in ("auto", "dag"):
        message = f"The strategy {strategy!r} is not available in this version."
        raise UserError(message, advice="Use --strategy auto or --strategy dag.")


def require_analysis(analysis: str) -> None:
    """Refuse an analysis that does not exist; none at all is no such.

    Raises:
        UserError: when there is none of this id.
    """
    if not analysis or analysis in load_analyses():
        return
    close = ", ".join(difflib.get_close_matches(analysis, load_analyses(), n=3, cutoff=0.4))
    advice = f"Did you mean {close}?" if close else "`biodesk analyses` lists them."
    raise UserError(f"There is no analysis called {analysis[:100]!r}.", advice=advice)


def route(question: str, profiles: list[Profile], *, forced: str = "auto") -> Route:
    """Return the strategy for a question with its reasons; `forced` names it where a person has chosen."""
    types = [profile.best.type for profile in profiles if profile.best]
    domains = _domains(question)
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
