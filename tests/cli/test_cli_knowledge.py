"""`tools search|import`, `memory ...` and `kg ...`: what they print, their JSON documents and their exit codes."""

from __future__ import annotations

import contextlib
import io
import json

import pytest

from engine.cli.main import main
from engine.knowledge.sources import fetch as fetching

CATALOGUE = """
{"name": "read_trimmer", "description": "Cuts adapters and low-quality ends off sequencing reads."}
{"name": "peak_caller", "description": "Finds regions where ChIP-seq reads pile up (peaks)."}
{"name": "docking_tool", "description": "Docks small molecules into the pocket of a protein structure."}
"""
EPISODES = """
{"kind": "episode", "id": "ep1", "task": "Great tit breeding success near light poles", "tools": ["glmm"], "domains": ["ecology"], "entities": ["Parus major"], "result_summary": "Fewer fledglings within 20 m.", "success": true, "quality": 0.7, "lessons": "Model zero inflation.", "at": "2025-01-24T14:03:40Z"}
{"kind": "episode", "id": "ep2", "task": "Docking of celecoxib analogues into 5KIR", "tools": ["vina"], "domains": ["structural_biology"], "entities": ["PTGS2", "5KIR"], "result_summary": "Redocking RMSD 0.8 A.", "success": true, "quality": 0.9, "lessons": "Protonation matters.", "at": "2025-05-09T15:21:11Z"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    made = tmp_path_factory.mktemp("know")
    (made / "lab.jsonl").write_text(CATALOGUE.strip())
    (made / "memory.jsonl").write_text(EPISODES.strip())
    (made / "bad.jsonl").write_text('{"name": "x", "description": "fine"}\n{"name": ')
    (made / "nodes.tsv").write_text("id\ttype\tname\naaa\tgene\tGENEAAA\nbbb\tdrug\tdrugbbb\n")
    (made / "edges.tsv").write_text("source\ttype\ttarget\nbbb\ttargets\taaa\n")
    return made


@pytest.fixture
def call(folder, capsys, monkeypatch):
    """Run a command; return (exit code, stdout, stderr)."""
    monkeypatch.setenv("BIODESK_WARM_WORKERS", "false")

    def run(*words: object) -> tuple[int, str, str]:
        code = main([*map(str, words), "--workspace", str(folder / "ws")])
        out = capsys.readouterr()
        return code, out.out, out.err

    return run


@pytest.fixture
def document(call):
    """Run a command with --json; return what its one document holds."""

    def run(*words: object):
        code, out, err = call(*words, "--json")
        assert code == 0, out + err
        return json.loads(out)

    return run


def test_an_imported_catalogue_is_found_by_what_it_does(folder, call, document):
    done = document("tools", "import", "jsonl", folder / "lab.jsonl")
    assert done["added"] == 3 or done["unchanged"]
    found = document("tools", "search", "remove adapter sequences from my reads", "--top", 5)
    assert set(found) >= {"query", "stages", "tools"}
    assert set(found["stages"]) >= {"search", "expand", "rerank", "seconds"}
    assert found["tools"][0]["name"] == "read_trimmer"
    assert found["tools"][0]["runnable"] is False
    assert {"name", "score", "why", "domain", "runnable"} <= set(found["tools"][0])
    assert document("tools", "import", "jsonl", folder / "lab.jsonl")["unchanged"]
    code, out, _ = call("tools", "show", "read_trimmer")
    assert code == 0
    assert "does not run here" in out


def test_explain_shows_every_stage(folder, call, document):
    document("tools", "import", "jsonl", folder / "lab.jsonl")
    code, out, _ = call("tools", "search", "dock a ligand", "--explain")
    assert code == 0
    assert "entered by" in out
    assert " ms" in out
    assert document("tools", "search", "dock a ligand", "--explain")["considered"]


def test_a_broken_catalogue_is_refused_with_its_line(folder, call):
    code, out, _ = call("tools", "import", "jsonl", folder / "bad.jsonl", "--json")
    error = json.loads(out)["error"]
    assert code == 2
    assert "2" in error["message"]
    assert "bad.jsonl" in error["message"]


def test_remembered_episodes_are_recalled_with_their_signals(folder, document):
    document("memory", "import", folder / "memory.jsonl")
    found = document("memory", "recall", "docking into 5KIR", "--top", 3)
    assert set(found) >= {"query", "episodes", "seconds"}
    first = found["episodes"][0]
    assert first["id"] == "ep2"
    assert set(first["signals"]) == {"fingerprint", "near", "tools", "domains", "entities", "semantic"}
    assert {"task", "result_summary", "lessons", "success", "score"} <= set(first)
    assert document("memory", "import", folder / "memory.jsonl")["skipped"] == 2


def test_an_irrelevant_question_recalls_nothing(folder, document):
    document("memory", "import", folder / "memory.jsonl")
    assert document("memory", "recall", "minting of Roman coins in Gaul")["episodes"] == []
    assert document("memory", "context", "minting of Roman coins in Gaul")["text"] == ""


def test_facts_are_added_contradicted_retracted_and_forgotten(call, document):
    one = document("memory", "add-fact", "GeneX", "upregulates", "GeneY", "--source", "lab book")
    other = document("memory", "add-fact", "GeneX", "downregulates", "GeneY", "--source", "paper")
    assert len(document("memory", "facts", "GeneX")) == 2
    assert len(document("memory", "contradictions")) == 1
    assert document("memory", "retract", other["id"])["retracted"]
    assert document("memory", "contradictions") == []
    assert document("memory", "forget", one["id"])["kind"] == "fact"
    code, _, err = call("memory", "forget", one["id"])
    assert code == 2
    assert one["id"] in err


def test_a_fact_stated_again_is_known_and_keeps_its_confidence(call, document):
    words = ("memory", "add-fact", "GeneK", "binds", "GeneL", "--source", "lab book")
    assert document(*words, "--confidence", 1)["confidence"] == 1
    code, out, _ = call(*words)
    assert code == 0
    assert "Already known as" in out
    assert document(*words)["confidence"] == 1
    fact = document(*words)
    assert document("memory", "pin", fact["id"])["pinned"]
    assert document("memory", "forget", fact["id"]) == {
        "forgotten": fact["id"],
        "kind": "fact",
        "messages": 0,
        "conversations": [],
        "sources": [],
    }


def test_a_context_lists_what_it_tells_and_says_when_the_budget_is_too_small(folder, call, document):
    document("memory", "import", folder / "memory.jsonl")
    told = document("memory", "context", "docking into 5KIR", "--budget", 5)
    assert (told["text"], told["episodes"]) == ("", [])
    assert "has room for 0 of" in told["notes"][-1]
    assert "has room for 0 of" in call("memory", "context", "docking into 5KIR", "--budget", 5)[1]


def test_an_unknown_conversation_an_empty_file_and_no_file_name_are_bad_input(folder, call):
    (folder / "empty.jsonl").write_text("")
    for words in (("working", "nope"), ("import", folder / "empty.jsonl"), ("export", ""), ("pin", "x" * 300_000)):
        code, _, err = call("memory", *words)
        assert code == 2
        assert "defect" not in err
        assert len(err) < 1000


def test_memory_goes_out_and_comes_back(folder, document):
    document("memory", "import", folder / "memory.jsonl")
    counts = document("memory", "export", folder / "out.jsonl")
    assert counts["episodes"] >= 2
    assert (folder / "out.jsonl").is_file()


def test_the_graph_is_searched_walked_and_checked(document, call):
    stats = document("kg", "stats")
    assert stats["nodes"] > 500
    assert stats["edges"] > 1000
    hits = document("kg", "search", "HER2")
    assert hits[0]["node"]["name"] == "ERBB2"
    near = document("kg", "neighbors", "ERBB2", "--hops", 1)
    assert near["seeds"] == [hits[0]["node"]["id"]]
    assert len(near["nodes"]) > 1
    path = document("kg", "path", "trastuzumab", "ERBB2")
    assert path["paths"]
    checked = document("kg", "check", "Trastuzumab targets ERBB2.")
    assert set(checked) >= {"claims", "score"}
    assert checked["claims"][0]["label"] == "grounded"
    assert {"text", "label", "entities", "evidence"} <= set(checked["claims"][0])
    assert {"edge", "source", "confidence"} <= set(checked["claims"][0]["evidence"][0])
    code, _, err = call("kg", "neighbors", "NOSUCHTHING99")
    assert code == 2
    assert "NOSUCHTHING99" in err


def test_files_are_imported_once_and_taken_back(folder, document):
    before = document("kg", "stats")["edges"]
    files = (folder / "nodes.tsv", folder / "edges.tsv")
    shown = document("kg", "import", "auto", *files, "--preview")
    assert shown["edges"]
    done = document("kg", "import", "auto", *files)
    assert (done["nodes_added"], done["edges_added"]) == (2, 1)
    assert document("kg", "import", "auto", *files)["unchanged"]
    assert document("kg", "edges", "drugbbb", "GENEAAA")[0]["type"] == "targets"
    document("kg", "remove", done["source"]["id"])
    assert document("kg", "stats")["edges"] == before


def test_genes_are_enriched_and_what_is_unknown_is_said(folder, call, document):
    code, out, err = call("kg", "enrich", "TP53", "NOTAGENE", "EGFR")
    assert code == 0, err
    assert "1 of the 3 genes is not in the graph and left out: NOTAGENE." in out
    code, out, err = call("kg", "enrich", "TP53", "NOTAGENE", "--json")
    assert isinstance(json.loads(out), list)
    assert "NOTAGENE" in err
    code, out, err = call("kg", "enrich", "NOTAGENE")
    assert code == 2
    assert "The gene given is not in the knowledge graph (NOTAGENE)" in err
    (folder / "background.txt").write_text("TP53, EGFR\nBRCA1;KRAS\tBRAF\nNOTONE\n")
    found = document("kg", "enrich", "TP53", "--background", folder / "background.txt")
    assert {hit["background_size"] for hit in found} <= {5}
    _, out, _ = call("kg", "enrich", "TP53", "--background", folder / "background.txt")
    assert "1 of the 6 genes of the background is not in the graph" in out


def test_the_starter_graph_goes_and_comes_back(call, document):
    before = document("kg", "stats")["edges"]
    code, out, _ = call("kg", "remove", "starter")
    assert code == 0
    assert "`biodesk kg import starter` brings it back" in out
    assert document("kg", "stats")["edges"] < before
    assert document("kg", "import", "starter")["edges_added"] > 1000
    assert document("kg", "stats")["edges"] == before
    assert document("kg", "import", "Starter")["unchanged"]


def test_genes_of_a_mouse_are_imported_as_such(folder, document):
    (folder / "mouse.gmt").write_text("S\tna\tTrp53\tEgfr\tBrca1\n")
    seen = document("kg", "import", "gmt", folder / "mouse.gmt", "--preview", "--organism", "mouse")
    assert "symbol:mouse:Trp53" in {node["id"] for node in seen["nodes"]}
    done = document("kg", "import", "gmt", folder / "mouse.gmt", "--organism", "mouse")
    assert done["source"]["id"] == "gmt:mouse:mouse"
    document("kg", "remove", done["source"]["id"])


def test_an_ascii_terminal_gets_the_answer_in_escapes(folder, call):
    (folder / "greek.tsv").write_text("id\ttype\tname\nmy:g\tgene\tγ-secretase\n", encoding="utf-8")
    call("kg", "import", "tables", folder / "greek.tsv")
    for words in (["kg", "search", "γ-secretase"], ["kg", "search", "γ-secretase", "--json"]):
        plain = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
        with contextlib.redirect_stdout(plain):
            code = main([*words, "--workspace", str(folder / "ws")])
            plain.flush()
        said = plain.buffer.getvalue().decode("ascii")
        assert code == 0
        if "--json" in words:
            assert json.loads(said)[0]["node"]["name"] == "γ-secretase"
        else:
            assert "\\u03b3-secretase" in said


def test_a_download_without_a_length_does_not_say_of_0_bytes(call, monkeypatch):
    asked = {}

    def fetch(name, folder, **options):
        asked.update(options)
        options["progress"]("go.obo", 1234, 0)
        return [folder / "go.obo"]

    monkeypatch.setattr(fetching, "fetch", fetch)
    code, out, err = call("kg", "fetch", "go", "--again")
    assert code == 0
    assert "go.obo" in out
    assert "go.obo: 1,234 bytes" in err
    assert "of 0" not in err
    assert asked["again"] is True


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("kg", "enrich", "TP53", "--edge", "foo"), "'foo' is no edge type"),
        (("kg", "enrich", "TP53", "--background", "nowhere.txt"), "nowhere.txt cannot be read"),
        (("kg", "path", "TP53", "tp53"), "TP53 and tp53 are the same entity"),
        (("kg", "import", "starter", "nodes.tsv"), "comes with Biodesk"),
        (("kg", "import", "starter", "--preview"), "comes with Biodesk"),
        (("kg", "import", "gmt"), "No file was given"),
        (("kg", "import", "gmt", "--preview"), "No file was given"),
    ],
)
def test_wrong_words_are_told_and_no_defect(call, words, problem):
    code, out, err = call(*words)
    assert code == 2, out + err
    assert problem in err
    assert "itself failed" not in err


@pytest.mark.parametrize(
    "words",
    [
        ("tools", "search", "  "),
        ("tools", "import", "galaxy", "nowhere.tsv"),
        ("tools", "remove", "nothing"),
        ("memory", "recall", ""),
        ("memory", "recall", "x", "--top", "0"),
        ("memory", "recall", "x", "--min-relevance", "2"),
        ("memory", "pin", "ep_none"),
        ("memory", "add-fact", "", "is", "b"),
        ("memory", "import", "nowhere.jsonl"),
        ("kg", "import", "hetionet", "nowhere.tsv"),
        ("kg", "import", "nosuchformat", "nowhere.tsv"),
        ("kg", "check", " "),
        ("kg", "search", "x", "--type", "planet"),
        ("kg", "remove", "nothing"),
        ("kg", "fetch", "nosuchsource"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(call, words):
    code, out, err = call(*words)
    assert code == 2, out + err
    assert "Traceback" not in err
    assert len(err.strip()) > 20
