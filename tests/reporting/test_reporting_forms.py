from __future__ import annotations

import getpass
import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from pypdf import PdfReader
from reporting_run import FolderStore, small_registry, with_failure

from engine.api.documents import read_plan
from engine.domain.report import RunView
from engine.domain.results import RunRecord
from engine.errors import UserError
from engine.provenance.recorder import provenance
from engine.provenance.verify import hash_file, verify_path
from engine.reporting.forms import html, markdown, pdf, run_json
from engine.reporting.forms.bundle import export, write_bundle
from engine.reporting.forms.contents import gather
from engine.reporting.forms.excerpts import Excerpt, excerpt
from engine.steps.synthesizer import synthesize


class _Page(HTMLParser):
    """Collects what a page refers to, its anchors, and whether its tags close."""

    VOID = frozenset({"meta", "img", "br", "input", "link", "hr"})

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.sources, self.open, self.rows = [], [], [], [], {}
        self.scopes, self.captions, self._row = set(), 0, None
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        facts = dict(attrs)
        if tag not in self.VOID:
            self.open.append(tag)
        if "id" in facts:
            self.ids.append(facts["id"])
        if tag == "tr":
            self._row = facts.get("id")
        if tag == "a":
            self.links.append(facts["href"])
        if tag == "th":
            self.scopes.add(facts.get("scope"))
        self.captions += tag == "caption"
        for key in ("src", "data", "srcset", "background"):
            if key in facts:
                self.sources.append(facts[key])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self._row and "tr" in self.open:
            self.rows.setdefault(self._row, []).append(data)


def test_html_is_whole_and_fetches_nothing(small_run):
    text = html.render(*small_run, small_registry())
    page = _Page(text)
    assert page.open == []
    assert len(page.sources) == 1
    assert page.sources[0].startswith("data:image/png;base64,")
    assert not re.search(r"<(script|link|iframe|object)\b|@import|url\(", text)
    assert "default-src 'none'" in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text


def test_every_link_in_the_html_leads_somewhere(small_run):
    page = _Page(html.render(*small_run, small_registry()))
    assert len(page.ids) == len(set(page.ids))
    inner = [link[1:] for link in page.links if link.startswith("#")]
    assert inner
    assert set(inner) <= set(page.ids)
    assert all(link.startswith(("#", "https://")) for link in page.links)


def test_numbers_of_a_finding_link_to_the_row_that_holds_them(small_run):
    text = html.render(*small_run, small_registry())
    target, shown = re.search(r'Mean growth in high is <a class="number" href="#([^"]+)">([^<]+)</a>', text).groups()
    target, _, cell = target.partition("-cell-")
    assert cell == "3"  # of the mean, not of the group
    assert "high" in _Page(text).rows[target]
    row = next(f for f in small_run[0].results["n1"].findings if f.row == {"group": "high"})
    assert float(shown) == pytest.approx(row.values[0].value, abs=0.005)
    assert f"{row.values[0].value:#.4g}" in _Page(text).rows[target]


def test_rows_findings_point_to_are_shown_beyond_the_first(small_run):
    view, store = small_run
    table = next(a for a in view.results["n3"].artifacts if a.output == "top")
    names = [line.split(",")[0] for line in store.path(table.sha256).read_text().splitlines()[1:]]
    shown = excerpt(table, {"f": {"feature": names[21]}}, store, first=20)
    assert list(shown.rows) == [*range(1, 21), 22]
    assert shown.located == {"f": 22}
    assert shown.total == 25


def test_tables_have_captions_and_scopes(small_run):
    page = _Page(html.render(*small_run, small_registry()))
    assert page.captions == 3
    assert page.scopes == {"col", "row"}


def test_text_from_outside_is_escaped_everywhere(small_run):
    view, store = small_run
    nasty = '<img src=x onerror=alert(1)> & "q" | `code` [x](javascript:1)'
    plan = view.plan.model_copy(update={"warnings": [nasty], "notes": [nasty]})
    record = view.record.model_copy(update={"question": nasty})
    bad = view.model_copy(update={"plan": plan, "record": record, "report": None})
    bad = bad.model_copy(update={"report": synthesize(bad, small_registry())})
    assert "<img src=x" not in html.render(bad, store, small_registry())
    assert "<img" not in markdown.render(bad, small_registry()).replace("\\<img", "")
    assert r"\[x\](javascript:1)" in markdown.render(bad, small_registry())
    assert nasty[:20] in _pdf_text(pdf.render(bad, store, small_registry()))


def _pdf_text(data):
    return " ".join(" ".join(page.extract_text() for page in PdfReader(io.BytesIO(data)).pages).split())


