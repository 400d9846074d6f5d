"""Summaries of a conversation written by a model: later, outside the lock, held against the turns, and never in the way."""

from __future__ import annotations

import threading

import pytest

from engine.adapters.fakes import FrozenClock
from engine.agents.asks import ModelAnswer
from engine.agents.shortener import ROUNDS, TalkShortener
from engine.errors import ModelUnavailable
from engine.memory.working.compress import Passage
from engine.memory.working.faithful import misfits
from engine.memory.working.memory import Shortening, ShortText, WorkingMemory
from storage.memory.conversations_twin import ConversationsTwin

SAID = (
    "user: Please leave out sample SRR1039508, it is an outlier; does FKBP5 change with dex in counts.csv at all?\n"
    "assistant: I left out SRR1039508. FKBP5 rises by 4.05 log2 units. VCAM1 does not change without treatment."
)
SHORT = (
    "user: Leave out SRR1039508 (outlier); does FKBP5 change with dex in counts.csv?\n"
    "assistant: SRR1039508 left out. FKBP5 +4.05 log2 units; VCAM1 does not change without treatment."
)


def test_a_short_text_that_keeps_all_fits():
    assert misfits(SAID, SHORT) == []


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("4.05", "4.1", "numbers of the turns missing: 4.05"),
        ("4.05", "4.05 and 7", "numbers that no turn has: 7"),
        ("VCAM1", "it", "names of the turns missing: vcam1"),
        ("FKBP5 +", "FKBP5 and DUSP1 +", "names that no turn has: dusp1"),
        ("does not change without", "does change with", "`not`, `only` or the like is missing"),
        ("SRR1039508 left out.", "SRR1039508 was not an outlier and stays among cells.", "turned round"),
    ],
)
def test_what_is_lost_added_or_turned_round_is_found(old, new, says):
    assert any(says in problem for problem in misfits(SAID, SHORT.replace(old, new)))


class Answers:
    """Gives answers in turn; the last one stays."""

    def __init__(self, *answers):
        self.answers, self.asked = list(answers), list[str]()

    def ask(self, role, system, user, answer, *, purpose, run_id=""):
        self.asked.append(user)
        turns = [
            dict(zip(("speaker", "text"), line.split(": ", 1), strict=True)) for line in self.answers[0].split("\n")
        ]
        self.answers = self.answers[1:] or self.answers
        return ModelAnswer(value=answer.model_validate({"turns": turns}), model="scripted/one")


def passages() -> list[Passage]:
    return [Passage(*line.split(": ", 1)) for line in SAID.split("\n")]


def test_what_does_not_fit_goes_back_once():
    models = Answers(SHORT.replace("4.05", "4.1"), SHORT)
    made = TalkShortener(models)(passages(), 100, "c")
    assert (made.text, made.problems) == (SHORT, ())
    assert "missing: 4.05" in models.asked[1]
    stubborn = Answers(SHORT.replace("4.05", "4.1"))
    assert TalkShortener(stubborn)(passages(), 100, "c").problems
    assert len(stubborn.asked) == ROUNDS


LONG = [
    "Good morning to you all, and thank you very much again for the help with our plants of last week.",
    "You are welcome, it was a pleasure; I am glad that all of it could be of some use to the whole group.",
    "We have counts.csv with 24 samples now, which we would like to look at together with you. Which genes change?",
    "I compared them with padj < 0.01 as you wished it to be done in your message. There are 3896 genes that change.",
] * 6


def talk(write, later=lambda piece: piece()) -> WorkingMemory:
    """Return a memory of letters, whose summaries a function writes."""
    working = WorkingMemory(ConversationsTwin(), budget=500, clock=FrozenClock())
    working.shortening = Shortening(write, later)
    return working


def fill(working: WorkingMemory) -> None:
    for number, text in enumerate(LONG):
        working.add("c", "user" if number % 2 == 0 else "assistant", f"{text} (No. {number})")


def test_a_models_words_take_the_place_of_those_of_the_rules_within_the_budget():
    working = talk(lambda said, limit, talk: ShortText(text="user: in short", by="lab/m"))
    fill(working)
    view = working.view("c")
    assert {s.by for s in view.summaries if s.level == 1} == {"lab/m"}
    assert view.tokens <= view.budget
    told = working.retold("c")
    assert told[0].by == "lab/m"
    assert not working.retold("c"), "it is told once"


@pytest.mark.parametrize(
    "made",
    [ShortText(text="user: wrong", by="lab/m", problems=("numbers missing",)), ShortText(text="x " * 999, by="lab/m")],
)
def test_what_does_not_fit_leaves_the_summary_of_the_rules_and_says_so(made):
    plain = WorkingMemory(ConversationsTwin(), budget=500, clock=FrozenClock())
    fill(plain)
    working = talk(lambda said, limit, talk: made)
    fill(working)
    assert working.view("c") == plain.view("c")
    assert all(told.by == "" and told.problems for told in working.retold("c"))


def test_without_an_answer_the_rules_stand():
    def away(said, limit, talk):
        raise ModelUnavailable("the server is away")

    working = talk(away)
    fill(working)
    assert {s.by for s in working.view("c").summaries} == {""}
    assert working.retold("c")[0].problems == ("the server is away",)


def test_nobody_waits_for_a_model():
    begun, go_on, threads = threading.Event(), threading.Event(), list[threading.Thread]()

    def slow(said, limit, talk):
        begun.set()
        go_on.wait(20)
        return ShortText(text="user: in short", by="lab/m")

    def later(piece):
        threads.append(threading.Thread(target=piece))
        threads[-1].start()

    working = talk(slow, later)
    fill(working)
    assert begun.wait(20)
    assert working.view("c").summaries, "while the model thinks"
    go_on.set()
    for thread in threads:
        thread.join(20)
    assert "lab/m" in {s.by for s in working.view("c").summaries}


def test_what_was_forgotten_meanwhile_does_not_come_back():
    pieces = []
    working = talk(lambda said, limit, talk: ShortText(text="user: in short", by="lab/m"), pieces.append)
    fill(working)
    working.forget("c")
    for piece in pieces:
        piece()
    assert working.store.summaries("c") == []
    assert not working.retold("c")


def test_a_summary_is_asked_for_once():
    asked = []

    def write(said, limit, talk):
        asked.append(tuple(said))
        return ShortText(text="", by="lab/m", problems=("no",))

    fill(talk(write))
    assert len(asked) == len(set(asked)) > 0
