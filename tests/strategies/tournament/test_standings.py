"""What people, merges and tests do to standings, whatever the order in which it came."""

from __future__ import annotations

import math
import random

import pytest

from engine.domain.discovery.hypotheses import (
    CRITERIA,
    Aims,
    Bounds,
    Clusters,
    ExecutedTest,
    Hypothesis,
    HypothesisReview,
    Mark,
    Match,
    Prediction,
    Standing,
    Tournament,
    TournamentView,
)
from engine.strategies.tournament.exporting import FORMS, aims_page, best_of_each_idea, markdown
from engine.strategies.tournament.running import complete
from engine.strategies.tournament.saying import NO_PAIR_LEFT
from engine.strategies.tournament.standings import MOST_OF_A_VERDICT, gathered, merged

ASKED = Prediction(says="More B.", contradicted_by="No more B.", question="Is B higher in a than in c?")


def idea(name: str, **other: object) -> Hypothesis:
    return Hypothesis.model_validate({"id": name, "text": f"Idea {name} holds.", "method": "graph", **other})


def view_of(names: str = "abcd", **parts: object) -> TournamentView:
    state = Tournament(id="t", user="ann", aims=Aims(goal="a goal"), bounds=Bounds(), status="finished")
    return TournamentView.model_validate({"tournament": state, "hypotheses": [idea(name) for name in names], **parts})


def match(number: int, first: str, second: str, score: float = 1.0, **other: object) -> Match:
    return Match.model_validate({"number": number, "first": first, "second": second, "score": score, **other})


def mark(name: str, kind: str, value: int = 1, by: str = "ann", **other: str) -> Mark:
    return Mark.model_validate({"hypothesis": name, "kind": kind, "value": value, "by": by, **other})


def by_name(view: TournamentView) -> dict[str, Standing]:
    return {one.hypothesis: one for one in complete(view).standings}


def test_the_order_in_which_things_came_changes_nothing() -> None:
    matches = [match(n, *random.Random(n).sample("abcd", 2), score=float(n % 3 > 0)) for n in range(20)]
    marks = [mark("a", "vote"), mark("b", "vote", -1, by="bob"), mark("d", "pin")]
    view = view_of(matches=matches, marks=marks)
    random.Random(1).shuffle(matches)
    again = view_of(matches=matches, marks=marks[::-1])
    for name, one in by_name(view).items():
        other = by_name(again)[name]
        assert one.rating == pytest.approx(other.rating, abs=0.1)
        assert one.chance_best == pytest.approx(other.chance_best, abs=0.02)


def test_a_vote_counts_once_for_each_person_and_can_be_taken_back() -> None:
    matches = [match(0, "a", "b"), match(1, "b", "a")]
    plain = by_name(view_of(matches=matches))
    once = by_name(view_of(matches=matches, marks=[mark("c", "vote")]))
    again = by_name(view_of(matches=matches, marks=[mark("c", "vote", at="1"), mark("c", "vote", at="2")]))
    two = by_name(view_of(matches=matches, marks=[mark("c", "vote"), mark("c", "vote", by="bob")]))
    back = by_name(view_of(matches=matches, marks=[mark("c", "vote", at="1"), mark("c", "vote", 0, at="2")]))
    against = by_name(view_of(matches=matches, marks=[mark("c", "vote", -1)]))
    assert against["c"].rating < plain["c"].rating == back["c"].rating < once["c"].rating < two["c"].rating
    assert again["c"].rating == once["c"].rating
    # A vote is no comparison of the judge.
    assert once["c"].matches == 0
    assert any(
        "1 vote of people counts" in s for s in complete(view_of(matches=matches, marks=[mark("c", "vote")])).says
    )


def test_what_is_vetoed_is_kept_but_does_not_compete() -> None:
    matches = [match(n, "a", other) for n, other in enumerate("bcdbcd")]
    view = complete(view_of(matches=matches, marks=[mark("a", "veto")]))
    assert view.standings[-1].hypothesis == "a"
    assert view.standings[-1].status == "vetoed"
    assert view.standings[-1].chance_best == 0
    assert sum(one.chance_best for one in view.standings) == pytest.approx(1)
    assert "a does not compete: vetoed." in view.says
    undone = complete(view_of(matches=matches, marks=[mark("a", "veto"), mark("a", "veto", 0)]))
    assert undone.standings[0].hypothesis == "a"


