"""The report as text, for a wiki, a notebook page or a version-controlled folder.

Figures and tables are named by the paths they have in an exported folder.
"""

from __future__ import annotations

import re

from engine.domain.encoding.escaping import in_markdown as _e
from engine.domain.findings import Finding
from engine.domain.report import Report, RunView
from engine.provenance.files import artifact_files
from engine.provenance.recorder import maker
from engine.reporting.checked import TAGS, checked_lines, searched_lines
from engine.reporting.compose import TITLE_LENGTH, report_of, title_of
from engine.reporting.numbers import format_number, shown_cells
from engine.reporting.status import status_lines
from engine.toolbox.registry import ToolRegistry


def render(view: RunView, registry: ToolRegistry) -> str:
    """Return the report of a run as Markdown."""
    report = report_of(view, registry)
    record = view.record
    status = status_lines(view)
    when = (record.finished_at or record.created_at)[:16].replace("T", " ")
    parts = [
        f"# {_e(report.title)}",
        ""
        if report.title == title_of(record.question) and len(report.title) < TITLE_LENGTH
        else f"> {_e(record.question)}",
        "**Status.** " + "  \n".join(_e(line) for line in status),
        f"{maker()}, run `{record.run_id}`, {when} UTC.",
        _section("Answer", _answers(view, report, status)),
        _section("What limits this answer", _bullets([_e(text) for text in report.caveats])),
        "---",
        _section("Findings", _findings(view, report)),
        _section("What was checked", _bullets([_e(line) for line in checked_lines(report)])),
        _section("What was searched", _bullets([_e(line) for line in searched_lines(report)])),
        _section("Limitations", _bullets([_e(text) for text in report.limitations])),
        _section("Assumptions", _bullets([_e(text) for text in report.assumptions])),
        _section("Next steps", _bullets([_e(text) for text in report.next_steps])),
        _section("Methods", _methods(report)),
        _section("Files", _files(view)),
        _section("References", _references(report)),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _section(title: str, content: str) -> str:
    return f"## {title}\n\n{content}" if content else ""


def _bullets(items: list[str]) -> str:
    return "\n".join(f"- {item}" for item in items)


def _answers(view: RunView, report: Report, status: list[str]) -> str:
    paths = {artifact.name: path for path, artifact in artifact_files(view)}
    figures = {figure.artifact.name: figure for figure in report.figures}
    told = {answer.said for answer in report.answers}
    parts = [_e(text) for text in report.summary if text not in told and text not in status]
    for answer in report.answers:
        parts.append(f"**{_e(answer.said)}**")
        for table in answer.tables:
            numeric, shown = shown_cells(table.columns, list(table.rows.values()))
            lines = [table.columns, ["---:" if number else "---" for number in numeric]]
            lines += [
                [f"**{_e(text)}**" if number in table.marked and text else _e(text) for text in cells]
                for number, cells in zip(table.rows, shown, strict=True)
            ]
            lines[0] = [_e(name) for name in lines[0]]
            parts.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
            where = f"[{_e(table.name)}]({_link(paths.get(table.name, table.name))})"
            parts.append(f"{len(table.rows):,} of {table.total:,} rows of {where}.")
        if answer.figure in figures:
            figure = figures.pop(answer.figure)
            parts.append(f"![{_e(figure.caption)}]({_link(paths.get(answer.figure, answer.figure))})")
    parts += [_e(report.in_words.line)] if report.in_words else []
    return "\n\n".join(parts)


def _findings(view: RunView, report: Report) -> str:
    paths = {artifact.name: path for path, artifact in artifact_files(view)}
    names = {node.id: node.name for node in (view.plan.nodes if view.plan else [])}
    order = dict.fromkeys([s.node for s in report.methods if s.node] + [f.node for f in report.findings])
    blocks: list[str] = []
    for node in order:
        lines = [_finding(finding, paths) for finding in report.findings if finding.node == node]
        drawn = [
            f"![{_e(figure.caption)}]({_link(paths.get(figure.artifact.name, figure.artifact.name))})\n\n"
            f"*{_e(figure.caption)}*" + (f" Numbers: {_e(figure.table)}." if figure.table else "")
            for figure in report.figures
            if figure.artifact.node == node
        ]
        if lines or drawn:
            blocks.append(
                "\n\n".join([f"### {_e(names.get(node, node))}", *([_bullets(lines)] if lines else []), *drawn])
            )
    return "\n\n".join(blocks)


def _finding(finding: Finding, paths: dict[str, str]) -> str:
    text = _e(finding.text)
    if tag := TAGS[finding.grounding]:
        text += f" ({tag})"
    if finding.artifact:
        row = ", ".join(f"{key} = {format_number(value)}" for key, value in finding.row.items())
        where = f"{finding.artifact}{f', {row}' if row else ''}"
        text += f" ([{_e(where)}]({_link(paths.get(finding.artifact, finding.artifact))}))"
    return text


def _link(path: str) -> str:
    return "<" + path.replace("<", "%3C").replace(">", "%3E") + ">" if re.search(r"[\s()]", path) else path


def _methods(report: Report) -> str:
    blocks = []
    for step in report.methods:
        cited = "".join(f" \\[{number}\\]" for number in step.citations) if step.node else ""
        blocks.append(f"**{_e(step.name)}.** {_e(step.text)}{cited}")
    return "\n\n".join(blocks)


def _files(view: RunView) -> str:
    rows = [
        f"| {_e(path)} | {_e(artifact.type)} | {'' if artifact.rows is None else f'{artifact.rows:,}'} | "
        f"`{artifact.sha256}` |"
        for path, artifact in artifact_files(view)
    ]
    rows += [
        f"| {_e(d.name)} (input) | {_e(d.type.value)} | | `{d.sha256}` |"
        for d in (view.plan.datasets if view.plan else [])
    ]
    return "\n".join(["| file | kind | rows | SHA-256 |", "|---|---|---:|---|", *rows]) if rows else ""


def _references(report: Report) -> str:
    lines = []
    for number, citation in enumerate(report.citations, start=1):
        link = f"https://doi.org/{citation.doi}" if citation.doi else citation.url
        year = f" ({citation.year})" if citation.year else ""
        author = f"{citation.authors}{year}. " if citation.authors else ""
        lines.append(
            f"{number}. {_e(author)}{' ' if author else ''}{_e(citation.title)}." + (f" <{link}>" if link else "")
        )
    return "\n".join(lines)
