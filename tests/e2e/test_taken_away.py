"""A database that is deleted, replaced or cut off is missed in a sentence: no empty history begins beside its results."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from growth_data import write_growth

from engine.cli.main import main
from engine.errors import IntegrityError

QUESTION = "Is growth higher in treated than in control?"
DATABASE = "biodesk.duckdb"


@pytest.fixture(scope="module")
def finished(tmp_path_factory) -> tuple[Path, str]:
    """A closed workspace with one finished run, and the run's id."""
    from engine.api import open_engine

    folder = tmp_path_factory.mktemp("finished")
    with open_engine(workspace=folder / "desk", warm_workers=False) as engine:
        run_id = engine.ask(QUESTION, [write_growth(folder / "growth.csv")], auto_approve=True)
        assert engine.wait(run_id, 120).status == "succeeded"
    return folder / "desk", run_id


@pytest.fixture
def desk(finished, tmp_path, monkeypatch) -> Path:
    """A copy of it."""
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    return shutil.copytree(finished[0], tmp_path / "desk")


@pytest.fixture
def another(tmp_path) -> Path:
    """The database of a workspace in which nothing was ever asked."""
    from engine.api import open_engine

    open_engine(workspace=tmp_path / "other", warm_workers=False).close()
    return tmp_path / "other" / DATABASE


def deleted(database: Path, another: Path) -> None:
    database.unlink()


def emptied(database: Path, another: Path) -> None:
    database.write_bytes(b"")


def cut_off(database: Path, another: Path) -> None:
    database.write_bytes(database.read_bytes()[:6000])


def replaced(database: Path, another: Path) -> None:
    database.unlink()
    shutil.copy(another, database)


ALL = pytest.mark.parametrize("taken", [deleted, emptied, cut_off, replaced])


@ALL
@pytest.mark.parametrize("command", ["runs", "show", "ask"])
@pytest.mark.slow
def test_a_command_on_a_workspace_without_its_database_says_so_and_makes_none(
    taken, command, desk, another, finished, capsys
):
    database = desk / DATABASE
    taken(database, another)
    before = database.read_bytes() if database.exists() else None
    words = {"runs": ["runs"], "show": ["show", finished[1]], "ask": ["ask", QUESTION, "--data", "growth.csv", "--yes"]}
    assert main([*words[command], "--workspace", str(desk)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert len(told.err.splitlines()) == 1
    assert str(database) in told.err
    assert "artifacts" in told.err
    assert (database.read_bytes() if database.exists() else None) == before


@ALL
def test_an_open_engine_notices_at_the_next_word_that_is_read_or_written(taken, desk, another, finished):
    from engine.api import open_engine

    with contextlib.suppress(IntegrityError), open_engine(workspace=desk, warm_workers=False) as engine:
        assert [run.run_id for run in engine.runs()] == [finished[1]]
        taken(desk / DATABASE, another)
        with pytest.raises(IntegrityError, match="while Biodesk had it open"):
            engine.runs()
        with pytest.raises(IntegrityError, match="while Biodesk had it open"):
            engine.ask(QUESTION, [desk.parent / "growth.csv"])


def test_records_whose_database_is_gone_are_not_thrown_away(tmp_path, capsys):
    """A killed process leaves the latest records in a file beside the database; a new database would delete it."""
    records = tmp_path / "desk" / f"{DATABASE}.wal"
    records.parent.mkdir()
    records.write_bytes(b"what was stored last")
    assert main(["runs", "--workspace", str(records.parent)]) == 1
    assert "a new history is not begun" in capsys.readouterr().err
    assert records.read_bytes() == b"what was stored last"


def test_a_database_that_is_put_back_is_taken(desk, finished, capsys):
    copy = shutil.copy(desk / DATABASE, desk.parent / "backup")
    (desk / DATABASE).unlink()
    assert main(["runs", "--workspace", str(desk)]) == 1
    shutil.copy(copy, desk / DATABASE)
    capsys.readouterr()
    assert main(["runs", "--workspace", str(desk)]) == 0
    assert capsys.readouterr().out.startswith(finished[1])


def test_a_workspace_from_before_learns_which_database_its_results_belong_to(desk, another, capsys):
    (desk / "artifacts" / "database").unlink()
    assert main(["runs", "--workspace", str(desk)]) == 0
    replaced(desk / DATABASE, another)
    assert main(["runs", "--workspace", str(desk)]) == 1


def test_stopping_a_run_that_there_is_not_is_answered_alike_whoever_has_the_workspace(desk, capsys):
    from engine.api import open_engine

    assert main(["cancel", "run_of_nobody", "--workspace", str(desk)]) == 2
    alone = capsys.readouterr().err
    with open_engine(workspace=desk, warm_workers=False):
        assert main(["cancel", "run_of_nobody", "--workspace", str(desk)]) == 2
    assert capsys.readouterr().err == alone
    assert "run_of_nobody" in alone
    assert list((desk / "requests").iterdir()) == []
