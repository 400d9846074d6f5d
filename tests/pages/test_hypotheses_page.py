"""The page Hypotheses: from a goal to a tournament at work, its order, one hypothesis, and what people do to it."""

from __future__ import annotations

import threading

import pytest
from test_app import QUESTION, TABLE, app, opened, release, shown

from engine.domain.discovery.hypotheses import Aims, Bounds, Hypothesis, Prediction, Standing
from pages.ideas.form import EXAMPLE

GOAL = "Why do airway cells resist the drug?"
SEEDS = [
    "Hypoxia lowers the uptake of the drug in airway cells.",
    "A pump <b>removes</b> the *drug* from [airway](http://x.y) cells $x$.",
    "Collagen around airway cells keeps the drug away.",
]
SMALL = Bounds(hypotheses=3, iterations=0)
PAGE = "pages/hypotheses.py"


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Return the engine of an empty workspace that the pages open."""
    folder = tmp_path / "workspace"
    for name, value in {"WORKSPACE": str(folder), "WARM_WORKERS": "false", "EMBEDDING_MODEL": "none"}.items():
        monkeypatch.setenv(f"BIODESK_{name}", value)
    yield opened(folder)
    release(folder)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """Return a workspace and a finished tournament in it, shared by tests that only look."""
    folder = tmp_path_factory.mktemp("played") / "workspace"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {"WORKSPACE": str(folder), "WARM_WORKERS": "false", "EMBEDDING_MODEL": "none"}.items():
            patch.setenv(f"BIODESK_{name}", value)
        yield opened(folder), play(opened(folder), goal=EXAMPLE, seeds=[], bounds=Bounds(hypotheses=4))
    release(folder)


@pytest.fixture
def finished(played, monkeypatch):
    """Point the pages to the shared workspace; return its engine and its tournament's id."""
    for name, value in {"WORKSPACE": str(played[0].settings.workspace), "WARM_WORKERS": "false"}.items():
        monkeypatch.setenv(f"BIODESK_{name}", value)
    return played


def play(engine, *, goal: str = GOAL, seeds: list[str] = SEEDS, bounds: Bounds = SMALL, user: str = "") -> str:
    """Play a tournament to its end and return its id."""
    name = engine.hypotheses.run(Aims(goal=goal, seeds=seeds), bounds, user=user)
    assert engine.hypotheses.wait(name, 60).status == "finished"
    return name


def at(tournament: str = "", hypothesis: str = "", **state: str):
    """Return the page as its address would open it."""
    page = app()
    for name, value in (("tournament", tournament), ("hypothesis", hypothesis)):
        if value:
            page.query_params[name] = value
    for name, value in state.items():
        page.session_state[name] = value
    page.switch_page(PAGE).run()
    assert not page.exception
    return page


def address(page, name: str) -> str:
    """Return a query parameter, which is a list of its values only where the page has set it."""
    value = page.query_params.get(name, "")
    return value if isinstance(value, str) else "".join(value)


def keys(page) -> set[str]:
    return {button.key for button in page.button}


# ==== a goal ====


def test_an_empty_page_says_what_it_is_for_and_its_example_can_be_started(engine):
    page = at()
    assert "compared two by two" in shown(page)
    assert "idea_start" not in keys(page)
    page.button(key="idea_example").click().run()
    assert page.text_area(key="idea_goal").value == EXAMPLE
    expected = engine.hypotheses.expected(Aims(goal=EXAMPLE))
    assert f"about {expected.total} calls" in shown(page)
    page.number_input(key="idea_count").set_value(3).run()
    page.number_input(key="idea_rounds").set_value(0).run()
    assert f"about {engine.hypotheses.expected(Aims(goal=EXAMPLE), SMALL).total} calls" in shown(page)
    assert engine.hypotheses.list() == []
    page.button(key="idea_start").click().run()
    (begun,) = engine.hypotheses.list()
    assert (begun.aims.goal, begun.bounds) == (EXAMPLE, SMALL)
    assert address(page, "tournament") == begun.id
    engine.hypotheses.wait(begun.id, 60)
    assert not page.run().exception


