"""The answer: what was found, where each number can be checked, and everything that speaks against it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.graph.text_check import draw_check
from pages.parts.charts import draw_figure
from pages.parts.drawing import levels_of
from pages.parts.escape import plain
from pages.parts.evidence import check_button, table_button
from pages.parts.tables import first_rows, show_artifact, show_table, table_of
from pages.parts.words import duration

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from engine.api import Engine, RunView

FINDINGS_SHOWN = 12
FIGURE_WIDTH = 600
"""Pixels: sentence, table and figure are seen without much scrolling."""
ROW_HEIGHT = 35
"""Pixels of a row of a table."""


def draw_answer(engine: Engine, view: RunView) -> None:
    """Draw a finished run's report: the answer and what limits it, and all else folded."""
    report, run_id = view.report, view.record.run_id
    if report is None:
        return
    told = {answer.said for answer in report.answers}
    for sentence in report.summary:
        if sentence not in told:
            st.markdown(plain(sentence))
    figures = {figure.artifact.name: figure for figure in report.figures}
    for place, answer in enumerate(report.answers):
        _one(engine, view, answer, figures.pop(answer.figure, None), f"{run_id}_{place}")
    if report.in_words is not None:
        st.markdown(plain(report.in_words.text))
        st.caption(plain(f"In plain words, by {report.in_words.model}; every number of it stands in the findings."))
    caveats = report.caveats or ([] if report.answers else report.limitations[:3])  # reports of earlier versions
    if not report.answers and view.record.status not in ("succeeded", "partial"):
        caveats = []  # what stopped is said above, and there is no answer that it could limit
    if caveats:
        with st.container(border=True, key=f"limits_{run_id}"):
            st.markdown(":orange[:material/warning:] **What limits this answer**")
            st.markdown("\n".join(f"- {plain(text)}" for text in caveats))
    _details(engine, view, list(figures.values()))


def draw_told_figures(engine: Engine, view: RunView) -> None:
    """Draw the figures of an earlier answer that an answer without a plan shows again."""
    for figure in view.report.figures if view.report is not None else ():
        key = f"told_{view.record.run_id}_{figure.artifact.name}"
        with st.container(width=FIGURE_WIDTH, key=f"{key}_figure"):
            draw_figure(engine, view, figure.artifact, caption=figure.caption, key=key)


def _one(engine: Engine, view: RunView, answer: Any, figure: Any, key: str) -> None:
    """Draw the sentence that answers, the rows that show it and its figure."""
    report = view.report
    assert report is not None
    finding = next((f for f in report.findings if f.id == answer.finding), None)
    artifacts = {artifact.name: artifact for artifact in report.tables}
    with st.container(key=f"answer_{key}"):
        st.markdown(f"**{plain(answer.said)}**")
        for table, name in zip(answer.tables, ("table", "beside"), strict=False):
            _rows_of(engine, table, artifacts.get(table.name), f"answer_{name}_{key}")
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            for table in answer.tables:
                if table.name in artifacts:
                    table_button(
                        engine,
                        artifacts[table.name],
                        _extent(table),
                        key=f"{table.name}_{key}",
                        findings=report.findings,
                    )
                else:
                    st.caption(plain(_extent(table)), width="content")
            if finding is not None:
                check_button(engine, finding, artifacts.get(finding.artifact), key=f"answer_{key}")
        if figure is not None:
            with st.container(width=FIGURE_WIDTH, key=f"answer_figure_{key}"):
                draw_figure(engine, view, figure.artifact, caption=figure.caption, key=f"answer_{key}")


def _rows_of(engine: Engine, table: Any, artifact: Any, key: str) -> None:
    """Draw the columns that show an answer, all rows: what is told of first, then the others, to be sorted with it."""
    frame, told = _told_rows(table), list(table.rows)
    whole = table_of(str(engine.artifact(artifact.sha256))) if artifact is not None else frame
    if set(table.columns) <= set(whole.columns) and max(told) <= len(whole):
        frame = whole.loc[:, table.columns].set_axis(range(1, len(whole) + 1))
        frame = first_rows(frame, told)
    alt = f"Rows of {table.name} that show this answer"
    height = ROW_HEIGHT * (len(told) + 1) + 2 if len(told) < len(frame) else None
    show_table(frame, key=key, alt=alt, rows=table.total, marked=table.marked, height=height)


def _told_rows(table: Any) -> pd.DataFrame:
    import pandas as pd

    from engine.api import shown_cells

    numeric, _ = shown_cells(table.columns, list(table.rows.values()))
    frame = pd.DataFrame(list(table.rows.values()), columns=table.columns, index=pd.Index(table.rows))
    for name, as_number in zip(table.columns, numeric, strict=True):
        if as_number:
            frame[name] = pd.to_numeric(frame[name], errors="coerce")
    return frame


