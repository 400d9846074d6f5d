"""The arguments of `tools search|import`, `memory ...` and `kg ...`."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

Parser = Any
CATALOGUES = ("biomni", "galaxy", "nf-core", "tooluniverse", "jsonl")


def add_tools(which: Any, common: Parser) -> None:
    """Add what `tools` can do with imported catalogues."""

    def add(name: str, text: str) -> Parser:
        return which.add_parser(name, parents=[common], help=text, description=text)

    search = add("search", "Find tools for a task in words.")
    search.add_argument("query")
    search.add_argument("--top", type=_count, default=None, help="how many at most (15)")
    search.add_argument("--explain", action="store_true", help="show every stage: what entered, why, score parts, time")
    search.add_argument(
        "--data", metavar="PATH", action="append", nargs="+", default=[], help="files the task is about"
    )
    search.add_argument("--domain", metavar="NAME", action="append", default=[], help="field of the task (a hint)")
    bring = add("import", "Read a catalogue of tools that others maintain.")
    bring.add_argument("kind", choices=CATALOGUES)
    bring.add_argument("path", metavar="PATH")
    bring.add_argument("--name", default="", help="what to call it (its kind, or the file's name for JSONL)")
    add("catalogues", "List the imported catalogues.")
    add("remove", "Forget an imported catalogue.").add_argument("name")
    add("written", "List the tools that models wrote, with where they stand.")
    add("approve", "Let a written tool be planned like any other; `tools show NAME` shows its code.").add_argument(
        "name"
    )
    add("retire", "Take a written tool from those that are planned.").add_argument("name")
    out = add("export", "Write a written tool as a module, for docs/add-a-tool.md.")
    out.add_argument("name")
    out.add_argument("--out", required=True, metavar="FILE")


def add_memory(add: Callable[[str, str], Parser], common: Parser, parser_class: Any) -> None:
    """Add `memory ...`."""
    memory = add("memory", "What is remembered: past analyses, facts, conversations.")
    which = memory.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=parser_class)

    def sub(name: str, text: str) -> Parser:
        return which.add_parser(name, parents=[common], help=text, description=text)

    episodes = sub("episodes", "List past analyses, newest first.")
    episodes.add_argument("text", nargs="?", default="", help="only those that hold this text")
    episodes.add_argument("--limit", type=_count, default=50)
    recall = sub("recall", "Find past analyses that fit a question.")
    recall.add_argument("query")
    recall.add_argument("--top", type=_count, default=None, help="how many at most (5)")
    recall.add_argument("--explain", action="store_true", help="also show what the relevance gate kept out")
    recall.add_argument("--domain", metavar="NAME", action="append", default=[])
    recall.add_argument("--tool", metavar="NAME", action="append", default=[])
    recall.add_argument("--min-relevance", type=_share, default=None, help="0 to 1")
    outcome = recall.add_mutually_exclusive_group()
    outcome.add_argument("--succeeded", dest="success", action="store_true", default=None)
    outcome.add_argument("--failed", dest="success", action="store_false")
    context = sub("context", "Show what the planner would be told for a question.")
    context.add_argument("query")
    context.add_argument("--budget", type=_count, default=None, help="in tokens (2000)")
    facts = sub("facts", "List facts, or those about an entity.")
    facts.add_argument("entity", nargs="?", default="")
    facts.add_argument("--near", metavar="QUESTION", default="", help="the facts nearest to a question in meaning")
    fact = sub("add-fact", "Remember a fact: subject, predicate, object.")
    for name in ("subject", "predicate", "object"):
        fact.add_argument(name)
    fact.add_argument("--source", default="", help="who says so (you, unless given)")
    fact.add_argument("--confidence", type=_share, default=None, help="0 to 1 (as stated before, else 0.8)")
    for name, text in (
        ("retract", "Mark a fact as no longer held; it is kept."),
        ("restore", "Hold a retracted fact again."),
        ("pin", "Keep an episode or a fact in front, or a message of a conversation word for word."),
        ("unpin", "Undo pin."),
        ("doubt", "Mark a past analysis, by its id or its run's, as wrong: it is never recalled."),
        ("trust", "Undo doubt."),
        ("forget", "Remove an episode, fact or conversation for good."),
    ):
        own = sub(name, text)
        own.add_argument("id", metavar="ID")
        if name in ("pin", "unpin"):
            own.add_argument("message", metavar="MESSAGE", nargs="?", type=_count, default=None,
                             help="of a conversation: the number of the message to keep word for word")  # fmt: skip
    edit = sub("edit", "Correct what an episode says.")
    edit.add_argument("id", metavar="ID")
    edit.add_argument("--lessons")
    edit.add_argument("--result")
    sub("contradictions", "List facts that deny each other.")
    sub("to-graph", "Send facts to the knowledge graph.").add_argument("ids", metavar="ID", nargs="*")
    working = sub("working", "Show the working memory of a conversation, or list conversations.")
    working.add_argument("conversation", nargs="?", default="")
    sub("export", "Write everything remembered as JSONL.").add_argument("path", metavar="PATH")
    sub("import", "Read remembered things from JSONL.").add_argument("path", metavar="PATH")


def add_kg(add: Callable[[str, str], Parser], common: Parser, parser_class: Any) -> None:
    """Add `kg ...`."""
    kg = add("kg", "The knowledge graph: look up, walk, check a text, import.")
    which = kg.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=parser_class)

    def sub(name: str, text: str) -> Parser:
        return which.add_parser(name, parents=[common], help=text, description=text)

    sub("stats", "How large the graph is, of what, from whom.")
    search = sub("search", "Find entities by name, alias or id.")
    search.add_argument("text")
    search.add_argument("--type", metavar="T", action="append", default=[], dest="types")
    search.add_argument("--top", type=_count, default=20)
    near = sub("neighbors", "What is linked to an entity.")
    near.add_argument("id", metavar="ID", help="an id or a name")
    near.add_argument("--hops", type=_count, default=2)
    near.add_argument("--type", metavar="T", action="append", default=[], dest="types", help="node type (repeatable)")
    near.add_argument("--edge", metavar="E", action="append", default=[], dest="edges", help="edge type (repeatable)")
    near.add_argument("--limit", type=_count, default=150)
    path = sub("path", "How two entities are connected.")
    path.add_argument("a", metavar="A")
    path.add_argument("b", metavar="B")
    path.add_argument("--max", type=_count, default=4, dest="max_hops", help="longest path, in edges (4)")
    path.add_argument("--top", type=_count, default=5)
    path.add_argument("--shortest", action="store_true", help="one path with the fewest edges")
    seek = sub("candidates", "What may be linked to an entity though the graph does not state it, with reasons.")
    seek.add_argument("sought", metavar="TYPE", help="type of what is sought: drug, gene, disease ...")
    seek.add_argument("of", metavar="ENTITY", help="what it is to be linked to, by id or name")
    seek.add_argument("--relation", metavar="E", default="", help="edge type (the usual one between the two types)")
    seek.add_argument("--top", type=_count, default=10)
    edges = sub("edges", "Everything stated of two entities, and who states it.")
    edges.add_argument("a", metavar="A")
    edges.add_argument("b", metavar="B")
    check = sub("check", "Check the claims of a text (- reads it from standard input).")
    check.add_argument("text", metavar="TEXT")
    bring = sub("import", "Read files into the graph.")
    what = "hetionet, primekg, obo, gaf, gmt, ... or auto; `starter` takes no files and brings the starter graph back"
    bring.add_argument("format", metavar="FORMAT", help=what)
    bring.add_argument("paths", metavar="PATH", nargs="*")
    bring.add_argument("--name", default=None, help="what to call the source")
    bring.add_argument(
        "--organism", metavar="NAME", default="human", help="whose genes, if the files do not say (human)"
    )
    bring.add_argument("--preview", action="store_true", help="only show the first nodes and edges")
    even_so = "also what another source has already, which then counts as stated twice"
    bring.add_argument("--even-so", action="store_true", help=even_so)
    fetch = sub("fetch", "Download a public source (needs a network), checked and resumable.")
    fetch.add_argument("name", nargs="?", default="", help="without it: what there is")
    fetch.add_argument("--to", metavar="DIR", default=None)
    fetch.add_argument("--again", action="store_true", help="also what is there already, for a newer release")
    fetch.add_argument("--import", action="store_true", dest="bring", help="import it afterwards")
    fetch.add_argument("--even-so", action="store_true", help=even_so)
    sub("sources", "List what was imported or learned.")
    sub("taught", "What a run or another source has put into the graph.").add_argument("source", metavar="SOURCE")
    sub("remove", "Take back what a source stated.").add_argument("source", metavar="SOURCE")
    enrich = sub("enrich", "Which neighbourhoods hold more of some genes than chance would.")
    enrich.add_argument("genes", metavar="GENE", nargs="+")
    enrich.add_argument("--top", type=_count, default=20)
    enrich.add_argument("--edge", metavar="E", action="append", default=[], dest="edges")
    enrich.add_argument("--background", metavar="FILE", default=None, help="the genes the list was chosen from")


def _count(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return number


def _share(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to 1")
    return number
