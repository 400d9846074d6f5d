"""Everything kept of one step: results, checks, settings, inputs, code and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import streamlit as st

from pages.parts.charts import draw_figure
from pages.parts.escape import plain
from pages.parts.evidence import check_button
from pages.parts.tables import show_artifact
from pages.parts.words import counted, duration, setting, state
from pages.running.live import activity_of
from pages.running.plan import read_from

if TYPE_CHECKING:
    from engine.api import Engine, RunView

TEXT_SHOWN = 50_000
FIGURE_WIDTH = 640


def draw_step(engine: Engine, view: RunView, node_id: str) -> None:
    """Draw one step of a run."""
    node = view.plan.node(node_id) if view.plan else None
    if node is None:
        return
    result = view.results.get(node_id)
    spec = engine.tool(node.tool)
    _head(engine, view, node, result, spec)
    results, checks, settings, inputs, code, output = st.tabs(
        ["Results", "Checks", "Settings", "Inputs", "Code", "Output"], key=f"step_tabs_{node_id}"
    )
    with results:
        _results(engine, view, result, spec)
    with checks:
        _checks(engine, view, node_id, result)
    with settings:
        _settings(spec, result.params if result else node.params)
    with inputs:
        _inputs(view, node, result)
    with code:
        _code(engine, spec, result)
    with output:
        _output(engine, result)


def _head(engine: Engine, view: RunView, node: Any, result: Any, spec: Any) -> None:
    status = result.status if result else activity_of(engine, view.record.run_id).statuses().get(node.id, "pending")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"**{plain(node.name)}**", width="content")
        st.badge(state(status).label, icon=state(status).icon, color=state(status).color)  # type: ignore[arg-type]
        if result and result.status == "cached":
            st.caption(plain(f"from run {result.from_run}"), width="content")
        elif result:
            attempts = f" · {counted(result.attempts, 'attempt')}" if result.attempts > 1 else ""
            memory = f" · {result.peak_memory_mb:,.0f} MB" if result.peak_memory_mb else ""
            st.caption(f"{duration(result.seconds)}{attempts}{memory}", width="content")
    st.caption(plain(" ".join(node.reasons) or f"{spec.description.split('. ')[0].rstrip('.')}."))
    if result and result.error:
        st.markdown(f":red[:material/error:] {plain(result.error)}")


def _caption(spec: Any, figure: Any) -> str:
    port = spec.output(figure.output)
    said = port.description if port and port.description else figure.name
    return f"{said[0].upper()}{said[1:].rstrip('.')}."


def _results(engine: Engine, view: RunView, result: Any, spec: Any) -> None:
    if result is None or not (result.artifacts or result.findings):
        st.caption("Nothing yet.")
        return
    artifacts = {artifact.name: artifact for artifact in result.artifacts}
    for finding in result.findings:
        with st.container(horizontal=True, wrap=False, vertical_alignment="center"):
            st.markdown(plain(finding.text), width="stretch")
            artifact = artifacts.get(finding.artifact)
            table = artifact if artifact and artifact.name.endswith(".csv") else None
            check_button(engine, finding, table, key=f"step_{view.record.run_id}")
    for figure in (artifact for artifact in result.artifacts if artifact.type == "figure"):
        with st.container(width=FIGURE_WIDTH):
            draw_figure(engine, view, figure, caption=_caption(spec, figure), key=f"step_{figure.name}")
    # What the findings speak of lies open, the first thing they do on top; what led there is unfolded when asked for.
    spoken = [artifacts[name] for name in dict.fromkeys(f.artifact for f in result.findings) if name in artifacts]
    rest = [artifact for artifact in result.artifacts if artifact.type not in ("figure", "svg")]
    for place, artifact in enumerate(dict.fromkeys([a.name for a in [*spoken, *rest] if a in rest])):
        _artifact(engine, artifacts[artifact], result.findings, opened=place == 0)


def _artifact(engine: Engine, artifact: Any, findings: list[Any], *, opened: bool) -> None:
    folded = st.expander(
        plain(artifact.name),
        expanded=opened,
        key=f"artifact_{artifact.name}",
        on_change="rerun",
    )
    with folded:
        if folded.open:
            show_artifact(engine, artifact, key=f"step_{artifact.name}", findings=findings)


def _checks(engine: Engine, view: RunView, node_id: str, result: Any) -> None:
    verdict = result.verdict if result else None
    if verdict is None:
        st.caption("Not judged yet.")
    else:
        word = "passed" if verdict.passed else "did not pass"
        st.markdown(f"The result {word} its checks; quality {verdict.quality:.2f} of 1. What was checked:")
        st.markdown("\n".join(f"- {plain(name)}" for name in dict.fromkeys(verdict.checks)))
        for issue in verdict.issues:
            color = "red" if issue.severity == "error" else "orange" if issue.severity == "warning" else "gray"
            where = f" ({issue.where})" if issue.where else ""
            st.markdown(f":{color}[:material/warning:] {plain(issue.message + where)}")
    for warning in result.warnings if result else []:
        st.markdown(f":orange[:material/warning:] {plain(warning)}")
    line = activity_of(engine, view.record.run_id).lines.get(node_id)
    retries = [note for note in line.notes if note.startswith("Attempt ")] if line else []
    if retries:
        st.markdown("**Attempts**")
        for note in retries:
            st.markdown(f"- {plain(note)}")


def _settings(spec: Any, params: dict[str, Any]) -> None:
    rows = []
    for param in spec.params:
        given = params.get(param.name)
        value = given if given is not None else param.default
        rows.append(
            {
                "Setting": param.name.replace("_", " "),
                "Value": plain(setting(value)) + (f" {param.unit}" if param.unit else ""),
                "From": "plan" if param.name in params else "tool's default",
                "Meaning": plain(param.description),
            }
        )
    if rows:
        st.table(rows, border="horizontal", hide_index=True)
    else:
        st.caption("This tool has no settings.")


def _inputs(view: RunView, node: Any, result: Any) -> None:
    assert view.plan is not None
    rows = [
        {
            "Input": name,
            "Comes from": plain(read_from(view.plan, ref)),
            "SHA-256": (result.inputs.get(name, "") if result else "") or "known once it has run",
        }
        for name, ref in node.inputs.items()
    ]
    st.table(rows, border="horizontal", hide_index=True)


def _code(engine: Engine, spec: Any, result: Any) -> None:
    if result and result.code_sha256:
        st.caption(f"What ran, SHA-256 {result.code_sha256}")
        text = engine.artifact(result.code_sha256).read_text(encoding="utf-8", errors="replace")
    else:
        st.caption("The tool as it will run; reading of inputs and writing of results is added around it.")
        text = "\n\n".join([*spec.helper_sources, spec.source])
    st.code(text, language="python", height=420, line_numbers=True)
    if result and result.versions:
        st.caption(plain("With " + ", ".join(f"{name} {version}" for name, version in result.versions.items())))


def _output(engine: Engine, result: Any) -> None:
    from engine.domain.encoding.escaping import visible

    shown = False
    for name, sha256 in (("stdout", result.stdout_sha256), ("stderr", result.stderr_sha256)) if result else ():
        if sha256:
            text = engine.artifact(sha256).read_text(encoding="utf-8", errors="replace")
            st.caption(name)
            st.code(visible(text[-TEXT_SHOWN:]), language=None, height=300)
            shown = True
    if not shown:
        st.caption("The step printed nothing.")
