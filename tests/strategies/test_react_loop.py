"""The loop of look-ups: declared tools, who chooses them, at most twelve, none twice, and an answer with its sources."""

from __future__ import annotations

import pytest

from engine.domain.base import Value
from engine.domain.findings import Finding, FindingValue
from engine.domain.report import Report
from engine.domain.toolspec import Citation
from engine.strategies.react.lookup import Call, Lookup, LookupQuestion, Observation, Step
from engine.strategies.react.loop import LINES, MOST_STEPS, answered, by_words, looked_up


class Number(Value):
    """A number."""

    number: int


def doubled(taken: Number) -> Observation:
    text = f"Twice {taken.number} is {2 * taken.number}."
    finding = Finding(id="", node="", text=text, values=[FindingValue(name="twice", value=2 * taken.number)])
    cited = [Citation(title="Arithmetic", url="https://example.org")]
    return Observation(lines=[text], findings=[finding], limitations=["Only whole numbers."], citations=cited)


def broken(taken: Number) -> Observation:
    raise RuntimeError("the store is gone")


DOUBLE = Lookup("double", "Twice a number.", Number, doubled)
ASKED = LookupQuestion("Twice seven?")


def choosing(*calls: Call):
    """A driver that makes the given calls, then stops."""
    return lambda asked, lookups, steps: calls[len(steps)] if len(steps) < len(calls) else None


def call(tool: str = "double", **arguments: object) -> Call:
    return Call(tool=tool, arguments=arguments)


def answer(question: str, steps: list[Step], opening: str = "") -> Report:
    report = answered(question, steps, opening)
    assert report is not None
    return report


def test_a_tool_says_what_it_takes_as_a_json_schema():
    assert DOUBLE.parameters["properties"]["number"]["type"] == "integer"
    assert DOUBLE.parameters["required"] == ["number"]


def test_a_driver_chooses_and_the_answer_has_numbers_limits_and_sources():
    steps = looked_up(ASKED, [DOUBLE], choosing(call(number=7), call(number=8)))
    report = answer("Twice seven?", steps, "First of all:")
    assert report.summary == ["First of all:", "Twice 7 is 14.", "Twice 8 is 16."]
    assert [v.value for f in report.findings for v in f.values] == [14, 16]
    assert report.limitations == ["Only whole numbers."]
    assert [c.title for c in report.citations] == ["Arithmetic"]


def test_the_same_look_up_again_is_a_loop_and_ends_it():
    steps = looked_up(ASKED, [DOUBLE], choosing(*[call(number=7)] * 5))
    assert [step.found.lines for step in steps] == [["Twice 7 is 14."], []]
    assert "was to be asked the same again" in answer("?", steps).limitations[-1]


def test_a_driver_that_never_ends_is_stopped_and_that_is_said():
    steps = looked_up(ASKED, [DOUBLE], lambda asked, lookups, steps: call(number=len(steps)))
    assert sum(bool(step.found.lines) for step in steps) == MOST_STEPS
    assert f"stopped after {MOST_STEPS} steps" in answer("?", steps).limitations[-1]


@pytest.mark.parametrize(
    ("wanted", "fault"),
    [
        (call("nothing"), "no look-up called 'nothing'"),
        (call(number="seven"), "double: number: "),
        (call(number=7, more=1), "double: more: "),
        (call("broken", number=1), "broken: the store is gone"),
    ],
)
def test_what_cannot_be_looked_up_is_a_fault_and_stops_nothing_else(wanted, fault):
    lookups = [DOUBLE, Lookup("broken", "Fails.", Number, broken)]
    first, second = looked_up(ASKED, lookups, choosing(wanted, call(number=2)))
    assert fault in first.found.fault
    assert second.found.lines == ["Twice 2 is 4."]


def test_words_ask_for_look_ups_in_order_until_one_is_the_whole_answer():
    told: list[str] = []

    def run(name: str, whole: bool):
        return lambda taken: told.append(name) or Observation(lines=[name], whole=whole)

    def each(asked: LookupQuestion, steps):
        return [Number(number=1), Number(number=2)]

    lookups = [Lookup(n, n, Number, run(n, n == "b"), each) for n in ("a", "b", "c")]
    steps = looked_up(ASKED, lookups, by_words)
    assert told == ["a", "a", "b"]
    assert [step.call.arguments["number"] for step in steps] == [1, 2, 1]


def test_nothing_found_is_no_answer_and_too_much_is_cut_and_said():
    assert answered("?", looked_up(ASKED, [DOUBLE], choosing())) is None
    many = Lookup("many", "Many.", Number, lambda taken: Observation(lines=["A line."] * (LINES + 3)))
    report = answer("?", looked_up(ASKED, [many], choosing(call("many", number=1))))
    assert len(report.summary) == LINES
    assert "3 more sentences" in report.limitations[-1]
