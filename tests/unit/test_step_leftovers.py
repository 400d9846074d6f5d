"""What a step leaves behind: always removed or set aside, and never more than is bounded."""

from __future__ import annotations

import io
import json
import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from engine.agents.written import MOST_FINDINGS, MOST_PARTS, read_result
from engine.toolbox.checks import CHECKS, StepOutputs
from engine.toolbox.figures import figure_problem
from engine.toolbox.large_tables import longest_row_is_short
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


def issues(path: Path, findings: list[dict]) -> set[str]:
    step = StepOutputs(params={}, files={"t": path}, types={"t": "table"}, findings=findings)
    return {issue.code for name in ("tables_not_empty", "p_values_valid", "findings_match_tables") for issue in CHECKS[name](step)}  # fmt: skip


def finding(gene: str, value: float) -> dict:
    return {"text": "", "output": "t", "row": {"gene": gene}, "values": [{"name": "p_value", "value": value}]}


def test_large_tables_are_checked_as_small_ones_are(tmp_path: Path) -> None:
    for rows in (3, 250_000):
        path = tmp_path / f"{rows}.csv"
        large_table(path, rows)
        assert issues(path, [finding("first", 0.5)]) == set()
        assert issues(path, [finding("first", 0.4)]) == {"finding_differs"}
        assert issues(path, [finding("nobody", 0.4)]) == {"finding_without_row"}
        assert issues(path, [finding("other" + "x" * 60, 0.1)]) == {"finding_without_row"}
        large_table(path, rows, p="1.5")
        assert issues(path, []) == {"p_out_of_range", "p_adj_below_p"}


def test_a_row_without_end_is_found(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    with path.open("wb") as handle:
        handle.write(b"a,b\n1,2\n")
        handle.truncate(40 << 20)
    assert not longest_row_is_short(path)
    path.write_bytes(b"a,b\n" + b"1,2\n" * 100_000)
    assert longest_row_is_short(path)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_a_table_of_a_gigabyte_is_checked_in_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    large_table(path, 15_000_000)
    assert path.stat().st_size > 1 << 30
    script = f"""
from pathlib import Path
from engine.toolbox.checks import CHECKS, StepOutputs
path = Path({str(path)!r})
assert longest_row_is_short(path)
step = StepOutputs(params={{}}, files={{"t": path}}, types={{"t": "table"}}, findings=[{finding("first", 0.5)!r}])
for name in ("tables_not_empty", "p_values_valid", "findings_match_tables"):
    assert not list(CHECKS[name](step))
# Not ru_maxrss: it takes over what the process that started this one had.
peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM:"))
print(peak)
assert int(peak.split()[1]) < 500 << 10, peak
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    print(done.stdout)
