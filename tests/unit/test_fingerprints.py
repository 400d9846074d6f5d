"""Fingerprints: identifiers survive, case and endings do not matter, and every n-gram is found by brute force too."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory import fingerprints as fp

TEXTS = st.text(alphabet="abcdeTP53-:. ,rs12()é", max_size=60)


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("TP53", "tp53"),
        ("rs12345", "rs12345"),
        ("(cg05575921)", "cg05575921"),
        ("GO:0006915", "go:0006915"),
        ("5KIR,", "5kir"),
        ("ENSG00000141510.18", "ensg00000141510"),
        ("R47H", "r47h"),
        ("p.R47H", "r47h"),
        ("IL-6", "il6"),
        ("il6", "il6"),
        ("c.5946delT", "c.5946delt"),
        ("melanoma_os.csv", "melanoma_os.csv"),
        ("16S", "16s"),
        ("CXCR5+", "cxcr5"),
    ],
)
def test_identifiers_stay_whole(written: str, word: str) -> None:
    assert fp.words(f"What of {written} here?") == [word]


def test_other_words_lose_case_endings_and_stop_words() -> None:
    assert fp.words("The clusters were clustered; clustering again.") == ["cluster"] * 3
    assert fp.words("single-cell, anti-dsDNA and 12-month") == fp.words("Single cell anti dsDNA month")
    assert fp.words("86,412 cells at 0.05, 20 % and 1e-200") == ["cell"]
    assert fp.words("") == []
    assert fp.words("the of and — !!! ...") == []


def test_a_fingerprint_is_the_same_in_every_process() -> None:
    assert fp.word_hash("tp53") == 15706285990378
    known = fp.fingerprints("guides for MCL1")
    assert known.tolist() == sorted(known.tolist())
    assert len(known) == 3  # two words and their pair


@given(TEXTS)
def test_the_fingerprints_are_those_of_all_uni_bi_and_trigrams(text: str) -> None:
    words = [fp.word_hash(word) for word in fp.words(text)]
    expected: set[int] = set(words)
    for size in (2, 3):
        for start in range(len(words) - size + 1):
            gram = np.array([words[start]], dtype=np.uint64)
            for other in words[start + 1 : start + size]:
                gram = fp.mixed(gram, np.array([other], dtype=np.uint64))
            expected.add(int(gram[0]))
    found = fp.fingerprints(text)
    assert set(found.tolist()) == expected
    assert len(found) == len(expected)
    assert all(value < 2**48 for value in found.tolist())


@given(st.lists(TEXTS, max_size=6))
def test_many_texts_at_once_give_what_each_gives_alone(texts: list[str]) -> None:
    hashes = [fp.word_hashes(text) for text in texts]
    flat = np.array([h for part in hashes for h in part], dtype=np.uint64)
    owners = np.array([n for n, part in enumerate(hashes) for _ in part], dtype=np.int32)
    grams, belongs = fp.grams(flat, owners)
    for number, text in enumerate(texts):
        assert set(grams[belongs == number].tolist()) == set(fp.fingerprints(text).tolist())


@settings(max_examples=50)
@given(TEXTS)
def test_words_never_fail_and_are_lower_case(text: str) -> None:
    for word in fp.words(text):
        assert word == word.lower()
        assert word.strip()


def test_order_matters_in_pairs() -> None:
    a, b = np.array([fp.word_hash("gene")], np.uint64), np.array([fp.word_hash("drug")], np.uint64)
    assert fp.mixed(a, b) != fp.mixed(b, a)


def test_distinct_words_do_not_collide() -> None:
    hashes = {fp.word_hash(f"gene{n}") for n in range(50_000)}
    assert len(hashes) == 50_000


def test_entities_are_compared_without_case_hyphens_and_spaces() -> None:
    assert fp.normal_entity("IL-6") == fp.normal_entity("il6")
    assert fp.normal_entity("Parus major") == fp.normal_entity("parus  Major")
    assert fp.normal_entity("GO:0006915") != fp.normal_entity("GO0006915")
    assert fp.is_identifier("blaCTX-M-15")
    assert fp.is_identifier("EGFR")
    assert not fp.is_identifier("Cluster")
    assert not fp.is_identifier("12,000")


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_the_form_of_a_name_can_be_put_together_from_its_pieces(parts: list[str]) -> None:
    pieces = [piece for part in parts for piece in fp.pieces(part)]
    assert fp.trimmed("".join(fp.letters(piece) for piece in pieces)) == fp.normal_entity(" ".join(pieces))


def test_a_name_once_fingerprinted_is_never_called_new() -> None:
    for number in range(1_000):
        fp.name_hash(f"some name {number}", "entity")
    assert all(fp.ever_named(f"some name {number}", "entity") for number in range(1_000))
    others = sum(fp.ever_named(f"another {number}", "domain") for number in range(1_000))
    assert others < 500, "most of what nobody named is told apart"
