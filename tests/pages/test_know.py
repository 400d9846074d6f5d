"""The pages Memory and Knowledge Graph against the real engine: empty, with things in them, and after mistakes."""

from __future__ import annotations

import pytest
from test_app import app, opened, release, shown


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return a workspace with two remembered analyses and two facts."""
    folder = tmp_path_factory.mktemp("know") / "workspace"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIODESK_WORKSPACE", str(folder))
        patch.setenv("BIODESK_WARM_WORKERS", "false")
        engine = opened(folder)
        records = folder.parent / "memory.jsonl"
        records.write_text(
            '{"kind": "episode", "id": "ep1", "task": "Docking of celecoxib analogues into 5KIR", "tools": ["vina"], '
            '"domains": ["structural_biology"], "entities": ["PTGS2", "5KIR"], "result_summary": "RMSD 0.8 A.", '
            '"success": true, "quality": 0.9, "lessons": "Protonation matters.", "at": "2025-05-09T15:21:11Z"}\n'
            '{"kind": "episode", "id": "ep2", "task": "Breeding success of great tits near light poles", '
            '"tools": ["glmm"], "domains": ["ecology"], "entities": ["Parus major"], "result_summary": "Fewer young.", '
            '"success": true, "quality": 0.7, "lessons": "Zero inflation.", "at": "2025-01-24T14:03:40Z"}\n'
        )
        engine.memory.import_file(records)
        engine._parts.memory.semantic.state("sample S7", "is a duplicate of", "sample S3", "lab book")
        yield folder
    release(folder)


@pytest.fixture
def at(workspace, monkeypatch):
    """Return a function that opens a page of the app."""
    monkeypatch.setenv("BIODESK_WORKSPACE", str(workspace))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")

    def open_page(name: str, tab: str = "", **query: str):
        test = app()
        if tab:
            test.session_state["graph_tabs" if name == "knowledge_graph" else f"{name}_tabs"] = tab
        for key, value in query.items():
            test.query_params[key] = value
        test.switch_page(f"pages/{name}.py")
        return test.run()

    return open_page


def test_memory_lists_what_is_remembered(at):
    page = at("memory")
    assert not page.exception
    text = shown(page)
    assert "celecoxib" in text
    assert "Zero inflation" in text


def test_a_recall_says_why_and_shows_every_signal(at):
    page = at("memory")
    page.text_input(key="recall_query").set_value("dock ligands into 5KIR").run()
    text = shown(page)
    assert "celecoxib" in text
    kept = "\n".join(item.value for item in (block for box in page.expander for block in box.markdown))
    recalled = text.replace(kept, "")
    assert "celecoxib" in recalled
    assert "great tits" not in recalled
    for label in ("Words", "Tools", "Fields", "Entities", "Meaning"):
        assert label in text


def test_an_episode_is_pinned(at, workspace):
    page = at("memory")
    page.button(key="pin_ep1").click().run()
    assert opened(workspace)._parts.memory.episodic.episode("ep1").pinned
    page.button(key="unpin_ep1").click().run()
    assert not opened(workspace)._parts.memory.episodic.episode("ep1").pinned


def test_what_the_planner_sees_is_shown(at):
    page = at("memory", tab="What the planner sees")
    page.text_input(key="context_query").set_value("docking into 5KIR").run()
    assert any("Protonation" in block.value for block in page.code)


def test_the_graph_page_offers_a_start_and_goes_to_an_entity(at):
    page = at("knowledge_graph")
    assert not page.exception
    page.button(key="start_EGFR").click().run()
    assert not page.exception
    assert "EGFR" in shown(page)
    assert page.query_params["entity"]


def test_an_entity_in_the_address_is_opened(at):
    page = at("knowledge_graph", entity="EGFR")
    assert not page.exception
    assert any(sub.value == "EGFR" for sub in page.subheader)


def test_an_unknown_entity_is_a_sentence(at):
    page = at("knowledge_graph", entity="NOSUCHTHING99")
    assert not page.exception
    assert "There is no entity" in shown(page)


def test_a_text_is_checked(at):
    page = at("knowledge_graph", tab="Check a text")
    page.text_area(key="check_text").set_value("Trastuzumab targets ERBB2.").run()
    page.button(key="check_go").click().run()
    text = shown(page)
    assert not page.exception
    assert "Trastuzumab targets ERBB2" in text
    assert "Score" in text


def test_paths_are_found(at):
    page = at("knowledge_graph", tab="Paths")
    page.text_input(key="path_from").set_value("trastuzumab").run()
    page.text_input(key="path_to").set_value("breast cancer").run()
    assert not page.exception
    assert "Fewest steps" in shown(page)


@pytest.mark.parametrize(
    ("page", "tab"),
    [
        ("memory", "Facts"),
        ("memory", "Conversation"),
        ("memory", "Export and import"),
        ("knowledge_graph", "Import"),
        ("knowledge_graph", "Statistics"),
        ("tools", "Find"),
        ("tools", "Catalogues"),
    ],
)
def test_every_tab_opens(at, page, tab):
    drawn = at(page, tab=tab)
    assert not drawn.exception
    assert not drawn.warning


def test_a_fact_is_retracted_and_its_source_is_shown(at, workspace):
    page = at("memory", tab="Facts")
    fact = opened(workspace)._parts.memory.semantic.facts()[0]
    page.button(key=f"fact_retract_{fact.id}").click().run()
    assert not page.exception
    assert opened(workspace)._parts.memory.semantic.fact(fact.id).retracted


def test_the_planner_preview_gives_the_planners_fields(at, workspace, monkeypatch):
    engine = opened(workspace)
    assert engine.domains_of("Which genes are differentially expressed in this RNA-seq?") == ["transcriptomics"]
    given: list[list[str]] = []
    real = type(engine.memory).context

    def context(self, query, **options):
        given.append(list(options.get("domains", ())))
        return real(self, query, **options)

    monkeypatch.setattr(type(engine.memory), "context", context)
    page = at("memory", tab="What the planner sees")
    page.text_input(key="context_query").set_value("survival of patients after treatment").run()
    assert given == [["clinical"]]
    assert "clinical" in shown(page)


def test_only_the_newest_conversations_are_read_for_their_titles(at, workspace, monkeypatch):
    from engine.domain.memory import Message
    from pages.remembering import conversation as _conversation

    store = opened(workspace)._parts.memory.working.store
    for number in range(4):
        store.append(
            f"c{number}",
            Message(number=0, role="user", text=f"Question {number}", at=f"2026-01-0{number + 1}T00:00:00Z"),
        )
    monkeypatch.setattr(_conversation, "TITLED", 2)
    page = at("memory", tab="Conversation")
    assert not page.exception
    options = page.selectbox(key="conversation").options
    assert ["Question 3" in options[0], "Question 2" in options[1]] == [True, True]
    assert ["c1" in options[2], "Question 1" in options[2], "c0" in options[3]] == [True, False, True]
    assert set(page.session_state["conversation_titles"]) == {"c3", "c2"}


# ==== statistics: what a run taught, and taking a source back ====


def test_what_a_run_taught_is_listed_and_can_be_taken_back(at, workspace):
    from engine.domain.knowledge import EdgeRows, EdgeType, GraphSource, NodeRows, NodeType

    graph = opened(workspace)._parts.knowledge
    nodes, edges = NodeRows(), EdgeRows()
    nodes.add("tool:made_up", NodeType.TOOL, "Made-up tool")
    egfr = graph.entities.node("EGFR").id
    edges.add("tool:made_up", EdgeType.ASSOCIATED_WITH, egfr)
    graph.sources.learn(GraphSource(id="run_x1", name="Run run_x1: made up", kind="run"), [nodes, edges])

    page = at("knowledge_graph", tab="Statistics")
    assert not page.exception
    assert not any("Made-up tool" in str(table.value) for table in page.dataframe)  # looked up only when opened
    page.session_state["taught_run_x1"] = True
    page.run()
    assert not page.exception
    tables = [table.value for table in page.dataframe]
    assert tables[0]["Entity"].tolist() == ["Made-up tool"]
    assert tables[1][["From", "To"]].to_numpy().tolist() == [["Made-up tool", "EGFR"]]

    assert "run_x1" in {source.id for source in graph.reading.stats().sources}
    page.button(key="remove_now_run_x1").click().run()
    assert not page.exception
    assert "run_x1" not in {source.id for source in graph.reading.stats().sources}
    assert "Run run" not in shown(page)


# ==== tools ====


def test_an_example_finds_tools_and_shows_every_stage(at):
    page = at("tools")
    assert not page.exception
    assert "built-in tools" in shown(page)
    page.button(key="tool_example_0").click().run()
    assert not page.exception
    best, explained = (table.value for table in page.dataframe)
    assert best["Rank"].tolist() == list(range(1, len(best) + 1))
    assert "sc_qc" in best["Tool"].tolist()[:3]
    assert {"Catalogue", "Runnable", "Score", "Why"} <= set(best.columns)
    assert explained["Tool"].tolist()[: len(best)] == best["Tool"].tolist()
    assert {"Entered by", "Because of", "text"} <= set(explained.columns)
    expanded = explained[explained["Entered by"] == "expand"]
    assert expanded["Because of"].str.len().min() > 0
    stages = page.table[0].value
    assert stages["Stage"].tolist() == ["Question to vector", "Search", "Expand", "Rerank", "All"]
    assert all(stages["Time"])
    assert f"{len(best)} kept" in stages["Tools"].tolist()


def test_the_number_of_tools_is_the_one_asked_for(at):
    page = at("tools")
    page.number_input(key="tool_top").set_value(3).run()
    page.text_input(key="tool_query").set_value("cluster single cells").run()
    assert len(page.dataframe[0].value) == 3


def test_a_task_without_a_tool_is_a_sentence(at):
    page = at("tools")
    page.text_input(key="tool_query").set_value("zzqx vvbnm").run()
    assert not page.exception
    assert "No tool fits" in shown(page)


def test_a_catalogue_is_imported_found_and_removed(at, workspace):
    line = b'{"name": "doubletmaker", "description": "Simulates artificial doublets of nuclei for benchmarks"}\n'
    page = at("tools", tab="Catalogues")
    page.selectbox(key="catalogue_kind").set_value("jsonl").run()
    page.file_uploader(key="catalogue_file").set_value(("mine.jsonl", line, "application/json")).run()
    page.button(key="catalogue_import").click().run()
    opened(workspace).imports.wait(60)
    page.run()
    assert not page.exception
    assert "1 tool added" in shown(page)
    assert "1 tool, jsonl" in shown(page)
    found = opened(workspace).search_tools("simulate artificial doublets of nuclei").tools[0]
    assert (found.name, found.catalogue, found.runnable) == ("doubletmaker", "mine", False)
    page.button(key="catalogue_remove_now_mine").click().run()
    assert not page.exception
    assert opened(workspace).catalogue.catalogues() == []
    assert "No catalogue was imported" in shown(page)


def test_a_file_that_is_no_catalogue_is_a_sentence(at, workspace):
    page = at("tools", tab="Catalogues")
    page.selectbox(key="catalogue_kind").set_value("galaxy").run()
    page.file_uploader(key="catalogue_file").set_value(("x.tsv", b"a\tb\n1\t2\n", "text/plain")).run()
    page.button(key="catalogue_import").click().run()
    opened(workspace).imports.wait(60)
    page.run()
    assert not page.exception
    assert "did not work" in shown(page)
    assert "x.tsv" in page.warning[0].value
    assert "uploads" not in page.warning[0].value  # the file is named as its user names it
    assert opened(workspace).catalogue.catalogues() == []


def test_every_kind_of_catalogue_is_offered():
    from engine.retrieval.catalogues.read import READERS
    from pages.tool_finder.catalogues import KINDS

    assert list(KINDS) == list(READERS)


def test_an_isolated_entity_says_that_nothing_is_linked(at, workspace, tmp_path):
    nodes = tmp_path / "alone.tsv"
    nodes.write_text("id\ttype\tname\nmy:alone\tgene\tALONEGENE\n")
    brought = opened(workspace).knowledge.import_files("tables", [nodes], name="alone")
    try:
        page = at("knowledge_graph", entity="my:alone")
        assert not page.exception
        text = shown(page)
        assert "Nothing is linked to this entity." in text
        assert "drawn" not in text
    finally:
        opened(workspace).knowledge.remove(brought.source.id)


def test_the_types_around_an_entity_are_counted_without_itself(at, workspace):
    from pages.graph.entity import _around

    knowledge = opened(workspace).knowledge
    node = knowledge.node("EGFR")
    around = _around(knowledge.neighbours(node.id, hops=1, limit=1))
    linked = {other.id: other.type.value for other in knowledge.neighbours(node.id, hops=1, limit=5000).nodes}
    del linked[node.id]
    assert around == {kind: list(linked.values()).count(kind) for kind in set(linked.values())}


def test_relations_without_a_direction_have_no_arrow():
    from engine.domain.knowledge import Edge, EdgeType, GraphPath, Neighbourhood, Node, NodeType
    from pages.graph import entity as _entity
    from pages.graph import paths as _paths

    nodes = [Node(id=name, type=NodeType.GENE, name=name) for name in "abcd"]
    edges = [
        Edge(source="a", type=EdgeType.REGULATES, target="b"),
        Edge(source="c", type=EdgeType.INTERACTS_WITH, target="a"),
        Edge(source="d", type=EdgeType.INHIBITS, target="a"),
        Edge(source="a", type=EdgeType.INTERACTS_WITH, target="d"),
    ]
    steps = dict.fromkeys("abcd", 1)
    found = Neighbourhood(seeds=["a"], nodes=nodes, hops=steps, degrees=steps, edges=edges, reached=4)
    assert _entity._relations(found, "a") == {
        "b": "regulates \u2192",
        "c": "interacts with",
        "d": "\u2190 inhibits, interacts with",
    }
    path = GraphPath(nodes=[nodes[2], nodes[0], nodes[1]], edges=[edges[1], edges[0]], score=1)
    assert _paths._line(path) == "**c** interacts with **a** regulates \u2192 **b**"


def test_a_refused_fact_keeps_what_was_typed_and_a_remembered_one_empties_the_form(at, workspace):
    memory = opened(workspace)._parts.memory.semantic
    before = len(memory.facts())
    page = at("memory", tab="Facts")

    def field(label):
        return next(box for box in page.text_input if box.label == label)

    def remember():
        next(button for button in page.button if button.label == "Remember").click().run()

    field("Subject").set_value("sample S9")
    field("Object").set_value("sample S4")
    remember()
    assert page.warning or page.error
    assert len(memory.facts()) == before
    assert [field(label).value for label in ("Subject", "Object")] == ["sample S9", "sample S4"]
    field("Predicate").set_value("is a duplicate of")
    remember()
    assert not page.exception
    assert len(memory.facts()) == before + 1
    assert [field(label).value for label in ("Subject", "Predicate", "Object")] == ["", "", ""]
