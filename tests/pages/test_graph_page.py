"""The page Knowledge Graph: where one is and goes back to, filters, enrichment, claims, and imports that go on."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest
from test_app import app, opened, release, shown

PATIENCE = 60


@pytest.fixture(scope="module")
def workspace(tmp_path_factory):
    """Return a workspace with the starter graph, shared by tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("graph") / "workspace"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BIODESK_WORKSPACE", str(folder))
        patch.setenv("BIODESK_WARM_WORKERS", "false")
        yield folder
    release(folder)


@pytest.fixture
def at(workspace, monkeypatch):
    """Return a function that opens the page on a tab."""
    monkeypatch.setenv("BIODESK_WORKSPACE", str(workspace))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")

    def open_page(tab: str = "", page: str = "knowledge_graph", **query: str):
        test = app()
        if tab:
            test.session_state["graph_tabs"] = tab
        for key, value in query.items():
            test.query_params[key] = value
        test.switch_page(f"pages/{page}.py")
        return test.run()

    return open_page


def trail(page) -> list[str]:
    return [button.label for button in page.button if str(button.key).startswith("trail_")]


def starts(page) -> list[str]:
    return [button.label for button in page.button if str(button.key).startswith("start_")]


# ==== where one is ====


def test_going_back_to_the_address_without_an_entity_shows_the_start(at):
    page = at()
    page.button(key="start_EGFR").click().run()
    assert page.subheader[0].value == "EGFR"
    page.query_params.clear()  # what the browser's Back does
    page.run()
    assert not page.subheader
    assert "EGFR" in starts(page)
    assert "entity" not in page.query_params


def test_coming_from_another_page_finds_the_entity_again(at):
    page = at()
    page.button(key="start_imatinib").click().run()
    entity = page.query_params["entity"]
    page.query_params.clear()
    page.switch_page("pages/tools.py").run()
    page.session_state["arrived"] = True  # what the frame says then; here pages are run without it
    page.switch_page("pages/knowledge_graph.py").run()
    assert page.subheader[0].value == "imatinib"
    assert page.query_params["entity"] == entity


def test_the_trail_ends_where_one_goes_back_to(at, workspace):
    graph = opened(workspace).knowledge
    egfr, gefitinib, imatinib = (graph.node(name).id for name in ("EGFR", "gefitinib", "imatinib"))
    page = at(entity=egfr)
    assert trail(page) == []
    for entity in (gefitinib, imatinib):
        page.query_params["entity"] = entity
        page.run()
    assert trail(page) == ["EGFR", "gefitinib"]
    page.query_params["entity"] = gefitinib  # the browser's Back
    page.run()
    assert trail(page) == ["EGFR"]
    page.button(key="trail_0").click().run()
    assert page.subheader[0].value == "EGFR"
    assert trail(page) == []


def test_an_address_that_names_nothing_leaves_the_start_buttons_and_does_not_stick(at):
    page = at(entity="NOSUCHTHING99")
    assert not page.exception
    text = shown(page)
    assert "There is no entity" in text
    assert "biodesk" not in text  # a page has no command line
    assert "imatinib" in starts(page)
    page.query_params.clear()
    page.session_state["arrived"] = True
    page.run()
    assert not page.warning
    assert starts(page)


def test_opening_a_hit_empties_the_search(at):
    page = at()
    page.text_input(key="entity_search").set_value("imatinib").run()
    hit = next(button for button in page.button if str(button.key).startswith("hit_") and button.label == "imatinib")
    hit.click().run()
    assert page.subheader[0].value == "imatinib"
    assert page.text_input(key="entity_search").value == ""
    assert not [button for button in page.button if str(button.key).startswith("hit_")]


def test_the_kinds_offered_are_those_within_the_steps_chosen(at, workspace):
    graph = opened(workspace).knowledge
    node = graph.node("TP53")
    page = at(entity=node.id)

    def offered():
        return {option.split("]", 1)[1].strip() for option in page.button_group(key=f"kinds_{node.id}").options}

    for hops in (1, 2):
        page.session_state[f"hops_{node.id}"] = hops
        page.run()
        assert not page.exception
        found = graph.neighbours(node.id, hops=hops, limit=1000)
        counts: dict[str, int] = {}
        for other in found.nodes:
            if other.id != node.id:
                counts[other.type.value] = counts.get(other.type.value, 0) + 1
        assert found.reached == len(found.nodes)  # all of them were counted
        assert offered() == {f"{kind.replace('_', ' ')} {count:,}" for kind, count in counts.items()}


