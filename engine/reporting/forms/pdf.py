"""The report on paper: the same content as the HTML file, with page numbers and fonts that have every letter.

The fonts are the DejaVu family that ships inside matplotlib, so Greek letters and accents print anywhere.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.domain.encoding.escaping import in_html as _e
from engine.domain.encoding.escaping import visible
from engine.domain.findings import Finding
from engine.domain.report import ReportFigure, RunView, ShownTable
from engine.ports.artifacts import ArtifactStore
from engine.provenance.files import file_name
from engine.provenance.recorder import maker
from engine.reporting.checked import TAGS, checked_lines, searched_lines
from engine.reporting.compose import TITLE_LENGTH
from engine.reporting.forms.contents import Contents, anchor, gather, image_bytes, row_anchor
from engine.reporting.forms.excerpts import Excerpt
from engine.reporting.numbers import format_cell, shown_cells
from engine.toolbox.figures import is_svg
from engine.toolbox.registry import ToolRegistry

if TYPE_CHECKING:
    from reportlab.platypus import Flowable

SANS, BOLD, MONO = "BiodeskSans", "BiodeskSans-Bold", "BiodeskMono"
PAPER_COLUMNS = 8
"""More columns than this are not readable on a page; the caption says how many are left to the file."""
CELL_LENGTH = 34
WHOLE, BEGINNING = 24, 150
"""So many lines of a table are not parted; so many points must be free below for a longer one to begin."""
_DECIDES = re.compile(r"(?:lower|upper)_95|p|p_value|p_adj|padj|fdr|q_value")
_INK, _SOFT, _LINE, _ACCENT, _PANEL = "#1d2733", "#5b6878", "#cfd6dd", "#0b6e75", "#f5f7f9"


def render(view: RunView, artifacts: ArtifactStore, registry: ToolRegistry) -> bytes:
    """Return the report of a run as a PDF file."""
    from reportlab.lib.pagesizes import A4
    from reportlab.lib.units import mm
    from reportlab.platypus import SimpleDocTemplate

    _register_fonts()
    contents = gather(view, artifacts, registry)
    buffer = io.BytesIO()
    document = SimpleDocTemplate(
        buffer, pagesize=A4, leftMargin=20 * mm, rightMargin=20 * mm, topMargin=18 * mm, bottomMargin=20 * mm,
        title=visible(contents.report.title), author="Biodesk", subject=visible(view.record.question), invariant=1,
    )  # fmt: skip
    page = _Page(contents, artifacts, document.width)
    document.build(page.story(), canvasmaker=_numbered_canvas(f"Biodesk · run {view.record.run_id}", A4[0]))
    return buffer.getvalue()


def _register_fonts() -> None:
    import matplotlib
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    folder = Path(matplotlib.get_data_path(), "fonts", "ttf")
    files = {SANS: "DejaVuSans.ttf", BOLD: "DejaVuSans-Bold.ttf", MONO: "DejaVuSansMono.ttf"}
    for name, file in files.items():
        if name not in pdfmetrics.getRegisteredFontNames():
            pdfmetrics.registerFont(TTFont(name, str(folder / file)))
    pdfmetrics.registerFontFamily(SANS, normal=SANS, bold=BOLD, italic=SANS, boldItalic=BOLD)


def _numbered_canvas(footer: str, width: float) -> Any:
    """Return a canvas class that writes `page i of n`, known only after the last page."""
    from reportlab.pdfgen.canvas import Canvas

    class NumberedCanvas(Canvas):
        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            self._pages: list[dict[str, Any]] = []

        def showPage(self) -> None:
            self._pages.append(dict(self.__dict__))
            self._startPage()  # pyright: ignore[reportAttributeAccessIssue] - the library's own recipe

        def save(self) -> None:
            for number, page in enumerate(self._pages, start=1):
                self.__dict__.update(page)
                self.setFont(SANS, 7.5)
                self.setFillColor(_SOFT)
                self.drawString(56.7, 30, footer)
                self.drawRightString(width - 56.7, 30, f"Page {number} of {len(self._pages)}")
                super().showPage()
            super().save()

    return NumberedCanvas


class _Page:
    """Turns a report's contents into flowing paragraphs, images and tables."""

    def __init__(self, contents: Contents, artifacts: ArtifactStore, width: float) -> None:
        from reportlab.lib.colors import HexColor
        from reportlab.lib.styles import ParagraphStyle

        self.contents, self.artifacts, self.width = contents, artifacts, width
        ink, soft, panel = HexColor(_INK), HexColor(_SOFT), HexColor(_PANEL)
        padding: Any = (5, 6, 5, 8)  # each side its own, which the type of the library does not say
        base = ParagraphStyle("base", fontName=SANS, fontSize=9, leading=13, textColor=ink, spaceAfter=4)
        self.styles = {
            "text": base,
            "title": ParagraphStyle("title", base, fontName=BOLD, fontSize=17, leading=22, spaceAfter=8),
            "h2": ParagraphStyle("h2", base, fontName=BOLD, fontSize=12, leading=16, spaceBefore=14, spaceAfter=5,
                                 keepWithNext=1),
            "h3": ParagraphStyle("h3", base, fontName=BOLD, fontSize=9.5, spaceBefore=7, spaceAfter=2, keepWithNext=1),
            "soft": ParagraphStyle("soft", base, fontSize=7.5, leading=10.5, textColor=soft),
            "item": ParagraphStyle("item", base, leftIndent=11, bulletIndent=1, bulletFontName=SANS, spaceAfter=3),
            "status": ParagraphStyle("status", base, leftIndent=8, borderPadding=padding, backColor=panel),
            "answer": ParagraphStyle("answer", base, fontSize=11.5, leading=16, spaceAfter=6),
            "cell": ParagraphStyle("cell", base, fontSize=6.5, leading=8.5, spaceAfter=0, splitLongWords=1),
            "number": ParagraphStyle("number", base, fontSize=6.5, leading=8.5, spaceAfter=0, alignment=2),
            "head": ParagraphStyle("head", base, fontName=BOLD, fontSize=6.5, leading=8.5, spaceAfter=0),
        }  # fmt: skip

    def story(self) -> list[Flowable]:
        """Return the whole report: the answer on the first page, everything else from the second on."""
        from reportlab.platypus import PageBreak

        report, view = self.contents.report, self.contents.view
        when = (view.record.finished_at or view.record.created_at)[:16].replace("T", " ")
        flow = [self._text(_e(report.title), "title")]
        if len(report.title) > TITLE_LENGTH - 20:  # a title that may be cut is followed by the whole question
            flow.append(self._text(_e(view.record.question), "soft"))
        made = f"{maker()} · run {view.record.run_id} · {when} UTC"
        flow += [self._text(_e(made), "soft"), self._text("<br/>".join(_e(s) for s in self.contents.status), "status")]
        flow += self._section("Answer", self._answers())
        flow += self._section("What limits this answer", [self._item(_e(text)) for text in report.caveats])
        flow.append(PageBreak())
        flow += self._section("Findings", self._findings())
        for title, lines in (
            ("What was checked", checked_lines(report)),
            ("What was searched", searched_lines(report)),
            ("Limitations", report.limitations),
            ("Assumptions", report.assumptions),
            ("Next steps", report.next_steps),
        ):
            flow += self._section(title, [self._item(_e(line)) for line in lines])
        flow += self._section("Methods", self._methods())
        flow += self._section(
            "Tables", [part for table in self.contents.excerpts.values() for part in self._table(table)]
        )
        flow += self._section("References", self._references())
        flow += self._section("Data", self._data())
        return flow

    def _text(self, markup: str, style: str = "text") -> Flowable:
        from reportlab.platypus import Paragraph

        return Paragraph(markup, self.styles[style])

    def _item(self, markup: str, bullet: str = "•") -> Flowable:
        from reportlab.platypus import Paragraph

        return Paragraph(markup, self.styles["item"], bulletText=bullet)

    def _section(self, title: str, content: list[Flowable]) -> list[Flowable]:
        return _headed(self._text(_e(title), "h2"), content) if content else []

    def _answers(self) -> list[Flowable]:
        report = self.contents.report
        told = {answer.said for answer in report.answers}
        flow = [self._text(_e(text), "answer") for text in self.contents.summary() if text not in told]
        figures = {figure.artifact.name: figure for figure in report.figures}
        for answer in report.answers:
            finding = self.contents.finding_of(answer.text)
            sentence = self._sentence(finding) if finding else _e(answer.text)
            said = self._text(_e(answer.lead) + sentence, "answer")
            flow += _headed(said, [part for table in answer.tables for part in self._answer_table(table)])
            if answer.figure in figures:
                flow += self._figure(figures.pop(answer.figure))
        flow += [self._text(_e(report.in_words.line))] if report.in_words else []
        return flow

    def _answer_table(self, table: ShownTable) -> list[Flowable]:
        from reportlab.lib.colors import HexColor
        from reportlab.platypus import KeepTogether, Spacer, Table

        numeric, shown = shown_cells(table.columns, list(table.rows.values()))
        body = [[self._text(_e(column), "head") for column in table.columns]]
        body += [
            [self._short(text, numeric=number) for number, text in zip(numeric, cells, strict=True)] for cells in shown
        ]
        marked = [at for at, number in enumerate(table.rows, start=1) if number in table.marked]
        style = [*_TABLE_STYLE, *(("BACKGROUND", (0, at), (-1, at), HexColor(_PANEL)) for at in marked)]
        drawn = Table(body, colWidths=[self.width / len(table.columns)] * len(table.columns), repeatRows=1, style=style)
        extent = f"{len(table.rows):,} of {table.total:,} rows of {table.name}"
        return [KeepTogether([drawn, self._text(_e(extent), "soft")]), Spacer(1, 6)]

    def _sentence(self, finding: Finding) -> str:
        targets = self._targets()
        return "".join(
            f'<a href="#{_e(p.target)}" color="{_ACCENT}">{_e(p.text)}</a>' if p.target in targets else _e(p.text)
            for p in self.contents.pieces(finding)
        )

    def _targets(self) -> set[str]:
        """Return the anchors that exist on paper; a link to a missing one would stop the file being made."""
        found = {anchor("step", step.node) for step in self.contents.report.methods if step.node}
        found |= {anchor("figure", figure.artifact.name) for figure in self.contents.report.figures}
        for name, table in self.contents.excerpts.items():
            found.add(anchor("table", name))
            found |= {row_anchor(name, number) for number in table.rows}
        return found

    def _findings(self) -> list[Flowable]:
        figures = {figure.artifact.name: figure for figure in self.contents.report.figures}
        above = {answer.figure for answer in self.contents.report.answers}
        flow: list[Flowable] = []
        for _node, name, findings, drawn in self.contents.sections():
            flow.append(self._text(_e(name), "h3"))
            for finding in findings:
                tag = f" ({_e(words)})" if (words := TAGS[finding.grounding]) else ""
                flow.append(self._item(self._sentence(finding) + tag))
            for artifact in (a for a in drawn if a.name not in above):
                flow += self._figure(figures[artifact.name])
        return flow

    def _figure(self, figure: ReportFigure) -> list[Flowable]:
        from PIL import Image as Picture
        from reportlab.platypus import Image, KeepTogether

        mark = f'<a name="{_e(anchor("figure", figure.artifact.name))}"/>'
        caption = self._text(
            mark + _e(figure.caption) + (f" Numbers: {_e(figure.table)}." if figure.table else ""), "soft"
        )
        data = image_bytes(figure.artifact, self.artifacts)
        if data is None:
            return [
                self._text(_e(f"{figure.artifact.name} is missing from the workspace or cannot be shown.")),
                caption,
            ]
        if is_svg(data):
            return [self._text(_e(f"{figure.artifact.name} is an SVG: it is shown in report.html.")), caption]
        try:
            with Picture.open(io.BytesIO(data)) as picture:
                picture.load()
                wide, high = picture.size
        except Exception as error:  # noqa: BLE001 - a library's decoder: one figure must not cost the report
            return [self._text(_e(f"{figure.artifact.name} cannot be drawn ({type(error).__name__}).")), caption]
        scale = min(self.width * 0.85 / wide, 300 / high)
        return [KeepTogether([Image(io.BytesIO(data), wide * scale, high * scale, hAlign="LEFT"), caption])]

    def _methods(self) -> list[Flowable]:
        flow: list[Flowable] = []
        for step in self.contents.report.methods:
            mark = f'<a name="{_e(anchor("step", step.node))}"/>' if step.node else ""
            cited = f" [{', '.join(str(n) for n in step.citations)}]" if step.citations and step.node else ""
            flow.append(self._text(f"{mark}<b>{_e(step.name)}.</b> {_e(step.text)}{cited}"))
        return flow

    def _table(self, table: Excerpt) -> list[Flowable]:
        from reportlab.platypus import CondPageBreak, KeepTogether, Spacer, Table

        name = table.artifact.name
        mark = f'<a name="{_e(anchor("table", name))}"/>'
        foot = self._text(f"{_e(name)} · SHA-256 {table.artifact.sha256}", "soft")
        if table.problem:
            return [self._text(mark + _e(table.problem)), foot]
        places = self._on_paper(table)
        columns = [table.columns[at] for at in places]
        hidden = len(table.columns) - len(columns) + table.more_columns
        extent = (
            f"{len(table.rows):,} of {table.total:,} rows" if len(table.rows) < table.total else f"{table.total:,} rows"
        )
        extent += f", {hidden:,} more columns in the file" if hidden else ""
        body = [[self._text("row", "head"), *(self._text(_e(column), "head") for column in columns)]]
        for number, cells in table.rows.items():
            key = f'<a name="{_e(row_anchor(name, number))}"/>{number}'
            shown = [(table.columns[at], cells[at], table.numeric[at]) for at in places if at < len(cells)]
            body.append([self._text(key, "number"), *(self._cell(c, text, numeric) for c, text, numeric in shown)])
        widths = [26.0, *([(self.width - 26.0) / max(1, len(columns))] * len(columns))]
        drawn = Table(body, colWidths=widths, repeatRows=1, style=_TABLE_STYLE)
        heading = self._text(f"{mark}{_e(name)}: {extent}", "h3")
        # A short table stands whole under its heading; a long one begins where some of its rows have room.
        if len(body) <= WHOLE:
            return [KeepTogether([heading, drawn, foot]), Spacer(1, 6)]
        return [CondPageBreak(BEGINNING), heading, drawn, foot, Spacer(1, 6)]

    def _on_paper(self, table: Excerpt) -> list[int]:
        """Return the places of the columns that are printed: what names a row, what findings tell of, what decides."""
        if len(table.columns) <= PAPER_COLUMNS:
            return [*range(len(table.columns))]
        own = [f for f in self.contents.report.findings if f.artifact == table.artifact.name]
        told = {name for finding in own for name in (*finding.row, *(value.name for value in finding.values))}
        first = [table.columns[0], *(name for name in table.columns if name in told or _DECIDES.fullmatch(name))]
        kept = list(dict.fromkeys([*first, *table.columns]))[:PAPER_COLUMNS]
        return [at for at, name in enumerate(table.columns) if name in kept]

    def _cell(self, column: str, text: str, numeric: bool) -> Flowable:  # noqa: FBT001
        return self._short(format_cell(text, column) if numeric else text, numeric=numeric)

    def _short(self, shown: str, *, numeric: bool) -> Flowable:
        shown = shown if len(shown) <= CELL_LENGTH else shown[: CELL_LENGTH - 1] + "…"
        return self._text(_e(shown), "number" if numeric else "cell")

    def _references(self) -> list[Flowable]:
        flow: list[Flowable] = []
        for number, citation in enumerate(self.contents.report.citations, start=1):
            link = f"https://doi.org/{citation.doi}" if citation.doi else citation.url
            where = f' <a href="{_e(link)}" color="{_ACCENT}">{_e(citation.doi or link)}</a>' if link else ""
            year = f" ({citation.year})" if citation.year else ""
            author = f"{citation.authors}{year}. " if citation.authors else ""
            flow.append(self._item(f"{_e(author)}{_e(citation.title)}.{where}", f"{number}."))
        return flow

    def _data(self) -> list[Flowable]:
        plan = self.contents.view.plan
        return [
            self._item(f"{_e(d.name)}: {_e(file_name(d.path))}<br/>SHA-256 {d.sha256}")
            for d in (plan.datasets if plan else [])
        ]


def _headed(heading: Flowable, content: list[Flowable]) -> list[Flowable]:
    """Return what stands under a heading with it, so that no page ends between the two.

    To keep a heading with the next part is not enough where that part is several that are kept together.
    """
    from reportlab.platypus import CondPageBreak, KeepTogether

    first, rest = content[:1], content[1:]
    if first and isinstance(first[0], KeepTogether):
        return [KeepTogether([heading, *first[0]._content]), *rest]  # pyright: ignore[reportAttributeAccessIssue]
    if first and isinstance(first[0], CondPageBreak):
        return [*first, heading, *rest]
    return [heading, *content]


_TABLE_STYLE = [
    ("LINEBELOW", (0, 0), (-1, 0), 0.6, _SOFT),
    ("LINEBELOW", (0, 1), (-1, -1), 0.25, _LINE),
    ("VALIGN", (0, 0), (-1, -1), "TOP"),
    ("LEFTPADDING", (0, 0), (-1, -1), 3),
    ("RIGHTPADDING", (0, 0), (-1, -1), 3),
    ("TOPPADDING", (0, 0), (-1, -1), 1.5),
    ("BOTTOMPADDING", (0, 0), (-1, -1), 1.5),
]
