"""What the commands about knowledge and memory say when they are interrupted, must wait, or are given nonsense."""

from __future__ import annotations

import errno
import io
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from engine.api import open_engine
from engine.api.know.knowledge import KnowledgeCalls
from engine.cli.know import output as know_output
from engine.cli.main import main
from engine.domain.encoding.plain_json import json_text
from engine.errors import WorkspaceInUse
from storage import faults

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("ws")


@pytest.fixture
def call(workspace: Path, capsys, monkeypatch):
    """Run a command; return (exit code, stdout, stderr)."""
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")

    def run(*words: object) -> tuple[int, str, str]:
        code = main([*map(str, words), "--workspace", str(workspace)])
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


def type_in(data: bytes, patch: pytest.MonkeyPatch) -> None:
    """Give the command this on its standard input."""
    patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\xff\xfe", "line 1 has the byte 0xff"),
        (b"TP53 is a gene.\nM\xfcller\n", "line 2 has the byte 0xfc"),
        (b"TP53\0\n", "line 1 has a zero byte"),
        (b"", "There is no text to check"),
    ],
)
def test_a_standard_input_that_is_no_text_is_bad_input(call, monkeypatch, data: bytes, problem: str) -> None:
    type_in(data, monkeypatch)
    code, _, err = call("kg", "check", "-")
    assert code == 2
    assert problem in err
    assert "defect" not in err


def test_a_text_on_standard_input_is_checked(call, monkeypatch) -> None:
    type_in("\ufeffImatinib treats leukaemia.".encode(), monkeypatch)
    code, out, _ = call("kg", "check", "-", "--json")
    assert code == 0
    assert json.loads(out)["claims"][0]["text"].startswith("Imatinib")


@pytest.mark.parametrize(
    "words",
    [
        ("kg", "search", ""),
        ("kg", "search", " ... "),
        ("tools", "search", ""),
        ("tools", "search", " - "),
    ],
)
def test_a_search_for_nothing_is_bad_input(call, words) -> None:
    code, out, _ = call(*words, "--json")
    assert code == 2
    assert json.loads(out)["error"]["code"] == "bad_input"


@pytest.mark.parametrize(
    "words",
    [
        ("kg", "neighbors", "x" * 300_000),
        ("kg", "path", "x" * 300_000, "TP53"),
        ("kg", "path", "TP53", "x" * 300_000),
        ("kg", "edges", "TP53", "x" * 300_000),
        ("kg", "taught", "x" * 300_000),
        ("kg", "remove", "x" * 300_000),
        ("kg", "fetch", "x" * 300_000),
        ("kg", "enrich", "x" * 300_000),
        ("kg", "search", "TP53", "--type", "x" * 300_000),
        ("kg", "neighbors", "TP53", "--hops", "x" * 300_000),
        ("kg", "import", "x" * 300_000, "nowhere.tsv"),
        ("tools", "remove", "x" * 300_000),
        ("tools", "show", "x" * 300_000),
        ("tools", "import", "x" * 300_000, "nowhere"),
    ],
)
def test_what_was_typed_is_not_repeated_at_length(call, words) -> None:
    code, _, err = call(*words)
    assert code == 2
    assert len(err) < 1500, err[:300]


def test_a_field_that_no_tool_has_is_named(call) -> None:
    code, out, _ = call("tools", "search", "cluster cells", "--domain", "nonsense", "--json")
    assert code == 0
    assert any("'nonsense'" in note and "had no effect" in note for note in json.loads(out)["notes"])
    real = json.loads(call("tools", "list", "--json")[1])[0]["domain"]
    _, out, _ = call("tools", "search", "cluster cells", "--domain", real.upper(), "--json")
    assert not any("had no effect" in note for note in json.loads(out)["notes"])


def test_names_that_are_near_are_told_once(call) -> None:
    code, _, err = call("tools", "show", "anovaa")
    assert code == 2
    assert "Did you mean" in err
    near = err.split("Did you mean ")[1].split("?")[0].split(", ")
    assert len(near) == len(set(near))


