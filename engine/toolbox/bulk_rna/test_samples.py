"""Some samples of a matrix: what is left in the matrix and in its list, beside the same cut by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.toolbox.bulk_rna.intensities import differential_intensity
from engine.toolbox.bulk_rna.samples import features_beside_samples, keep_samples, keep_samples_of_intensities

NAMES = [f"S{at:02d}" for at in range(12)]
MATRIX = pd.DataFrame(
    np.random.default_rng(4).normal(20, 1, (50, 12)), columns=NAMES, index=[f"P{at}" for at in range(50)]
)
LIST = pd.DataFrame({"sample": NAMES, "arm": ["A", "B"] * 6, "visit": ["V1"] * 6 + ["V2"] * 6})


def test_matrix_and_list_hold_the_listed_samples_in_the_order_of_the_matrix():
    counts = MATRIX.round().astype(int)
    result = keep_samples(counts, LIST[LIST["visit"] == "V2"].sample(frac=1, random_state=1), sample="sample")
    assert list(result["kept"].columns) == list(result["samples"].index) == NAMES[6:]
    pd.testing.assert_frame_equal(result["kept"], counts[NAMES[6:]])
    assert list(result["samples"].columns) == ["arm", "visit"]
    assert result["findings"][0]["text"].startswith("6 of 12 samples")
    assert not result["warnings"], "what was left out on purpose is no warning"


def test_proteins_of_some_samples_are_compared_as_if_the_files_had_been_cut_by_hand():
    own = LIST["visit"] == "V1"
    kept = keep_samples_of_intensities(MATRIX, LIST[own], sample="sample")
    groups = {"condition": "arm", "treated": "B", "control": "A"}
    ours = differential_intensity(kept["kept"], kept["samples"], **groups)["de_table"]
    by_hand = differential_intensity(MATRIX[NAMES[:6]], LIST[own].set_index("sample"), **groups)["de_table"]
    pd.testing.assert_frame_equal(ours, by_hand)


def test_names_that_share_a_beginning_with_those_of_the_matrix_are_found():
    matrix = MATRIX.add_prefix("LFQ intensity ")
    result = keep_samples_of_intensities(matrix, LIST[:4], sample="sample")
    assert list(result["kept"].columns) == list(matrix.columns[:4])


@pytest.mark.parametrize(
    ("table", "sample", "says"),
    [
        (LIST, "name", "name"),
        (LIST.assign(sample="x"), "sample", "No sample of the sheet"),
        (pd.concat([LIST, LIST[:1]]), "sample", "several rows for S00"),
    ],
)
def test_a_list_of_other_samples_is_refused_in_a_sentence(table, sample, says):
    with pytest.raises(ValueError, match=says):
        keep_samples(MATRIX.round(), table, sample=sample)


def test_features_stand_beside_the_samples_they_were_measured_in():
    matrix = MATRIX.copy()
    matrix.iloc[3, 0] = np.nan
    listed = LIST[LIST["arm"] == "A"].sample(frac=1, random_state=3)
    result = features_beside_samples(matrix, listed, features=["p3", "P7"], sample="sample")
    beside = result["beside"].set_index("sample")
    assert list(beside.columns) == ["arm", "visit", "p3", "P7"]
    pd.testing.assert_series_equal(beside["P7"], matrix.loc["P7", beside.index], check_names=False)
    assert "p3 is missing in 1" in result["findings"][0]["text"]


@pytest.mark.parametrize(
    ("features", "table", "says"),
    [(["P99"], LIST, "no feature P99"), (["P1"], LIST.assign(P1=1), "'P1' is a column of the samples already")],
)
def test_features_that_cannot_stand_beside_are_refused(features, table, says):
    with pytest.raises(ValueError, match=says):
        features_beside_samples(MATRIX, table, features=features, sample="sample")
