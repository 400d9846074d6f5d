"""Files that are damaged or made to do harm end in one sentence, in time and memory, and never end the app."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import h5py
import hostile_files as hostile
import numpy as np
import profile_files as make
import pytest

from engine.adapters.process_profiler import ProcessProfiler
from engine.bootstrap import make_profiler
from engine.data.profiler import profile_file
from engine.data.service import LocalProfiler
from engine.domain.profile import Profile
from engine.errors import DataError, EngineError, PlanError, SandboxUnavailable
from engine.ports.profiler import Profiler


@pytest.fixture(scope="module")
def walled() -> Iterator[ProcessProfiler]:
    profiler = make_profiler()
    assert isinstance(profiler, ProcessProfiler)
    yield profiler
    profiler.close()


@pytest.fixture(params=["local", "process"])
def profiler(request: pytest.FixtureRequest, walled: ProcessProfiler) -> Profiler:
    return LocalProfiler() if request.param == "local" else walled


def one_sentence(profile: Profile, *words: str) -> None:
    assert profile.types == []
    assert len(profile.warnings) == 1, profile.warnings
    (text,) = profile.warnings
    assert profile.name in text
    assert "\n" not in text
    assert 20 < len(text) < 500
    assert text.endswith(".")
    for word in words:
        assert word in text


def crashing(request: bytes) -> Iterator[bytes]:
    """Answer as a reader that a file ends: how is the file's name."""
    import json

    path = Path(json.loads(request)["look"])
    yield b"file " + json.dumps({"path": str(path), "name": path.name, "bytes": 1, "sha256": "0"}).encode()
    match path.stem:
        case "waits":
            threading.Event().wait()
        case "grows":
            kept = []
            while True:
                kept.append(bytes(1 << 24))
        case "writes":
            path.with_name("written").write_bytes(b"x")
            yield b"profile {}"
        case "lies":
            yield b'profile {"path": 5}'
        case "floods":
            while True:
                yield b"x" * (1 << 20)
        case name:
            os.kill(os.getpid(), signal.Signals[name])


def no_warming() -> None:
    """Do nothing."""


def reader_of_crashes(seconds: float) -> ProcessProfiler:
    """Return a profiler whose reader is `crashing`, started with this folder on its path."""
    here = Path(__file__).parent
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(here), *filter(None, [before])])
    try:
        profiler = ProcessProfiler(
            f"{Path(__file__).stem}:crashing", f"{Path(__file__).stem}:no_warming", seconds=seconds
        )
        profiler.warm()
        return profiler
    finally:
        os.environ.pop("PYTHONPATH") if before is None else os.environ.update(PYTHONPATH=before)


@pytest.fixture(scope="module")
def fragile() -> Iterator[ProcessProfiler]:
    profiler = reader_of_crashes(2.0)
    yield profiler
    profiler.close()


# ==== the port ====


def test_both_profilers_find_the_same(profiler: Profiler, tmp_path: Path) -> None:
    path = make.write(tmp_path / "t.csv", hostile.TABLE)
    assert profiler.look([path]) == [profile_file(path)]
    (profile,) = profiler.look([path])
    assert profiler.correct(profile, {"age": "code"}).column("age").scale == "code"  # type: ignore[union-attr]
    with pytest.raises(PlanError, match="has no column 'weight'") as unknown:
        profiler.correct(profile, {"weight": "number"})
    assert unknown.value.details["choices"] == ["sample", "group", "age"]
    path.unlink()
    with pytest.raises(DataError, match="cannot be read again"):
        profiler.correct(profile, {"age": "code"})
    with pytest.raises(DataError, match="There is no file"):
        profiler.look([path])


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SIGABRT", "signal 6"), ("SIGSEGV", "signal 11"), ("SIGKILL", "2 GB of memory"), ("waits", "within 2 seconds"),
        ("grows", "2 GB of memory"), ("writes", "ended the reader"), ("lies", "ended the reader"),
        ("floods", "ended the reader"),
    ],
)  # fmt: skip
def test_a_reader_that_ends_is_a_sentence_on_its_file(
    fragile: ProcessProfiler, name: str, words: str, tmp_path: Path
) -> None:
    path = make.write(tmp_path / f"{name}.csv", "x")
    one_sentence(fragile.look([path])[0], words)
    written = tmp_path / "written"
    assert not written.exists() or not written.read_bytes()