def test_what_is_stated_of_the_entity_comes_first(at, workspace):
    node = opened(workspace).knowledge.node("TP53")
    page = at(entity=node.id)
    evidence = page.dataframe[1].value
    own = [node.name in pair for pair in zip(evidence["From"], evidence["To"], strict=True)]
    assert own == sorted(own, reverse=True)
    assert not all(own)


def test_a_path_from_an_entity_to_itself_is_a_sentence(at):
    page = at("Paths")
    page.text_input(key="path_from").set_value("imatinib").run()
    page.text_input(key="path_to").set_value("Gleevec").run()
    assert not page.exception
    assert "name the same entity, imatinib" in shown(page)
    assert "Fewest steps" not in shown(page)


# ==== enrichment ====


def enriched(page, genes: str):
    page.text_area(key="enrichment_genes").set_value(genes).run()
    return page.button(key="enrichment_go").click().run()


def test_a_pasted_list_is_tested_and_what_is_unknown_is_listed(at, workspace):
    page = enriched(at("Enrichment"), "BRCA1;BRCA2\nPALB2, RAD51\tNOTAGENE1 BRCA1")
    assert not page.exception
    table = page.dataframe[0].value
    expected = opened(workspace).knowledge.enrich(["BRCA1", "BRCA2", "PALB2", "RAD51"], top=200)
    assert expected
    assert table["Term"].tolist() == [term.node.name for term in expected]
    assert table["p"].tolist() == [term.p_value for term in expected]
    assert table["FDR"].tolist() == [term.p_adj for term in expected]
    assert table["Overlap"].tolist() == [term.overlap for term in expected]
    assert table["Genes"][0].split(", ") == expected[0].members
    text = shown(page)
    assert "**4** of 5 genes found" in text
    assert f"background of **{expected[0].background_size:,}** genes" in text
    assert "NOTAGENE1" in text


def test_kinds_sizes_and_background_are_passed_on(at, workspace):
    graph = opened(workspace).knowledge
    from engine.domain.knowledge import NodeType

    genes, background = ["BRCA1", "BRCA2", "RAD51"], ["BRCA1", "BRCA2", "RAD51", "TP53", "EGFR", "MYC", "KRAS", "ATM"]
    page = at("Enrichment")
    page.multiselect(key="enrichment_kinds").set_value(["pathway"]).run()
    page.number_input(key="enrichment_smallest").set_value(2).run()
    page.text_area(key="enrichment_background").set_value("\n".join([*background, "NOTAGENE2"])).run()
    enriched(page, " ".join(genes))
    table = page.dataframe[0].value
    expected = graph.enrich(genes, background=background, node_types=[NodeType.PATHWAY], min_size=2)
    assert table["p"].tolist() == [term.p_value for term in expected]
    assert set(table["Kind"]) == {"pathway"}
    assert "background of **8** genes" in shown(page)
    assert "NOTAGENE2" in shown(page)


@pytest.mark.parametrize(("genes", "said"), [("  \n", "Paste some genes first"), ("NOTAGENE1 NOTAGENE2", "None of")])
def test_a_list_without_genes_is_a_sentence(at, genes, said):
    page = enriched(at("Enrichment"), genes)
    assert not page.exception
    assert not page.dataframe
    assert said in shown(page)


def test_sizes_that_cannot_be_are_a_sentence(at):
    page = at("Enrichment")
    page.number_input(key="enrichment_smallest").set_value(50).run()
    page.number_input(key="enrichment_largest").set_value(10).run()
    enriched(page, "BRCA1")
    assert not page.exception
    assert "50 to 10" in page.warning[0].value


def test_terms_are_the_types_that_can_be_tested():
    from engine.api import term_types

    kinds = term_types()
    assert {"pathway", "disease", "drug", "go_term"} <= set(kinds)
    assert not {"gene", "protein", "dataset", "tool", "publication"} & set(kinds)


# ==== claims ====


def test_claims_of_one_sentence_can_be_told_apart(at):
    page = at("Check a text")
    page.text_area(key="check_text").set_value("Imatinib inhibits ABL1, KIT and PDGFRA.").run()
    page.button(key="check_go").click().run()
    assert not page.exception
    bold = [str(block.value) for block in page.markdown if str(block.value).startswith("**imatinib")]
    assert bold == [f"**imatinib \u2192 inhibits \u2192 {gene}**" for gene in ("ABL1", "KIT", "PDGFRA")]
    assert shown(page).count("Imatinib inhibits ABL1, KIT and PDGFRA.") == 1  # and the sentence stands once


def test_a_denied_claim_says_so():
    from pages.graph.text_check import stated

    def named(node_id, name):
        return SimpleNamespace(node=SimpleNamespace(id=node_id, name=name))

    claim = SimpleNamespace(
        subject="a", object="b", predicate="associated_with", negated=True, entities=[named("a", "A"), named("b", "B")]
    )
    assert stated(claim) == "A \u2192 not associated with \u2192 B"
    claim.object = ""
    assert stated(claim) == ""


