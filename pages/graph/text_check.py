"""Checks a pasted text: each claim with its label, why, and what supports or denies it."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt
from pages.parts.escape import plain
from pages.parts.frame import Tab
from pages.parts.words import counted, duration, number

if TYPE_CHECKING:
    from engine.api import Engine

LABELS: dict[str, tuple[str, str, str]] = {
    "grounded": ("Grounded", ":material/check_circle:", "green"),
    "inferred": ("Inferred", ":material/route:", "blue"),
    "ungrounded": ("Not supported here", ":material/help:", "gray"),
    "contradicted": ("Contradicted", ":material/error:", "red"),
}
EXAMPLE = "Imatinib inhibits ABL1. TP53 activates CDKN1A. EGFR is not associated with lung cancer."


def draw_text_check(engine: Engine) -> None:
    """Draw the field, the button and the last outcome."""
    text = st.text_area(
        "Text to check",
        key="check_text",
        height=130,
        max_chars=100_000,
        persist_state="session",
        placeholder="Paste a paragraph, e.g. from a draft, an abstract or a model's answer.",
    )
    with st.container(horizontal=True, key="check_buttons"):
        go = st.button("Check claims", key="check_go", type="primary", icon=":material/fact_check:")
        st.button("Try an example", key="check_example", on_click=_fill, type="tertiary")
    if go:
        if not text.strip():
            st.caption("Paste a text first.")
            return
        found: list[Any] = []
        with st.spinner("Splitting the text into claims and looking each up..."):
            if attempt(lambda: found.append(engine.knowledge.check(text))):
                st.session_state["check_outcome"] = found[0]
    outcome = st.session_state.get("check_outcome")
    if outcome is None:
        st.caption(
            "Grounded: the graph states it. Inferred: a path of supporting relations leads to it. "
            "Contradicted: the graph states the opposite. Everything else is not supported here, which does not "
            "make it wrong."
        )
        return
    draw_check(outcome, key="pasted")


def _fill() -> None:
    st.session_state["check_text"] = EXAMPLE
    st.session_state.pop("check_outcome", None)


def draw_check(outcome: Any, *, key: str, score: bool = True) -> None:
    """Draw a check: the score unless it is not wanted, then every claim with its evidence."""
    if outcome.read_by:
        st.caption(plain(f"The text was read by {outcome.read_by}; what the graph says was looked up."))
    if not outcome.claims:
        st.caption("No claim that could be checked was found: it states no relation between entities of the graph.")
        _unclaimed(outcome, key=key)
        return
    counts = {label: sum(claim.label == label for claim in outcome.claims) for label in LABELS}
    with st.container(horizontal=True, vertical_alignment="center", key=f"check_score_{key}"):
        for label, count in counts.items():
            if count:
                name, icon, color = LABELS[label]
                st.badge(f"{name} {count}", icon=icon, color=color)  # type: ignore[arg-type]
        if score:
            st.caption(
                f"Score {number(float(outcome.score))} of 1 · {counted(len(outcome.claims), 'claim')} in "
                f"{duration(outcome.seconds)}",
                width="content",
                help="Mean over the claims: grounded 1, inferred 0.5, not supported 0, contradicted -1.",
            )
    for place, (sentence, claims) in enumerate(groupby(outcome.claims, key=lambda claim: claim.text)):
        with st.container(border=True, key=f"claim_{key}_{place}"):
            st.markdown(plain(sentence))
            for part, claim in enumerate(claims):
                _claim(claim, key=f"{key}_{place}_{part}")
    _unclaimed(outcome, key=key)


def _unclaimed(outcome: Any, *, key: str) -> None:
    """List the sentences that name entities and claim nothing of them."""
    if not outcome.unclaimed:
        return
    title = f"No claim ({len(outcome.unclaimed)})"
    with st.expander(title, key=f"unclaimed_{key}", type="compact"):
        for one in outcome.unclaimed[:50]:
            st.markdown(plain(one.text))
            st.caption(plain(one.why))


def stated(claim: Any) -> str:
    """Return in a few words what a claim states: who does what to whom, as the text says it."""
    names = {mention.node.id: mention.node.name for mention in claim.entities}
    subject, target = names.get(claim.subject, claim.subject), names.get(claim.object, claim.object)
    if not (subject and target):
        return ""
    words = ("not " if claim.negated else "") + (claim.predicate.replace("_", " ") or "linked to")
    return f"{subject} \u2192 {words} \u2192 {target}"


def _claim(claim: Any, *, key: str) -> None:
    name, icon, color = LABELS[claim.label]
    with st.container(key=f"claim_body_{key}", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", key=f"claim_head_{key}"):
            st.badge(name, icon=icon, color=color)  # type: ignore[arg-type]
            words = stated(claim)
            hedged = " (said with reserve)" if claim.hedged else ""
            st.markdown(f"**{plain(words)}**{hedged}" if words else "", width="stretch")
        st.caption(plain(claim.why))
        if claim.evidence:
            rows = [
                {
                    "What is stated": plain(item.edge),
                    "Speaks": "against" if item.kind == "opposite" else "for",
                    "By": plain(item.source),
                    "Confidence": number(float(item.confidence)),
                }
                for item in claim.evidence[:12]
            ]
            with st.expander(f"Evidence ({len(claim.evidence)})", key=f"claim_evidence_{key}", type="compact"):
                st.table(rows, border="horizontal", hide_index=True)
        unsure = [mention for mention in claim.entities if mention.alternatives]
        for mention in unsure[:3]:
            others = ", ".join(
                f"{node.name} ({node.type.value.replace('_', ' ')})" for node in mention.alternatives[:3]
            )
            st.caption(plain(f"{mention.text} was read as {mention.node.name}; it could also be {others}."))


CHECK = Tab("Check a text", draw_text_check, order=30)
