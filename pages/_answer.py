"""The answer: what was found, where each number can be checked, and everything that speaks against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages._escape import plain
from pages._graph import levels_of
from pages._tables import rows_shown_by, save_button, show_artifact, show_figure, show_frame, table_of
from pages._text_check import draw_check
from pages._words import duration, number, size

if TYPE_CHECKING:
    from engine.api import Engine, RunView

FINDINGS_SHOWN, FIGURES_SHOWN = 12, 4


def draw_answer(engine: Engine, view: RunView) -> None:
    """Draw a finished run's report."""
    report, run_id = view.report, view.record.run_id
    if report is None:
        return
    st.markdown("\n".join(f"- {plain(sentence)}" for sentence in report.summary))
    seconds = view.record.usage.seconds
    if seconds:
        st.caption(f"{duration(seconds)} of computing, no model used")
    _figures(engine, view, report, run_id)
    _findings(engine, report, run_id)
    if report.checked or report.claims is not None:
        with st.expander("What was checked", icon=":material/fact_check:", key=f"claims_{run_id}"):
            st.markdown("\n".join(f"- {plain(text)}" for text in report.checked))
            if report.claims is not None:
                st.markdown("**The summary's statements against the knowledge graph**")
                # A mean over statements says nothing of the analysis, so only the labels are shown here.
                draw_check(report.claims, key=run_id, score=False)
    if report.limitations:
        with st.container(border=True, key=f"limits_{run_id}"):
            st.markdown(":orange[:material/warning:] **What limits this result**")
            st.markdown("\n".join(f"- {plain(text)}" for text in report.limitations))
    _tables(engine, report, run_id)
    _methods(report, run_id)


def _figures(engine: Engine, view: RunView, report: Any, run_id: str) -> None:
    # What stands deepest in the plan is nearest to the answer; the steps that prepare it come last.
    depth = levels_of(view.plan) if view.plan else {}
    figures = sorted(report.figures, key=lambda figure: -depth.get(figure.artifact.node, 0))
    tables = {artifact.name: artifact for artifact in report.tables}
    _figure_rows(engine, figures[:FIGURES_SHOWN], tables, run_id)
    if len(figures) > FIGURES_SHOWN:
        rest = figures[FIGURES_SHOWN:]
        with st.expander(f"More figures ({len(rest)})", icon=":material/image:", key=f"more_figures_{run_id}"):
            _figure_rows(engine, rest, tables, run_id)


def _figure_rows(engine: Engine, figures: list[Any], tables: dict[str, Any], run_id: str) -> None:
    for start in range(0, len(figures), 2):
        for column, figure in zip(st.columns(2), figures[start : start + 2], strict=False):
            with column:
                show_figure(engine, figure.artifact, caption=figure.caption)
                name = figure.artifact.name
                save_button(engine.artifact(figure.artifact.sha256), name, key=f"figure_{run_id}_{name}")
                twin = tables.get(figure.table)
                if twin is not None:
                    with st.expander("The numbers of this figure", key=f"twin_{run_id}_{name}"):
                        show_artifact(engine, twin, key=f"twin_{run_id}_{name}")


def _findings(engine: Engine, report: Any, run_id: str) -> None:
    if not report.findings:
        return
    st.subheader("Findings")
    artifacts = {artifact.name: artifact for artifact in report.tables}
    for finding in report.findings[:FINDINGS_SHOWN]:
        _finding(engine, finding, artifacts, run_id)
    rest = report.findings[FINDINGS_SHOWN:]
    if rest:
        with st.expander(f"{len(rest)} more findings", key=f"more_findings_{run_id}"):
            for finding in rest:
                _finding(engine, finding, artifacts, run_id)


def _finding(engine: Engine, finding: Any, artifacts: dict[str, Any], run_id: str) -> None:
    with st.container(horizontal=True, wrap=False, vertical_alignment="center", gap="small"):
        st.markdown(plain(finding.text), width="stretch")
        if finding.artifact or finding.values:
            with st.popover("Check", icon=":material/table_rows:", key=f"check_{run_id}_{finding.id}", type="tertiary"):
                draw_evidence(engine, finding, artifacts.get(finding.artifact), run_id)


def draw_evidence(engine: Engine, finding: Any, artifact: Any, run_id: str) -> None:
    """Draw a finding's numbers and the table row they come from."""
    if finding.values:
        st.table([_value_row(value) for value in finding.values], border="horizontal", hide_index=True)
    if artifact is None:
        if finding.artifact:
            st.caption(plain(f"Shown by {finding.artifact}, made by step {finding.node}."))
        return
    if finding.row:
        frame = rows_shown_by(table_of(str(engine.artifact(artifact.sha256)), rows=1_000_000), finding.row)
        st.caption(plain(f"Its row in {artifact.name} (step {finding.node})"))
        show_frame(frame, key=f"row_{run_id}_{finding.id}", alt=f"Row of {artifact.name} behind this finding")
    else:
        st.caption(plain(f"Shown by {artifact.name} (step {finding.node}, {size(artifact.bytes)})"))
        show_frame(
            table_of(str(engine.artifact(artifact.sha256))), key=f"rows_{run_id}_{finding.id}", alt=artifact.name
        )


def _value_row(value: Any) -> dict[str, str]:
    interval = ""
    if value.low is not None and value.high is not None:
        interval = f"{number(value.low)} to {number(value.high)}"
    return {
        "Number": plain(value.name.replace("_", " ")),
        "Value": plain(number(value.value) + (f" {value.unit}" if value.unit else "")),
        "95 % interval": interval,
        "n": number(value.n),
    }


def _tables(engine: Engine, report: Any, run_id: str) -> None:
    if not report.tables:
        return
    with st.expander(f"Tables ({len(report.tables)})", icon=":material/table:", key=f"tables_{run_id}"):
        names = [artifact.name for artifact in report.tables]
        chosen = st.selectbox("Table", names, key=f"table_choice_{run_id}", label_visibility="collapsed")
        artifact = next((a for a in report.tables if a.name == chosen), None)
        if artifact is not None:
            show_artifact(engine, artifact, key=f"answer_{run_id}_{artifact.name}")


def _methods(report: Any, run_id: str) -> None:
    with st.expander("Methods, assumptions and references", icon=":material/menu_book:", key=f"methods_{run_id}"):
        for step in report.methods:
            numbers = "".join(f" [{n}]" for n in step.citations)
            st.markdown(f"**{plain(step.name)}** {plain(step.text)}{plain(numbers)}")
        if report.assumptions:
            st.markdown("**Assumed**")
            st.markdown("\n".join(f"- {plain(text)}" for text in report.assumptions))
        for position, work in enumerate(report.citations, start=1):
            link = f"https://doi.org/{work.doi}" if work.doi else work.url
            title = f"[{plain(work.title)}]({link})" if link else plain(work.title)
            year = f" ({work.year})" if work.year else ""
            st.caption(f"\\[{position}\\] {plain(work.authors)}{year}. {title}")
    if report.next_steps:
        with st.expander("What to do next", icon=":material/arrow_forward:", key=f"next_{run_id}"):
            st.markdown("\n".join(f"- {plain(text)}" for text in report.next_steps))
