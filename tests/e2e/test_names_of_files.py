"""Names that are rare but allowed work for data, results and workspaces, or are refused before anything is written."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path

import pytest
from growth_data import write_growth

from engine.cli.main import main

QUESTION = "Is growth higher in treated than in control?"
NAMES = {
    "signs": "  #h 20% 'q\" {b} $HOME `;\u00fc\u202e :memory:".encode(),
    "question mark": b"q?m",
    "backslash": b"back\\slash",
    "line end": b"new\nline",
    "escape": b"a\x1b[31mb",
    "option": b"--json",
    "not UTF-8": b"lat\xff\xfein",
    "longest": b"x" * 250 + b".html",
    "too long": b"x" * 251 + b".html",
}
REFUSED_ALWAYS = {"not UTF-8", "too long"}
"""Kinds of names that nothing can have; the others that are refused are named by each test."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory) -> tuple[Path, str]:
    """A workspace with one finished run, and the run's id."""
    from engine.api import open_engine

    folder = tmp_path_factory.mktemp("finished")
    with open_engine(workspace=folder / "desk", warm_workers=False) as engine:
        run_id = engine.ask(QUESTION, [write_growth(folder / "growth.csv")], auto_approve=True)
        assert engine.wait(run_id, 120).status == "succeeded"
    return folder / "desk", run_id


@pytest.fixture
def give(tmp_path, monkeypatch, capsys, desk):
    """Give a command in a folder with a table; return its exit code and what it made there.

    Whatever is refused is refused in one line, before anything is made.
    """
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.chdir(tmp_path)
    shutil.copy(desk[0].parent / "growth.csv", tmp_path)

    def run(*words: str) -> tuple[int, list[bytes]]:
        before = set(os.listdir(os.fsencode(tmp_path)))
        code = main(["--workspace", str(desk[0]), *words])
        told = capsys.readouterr().err
        made = sorted(set(os.listdir(os.fsencode(tmp_path))) - before)
        if code:
            assert len(told.splitlines()) == 1, told
            assert "Biodesk itself failed" not in told
            assert made == []
        return code, made

    return run


@pytest.mark.parametrize("kind", NAMES)
def test_as_a_workspace(kind, give):
    code, made = give(f"--workspace={os.fsdecode(NAMES[kind])}", "runs")
    assert (code > 0) is (kind in {*REFUSED_ALWAYS, "question mark", "backslash"})
    assert made == ([] if code else [NAMES[kind]])


@pytest.mark.parametrize("kind", NAMES)
def test_as_data(kind, give, tmp_path):
    with contextlib.suppress(OSError):
        shutil.copy("growth.csv", tmp_path / os.fsdecode(NAMES[kind]))
    code, made = give("profile", "--", os.fsdecode(NAMES[kind]))
    assert code == (2 if kind in {*REFUSED_ALWAYS, "line end", "escape"} else 0)
    assert made == []


@pytest.mark.parametrize("kind", NAMES)
def test_as_a_file_that_is_written(kind, give, desk):
    code, made = give("export", desk[1], "--format=html", f"--out={os.fsdecode(NAMES[kind])}")
    assert (code > 0) is (kind in REFUSED_ALWAYS)
    assert made == ([] if code else [NAMES[kind]])


@pytest.mark.parametrize("kind", ["signs", "longest", "too long"])
@pytest.mark.slow
def test_as_the_folder_of_an_answer(kind, give):
    name = os.fsdecode(NAMES[kind])
    code, made = give("ask", QUESTION, "--data", "growth.csv", "--yes", "--quiet", f"--out={name}")
    assert (code > 0) is (kind in REFUSED_ALWAYS)
    assert made == ([] if code else [NAMES[kind]])
    if not code:
        assert give("verify", "--", name) == (0, [])


@pytest.mark.slow
def test_a_plan_goes_to_and_comes_from_a_file_with_signs_in_its_name(give):
    name = os.fsdecode(NAMES["signs"])
    assert give("plan", QUESTION, "--data", "growth.csv", f"--out={name}") == (0, [NAMES["signs"]])
    assert give("run", "--quiet", "--", name)[0] == 0
