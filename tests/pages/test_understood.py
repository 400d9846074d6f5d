"""How a question was read is shown, can be changed by a click, and what a column is can be corrected."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from growth_data import write_growth
from hypothesis import given
from hypothesis import strategies as st
from read_question import ALTERNATIVES, QUESTION, SPANS, known_planner
from streamlit.testing.v1 import AppTest

from engine.domain.plan import Span
from engine.domain.profile import Repeated, Structure, WideMeasure
from engine.toolbox.analyses import load_analyses
from pages.asking.structure import sentences
from pages.asking.understood import legend, marked
from pages.parts.escape import plain
from pages.parts.words import IS, TAKEN, said_as

ROOT = Path(__file__).resolve().parents[2]
TITLES = {analysis.id: analysis.name for analysis in load_analyses().values()}

# ==== the question, marked ====


def test_words_stand_on_the_colour_of_what_they_were_taken_for():
    text = marked(QUESTION, SPANS)
    assert text.startswith("Is :blue-background[:blue[growth]] :green-background[:green[higher]] in :blue-background")
    assert ":red-background[:red[~~at dawn~~]], and why?" in text


def test_the_legend_names_only_what_occurs():
    assert legend(SPANS).split("background") == legend(SPANS[::-1]).split("background")
    assert "your data" in legend(SPANS)
    assert "~~not used~~" in legend(SPANS)
    assert "numbers" not in legend(SPANS)
    assert legend([]) == ""


def test_every_meaning_of_words_has_a_colour_but_filler():
    from typing import get_args

    from engine.domain.plan import Taken

    assert set(get_args(Taken)) - set(TAKEN) == {"filler"}


KINDS = st.sampled_from([*TAKEN, "filler"])
PLACES = st.tuples(st.integers(-3, 40), st.integers(-3, 40), KINDS)


def as_seen(text: str) -> str:
    """Return Markdown without the backslashes that each of its parts needs where it stands."""
    return " ".join(re.sub(r"\\([^\w\s]|_)", r"\1", text).split())


@given(question=st.text(st.characters(exclude_characters="\r"), max_size=30), places=st.lists(PLACES, max_size=6))
def test_marking_never_loses_or_doubles_a_word(question, places):
    spans = [Span(text="", start=start, end=end, taken_as=kind) for start, end, kind in places]
    text = marked(question, spans).replace(":small[]", "")
    bare = re.sub(r"(?<!\\):[a-z]+-background\[:[a-z]+\[((?:\\.|[^\]\\])*)\]\]", r"\1", text, flags=re.DOTALL)
    assert as_seen(re.sub(r"(?<!\\)~~", "", bare)) == as_seen(plain(question).replace(":small[]", ""))


# ==== what was found in a file, in sentences ====


def test_structure_is_told_in_sentences():
    structure = Structure(
        unit="one visit of a patient",
        repeated=[Repeated(subject="patient", subjects=118, within=["week"], between=["sex"])],
        wide=[WideMeasure(name="bdi", columns=["bdi.pre", "bdi.2m"], labels=["pre", "2m"], ordered=True)],
        times=["week"],
        doses=["mg"],
        nested=[("leaf", "plant"), ("patient", "sex")],
        survival={"time": "months", "event": "status", "event_value": "1"},
        same_quantity=[("told", "measured")],
        part_of={"dead": "exposed"},
        compositions=[[f"part{n}" for n in range(9)]],
    )
    assert list(sentences(structure)) == [
        "One row is one visit of a patient.",
        "118 subjects in patient with several rows, told apart by week: these rows are not independent.",
        "The same in all rows of a subject: sex.",
        "bdi stands in 2 columns: pre, 2m.",
        "Time to an event: time in months, event in status (1 means that it happened).",
        "Times: week.",
        "Doses: mg.",
        "Nested: leaf within plant.",
        "told and measured hold the same quantity.",
        "dead counts a part of exposed.",
        "Parts of one whole: part0, part1, part2, part3, part4, part5 and 3 more.",
    ]


def test_nothing_found_is_nothing_said():
    assert list(sentences(Structure())) == []


def test_every_scale_and_role_has_a_word_and_can_be_said():
    from typing import get_args

    from engine.domain.profile import Role, Scale

    assert {*get_args(Scale), *get_args(Role), "ignore"} - set(IS) == {"id"}
    assert said_as("batch, unit:mg") == "a technical batch, in mg"


# ==== on the pages ====


@pytest.fixture
def workspace(tmp_path, monkeypatch):
    """Return a workspace of this test alone."""
    from pages.parts.engine import _opened

    monkeypatch.setenv("BIODESK_WORKSPACE", str(tmp_path / "workspace"))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.setenv("BIODESK_EMBEDDING_MODEL", "none")
    yield tmp_path / "workspace"
    _opened.clear(str(tmp_path / "workspace"))


@pytest.fixture
def waiting(workspace, tmp_path, monkeypatch):
    """Return the engine of the pages and a run whose plan waits, read by a planner with a known answer."""
    from pages.parts.engine import _opened

    known_planner(monkeypatch)
    engine = _opened(str(workspace))
    run_id = engine.ask(QUESTION, [write_growth(tmp_path / "growth.csv")])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    return engine, run_id


def opened(run_id: str, page: str) -> AppTest:
    at = AppTest.from_file(str(ROOT / "desk.py"), default_timeout=60)
    at.query_params["run"] = run_id
    at.run()
    at = at.switch_page(page).run()
    assert not at.exception
    return at


def shown(at: AppTest) -> str:
    return "\n".join(str(element.value) for group in (at.markdown, at.caption, at.warning) for element in group)


PAGES = ("pages/ask.py", "pages/plan_run.py")


@pytest.mark.parametrize("page", PAGES)
def test_before_approval_the_page_says_how_the_question_was_read(waiting, page):
    at = opened(waiting[1], page)
    text = shown(at)
    assert text.count(marked(QUESTION, SPANS)) == 1
    assert f"**{TITLES['compare_groups'].capitalize()}**" in text
    assert "0.72" not in text  # how likely the chooser took it is no probability of being right
    assert "Adjusted for\\:" in text
    assert at.multiselect(key=f"pick_{waiting[1]}_1_0_Adjusted for").options  # a column makes it another analysis
    assert "Why it is higher\\: the data hold no cause." in text
    assert "Is that meant?" not in text  # the buttons ask it
    assert "It decides the test." in text
    (table,) = [frame.value for frame in at.dataframe if "Taken for" in frame.value]
    assert table.iloc[0].tolist() == ["the question", "an analysis", TITLES["compare_groups"]]
    assert table["Words"].tolist()[1:] == [span.text for span in SPANS]
    unused = table[table["Taken for"] == "not used"].iloc[0]
    assert unused["Words"] == "at dawn"


@pytest.mark.parametrize("page", PAGES)
def test_an_alternative_is_one_click_away(waiting, page):
    engine, run_id = waiting
    at = opened(run_id, page)
    offered = [button for button in at.button if button.key and button.key.startswith("mean_")]
    assert [button.label for button in offered] == [plain(other.says) for other in ALTERNATIVES[:3]]
    offered[1].click().run()
    assert not at.exception
    plan = engine.view(run_id).plan
    assert (plan.version, plan.analysis[0].id) == (2, ALTERNATIVES[1].id)
    assert "**Compare a measurement between groups**" in shown(at)  # not called paired: nothing says what makes pairs


@pytest.mark.parametrize("page", PAGES)
def test_another_column_is_chosen_in_the_sentence_itself(waiting, page):
    engine, run_id = waiting
    at = opened(run_id, page)
    at.selectbox(key=f"pick_{run_id}_1_0_value").set_value("height").run()
    assert not at.exception
    assert engine.record(run_id).chosen == {"compare_groups": {"value": "height"}}
    assert engine.record(run_id).analysis == "compare_groups"  # another column, not another analysis
    assert engine.view(run_id).plan.version == 2


@pytest.mark.parametrize(("page", "button"), [(PAGES[0], "run_plan"), (PAGES[1], "editor_run")])
def test_columns_that_were_picked_count_when_run_is_pressed(waiting, page, button):
    engine, run_id = waiting
    at = opened(run_id, page)
    assert at.button(key=button).label == "Run this plan"
    columns = at.multiselect(key=f"pick_{run_id}_1_0_Adjusted for")
    named = columns.options[0]
    columns.set_value([named]).run()
    assert at.button(key=button).label == "Use what you picked"
    assert plain(f"Not in the plan yet: Adjusted for: {named}.") in shown(at)
    at.button(key=button).click().run()
    assert not at.exception
    (chosen,) = engine.record(run_id).chosen.values()
    assert chosen["predictors"] == ["treatment", named]
    assert engine.view(run_id).plan.version == 2
    assert engine.record(run_id).status == "awaiting_approval"  # nobody has read that plan yet
    assert at.button(key=button).label == "Run this plan"
    assert "Not in the plan yet" not in shown(at)


def test_the_sentence_follows_what_is_answered_below_it(workspace, tmp_path):
    from pages.parts.engine import _opened

    engine, path = _opened(str(workspace)), tmp_path / "birds.csv"
    path.write_text("isle,mass_g\n" + "\n".join(f"{'NS'[i % 2]}orth,{300 + i * 7 % 31}.5" for i in range(30)))
    run_id = engine.ask("Is mass_g different between North and Sorth?", [path])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    at = opened(run_id, "pages/ask.py")
    (asked,) = [box for box in at.selectbox if "is the reference" in box.label]
    first, second = asked.value, next(name for name in ("North", "Sorth") if name != asked.value)
    told = lambda: next(box.value for box in at.selectbox if box.label.startswith("Reference"))  # noqa: E731
    assert told() == first
    assert f"'{first}' is the reference" in shown(at)
    asked.set_value(second).run()
    assert not at.exception
    assert told() == second
    assert f"'{first}' is the reference" not in shown(at)  # and the reason for the other one is gone
    assert engine.view(run_id).plan.version == 1
    at.button(key="run_plan").click().run()
    engine.wait(run_id, 90)
    params = engine.view(run_id).plan.node("n1").params
    assert (params["treated"], params["control"]) == (first, second)


def test_the_settings_of_the_steps_break_into_lines_where_a_window_is_narrow(waiting):
    at = opened(waiting[1], "pages/ask.py")
    (settings,) = [table.value for table in at.table if "Done with" in table.value]
    assert settings["Step"].tolist() == ["1\\. Compare"]
    assert settings["Done with"].tolist() == [plain("compare_groups on growth.csv; value = growth; group = treatment")]
    assert not [frame for frame in at.dataframe if "Tool" in frame.value]


def test_changes_that_are_not_kept_are_not_lost_to_an_alternative(waiting):
    engine, run_id = waiting
    at = opened(run_id, "pages/plan_run.py")
    at.selectbox(key=f"edit_{run_id}_0_n1_test").set_value("welch_t").run()
    key = f"mean_{run_id}_1_{ALTERNATIVES[0].id}"
    assert at.run().button(key=key).disabled
    at.button(key="editor_drop").click().run()
    assert not at.run().button(key=key).disabled
    assert engine.view(run_id).plan.version == 1


def test_what_is_not_answered_stands_above_all_that_is_to_be_chosen(waiting):
    engine, run_id = waiting
    plan = engine.view(run_id).plan
    left = plan.model_copy(update={"not_answered": ["'moon' has no part."], "version": plan.version + 1})
    engine._parts.records.store.save_plan(run_id, left)
    goal = engine.briefs(left)[0].title
    for page in PAGES:
        told = [str(element.value) for element in opened(run_id, page).markdown]
        place = next(at for at, text in enumerate(told) if "**Not answered by this plan**" in text)
        assert place < told.index(f"**{goal}**")
        assert place < told.index("**Did you mean**")


def test_a_finished_run_offers_no_other_reading_and_can_be_marked_as_wrong(waiting):
    engine, run_id = waiting
    engine.approve(run_id)
    assert engine.wait(run_id, 90).status == "succeeded"
    for page in PAGES:
        at = opened(run_id, page)
        assert not [button for button in at.button if button.key and button.key.startswith("mean_")]
        at.button(key="doubt_run").click().run()
        assert engine.memory.episode_of(run_id).doubted
        assert "marked as wrong" in shown(at)
        at.button(key="trust_run").click().run()
        assert not engine.memory.episode_of(run_id).doubted


def test_nothing_of_a_run_that_is_marked_as_wrong_is_reused(waiting):
    engine, run_id = waiting
    engine.approve(run_id)
    assert engine.wait(run_id, 90).status == "succeeded"
    engine.memory.doubt(run_id)

    def rerun() -> list[str]:
        again = engine.rerun(run_id)
        assert engine.wait(again, 90).status == "succeeded"
        return [result.status for result in engine.view(again).results.values()]

    assert rerun() == ["succeeded"]
    assert rerun() == ["cached"]  # of the run that computed it anew


# ==== columns ====


def columns(at: AppTest):
    (table,) = [frame.value for frame in at.dataframe if "It is" in frame.value]
    return table.set_index("Column")


def say(at: AppTest, column: str, what: str, unit: str = "") -> None:
    key = next(box.key for box in at.selectbox if box.key and box.key.startswith("correct_column_"))
    key = key.removeprefix("correct_column_")
    at.selectbox(key=f"correct_column_{key}").set_value(column)
    at.selectbox(key=f"correct_is_{key}").set_value(what)
    at.text_input(key=f"correct_unit_{key}").set_value(unit)
    at.run()
    at.button(key=f"correct_now_{key}").click().run()
    assert not at.exception


def test_a_column_is_corrected_on_its_card_and_taken_back(workspace, tmp_path):
    at = AppTest.from_file(str(ROOT / "desk.py"), default_timeout=60).run()
    data = write_growth(tmp_path / "growth.csv")
    at.file_uploader(key="uploader_0").upload("growth.csv", data.read_bytes(), "text/csv").run()
    assert columns(at).loc["height", "It is"] == IS["number"]
    assert "Unit" not in columns(at)
    say(at, "height", "code", "mm")
    assert columns(at).loc["height", "It is"] == "numbers that only name something, in mm"
    assert columns(at).loc["height", "Unit"] == "mm"
    assert "**height** is numbers that only name something, in mm" in shown(at)
    again = AppTest.from_file(str(ROOT / "desk.py"), default_timeout=60).run()  # another session, another name
    again.file_uploader(key="uploader_0").upload("other name.csv", data.read_bytes(), "text/csv").run()
    assert columns(again).loc["height", "It is"].startswith("numbers that only name")
    next(button for button in at.button if button.label == "Undo").click().run()
    assert columns(at).loc["height", "It is"] == IS["number"]
    assert "you said" not in shown(at)


def test_a_correction_before_approval_plans_the_question_again(waiting):
    engine, run_id = waiting
    at = opened(run_id, "pages/ask.py")
    say(at, "height", "code")
    assert engine.view(run_id).plan.version == 2
    assert engine.view(run_id).profiles[0].column("height").corrected == "code"
    assert columns(at).loc["height", "It is"] == IS["code"]


def test_a_correction_that_cannot_be_is_a_sentence(waiting):
    engine, run_id = waiting
    Path(engine.view(run_id).profiles[0].path).unlink()
    at = opened(run_id, "pages/ask.py")
    say(at, "height", "code")
    assert len(at.warning) == 1
    assert "There is no file" in at.warning[0].value
    assert engine.view(run_id).plan.version == 1
