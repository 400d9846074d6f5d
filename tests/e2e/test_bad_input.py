"""What people give by mistake is answered with one sentence that says what was wrong, through `biodesk ask`."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from growth_data import write_growth

from engine.cli.main import main

DE = "Which genes change with drug treatment compared to control?"


@pytest.fixture
def ask(tmp_path, monkeypatch, capsys):
    """Ask and return (exit code, stdout, stderr)."""
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.chdir(tmp_path)

    def run(question: str, *data: object, options: tuple[str, ...] = ()) -> tuple[int, str, str]:
        words = ["ask", question, "--workspace", str(tmp_path / "ws"), "--yes", "--quiet", *options]
        for path in data:
            words += ["--data", str(path)]
        code = main(words)
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


def refused(answer: tuple[int, str, str], *words: str) -> str:
    """Make sure that the answer is one clear sentence on stderr with exit code 2; return it."""
    code, stdout, stderr = answer
    assert code == 2, stdout + stderr
    assert stdout == ""
    assert "Traceback" not in stderr
    assert "pydantic" not in stderr
    text = stderr.strip()
    assert 20 < len(text) < 900, text
    assert len(text.splitlines()) == 1, text
    assert text.endswith((".", "?")) or "For example: " in text, text
    for word in words:
        assert word.lower() in text.lower(), f"{word!r} is not in: {text}"
    return text


def write_counts(folder: Path, samples: int = 6, genes: int = 60) -> tuple[Path, Path]:
    """Write simulated counts (seed 2) and a sample sheet with two halves, control and drug."""
    random = np.random.default_rng(2)
    names = [f"s{number}" for number in range(samples)]
    table = pd.DataFrame(random.negative_binomial(5, 0.05, (genes, samples)), columns=names)
    table.insert(0, "gene", [f"GENE{number}" for number in range(genes)])
    table.to_csv(folder / "counts.csv", index=False)
    treatment = ["control"] * (samples - samples // 2) + ["drug"] * (samples // 2)
    pd.DataFrame({"sample": names, "treatment": treatment}).to_csv(folder / "samples.csv", index=False)
    return folder / "counts.csv", folder / "samples.csv"


# ==== the question ====


@pytest.mark.parametrize("question", ["", "   ", "?!"])
def test_an_empty_question_is_refused(ask, growth_csv, question):
    refused(ask(question, growth_csv), "question is empty")


@pytest.mark.parametrize("question", ["hello there", "What is the meaning of life?", "asdf qwer zxcv"])
def test_a_question_about_nothing_in_the_data_is_refused_or_answered_with_a_description(ask, growth_csv, question):
    code, stdout, stderr = ask(question, growth_csv, options=("--json",))
    assert "Traceback" not in stderr
    document = json.loads(stdout)
    if code == 0:
        # A description of the table claims nothing; a test of some column would be invented.
        assert {node["tool"] for node in document["plan"]["nodes"]} <= {"summarize_table"}
        return
    assert code == 2
    assert document["error"]["message"]


def test_a_question_without_data_says_that_data_are_missing(ask):
    refused(ask("Which genes differ between treated and control?"), "no data file")


def test_a_question_on_survival_without_times_says_what_is_missing(ask, growth_csv):
    refused(ask("Does treatment prolong survival of the patients?", growth_csv), "time")


def test_a_column_that_is_not_there_is_not_guessed(ask, growth_csv):
    refused(ask("Is chlorophyll higher in treated than in control?", growth_csv), "chlorophyll")


def test_a_strategy_this_version_lacks_is_named(ask, growth_csv):
    refused(ask("Is growth higher in treated?", growth_csv, options=("--strategy", "panel")), "panel", "auto, dag")


# ==== the direction of a comparison ====


@pytest.mark.parametrize(
    ("question", "treated", "control"),
    [
        ("Is growth higher in treated than in control?", "treated", "control"),
        ("Is growth lower in control than in treated?", "treated", "control"),
        ("Compare growth in control versus treated", None, None),
        ("Is growth higher in control than in treated?", None, None),
    ],
)
def test_a_direction_said_the_other_way_round_never_swaps_the_numbers(ask, growth_csv, question, treated, control):
    # By construction growth is larger in the treated, whatever the words suggest.
    code, stdout, stderr = ask(question, growth_csv, options=("--json",))
    assert code == 0, stderr
    document = json.loads(stdout)
    node = next(n for n in document["plan"]["nodes"] if n["tool"] == "compare_groups")
    if treated:
        assert (node["params"]["treated"], node["params"]["control"]) == (treated, control)
    text = " ".join(finding["text"] for finding in document["findings"])
    assert "higher in treated" in text or "lower in control" in text or "larger in treated" in text, text
    assert "higher in control" not in text
    assert "lower in treated" not in text


# ==== the files ====


def test_a_file_that_is_not_there_is_named(ask, tmp_path):
    refused(ask("Compare growth by treatment", tmp_path / "nowhere.csv"), "nowhere.csv")


def test_a_folder_in_place_of_a_file_is_told(ask, tmp_path):
    (tmp_path / "folder").mkdir()
    refused(ask("Compare growth by treatment", tmp_path / "folder"), "folder")


def test_an_empty_file_is_told(ask, tmp_path):
    (tmp_path / "empty.csv").touch()
    refused(ask("Compare growth by treatment", tmp_path / "empty.csv"), "empty.csv", "empty")


def test_a_file_with_a_header_only_is_told(ask, tmp_path):
    (tmp_path / "bare.csv").write_text("treatment,growth\n")
    refused(ask("Compare growth by treatment", tmp_path / "bare.csv"), "bare.csv")


def test_a_binary_file_called_csv_is_told(ask, tmp_path):
    (tmp_path / "binary.csv").write_bytes(np.random.default_rng(1).bytes(5000))
    refused(ask("Compare growth by treatment", tmp_path / "binary.csv"), "binary.csv")


def test_a_damaged_h5ad_file_is_told(ask, tmp_path):
    (tmp_path / "cells.h5ad").write_bytes(b"\x89HDF\r\n\x1a\n" + np.random.default_rng(1).bytes(4000))
    refused(ask("Which cell types are in these cells?", tmp_path / "cells.h5ad"), "cells.h5ad")


def test_a_text_file_called_h5ad_is_told(ask, tmp_path):
    (tmp_path / "cells.h5ad").write_text("gene,cell\nA,1\n")
    refused(ask("Which cell types are in these cells?", tmp_path / "cells.h5ad"), "cells.h5ad")


# ==== counts and samples ====


def test_samples_that_do_not_match_are_told(ask, tmp_path):
    counts, samples = write_counts(tmp_path)
    samples.write_text(samples.read_text().replace("\ns", "\npatient_"))
    refused(ask(DE, counts, samples), "sample")


def test_counts_without_a_sample_sheet_say_that_it_is_missing(ask, tmp_path):
    counts, _ = write_counts(tmp_path)
    refused(ask(DE, counts), "sample")


def not_answered(answer: tuple[int, str, str], *words: str) -> None:
    """Make sure that no differential expression came out, and that the reason was told in a sentence."""
    code, stdout, stderr = answer
    assert "Traceback" not in stdout + stderr
    document = json.loads(stdout)
    if code == 2:
        told = document["error"]["message"] + document["error"]["advice"]
    else:
        assert code == 1, document["status"]
        step = next(n for n in document["nodes"] if n["tool"] == "differential_expression")
        assert step["status"] in ("failed", "skipped")
        told = " ".join(n["error"] for n in document["nodes"])
    for word in words:
        assert word in told.lower(), told


def test_two_samples_are_too_few_and_that_is_told(ask, tmp_path):
    counts, samples = write_counts(tmp_path, samples=2)
    not_answered(ask(DE, counts, samples, options=("--json",)), "replicate")


def test_normalised_values_are_not_taken_for_counts(ask, tmp_path):
    counts, samples = write_counts(tmp_path)
    table = pd.read_csv(counts, index_col=0)
    np.log2(table + 1).round(4).to_csv(counts)
    not_answered(ask(DE, counts, samples, options=("--json",)), "count")


def test_negative_counts_are_refused(ask, tmp_path):
    counts, samples = write_counts(tmp_path)
    table = pd.read_csv(counts, index_col=0)
    table.iloc[3, 2] = -7
    table.to_csv(counts)
    not_answered(ask(DE, counts, samples, options=("--json",)), "negative")


# ==== the same as JSON, and what is left behind ====


def test_with_json_an_error_is_one_document_on_stdout(ask, tmp_path):
    code, stdout, stderr = ask("Compare growth", tmp_path / "nowhere.csv", options=("--json",))
    assert code == 2
    assert stderr == ""
    assert set(json.loads(stdout)["error"]) == {"code", "message", "advice", "details"}


def test_a_parameter_that_does_not_fit_is_named_before_anything_runs(ask, growth_csv):
    question = "Is growth higher in treated than in control?"
    refused(ask(question, growth_csv, options=("--set", "n1.tset=welch")), "no parameter 'tset'", "test")
    refused(ask(question, growth_csv, options=("--set", "n1.test")), "NODE.PARAM=VALUE")
    refused(ask(question, growth_csv, options=("--set", "n1.test=guess")), "test must be one of")


def test_a_result_is_never_written_over_a_file_or_into_a_strange_folder(ask, tmp_path):
    path = write_growth(tmp_path / "growth.csv")
    question = "Is growth higher in treated than in control?"
    refused(ask(question, path, options=("--out", str(path))), "is a file")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.docx").write_text("years of work")
    refused(ask(question, path, options=("--out", str(tmp_path / "mine"))), "mine")
    assert (tmp_path / "mine" / "thesis.docx").read_text() == "years of work"
