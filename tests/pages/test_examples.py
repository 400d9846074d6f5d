"""The examples: real data from installed packages, the same bytes each time, nothing downloaded."""

from __future__ import annotations

import socket
import subprocess
import sys

import pytest

from engine.errors import NotFoundError, StorageError
from engine.examples import example_files, examples


@pytest.fixture
def offline(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise AssertionError("an example tried to reach the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)


def test_three_examples_name_their_source():
    assert len(examples()) == 3
    assert len({example.id for example in examples()}) == 3
    for example in examples():
        assert example.question.endswith("?")
        assert any(name in example.source for name in ("scanpy", "lifelines", "scikit-learn"))


def test_listing_examples_imports_no_heavy_library():
    code = (
        "import sys, engine.examples; engine.examples.examples();"
        "print([m for m in ('pandas', 'scanpy', 'lifelines', 'sklearn', 'numpy') if m in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_survival_example_is_the_published_trial(tmp_path, offline):
    import pandas as pd

    (path,) = example_files("breast_cancer_survival", tmp_path)
    table = pd.read_csv(path)
    # Schumacher et al. 1994 as analysed by Sauerbrei and Royston 1999: 686 patients, 299 events, 246 treated.
    assert len(table) == 686
    assert table["cens"].sum() == 299
    assert (table["horTh"] == "yes").sum() == 246


def test_nuclei_example_is_the_published_study(tmp_path, offline):
    import pandas as pd

    (path,) = example_files("tumour_nuclei", tmp_path)
    counts = pd.read_csv(path)["diagnosis"].value_counts()
    # Wisconsin Diagnostic Breast Cancer: 357 benign, 212 malignant (UCI Machine Learning Repository, data set 17).
    assert counts.to_dict() == {"benign": 357, "malignant": 212}


def test_blood_example_has_cells_and_labels(tmp_path, offline):
    import anndata

    (path,) = example_files("blood_cells", tmp_path)
    cells = anndata.read_h5ad(path, backed="r")
    assert cells.shape == (700, 765)
    assert "bulk_labels" in cells.obs


def test_files_are_written_once_and_the_same_everywhere(tmp_path):
    first = example_files("tumour_nuclei", tmp_path / "a")[0]
    stamp = first.stat().st_mtime_ns
    assert example_files("tumour_nuclei", tmp_path / "a")[0].stat().st_mtime_ns == stamp
    assert example_files("tumour_nuclei", tmp_path / "b")[0].read_bytes() == first.read_bytes()
    assert [path.name for path in (tmp_path / "a").iterdir()] == [first.name]


def test_unknown_example_is_refused_with_the_known_ones(tmp_path):
    with pytest.raises(NotFoundError) as caught:
        example_files("nothing", tmp_path)
    assert "blood_cells" in caught.value.advice


def test_folder_that_cannot_be_written_is_a_sentence(tmp_path):
    (tmp_path / "taken").write_text("a file, not a folder")
    with pytest.raises(StorageError, match="cannot be written"):
        example_files("tumour_nuclei", tmp_path / "taken")
