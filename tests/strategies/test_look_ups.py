"""What each look-up tells: files from what was counted, runs by what their steps use, the graph with its sources."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.data.service import LocalProfiler
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.results import RunRecord
from engine.planning.planner import Planner
from engine.ports.runs import RunStore
from engine.strategies.react.files import Files
from engine.strategies.react.lookup import LookupQuestion
from engine.strategies.react.loop import answered, looked_up
from engine.strategies.react.runs import RunLookups
from engine.toolbox.registry import builtin_tools
from storage.runs.twin import RunStoreTwin

SEXES = ["female"] * 23 + ["male"] * 17 + [""] * 2


@pytest.fixture(scope="module")
def planner() -> Planner:
    return Planner(builtin_tools())


@pytest.fixture
def sheet(tmp_path):
    path = tmp_path / "otters.csv"
    rows = "".join(f"o{at},{sex},{10 + at * 37 % 29},{'ab'[at % 2]}\n" for at, sex in enumerate(SEXES))
    path.write_text("otter,sex,weight,pond\n" + rows)
    return path


def told(planner: Planner, question: str, *paths: Path, plain: bool = True) -> str | None:
    asked = LookupQuestion(question, LocalProfiler().look(list(paths)), plain=plain)
    report = answered(question, looked_up(asked, Files(planner.read)(asked)))
    return " ".join(report.summary) if report is not None else None


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("what columns does this file have?", "otters.csv has 4 columns; these are described: otter (identifier), sex"),
        ("list the columns", "weight"),
        ("How many rows are there?", "otters.csv has 42 rows"),
        ("how many samples are female", "23 of the 40 rows of otters.csv with a value in sex have female there."),
        ("number of animals in pond b", "have b there"),
        ("how many samples are male?", "In 2 rows sex is empty."),
    ],
)
def test_files_are_told_from_what_was_counted(planner, sheet, question, said):
    assert said in (told(planner, question, sheet) or "")


@pytest.mark.parametrize(
    "question",
    [
        "which columns differ between the ponds?",
        "how many females weigh more than 20",
        "how many females are in pond b",
        "how many heavy samples are female",
        "Is weight higher in females?",
    ],
)
def test_what_asks_for_more_than_was_counted_is_not_told(planner, sheet, question):
    assert told(planner, question, sheet) is None


def test_a_column_that_is_called_samples_narrows_no_count_down(planner, tmp_path):
    path = tmp_path / "s.csv"
    path.write_text("sample,sex\n" + "".join(f"s{k},{'female' if k % 3 else 'male'}\n" for k in range(30)))
    assert "20 of the 30 rows" in (told(planner, "how many samples are female", path) or "")


def test_a_question_that_may_be_planned_is_not_looked_up_in_files(planner, sheet):
    assert told(planner, "how many samples are female", sheet, plain=False) is None


def test_rows_of_subjects_with_several_rows_are_said_to_be_rows(planner, tmp_path):
    path = tmp_path / "visits.csv"
    rows = [f"p{who},{visit},{'mf'[who % 2]},{who * 7 % 13 + visit}\n" for who in range(12) for visit in (1, 2, 3)]
    path.write_text("patient,visit,sex,score\n" + "".join(rows))
    asked = LookupQuestion("how many rows are there", LocalProfiler().look([path]))
    report = answered(asked.question, looked_up(asked, Files(planner.read)(asked)))
    assert report is not None
    assert any("not subjects" in limit for limit in report.limitations)


# ==== runs ====


@pytest.fixture
def runs() -> RunStoreTwin:
    """Three runs: one with a plan of differential expression, one that only names it, one of something else."""
    store = RunStoreTwin()
    asked = {"r1": "Which genes change?", "r2": "Was PyDESeq2 the right choice?", "r3": "Do the otters differ?"}
    for at, (key, text) in enumerate(asked.items(), start=1):
        at_day = f"2026-01-0{at}T00:00:00Z"
        store.create_run(RunRecord(run_id=key, user="u", question=text, status="succeeded", created_at=at_day))
    node = TaskNode(id="n1", name="Find genes", tool="differential_expression")
    store.save_plan("r1", TaskDag(question="?", datasets=[], nodes=[node]))
    return store


def of_runs(runs: RunStore, question: str, before: str = "") -> str:
    asked = LookupQuestion(question, before=before)
    report = answered(question, looked_up(asked, RunLookups(runs, builtin_tools())(asked)))
    return " ".join(report.summary) if report is not None else ""


@pytest.mark.parametrize("question", ["which runs used DESeq2?", "Show me all analyses that used deseq2"])
def test_runs_are_found_by_what_their_steps_use_apart_from_those_that_only_name_it(runs, question):
    said = of_runs(runs, question)
    assert "Of 3 runs stored, 1 had a step with" in said
    assert 'r1 of 2026-01-01 (succeeded), "Which genes change?": Find genes.' in said
    assert "1 more only name it" in said
    assert "r3" not in said


def test_runs_without_it_are_counted_and_later_ones_not(runs):
    assert of_runs(runs, "which runs used MAGeCK?") == "Of 3 runs stored, 0 had a step with MAGeCK in the plan."
    assert "Of 1 run stored" in of_runs(runs, "which runs used DESeq2", before="2026-01-02T00:00:00Z")
    assert of_runs(runs, "which runs used it", before="2025-01-01") == "No run is stored in this workspace yet."


@pytest.mark.parametrize("question", ["Which genes change?", "which analysis fits?", "How do runs differ"])
def test_other_questions_are_not_taken_for_runs(runs, question):
    assert of_runs(runs, question) == ""
