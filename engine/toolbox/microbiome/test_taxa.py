"""Tables of taxa as they come: lineages, ranks, cells that cannot be, and samples that stand in one file only."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.catalogue import read_data, write_data
from engine.toolbox.microbiome.samples import keep_samples_of_taxa
from engine.toolbox.microbiome.taxa import (
    beside_samples,
    clr_of,
    levels_compared,
    lineage_names,
    pseudocount_of,
    small_samples,
    taxa_table,
    with_reads,
)


def table(rows, samples, lineages=None, header="taxon"):
    frame = pd.DataFrame.from_dict(rows, orient="index", columns=samples)
    frame.index.name = header
    if lineages:
        frame.attrs["lineages"] = lineages
    return frame


@pytest.mark.parametrize(
    ("text", "genus", "phylum"),
    [
        ("k__Bacteria;p__Firmicutes;c__C;o__O;f__F;g__Blautia;s__", "Blautia", "Firmicutes"),
        ("d__Bacteria; p__Bacteroidota; g__Alistipes", "Alistipes", "Bacteroidota"),
        ("k__Bacteria|p__Firmicutes|g__uncultured", None, "Firmicutes"),
        ("Bacteria;Firmicutes;Clostridia;Clostridiales;Lachnospiraceae;Roseburia", "Roseburia", "Firmicutes"),
    ],
)
def test_a_lineage_is_read_by_its_marks_or_places(text, genus, phylum):
    found = lineage_names(text)
    assert (found.get("genus"), found.get("phylum")) == (genus, phylum)


def test_rows_are_summed_at_the_rank_that_is_asked_for():
    lineages = {"1": "p__F;g__A", "2": "p__F;g__B", "3": "p__F;g__A", "4": "p__Q"}
    asvs = table({"1": [1, 2], "2": [10, 20], "3": [100, 200], "4": [5, 6]}, ["x", "y"], lineages, "#OTU ID")
    genera, noun, _ = taxa_table(asvs, "genus")
    assert noun == "genera"
    assert genera["x"].to_dict() == {"A": 101, "B": 10, "unclassified Q": 5}
    assert taxa_table(asvs, "phylum")[0]["y"].to_dict() == {"F": 222, "Q": 6}
    assert taxa_table(asvs, "as_given")[1] == "OTUs"


def test_of_a_table_of_all_ranks_one_rank_is_used():
    shares = table(
        {"k__B": [100.0], "k__B|p__F": [60.0], "k__B|p__Q": [40.0], "k__B|p__F|s__f": [60.0], "k__B|p__Q|s__q": [40.0]},
        ["x"],
    )
    frame, _, notes = taxa_table(shares, "as_given")
    assert frame["x"].to_dict() == {"f": 60.0, "q": 40.0}
    assert "contain each other" in notes[0]
    assert taxa_table(shares, "phylum")[0]["x"].to_dict() == {"F": 60.0, "Q": 40.0}
    with pytest.raises(ValueError, match="No row of the table is of the rank genus"):
        taxa_table(shares, "genus")


def test_genera_without_lineages_are_not_taken_for_phyla():
    genera = table({"A": [1], "B": [2]}, ["x"], header="Genus")
    assert taxa_table(genera, "genus")[1] == "genera"
    with pytest.raises(ValueError, match="cannot be summed to phyla"):
        taxa_table(genera, "phylum")


def test_taxa_on_several_rows_are_added_up_and_empty_cells_are_none_found():
    frame = pd.DataFrame([[1, 2], [3, np.nan], [5, 6]], index=["A", "A", "B"], columns=["x", "y"])
    clean, _, notes = taxa_table(frame, "as_given")
    assert clean.loc["A"].tolist() == [4, 2]
    assert any("added up" in note for note in notes)
    assert any("1 empty cells" in note for note in notes)


@pytest.mark.parametrize(
    ("frame", "says"),
    [
        (table({"A": [1, -2]}, ["x", "y"]), "1 negative values .first of 'A' in sample 'y'"),
        (table({"A": [1, np.inf]}, ["x", "y"]), "1 infinite"),
        (table({"A": [1, "many"]}, ["x", "y"]), "holds text"),
        (table({"A": [1, 2]}, ["x", "x"]), "more than one column for sample x"),
        (pd.DataFrame(columns=["x"]), "0 rows and 1 samples"),
    ],
)
def test_what_cannot_be_is_refused_in_a_sentence(frame, says):
    with pytest.raises(ValueError, match=says):
        taxa_table(frame, "as_given")


def test_samples_without_reads_and_with_few_are_told():
    frame = pd.DataFrame(
        {"a": [1000, 3000], "b": [2000, 1000], "c": [10, 2], "d": [0, 0]}, index=["A", "B"], dtype=float
    )
    kept, notes = with_reads(frame)
    assert list(kept.columns) == ["a", "b", "c"]
    assert notes == ["Samples in which nothing was found are left out: d."]
    assert "c (12)" in small_samples(kept)[0]
    with pytest.raises(ValueError, match="every value is 0"):
        with_reads(frame * 0)


def test_samples_of_one_file_only_are_left_out_and_told():
    frame = pd.DataFrame({"a": [1], "b": [2], "c": [3]}, index=["A"], dtype=float)
    sheet = pd.DataFrame({"g": ["u", "v", None, "v"]}, index=["b", "a", "c", "z"])
    kept, own, notes = beside_samples(frame, sheet, ["g", ""])
    assert list(kept.columns) == list(own.index) == ["a", "b"]
    assert any("z" in note for note in notes)
    assert any("no value of g: c" in note for note in notes)


def test_the_reference_is_named_or_reads_like_a_control_and_stands_last():
    labels = pd.Series(["HFD", "chow", "HFD"])
    assert levels_compared(labels, "diet", "", "")[0] == ["HFD", "chow"]
    assert levels_compared(labels, "diet", "chow", "hfd")[0] == ["chow", "HFD"]
    assert levels_compared(pd.Series(["b", "c", "a"]), "site", "", "a")[0] == ["b", "c", "a"]
    levels, notes = levels_compared(pd.Series(["b", "c", "a"]), "site", "b", "c")
    assert (levels, notes) == (["b", "c"], ["Samples of other levels of site are left out: a."])
    with pytest.raises(ValueError, match="no level 'x'"):
        levels_compared(labels, "diet", "x", "chow")
    with pytest.raises(ValueError, match="Both sides"):
        levels_compared(labels, "diet", "chow", "chow")


def test_centred_log_ratios_by_hand():
    """Of 1, 2 and 4 the logarithms to base 2 are 0, 1 and 2, whose mean is 1."""
    ratios = clr_of(pd.DataFrame({"x": [1.0, 2.0, 4.0]}), 0.0)
    assert ratios["x"].tolist() == [-1, 0, 1]
    assert pseudocount_of(pd.DataFrame({"x": [0.0, 3.0]}), 0.0)[0] == 0.5
    assert pseudocount_of(pd.DataFrame({"x": [0.0, 0.25]}), 0.0)[0] == 0.125
    assert pseudocount_of(pd.DataFrame({"x": [0.0, 3.0]}), 1.0) == (1.0, "1 added to every value")


def test_a_stored_table_keeps_its_lineages(tmp_path):
    frame = table({"1": [1, 2], "2": [3, 4]}, ["x", "y"], {"1": "g__A", "2": "g__B"})
    sheet = pd.DataFrame({"sample": ["y"], "g": ["u"]})
    kept = keep_samples_of_taxa(frame, sheet, sample="sample")["kept"]
    name = write_data(kept, str(tmp_path / "kept"), "abundance_table")
    again = read_data(name, "abundance_table", index_col=0)
    assert again.attrs["lineages"] == {"1": "g__A", "2": "g__B"}
    assert again["y"].to_dict() == {"1": 2, "2": 4}
    assert taxa_table(again, "genus")[0]["y"].to_dict() == {"A": 2, "B": 4}


def test_a_list_of_other_samples_is_refused():
    with pytest.raises(ValueError, match="No sample of the sheet"):
        keep_samples_of_taxa(table({"1": [1]}, ["x"]), pd.DataFrame({"sample": ["q"]}), sample="sample")
