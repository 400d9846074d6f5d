"""The default model: found, checked, exported once, and the same numbers as the original."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from engine.adapters import embedding, embedding_export, embedding_files, warm_up
from engine.adapters.embedding import DefaultEmbedder, SentenceTransformerEmbedder, default_cache, load_embedder
from engine.adapters.embedding_files import PINNED, WEIGHTS
from engine.errors import ModelUnavailable

ROOT = Path(__file__).resolve().parents[2]
SHA = PINNED[WEIGHTS]

VARIED = [
    "",
    " ",
    "a",
    "TP53",
    "?!",
    "gene " * 300,
    "acgt" * 4_000,
    "x" * 60_000,
    "one\ntwo\r\nthree\tfour",
    "ﬁne ligatures and ½ fractions",
    "ДНК и РНК",
    "遺伝子発現解析",
    "الحمض النووي",
    "🧬🔬 emoji only 🧪",
    "CamelCaseToolName_with_underscores-and-dashes/and/slashes.v2",
    "https://example.org/tools?id=12&name=bwa",
    "p < 0.05, log2FC > 1, n = 3; 37 °C; 5′→3′",
    "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQVKVKALPDAQFEVVHSLAKWKR",
    "CC(=O)OC1=CC=CC=C1C(=O)O",
    "ENSG00000141510 ENSG00000012048",
    *[f"{verb} {what}" for verb in ("Align", "Cluster", "Plot", "Count") for what in (
        "paired-end reads against a reference genome",
        "cells by their gene expression after removing doublets",
        "survival curves of two treatment groups",
        "peaks of chromatin accessibility near promoters",
        "a phylogenetic tree of 16S sequences from soil samples",
        "metabolites measured by mass spectrometry in plasma",
        "variants in exome data of a tumour and its matched normal tissue, filtered by allele frequency",
        "protein structures by similarity of fold",
    )],
]  # fmt: skip


@pytest.fixture(scope="module")
def exported() -> Path:
    """Return the folder of this account's export, made if there is none."""
    DefaultEmbedder().warm()
    return default_cache() / SHA


@pytest.fixture
def cache(tmp_path: Path, exported: Path) -> Path:
    """Return a cache of its own with an export that may be damaged."""
    shutil.copytree(exported, tmp_path / "models" / SHA)
    return tmp_path / "models"


