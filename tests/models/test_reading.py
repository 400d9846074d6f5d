"""Answers that are to fit a schema are read whatever stands around them, and never bent to fit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict

from engine.models.reading import correction, instruction, json_schema, read


class Choice(BaseModel):
    model_config = ConfigDict(extra="forbid")
    tool: str
    sure: float


PLAIN = json_schema(Choice)
RIGHT = '{"tool": "deseq2", "sure": 0.9}'


@pytest.mark.parametrize(
    "text",
    [
        RIGHT,
        f"  {RIGHT}\n",
        f"```json\n{RIGHT}\n```",
        f"Sure! Here it is:\n```\n{RIGHT}\n```\nHope that helps {{smile}}.",
        f"Gladly. The answer is {RIGHT} as you asked [1].",
        f"{RIGHT}\n{RIGHT}",
        f"Voilà la réponse : {RIGHT}",
        '{"tool": "deseq2", "sure": 0.9, "sure": 0.9}',
    ],
)
@pytest.mark.parametrize("schema", [Choice, PLAIN])
def test_the_answer_is_found_in_what_stands_around_it(text, schema):
    found = read(text, schema)
    assert found.problems == ()
    data = found.data.model_dump() if isinstance(found.data, Choice) else found.data
    assert data == {"tool": "deseq2", "sure": 0.9}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no JSON"),
        ("I would take DESeq2.", "no JSON"),
        ('{"tool": "deseq2", "sure": 0.', "cut off"),
        ('{"tool": "deseq2"}', "sure"),
        ('{"tool": "deseq2", "sure": "very"}', "sure"),
        ('{"tool": "deseq2", "sure": 0.9, "also": 1}', "also"),
        ('{"tool": "deseq2", "sure": NaN}', "no JSON"),
        ('{"tool": "deseq2", "tool": "limma", "sure": 0.9}', "twice"),
        ('Either {"tool": "a", "sure": 0.9} or {"tool": "b", "sure": 0.9}.', "2 different"),
        ("[" * 100_000, "no JSON"),
        ("null", "whole"),
    ],
)
@pytest.mark.parametrize("schema", [Choice, PLAIN])
def test_what_does_not_fit_is_said_and_nothing_is_taken_from_it(text, says, schema):
    found = read(text, schema)
    assert found.data is None
    assert says.lower() in " ".join(found.problems).lower()


def test_a_correction_names_the_faults_and_the_form():
    told = correction(read('{"tool": "x"}', Choice).problems, PLAIN)
    assert "sure" in told
    assert json.dumps(PLAIN) in told


@given(st.text())
def test_no_text_crashes_the_reader(text):
    found = read(text, Choice)
    assert found.problems
    assert found.data is None


@given(before=st.text(alphabet="abc .,\n{}[]", max_size=30), after=st.text(alphabet="abc .,\n{}[]", max_size=30))
def test_the_answer_is_found_or_refused_between_any_signs(before, after):
    found = read(f"{before} {RIGHT} {after}", Choice)
    assert found.problems or found.data == Choice(tool="deseq2", sure=0.9)


def test_the_form_is_told_without_titles_but_with_a_part_that_is_called_title():
    class Piece(BaseModel):
        title: str

    told = json.loads(instruction(Piece.model_json_schema()).partition("\n")[2])
    assert told["properties"] == {"title": {"type": "string"}}
    assert "title" not in told
