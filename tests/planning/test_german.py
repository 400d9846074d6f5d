"""German questions put into English words, and only these."""

from __future__ import annotations

import pytest

from engine.domain.plan import Span
from engine.planning.naming.german import is_german, put


@pytest.mark.parametrize(
    ("question", "english"),
    [
        ("Ist der Ertrag bei N2 höher als bei N0?", "is the Ertrag in N2 higher than in N0?"),
        ("Wie viele Tiere sind pro Gruppe gestorben?", "how many animals are per group died?"),
        ("Ertrag nach Sorte, bitte", "Ertrag by Sorte, please"),
    ],
)
def test_words_that_questions_are_made_of_are_put(question, english) -> None:
    assert put(question, {"ertrag", "sorte"}).text == english


def test_what_the_data_are_called_stays() -> None:
    assert (
        put("Ist die Gruppe vor und nach gleich?", {"gruppe", "vor", "nach"}).text
        == "is the Gruppe vor and nach the same?"
    )


@pytest.mark.parametrize(
    "question",
    ["do the carriers die earlier?", "von Willebrand factor in group A", "miR-21 in tumour and normal", "mice die more in A", "¿Es diferente el peso entre los grupos?", "Le poids des brebis est-il plus grand ?"],
)  # fmt: skip
def test_other_languages_are_left_alone(question) -> None:
    assert not is_german(question)


def test_places_are_those_of_the_words_as_typed() -> None:
    question = "Wie viele Tiere sind pro Sorte krank?"
    found = put(question, {"sorte", "krank"})
    for name in ("Sorte", "krank"):
        start = found.text.index(name)
        span = Span(text=name, start=start, end=start + len(name), taken_as="column")
        assert found.typed(span, question).text == name
    asked = Span(text="how many", start=0, end=8, taken_as="asked")
    assert found.typed(asked, question).text == "Wie viele"