def test_a_merge_loses_nothing_of_either() -> None:
    matches = [match(0, "a", "c"), match(1, "b", "c"), match(2, "d", "b", 0.0), match(3, "a", "b")]
    tests = [ExecutedTest(hypothesis="b", prediction=0, run="r", p=1e-9, as_predicted=True)]
    reviews = [
        HypothesisReview(hypothesis=n, scores=dict.fromkeys(CRITERIA, s)) for n, s in (("a", 4), ("b", 8), ("c", 6))
    ]
    view = view_of(matches=matches, marks=[mark("b", "merge", into="a")], tests=tests, reviews=reviews)
    found = by_name(view)
    assert set(found) == {"a", "c", "d"}
    # The three comparisons with others count for the one that stays, and that of the two with each other for none.
    assert (found["a"].matches, found["a"].wins) == (3, 3.0)
    assert found["a"].verdict == "supported"
    apart = by_name(view_of(matches=matches, marks=[mark("b", "merge", into="a"), mark("b", "merge", into="")]))
    assert set(apart) == {"a", "b", "c", "d"}


def test_merges_in_a_circle_or_into_nothing_merge_nobody() -> None:
    ideas = [idea(name) for name in "abcd"]
    circle = [mark("a", "merge", into="b"), mark("b", "merge", into="a"), mark("c", "merge", into="b")]
    assert merged(ideas, circle) == {"a": "a", "b": "b", "c": "c", "d": "d"}
    assert merged(ideas, [mark("a", "merge", into="b"), mark("b", "merge", into="c")])["a"] == "c"
    assert merged(ideas, [mark("a", "merge", into="gone")])["a"] == "a"


@pytest.mark.parametrize(("as_predicted", "verdict"), [(True, "supported"), (False, "refuted")])
def test_a_verdict_moves_the_rating_as_comparisons_do_and_no_more_than_five(as_predicted: bool, verdict: str) -> None:
    def tested(p: float) -> Standing:
        test = ExecutedTest(hypothesis="a", prediction=0, run="r", p=p, as_predicted=as_predicted)
        ideas = [idea("a", predictions=[ASKED]), *map(idea, "bcd")]
        return by_name(view_of(hypotheses=ideas, tests=[test], matches=[match(0, "b", "c")]))["a"]

    # One test: the e-value of half of p must reach 1 / alpha = 10: p = 0.005.
    assert tested(0.0051).verdict == "untested"
    assert tested(0.0051).rating == pytest.approx(1200, abs=40)
    assert tested(0.0049).verdict == verdict
    sign = 1 if as_predicted else -1
    assert sign * tested(0.0049).rating > sign * 1200 + 50
    # ln of the e-value reaches 5 at p = 2 * (0.5 / e**5)**2; nothing beyond it moves more.
    cap = 2 * (0.5 / math.exp(MOST_OF_A_VERDICT)) ** 2
    assert tested(cap).rating == tested(cap / 100).rating == tested(0.0).rating
    assert sign * tested(cap).rating > sign * tested(0.0049).rating


def test_questions_of_the_same_file_are_one_look_and_other_files_another() -> None:
    def worth(*data: list[str]) -> float:
        tests = [
            ExecutedTest(hypothesis="a", prediction=n, run="r", p=0.04, as_predicted=True, data=of)
            for n, of in enumerate(data)
        ]
        return gathered(tests, {"a": "a"})["a"].for_it

    once = worth(["x"])
    assert worth(["x"], ["x"], ["x", "y"], ["y"]) == pytest.approx(once)
    assert worth(["x"], ["y"]) == pytest.approx(once**2)
    assert worth(["x"], ["y"], ["x", "y"]) == pytest.approx(once), "what joins two looks makes them one"


def test_tests_of_a_tournament_share_one_error_rate() -> None:
    """e-BH: among ten tested, one alone needs an e-value of 100, which p = 0.005 does not give."""
    tests = [ExecutedTest(hypothesis="a", prediction=0, run="r", p=0.004, as_predicted=True)]
    others = [ExecutedTest(hypothesis=n, prediction=0, run="r", p=0.6, as_predicted=True) for n in "bcdefghij"]
    assert by_name(view_of("abcdefghij", tests=tests))["a"].verdict == "supported"
    assert by_name(view_of("abcdefghij", tests=[*tests, *others]))["a"].verdict == "untested"


