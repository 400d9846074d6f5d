"""Tables of taxa as people have them: taxa in rows or columns, lineages or plain names, counts or shares; and what is none."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.catalogue import read_data
from engine.data.columns.taxa import are_taxa, short_name, taxa_across
from engine.data.profiler import profile_files
from engine.domain.datatypes import DataType

CHANCE = np.random.default_rng(3)
GENERA = [
    "Bacteroides",
    "Alistipes",
    "Muribaculum",
    "Blautia",
    "Roseburia",
    "Akkermansia",
    "Lactobacillus",
    "Bilophila",
]
SAMPLES = [f"M{n:02d}" for n in range(1, 7)]


def profiled(folder, name, text):
    path = folder / name
    path.write_text(text)
    return profile_files([path])[0]


def counts(rows, high=400):
    return pd.DataFrame(CHANCE.integers(0, high, (len(rows), len(SAMPLES))), index=rows, columns=SAMPLES)


def as_taxa(profile):
    return profile.serves_as("abundance_table")


@pytest.mark.parametrize(
    ("header", "rows"),
    [
        ("Genus", GENERA),
        ("#OTU ID", [4479944 + n for n in range(8)]),
        ("", [f"k__Bacteria;p__Firmicutes;g__{name}" for name in GENERA]),
        ("taxonomy", [f"d__Bacteria;p__P;g__{name}" for name in GENERA]),
        ("Feature ID", [f"{n:032x}" for n in range(8)]),
        ("ASV", [f"ASV{n}" for n in range(8)]),
        (
            "species",
            ["Poa annua", "Bellis perennis", "Galium verum", "Lolium perenne", "Plantago major", "Festuca rubra"],
        ),
    ],
)
def test_taxa_in_rows_are_known_by_heading_or_names(tmp_path, header, rows):
    frame = counts(rows)
    frame.index.name = header
    profile = profiled(tmp_path, "taxa.tsv", frame.to_csv(sep="\t"))
    assert profile.best.type is DataType.ABUNDANCE_TABLE
    assert profile.summary.startswith(f"{len(rows)} taxa x 6 samples of counts")
    assert profile.sample_ids == SAMPLES
    assert profile.serves_as("count_matrix"), "a test of counts can still be asked for"
    assert (
        read_data(profile.path, "abundance_table", **as_taxa(profile).read).to_numpy().tolist()
        == frame.to_numpy().tolist()
    )


def test_lineages_beside_otus_and_a_remark_above_the_header_are_read(tmp_path):
    frame = counts([f"OTU_{n}" for n in range(8)]).assign(taxonomy=[f"k__B; g__{name}" for name in GENERA])
    frame.index.name = "#OTU ID"
    profile = profiled(tmp_path, "otu.tsv", "# Constructed from biom file\n" + frame.to_csv(sep="\t"))
    table = read_data(profile.path, "abundance_table", **as_taxa(profile).read)
    assert list(table.columns) == SAMPLES
    assert table.attrs["lineages"]["OTU_2"] == "k__B; g__Muribaculum"


def test_ranks_in_columns_of_their_own_become_one_lineage(tmp_path):
    frame = counts([f"ASV{n}" for n in range(8)])
    frame.insert(0, "Phylum", ["Firmicutes"] * 7 + [None])
    frame.insert(1, "Genus", GENERA)
    frame.index.name = "ASV"
    profile = profiled(tmp_path, "asv.csv", frame.to_csv())
    table = read_data(profile.path, "abundance_table", **as_taxa(profile).read)
    assert table.attrs["lineages"]["ASV0"] == "p__Firmicutes;g__Bacteroides"
    assert table.attrs["lineages"]["ASV7"] == "g__Bilophila"


def test_relative_abundances_are_not_said_to_be_logarithms(tmp_path):
    frame = counts(GENERA) + 1
    shares = (100 * frame / frame.sum()).round(3)
    shares.index.name = "Genus"
    profile = profiled(tmp_path, "shares.csv", shares.to_csv())
    assert profile.best.type is DataType.ABUNDANCE_TABLE
    assert "relative abundances" in profile.summary
    assert not any("log" in warning for warning in profile.warnings)


def test_taxa_in_columns_are_also_a_table_of_samples(tmp_path):
    frame = counts(GENERA).T.assign(habitat=["wood", "field"] * 3)
    frame.index.name = "sample"
    profile = profiled(tmp_path, "wide.csv", frame.to_csv())
    assert profile.serves_as("table") or profile.serves_as("sample_sheet")
    table = read_data(profile.path, "abundance_table", **as_taxa(profile).read)
    assert list(table.columns) == SAMPLES
    assert sorted(table.index) == sorted(GENERA)
    sheets = [guess for guess in profile.types if guess.type is DataType.SAMPLE_SHEET and guess.read.get("drop")]
    assert list(read_data(profile.path, "sample_sheet", **sheets[0].read).columns) == ["habitat"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"patient": range(1, 9), "Heart rate": 70, "Body weight": 60, "Blood glucose": 5, "Total cholesterol": 4,
                      "Serum albumin": 40, "Systolic pressure": 120}),
        pd.DataFrame({"gene": ["Actb", "Gapdh", "Cd4", "Il6", "Tnf", "Stat1"], "ctrl_1": 5, "ctrl_2": 7, "drug_1": 9}),
        pd.DataFrame({"species": ["Adelie", "Gentoo", "Chinstrap"] * 4, "bill_mm": range(12), "mass_g": range(3000, 3012)}),
        pd.DataFrame({"Genus": GENERA, "rho": np.linspace(-1, 1, 8), "delta": np.linspace(-2, 3, 8), "z": np.linspace(-3, 2, 8)}),
        pd.DataFrame({"id": range(8), **{name: np.linspace(0.1, 9.3, 8) for name in GENERA}}),
    ],
)  # fmt: skip
def test_what_is_no_table_of_taxa_is_not_taken_for_one(tmp_path, frame):
    assert as_taxa(profiled(tmp_path, "other.csv", frame.to_csv(index=False))) is None


def test_a_matrix_of_nameless_counts_may_be_of_taxa_and_one_of_genes_may_not(tmp_path):
    nameless = counts([f"x{n}q" for n in range(40)])
    profile = profiled(tmp_path, "nameless.csv", nameless.to_csv())
    assert profile.best.type is DataType.COUNT_MATRIX
    assert as_taxa(profile).confidence < 0.5
    genes = counts([f"ENSG{n:011d}" for n in range(40)])
    assert as_taxa(profiled(tmp_path, "genes.csv", genes.to_csv())) is None


def test_names_of_taxa_are_told_from_other_names():
    assert are_taxa(["Poa annua", "Galium verum"], "species")
    assert not are_taxa(["Heart rate", "Body weight"], "name")
    assert (
        taxa_across(["Heart rate", "Body weight", "Blood glucose", "Serum albumin", "Total fat", "Mean arterial"]) == []
    )
    assert short_name("k__Bacteria;p__F;g__Blautia;s__") == "Blautia"
    assert short_name("Bacteroides") == "Bacteroides"
