"""Which node a person means by what they type: one way for every command and page that takes an entity.

What fits best goes first: the node's own id, an identifier elsewhere with or without its prefix, its name, an alias,
then its name and its aliases in another spelling (`tp-53`, `TNFα`, `il 6`), compared as search and linking compare.
Several nodes that fit equally well are all returned: nothing is taken that another reader could mean otherwise.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from engine.domain.knowledge import NodeType
from engine.knowledge.graph.search_names import normal
from engine.knowledge.graph.view import GraphView, NamedNode
from engine.knowledge.importers.reading.ids import is_ensembl_gene, is_number, without_version
from engine.knowledge.linking.text import find_ids, id_keys, key, node_id_keys
from engine.knowledge.resolve import rank_of

_ROLES: tuple[dict[NodeType, int], ...] = (
    {NodeType.GENE: 0, NodeType.PROTEIN: 1},
    {NodeType.DISEASE: 0, NodeType.SYMPTOM: 1, NodeType.PHENOTYPE: 2, NodeType.SIDE_EFFECT: 3},
)
"""Types that are one thing in several roles, the one that a name alone means first, as linking has it."""

_ID, _IDENTIFIER, _NAME, _ALIAS, _SPELT_NAME, _SPELT_ALIAS = range(6)
_Fits = dict[str, dict[int, dict[int, NamedNode]]]
"""Text -> how well -> number of a node -> the node."""


def fitting(view: GraphView, texts: Iterable[str], *, types: Collection[NodeType] = ()) -> dict[str, list[NamedNode]]:
    """Return the nodes that texts mean: one each where that is clear, several where they fit equally well.

    The nodes are read once, and a second time when a text is written as no node is; nothing is indexed.

    Args:
        view: the graph.
        texts: ids or names.
        types: only nodes of these types; all when empty.

    Returns:
        Text -> nodes, without the texts that no node fits.
    """
    wanted = list(dict.fromkeys(text for text in texts if text.strip()))
    found = _as_written(view, wanted, types)
    found.update(_as_spelt(view, [text for text in wanted if text not in found], types))
    return {text: _meant(fits[min(fits)].values(), text.strip()) for text, fits in found.items()}


def identified(view: GraphView, text: str, *, types: Collection[NodeType] = ()) -> list[NamedNode]:
    """Return the nodes that have an identifier, which may lack its prefix or have a version; most often one."""
    fits = _as_written(view, [text], types).get(text, {})
    best = min(fits, default=_NAME)
    return _meant(fits[best].values(), text.strip()) if best < _NAME else []


def identifier_keys(text: str) -> frozenset[str]:
    """Return the spellings in capitals by which a text is looked up among identifiers; none when it cannot be one.

    A bare number is an Entrez id and nothing else.
    """
    text = text.strip()
    if is_number(text):
        return frozenset((f"ENTREZ:{text}",))
    if not any(character.isdigit() for character in text):
        return frozenset()
    if is_ensembl_gene(text.upper().removeprefix("ENSEMBL:")):
        text = without_version(text)
    keys = set(id_keys(text))
    for found in find_ids(text):
        if (found.start, found.end) == (0, len(text)):
            keys.update(found.keys)
    return frozenset(keys)


def is_identifier(text: str) -> bool:
    """Say whether a text is an identifier of a known form and nothing else, whether or not the graph has it."""
    text = text.strip()
    return is_number(text) or any((found.start, found.end) == (0, len(text)) for found in find_ids(text))


def _as_written(view: GraphView, texts: Sequence[str], types: Collection[NodeType]) -> _Fits:
    """Return what fits by id, identifier, name or alias, without regard to capitals."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    keys: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        names[text.strip().casefold()].append(text)
        for spelt in identifier_keys(text):
            keys[spelt].append(text)
    # Most identifiers are passed over by what stands after their prefix, before they are spelt out.
    locals_ = {_local(spelt) for spelt in keys}
    found: _Fits = {}
    for node in _of_types(view, types):
        _take(found, names.get(node.id.casefold()), _ID, node)
        if _local(node.id.upper()) in locals_:
            for spelt in node_id_keys(node.id, node.type):
                _take(found, keys.get(spelt), _IDENTIFIER, node)
        for xref in node.xrefs:
            if _local(xref.upper()) in locals_:
                for spelt in id_keys(xref):
                    _take(found, keys.get(spelt), _IDENTIFIER, node)
        _take(found, names.get(node.name.casefold()), _NAME, node)
        for alias in node.aliases:
            _take(found, names.get(alias.casefold()), _ALIAS, node)
    return found


def _as_spelt(view: GraphView, texts: Sequence[str], types: Collection[NodeType]) -> _Fits:
    """Return what fits by name or alias in another spelling: hyphens, blanks, Greek letters, accents."""
    forms: defaultdict[str, list[str]] = defaultdict(list)
    for text in texts:
        for form in _forms(text):
            forms[form].append(text)
    found: _Fits = {}
    if not forms:
        return found
    for node in _of_types(view, types):
        for level, names in ((_SPELT_NAME, (node.name,)), (_SPELT_ALIAS, node.aliases)):
            for name in names:
                for form in _forms(name):
                    _take(found, forms.get(form), level, node)
    return found


def _forms(name: str) -> Iterator[str]:
    """Yield a name as search compares it and, with blanks around, as linking does; nothing for one without letters."""
    searched = normal(name)
    if searched:
        yield searched
    linked = key(name)
    if linked.strip():
        yield linked


def _of_types(view: GraphView, types: Collection[NodeType]) -> Iterator[NamedNode]:
    return (node for node in view.named_nodes() if not types or node.type in types)


def _take(found: _Fits, texts: Iterable[str] | None, level: int, node: NamedNode) -> None:
    for text in texts or ():
        found.setdefault(text, {}).setdefault(level, {})[node.number] = node


def _local(identifier: str) -> str:
    return identifier.rpartition(":")[2]


def _meant(nodes: Iterable[NamedNode], text: str) -> list[NamedNode]:
    """Return those of equally fitting nodes that a text means: the main role, the surest id, then as it is written."""
    left = list(nodes)
    for roles in _ROLES:
        first = min((roles[node.type] for node in left if node.type in roles), default=0)
        left = [node for node in left if roles.get(node.type, first) == first]
    surest = min(rank_of(node.id) for node in left)
    left = [node for node in left if rank_of(node.id) == surest]
    left = [node for node in left if text == node.name] or left
    return left if len(left) == 1 else [node for node in left if text in node.aliases] or left
