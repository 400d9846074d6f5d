"""The promises of `Embedder`, kept by every implementation of it."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator

import numpy as np
import pytest

from engine.adapters.embedding import DefaultEmbedder, SentenceTransformerEmbedder
from engine.adapters.embedding_files import find_default
from engine.adapters.fakes import HashEmbedder
from engine.ports.embedder import Embedder

TEXTS = [
    "Differential expression of genes between two conditions in bulk RNA-seq counts",
    "Align sequencing reads to a reference genome",
    "BRCA1",
    "",
    "   \n\t ",
    "Größe der Zellen, naïve T cells, 遺伝子, β-catenin → 5′-UTR 🧬",
    "half a pair \ud83e and a zero \0 mark",
    "a" * 5_000,
    "single cell " * 2_000,
    "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSGAEKAVQ",
]


@pytest.fixture(
    scope="module", params=["words", "default model", pytest.param("sentence-transformers", marks=pytest.mark.slow)]
)
def embedder(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    if request.param == "words":
        yield HashEmbedder()
    elif request.param == "default model":
        yield DefaultEmbedder()
    else:
        yield SentenceTransformerEmbedder(str(find_default().folder))


def test_rows_are_float32_of_length_one_for_any_text(embedder: Embedder) -> None:
    vectors = embedder.embed(TEXTS)
    assert vectors.shape == (len(TEXTS), embedder.dimensions)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(TEXTS)), abs=1e-4)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_text_has_the_same_vector_alone_and_among_others(embedder: Embedder) -> None:
    together = embedder.embed(TEXTS)
    alone = np.vstack([embedder.embed([text]) for text in TEXTS])
    assert (together * alone).sum(axis=1).min() > 0.99999
    assert np.abs(together - alone).max() < 1e-4


def test_the_order_of_the_texts_is_the_order_of_the_rows(embedder: Embedder) -> None:
    forward, backward = embedder.embed(TEXTS), embedder.embed(TEXTS[::-1])
    assert np.abs(forward - backward[::-1]).max() < 1e-4


def test_the_name_tells_model_and_files(embedder: Embedder) -> None:
    assert re.fullmatch(r"[\w.-]+@\w+", embedder.name)
    assert embedder.name == embedder.name


def test_texts_of_like_meaning_or_words_are_nearer_than_others(embedder: Embedder) -> None:
    query, near, far = embedder.embed(
        ["find differentially expressed genes", "test which genes are differentially expressed", "dock a ligand"]
    )
    assert query @ near > query @ far + 0.2


def test_several_threads_get_what_one_gets(embedder: Embedder) -> None:
    texts = TEXTS[:6]
    expected = embedder.embed(texts)
    got: list[np.ndarray] = []

    def ask() -> None:
        for _ in range(5):
            got.append(embedder.embed(texts))

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 20
    assert max(float(np.abs(vectors - expected).max()) for vectors in got) < 1e-4
