"""Every command, given what it cannot take, ends with one sentence on stderr, and with none of a library's words."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from growth_data import write_growth

ROOT = Path(__file__).resolve().parents[2]
QUESTION = "Is growth higher in treated than in control?"
FORBIDDEN = ("Traceback", "terminate called", "nanobind", "leaked", "Exception ignored", "itself failed", "Warning:")
FILES = ("cut.h5ad", "cut.csv.gz", "no.csv.gz", "empty.csv", "empty.json", "folder", "binary.csv", "binary.json",
         "not_there.csv", "not_there.json", "locked")  # fmt: skip
LONG = "x" * 300


def write_bad_files(folder: Path) -> None:
    """Write files of which nothing can be made; random bytes with seed 5."""
    import random

    noise = random.Random(5).randbytes(6000)
    (folder / "cut.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n" + noise)
    (folder / "cut.csv.gz").write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 20_000)[:90])
    (folder / "no.csv.gz").write_bytes(b"\x1f\x8b" + noise)
    for name in ("empty.csv", "empty.json"):
        (folder / name).touch()
    (folder / "folder").mkdir()
    for name in ("binary.csv", "binary.json"):
        (folder / name).write_bytes(noise)
    (folder / "locked").symlink_to("locked")  # a link to itself: it can be opened by nobody, root included


def commands() -> list[list[str]]:
    """Return commands that cannot be done."""
    taking = [
        ["ask", QUESTION, "--yes", "--quiet", "--data", "FILE"], ["run", "FILE"],
        ["memory", "import", "FILE"], ["tools", "import", "tooluniverse", "FILE"], ["kg", "import", "gmt", "FILE"],
        ["kg", "enrich", "TP53", "--background", "FILE"], ["verify", "FILE"],
    ]  # fmt: skip
    some = ("cut.csv.gz", "empty.json", "folder", "binary.json", "not_there.json", "locked")
    found = [["plan", QUESTION, "--data", file] for file in FILES]
    found += [[file if word == "FILE" else word for word in words] for words in taking for file in some]
    for words in (["show"], ["events"], ["resume"], ["cancel"], ["verify"], ["analyses", "show"], ["tools", "show"],
                  ["tools", "remove"], ["export", "--format", "html", "--out", "x.html"], ["kg", "remove"],
                  ["kg", "taught"], ["memory", "forget"], ["memory", "pin"]):  # fmt: skip
        found += [[*words, unknown] for unknown in (LONG, "../../etc", "%s{0}")]
    return [
        *found,
        [], ["nonsense"], ["ask"], ["ask", "", "--yes"], ["ask", QUESTION, "--yes", "--data"],
        ["ask", QUESTION, "--yes", "--data", "growth.csv", "--strategy", "luck"],
        ["ask", QUESTION, "--yes", "--data", "growth.csv", "--set", "n1"],
        ["ask", QUESTION, "--yes", "--data", "growth.csv", "--as", "magic"],
        ["ask", QUESTION, "--yes", "--data", "growth.csv", "--column", "growth"],
        ["ask", QUESTION, "--yes", "--data", "growth.csv", "--column", "nothing=dose"],
        ["ask", QUESTION, "--yes", "--data", "growth.csv", "--out", "growth.csv"],
        ["ask", QUESTION, "--yes", "--data", "growth.csv", "--out", LONG],
        ["plan", QUESTION, "--data", "growth.csv", "--out", LONG], ["plan", "--batch", "folder"], ["plan", "--batch", "not_there.json"], ["plan", "--batch", "locked"],
        ["ask", QUESTION, "--quiet", "--data", "~nobody_here/x.csv"],
        ["runs", "--limit", "many"], ["runs", "--model", "other"], ["runs", "--workspace", "growth.csv"],
        ["runs", "--workspace", "growth.csv/below"], ["runs", "--workspace", LONG], ["runs", "--workspace", "/proc/x"],
        ["events", "nobody", "--after", "x"], ["export", "nobody", "--format", "docx", "--out", "x"],
        ["export", "nobody", "--format", "html"], ["memory"], ["memory", "export", "not/there/x.jsonl"],
        ["memory", "export", LONG], ["kg"], ["kg", "path", "nobody", "noone"], ["kg", "import", "tales", "growth.csv"],
        ["tools"], ["tools", "search"], ["demo", "--out", "growth.csv"], ["doctor", "--nonsense"], ["analyses", "erase"],
        ["serve", "--port", "http"], ["serve", "--port", "70000"], ["serve", "--host", "no such host"],
        ["serve", "--port", "0", "--workspace", "growth.csv"],
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.setenv("BIODESK_STARTER_KNOWLEDGE", "false")
    monkeypatch.setenv("BIODESK_WORKSPACE", str(tmp_path / "desk"))
    monkeypatch.chdir(tmp_path)
    write_growth(tmp_path / "growth.csv")
    write_bad_files(tmp_path)
    return tmp_path


IN_ONE_PROCESS = """
import contextlib, io, json, sys
from engine.cli.main import main
for line in sys.stdin:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(json.loads(line))
    print(json.dumps([code, out.getvalue(), err.getvalue()]), flush=True)
"""


@pytest.mark.slow
def test_what_cannot_be_done_is_said_in_one_sentence(folder):
    """In one other process: what a library writes past Python is heard too, and a signal is seen."""
    given = commands()
    done = subprocess.run(
        [sys.executable, "-c", IN_ONE_PROCESS], cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT)},
        input="\n".join(map(json.dumps, given)), capture_output=True, text=True, timeout=600,
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [f"the process ended with {done.returncode} at {given[len(answers) :][:1]}"] if done.returncode else []
    for words, (code, out, err) in zip(given, answers, strict=False):
        short = " ".join(words)[:120]
        if code not in (1, 2):
            wrong.append(f"{short}: exit code {code}")
        if words[:1] != ["verify"] and (len(err.splitlines()) != 1 or not 20 < len(err) < 900):  # it has its own words
            wrong.append(f"{short}: {code} {err!r}")
        wrong += [f"{short}: {err!r}" for word in FORBIDDEN if word in err or word in out]
    wrong += [f"afterwards: {done.stderr!r}"] * bool(done.stderr)
    assert not wrong, "\n".join(wrong)
