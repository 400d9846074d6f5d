"""Provenance: where every number of a run came from, whether it is still as recorded, and what differs between runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.engine import attempt, run_page
from pages.parts.escape import plain
from pages.parts.frame import inside_frame
from pages.parts.session import RUN, focus, run_in_focus
from pages.parts.tables import plain_table
from pages.parts.words import counted, setting, shortened, size, state, when
from pages.running.live import is_working
from pages.running.plan import ordered, step_name
from pages.running.runs import draw_badge
from pages.running.step import draw_step
from pages.trust.compare import changed_findings, differences
from pages.trust.downloads import draw_download_menu
from pages.trust.lineage import draw_lineage

if TYPE_CHECKING:
    from engine.api import Engine, RunRecord, RunView

EXPORTS = ("json", "notebook", "html", "bundle")


def draw(engine: Engine) -> None:
    """Draw the choice of a run and its record."""
    records = engine.runs(limit=1000)
    if not records:
        st.caption("Every run leaves a record here: its data, code, settings, versions and results, each with a hash.")
        st.page_link("pages/ask.py", label="Ask the first question", icon=":material/forum:")
        return
    run_id = _choose(engine, records).run_id
    working = is_working(engine, run_id)
    view = engine.view(run_id)
    record = view.record
    with st.container(horizontal=True, vertical_alignment="center", key="provenance_bar"):
        draw_badge(record)
        if view.plan is not None:
            _verify_button(engine, record)
        if view.plan is not None and not working:
            draw_download_menu(engine, record.run_id, EXPORTS, key="provenance")
        link = {RUN: record.run_id}
        st.page_link("pages/plan_run.py", label="Open in Plan & Run", icon=":material/account_tree:", query_params=link)
    if view.plan is None:
        st.caption(plain(f"This run has no plan, so nothing was computed. {record.error}"))
        return
    if working:
        st.caption("This run is still at work; what is shown is what it has done so far.")
    _verified(record)
    lineage, ran, steps, compare = st.tabs(["Lineage", "What ran", "Steps", "Compare"], key="provenance_tabs")
    with lineage:
        draw_lineage(view)
    with ran:
        _what_ran(view)
    with steps:
        ids = [node.id for node in ordered(view.plan)]
        chosen = st.selectbox("Step", ids, format_func=step_name(view.plan), key=f"provenance_step_{record.run_id}")
        if chosen:
            draw_step(engine, view, chosen)
    with compare:
        _compare(engine, view, records)


def _choose(engine: Engine, records: list[RunRecord]) -> RunRecord:
    wanted = run_in_focus()
    by_id = {record.run_id: record for record in records}
    if wanted and wanted not in by_id:
        engine.record(wanted)  # says in a sentence that there is no such run
    if wanted and st.session_state.get("provenance_seen") != wanted:
        st.session_state["provenance_run"] = wanted
    chosen = st.selectbox("Run", list(by_id), format_func=lambda i: _label(by_id[i]), key="provenance_run")
    st.session_state["provenance_seen"] = chosen
    focus(chosen)
    return by_id[chosen]


def _label(record: RunRecord) -> str:
    return f"{when(record.created_at)}  {shortened(record.question, 90)}  ({state(record.status).label.lower()})"


def _verify_button(engine: Engine, record: RunRecord) -> None:
    found: dict[str, Any] = st.session_state.setdefault("verified", {})
    if st.button(
        "Verify now",
        key="verify",
        icon=":material/verified:",
        help="Hashes every stored file again and compares each finding with the table row it points to.",
    ):
        found.pop(record.run_id, None)
        with st.spinner("Hashing every file again..."):
            attempt(lambda: found.update({record.run_id: engine.verify(record.run_id)}))


def _verified(record: RunRecord) -> None:
    outcome = st.session_state.get("verified", {}).get(record.run_id)
    if outcome is None:
        return
    with st.container(horizontal=True, vertical_alignment="center", key="verified_bar"):
        _verdict(outcome)
    for text in outcome.differences:
        st.markdown(f":red[:material/error:] {plain(text)}")
    for text in outcome.notes:
        st.caption(plain(text))


def _verdict(outcome: Any) -> None:
    checked = f"{counted(outcome.files, 'file')} hashed again"
    if outcome.findings:
        checked += f", {counted(outcome.findings, 'finding')} compared with their tables"
    if outcome.ok:
        st.badge("As recorded", icon=":material/check_circle:", color="green")
    else:
        st.badge(counted(len(outcome.differences), "difference"), icon=":material/error:", color="red")
    st.caption(checked, width="content")


def _what_ran(view: RunView) -> None:
    assert view.plan is not None
    rows = [
        {
            "Step": plain(node.name),
            "Tool": plain(node.tool),
            "State": state(result.status).label if result else "Not started",
            "Settings": plain("; ".join(f"{name} = {setting(value)}" for name, value in result.params.items()))
            if result
            else "",
            "Code SHA-256": result.code_sha256[:16] if result else "",
            "Taken from": result.from_run if result else "",
        }
        for node in ordered(view.plan)
        for result in [view.results.get(node.id)]
    ]
    st.markdown("**Steps**")
    st.table(rows, border="horizontal", hide_index=True)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Data**")
        st.table(
            [{"File": plain(d.name), "Size": size(d.bytes), "SHA-256": d.sha256[:16]} for d in view.plan.datasets],
            border="horizontal",
            hide_index=True,
        )
        versions = {n: v for result in view.results.values() for n, v in result.versions.items()}
        st.markdown("**Packages**")
        st.table(
            [{"Package": plain(n), "Version": plain(v)} for n, v in sorted(versions.items())],
            border="horizontal",
            hide_index=True,
        )
    with right:
        st.markdown("**Machine**")
        machine = [{"What": plain(n.replace("_", " ")), "Value": plain(v)} for n, v in view.record.environment.items()]
        st.table(machine, border="horizontal", hide_index=True)
        st.markdown("**Isolation of the steps**")
        kind = view.sandbox.get("kind", "unknown")
        st.markdown(plain(f"Sandbox: {kind}"))
        for name, text in view.sandbox.items():
            if name.startswith("missing"):
                st.caption(plain(text))


def _compare(engine: Engine, view: RunView, records: list[RunRecord]) -> None:
    others = {record.run_id: record for record in records if record.run_id != view.record.run_id}
    if not others:
        st.caption("There is no other run to compare with. Rerun this one with another setting to see what it changes.")
        return
    likely = next((r.run_id for r in others.values() if _related(view.record, r)), next(iter(others)))
    chosen = st.selectbox(
        "Compare with",
        list(others),
        index=list(others).index(likely),
        format_func=lambda i: _label(others[i]),
        key=f"compare_{view.record.run_id}",
    )
    other = engine.view(chosen)
    st.caption("First run: the one compared with. Second run: the one shown on this page.")
    put_in, came_out = differences(other, view), changed_findings(other, view)
    st.markdown(f"**What differs** ({len(put_in)})")
    plain_table(put_in, "Both runs used the same data, steps, settings, code and versions.")
    st.markdown(f"**What that changed in the findings** ({len(came_out)})")
    plain_table(came_out, "Every number of the findings is the same.")


def _related(record: RunRecord, other: RunRecord) -> bool:
    return other.run_id == record.parent or other.parent == record.run_id or other.question == record.question


if inside_frame():
    st.title("Provenance")
    run_page(draw)
