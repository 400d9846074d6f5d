"""Names that texts use and few graphs carry: textbook synonyms, abbreviations, gene symbols before and after renaming.

Written for this project from general knowledge of the field and kept in `data/linking_aliases.tsv`. A row names one
entity by every name a graph may call it by; where the graph has none of them the row does nothing. It adds no node
and no edge, so it serves an imported graph as well as the starter's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from engine.domain.knowledge import NodeType
from engine.knowledge.linking.scores import Entry
from engine.knowledge.linking.text import key, variants

_FILE = "linking_aliases.tsv"
_COLUMNS = ("kind", "names", "aliases", "needs")
_CODE = re.compile(
    r"(?=\S{2,8}$)(?=.*[A-Z].*[A-Z0-9\u0370-\u03ff])\S+|(?=\S{2,8}$)[\w-]*\d[\w-]*|\w?[a-z]?[A-Z]{2,}\S*"
)
"""A name that is a symbol or an abbreviation, so that its capitals matter."""
_GREEK_END = re.compile(r"([A-Z][A-Z0-9]{1,5})([ABGDEZ])(\d{0,2})")
_GREEK = {"A": "alpha", "B": "beta", "G": "gamma", "D": "delta", "E": "epsilon", "Z": "zeta"}
_SAME = {NodeType.PROTEIN: NodeType.GENE}

Names = dict[str, list[Entry]]
"""Folded name -> the entities that have it."""


@dataclass(frozen=True, slots=True)
class AliasRow:
    """Names of one entity."""

    kind: NodeType
    names: tuple[str, ...]
    """What a graph may call it; each is an alias of the others."""
    aliases: tuple[str, ...]
    in_context: bool
    """True when the aliases mean many things (`MS`), so that words about such an entity must stand beside them."""


def alias_rows() -> Iterator[AliasRow]:
    """Yield the rows of the table.

    Raises:
        ValueError: when the file has other columns or a row has not as many fields.
    """
    text = files("engine.knowledge").joinpath("data", _FILE).read_text(encoding="utf-8")
    header, *lines = text.splitlines()
    if tuple(header.split("\t")) != _COLUMNS:
        message = f"{_FILE} has the columns {header!r}; expected {', '.join(_COLUMNS)}"
        raise ValueError(message)
    for number, line in enumerate(lines, start=2):
        fields = line.split("\t")
        if len(fields) != len(_COLUMNS):
            message = f"{_FILE} line {number} has {len(fields)} fields; expected {len(_COLUMNS)}"
            raise ValueError(message)
        kind, names, aliases, needs = fields
        yield AliasRow(NodeType(kind), _listed(names), _listed(aliases), needs == "context")


def add_aliases(names: Names) -> None:
    """Add the table's aliases to the names of a graph, beside those it has itself."""
    for row in alias_rows():
        anchors = _anchors(names, row)
        if not anchors:
            continue
        for alias in dict.fromkeys((*row.names, *row.aliases)):
            in_context = row.in_context and alias in row.aliases
            _add(names, anchors, row.kind, alias, in_context=in_context)


def add_greek_forms(names: Names) -> None:
    """Add `HNF4\u03b1` for HNF4A and `TGF\u03b21` for TGFB1 where nothing else of the graph is called so."""
    forms: Names = {}
    for entries in names.values():
        for entry in entries:
            match = _GREEK_END.fullmatch(entry.name) if entry.how == "symbol" else None
            if match is None:
                continue
            spelt = f"{match.group(1)} {_GREEK[match.group(2)]} {match.group(3)}"
            form = Entry(entry.number, entry.type, spelt, "symbol with a Greek letter", plain=False, rule="greek")
            forms.setdefault(key(spelt), []).append(form)
    for spelt, entries in forms.items():
        names.setdefault(spelt, entries)


def _anchors(names: Names, row: AliasRow) -> dict[int, NodeType]:
    """Return the nodes a row is about: by their own name or, when none is called so, by an alias."""
    found: dict[int, NodeType] = {}
    for wanted in (("symbol", "name"), ("alias",)):
        for name in row.names:
            for entry in names.get(key(name), ()):
                same = _SAME.get(entry.type, entry.type) is row.kind and entry.how in wanted and not entry.rule
                if same and (row.kind is not NodeType.GENE or entry.name.upper() == name.upper()):
                    found[entry.number] = entry.type
        if found:
            break
    return found


def _add(names: Names, anchors: dict[int, NodeType], kind: NodeType, alias: str, *, in_context: bool) -> None:
    code = _CODE.fullmatch(alias) is not None and " " not in alias
    rule = "context" if in_context else "written" if code else ""
    spellings = [alias] if code else [alias, *variants(alias, kind)]
    for spelt in spellings:
        folded = key(spelt)
        if len(folded) <= 3:
            continue
        there = names.setdefault(folded, [])
        known = {entry.number for entry in there}
        if code and any(e.how == "symbol" and _SAME.get(e.type, e.type) is kind for e in there):
            continue  # a gene that is called so today is meant, not the one that was called so once
        how = "alias" if spelt == alias else "variant of alias"
        there.extend(
            Entry(number, type_, spelt, how, plain=True, rule=rule)
            for number, type_ in anchors.items()
            if number not in known
        )
        if not there:
            del names[folded]


def _listed(field: str) -> tuple[str, ...]:
    return tuple(field.split("|")) if field else ()
