"""The critic finds a step out that gave too little, broke a rule or states a number its table does not have."""

from __future__ import annotations

import pandas as pd
import pytest

from engine.domain.datatypes import DataType
from engine.domain.results import Issue
from engine.domain.toolspec import OutputSpec, ToolSpec
from engine.steps.critic import COST, judge
from engine.steps.repairs import repair
from engine.toolbox import checks as checks_module
from engine.toolbox.registry import builtin_tools

USUAL = ("tables_not_empty", "p_values_valid", "findings_match_tables")


def spec_with(*checks: str, optional: bool = False) -> ToolSpec:
    return ToolSpec(
        name="t",
        title="T",
        description="",
        domain="",
        task_type="analysis",
        inputs=[],
        params=[],
        outputs=[OutputSpec(name="table", type=DataType.TABLE, optional=optional)],
        checks=list(checks),
        source="",
        function="t",
    )


@pytest.fixture
def judged(tmp_path):
    def judge_table(table: pd.DataFrame | None, *, findings=None, warnings=(), checks=USUAL, optional=False):
        files = {}
        if table is not None:
            files["table"] = tmp_path / "table.csv"
            table.to_csv(files["table"], index=False)
        found = [{"text": "A finding."}] if findings is None else findings
        spec = spec_with(*checks, optional=optional)
        return judge(spec, params={}, files=files, findings=found, warnings=list(warnings))

    return judge_table


GOOD = pd.DataFrame({"gene": ["A", "B"], "p_value": [0.01, 0.2], "p_adj": [0.02, 0.2]})


def codes(verdict) -> list[str]:
    return [issue.code for issue in verdict.issues]


def test_a_sound_result_passes_with_full_quality_and_lists_its_checks(judged):
    verdict = judged(GOOD)
    assert (verdict.passed, verdict.quality, verdict.issues) == (True, 1.0, [])
    assert verdict.checks[0] == "Every table has at least one row."
    assert len(verdict.checks) == 3


def test_a_missing_output_fails_the_step_and_is_named(judged):
    verdict = judged(None)
    assert not verdict.passed
    assert verdict.retry_guidance == "The step gave no table."


def test_an_output_that_may_be_absent_is_no_failure(judged):
    assert judged(None, optional=True).passed


def test_an_empty_table_fails_the_step(judged):
    assert codes(judged(GOOD.head(0))) == ["empty_table"]


@pytest.mark.parametrize("wrong", [-0.1, 1.0001])
def test_a_p_value_outside_0_to_1_fails_the_step(judged, wrong):
    verdict = judged(pd.DataFrame({"p_value": [0.5, wrong, None]}))
    assert codes(verdict) == ["p_out_of_range"]
    assert "1 values of p_value" in verdict.retry_guidance


def test_an_adjusted_p_value_below_its_raw_one_fails_the_step(judged):
    assert codes(judged(pd.DataFrame({"p_value": [0.1, 0.2], "p_adj": [0.05, 0.2]}))) == ["p_adj_below_p"]


def test_missing_p_values_are_no_failure(judged):
    assert judged(pd.DataFrame({"p_value": [0.1, None], "p_adj": [None, None]})).passed


def finding(row, **values):
    named = [{"name": name, "value": value} for name, value in values.items()]
    return {"text": "F.", "output": "table", "row": row, "values": named}


def test_a_finding_whose_numbers_are_those_of_its_row_passes(judged):
    assert judged(GOOD, findings=[finding({"gene": "A"}, p_value=0.01, other=7)]).passed


def test_a_finding_with_another_number_than_its_row_fails_the_step(judged):
    verdict = judged(GOOD, findings=[finding({"gene": "A"}, p_value=0.0101)])
    assert codes(verdict) == ["finding_differs"]
    assert "p_value = 0.0101" in verdict.retry_guidance
    assert "0.01" in verdict.retry_guidance


@pytest.mark.parametrize("row", [{"gene": "C"}, {"symbol": "A"}])
def test_a_finding_that_points_to_no_row_fails_the_step(judged, row):
    assert codes(judged(GOOD, findings=[finding(row, p_value=0.01)])) == ["finding_without_row"]


def test_a_finding_that_points_to_two_rows_fails_the_step(judged):
    twice = pd.concat([GOOD, GOOD])
    assert codes(judged(twice, findings=[finding({"gene": "A"}, p_value=0.01)])) == ["finding_without_row"]


def test_no_finding_and_caveats_lower_the_quality_and_do_not_fail_the_step(judged):
    verdict = judged(GOOD, findings=[], warnings=["Two replicates only.", "Curves cross."])
    assert verdict.passed
    assert codes(verdict) == ["no_finding", "caveat", "caveat"]
    assert verdict.quality == pytest.approx(1 - COST["info"] - 2 * COST["warning"])


def test_quality_is_never_below_zero(judged):
    verdict = judged(GOOD, warnings=[f"Caveat {number}." for number in range(40)])
    assert verdict.quality == 0.0
    assert verdict.passed


def test_a_table_that_cannot_be_read_fails_the_step(judged, tmp_path):
    (tmp_path / "table.csv").write_bytes(b"\xff\xfe\x00broken")
    files = {"table": tmp_path / "table.csv"}
    verdict = judge(spec_with(*USUAL), params={}, files=files, findings=[{"text": "F."}], warnings=[])
    assert set(codes(verdict)) == {"unreadable_result"}
    assert not verdict.passed


@pytest.mark.parametrize(
    "error", [AttributeError("no .str"), IndexError("5"), ZeroDivisionError("x"), RecursionError()]
)
def test_a_check_that_stumbles_over_the_result_fails_the_step_whatever_the_error(judged, monkeypatch, error):
    def stumbling(step):
        """It always stumbles."""
        raise error
        yield Issue(code="never", severity="error", message="")

    monkeypatch.setitem(checks_module.CHECKS, "stumbling", stumbling)
    verdict = judged(GOOD, checks=("stumbling",))
    assert codes(verdict) == ["unreadable_result"]
    assert not verdict.passed


def test_an_unknown_check_fails_the_step_instead_of_being_skipped(judged):
    assert not judged(GOOD, checks=("no_such_check",)).passed


def test_a_repair_is_offered_once_and_only_for_its_tool_and_failure():
    tools = builtin_tools()
    cox = tools.get("cox_regression")
    fix = repair(cox, "ConvergenceError: delta contains nan value(s)", {"penalizer": 0.0}, [])
    assert fix is not None
    assert fix.change == {"penalizer": 0.1}
    assert "shrunk towards 1" in fix.why
    assert repair(cox, "did not converge", {"penalizer": 0.1}, []) is None
    assert repair(cox, "did not converge", {"penalizer": 0.0}, [fix]) is None
    assert repair(cox, "column 'age' is not there", {}, []) is None
    assert repair(tools.get("log_rank"), "did not converge", {}, []) is None