# ==== imports ====


@pytest.fixture
def own(tmp_path, monkeypatch):
    """Return a function that opens the page on a tab, for a workspace of this test alone."""
    monkeypatch.setenv("BIODESK_WORKSPACE", str(tmp_path / "own"))
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")

    def open_page(tab: str, page: str = "knowledge_graph"):
        test = app()
        test.session_state["graph_tabs" if page == "knowledge_graph" else f"{page}_tabs"] = tab
        test.switch_page(f"pages/{page}.py")
        return test.run()

    yield open_page
    release(tmp_path / "own")


EDGES = b"source\ttype\ttarget\nTP53\tregulates\tFOXQ9\nTP53\tregulates\tEGFR\n"
SETS = b"MY_SET\tmade up\tEGFR\tTP53\tBRCA1\n"


def imported(page, tmp_path, name: str, content: bytes):
    page.file_uploader(key="graph_files").set_value([(name, content, "text/plain")]).run()
    page.button(key="graph_import").click().run()
    opened(tmp_path / "own").imports.wait(PATIENCE)
    return page.run()


def test_relations_between_names_are_told_before_the_import_and_are_no_success(own, tmp_path):
    page = own("Import")
    page.file_uploader(key="graph_files").set_value([("edges.tsv", EDGES, "text/plain")]).run()
    assert not page.exception
    egfr = opened(tmp_path / "own").knowledge.node("TP53").id.replace(":", "\\:")
    assert "3 ids at the ends of these relations belong to no entity" in shown(page)
    assert f"TP53 has the id {egfr} here" in shown(page)
    page.button(key="graph_import").click().run()
    opened(tmp_path / "own").imports.wait(PATIENCE)
    page.run()
    assert "Nothing new came into the graph" in page.warning[0].value
    assert "check_circle" not in shown(page)


def test_an_import_is_done_shown_and_dismissed(own, tmp_path):
    page = imported(own("Import"), tmp_path, "sets.gmt", SETS)
    assert not page.exception
    assert "3 new relations" in shown(page)
    other = own("Import")  # a refresh, or another window
    assert "3 new relations" in shown(other)
    next(button for button in other.button if button.label == "Dismiss").click().run()
    assert "3 new relations" not in shown(other)


def test_a_file_that_cannot_be_read_is_named_as_its_user_names_it(own):
    page = own("Import")
    page.file_uploader(key="graph_files").set_value([("noise.obo", b"\x00\x01\x02", "text/plain")]).run()
    assert not page.exception
    assert "noise.obo" in page.warning[0].value
    assert "uploads" not in page.warning[0].value


def test_an_import_goes_on_elsewhere_is_alone_and_can_be_stopped(own, tmp_path, monkeypatch):
    from storage.graph import write as graph_write

    begun, go = threading.Event(), threading.Event()
    real = graph_write.replace

    def waiting(*args, **options):
        begun.set()
        assert go.wait(PATIENCE)
        return real(*args, **options)

    page = own("Import")
    engine = opened(tmp_path / "own")
    before = engine.knowledge.stats()
    monkeypatch.setattr(graph_write, "replace", waiting)
    try:
        page.file_uploader(key="graph_files").set_value([("sets.gmt", SETS, "text/plain")]).run()
        page.button(key="graph_import").click().run()
        assert begun.wait(PATIENCE)
        page.run()
        assert not page.exception
        assert "Importing **sets.gmt**" in shown(page)
        assert "4 entities and 3 relations so far" in shown(page)
        assert page.button(key="graph_import").disabled
        elsewhere = own("Catalogues", page="tools")  # another window, another page
        assert "Importing **sets.gmt** (Knowledge Graph, under Import)" in shown(elsewhere)
        assert engine.imports.state().status == "running"
        next(button for button in elsewhere.button if button.label == "Stop").click().run()
        assert engine.imports.state().status == "stopping"
    finally:
        go.set()
    assert engine.imports.wait(PATIENCE).status == "stopped"
    page.run()
    assert "Nothing of it was stored" in shown(page)
    assert engine.knowledge.stats() == before


def test_the_starter_graph_can_be_brought_back(own, tmp_path):
    page = own("Statistics")
    page.button(key="remove_now_starter").click().run()
    graph = opened(tmp_path / "own").knowledge
    assert graph.stats().sources == []
    page.button(key="starter_restore").click().run()
    assert not page.exception
    assert [source.id for source in graph.stats().sources] == ["starter"]
