"""What a step leaves behind: always removed or set aside, and never more than is bounded."""

from __future__ import annotations

import io
import json
import os
import shutil
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from engine.steps.critic import judge
from engine.steps.result_file import MOST_FINDINGS, MOST_PARTS, read_result
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.figures import figure_problem
from engine.toolbox.large_tables import Sizes, longest_row_is_short, scan
from engine.toolbox.registry import builtin_tools
from engine.trees import LEFTOVER, excess, leftovers, remove_tree, retry_leftovers

ROOT = Path(__file__).resolve().parents[2]


def deep(folder: Path, levels: int, name: str) -> None:
    folder.mkdir()
    place = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir(name, dir_fd=place)
        inner = os.open(name, os.O_RDONLY, dir_fd=place)
        os.close(os.open("file", os.O_CREAT | os.O_WRONLY, dir_fd=inner))
        os.close(place)
        place = inner
    os.close(place)


def test_folders_deeper_than_any_path_are_removed(tmp_path: Path) -> None:
    deep(tmp_path / "step", 1500, "n" * 60)
    assert remove_tree(tmp_path / "step", tmp_path / LEFTOVER) == ""
    assert list(tmp_path.iterdir()) == []


MOUNTED = """
import subprocess, sys
from pathlib import Path
from engine.trees import remove_tree, retry_leftovers
top = Path(sys.argv[1])
outside, leftover = top / "outside", top / "leftover"
for place in (top / "step", top / "other" / "deep" / "inner", leftover / "old"):
    place.mkdir(parents=True)
    mounted = next(p for p in (top / "step", top / "other" / "deep", leftover / "old") if place.is_relative_to(p))
    subprocess.run(["mount", "--bind", outside, mounted], check=True)
print(bool(remove_tree(top / "step", leftover)), bool(remove_tree(top / "other", leftover)), retry_leftovers(leftover))
"""