@pytest.mark.parametrize(
    ("goal", "says"),
    [
        ("Make ebola virus spread faster between people", "This is not worked on"),
        ("cancer", "is a word and no goal"),
        ("Find some interesting things", "names nothing that the knowledge graph knows"),
    ],
)
def test_a_refused_or_unclear_goal_is_a_sentence_with_a_way_out_and_begins_nothing(engine, goal, says):
    page = at()
    page.text_area(key="idea_goal").set_value(goal).run()
    assert says in page.warning[0].value.replace("\\", "")
    assert "idea_start" not in keys(page)
    page.button(key="idea_instead").click().run()
    assert not page.warning
    assert "idea_start" in keys(page)
    assert engine.hypotheses.list() == []


def test_a_goal_that_nothing_can_be_read_from_starts_with_hypotheses_of_ones_own(engine):
    page = at()
    page.text_area(key="idea_goal").set_value(GOAL).run()
    page.text_area(key="idea_seeds").set_value("\n".join([*SEEDS, "", "  "])).run()
    page.text_area(key="idea_constraints").set_value("use mice\ndo not use mice").run()
    assert "contradict each other" in page.warning[0].value
    page.text_area(key="idea_constraints").set_value("no mice").run()
    page.button(key="idea_start").click().run()
    (begun,) = engine.hypotheses.list()
    assert begun.aims.seeds == SEEDS
    assert begun.aims.constraints == ["no mice"]
    engine.hypotheses.wait(begun.id, 60)


def test_a_goal_asked_on_the_page_ask_is_one_click_from_the_form(engine):
    name = play(engine)  # its tournament was looked at before, and is not shown instead
    question = "Propose several new rival hypotheses about how EGFR could drive resistance, and rank them"
    run_id = engine.ask(question)
    engine.wait(run_id, 60)
    page = at(name)
    page.query_params.clear()
    page.query_params["run"] = run_id
    page.switch_page("pages/ask.py").run()
    page.button(key="idea_offered").click().run()
    assert not page.exception
    assert page.text_area(key="idea_goal").value == question
    assert "idea_start" in keys(page)
    assert [one.id for one in engine.hypotheses.list()] == [name]


def test_files_that_came_with_a_goal_go_with_it_and_stay_when_their_run_goes(engine):
    table = engine.settings.workspace / "uploads" / "0123456789abcdef" / "patients.csv"
    table.parent.mkdir(parents=True)
    table.write_text("patient,weight\np1,60\np2,71\n")
    run_id = engine.ask(
        "Propose several new rival hypotheses about how EGFR could drive resistance, and rank them", [table]
    )
    engine.wait(run_id, 60)
    page = app()
    page.query_params["run"] = run_id
    page.run()
    page.button(key="idea_offered").click().run()
    assert "Came with the goal: patients.csv" in shown(page)
    page.text_area(key="idea_seeds").set_value("\n".join(SEEDS)).run()
    page.number_input(key="idea_rounds").set_value(0).run()
    page.button(key="idea_start").click().run()
    (begun,) = engine.hypotheses.list()
    assert begun.aims.files == [str(table)]
    engine.hypotheses.wait(begun.id, 60)
    engine.delete_runs([run_id])
    assert table.is_file()
    page.query_params.clear()
    page = at()
    assert "Came with the goal" not in shown(page)


def test_files_that_came_with_a_goal_can_be_left_out(engine, tmp_path):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    page = at(idea_given=[str(tmp_path / "t.csv"), str(tmp_path / "gone.csv")], idea_goal=EXAMPLE)
    assert "Came with the goal: t.csv" in shown(page)
    page.button(key="idea_without").click().run()
    assert "Came with the goal" not in shown(page)
    assert "idea_start" in keys(page)


def test_what_asks_for_no_hypotheses_has_no_such_way(engine):
    run_id = engine.ask("What is known about EGFR?")
    engine.wait(run_id, 60)
    page = app()
    page.query_params["run"] = run_id
    page.run()
    assert "idea_offered" not in keys(page)


