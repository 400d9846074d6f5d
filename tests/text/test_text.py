"""Letters, words, names and sentences brought to one form."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.text.letters import GREEK, american, plain, without_accents
from engine.text.names import in_one, name_parts, name_pieces, one_word
from engine.text.negation import denied_part
from engine.text.numbers import as_number
from engine.text.prose import full_stop, listed
from engine.text.sentences import first_sentence, split_sentences
from engine.text.slips import misspelt, one_slip_away, slips
from engine.text.stems import stem
from engine.text.stopwords import ASKING, EMPTY, GRAMMAR, STOP
from engine.text.times import DAYS, UNITS_OF_TIME, time_unit, timed
from engine.text.tokens import tokens

LETTERS = st.text(st.characters(categories=["L", "M", "N", "P", "Zs"]), max_size=60)
WORDS = st.from_regex(r"[a-z]{1,12}", fullmatch=True)


@given(LETTERS, st.booleans())
def test_plain_text_stays_plain(text, micro):
    assert plain(plain(text, micro=micro), micro=micro) == plain(text, micro=micro)


@given(LETTERS)
def test_plain_text_has_no_capitals_accents_or_greek(text):
    done = plain(text)
    assert without_accents(done) == done
    assert done == done.casefold()
    assert not set(done) & set(GREEK)


@pytest.mark.parametrize(
    ("text", "expected"), [("Größe", "grosse"), ("TNF-Α", "tnf-alpha"), ("ΔΔCt", "deltadeltact"), ("µg/mL", "ug/ml")]
)
def test_letters_are_brought_to_one_form(text, expected):
    assert plain(text) == expected


def test_a_mu_is_a_letter_or_micro():
    assert plain("μ receptor", micro=False) == "mu receptor"
    assert plain("μM") == plain("µM") == "um"


@given(WORDS)
def test_american_spelling_is_final(word):
    assert american(american(word)) == american(word)


@pytest.mark.parametrize(
    ("british", "spelt"),
    [
        ("tumour", "tumor"),
        ("leukaemia", "leukemia"),
        ("analysed", "analyzed"),
        ("sulphate", "sulfate"),
        ("four", "four"),
    ],
)
def test_british_words_meet_the_american_ones(british, spelt):
    assert american(british) == spelt


@pytest.mark.parametrize("forms", [("differ", "differs", "differing"), ("measurement", "measurements", "measured")])
def test_forms_of_a_word_share_a_stem(forms):
    assert len({stem(form) for form in forms[:2]}) == 1


@given(st.text(max_size=120))
def test_tokens_stand_in_order_where_they_say(text):
    found = tokens(text)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))
    assert all(0 <= token.start < token.end <= len(text) and token.text == plain(token.text) for token in found)


def test_numbers_in_words_are_tokens_in_digits():
    assert [token.text for token in tokens("the Twelfth week, day 3rd, two-fold, Mark's")] == [
        "the", "12", "week", "day", "3", "2", "fold", "mark",
    ]  # fmt: skip
    assert tokens("1,200 cells")[0].number == 1200
    assert tokens("p53")[1].number == 53


@given(st.floats(0, 1e9, allow_nan=False))
def test_a_number_written_is_read_again(number):
    assert as_number(f"{number:.6f}") == pytest.approx(number, abs=1e-6)


@given(LETTERS)
def test_parts_and_pieces_of_a_name_are_the_same_letters(name):
    assert all(piece == plain(piece) and piece for piece in name_pieces(name))
    assert in_one(in_one(name)) == in_one(name)


@pytest.mark.parametrize(
    ("name", "parts", "pieces"),
    [
        ("flipperLength_mm", ["flipper", "length", "mm"], ["flipperlength", "mm"]),
        ("HbA1c_pre", ["hb", "a", "1", "c", "pre"], ["hba1c", "pre"]),
        ("β-catenin", ["beta", "catenin"], ["beta", "catenin"]),
    ],
)
def test_names_are_cut(name, parts, pieces):
    assert name_parts(name) == parts
    assert name_pieces(name) == pieces


def test_spellings_of_a_name_are_one():
    assert len({in_one(name) for name in ("TNF-α", "TNF alpha", "tnf_ALPHA", "TNFα")}) == 1


def test_a_name_becomes_one_word_with_one_sign_between_its_parts():
    assert one_word("tumour size (mm)") == one_word("tumour  size_mm") == "tumour_size_mm"
    assert one_word("My genes, v2!", "-") == "My-genes-v2"
    assert one_word("...") == ""


def test_points_in_time_have_one_form():
    assert {timed(words) for words in (["wk", "12"], ["12", "weeks"], ["w", "12"])} == {"week12"}
    assert timed(["dose", "12"]) == timed(["week"]) == ""
    assert time_unit("an") == time_unit("d") == ""
    assert all(word in DAYS or unit == "visit" for word, unit in UNITS_OF_TIME.items())


@given(WORDS, st.data())
def test_a_swap_is_one_slip(word, data):
    at = data.draw(st.integers(0, max(0, len(word) - 2)))
    swapped = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    assert slips(word, swapped, 3) == (swapped != word)
    assert slips(word, swapped, 3) == slips(swapped, word, 3)


def test_typing_errors_are_told_from_other_words():
    assert one_slip_away("betwen", ["between", "beneath"]) == ["between"]
    assert one_slip_away("cat", ["cut"]) == []
    assert misspelt("dexamethazone", "dexamethasone")
    assert not misspelt("grade", "trade")


def test_words_that_say_nothing_are_kinds_of_their_own():
    assert not GRAMMAR & ASKING
    assert STOP < EMPTY
    assert {"after", "first", "without"}.isdisjoint(STOP)


@pytest.mark.parametrize(
    ("name", "denied"),
    [("non-smoker", "smoker"), ("Nonsmoker", "smoker"), ("never smoker", "smoker"), ("without relapse", "relapse"),
     ("note", ""), ("no", ""), ("smoker", "")],
)  # fmt: skip
def test_what_a_name_denies(name, denied):
    assert denied_part(name) == denied


@given(st.text(max_size=200))
def test_sentences_are_the_text_without_the_blanks_between(text):
    found = split_sentences(text)
    assert all(text[s.start : s.end] == s.text == s.text.strip() for s in found)
    assert "".join("".join(s.text.split()) for s in found) == "".join(text.split())


def test_names_numbers_and_abbreviations_end_no_sentence():
    text = "E. coli grew by 3.5 fold (Fig. 2). Mr. P. Smith saw v1.2 Beta. It died! why? Nobody knows."
    at = text.index("v1.2")
    assert [s.text for s in split_sentences(text, [(at, at + 9)])] == [
        "E. coli grew by 3.5 fold (Fig. 2).",
        "Mr. P. Smith saw v1.2 Beta.",
        "It died! why?",
        "Nobody knows.",
    ]
    assert first_sentence("") == ""


@given(st.text(max_size=80))
def test_a_full_stop_is_set_once(text):
    assert full_stop(full_stop(text)) == full_stop(text)


@pytest.mark.parametrize(
    ("items", "text"), [([], ""), (["a"], "a"), (["a", "b"], "a and b"), (["a", "b", "c"], "a, b and c")]
)
def test_items_are_listed_as_in_a_sentence(items, text):
    assert listed(items) == text


def test_alternatives_are_listed_with_or():
    assert listed(["a", "b", "c"], last="or") == "a, b or c"


def test_threads_do_not_spoil_each_others_stems() -> None:
    from concurrent.futures import ThreadPoolExecutor

    import snowballstemmer

    words = [
        f"{start}{end}" for start in map(chr, range(97, 123)) for end in ("orbitations", "elating", "iveness", "ied")
    ]
    words = [f"{prefix}{word}" for prefix in ("un", "re", "dis", "over") for word in words]
    alone = snowballstemmer.stemmer("english")
    expected = [alone.stemWord(word) for word in words]
    stem.cache_clear()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda at: [stem(word) for word in words[at:] + words[:at]], range(0, len(words), 40)))
    for at, stems in zip(range(0, len(words), 40), found, strict=True):
        assert stems == expected[at:] + expected[:at]
