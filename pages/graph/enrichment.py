"""Which terms of the graph hold more of a pasted gene list than chance would put there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.focus import go_to
from pages.parts.frame import Tab
from pages.parts.words import counted

if TYPE_CHECKING:
    from engine.api import Engine

EXAMPLE = "BRCA1, BRCA2, PALB2, RAD51, ATM, CHEK2, TP53"
LISTED = 200
"""Terms listed at most."""
FDR = 0.05
_OUTCOME = "enrichment_outcome"
_TABLE = "enriched"


class Outcome(NamedTuple):
    """What a test of a list gave."""

    terms: list[Any]
    """`EnrichedNode`, smallest p first."""
    given: int
    found: int
    """Distinct genes of the graph among those given."""
    unknown: list[str]
    unknown_background: list[str]


def draw_enrichment(engine: Engine) -> None:
    """Draw the list, what it is tested against, the button and the last outcome."""
    text = st.text_area(
        "Genes",
        key="enrichment_genes",
        height=110,
        max_chars=500_000,
        persist_state="session",
        placeholder="Paste symbols or ids, one a line or separated by commas or blanks.",
    )
    left, small, large = st.columns([4, 1, 1], vertical_alignment="bottom")
    kinds = left.multiselect(
        "Kinds of terms",
        _kinds(engine),
        format_func=_said,
        key="enrichment_kinds",
        placeholder="All kinds",
        persist_state="session",
    )
    smallest = small.number_input(
        "Smallest term", 1, 100_000, 3, key="enrichment_smallest", help="In genes", persist_state="session"
    )
    largest = large.number_input(
        "Largest term", 1, 100_000, 500, key="enrichment_largest", help="In genes", persist_state="session"
    )
    with st.expander("Background", icon=":material/select_all:", key="enrichment_against"):
        background = st.text_area(
            "The genes the list was chosen from",
            key="enrichment_background",
            height=80,
            max_chars=2_000_000,
            persist_state="session",
            placeholder="E.g. all genes that were measured. Without it: every gene that the graph links to any term "
            "of these kinds.",
        )
    with st.container(horizontal=True, key="enrichment_buttons"):
        go = st.button("Find enriched terms", key="enrichment_go", type="primary", icon=":material/query_stats:")
        st.button("Try an example", key="enrichment_example", on_click=_fill, type="tertiary")
    if go:
        _test(engine, text, background, kinds, (int(smallest), int(largest)))
    outcome = st.session_state.get(_OUTCOME)
    if outcome is None:
        st.caption(
            "A term is a pathway, function, disease, drug, tissue or the like with the genes linked to it. The test is "
            "the one-sided hypergeometric one."
        )
    else:
        _draw(outcome)


def genes_in(text: str) -> list[str]:
    """Return the genes of a pasted text, each once, in its order."""
    return list(dict.fromkeys(word for word in re.split(r"[\s,;|]+", text.replace('"', " ").replace("'", " ")) if word))


def _fill() -> None:
    st.session_state["enrichment_genes"] = EXAMPLE
    st.session_state.pop(_OUTCOME, None)


def _kinds(engine: Engine) -> list[str]:
    """Return the kinds of terms that the graph has, the most frequent first."""
    from engine.api import term_types

    counts = engine.knowledge.stats().nodes_by_type
    return sorted((kind for kind in term_types() if counts.get(kind)), key=lambda kind: -counts[kind])


def _said(kind: str) -> str:
    return kind.replace("_", " ")


def _test(engine: Engine, text: str, against: str, kinds: list[str], sizes: tuple[int, int]) -> None:
    from engine.api import NodeType

    st.session_state.pop(_OUTCOME, None)
    genes, background = genes_in(text), genes_in(against)
    if not genes:
        st.caption("Paste some genes first.")
        return
    done: list[Outcome] = []

    def test() -> None:
        graph = engine.knowledge
        terms = graph.enrich(
            genes,
            background=background or None,
            node_types=[NodeType(kind) for kind in kinds] or None,
            min_size=sizes[0],
            max_size=sizes[1],
            top=LISTED,
        )
        done.append(
            Outcome(
                terms,
                len(genes),
                len(graph.gene_ids(genes)),
                graph.unknown_genes(genes),
                graph.unknown_genes(background),
            )
        )

    with st.spinner("Testing the list against every term..."):
        if attempt(test):
            st.session_state[_OUTCOME] = done[0]


def _draw(outcome: Outcome) -> None:
    terms = outcome.terms
    st.markdown(_sentence(outcome))
    for genes, whose in ((outcome.unknown, "Not in the graph"), (outcome.unknown_background, "Background not in it")):
        if genes:
            listed = ", ".join(genes[:30]) + (f" and {len(genes) - 30:,} more" if len(genes) > 30 else "")
            st.caption(plain(f"{whose} under these names ({len(genes):,}): {listed}"))
    if not terms:
        st.markdown("No term of these kinds and sizes has a gene of the list.")
        return
    _table(terms)
    listed = f" The first {LISTED} are listed." if len(terms) >= LISTED else ""
    st.caption(
        f"FDR: Benjamini and Hochberg over every term of these kinds and sizes. Choose a row to open the term.{listed}"
    )


def _sentence(outcome: Outcome) -> str:
    found = f"**{outcome.found:,}** of {counted(outcome.given, 'gene')} found in the graph"
    if not outcome.terms:
        return f"{found}."
    first = outcome.terms[0]
    outside = outcome.found - first.query_size
    left_out = f" ({outside:,} of them outside the background)" if outside > 0 else ""
    good = sum(term.p_adj <= FDR for term in outcome.terms)
    many = "at least " if good == LISTED else ""
    return (
        f"{found}{left_out}, tested against a background of **{first.background_size:,}** genes: "
        f"{many}**{counted(good, 'term')}** at an FDR of {FDR:g} or less."
    )


def _table(terms: list[Any]) -> None:
    import pandas as pd

    frame = pd.DataFrame(
        [
            {
                "Term": term.node.name,
                "Kind": _said(term.node.type.value),
                "Overlap": term.overlap,
                "Size": term.size,
                "Fold": term.fold_enrichment,
                "p": term.p_value,
                "FDR": term.p_adj,
                "Genes": ", ".join(term.members),
            }
            for term in terms
        ]
    )
    number = st.column_config.NumberColumn
    st.dataframe(
        frame,
        hide_index=True,
        height="content" if len(frame) <= 8 else 320,
        key=_TABLE,
        on_select=_open,
        selection_mode="single-row",
        column_config={
            "Term": st.column_config.TextColumn(width=230),
            "Kind": st.column_config.TextColumn(width=90),
            "Overlap": number(width=75, help="Genes of the list in the term"),
            "Size": number(width=60, help="Genes of the background in the term"),
            "Fold": number(width=65, format="%.1f", help="Overlap over what chance would give"),
            "p": number(width=75, format="%.1e", help="One-sided hypergeometric test"),
            "FDR": number(width=75, format="%.1e"),
            "Genes": st.column_config.TextColumn(width=220),
        },
        alt="Enriched terms, smallest p-value first",
    )


def _open() -> None:
    """Open the term of the row that was chosen under Explore."""
    rows = st.session_state[_TABLE].selection.rows
    outcome = st.session_state.get(_OUTCOME)
    if rows and outcome is not None and rows[0] < len(outcome.terms):
        go_to(outcome.terms[rows[0]].node.id)
        st.session_state["graph_tabs"] = "Explore"


ENRICHMENT = Tab("Enrichment", draw_enrichment, order=40)
