"""The page Memory with much in it, and in two tabs of which one shows what is no longer so."""

from __future__ import annotations

import pytest
from test_app import app, opened, release, shown

from engine.domain.memory import Episode, Message


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """Return the engine of an empty workspace that the pages open."""
    folder = tmp_path / "workspace"
    monkeypatch.setenv("BIODESK_WORKSPACE", str(folder))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")
    monkeypatch.setenv("BIODESK_STARTER_KNOWLEDGE", "false")
    yield opened(folder)
    release(folder)


def at(tab: str):
    """Return the page with a tab open, as a browser tab of its own."""
    page = app()
    page.session_state["memory_tabs"] = tab
    page.switch_page("pages/memory.py")
    page.run()
    assert not page.exception
    return page


def keys(page) -> set[str]:
    return {button.key for button in page.button}


def test_forgetting_in_a_tab_that_shows_a_forgotten_fact_leaves_the_others_alone(engine):
    def add(*parts: str):
        return engine._parts.memory.semantic.state(*parts).fact

    first, last = add("sample S1", "is", "a control", "ada"), add("sample S8", "is", "a control", "ada")
    one, other = at("Facts"), at("Facts")
    for page in (one, other):
        page.selectbox(key="fact_chosen").set_value(last.id).run()
    one.button(key=f"fact_forget_now_{last.id}").click().run()
    assert [fact.id for fact in engine._parts.memory.semantic.facts()] == [first.id]
    other.button(key=f"fact_forget_now_{last.id}").click().run()
    assert not other.exception
    assert [fact.id for fact in engine._parts.memory.semantic.facts()] == [first.id]
    assert f"fact_forget_now_{first.id}" in keys(other)


def test_retracting_in_a_tab_that_does_not_know_it_was_done_changes_nothing(engine):
    fact = engine._parts.memory.semantic.state("sample S1", "is", "a control", "ada").fact
    other = engine._parts.memory.semantic.state("sample S2", "is", "a control", "ada").fact
    tabs = [at("Facts"), at("Facts")]
    for page in tabs:
        page.toggle(key="fact_show_retracted").set_value(True).run()
        page.selectbox(key="fact_chosen").set_value(fact.id).run()
    for page in tabs:
        page.button(key=f"fact_retract_{fact.id}").click().run()
        assert not page.exception
    assert engine.memory.fact(fact.id).retracted
    assert not engine.memory.fact(other.id).retracted


def test_a_retracted_fact_is_found_and_restored(engine):
    fact = engine._parts.memory.semantic.state("sample S1", "is", "a control", "ada").fact
    page = at("Facts")
    page.button(key=f"fact_retract_{fact.id}").click().run()
    assert not page.dataframe
    page.toggle(key="fact_show_retracted").set_value(True).run()
    assert page.dataframe[0].value["State"].tolist() == ["retracted"]
    page.button(key=f"fact_restore_{fact.id}").click().run()
    assert not engine.memory.fact(fact.id).retracted


def test_each_of_two_sources_is_retracted_by_itself(engine):
    def add(*parts: str):
        return engine._parts.memory.semantic.state(*parts).fact

    one, two = add("IL6", "activates", "STAT3", "ada"), add("IL6", "activates", "STAT3", "ben", 0.6)
    page = at("Facts")
    assert "2 sources state this" in shown(page)
    page.button(key=f"fact_retract_{one.id}").click().run()
    assert engine.memory.fact(one.id).retracted
    assert not engine.memory.fact(two.id).retracted
    assert page.dataframe[0].value["State"].tolist() == ["held, 1 of 2 retracted"]
    assert f"fact_restore_{one.id}" in keys(page)
    page.button(key=f"fact_retract_{two.id}").click().run()
    assert engine.memory.facts() == []


def test_what_was_stated_before_is_said_to_be_known(engine):
    engine._parts.memory.semantic.state("IL6", "activates", "STAT3", engine.user, 1.0)
    page = at("Facts")
    for name, text in (("subject", "il-6"), ("predicate", "activates"), ("object", "STAT3")):
        page.text_input(key=f"fact_{name}_0").set_value(text)
    next(button for button in page.button if button.label == "Remember").click().run()
    assert not page.exception
    assert "stated this already. Its confidence went from 1 to 0.8." in shown(page).replace("\\", "")
    assert len(engine._parts.memory.semantic.facts()) == 1