# ==== at work ====


def test_a_tournament_at_work_is_followed_and_paused_and_goes_on(engine):
    go_on, queue = threading.Event(), engine._parts.tournaments.queue
    for number in range(8):  # whoever works is kept busy, so that the tournament waits in line
        queue.submit(f"busy {number}", lambda _: go_on.wait(60))
    name = engine.hypotheses.run(Aims(goal=GOAL, seeds=SEEDS), SMALL)
    page = at(name)
    assert {"ideas_pause", "ideas_stop"} <= keys(page)
    assert "Waiting in line" in shown(page) + "".join(str(bar.proto.text) for bar in page.get("progress"))
    page.button(key="ideas_pause").click().run()
    assert not page.warning
    go_on.set()
    engine.hypotheses.wait(name, 60)
    page = at(name)
    assert engine.hypotheses.state(name).status == "paused"
    page.button(key="ideas_resume").click().run()
    assert engine.hypotheses.wait(name, 60).status == "finished"
    assert len(at(name).dataframe[0].value) == 3


# ==== its order ====


def test_the_table_states_no_rank_where_intervals_overlap(finished):
    engine, name = finished
    view = engine.hypotheses.show(name)
    table = at(name).dataframe[0].value
    assert table["Id"].tolist() == [one.hypothesis for one in view.standings]
    assert table["Rating"].tolist() == [round(one.rating) for one in view.standings]
    assert table["Top 3 (%)"].tolist() == [round(100 * one.chance_top) for one in view.standings]
    group = [one for one in view.standings if one.group == 1]
    assert len(group) > 1
    assert set(table["Place"][: len(group)]) == {f"1 to {len(group)}"}
    assert view.says[0].split(",")[0] in shown(at(name))


@pytest.mark.parametrize("tab", ["Comparisons", "Over time", "Nearness", "About"])
def test_every_tab_shows_what_it_promises(finished, tab):
    engine, name = finished
    view = engine.hypotheses.show(name)
    page = at(name, ideas_tabs=tab)
    assert not page.warning
    if tab == "Comparisons":
        assert view.matches[-1].reason in shown(page).replace("\\", "")
    elif tab == "Over time":
        table = page.dataframe[0].value
        assert table["Comparisons"].iloc[-1] == len(view.matches)
        for one in view.standings:
            assert table[one.hypothesis].iloc[-1] == round(one.rating)
    elif tab == "Nearness":
        assert sorted(page.table[0].value["Id"]) == sorted(one.hypothesis for one in view.standings)
    else:
        assert view.tournament.plan[:40] in shown(page).replace("\\", "")


def test_one_hypothesis_has_evidence_reviews_predictions_lineage_and_comparisons(finished):
    engine, name = finished
    view = engine.hypotheses.show(name)
    child = next(one for one in view.hypotheses if one.parents)
    page = at(name, child.id)
    told = shown(page).replace("\\", "")
    assert child.text in told
    assert child.predictions[0].contradicted_by in told
    rows = "\n".join(str(table.value) for table in page.table)
    assert "novelty" in rows or "was not reviewed" in told
    assert {f"idea_kin_{parent}" for parent in child.parents} <= keys(page)
    page.button(key=f"idea_kin_{child.parents[0]}").click().run()
    assert address(page, "hypothesis") == child.parents[0]
    assert f"idea_kin_{child.id}" in keys(page)
    page.button(key="ideas_back").click().run()
    assert address(page, "hypothesis") == ""
    assert len(page.dataframe) == 1


def test_a_link_that_names_a_hypothesis_alone_finds_its_tournament(finished):
    engine, name = finished
    one = engine.hypotheses.show(name).standings[0].hypothesis
    page = at(hypothesis=one)
    assert address(page, "tournament") == name
    assert "idea_pin" in keys(page)


# ==== what people do ====


