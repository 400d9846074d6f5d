"""The report as one file to keep, mail or print: nothing in it is fetched from anywhere.

Each number of a finding is a link to the row that shows it; below each table stand its file's hash and the
code that made it.
"""

from __future__ import annotations

import base64

from engine.domain.encoding.escaping import in_html as _e
from engine.domain.findings import Finding
from engine.domain.report import Answer, MethodStep, ReportFigure, RunView, ShownTable
from engine.domain.results import Artifact
from engine.domain.toolspec import Citation
from engine.ports.artifacts import ArtifactStore
from engine.provenance.files import file_name
from engine.provenance.recorder import maker
from engine.reporting.checked import TAGS, checked_lines, searched_lines
from engine.reporting.forms.contents import Contents, anchor, cell_anchor, gather, image_bytes, row_anchor
from engine.reporting.forms.excerpts import Excerpt
from engine.reporting.forms.html_style import STYLE
from engine.reporting.numbers import format_cell, shown_cells
from engine.toolbox.figures import is_svg
from engine.toolbox.registry import ToolRegistry

CELL_LENGTH = 60
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(view: RunView, artifacts: ArtifactStore, registry: ToolRegistry) -> str:
    """Return the report of a run as one self-contained HTML file."""
    contents = gather(view, artifacts, registry)
    report = contents.report
    details = [
        _section("Findings", "".join(_step_section(contents, *part, artifacts) for part in contents.sections())),
        _section("What was checked", _list([_e(line) for line in checked_lines(report)])),
        _section("What was searched", _list([_e(line) for line in searched_lines(report)])),
        _section("Limitations", _list([_e(text) for text in report.limitations])),
        _section("Assumptions", _list([_e(text) for text in report.assumptions])),
        _section("Next steps", _list([_e(text) for text in report.next_steps])),
        _section("Methods", "".join(_method(step) for step in report.methods)),
        _section("Tables", "".join(_table(contents, table) for table in contents.excerpts.values())),
        _section("References", _references(report.citations)),
        _section("Data and record", _record(contents)),
    ]
    folded = "\n".join(part for part in details if part)
    body = [
        _header(contents),
        _section("Answer", _answers(contents, artifacts)),
        _section("What limits this answer", _list([_e(text) for text in report.caveats])),
        f'<details class="rest"><summary>Details: all findings, limitations, methods, tables and data</summary>{folded}'
        "</details>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_e(report.title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _section(title: str, content: str) -> str:
    key = anchor("section", title.lower())
    return f'<section aria-labelledby="{key}"><h2 id="{key}">{_e(title)}</h2>\n{content}</section>' if content else ""


def _list(items: list[str], css: str = "", tag: str = "ul") -> str:
    if not items:
        return ""
    attribute = f' class="{css}"' if css else ""
    return f"<{tag}{attribute}>" + "".join(f"<li>{item}</li>" for item in items) + f"</{tag}>"


def _header(contents: Contents) -> str:
    record = contents.view.record
    status = "".join(f"<p>{_e(line)}</p>" for line in contents.status)
    when = (record.finished_at or record.created_at)[:16].replace("T", " ")
    made = f"{maker()} · run {_e(record.run_id)} · {_e(when)} UTC"
    warn = "" if contents.complete else " warn"
    asked = "" if contents.report.title.lower().rstrip(".") == record.question.strip().lower().rstrip("?!. ") else (
        f"<blockquote>{_e(record.question)}</blockquote>"
    )  # fmt: skip
    return (
        f'<header><h1>{_e(contents.report.title)}</h1>{asked}<p class="soft">{made}</p>'
        f'<div class="status{warn}" role="status">{status}</div></header>'
    )


def _answers(contents: Contents, store: ArtifactStore) -> str:
    told = {answer.said for answer in contents.report.answers}
    parts = [f'<p class="answer">{_e(text)}</p>' for text in contents.summary() if text not in told]
    drawn: set[str] = set()
    for number, answer in enumerate(contents.report.answers, start=1):
        key = f"answer-{number}"
        finding = contents.finding_of(answer.text)
        sentence = _sentence(contents, finding, answer, key) if finding else _e(answer.text)
        parts.append(f'<p class="answer">{_e(answer.lead)}{sentence}</p>')
        parts += [_answer_table(table, _table_key(key, at)) for at, table in enumerate(answer.tables)]
        figure = next((f for f in contents.report.figures if f.artifact.name == answer.figure), None)
        if figure is not None and answer.figure not in drawn:
            drawn.add(answer.figure)
            parts.append(_figure(figure, store))
    words = contents.report.in_words
    return "".join(parts) + (f'<p class="soft">{_e(words.line)}</p>' if words else "")


def _table_key(key: str, at: int) -> str:
    return f"{key}-{at}" if at else key


def _answer_table(table: ShownTable, key: str) -> str:
    """Draw the rows that show an answer; a cell's anchor is that of its row and column in the file."""
    numeric, shown = shown_cells(table.columns, list(table.rows.values()))
    css = [" class=n" if number else "" for number in numeric]
    heads = "".join(f'<th scope="col"{c}>{_e(name)}</th>' for c, name in zip(css, table.columns, strict=True))
    lines = []
    for number, cells in zip(table.rows, shown, strict=True):
        row = f"{key}-row-{number}"
        marked = ' class="cited"' if number in table.marked else ""
        texts = [
            f'<td id="{cell_anchor(row, at)}"{c}>{_e(text)}</td>'
            for at, (c, text) in enumerate(zip(css, cells, strict=True))
        ]
        lines.append(f'<tr id="{row}"{marked}>{"".join(texts)}</tr>')
    extent = f"{len(table.rows):,} of {table.total:,} rows" if len(table.rows) < table.total else ""
    whole = f'<a href="#{_e(anchor("table", table.name))}">{_e(table.name)}</a>'
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{_e(table.name)}"><table><thead><tr>{heads}</tr>'
        f'</thead><tbody>{"".join(lines)}</tbody></table></div><p class="soft">{extent and extent + " of "}{whole}</p>'
    )