def test_what_is_mounted_in_the_place_of_a_tree_or_in_it_is_not_entered(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    (outside / "folder").mkdir(parents=True)
    (outside / "folder" / "kept").write_text("x")
    outside.chmod(0o750)
    alone = ["unshare", "-rm"]
    if not shutil.which("unshare") or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("mounts of its own cannot be made here")
    command = [*alone, sys.executable, "-c", MOUNTED, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == "True True 2\n", done.stderr
    assert (outside / "folder" / "kept").read_text() == "x"
    assert outside.stat().st_mode & 0o777 == 0o750, "rights outside stay as they are, too"


def test_rights_names_links_and_pipes_do_not_stop_removal(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    step = tmp_path / "step"
    (step / "a" / "b").mkdir(parents=True)
    (step / "a" / "b" / "f").write_text("x")
    (step / "link").symlink_to(outside)
    os.mkfifo(step / "pipe")
    os.close(os.open(os.fsencode(step) + b"/\xff\n\xfe", os.O_CREAT | os.O_WRONLY))
    for place in (step / "a" / "b", step / "a", step):
        place.chmod(0)
    assert remove_tree(step, tmp_path / LEFTOVER) == ""
    assert sorted(path.name for path in tmp_path.iterdir()) == ["outside"]
    assert (outside / "kept").read_text() == "x"


def test_what_cannot_be_deleted_is_set_aside_and_said(tmp_path: Path) -> None:
    stubborn = tmp_path / "step" / "in" / "stubborn"
    stubborn.parent.mkdir(parents=True)
    stubborn.write_text("x")
    if subprocess.run(["chattr", "+i", str(stubborn)], capture_output=True, check=False).returncode:
        pytest.skip("no file can be made undeletable here")
    said = remove_tree(tmp_path / "step", tmp_path / LEFTOVER)
    left = next((tmp_path / LEFTOVER).rglob("stubborn"))
    try:
        assert "step" in said
        assert str(tmp_path / LEFTOVER) in said
        assert not (tmp_path / "step").exists()
        assert leftovers(tmp_path / LEFTOVER) == 1
    finally:
        subprocess.run(["chattr", "-i", str(left)], check=True)
    assert retry_leftovers(tmp_path / LEFTOVER) == 0
    assert not (tmp_path / LEFTOVER).exists()


def test_bounds_of_size_number_and_depth(tmp_path: Path) -> None:
    (tmp_path / "one" / "two").mkdir(parents=True)
    with (tmp_path / "one" / "holes").open("wb") as handle:
        handle.truncate(3 << 20)
    assert excess([tmp_path], most_bytes=3 << 20, most_files=3) == ""
    assert "MB" in excess([tmp_path], most_bytes=2 << 20, most_files=3)
    assert "files" in excess([tmp_path], most_bytes=3 << 20, most_files=2)
    assert "deep" in excess([tmp_path], most_bytes=3 << 20, most_files=3, deepest=1)


def test_results_of_too_many_parts_are_not_read(tmp_path: Path) -> None:
    for content in ({"findings": [{"text": "x"}] * (MOST_FINDINGS + 1)}, {"other": [[]] * MOST_PARTS}):
        (tmp_path / "result.json").write_text(json.dumps(content))
        assert isinstance(read_result(tmp_path), str)
    (tmp_path / "result.json").write_text(json.dumps({"findings": [{"text": "x"}] * MOST_FINDINGS}))
    assert not isinstance(read_result(tmp_path), str)
    os.link(tmp_path / "result.json", tmp_path / "second")
    assert isinstance(read_result(tmp_path), str)


def chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def png(width: int, height: int, pixels: bytes) -> bytes:
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")


def test_only_whole_and_bounded_pngs_are_figures() -> None:
    good = png(3, 2, b"\0abc\0def")
    assert figure_problem(good) == ""
    assert figure_problem(good[:-20])
    assert figure_problem(good.replace(b"IDAT", b"IDAX"))
    assert "pixels" in figure_problem(png(60_000, 60_000, b"\0abc"))
    assert figure_problem(png(3, 2, bytes(1 << 20))), "more pixels than it says"
    assert figure_problem(png(3000, 2000, b"\0abc")), "fewer pixels than it says"
    assert figure_problem(b"no picture")
    pixels = b"\0" + bytes(2)
    for colour, bits in ((2, 4), (5, 8), (3, 8)):  # no such depth, no such kind, a palette that is not there
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, bits, colour, 0, 0, 0))
        assert figure_problem(
            b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(pixels)) + chunk(b"IEND", b"")
        )


def test_a_png_in_pieces_of_any_length_is_whole() -> None:
    pixels = b"".join(b"\0" + bytes([row % 7]) * 4000 for row in range(1500))
    packed = zlib.compress(pixels)
    for piece in (len(packed), 1000, 7):
        pieces = b"".join(chunk(b"IDAT", packed[at : at + piece]) for at in range(0, len(packed), piece))
        header = chunk(b"IHDR", struct.pack(">IIBBBBB", 4000, 1500, 8, 0, 0, 0, 0))
        assert figure_problem(b"\x89PNG\r\n\x1a\n" + header + pieces + chunk(b"IEND", b"")) == ""


def svg(content: str, attributes: str = "", before: str = "") -> bytes:
    return f'{before}<svg xmlns="http://www.w3.org/2000/svg" {attributes}>{content}</svg>'.encode()