@pytest.fixture
def nothing_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Point Hugging Face's cache at an empty folder and return it."""
    for name in ("HUGGINGFACE_HUB_CACHE", "SENTENCE_TRANSFORMERS_HOME", "HF_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "hub"


def copy_model(folder: Path) -> Path:
    """Copy the installed model to a folder, the weights as a link."""
    source = embedding_files.find_default().folder
    folder.mkdir(parents=True)
    for name in PINNED:
        (folder / name).parent.mkdir(exist_ok=True)
        if name == WEIGHTS:
            os.symlink((source / name).resolve(), folder / name)
        else:
            shutil.copyfile(source / name, folder / name)
    for name in ("vocab.txt", "special_tokens_map.json", "tokenizer_config.json", "sentence_bert_config.json"):
        shutil.copyfile(source / name, folder / name)
    return folder


@pytest.mark.slow
def test_onnx_vectors_are_those_of_sentence_transformers(exported: Path) -> None:
    assert len(VARIED) >= 50
    fast = DefaultEmbedder()
    slow = SentenceTransformerEmbedder(str(embedding_files.find_default().folder))
    mine, reference = fast.embed(VARIED), slow.embed(VARIED)
    assert fast.is_fast
    assert (mine * reference).sum(axis=1).min() > 0.9999
    assert np.abs(mine - reference).max() < 1e-4
    ranks = [np.argsort(-(vectors @ vectors.T), axis=1, kind="stable")[20:, :5] for vectors in (mine, reference)]
    assert (ranks[0] == ranks[1]).mean() > 0.99


def test_loading_imports_neither_torch_nor_transformers(exported: Path) -> None:
    code = (
        "import sys\n"
        "from engine.adapters.embedding import load_embedder\n"
        "heavy = ('torch', 'transformers', 'sentence_transformers', 'huggingface_hub', 'onnxruntime', 'tokenizers')\n"
        "embedder = load_embedder('all-MiniLM-L6-v2')\n"
        "assert embedder.name.startswith('all-MiniLM-L6-v2@') and embedder.dimensions == 384\n"
        "assert not [name for name in heavy if name in sys.modules]\n"
        "assert embedder.embed(['reads']).shape == (1, 384)\n"
        "assert not [name for name in heavy[:4] if name in sys.modules]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)


def test_none_is_no_embedder_and_both_names_of_the_default_are_the_default() -> None:
    assert load_embedder("none") is None
    assert load_embedder(" None ") is None
    for name in ("all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2", "ALL-minilm-l6-v2"):
        assert isinstance(load_embedder(name), DefaultEmbedder)


def test_the_installed_package_is_the_published_model(nothing_downloaded: Path) -> None:
    files = embedding_files.find_default()
    assert (files.origin, files.sha256) == ("package", SHA)
    files.check()


def test_a_complete_download_comes_before_the_package(nothing_downloaded: Path, exported: Path) -> None:
    place = nothing_downloaded / "models--sentence-transformers--all-MiniLM-L6-v2"
    snapshot = copy_model(place / "snapshots" / "abc123")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text("abc123")
    files = embedding_files.find_default()
    assert (files.origin, files.folder, files.sha256) == ("download", snapshot, SHA)
    assert DefaultEmbedder().name == f"all-MiniLM-L6-v2@{SHA[:8]}"


@pytest.mark.parametrize("length", [0, 5, 4_000, 1_000_000])
def test_a_download_that_was_cut_off_is_passed_over(nothing_downloaded: Path, length: int) -> None:
    whole = embedding_files.find_default().folder / WEIGHTS
    snapshot = copy_model(
        nothing_downloaded / "models--sentence-transformers--all-MiniLM-L6-v2" / "snapshots" / "abc123"
    )
    (snapshot / WEIGHTS).unlink()
    with whole.open("rb") as stream:
        (snapshot / WEIGHTS).write_bytes(stream.read(length))
    assert embedding_files.find_default().origin == "package"


@pytest.mark.parametrize("name", [WEIGHTS, "tokenizer.json"])
def test_a_package_with_other_files_is_refused(
    nothing_downloaded: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str
) -> None:
    folder = copy_model(tmp_path / "gt" / "model")
    content = bytearray((folder / name).read_bytes())
    content[-10] ^= 1
    (folder / name).unlink()
    (folder / name).write_bytes(content)
    monkeypatch.setattr(embedding_files, "_package_folder", lambda: folder)
    with pytest.raises(ModelUnavailable, match=rf"{name} of the embedding model .* cannot be trusted") as caught:
        DefaultEmbedder(tmp_path / "cache").embed(["reads"])
    assert "none" in caught.value.advice
    assert not (tmp_path / "cache").exists()


def test_a_model_that_is_nowhere_is_a_sentence(nothing_downloaded: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_files, "_package_folder", lambda: None)
    embedder = load_embedder("all-MiniLM-L6-v2")
    assert embedder is not None
    with pytest.raises(ModelUnavailable, match="is not on this machine"):
        embedder.embed(["reads"])
    with pytest.raises(ModelUnavailable, match="is not on this machine"):
        _ = embedder.name


@pytest.mark.parametrize("model", ["no-such-model", "some-lab/no-such-model", "", "../../etc", "a b c"])
def test_another_model_that_was_not_downloaded_is_a_sentence(nothing_downloaded: Path, model: str) -> None:
    embedder = load_embedder(model)
    assert embedder is not None
    with pytest.raises(ModelUnavailable) as caught:
        embedder.embed(["reads"])
    assert caught.value.advice


def test_another_model_is_found_by_name_among_the_downloads(nothing_downloaded: Path) -> None:
    snapshot = copy_model(nothing_downloaded / "models--some-lab--tiny" / "snapshots" / "1")
    assert embedding_files.find_named("some-lab/tiny") == snapshot
    embedder = load_embedder("some-lab/tiny")
    assert embedder is not None
    assert embedder.name.startswith("some-lab/tiny@")


def test_two_models_in_folders_of_one_name_have_different_names(tmp_path: Path) -> None:
    first, second = copy_model(tmp_path / "a" / "model"), copy_model(tmp_path / "b" / "model")
    names = [SentenceTransformerEmbedder(str(folder)).name for folder in (first, second)]
    assert names[0] == names[1]
    settings = json.loads((second / "1_Pooling" / "config.json").read_text())
    (second / "1_Pooling" / "config.json").write_text(json.dumps({**settings, "pooling_mode_cls_token": True}))
    assert SentenceTransformerEmbedder(str(second)).name != names[0]


def test_a_folder_without_or_with_a_broken_model_is_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ModelUnavailable, match="holds no embedding model"):
        SentenceTransformerEmbedder(str(tmp_path / "empty")).embed(["reads"])
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "config.json").write_text("{}")
    (tmp_path / "broken" / "model.safetensors").write_bytes(b"nothing")
    with pytest.raises(ModelUnavailable, match="cannot be loaded"):
        SentenceTransformerEmbedder(str(tmp_path / "broken")).embed(["reads"])