def _sentence(contents: Contents, finding: Finding, answer: Answer | None = None, key: str = "") -> str:
    """Write a finding's sentence with its numbers as links: to the cells below an answer, else to the whole table."""
    tables = {_table_key(key, at): table for at, table in enumerate(answer.tables)} if answer else {}
    parts = []
    for piece in contents.pieces(finding):
        target = contents.cell(finding, piece)
        for own, table in tables.items():
            near = table.marked or (list(table.rows) if len(table.rows) == 1 else [])
            if near and piece.column in table.columns and table.name == finding.artifact:
                target = cell_anchor(f"{own}-row-{near[0]}", table.columns.index(piece.column))
                break
            if (place := table.place(*piece.named)) is not None:
                target = cell_anchor(f"{own}-row-{place[0]}", place[1])
                break
        parts.append(f'<a class="number" href="#{_e(target)}">{_e(piece.text)}</a>' if target else _e(piece.text))
    return "".join(parts)


def _step_section(
    contents: Contents, node: str, name: str, findings: list[Finding], figures: list[Artifact], store: ArtifactStore
) -> str:
    items = []
    for finding in findings:
        words = TAGS[finding.grounding]
        tag = f' <span class="tag">{_e(words)}</span>' if words else ""
        items.append(f'<span id="{_e(anchor("finding", finding.id))}">{_sentence(contents, finding)}</span>{tag}')
    by_name = {figure.artifact.name: figure for figure in contents.report.figures}
    above = {answer.figure for answer in contents.report.answers}
    drawn = "".join(_figure(by_name[a.name], store) for a in figures if a.name not in above)
    method = f'<a href="#{_e(anchor("step", node))}">How it was done</a>'
    return f'<h3>{_e(name)}</h3>{_list(items)}{drawn}<p class="soft">{method}</p>'


def _figure(figure: ReportFigure, store: ArtifactStore) -> str:
    data = image_bytes(figure.artifact, store)
    twin = f' Numbers: <a href="#{_e(anchor("table", figure.table))}">{_e(figure.table)}</a>.' if figure.table else ""
    if data is None:
        image = f"<p>{_e(figure.artifact.name)} is missing from the workspace or cannot be shown.</p>"
    else:
        kind = "svg+xml" if is_svg(data) else "png"
        encoded = base64.b64encode(data).decode()
        image = f'<img alt="{_e(figure.caption)}" src="data:image/{kind};base64,{encoded}">'
    key = _e(anchor("figure", figure.artifact.name))
    return f'<figure id="{key}">{image}<figcaption>{_e(figure.caption)}{twin}</figcaption></figure>'


def _method(step: MethodStep) -> str:
    numbers = ", ".join(f'<a href="#{anchor("reference", str(n))}">{n}</a>' for n in step.citations)
    cited = f" [{numbers}]" if numbers and step.node else ""
    key = f' id="{_e(anchor("step", step.node))}"' if step.node else ""
    return f"<h3{key}>{_e(step.name)}</h3><p>{_e(step.text)}{cited}</p>"