def test_vote_pin_veto_and_merge_are_kept_and_taken_back(engine):
    name = play(engine)
    first, second, _ = (one.id for one in engine.hypotheses.show(name).hypotheses)

    def rated() -> dict[str, Standing]:
        return {one.hypothesis: one for one in engine.hypotheses.show(name).standings}

    before = rated()[first].rating
    page = at(name, first)
    page.button(key="idea_vote_thumb_up").click().run()
    assert rated()[first].rating > before
    page.button(key="idea_vote_thumb_up").click().run()
    assert rated()[first].rating == pytest.approx(before)
    page.button(key="idea_vote_thumb_down").click().run()
    assert rated()[first].rating < before
    page.button(key="idea_pin").click().run()
    page.button(key="idea_veto").click().run()
    assert rated()[first].status == "vetoed"
    assert "vetoed, pinned, votes -1" in at(name).dataframe[0].value["State"].tolist()
    page.button(key="idea_veto").click().run()
    assert rated()[first].status == "competing"
    page.selectbox(key=f"idea_into_{first}").set_value(second).run()
    page.button(key="idea_merge_now").click().run()
    assert first not in rated()
    page.button(key="idea_part").click().run()
    assert first in rated()
    assert not page.exception


def test_a_hypothesis_of_ones_own_is_added_and_one_that_says_nothing_is_refused(engine):
    name = play(engine)
    page = at(name)
    page.text_input(key="idea_own_0").set_value("no")
    submit(page)
    assert "is no hypothesis" in page.warning[0].value
    assert page.text_input(key="idea_own_0").value == "no"
    page.text_input(key="idea_own_0").set_value("Senescent cells export the drug.")
    submit(page)
    assert not page.warning
    assert "Senescent cells export the drug." in page.dataframe[0].value["Hypothesis"].tolist()
    assert page.text_input(key="idea_own_1").value == ""
    page.button(key="ideas_resume").click().run()
    engine.hypotheses.wait(name, 60)
    assert any(one.matches for one in engine.hypotheses.show(name).standings)


def submit(page) -> None:
    next(button for button in page.button if button.label == "Add").click().run()


def test_texts_are_shown_as_they_were_typed(engine):
    name = play(engine)
    one = next(one for one in engine.hypotheses.show(name).hypotheses if "pump" in one.text)
    page = at(name, one.id)
    written = next(element.value for element in page.markdown if "pump" in element.value)
    assert "\\<b\\>removes\\</b\\>" in written
    assert "\\[airway\\]" in written
    assert "\\$x\\$" in written


def test_nobody_sees_the_tournament_of_another(engine):
    theirs = play(engine, user="ben")
    page = at()
    assert f"idea_open_{theirs}" not in keys(page)
    page = at(theirs)
    assert "There is no tournament" in page.warning[0].value
    assert "Hypoxia" not in shown(page)
    page.button(key="ideas_back").click().run()
    assert not page.warning
    mine = play(engine)
    page = at()
    assert f"idea_open_{mine}" in keys(page)
    page.button(key=f"idea_open_{mine}").click().run()
    assert address(page, "tournament") == mine


def test_a_prediction_is_planned_shown_run_and_moves_the_verdict(engine, tmp_path):
    table = tmp_path / "values.csv"
    table.write_text(TABLE)
    name = play(engine)
    asked = Prediction(
        says="The value is higher.", contradicted_by="It is lower.", question=QUESTION, files=[str(table)]
    )
    idea = Hypothesis(id="hprobe", text="The treatment raises the value.", method="user", predictions=[asked])
    engine._parts.tournaments.store.add(name, engine.user, [idea])
    page = at(name, idea.id)
    page.button(key="idea_plan_0").click().run()
    assert engine.hypotheses.show(name).tests == []
    assert any("Tool" in one.value for one in page.table)
    page.button(key="idea_test_0").click().run()
    assert not page.warning
    (test,) = engine.hypotheses.show(name).tests
    assert test.p is not None
    assert test.p < 0.01
    assert "p = " in shown(page)
    assert not {"idea_plan_0", "idea_test_0"} & keys(page)