@pytest.mark.parametrize(
    "hostile",
    [
        svg("<script>1</script>"),
        svg("<g onclick='x()'/>"),
        svg("<image href='http://192.0.2.1/x.png'/>"),
        svg("<use xmlns:x='http://www.w3.org/1999/xlink' x:href='file:///etc/passwd#a'/>"),
        svg("<style>@import 'x.css';</style>"),
        svg("<style>rect { fill: u&#114;l(http://192.0.2.1/) }</style>"),
        svg("<rect style='fill: url(http://192.0.2.1/x)'/>"),
        svg("<a href='&#106;avascript:x()'/>"),
        svg("<foreignObject/>"),
        svg("&e;", before='<!DOCTYPE svg [<!ENTITY e SYSTEM "file:///etc/passwd">]>'),
        svg("", before='<?xml-stylesheet href="x.css"?>'),
        svg("", attributes="width='90000' height='90000'"),
        svg("<g>")[:-3],
        svg("<style>rect { fill: image-set('http://192.0.2.1/x' 1x) }</style>"),
        svg("<g xml:base='http://192.0.2.1/'/>"),
        svg("<style>@imp<title/>ort 'http://192.0.2.1/x.css';</style>"),
        svg("<style>rect { fill: u<desc/>rl(http://192.0.2.1/) }</style>"),
        svg("<style>" + " " * ((1 << 20) - 4) + "@imp&#111;rt 'http://192.0.2.1/x.css';</style>"),
        svg("<style>" + " " * 262_138 + "&#64;import 'http://192.0.2.1/x.css';</style>"),
        svg("<a href='#x'><animate attributeName=' href ' to='http://192.0.2.1/'/></a>"),
        svg("<h:img xmlns:h='http://www.w3.org/1999/xhtml' srcset='http://192.0.2.1/x.png 1x'/>"),
        svg("<body xmlns='http://www.w3.org/1999/xhtml' background='http://192.0.2.1/x.png'/>"),
        svg("<n xmlns=''/>"),
        b"<svg><rect/></svg>",
        svg("", before="<?xml version='1.0' encoding='utf-7'?>"),
    ],
)
def test_svgs_that_do_more_than_draw_are_refused(hostile: bytes) -> None:
    assert figure_problem(hostile)


def test_what_matplotlib_draws_is_shown() -> None:
    from matplotlib.figure import Figure

    for kind in ("png", "svg"):
        figure = Figure()
        figure.subplots().plot([1, 2, 3], marker="o")
        drawn = io.BytesIO()
        figure.savefig(drawn, format=kind)
        assert figure_problem(drawn.getvalue()) == "", kind


def large_table(path: Path, rows: int, p: str = "0.5") -> None:
    with path.open("w") as handle:
        handle.write("gene,p_value,p_adj\n")
        handle.write(f"first,{p},0.6\n")
        line = f"other{'x' * 60},0.1,0.2\n"
        for start in range(0, rows, 100_000):
            handle.write(line * min(100_000, rows - start))


def issues(path: Path, findings: list[dict], sizes: Sizes) -> set[str]:
    step = StepOutputs(params={}, files={"t": path}, types={"t": "table"}, findings=findings, sizes=sizes)
    return {issue.code for name in ("tables_not_empty", "p_values_valid", "findings_match_tables") for issue in CHECKS[name](step)}  # fmt: skip


def finding(gene: str, value: float) -> dict:
    return {"text": "", "output": "t", "row": {"gene": gene}, "values": [{"name": "p_value", "value": value}]}


@pytest.mark.parametrize("whole", [1 << 30, 0])
def test_large_tables_are_checked_as_small_ones_are(whole: int, tmp_path: Path) -> None:
    sizes = Sizes(whole)
    path = tmp_path / "t.csv"
    large_table(path, 120_000)
    assert issues(path, [finding("first", 0.5)], sizes) == set()
    assert issues(path, [finding("first", 0.4)], sizes) == {"finding_differs"}
    assert issues(path, [finding("nobody", 0.4)], sizes) == {"finding_without_row"}
    assert issues(path, [finding("other" + "x" * 60, 0.1)], sizes) == {"finding_without_row"}
    large_table(path, 120_000, p="1.5")
    assert issues(path, [], sizes) == {"p_out_of_range", "p_adj_below_p"}
    large_table(path, 120_000, p="often")
    with pytest.raises((TypeError, ValueError)):
        issues(path, [], sizes)