def _table(contents: Contents, table: Excerpt) -> str:
    artifact = table.artifact
    key = _e(anchor("table", artifact.name))
    code = contents.code.get(artifact.node, "")
    details = (
        f"<details><summary>Code that made it</summary><pre><code>{_e(code)}</code></pre></details>" if code else ""
    )
    foot = f'<p class="soft">{_e(artifact.name)} · SHA-256 <span class="hash">{artifact.sha256}</span></p>{details}'
    if table.problem:
        return f'<p id="{key}">{_e(table.problem)}</p>{foot}'
    heads = "".join(
        f'<th scope="col"{" class=n" if numeric else ""}>{_e(column)}</th>'
        for column, numeric in zip(table.columns, table.numeric, strict=True)
    )
    label = _e(f"{artifact.name}: {_extent(table)}")
    return (
        f'<div class="scroll" id="{key}" tabindex="0" role="region" aria-label="{_e(artifact.name)}"><table>'
        f'<caption>{label}</caption><thead><tr><th scope="col" class="n">row</th>{heads}</tr></thead>'
        f"<tbody>{_rows(table, contents.cited)}</tbody></table></div>{foot}"
    )


def _extent(table: Excerpt) -> str:
    shown = len(table.rows)
    rows = f"{table.total:,} rows" if shown == table.total else f"{shown:,} of {table.total:,} rows"
    return rows + (f", {table.more_columns:,} more columns in the file" if table.more_columns else "")


def _rows(table: Excerpt, cited_cells: set[str]) -> str:
    lines: list[str] = []
    before = 0
    cited = set(table.located.values())
    span = len(table.columns) + 1
    for number, cells in table.rows.items():
        if number != before + 1:
            lines.append(f'<tr><td class="gap" colspan="{span}">{number - before - 1:,} rows not shown</td></tr>')
        css = ' class="cited"' if number in cited else ""
        key = _e(row_anchor(table.artifact.name, number))
        columns = zip(table.columns, table.numeric, cells, strict=False)
        anchors = [cell_anchor(key, at) for at in range(len(cells))]
        texts = "".join(
            _cell(text, column, numeric, mark if mark in cited_cells else "")
            for mark, (column, numeric, text) in zip(anchors, columns, strict=False)
        )
        lines.append(f'<tr id="{key}"{css}><th scope="row" class="n">{number}</th>{texts}</tr>')
        before = number
    if before < table.total:
        lines.append(f'<tr><td class="gap" colspan="{span}">{table.total - before:,} rows not shown</td></tr>')
    return "".join(lines)


def _cell(text: str, column: str, numeric: bool, key: str) -> str:  # noqa: FBT001 - one cell, four facts
    shown = format_cell(text, column) if numeric else text
    if len(shown) > CELL_LENGTH:
        shown = shown[: CELL_LENGTH - 1] + "…"
    title = f' title="{_e(text[:1000])}"' if shown != text else ""
    mark = f' id="{key}"' if key else ""
    return f"<td{mark}{' class=n' if numeric else ''}{title}>{_e(shown)}</td>"


def _references(citations: list[Citation]) -> str:
    items = []
    for number, citation in enumerate(citations, start=1):
        link = f"https://doi.org/{citation.doi}" if citation.doi else citation.url
        where = f' <a href="{_e(link)}" rel="noreferrer">{_e(citation.doi or link)}</a>' if link else ""
        year = f" ({citation.year})" if citation.year else ""
        author = f"{citation.authors}{year}. " if citation.authors else ""
        items.append(f'<span id="{anchor("reference", str(number))}">{_e(author)}{_e(citation.title)}.{where}</span>')
    return _list(items, "refs", "ol")


def _record(contents: Contents) -> str:
    view = contents.view
    items = [
        f'{_e(d.name)}: {_e(file_name(d.path))} <span class="hash">SHA-256 {d.sha256}</span>'
        for d in (view.plan.datasets if view.plan else [])
    ]
    others = [
        f'{_e(a.name)} ({a.bytes:,} bytes) <span class="hash">SHA-256 {a.sha256}</span>'
        for result in view.results.values()
        for a in result.artifacts
        if a.name not in contents.excerpts
    ]
    files = f"<h3>Other files</h3>{_list(others)}" if others else ""
    data = f"<h3>Data</h3>{_list(items)}" if items else ""
    return data + files
