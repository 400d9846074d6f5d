"""The profiler on real files, where they are at hand; their facts are those published with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.data.catalogue import read_data
from engine.data.matching import cross_check, match_samples
from engine.data.profiler import profile_file
from engine.domain.profile import Profile

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the development data are not beside the project")


def best(profile: Profile) -> str | None:
    return profile.best.type.value if profile.best else None


def test_airway_counts_are_raw_counts_of_eight_samples() -> None:
    path = DATA / "airway" / "airway_rawcounts.csv"
    profile = profile_file(path)
    assert profile.summary == "64,102 genes x 8 samples of raw counts (Ensembl human gene ids)"
    assert profile.warnings == []
    assert profile.best is not None
    assert profile.best.read == {"sep": ",", "index_col": "ensgene"}
    counts = read_data(str(path), "count_matrix", **profile.best.read)
    assert counts.shape == (64102, 8)
    assert {k: int(v) for k, v in profile.details["library_sizes"].items()} == counts.sum().to_dict()


def test_airway_design_is_paired_by_cell_line() -> None:
    counts = profile_file(DATA / "airway" / "airway_rawcounts.csv")
    sheet = profile_file(DATA / "airway" / "airway_metadata.csv")
    assert best(sheet) == "sample_sheet"
    roles = {column.name: column.roles[0].role for column in sheet.column_profiles}
    assert roles == {"id": "id", "dex": "group", "celltype": "pair", "geo_id": "id"}
    assert match_samples(counts, sheet)[:5] == (None, 8, [], [], 1.0)
    assert cross_check([counts, sheet]) == []
    library = profile_file(DATA / "gene_sets" / "h.all.v7.0.symbols.gmt")
    assert "matched through a gene table" in cross_check([counts, sheet, library])[0]


@pytest.mark.parametrize(
    ("name", "sets"),
    [("h.all", 50), ("c2.cp.kegg", 186), ("c2.cp.reactome", 1499), ("c6.all", 189)],
)
def test_gene_set_libraries_have_their_published_sizes(name: str, sets: int) -> None:
    profile = profile_file(DATA / "gene_sets" / f"{name}.v7.0.symbols.gmt")
    assert (best(profile), profile.rows) == ("gene_set_library", sets)
    assert (profile.feature_kind, profile.organism) == ("symbol", "human")


@pytest.mark.parametrize(
    ("name", "kind", "rows"),
    [
        ("classic/Puromycin.csv", "table", 23),
        ("classic/ToothGrowth.csv", "table", 60),
        ("classic/penguins.csv", "table", 344),
        ("classic/ryegrass.csv", "table", 24),
        ("classic/larynx.csv", "survival_table", 90),
        ("classic/pbc.csv", "survival_table", 418),
        ("gene_table/grch38.tsv.gz", "table", 75118),
        ("hetionet_train/nodes.tsv.gz", "table", 47031),
        ("hetionet_train/edges.sif.gz", "table", 99525),
        ("tool_catalogues/galaxy_tools.tsv", "table", 1832),
        ("ontology/goslim_generic.obo", None, 149),
        ("ontology/DO_cancer_slim.obo", None, 730),
    ],
)
def test_each_real_file_is_what_it_is(name: str, kind: str | None, rows: int) -> None:
    profile = profile_file(DATA / name)
    assert (best(profile), profile.rows) == (kind, rows)
    for guess in profile.types:
        read = read_data(profile.path, guess.type.value, **guess.read)
        assert len(read) == rows
