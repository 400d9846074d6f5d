"""Files that are no plain tables: workbooks, single-cell data, sequences, trees, variants, structures, JSON."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pandas as pd
import profile_files as make
import pytest

from engine.data.catalogue import read_data
from engine.data.profiler import profile_file, profile_files
from engine.domain.profile import Profile
from engine.errors import DataError


def types(profile: Profile) -> list[str]:
    return [guess.type.value for guess in profile.types]


def test_workbook_with_a_title_and_a_cover_sheet_is_read(tmp_path: Path) -> None:
    counts = make.counts()
    cover = pd.DataFrame({"About": []})
    path = make.excel(
        tmp_path / "c.xlsx", {"Cover": cover, "Counts": counts, "Other": counts}, title="Table S1. Counts"
    )
    profile = profile_file(path)
    assert profile.best is not None
    assert types(profile)[0] == "count_matrix"
    assert profile.best.read == {"sheet": "Counts", "skip": 2, "index_col": "gene_id"}
    read = read_data(str(path), "count_matrix", **profile.best.read)
    assert (read.to_numpy() == counts.set_index("gene_id").to_numpy()).all()
    assert any("3 sheets; the sheet 'Counts' is used" in warning for warning in profile.warnings)


def test_workbook_is_recognised_by_content(tmp_path: Path) -> None:
    path = make.excel(tmp_path / "c.xlsx", {"S": make.sheet()}).rename(tmp_path / "sheet.csv")
    profile = profile_file(path)
    assert types(profile)[0] == "sample_sheet"
    assert list(read_data(str(path), "sample_sheet", **profile.types[0].read).index) == make.SAMPLES


def test_workbook_genes_turned_to_dates_are_found(tmp_path: Path) -> None:
    frame = make.counts(make.SYMBOLS, name="gene").astype({"gene": object})
    frame.loc[0, "gene"] = pd.Timestamp("2024-09-02")
    profile = profile_file(make.excel(tmp_path / "c.xlsx", {"S": frame}))
    assert any("1 gene name turned into dates" in warning for warning in profile.warnings)


def test_workbook_without_a_table_is_refused(tmp_path: Path) -> None:
    profile = profile_file(make.excel(tmp_path / "c.xlsx", {"S": pd.DataFrame()}))
    assert types(profile) == []
    assert len(profile.warnings) == 1


@pytest.fixture
def cells(tmp_path: Path) -> Path:
    import anndata
    from scipy import sparse

    rng = np.random.default_rng(0)
    values = rng.poisson(1.2, size=(90, 40)).astype(np.float32)
    obs = pd.DataFrame(
        {"donor": ["d1", "d2", "d3"] * 30, "cell_type": pd.Categorical(["T", "B"] * 45), "n_counts": values.sum(1),
         "doublet": [True, False, False] * 30},
        index=[f"cell{i}" for i in range(90)],
    )  # fmt: skip
    data = anndata.AnnData(sparse.csr_matrix(np.log1p(values)), obs, pd.DataFrame(index=make.SYMBOLS))
    data.layers["counts"] = sparse.csr_matrix(values)
    data.obsm["X_pca"] = rng.normal(size=(90, 5))
    path = tmp_path / "cells.h5ad"
    data.write_h5ad(path)
    return path


def test_single_cell_file_is_described_without_its_values(cells: Path) -> None:
    profile = profile_file(cells)
    assert types(profile) == ["anndata"]
    assert profile.summary == "90 cells x 40 genes (human gene symbols); X holds log-normalised values"
    assert profile.details["layers"] == {"counts": "counts"}
    assert profile.details["obsm"] == ["X_pca"]
    assert profile.sample_ids[:2] == ["cell0", "cell1"]
    assert profile.feature_ids == make.SYMBOLS
    cell_type = profile.column("cell_type")
    assert cell_type is not None
    assert cell_type.levels == {"B": 45, "T": 45}
    assert cell_type.role("group") >= 0.9
    donor = profile.column("donor")
    assert donor is not None
    assert donor.role("pair") > 0.5
    assert profile.warnings == ["cells.h5ad: X is already transformed; the raw counts are in 'counts'."]
    assert read_data(str(cells), "anndata").shape == (90, 40)


@pytest.mark.parametrize("keep", [0.3, 0.7, 0.95])
def test_cut_off_single_cell_file_is_refused(cells: Path, keep: float) -> None:
    content = cells.read_bytes()
    profile = profile_file(make.write(cells.parent / "cut.h5ad", content[: int(len(content) * keep)]))
    assert types(profile) == []
    assert "damaged or cut-off" in profile.warnings[0]


def test_other_hdf5_is_refused_politely(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "filtered.h5", "w") as file:
        file.create_group("matrix")["barcodes"] = [b"AAA"]
    profile = profile_file(tmp_path / "filtered.h5")
    assert types(profile) == []
    assert "a 10x .h5 matrix" in profile.warnings[0]


def test_single_cell_profile_needs_no_scanpy(cells: Path) -> None:
    code = (
        "import sys; from engine.data.profiler import profile_file; profile_file(sys.argv[1]); "
        "assert not {'anndata', 'scanpy', 'matplotlib', 'scipy'} & set(sys.modules), sorted(sys.modules)"
    )
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", code, str(cells)], cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-500:]


PDB = "HEADER    TEST\nATOM      1  N   MET A   1      38.198  19.582  22.151  1.00 41.71           N  \nEND\n"
CIF = "data_1ABC\nloop_\n_atom_site.group_PDB\n_atom_site.id\nATOM 1\nATOM 2\n"
VCF = (
    "##fileformat=VCFv4.2\n#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\tFORMAT\tS1\tS2\n"
    "1\t5\t.\tA\tG\t9\t.\t.\tGT\t0/1\t1/1\n"
)
TEXTS: dict[str, tuple[str, list[str], str]] = {
    "a.fasta": (">one\nACGTACGT\nACG\n>two\nACGT\n", ["sequences"], "2 DNA sequences of 4 to 11 letters"),
    "r.fa": (">one\nACGUACGU\n", ["sequences"], "1 RNA sequence"),
    "p.txt": (">one\nMKVLAAGIVW\n>two\nMKVLEEGIVW\n", ["sequences"], "2 protein sequences"),
    "al.fasta": (">one\nAC-T\n>two\nACGT\n", ["sequences", "alignment"], "2 DNA sequences"),
    "r.fastq": ("@r1\nACGT\n+\nIIII\n@r2\nACGT\n+\nIIII\n", ["sequences"], "About 2 reads"),
    "t.nwk": ("((A:1,B:2):1,(C,D));\n", ["tree"], "A tree with 4 tips"),
    "v.vcf": (VCF, ["variants"], "1 variant in 2 samples"),
    "s.pdb": (PDB, ["structure"], "A structure of 1 atom in 1 chain"),
    "s.cif": (CIF, ["structure"], "A structure of 2 atoms"),
    "g.gmt": (
        "SET_A\thttp://x\tTP53\tMYC\tIL6\nSET_B\tna\tCD4\tCD8A\n",
        ["gene_set_library"],
        "2 gene sets with 5 different genes",
    ),
    "p.bed": ("chr1\t10\t20\nchr2\t5\t9\n", ["peaks"], "2 genomic intervals"),
    "a.gtf": ('#!x\nchr1\tens\tgene\t1\t20\t.\t+\t.\tgene_id "G1";\n', [], "Gene annotation"),
    "line.txt": ("TP53, MYC, EGFR, KRAS, CD4\n", [], "Cannot be used"),
    "g.txt": ("SET_A\thttp://x\tTP53\tMYC\tIL6\nSET_B\tna\tCD4\tCD8A\n", ["gene_set_library"], "2 gene sets"),
    "n.md": ("# Notes\n\nThe cells were kept at four degrees.\n", ["text"], "A text of 9 words"),
    "r.json": (json.dumps([{"id": "001", "x": 1}, {"id": "002", "x": 2}]), ["table"], "A table of 2 rows"),
    "r.jsonl": ('{"id": "a", "x": 1}\n{"id": "b", "x": 2}\n', ["table"], "A table of 2 rows"),
    "plan.json": (json.dumps({"format": "biodesk-plan", "question": "Which?"}), [], "A plan: Which?"),
}


@pytest.mark.parametrize("name", TEXTS)
def test_text_formats_are_recognised_by_content(name: str, tmp_path: Path) -> None:
    content, expected, summary = TEXTS[name]
    profile = profile_file(make.write(tmp_path / name, content))
    assert types(profile) == expected, profile.warnings
    assert profile.summary.startswith(summary)
    assert bool(profile.types) or len(profile.warnings) == 1
    for guess in profile.types:
        assert read_data(profile.path, guess.type.value, **guess.read) is not None


@pytest.mark.parametrize("name", ["v.vcf", "g.gmt", "a.fasta", "r.json"])
def test_gzipped_text_is_recognised(name: str, tmp_path: Path) -> None:
    content, expected, summary = TEXTS[name]
    profile = profile_file(make.write(tmp_path / f"{name}.gz", gzip.compress(content.encode())))
    assert types(profile) == expected
    assert profile.summary.startswith(summary)
    for guess in profile.types:
        value = read_data(profile.path, guess.type.value, **guess.read)
        assert len(value) == (2 if name != "v.vcf" and name != "a.fasta" else len(profile.path))


def test_json_records_keep_text_as_text(tmp_path: Path) -> None:
    profile = profile_file(make.write(tmp_path / "r.json", TEXTS["r.json"][0]))
    assert list(read_data(profile.path, "table", **profile.types[0].read)["id"]) == ["001", "002"]


def test_missing_file_and_folder_are_errors_with_advice(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="There is no file") as missing:
        profile_file(tmp_path / "nothing.csv")
    assert missing.value.advice
    with pytest.raises(DataError, match="is a folder"):
        profile_file(tmp_path)
    (tmp_path / "matrix.mtx.gz").touch()
    with pytest.raises(DataError, match="10x folder"):
        profile_file(tmp_path)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may read every file")
def test_unreadable_file_is_an_error(tmp_path: Path) -> None:
    path = make.write(tmp_path / "secret.csv", "a,b\n1,2\n")
    path.chmod(0)
    with pytest.raises(DataError, match="cannot be read"):
        profile_file(path)


def test_profiles_come_in_the_order_given(tmp_path: Path) -> None:
    paths = [make.write(tmp_path / f"{n}.csv", f"a,b\n{n},2\n3,4\n") for n in "cab"]
    assert [profile.name for profile in profile_files(paths)] == ["c.csv", "a.csv", "b.csv"]


def test_profile_survives_its_json_form(cells: Path) -> None:
    profile = profile_file(cells)
    assert Profile.model_validate_json(profile.model_dump_json()) == profile


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files_never_raise(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    content = bytearray(make.csv_text(make.counts(make.ensembl(30))).encode())
    if seed % 4 == 1:
        content = bytearray(gzip.compress(bytes(content)))
    elif seed % 4 == 2:
        content = bytearray(make.excel(tmp_path / "x.xlsx", {"S": make.sheet()}).read_bytes())
    elif seed % 4 == 3:
        content = bytearray(TEXTS["r.json"][0].encode() * 3)
    for position in rng.integers(0, len(content), size=1 + seed % 9):
        content[position] = int(rng.choice([0, 9, 10, 34, 44, 59, 200, 255]))
    profile = profile_file(make.write(tmp_path / "damaged.csv", bytes(content)))
    for guess in profile.types:
        assert read_data(profile.path, guess.type.value, **guess.read) is not None
    assert profile.types or len(profile.warnings) == 1


def test_gene_list_in_a_workbook_is_read(tmp_path: Path) -> None:
    frame = pd.DataFrame({"Gene name": make.SYMBOLS})
    profile = profile_file(make.excel(tmp_path / "g.xlsx", {"S": frame}, title="Our genes"))
    assert types(profile)[0] == "gene_list"
    assert read_data(profile.path, "gene_list", **profile.types[0].read) == make.SYMBOLS


def test_a_header_that_its_numbered_values_begin_with_is_a_header(tmp_path):
    rows = [f"L{at:02d},mouse{at // 2:02d},{('wt', 'ko')[at % 2]}" for at in range(12)]
    (tmp_path / "libraries.csv").write_text("library,mouse,genotype\n" + "\n".join(rows) + "\n")
    assert [column.name for column in profile_file(tmp_path / "libraries.csv").column_profiles][-2:] == [
        "mouse",
        "genotype",
    ]