def test_a_slow_file_holds_up_no_other(tmp_path: Path) -> None:
    profiler = reader_of_crashes(3600.0)
    slow = make.write(tmp_path / "waits.csv", "x")
    ended = threading.Event()

    def look() -> None:
        with contextlib.suppress(EngineError):
            profiler.look([slow])
        ended.set()

    threading.Thread(target=look, daemon=True).start()
    try:
        one_sentence(profiler.look([make.write(tmp_path / "SIGABRT.csv", "x")])[0], "signal 6")
        assert not ended.is_set()
    finally:
        profiler.close()
    assert ended.wait(120), "closing ends every look"


def test_a_worker_that_was_killed_is_replaced(tmp_path: Path) -> None:
    profiler = make_profiler()
    assert isinstance(profiler, ProcessProfiler)
    path = make.write(tmp_path / "t.csv", hostile.TABLE)
    first = profiler.look([path])
    assert profiler._process is not None
    os.kill(profiler._process.pid, signal.SIGKILL)
    assert profiler.look([path]) == first
    process = profiler._process
    profiler.close()
    assert process.poll() is not None
    with pytest.raises(SandboxUnavailable, match="closed"):
        profiler.look([path])


# ==== what is inside ====


@pytest.mark.parametrize("name", hostile.TEXTS)
def test_hostile_text_is_understood_or_refused(walled: ProcessProfiler, name: str, tmp_path: Path) -> None:
    (profile,) = walled.look([make.write(tmp_path / name, hostile.TEXTS[name])])
    if not profile.types:
        one_sentence(profile)
    assert "ended the reader" not in " ".join(profile.warnings)
    assert "within 20 seconds" not in " ".join(profile.warnings)


@pytest.mark.parametrize("name", hostile.HDF5)
def test_hdf5_that_leads_elsewhere_is_refused(profiler: Profiler, name: str, tmp_path: Path) -> None:
    change, words = hostile.HDF5[name]
    one_sentence(profiler.look([hostile.cells(tmp_path / "a.h5ad", change)])[0], words)


def test_hdf5_with_a_branch_in_itself_is_read(walled: ProcessProfiler, tmp_path: Path) -> None:
    (profile,) = walled.look([hostile.cells(tmp_path / "a.h5ad", hostile.hard_circle)])
    assert profile.summary.startswith("30 cells x 12 genes")


@pytest.mark.parametrize("keep", np.linspace(0.02, 0.98, 25))
def test_a_cut_off_h5ad_is_a_sentence(walled: ProcessProfiler, keep: float, tmp_path: Path) -> None:
    content = hostile.cells(tmp_path / "whole.h5ad").read_bytes()
    one_sentence(walled.look([make.write(tmp_path / "cut.h5ad", content[: int(len(content) * keep)])])[0])


@pytest.mark.parametrize(
    ("build", "words"),
    [(hostile.huge_strings, "unpacks to"), (hostile.huge_sheet, "unpacks to"), (hostile.laughs, "readable Excel")],
)
def test_workbooks_that_grow_are_refused(walled: ProcessProfiler, build, words: str, tmp_path: Path) -> None:
    one_sentence(walled.look([build(tmp_path / "b.xlsx")])[0], words)


def test_a_sheet_that_claims_all_cells_has_those_it_has(walled: ProcessProfiler, tmp_path: Path) -> None:
    (profile,) = walled.look([hostile.far_cell(tmp_path / "b.xlsx")])
    assert profile.summary.startswith("A sample sheet of 6 samples")


def test_paths_to_no_ordinary_file_are_refused(profiler: Profiler, tmp_path: Path) -> None:
    for name, (path, words) in hostile.special(tmp_path).items():
        with pytest.raises(DataError) as refused:
            profiler.look([path])
        assert words in refused.value.message, name
        assert "\n" not in refused.value.message
        assert refused.value.advice
        assert len(refused.value.message) < 500
        assert refused.value.message.isprintable()


def test_a_name_of_255_bytes_is_fine(walled: ProcessProfiler, tmp_path: Path) -> None:
    path = make.write(tmp_path / ("\u00fc" * 125 + "n.csv"), hostile.TABLE)
    assert walled.look([path])[0].types


