"""A command that ends, however it ends, leaves no words of a library on stderr.

A thread inside DuckDB when Python takes itself apart ends the process with `terminate called`, and one that merely lives
makes its binding library report leaks. Both depend on the moment, so `make test-all` gives each command several times.
"""

from __future__ import annotations

import contextlib
import importlib
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from waiting import until

TIMES = 2
REFUSED, INTERRUPTED = 2, 4


@pytest.fixture(scope="module")
def plants(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "plants.csv"
    rows = [f"p{n},{'sun' if n % 2 else 'shade'},{10 + n % 7}.{n % 10}" for n in range(60)]
    path.write_text("\n".join(["plant,light,height", *rows]) + "\n", encoding="utf-8")
    return path


def start(workspace: Path, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "engine", "--workspace", str(workspace), *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


ASK = ["ask", "--yes", "--quiet"]


@pytest.mark.parametrize(
    ("command", "times"),
    [
        pytest.param(["plan"], 1, id="plan", marks=pytest.mark.slow),
        pytest.param(["plan"], TIMES, id="plan again", marks=pytest.mark.slow),
        pytest.param(ASK, 1, id="ask"),
        pytest.param(ASK, TIMES, id="ask again", marks=pytest.mark.slow),
    ],
)
def test_a_refusal_is_all_that_is_said(command: list[str], times: int, plants: Path, tmp_path: Path) -> None:
    for number in range(times):
        # A new folder each time: what is made at the first use is then going on when the command ends.
        process = start(tmp_path / str(number), *command, "Which unicorns fly?", "--data", str(plants))
        said = process.communicate(timeout=120)[1]
        assert process.returncode in (1, REFUSED), said
        assert "unicorns" in said or "names nothing that can be analysed" in said
        assert len(said.splitlines()) == 1, said


@pytest.mark.slow
def test_an_interruption_is_all_that_is_said(plants: Path, tmp_path: Path) -> None:
    """Where a moment finds the command differs by machine, so moments follow until one was in the midst of it.

    A later moment finds the run done (0), an earlier one Python not begun (the signal's own code).
    """
    ends: list[int] = []
    for number, seconds in enumerate([0.5, 1.0, 1.5, 2.5, 3.5, 0.2, 5.0]):
        process = start(
            tmp_path / str(number), "ask", "Does height differ by light?", "--data", str(plants), "--yes", "--quiet"
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.send_signal(signal.SIGINT)
        said = process.communicate(timeout=120)[1]
        ends.append(process.returncode)
        assert process.returncode in (0, INTERRUPTED, -signal.SIGINT), said
        assert not any(
            word in said for word in ("terminate", "nanobind", "Traceback", "Exception", "defect", "busy")
        ), said
        if number >= 4 and INTERRUPTED in ends:
            return
    pytest.fail(f"No moment was in the midst of the command: {ends}")


INTERRUPTED_BY_ITSELF = "import signal\nsignal.raise_signal(signal.SIGINT)\nWHOLE = True\n"


def test_an_import_is_never_cut_in_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB's binding aborts the process when a class that it makes while being imported is not made."""
    from engine.cli.main import Interruption

    (tmp_path / "interrupted_by_itself.py").write_text(INTERRUPTED_BY_ITSELF, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    before = signal.signal(signal.SIGINT, interruption := Interruption())
    try:
        module = importlib.import_module("interrupted_by_itself")
        assert module.WHOLE
        with pytest.raises(KeyboardInterrupt):
            until(lambda: False)  # the interruption comes at once now; this only gives it somewhere to arrive
    finally:
        signal.signal(signal.SIGINT, before)
    assert interruption.raised


def test_an_error_that_a_library_makes_of_an_interruption_is_no_defect(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from engine.cli import commands, main

    def query(_options: object) -> int:
        try:
            signal.raise_signal(signal.SIGINT)
        except KeyboardInterrupt as err:
            raise RuntimeError("Query interrupted") from err
        return 0

    monkeypatch.setitem(commands.COMMANDS, "runs", query)
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        assert main.main(["runs"]) == INTERRUPTED
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert capsys.readouterr().err.startswith("Interrupted.")


BUSY_AT_THE_END = """
import sys, threading, time
from pathlib import Path
from storage.database import Database
database = Database(Path(sys.argv[1]))
asked, told = threading.Event(), []
def ask():
    try:
        with database.reading() as connection:
            asked.set()
            connection.execute("SELECT sum(a.range * b.range) FROM range(1000000) a, range(1000000) b").fetchall()
    except Exception as err:
        told.append(type(err).__name__)
thread = threading.Thread(target=ask, daemon=True)
thread.start()
asked.wait()
time.sleep(0.3)
database.close()
thread.join(5)
print(*told)
"""


def test_closing_a_database_ends_what_another_thread_reads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", BUSY_AT_THE_END, str(tmp_path / "x.duckdb")], capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "StorageError\n", "")


STILL_AT_WORK = """
import sys, threading, time, types
import engine.__main__ as entry
module = types.ModuleType("engine.cli.main")
def main():
    import duckdb
    connection = duckdb.connect(":memory:")
    def work():
        while True:
            connection.execute("SELECT count(*) FROM range(50000000)").fetchall()
    threading.Thread(target=work, daemon=True).start()
    time.sleep(0.3)
    return 3
module.main = main
sys.modules["engine.cli.main"] = module
sys.exit(entry.main())
"""


def test_a_thread_that_never_ends_does_not_bring_the_process_down() -> None:
    done = subprocess.run([sys.executable, "-c", STILL_AT_WORK], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (3, "")


def test_warming_stops_between_two_steps() -> None:
    from engine.runs.errands import Errands

    begun, go_on, taken = threading.Event(), threading.Event(), []

    def first() -> None:
        taken.append("first")
        begun.set()
        go_on.wait(10)

    warming = Errands("warm-up", patience=30)
    assert warming.add(first, lambda: taken.append("second"))
    begun.wait(10)
    threading.Timer(0.1, go_on.set).start()
    warming.close()
    assert taken == ["first"]
    assert not warming.add(first)
    assert not any(thread.name == "warm-up" for thread in threading.enumerate())