@pytest.mark.parametrize("whole", [1 << 30, 0])
@pytest.mark.parametrize(
    ("row", "found", "said"),
    [
        *((f"last,{word},0.6,x", set(), {}) for word in ("NULL", "n/a", "<NA>", "#N/A", '"NA"', "-nan")),
        ("last, 0.7,0.8,x", {0.7}, {}),
        ('last,"0.7 ",0.8,x', {0.7}, {}),
        ("last,+0.7,0.8,x", {0.7}, {}),
        ("last,.7,0.8,x", {0.7}, {}),
        ("last,0.7", {0.7}, {}),
        ("last", set(), {}),
        ("", set(), {}),
        ("last, 1.7,1.8,x", set(), {"p_out_of_range"}),
        ("last,1.7", set(), {"p_out_of_range"}),
        ("last,inf,inf,x", set(), {"p_out_of_range"}),
    ],
)
def test_what_a_cell_holds_does_not_depend_on_the_size_of_its_table(
    row: str, found: set, said: set, whole: int, tmp_path: Path
) -> None:
    sizes = Sizes(whole, piece=1 << 10)
    path = tmp_path / "t.csv"
    path.write_text("gene,p_value,p_adj,note\n" + "".join(f"g{n},0.5,0.6,{'x' * 40}\n" for n in range(60)) + row + "\n")
    assert issues(path, [finding("g7", 0.5)], sizes) == set(said)
    hit = scan(path, {"x": {"p_value": 0.7}}, sizes=sizes).hits["x"]
    assert (hit.count, hit.number) == ((1, 61) if found else (0, 0))
    empty = scan(path, {"x": {"gene": "last", "p_value": None}}, sizes=sizes).hits["x"].count
    assert empty == ("0.6" in row and not found)