@pytest.mark.parametrize(
    ("words", "message", "advice"),
    [
        (("kg", "import", "tables", "nodes.tsv"), "Nothing of the file was stored", "Import it again"),
        (("kg", "fetch", "go"), "What came is kept", "The same command goes on"),
        (("kg", "stats"), "What was stored before is as it was", "Give the command again"),
    ],
)
def test_an_interruption_says_what_is_left_of_what_was_going_on(call, monkeypatch, words, message, advice) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    for name in ("import_files", "fetch", "stats"):
        monkeypatch.setattr(KnowledgeCalls, name, interrupted)
    code, _, err = call(*words)
    assert code == 4
    assert message in err
    assert advice in err
    assert "resume" not in err


def test_the_same_graph_under_another_name_needs_to_be_asked_for(call, tmp_path: Path) -> None:
    nodes = tmp_path / "nodes.tsv"
    nodes.write_text("id\ttype\tname\nqqq\tgene\tQQQ1\n")
    assert call("kg", "import", "tables", nodes, "--name", "one")[0] == 0
    code, _, err = call("kg", "import", "tables", nodes, "--name", "two")
    assert code == 2
    assert "tables:one" in err
    assert call("kg", "import", "tables", nodes, "--name", "two", "--even-so")[0] == 0


class _Told(io.StringIO):
    """A standard error that does something when a line with `words` is written to it."""

    def __init__(self, words: str, then: Callable[[], None]) -> None:
        super().__init__()
        self._words, self._then = words, then

    def write(self, text: str) -> int:
        if self._words in text:
            self._then()
        return super().write(text)


def test_a_command_waits_for_another_that_is_soon_done(workspace: Path, call, monkeypatch) -> None:
    holder = open_engine(workspace=str(workspace), warm_workers=False)
    # The other is done once the command has said that it waits, however long it took to start.
    err = _Told("Waiting up to 10 seconds", holder.close)
    monkeypatch.setattr(sys, "stderr", err)
    code, out, _ = call("kg", "sources", "--json")
    assert code == 0
    assert json.loads(out) is not None
    assert err.getvalue().count("Waiting up to 10 seconds") == 1


def test_a_command_that_waited_in_vain_says_what_to_do(workspace: Path, call, monkeypatch) -> None:
    monkeypatch.setattr(know_output, "PATIENCE", 0.3)
    holder = open_engine(workspace=str(workspace), warm_workers=False)
    try:
        code, out, _ = call("memory", "facts", "--json", "--quiet")
    finally:
        holder.close()
    assert code == WorkspaceInUse.exit_code
    error = json.loads(out)["error"]
    assert error["code"] == "workspace_in_use"
    assert "--workspace" in error["advice"]