def damage_model_length(folder: Path) -> None:
    with (folder / "model.onnx").open("r+b") as stream:
        stream.truncate(1_000_000)


def damage_model_content(folder: Path) -> None:
    size = (folder / "model.onnx").stat().st_size
    (folder / "model.onnx").write_bytes(b"\x08" * size)


def damage_numbers(folder: Path) -> None:
    with (folder / "model.onnx").open("r+b") as stream:
        stream.seek(60_000_000)
        stream.write(bytes(8_000_000))


def damage_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").write_text("{")


def damage_manifest(folder: Path) -> None:
    (folder / "manifest.json").write_text('{"form": 1}')


@pytest.mark.parametrize(
    "damage", [damage_model_length, damage_model_content, damage_numbers, damage_tokenizer, damage_manifest]
)
def test_a_damaged_export_is_noticed_and_made_again(cache: Path, exported: Path, damage) -> None:
    made: list[Path] = []

    def make(files: embedding_files.ModelFiles, where: Path) -> Path:
        # What the subprocess does in its last step, without the fifteen seconds before it.
        copy = where / ".making-test" / "export"
        shutil.copytree(exported, copy)
        embedding_export._put_in_place(copy, where / files.sha256)
        made.append(where)
        return where / files.sha256

    damage(cache / SHA)
    embedder = DefaultEmbedder(cache, make)
    vectors = embedder.embed(["reads"])
    assert made == [cache]
    assert embedder.is_fast
    assert vectors[0] @ DefaultEmbedder().embed(["reads"])[0] > 0.99999


def test_without_an_export_sentence_transformers_answers(tmp_path: Path) -> None:
    def fail(files: embedding_files.ModelFiles, where: Path) -> Path:
        raise ModelUnavailable("The embedding model could not be prepared.")

    embedder = DefaultEmbedder(tmp_path / "models", fail)
    assert embedder.embed(["reads"])[0] @ DefaultEmbedder().embed(["reads"])[0] > 0.9999
    assert not embedder.is_fast
    assert "could not be prepared" in warm_up.prepare_embedding(tmp_path / "models", fail)


def test_a_cache_that_cannot_be_written_costs_speed_only(tmp_path: Path) -> None:
    (tmp_path / "models").write_text("a file where the folder should be")
    with pytest.raises(ModelUnavailable, match="could not be prepared"):
        embedding_export.export_in_subprocess(embedding_files.find_default(), tmp_path / "models")


def test_preparing_again_does_nothing(cache: Path) -> None:
    def fail(*_: object) -> Path:
        raise AssertionError("it was made twice")

    assert warm_up.prepare_embedding(cache, fail) == ""
    assert embedding._open_export(cache / SHA, "f" * 64) is None  # another model's weights
