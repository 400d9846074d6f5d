"""What every declared analysis promises: questions of several people, guards, practice, and a chooser that knows them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import get_args

import numpy as np
import pytest

from engine.domain.profile import Scale
from engine.planning.binding.conditions import CONDITIONS
from engine.planning.binding.slots import SLOTS
from engine.planning.choosing.choose import Wording, model, probabilities
from engine.planning.guards.run import GUARDS
from engine.planning.telling.methods import condition
from engine.toolbox.analyses import all_examples, fields, load_analyses, read_examples, sources_hash
from engine.toolbox.registry import builtin_tools

ANALYSES = load_analyses()
TOOLS = list(builtin_tools())
ANSWERED = sorted({key for tool in TOOLS for key in tool.answers})
KINDS = {"num", "cat", "bin", "lev", "time", "unit", "cnt", "dose", "gene", "val", "file"}
ROOT = Path(__file__).parents[2]


def test_what_tools_answer_is_declared():
    assert set(ANSWERED) <= set(ANALYSES)


@pytest.mark.parametrize("key", sorted(ANALYSES))
def test_an_analysis_has_questions_of_at_least_two_people(key):
    mine = [example for example in all_examples() if example.analysis == key]
    assert len({example.text for example in mine}) >= 10
    assert len({example.writer for example in mine}) >= 2


@pytest.mark.parametrize("key", ANSWERED)
def test_an_analysis_that_can_be_done_has_guards_practice_and_a_name(key):
    analysis = ANALYSES[key]
    assert analysis.guards
    assert analysis.practice or analysis.alone
    assert analysis.title


@pytest.mark.parametrize("key", sorted(ANALYSES))
def test_what_an_analysis_refers_to_exists(key):
    analysis = ANALYSES[key]
    names = {tool.name for tool in TOOLS}
    assert set(analysis.guards) <= set(GUARDS)
    assert set(analysis.instead) <= set(ANALYSES)
    assert {practice.tool for practice in analysis.practice} <= names
    for name in [*analysis.when, *(only for practice in analysis.practice for only in practice.only)]:
        for part in name.split(" or "):
            plain = part.removeprefix("not_")
            assert plain in CONDITIONS or (plain.startswith("said:") and re.compile(plain[5:])), name


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tools_roles_and_makers_exist(tool):
    names = {other.name for other in TOOLS}
    for param in tool.params:
        if param.kind in ("column", "columns"):
            assert param.role in SLOTS, f"{param.name}: {param.role}"
        assert {part.split(":")[0] for part in param.made_by.split(",") if part} <= names
        assert set(param.instead_of) <= {other.name for other in tool.params}
        for words in param.words:
            re.compile(words)


@pytest.mark.parametrize("tool", [tool for tool in TOOLS if tool.answers], ids=lambda tool: tool.name)
def test_a_tool_says_what_it_computes_before_it_runs(tool):
    assert tool.methods, "declare `methods`: the test or model, and why it fits"
    assert [bool(method.when) for method in tool.methods] == [True] * (len(tool.methods) - 1) + [False]
    for method in tool.methods:
        assert method.name
        assert {*re.findall(r"\{(\w+)\}", method.name + method.why)} <= {param.name for param in tool.params}
        for asked in map(condition, method.when):
            param = tool.param(asked.param)
            assert param is not None, asked
            known = {"=": param.choices, ":": ["1", "2", "3"], "~": get_args(Scale)}.get(asked.op)
            assert known is None or {*asked.values} <= {*known}, asked
            assert asked.op not in (":", "~") or param.kind in ("column", "columns"), asked


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_rows_must_hold_are_columns_of_the_tool(tool):
    for name in tool.complete:
        sign, _, called = name.rpartition(" ")
        param = tool.param(called)
        assert param is not None, name
        assert sign in ("", "not", "times", "after"), name
        assert sign in ("not", "after") or param.kind in ("column", "columns"), name
    assert not tool.matched or tool.matched in tool.complete


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_thresholds_of_genes_and_discoveries_are_told_before_approval(tool):
    for param in tool.params:
        threshold = param.name == "alpha" and re.search("adjusted|discovery|FDR", param.description, re.IGNORECASE)
        if threshold or param.name == "min_abs_lfc":
            assert param.decides, param.name


def test_marks_in_examples_are_closed_and_known():
    for example in all_examples():
        assert set(re.findall(r"\|(\w+)\}", example.text)) <= KINDS, example.text
        assert "{" not in example.plain, example.text


def test_what_plans_need_is_loaded_without_the_questions_and_those_are_read_when_asked_for(monkeypatch):
    own = {text for folder in fields() for text, miss in read_examples(folder / "questions.txt") if not miss}
    assert {(key, text) for key, one in ANALYSES.items() for text in one.examples} == {
        (example.analysis, example.plain) for example in own
    }
    monkeypatch.delattr("engine.toolbox.analyses.read_examples")
    assert load_analyses.__wrapped__() == ANALYSES


def test_near_misses_ask_for_another_analysis_than_their_place():
    for folder in fields():
        section = ""
        for line in (folder / "questions.txt").read_text(encoding="utf-8").splitlines():
            section = line[1:-1] if line.startswith("[") else section
            if line.startswith("!"):
                assert line.rpartition("=>")[2].strip() in ANALYSES, line
                assert line.rpartition("=>")[2].strip() != section, line


def test_a_near_miss_without_its_analysis_is_refused_by_line(tmp_path):
    path = tmp_path / "questions.txt"
    path.write_text("[a]\nWhich?\n! Which other one?\n")
    with pytest.raises(ValueError, match="line 3"):
        list(read_examples(path))


# ==== the trained chooser ====


def test_the_chooser_was_trained_on_the_examples_as_they_stand():
    assert model().sources == sources_hash(), "the example questions have changed: run `make planner`"
    assert model().analyses == sorted(ANALYSES)


@pytest.mark.parametrize("key", ANSWERED)
def test_the_chooser_ranks_an_example_of_its_own_among_three_by_words_alone(key):
    mine = [example for example in all_examples() if example.analysis == key]
    shares = probabilities([Wording(example.plain, example.masked) for example in mine], None)
    ranks = [sum(value > share[key] for value in share.values()) for share in shares]
    assert float(np.mean([rank < 3 for rank in ranks])) >= 0.95


def test_probabilities_sum_to_one_and_nonsense_is_not_sure():
    share = probabilities([Wording("zxqv brrm", "zxqv brrm")], None)[0]
    assert sum(share.values()) == pytest.approx(1, abs=1e-4)
    assert max(share.values()) < 0.5


def test_no_example_is_a_question_of_the_measuring_bank():
    beside = Path(__file__).resolve().parents[3] / "shared" / "data"
    bank = Path(os.environ.get("BIODESK_DEV_DATA", beside)) / "questions" / "questions.jsonl"
    if not bank.exists():
        pytest.skip("no questions/questions.jsonl in the development data; set BIODESK_DEV_DATA to their folder")

    def plain(text: str) -> str:
        return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()

    asked = {plain(json.loads(line)["question"]) for line in bank.read_text("utf-8").splitlines() if line.strip()}
    assert not asked & {plain(example.plain) for example in all_examples()}


# ==== the planner knows nothing by name ====


def test_no_file_of_the_planner_names_a_tool_or_a_field():
    names = {tool.name for tool in TOOLS} | {folder.name for folder in fields()} | set(ANALYSES)
    ordinary = {
        "general",
        "survival",
        "tables",
        "screens",
        "histogram",
    }  # words that are also plain English, or a key of Structure
    for path in sorted((ROOT / "engine" / "planning").rglob("*.py")):
        found = set(re.findall(r"[\"'`]([a-z_0-9]+)[\"'`]", path.read_text(encoding="utf-8"))) & (names - ordinary)
        found |= {
            word
            for word in re.findall(r"[a-z0-9_]+", path.read_text(encoding="utf-8"))
            if "_" in word and word in names
        }
        assert not found, f"{path.name} names {found}"