def test_thousands_of_facts_are_shown_a_page_at_a_time(engine):
    from engine.domain.memory import Fact
    from pages.remembering.facts import SHOWN

    engine._parts.memory.semantic.store.save(
        [
            Fact(
                id=f"f{n:04}",
                subject=f"G{n}",
                predicate="binds",
                object="X",
                source="ada",
                confidence=0.5,
                at="2026-01-01T00:00:00Z",
            )
            for n in range(2 * SHOWN + 3)
        ]
    )
    engine._parts.memory.semantic.refresh()
    page = at("Facts")
    assert len(page.dataframe[0].value) == len(page.selectbox(key="fact_chosen").options) == SHOWN
    page.pagination[0].set_value(3).run()
    assert not page.exception
    assert page.dataframe[0].value["Subject"].tolist() == ["G2", "G1", "G0"]
    assert "101 to 103 of 103" in shown(page)
    for fact_id in ("f0002", "f0001", "f0000"):
        engine.memory.remove(fact_id)
    page.run()  # the third page is gone
    assert not page.exception
    assert len(page.dataframe[0].value) == SHOWN


def test_a_pinned_analysis_comes_first_and_the_oldest_is_on_the_last_page(engine):
    from pages.remembering.episodes import SHOWN

    engine._parts.memory.episodic.add(
        *[
            Episode(
                id=f"e{n:03}", at=f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z", task=f"Analysis number {n}", user="ada"
            )
            for n in range(SHOWN + 10)
        ]
    )
    engine._parts.memory.episodic.pin("e000")
    page = at("Past analyses")
    text = shown(page)
    assert text.index("Analysis number 0**") < text.index(f"Analysis number {SHOWN + 9}**")
    assert "asked by ada" in text
    assert "Analysis number 1**" not in text
    page.pagination[0].set_value(2).run()
    assert not page.exception
    assert "Analysis number 1**" in shown(page)


def test_a_click_on_pin_in_a_tab_that_does_not_know_it_was_done_keeps_the_pin(engine):
    engine._parts.memory.episodic.add(Episode(id="e1", at="2026-01-01T00:00:00Z", task="Analysis"))
    one, other = at("Past analyses"), at("Past analyses")
    one.button(key="pin_e1").click().run()
    other.button(key="pin_e1").click().run()
    assert not other.exception
    assert engine._parts.memory.episodic.episode("e1").pinned


def test_of_a_long_conversation_the_newest_are_shown_and_earlier_ones_when_asked_for(engine):
    from pages.remembering.conversation import SHOWN

    engine._parts.memory.working.store.extend(
        "c1",
        [Message(number=0, role="user", text=f"Sentence {n} ends.", at="2026-01-01T00:00:00Z") for n in range(1200)],
    )
    page = at("Conversation")
    assert len(page.chat_message) == SHOWN
    assert "Sentence 1199 ends" in shown(page)
    assert "Sentence 100 ends" not in shown(page)
    page.button(key="earlier_c1").click().run()
    assert len(page.chat_message) == 2 * SHOWN
    assert page.chat_message[0].markdown[0].value == f"Sentence {1200 - 2 * SHOWN} ends."
    page.button(key="pin_message_c1_1200").click().run()
    assert not page.exception
    assert engine.memory.messages("c1")[-1].pinned


def test_an_empty_conversation_offers_to_ask(engine):
    page = at("Conversation")
    assert "Ask the first question" in [link.proto.label for link in page.get("page_link")]


def test_a_budget_that_is_too_small_is_said_and_not_taken_for_an_empty_memory(engine, monkeypatch):
    engine._parts.memory.episodic.add(
        Episode(id="e1", at="2026-01-01T00:00:00Z", task="Docking of celecoxib into 5KIR " * 60, entities=["5KIR"])
    )
    page = at("What the planner sees")
    page.text_input(key="context_query").set_value("docking of celecoxib into 5KIR").run()
    page.slider(key="context_budget").set_value(200).run()
    assert not page.exception
    assert "has room for 0 of the 1 past" in shown(page)
    assert "Nothing relevant" not in shown(page)


def test_where_no_fact_mentions_it_the_nearest_are_shown_as_such(engine, monkeypatch):
    def near(question: str, texts: list[str], *, top: int) -> list[tuple[str, float]]:
        return [(text, 0.5) for text in texts if "statin" in text][:top]

    monkeypatch.setattr(engine._parts.memory.statements, "_nearest", near)
    engine._parts.memory.semantic.state("simvastatin", "lowers", "cholesterol", "ada")
    engine._parts.memory.semantic.state("sample S1", "is", "a control", "ada")
    page = at("Facts")
    page.text_input(key="fact_entity").set_value("blood lipids").run()
    assert "No fact is remembered about that. These are the nearest in meaning" in shown(page)
    assert page.dataframe[0].value["Subject"].tolist() == ["simvastatin"]
    monkeypatch.setattr(engine._parts.memory.statements, "_nearest", None)
    page.text_input(key="fact_entity").set_value("blood fats").run()
    assert not page.exception
    assert "No fact is remembered about that." in shown(page)
    assert not page.dataframe