def test_what_has_no_question_or_gave_no_p_is_untestable_here() -> None:
    ideas = [idea("a"), idea("b", predictions=[ASKED]), idea("c", predictions=[ASKED])]
    found = by_name(
        view_of(hypotheses=ideas, tests=[ExecutedTest(hypothesis="c", prediction=0, run="", why="No plan.")])
    )
    assert [found[name].verdict for name in "abc"] == ["untestable_here", "untested", "untestable_here"]


def test_no_rank_is_stated_where_nothing_is_known() -> None:
    view = complete(view_of(matches=[match(0, "a", "b")]))
    assert {one.group for one in view.standings} == {1}
    assert "cannot be told apart yet; " in view.says[0]
    assert "more comparisons would" in view.says[0]
    clear = complete(
        view_of("ab", matches=[match(n, *("ab" if n % 2 else "ba"), score=float(n % 2)) for n in range(60)])
    )
    assert [one.group for one in clear.standings] == [1, 2]
    assert clear.says[0].startswith("a is ahead of all others; the chance that it is the best is 100%")


def test_where_every_pair_was_compared_no_further_comparison_is_promised() -> None:
    view = view_of(matches=[match(0, "a", "b")])
    ended = view.model_copy(update={"tournament": view.tournament.model_copy(update={"stopped_by": NO_PAIR_LEFT})})
    said = complete(ended).says[0]
    assert "compared every pair" in said
    assert "more comparison" not in said


def test_a_judge_that_contradicts_itself_is_named() -> None:
    matches = [match(n, "a", "b", score=float(n % 2)) for n in range(8)]
    says = complete(view_of(matches=matches)).says
    # 8 answers, four each way: 12 of 28 pairs of answers agree.
    assert any("answered the same in 43% of 28 cases" in sentence for sentence in says)


def test_no_two_winners_are_one_idea() -> None:
    matches = [match(n, *pair) for n, pair in enumerate(["ab", "ac", "ad", "bc", "bd", "cd"] * 3)]
    clusters = [Clusters(number=0, of={"a": 1, "b": 1, "c": 2, "d": 2})]
    view = complete(view_of(matches=matches, clusters=clusters))
    assert [one.hypothesis for one in best_of_each_idea(view, 3)] == ["a", "c"]
    for document in (markdown(view), aims_page(view)):  # and the second of each is not left out without a word
        near = [line for line in document.splitlines() if line.startswith("Nearly the same idea")]
        assert [line.partition("only: ")[2].split()[0] for line in near] == ["b", "d"]


def test_words_of_a_model_are_called_unchecked_in_documents() -> None:
    said = idea("a", text="A holds.", explanation="PMID 1 shows it", by="a model")
    for document in (markdown, aims_page):
        assert "In the words of a model: nothing of this was checked" in document(complete(view_of(hypotheses=[said])))
        ruled = said.model_copy(update={"by": "built-in"})
        assert "In the words of" not in document(complete(view_of(hypotheses=[ruled])))


def test_documents_tell_all_and_stay_tables() -> None:
    ideas = [
        idea("a", text="A | B holds.", explanation="Because", experiment="Test it", predictions=[ASKED]),
        idea("b"),
    ]
    ways = {"run_1": True, "run_2": False, "run_3": None}
    tests = [ExecutedTest(hypothesis="a", prediction=0, run=run, p=0.001, as_predicted=w) for run, w in ways.items()]
    view = complete(view_of(hypotheses=ideas, matches=[match(0, "a", "b", reason="Sharper")], tests=tests))
    text = markdown(view)
    for part in ("A \\| B holds.", "won against b: Sharper.", "run run_1", "No more B.", "cannot be told apart"):
        assert part in text
    tested = [line.partition("0.001")[2] for line in text.splitlines() if line.startswith("- tested")]
    assert tested == [", as predicted (run run_1)", ", the other way than predicted (run run_2)", " (run run_3)"]
    rows = [line for line in text.splitlines() if line.startswith("| 1")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {11}
    assert "**Hypothesis.** A | B holds." in aims_page(view)
    assert TournamentView.model_validate_json(FORMS["json"](view)) == view
    empty = complete(view_of(""))
    assert empty.standings == []
    assert all(form(empty) for form in FORMS.values())