def test_pdf_has_findings_numbered_pages_figures_and_links(small_run):
    view, store = small_run
    data = pdf.render(view, store, small_registry())
    reader = PdfReader(io.BytesIO(data))
    text = _pdf_text(data)
    assert all(finding.text in text for finding in view.report.findings)
    assert f"Page 1 of {len(reader.pages)}" in text
    assert sum(len(page.images) for page in reader.pages) == 1
    assert sum(len(page.get("/Annots", [])) for page in reader.pages) > 20
    fonts = {str(font["/BaseFont"]) for page in reader.pages for font in
             (f.get_object() for f in page["/Resources"]["/Font"].values())}  # fmt: skip
    assert any("DejaVuSans" in font for font in fonts)
    assert data == pdf.render(view, store, small_registry())


def test_on_paper_a_table_stays_with_its_heading_and_shows_what_decides(small_run):
    view, store = small_run
    pdf._register_fonts()
    page = pdf._Page(gather(view, store, small_registry()), store, 480.0)
    names = ["term", *(f"x{n}" for n in range(9)), "lower_95", "upper_95", "p_value"]
    artifact = view.report.tables[0].model_copy(update={"name": "wide.csv"})
    rows = {n: ["a", *["1"] * 12] for n in range(1, 41)}
    wide = Excerpt(artifact=artifact, columns=names, rows=rows, total=40, numeric=[False, *[True] * 12])
    assert [names[at] for at in page._on_paper(wide)] == [
        "term", "x0", "x1", "x2", "x3", "lower_95", "upper_95", "p_value"
    ]  # fmt: skip
    room, heading, *_ = page._table(wide)
    assert (type(room).__name__, heading.style.keepWithNext) == ("CondPageBreak", 1)
    wide.rows = {1: rows[1]}
    whole, _ = page._table(wide)
    assert [type(part).__name__ for part in whole._content] == ["Paragraph", "Table", "Paragraph"]
    (section, *_) = page._section("Tables", page._table(wide))
    assert [type(part).__name__ for part in section._content] == ["Paragraph", "Paragraph", "Table", "Paragraph"]


def test_pdf_prints_letters_beyond_latin(small_run):
    view, store = small_run
    plan = view.plan.model_copy(update={"warnings": ["β-catenin at 37 °C, Großmann, µg, χ² ≤ 5, Δ"]})
    text = _pdf_text(pdf.render(view.model_copy(update={"plan": plan, "report": None}), store, small_registry()))
    assert "β-catenin at 37 °C, Großmann, µg, χ² ≤ 5, Δ" in text


def test_partial_run_says_first_what_failed_in_every_form(small_run):
    view, store = small_run
    registry = small_registry()
    broken = with_failure(view, registry)
    said = "Counts must not be negative, found -3."
    page, text = html.render(broken, store, registry), markdown.render(broken, registry)
    assert page.index(said) < page.index(">Answer<")
    assert text.index(said) < text.index("## Answer")
    paper = _pdf_text(pdf.render(broken, store, registry))
    assert paper.index(said) < paper.index("Answer")
    assert run_json.render(broken, registry)["status"] == "partial"


def test_run_that_never_had_a_plan_renders_in_every_form(tmp_path):
    record = RunRecord(run_id="r", user="u", question="Why?", status="failed", created_at="2026-11-21T08:00:00Z",
                       error="No tool fits.")  # fmt: skip
    view, store = RunView(record=record), FolderStore(tmp_path / "s")
    for fmt in ("md", "html", "pdf", "notebook", "json"):
        assert export(view, store, small_registry(), fmt, tmp_path / f"x.{fmt}").stat().st_size > 100
    write_bundle(view, store, small_registry(), tmp_path / "out")
    assert verify_path(tmp_path / "out").ok


def test_report_survives_a_missing_artifact(small_run, tmp_path):
    view, store = small_run
    damaged = store.copy(tmp_path / "store")
    for artifact in view.results["n1"].artifacts:
        (damaged.folder / artifact.sha256).unlink()
    page = html.render(view, damaged, small_registry())
    assert "n1_means_plot.png is missing from the workspace" in page
    assert "n1_means.csv cannot be read from the workspace" in page
    assert "n1_means.csv cannot be read" in _pdf_text(pdf.render(view, damaged, small_registry()))


def test_run_json_has_every_key_of_the_contract(small_run):
    view, _ = small_run
    document = run_json.render(view, small_registry())
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert {"run_id", "status", "question", "route", "plan", "nodes", "findings", "citations", "usage", "warnings",
            "open_questions"} <= set(document)  # fmt: skip
    assert {"strategy", "confidence", "method", "reasons", "complexity", "estimated_steps", "domains"} <= set(
        document["route"]
    )
    assert document["plan"]["nodes"][0].keys() >= {"id", "name", "tool", "depends_on", "params", "inputs"}
    node = document["nodes"][0]
    assert node.keys() >= {"id", "status", "attempts", "seconds", "verdict", "artifacts"}
    assert node["artifacts"][0].keys() >= {"name", "type", "sha256", "bytes"}
    assert document["findings"][1].keys() >= {"id", "node", "text", "values", "artifact", "grounding", "evidence"}
    assert document["citations"][0].keys() >= {"n", "title", "url", "doi", "passage"}
    assert document["warnings"] == ["The plate was not recorded.", "Normality was not tested."]