@pytest.mark.parametrize("whole", [1 << 30, 0])
def test_numbers_that_are_the_same_are_found_however_they_are_rounded(whole: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pairs = [("12345678.5", 12345678.500000002), ("0.12345678500000003", 0.123456785), ("-99999999.5", -99999999.50000001),
             ("1e-12", 1.0000000001e-12), ("0", 0.0), ("-0.0", 0), ("9999999950000", 9999999950000.001)]  # fmt: skip
    path.write_text("a,b\n" + "".join(f"{text},{n}\n" for n, (text, _) in enumerate(pairs)))
    wanted = {str(n): {"a": value, "b": n} for n, (_, value) in enumerate(pairs)}
    far = {"a": 12345678.6, "b": 0}, {"a": 2e-12, "b": 3}, {"a": 1e-12, "b": 4}, {"a": 1_000, "b": 6}
    wanted |= {f"far {n}": row for n, row in enumerate(far)}
    hits = scan(path, wanted, sizes=Sizes(whole)).hits
    assert {name: hit.count for name, hit in hits.items()} == {name: int("far" not in name) for name in wanted}


ROWS = '''name,dose,code,flag,note
first,0.10,007,True,"two
lines, quoted"
second,1,7,False,
second,2.0,8,,NA
third,1e-05,9,True,x

fourth,-3,,True,"say ""x"""
'''
CASES = {
    "by a word": ({"name": "first"}, 1, 1),
    "several": ({"name": "second"}, 2, 2),
    "number written in another way": ({"dose": 0.1}, 1, 1),
    "whole number with a point": ({"name": "second", "dose": 2}, 1, 3),
    "number without its point": ({"dose": 1.0}, 1, 2),
    "small": ({"dose": 1e-5}, 1, 4),
    "negative": ({"dose": -3}, 1, 5),
    "a code is its characters": ({"code": "007"}, 1, 1),
    "a code of other characters": ({"code": "07"}, 0, 0),
    "as a number both are it": ({"code": 7}, 2, 1),
    "truth": ({"name": "third", "flag": True}, 1, 4),
    "nothing": ({"name": "second", "flag": None}, 1, 3),
    "not a number": ({"code": float("nan")}, 1, 5),
    "over two lines": ({"note": "two\nlines, quoted"}, 1, 1),
    "quotes": ({"note": 'say "x"'}, 1, 5),
    "no such column": ({"names": "first"}, 0, 0),
    "no such row": ({"name": "first", "dose": 2}, 0, 0),
    "asks for nothing": ({}, 0, 0),
}


@pytest.mark.parametrize("whole", [1 << 30, 0])
def test_rows_are_found_alike_in_small_and_large_tables(whole: int, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(ROWS)
    found = scan(path, {name: row for name, (row, _, _) in CASES.items()}, first=2, sizes=Sizes(whole))
    assert {n: (hit.count, hit.number) for n, hit in found.hits.items()} == {n: case[1:] for n, case in CASES.items()}
    assert (found.header, found.total) == (["name", "dose", "code", "flag", "note"], 5)
    assert [cells[0] for cells in found.first] == ["first", "second"]
    assert found.hits["by a word"].cells == ["first", "0.10", "007", "True", "two\nlines, quoted"]


def test_a_number_written_in_another_way_is_found_in_any_piece(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n" + "".join(f"{n}.50,x\n" for n in range(20_000)))
    found = scan(path, {"late": {"a": 19_876.5}, "b": {"b": "x"}, "none": {"a": 3.25}}, sizes=Sizes(0, 1 << 12))
    assert (found.hits["late"].count, found.hits["late"].number, found.total) == (1, 19_877, 20_000)
    assert (found.hits["b"].words, found.hits["none"].words) == ("several rows", "no row")


def test_a_check_that_needs_a_large_table_whole_is_said_to_be_left_out(
    tmp_path: Path,
) -> None:
    spec = next(tool for tool in builtin_tools() if "missing_counts_add_up" in tool.checks)
    path = tmp_path / "t.csv"
    path.write_text("gene,x\na,1\nb,2\n")
    files = {output.name: path for output in spec.outputs if not output.optional}
    verdict = judge(spec, params={}, files=files, findings=[], warnings=[], sizes=Sizes(10))
    assert verdict.passed
    assert [issue.where for issue in verdict.issues if issue.code == "unchecked"] == ["missing_table"]


def test_a_row_without_end_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("wb") as handle:
        handle.write(b"a,b\n1,2\n")
        handle.truncate(40 << 20)
    assert not longest_row_is_short(path)
    with pytest.raises(ValueError):
        scan(path, {"a": {"b": 2}})
    path.write_bytes(b"a,b\n" + b"1,2\n" * 100_000)
    assert longest_row_is_short(path)


def test_ten_thousand_findings_take_one_pass(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("gene,p_value\n" + "".join(f"g{n},0.{n:05}\n" for n in range(50_000)))
    found = scan(path, {str(n): {"gene": f"g{n}", "p_value": float(f"0.{n:05}")} for n in range(0, 50_000, 5)})
    assert {hit.count for hit in found.hits.values()} == {1}
    assert found.hits["49995"].number == 49_996


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_a_table_of_a_gigabyte_is_collected_and_shown_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    large_table(path, 15_000_000)
    assert path.stat().st_size > 1 << 30
    script = f"""
import time
from pathlib import Path
from engine.domain.findings import Finding, FindingValue
from engine.domain.results import Artifact
from engine.reporting.checked import reread
from engine.reporting.forms.excerpts import excerpt
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.large_tables import longest_row_is_short
from storage.runs.artifacts import FileArtifacts
path = Path({str(path)!r})
began = time.monotonic()
assert longest_row_is_short(path)
store = FileArtifacts(Path({str(tmp_path / "store")!r}))
sha256 = store.put_file(path)
step = StepOutputs(params={{}}, files={{"t": path}}, types={{"t": "table"}}, findings=[{finding("first", 0.5)!r}])
for name in ("tables_not_empty", "p_values_valid", "findings_match_tables"):
    assert not list(CHECKS[name](step))
print("collected in", time.monotonic() - began)
table = Artifact(name="t.csv", output="t", type="table", sha256=sha256, bytes=path.stat().st_size)
shown = excerpt(table, {{"f": {{"gene": "first"}}}}, store, first=20)
assert (shown.total, shown.located, len(shown.rows)) == (15_000_001, {{"f": 1}}, 20)
stated = Finding(id="f", node="n", text="", artifact="t.csv", row={{"gene": "first"}},
                 values=[FindingValue(name="p_value", value=0.5)])
assert reread([stated], [table], store)["f"].agree == 1
print("all in", time.monotonic() - began)
# Not ru_maxrss: it takes over what the process that started this one had.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(peak)
assert int(peak.split()[1]) < 500 << 10, peak
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