def test_a_line_without_end_and_a_hole_are_refused(walled: ProcessProfiler, tmp_path: Path) -> None:
    one_sentence(walled.look([hostile.long_line(tmp_path / "line.csv", 150)])[0], "a line of")
    one_sentence(walled.look([hostile.sparse(tmp_path / "hole.csv", 300 << 20, b"a,b\n1,2\n")])[0], "binary")
    one_sentence(walled.look([hostile.wide_table(tmp_path / "wide.csv", 1_000_000, 1)])[0], "1,000,001 columns")


def test_a_table_of_many_columns_is_read_in_time(walled: ProcessProfiler, tmp_path: Path) -> None:
    (profile,) = walled.look([hostile.wide_table(tmp_path / "wide.csv", 30_000, 20)])
    assert profile.columns == 30_001


# ==== sizes are counted or said to be estimates ====


def test_rows_beyond_what_was_unpacked_are_counted(tmp_path: Path) -> None:
    from engine.data.reading import textfile

    rows = "".join(f"s{i},{i % 7}.5,{i % 3}\n" for i in range(5000))
    path = make.gzipped(tmp_path / "t.csv.gz", "name,x,y\n" + rows * 8)  # packs far better than four to one
    text = textfile.read_text(path, 10_000)
    assert not text.complete
    assert text.text.count("\n") + text.more_lines == 40_001
    packed = textfile.read_text(path, 10_000, patience=-1.0)
    assert packed.more_lines > 0
    path.write_bytes(path.read_bytes()[:-4] + b"\0\0\0\0")
    with pytest.raises(textfile.UnusableFile, match="damaged"):
        textfile.read_text(path, 10_000)


def test_what_was_judged_from_a_part_says_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from engine.data.reading import delimited

    monkeypatch.setattr(delimited, "MAX_ROWS", 400)
    frame = make.counts(make.ensembl(3000))
    values = make.numbers(frame, lambda v: np.log2(v + 1))
    for table, words in ((values, "these are not counts; this was judged from the values in the first"),):
        profile = profile_file(make.write(tmp_path / "m.csv", make.csv_text(table)))
        assert profile.looked_at is not None
        assert profile.rows_estimated
        assert any(words in warning for warning in profile.warnings), profile.warnings
    # Every sample sums to a million, but only over all rows: from a part nothing is said of sums.
    million = make.numbers(frame, lambda v: v / v.sum() * 1e6)
    profile = profile_file(make.write(tmp_path / "tpm.csv", make.csv_text(million)))
    assert "sums to one million" not in " ".join(profile.warnings)
    assert all("judged from" in w for w in profile.warnings if "look" in w and "normalised" in w)


def test_values_of_a_large_h5ad_are_judged_from_a_named_part(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from engine.data.kinds import single_cell

    monkeypatch.setattr(single_cell, "_WHOLE_VALUES", 100)
    monkeypatch.setattr(single_cell, "_SAMPLE_VALUES", 12)

    def normalise(file: h5py.File) -> None:
        values = file["X"][()] + 0.5
        del file["X"]
        file["X"] = values

    profile = profile_file(hostile.cells(tmp_path / "a.h5ad", normalise))
    assert "judged from 120 of 360 values" in profile.summary
    assert "judged from 120 of 360 values" in profile.warnings[0]
    whole = profile_file(hostile.cells(tmp_path / "b.h5ad"))
    assert "holds raw counts (judged from 120 of 360 values)" in whole.summary


# ==== many damaged files ====


@pytest.mark.parametrize("start", [0, *(pytest.param(start, marks=pytest.mark.slow) for start in (50, 100, 150))])
def test_damaged_files_end_in_a_sentence(walled: ProcessProfiler, start: int, tmp_path: Path) -> None:
    originals = hostile.seeds(tmp_path)
    for seed in range(start, start + 50):
        name, content = hostile.damaged(seed, originals)
        path = make.write(tmp_path / name, content)
        try:
            (profile,) = walled.look([path])
        except EngineError as error:  # pragma: no cover - it would say which
            pytest.fail(f"seed {seed}: {error}")
        assert profile.types or profile.warnings, seed
        assert "within 20 seconds" not in " ".join(profile.warnings), seed
        path.unlink()