def test_bundle_holds_what_the_interface_promises(small_run, tmp_path):
    view, store = small_run
    files = {
        p.relative_to(tmp_path / "out").as_posix()
        for p in write_bundle(view, store, small_registry(), tmp_path / "out")
    }
    assert files >= {"report.md", "report.html", "report.pdf", "notebook.ipynb", "run.json", "plan.json",
                     "provenance.json", "artifacts/n1_means.csv", "artifacts/n1_means_plot.png", "data/growth.csv",
                     "data/counts.csv"}  # fmt: skip
    assert [p.name for p in tmp_path.iterdir()] == ["out"]
    links = re.findall(r"\]\(([^)]+)\)", (tmp_path / "out" / "report.md").read_text())
    assert links
    assert all((tmp_path / "out" / link).is_file() for link in links)


def test_a_bundle_says_nothing_of_the_machine_it_was_written_on(small_run, tmp_path):
    view, store = small_run
    view = view.model_copy(update={"record": view.record.model_copy(update={"user": getpass.getuser()})})
    out = tmp_path / "out"
    write_bundle(view, store, small_registry(), out)
    folders = {str(Path(dataset.path).parent) for dataset in view.plan.datasets}
    for name in ("plan.json", "run.json", "provenance.json"):
        text = (out / name).read_text()
        assert not any(folder in text for folder in folders), name
        assert f'"{getpass.getuser()}"' not in text, name
    plan = read_plan(out / "plan.json")
    assert [hash_file(Path(dataset.path)) for dataset in plan.datasets] == [d.sha256 for d in view.plan.datasets]
    assert provenance(view.model_copy(update={"record": view.record.model_copy(update={"user": "ada"})}),
                      small_registry())["run"]["user"] == "ada"  # fmt: skip


def test_bundle_refuses_a_folder_it_did_not_write(small_run, tmp_path):
    view, store = small_run
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.md").write_text("precious")
    with pytest.raises(UserError, match="did not write"):
        write_bundle(view, store, small_registry(), tmp_path / "mine")
    assert [p.name for p in (tmp_path / "mine").iterdir()] == ["thesis.md"]
    with pytest.raises(UserError, match="is a file"):
        write_bundle(view, store, small_registry(), tmp_path / "mine" / "thesis.md")


def test_bundle_written_again_keeps_what_was_edited(small_run, tmp_path):
    view, store = small_run
    out = tmp_path / "out"
    write_bundle(view, store, small_registry(), out)
    (out / "report.md").write_text("my notes")
    (out / "own.txt").write_text("mine")
    write_bundle(with_failure(view, small_registry()), store, small_registry(), out)
    assert (out / "report.edited1.md").read_text() == "my notes"
    assert (out / "own.txt").read_text() == "mine"
    assert "Partial result" in (out / "report.md").read_text()
    assert not (out / "artifacts" / "n3_top.csv").exists()
    assert verify_path(out).ok


def test_large_data_stay_where_they_are(small_run, tmp_path):
    view, store = small_run
    write_bundle(view, store, small_registry(), tmp_path / "out", data_limit=100)
    assert not (tmp_path / "out" / "data").exists()
    assert "BIODESK_DATA" in (tmp_path / "out" / "README.md").read_text()
    assert verify_path(tmp_path / "out").ok


def test_artifact_names_cannot_leave_the_folder(small_run, tmp_path):
    view, store = small_run
    first = view.results["n1"]
    names = ["../../evil.csv", "/etc/evil.csv", "evil.csv"]
    bad = [first.artifacts[0].model_copy(update={"name": name, "sha256": first.artifacts[0].sha256}) for name in names]
    results = {**view.results, "n1": first.model_copy(update={"artifacts": bad, "findings": []})}
    write_bundle(view.model_copy(update={"results": results, "report": None}), store, small_registry(), tmp_path / "o")
    assert not list(tmp_path.glob("evil*"))
    assert len(list((tmp_path / "o" / "artifacts").glob("*evil.csv"))) >= 2


@pytest.mark.parametrize("fmt", ["ro-crate", "prov", "docx"])
def test_formats_that_do_not_exist_are_refused_in_words(small_run, tmp_path, fmt):
    with pytest.raises(UserError, match=re.escape(repr(fmt))):
        export(*small_run, small_registry(), fmt, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
