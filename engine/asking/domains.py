"""Which domains of tools a question and its files speak for: a hint to memory and to the search for tools."""

from __future__ import annotations

import functools
from collections.abc import Sequence

from engine.domain.datatypes import DataType
from engine.domain.profile import Profile
from engine.planning.choosing.choose import Wording, probabilities
from engine.toolbox.analyses import load_analyses
from engine.toolbox.registry import builtin_tools

_CLEAR = 0.2
"""The share of the wording's probability from which on a field of biology is a hint."""
_DOMAIN_TYPES = {
    DataType.COUNT_MATRIX: "transcriptomics",
    DataType.ABUNDANCE_TABLE: "microbiome",
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


def domains_of(question: str, profiles: Sequence[Profile] = ()) -> list[str]:
    """Return the domains that the wording speaks for, by the chooser that also plans, then those of the data."""
    shares: dict[str, float] = {}
    for key, share in probabilities([Wording(question, question)], None)[0].items():
        if domain := _domain_of().get(key):
            shares[domain] = shares.get(domain, 0.0) + share
    found = sorted((name for name, share in shares.items() if share >= _CLEAR), key=lambda name: -shares[name])
    of_data = [_DOMAIN_TYPES[p.best.type] for p in profiles if p.best and p.best.type in _DOMAIN_TYPES]
    return list(dict.fromkeys([*found, *of_data]))