def _extent(table: Any) -> str:
    first = f"; those that show the answer, {len(table.rows):,}, stand first" if len(table.rows) < table.total else ""
    marked = ", the marked one is the sentence's" if table.marked else ""
    return f"All columns of {table.name}, {table.total:,} rows{first}{marked}"


def _details(engine: Engine, view: RunView, figures: list[Any]) -> None:
    """Draw everything else, folded: a tab for each kind that there is."""
    report, run_id = view.report, view.record.run_id
    assert report is not None
    parts: dict[str, Callable[[], None]] = {}
    if report.findings:
        parts[f"Findings ({len(report.findings)})"] = lambda: _findings(engine, report, run_id)
    if figures:
        parts[f"More figures ({len(figures)})"] = lambda: _figures(engine, view, figures, run_id)
    if report.tables:
        parts[f"Tables ({len(report.tables)})"] = lambda: _tables(engine, report, run_id)
    if report.limitations:
        parts[f"Limitations ({len(report.limitations)})"] = lambda: _listed(report.limitations)
    if report.checked or report.claims is not None:
        parts["What was checked"] = lambda: _checked(report, run_id)
    parts["Methods"] = lambda: _methods(report)
    if report.next_steps:
        parts["What to do next"] = lambda: _listed(report.next_steps)
    with st.expander("Details", icon=":material/unfold_more:", key=f"details_{run_id}"):
        for tab, draw in zip(st.tabs(list(parts)), parts.values(), strict=True):
            with tab:
                draw()
        seconds = view.record.usage.seconds
        if seconds:
            st.caption(f"{duration(seconds)} of computing, no model used")


def _listed(sentences: list[str]) -> None:
    st.markdown("\n".join(f"- {plain(text)}" for text in sentences))


def _checked(report: Any, run_id: str) -> None:
    _listed(report.checked)
    if report.claims is not None:
        st.markdown("**The answer's statements against the knowledge graph**")
        # A mean over statements says nothing of the analysis, so only the labels are shown here.
        draw_check(report.claims, key=run_id, score=False)


def _figures(engine: Engine, view: RunView, figures: list[Any], run_id: str) -> None:
    # What stands deepest in the plan is nearest to the answer; the steps that prepare it come last.
    depth = levels_of(view.plan) if view.plan else {}
    tables = {artifact.name: artifact for artifact in view.report.tables} if view.report else {}
    _figure_rows(engine, view, sorted(figures, key=lambda f: -depth.get(f.artifact.node, 0)), tables)


def _figure_rows(engine: Engine, view: RunView, figures: list[Any], tables: dict[str, Any]) -> None:
    run_id = view.record.run_id
    for start in range(0, len(figures), 2):
        for column, figure in zip(st.columns(2), figures[start : start + 2], strict=False):
            with column:
                name = figure.artifact.name
                draw_figure(engine, view, figure.artifact, caption=figure.caption, key=f"{run_id}_{name}")
                twin = tables.get(figure.table)
                if twin is not None:
                    with st.expander("The numbers of this figure", key=f"twin_{run_id}_{name}"):
                        show_artifact(engine, twin, key=f"twin_{run_id}_{name}")


def _findings(engine: Engine, report: Any, run_id: str) -> None:
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
        check_button(engine, finding, artifacts.get(finding.artifact), key=run_id)


def _tables(engine: Engine, report: Any, run_id: str) -> None:
    # The answer's first: the choice opens on its table.
    told = [table.name for answer in report.answers for table in answer.tables]
    told += [finding.artifact for finding in report.findings]
    names = [artifact.name for artifact in report.tables]
    names = list(dict.fromkeys([*(name for name in told if name in names), *names]))
    chosen = st.selectbox("Table", names, key=f"table_choice_{run_id}", label_visibility="collapsed")
    artifact = next((a for a in report.tables if a.name == chosen), None)
    if artifact is not None:
        show_artifact(engine, artifact, key=f"answer_{run_id}_{artifact.name}", findings=report.findings)


def _methods(report: Any) -> None:
    for step in report.methods:
        numbers = "".join(f" [{n}]" for n in step.citations)
        st.markdown(f"**{plain(step.name)}** {plain(step.text)}{plain(numbers)}")
    if report.assumptions:
        st.markdown("**Assumed**")
        _listed(report.assumptions)
    for position, work in enumerate(report.citations, start=1):
        link = f"https://doi.org/{work.doi}" if work.doi else work.url
        title = f"[{plain(work.title)}]({link})" if link else plain(work.title)
        year = f" ({work.year})" if work.year else ""
        st.caption(f"\\[{position}\\] {plain(work.authors)}{year}. {title}")
