"""A refusal on the command line says how the question can be asked again."""

from __future__ import annotations

from engine.cli.show_plan import ways_told
from engine.domain.plan import WayOn


def test_each_way_is_what_to_type():
    ways = [
        WayOn(
            says="Say which columns of a.csv these are.",
            analysis="log_rank",
            said={"time": ["days", "age"], "event": ["dead"]},
        ),
        WayOn(says="Yes/no column", analysis="proportion_test", param="event", columns=["recapt", "sex"]),
        WayOn(says="Summary of a table: what it holds, of a, b", analysis="describe_table"),
        WayOn(says="A fourth", analysis="anova"),
    ]
    assert ways_told([way.model_dump() for way in ways]) == (
        "Ways on: --column days=time --column dead=event; Yes/no column: name one of recapt, sex; "
        "--as describe_table (Summary of a table)."
    )
    assert ways_told([]) == ""
