"""What a table is taken for decides which tests are run on it, so each decision has a file here."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import profile_files as make
import pytest

from engine.data.catalogue import read_data
from engine.data.kinds.table import read_table
from engine.data.profiler import profile_file
from engine.domain.datatypes import DataType
from engine.domain.profile import Profile

COUNTS = make.counts()


def profiled(path: Path, frame: pd.DataFrame, **options: object) -> Profile:
    return profile_file(make.write(path, make.csv_text(frame, **options)))


def types(profile: Profile) -> list[str]:
    return [guess.type.value for guess in profile.types]


def test_raw_counts_are_summed_up_for_a_biologist(tmp_path: Path) -> None:
    profile = profiled(tmp_path / "c.csv", COUNTS)
    assert profile.summary == "200 genes x 6 samples of raw counts (Ensembl human gene ids)"
    assert (profile.feature_kind, profile.organism) == ("ensembl", "human")
    assert profile.sample_ids == make.SAMPLES
    assert profile.feature_ids == make.ensembl(200)
    assert DataType.EXPRESSION_MATRIX not in types(profile)


@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        (lambda v: np.log2(v + 1), "expression_matrix", "look log-transformed"),
        (lambda v: v / v.sum() * 1e6, "expression_matrix", "sums to one million"),
        (lambda v: v / 3.7, "expression_matrix", "already normalised"),
        (lambda v: v - 5, "expression_matrix", "negative value"),
        (lambda v: (v > 50).astype(int), "expression_matrix", "only 0 and 1"),
        (lambda v: v * 40 + 0.37 * (v.to_numpy() % 3 == 0), "count_matrix", "estimated counts"),
    ],
)
def test_values_that_are_no_counts_are_told_apart(tmp_path: Path, change, kind: str, sentence: str) -> None:
    profile = profiled(tmp_path / "m.csv", make.numbers(COUNTS, change))
    assert profile.best is not None
    assert profile.best.type == kind
    assert profile.best.confidence < 0.7 or kind == "expression_matrix"
    assert sum(sentence in warning for warning in profile.warnings) == 1
    if kind == "expression_matrix":
        assert "count_matrix" not in types(profile)


def test_negative_values_are_counted_exactly(tmp_path: Path) -> None:
    frame = COUNTS.copy()
    frame.loc[[3, 8], "ctrl_2"] = -1
    frame.loc[5, "treat_1"] = -2
    profile = profiled(tmp_path / "m.csv", frame)
    assert any("has 3 negative values, so these are not counts" in warning for warning in profile.warnings)


def test_missing_and_empty_samples_are_reported_with_numbers(tmp_path: Path) -> None:
    frame = COUNTS.astype({"ctrl_1": float})
    frame.loc[[1, 2], "ctrl_1"] = np.nan
    frame["treat_3"] = 0
    frame["treat_2"] = frame["treat_2"] * 200
    warnings = " ".join(profiled(tmp_path / "m.csv", frame).warnings)
    assert "2 missing values in 2 rows" in warnings
    assert "1 sample with a total of zero ('treat_3')" in warnings
    assert "library sizes differ" in warnings


def test_repeated_rows_and_columns_are_reported(tmp_path: Path) -> None:
    frame = pd.concat([COUNTS, COUNTS.head(3)])
    frame.columns = ["gene_id", "a_1", "a_2", "a_2", "b_1", "b_2", "b_3"]
    warnings = " ".join(profiled(tmp_path / "m.csv", frame).warnings)
    assert "3 row names used more than once" in warnings
    assert "'a_2'" in warnings


def test_genes_that_became_dates_are_found(tmp_path: Path) -> None:
    genes = [*make.SYMBOLS[:-3], "2-Sep", "1-Mar", "Dec-01"]
    profile = profiled(tmp_path / "m.csv", make.counts(genes, name="gene"))
    assert profile.best is not None
    assert profile.best.type == "count_matrix"
    assert any("3 gene names turned into dates" in warning for warning in profile.warnings)


def test_totals_of_counting_programs_are_no_genes(tmp_path: Path) -> None:
    frame = make.counts([*make.ensembl(50), "__no_feature", "__ambiguous"])
    assert any("2 rows" in w and "__no_feature" in w for w in profiled(tmp_path / "m.csv", frame).warnings)


@pytest.mark.parametrize(
    ("genes", "kind", "organism"),
    [
        (make.ensembl(60, "MUS"), "ensembl", "mouse"),
        ([f"{gene}.{i % 9 + 1}" for i, gene in enumerate(make.ensembl(60))], "ensembl", "human"),
        (make.SYMBOLS, "symbol", "human"),
        ([gene.capitalize() for gene in make.SYMBOLS if "-" not in gene], "symbol", "mouse"),
        ([str(100 + 13 * i) for i in range(60)], "entrez", None),
    ],
)
def test_gene_names_tell_their_kind_and_organism(
    tmp_path: Path, genes: list[str], kind: str, organism: str | None
) -> None:
    profile = profiled(tmp_path / "m.csv", make.counts(genes, name="entrez_id" if kind == "entrez" else "id"))
    assert (profile.feature_kind, profile.organism) == (kind, organism)
    assert profile.best is not None
    assert profile.best.type == "count_matrix"
    assert list(read_data(profile.path, "count_matrix", **profile.best.read).index) == genes


def test_annotation_columns_are_dropped_from_the_matrix(tmp_path: Path) -> None:
    frame = COUNTS.copy()
    frame.insert(1, "gene_name", [f"G{i}" for i in range(200)])
    frame.insert(2, "length", 1500)
    profile = profiled(tmp_path / "m.csv", frame)
    assert profile.best is not None
    assert profile.best.read["drop"] == ["gene_name", "length"]
    assert [column.name for column in profile.column_profiles] == ["gene_name", "length"]
    assert list(read_data(profile.path, "count_matrix", **profile.best.read).columns) == make.SAMPLES


def test_paired_design_is_seen_in_the_sample_sheet(tmp_path: Path) -> None:
    profile = profiled(tmp_path / "s.csv", make.sheet())
    assert types(profile)[0] == "sample_sheet"
    assert profile.sample_ids == make.SAMPLES
    roles = {column.name: column.roles[0].role for column in profile.column_profiles}
    assert roles == {"sample": "id", "condition": "group", "donor": "pair", "age": "covariate"}
    donor = profile.column("donor")
    assert donor is not None
    assert donor.roles[0].why == "each of its 3 levels occurs once in every level of condition"


def test_pairing_is_seen_without_a_telling_name(tmp_path: Path) -> None:
    frame = make.sheet().rename(columns={"donor": "origin"})
    column = profiled(tmp_path / "s.csv", frame).column("origin")
    assert column is not None
    assert column.role("pair") >= 0.7 > column.role("group")


def test_nested_donors_are_not_called_crossed(tmp_path: Path) -> None:
    frame = make.sheet().assign(donor=["D1", "D1", "D2", "D3", "D3", "D4"])
    column = profiled(tmp_path / "s.csv", frame).column("donor")
    assert column is not None
    assert 0 < column.role("pair") < 0.6


def test_batches_are_no_pairs(tmp_path: Path) -> None:
    column = profiled(tmp_path / "s.csv", make.sheet().rename(columns={"donor": "batch"})).column("batch")
    assert column is not None
    assert column.roles[0].role == "batch"


def test_word_none_read_as_missing_is_said(tmp_path: Path) -> None:
    frame = make.sheet().assign(condition=["None"] * 3 + ["drug"] * 3)
    assert any("3 cells of 'condition' hold the word 'None'" in w for w in profiled(tmp_path / "s.csv", frame).warnings)


@pytest.mark.parametrize("ending", [".csv", ".xlsx"])
def test_none_among_words_is_a_level_and_among_numbers_no_value(tmp_path: Path, ending: str) -> None:
    frame = pd.DataFrame({"relief": ["None", "some", "full"] * 8, "score": ["None", "3", "4"] * 8, "cow": range(24)})
    path = tmp_path / f"relief{ending}"
    frame.to_csv(path, index=False) if ending == ".csv" else frame.to_excel(path, index=False)
    profile = profile_file(path)
    column, score = profile.column("relief"), profile.column("score")
    assert column is not None
    assert score is not None
    assert (column.levels, column.missing) == ({"none": 8, "some": 8, "full": 8}, 0)
    assert score.missing == 8
    read = read_table(path, **profile.types[0].read)
    assert read["relief"].value_counts().to_dict() == {"none": 8, "some": 8, "full": 8}
    again = tmp_path / "again.csv"
    read.to_csv(again, index=False)  # as one step hands it to the next
    assert pd.read_csv(again)["relief"].isna().sum() == 0


def test_none_beside_yes_and_no_is_no_level(tmp_path: Path) -> None:
    frame = pd.DataFrame({"died": ["yes", "no", "None"] * 8, "cow": range(24)})
    column = profiled(tmp_path / "cows.csv", frame).column("died")
    assert column is not None
    assert (column.scale, column.missing) == ("binary", 8)


def test_levels_spelled_twice_are_reported(tmp_path: Path) -> None:
    frame = make.sheet().assign(condition=["pre-treated", "pre treated", "pre treated", "mock", "mock", "mock"])
    profile = profiled(tmp_path / "s.csv", frame)
    assert any("differ only by case, hyphens or blanks are one level" in w for w in profile.warnings)
    column = profile.column("condition")
    assert column is not None
    assert column.levels == {"pre treated": 3, "mock": 3}, (
        "they would be two groups, and one is lost where one is named"
    )


def test_hyphens_tell_numbers_and_ends_apart(tmp_path: Path) -> None:
    frame = make.sheet().assign(
        condition=["1-2", "12", "WT-", "WT", "T-bar", "Tbar"], visit=["D-1", "D1", "Day -1", "Day 1", "Day-1", "Day1"],
        line=["Col-0", "Col0", "Col-0", "x", "x", "x"],
    )  # fmt: skip
    profile = profiled(tmp_path / "s.csv", pd.concat([frame] * 3))
    levels = {name: {*profile.column(name).levels} for name in ("condition", "visit", "line")}
    assert levels["condition"] == {"1-2", "12", "WT-", "WT", "T-bar"}
    assert levels["visit"] == {"D-1", "D1", "Day -1", "Day 1", "Day-1"}, "a day before is no day after"
    assert levels["line"] == {"Col-0", "x"}


def test_numbers_mixed_with_levels_stay_text_and_are_reported(tmp_path: Path) -> None:
    frame = pd.concat([make.sheet()] * 3).assign(dose=["control", "control", *[str(i / 2) for i in range(16)]])
    profile = profiled(tmp_path / "s.csv", frame)
    assert "'dose' is numbers except for 2 cells ('control')" in " ".join(profile.warnings)
    assert list(read_data(profile.path, "table", **profile.types[0].read)["dose"])[:2] == ["control"] * 2


def test_missing_marks_spare_columns_where_they_mean_something(tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": list("abcdef"), "strand": list("+-+-+-"), "score": ["1", "-", "3", "4", "5", "6"]})
    profile = profiled(tmp_path / "s.csv", frame)
    read = read_data(profile.path, "table", **profile.types[0].read)
    assert list(read["strand"]) == list("+-+-+-")
    assert read["score"].isna().sum() == 1
    assert read["score"].dtype == float


@pytest.mark.parametrize("coding", [(0, 1), (1, 2), ("Alive", "Dead"), (False, True)])
def test_survival_data_are_seen_in_every_coding(tmp_path: Path, coding) -> None:
    rng = np.random.default_rng(0)
    path = make.survival(tmp_path / "s.csv", os_status=[coding[i] for i in rng.integers(0, 2, 60)])
    profile = profile_file(path)
    assert types(profile)[0] == "survival_table"
    assert "table" in types(profile)
    assert profile.details["survival"] == {"time": "os_days", "event": "os_status"}


def test_three_event_codes_are_questioned(tmp_path: Path) -> None:
    profile = profile_file(make.survival(tmp_path / "s.csv", os_status=[0, 1, 2] * 20))
    assert any("three codes (0, 1, 2)" in warning for warning in profile.warnings)


def test_time_without_event_is_only_a_table(tmp_path: Path) -> None:
    frame = pd.DataFrame({"time": [0, 1, 2, 4, 8, 24], "concentration": [1, 5, 4, 3, 2, 1.5]})
    assert types(profiled(tmp_path / "pk.csv", frame)) == ["table"]


@pytest.mark.parametrize(
    "names",
    [
        ("log2FoldChange", "pvalue", "padj"), ("logFC", "PValue", "FDR"), ("logFC", "P.Value", "adj.P.Val"),
        ("avg_log2FC", "p_val", "p_val_adj"), ("logfoldchanges", "pvals", "pvals_adj"),
        ("log2_fold_change", "p_value", "p_adj"),
    ],
)  # fmt: skip
def test_results_of_each_program_are_a_de_table(tmp_path: Path, names: tuple[str, str, str]) -> None:
    profile = profiled(tmp_path / "de.csv", make.results(make.SYMBOLS, names))
    assert types(profile)[0] == "de_table"
    assert profile.details["result_columns"] == dict(
        zip(("gene", "log2_fold_change", "p_value", "p_adj"), ("gene", *names), strict=True)
    )


def test_results_with_unnamed_genes_get_a_gene_column(tmp_path: Path) -> None:
    frame = make.results(make.SYMBOLS).set_index("gene").rename_axis(None)
    profile = profile_file(make.write(tmp_path / "de.csv", frame.to_csv()))
    assert types(profile)[0] == "de_table"
    assert list(read_data(profile.path, "de_table", **profile.types[0].read)["gene"]) == make.SYMBOLS


def test_enrichment_results_are_recognised(tmp_path: Path) -> None:
    frame = pd.DataFrame({"Term": ["A", "B", "C"], "Overlap": ["3/10", "2/9", "1/8"], "P-value": [0.01, 0.02, 0.5],
                          "Adjusted P-value": [0.03, 0.03, 0.5], "Genes": ["TP53;MYC", "JUN", "FOS"]})  # fmt: skip
    assert types(profiled(tmp_path / "e.csv", frame))[0] == "enrichment_table"


@pytest.mark.parametrize("header", ["", "gene\n", "Gene name\n", "# chosen by hand\nHGNC symbol\n"])
def test_gene_list_is_read_with_and_without_header(tmp_path: Path, header: str) -> None:
    path = make.write(tmp_path / "genes.txt", header + "\n".join(make.SYMBOLS) + "\n")
    profile = profile_file(path)
    assert types(profile)[0] == "gene_list"
    assert profile.summary == "A list of 40 genes (human gene symbols)"
    assert read_data(str(path), "gene_list", **profile.types[0].read) == make.SYMBOLS


def test_ordinary_table_is_not_taken_for_a_matrix(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"plant": [f"p{i}" for i in range(60)], "height_cm": rng.normal(50, 9, 60),
                          "leaves": rng.integers(3, 9, 60),
                          "mass_mg": rng.normal(9000, 90, 60)})  # fmt: skip
    assert types(profiled(tmp_path / "t.csv", frame))[0] == "table"


def test_one_numeric_column_is_a_table(tmp_path: Path) -> None:
    profile = profile_file(make.write(tmp_path / "one.csv", "height\n" + "\n".join(map(str, range(20))) + "\n"))
    assert types(profile) == ["table"]
    assert read_data(profile.path, "table", **profile.types[0].read).shape == (20, 1)


def test_clinical_markers_are_not_genes_as_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"patient": [f"P{i}" for i in range(30)], "sex": ["m", "f"] * 15,
                          "CD4": rng.integers(100, 900, 30),
                          "CD8": rng.integers(100, 900, 30), "WBC": rng.normal(7, 1, 30),
                          "AGE": rng.integers(20, 80, 30)})  # fmt: skip
    assert "count_matrix" not in types(profiled(tmp_path / "t.csv", frame))


def test_columns_that_state_their_unit_are_measurements_and_no_samples(tmp_path) -> None:
    rng = np.random.default_rng(2)
    table = pd.DataFrame({f"milk day{day} (l)": rng.normal(20, 2, 36).round(1) for day in (0, 7, 14, 21)})
    table.insert(0, "Cow", [f"cow {n}" for n in range(36)])
    table.to_csv(tmp_path / "cows.csv", index=False)
    profile = profile_file(tmp_path / "cows.csv")
    assert profile.types[0].type is DataType.TABLE
    assert not any("log-transformed" in warning for warning in profile.warnings)