@pytest.mark.slow
def test_facts_stated_at_the_same_time_are_kept_or_refused(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "engine.cli", "memory", "add-fact", "GeneA", "binds"]
    rest = ["--workspace", str(tmp_path / "ws"), "--json", "--quiet"]
    if not (ROOT / "engine" / "cli" / "__main__.py").exists():
        words[1:3] = ["-c", "import sys; from engine.cli.main import main; sys.exit(main(sys.argv[1:]))"]
    started = [
        subprocess.Popen([*words, f"Gene{n}", *rest], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for n in range(3)
    ]
    until = time.monotonic() + 120
    codes = [process.wait(max(1.0, until - time.monotonic())) for process in started]
    for process in started:
        process.communicate()
    # Where three commands take longer than one waits, it says so (exit 3); what was acknowledged is there, and only that.
    assert set(codes) <= {0, WorkspaceInUse.exit_code}
    acknowledged = {f"Gene{n}" for n, code in enumerate(codes) if code == 0}
    assert acknowledged
    with open_engine(workspace=str(tmp_path / "ws"), warm_workers=False) as engine:
        assert {view.fact.object for view in engine.memory.facts("GeneA")} == acknowledged


def test_a_full_disk_is_not_said_to_have_hit_a_run(tmp_path: Path) -> None:
    for error in (duckdb.IOException("Could not write: No space left on device"), duckdb.OutOfRangeException("x")):
        told = faults.from_duckdb(error, tmp_path / "biodesk.db")
        assert told.advice
        assert "run's record" not in told.message
    full = faults.disk_full(tmp_path, "the vectors of tools")
    assert "the vectors of tools could not be stored" in full.message
    assert "give the same command again" in full.advice
    assert "give the same command again" in faults.from_os(OSError(errno.ENOSPC, "x"), tmp_path, "the database").advice


@pytest.mark.parametrize("content", ["", "\n\n", '{"kind": "something else"}\n', "{}\n"])
def test_a_memory_file_with_nothing_usable_is_bad_input(call, tmp_path, content: str) -> None:
    (tmp_path / "empty.jsonl").write_text(content)
    code, out, err = call("memory", "import", tmp_path / "empty.jsonl")
    assert (code, out) == (2, "")
    assert "empty.jsonl" in err


def test_relations_of_two_are_told_by_their_names(call, tmp_path) -> None:
    (tmp_path / "nodes.tsv").write_text("id\ttype\tname\nx:1\tgene\tBLUR1\nx:2\tdisease\tgreyness\n")
    (tmp_path / "edges.tsv").write_text("source\ttype\ttarget\nx:1\tassociated_with\tx:2\n")
    code, _, err = call("kg", "import", "tables", tmp_path / "nodes.tsv", tmp_path / "edges.tsv", "--name", "colours")
    assert code == 0, err
    code, out, _ = call("kg", "edges", "BLUR1", "greyness")
    assert code == 0
    assert "BLUR1 -[" in out
    assert "greyness" in out
    (edge,) = json.loads(call("kg", "edges", "BLUR1", "greyness", "--json")[1])
    assert {edge["source_name"], edge["target_name"]} == {"BLUR1", "greyness"}


def test_what_is_no_number_is_null_in_json() -> None:
    said = json_text({"p": float("nan"), "rows": [(float("inf"), 1.5)], "path": Path("a")})
    assert json.loads(said, parse_constant=pytest.fail) == {"p": None, "rows": [[None, 1.5]], "path": "a"}


def test_a_message_is_pinned_from_the_command_line(call, workspace) -> None:
    with open_engine(workspace=workspace) as engine:
        engine._parts.memory.working.add("c1", "user", "The reference is mm10.", run_id="")
    assert call("memory", "pin", "c1", "1")[:2] == (0, "Message 1 of c1 was pinned.\n")
    pinned = [json.loads(call("memory", "working", "c1", "--json")[1])["messages"][0]["pinned"]]
    assert call("memory", "unpin", "c1", "1")[0] == 0
    pinned.append(json.loads(call("memory", "working", "c1", "--json")[1])["messages"][0]["pinned"])
    assert pinned == [True, False]
    code, _, err = call("memory", "pin", "c1", "9")
    assert code == 2
    assert "9" in err


def test_facts_near_in_meaning_are_told_with_how_near_or_refused_without_a_model(call, monkeypatch) -> None:
    assert call("memory", "add-fact", "Simvastatin", "lowers", "LDL-cholesterol")[0] == 0
    question = "which drug reduces blood lipids"
    code, out, err = call("memory", "facts", "--near", question, "--json")
    if code == 0:  # where the embedding model's files are installed
        (found,) = [view for view in json.loads(out) if view["fact"]["subject"] == "Simvastatin"]
        assert 0.3 <= found["likeness"] < 1
        assert "whether one answers is for you to say" in call("memory", "facts", "--near", question)[1]
    assert code == 0 or "embedding" in err
    monkeypatch.setenv("BIODESK_EMBEDDING_MODEL", "none")
    code, _, err = call("memory", "facts", "--near", question)
    assert code == 1
    assert "cannot be compared by meaning" in err
