"""Which node a symbol, an identifier or a name means: the one look-up, for imports, findings, facts and people.

What is written fits best by the node's own id, then by an identifier elsewhere, its name, an alias. An import takes
what fits exactly and by the type it expects, or nothing (`__call__`, `gene`). What a person types is read more freely
(`fitting`): an identifier may lack its prefix, a name may be in another spelling (`tp-53`, `TNFα`, `il 6`), compared
as search and linking compare; and of several nodes that fit equally well all are returned.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from engine.domain.knowledge import NodeType
from engine.knowledge.graph.node_table import NamedNode, NodeTable
from engine.knowledge.graph.search_names import normal
from engine.knowledge.importers.reading.ids import is_ensembl_gene, is_number, is_uniprot, without_version
from engine.knowledge.linking.text import find_ids, id_keys, key, node_id_keys

_SAME = {NodeType.PROTEIN: NodeType.GENE}
"""Types that an import looks up as another."""
_SHARED = ("umls:", "mesh:")
"""Authorities whose one identifier can be a disease, a symptom and a side effect: the type must be the same."""
_ROLES: tuple[dict[NodeType, int], ...] = (
    {NodeType.GENE: 0, NodeType.PROTEIN: 1},
    {NodeType.DISEASE: 0, NodeType.SYMPTOM: 1, NodeType.PHENOTYPE: 2, NodeType.SIDE_EFFECT: 3},
)
"""Types that are one thing in several roles, the one that a name alone means first, as linking has it."""

_ID, _IDENTIFIER, _BARE, _NAME, _ALIAS, _SPELT_NAME, _SPELT_ALIAS = range(7)
"""How well a text fits, best first; `_BARE` is an identifier that tells its authority without the prefix."""
_LEVELS = 8

_Fits = dict[str, dict[int, dict[str, NamedNode]]]
"""Text -> how well -> id of a node -> the node."""


def rank_of(node_id: str) -> int:
    """Say how well an id stands for what it names: an Entrez gene 0, any other id 1, a mere symbol 2.

    A symbol of another organism than human is 3: `symbol:mouse:Brca1` must not be taken for BRCA1.
    """
    if node_id.startswith("Gene::"):
        return 0
    if node_id.startswith("symbol:"):
        return 3 if node_id.count(":") > 1 else 2
    return 1


class EntityLookup:
    """The nodes of a graph by what they are called and identified by; keeps no view.

    Built in one pass. The files of runs (datasets) are not in it, so that a run makes no new one: whoever means them
    as well gives them to `fitting`.
    """

    def __init__(self, nodes: NodeTable, *, without: Collection[str] = ()) -> None:
        """Index nodes, but those of the ids in `without`."""
        self._nodes = nodes.apart()
        self._written: defaultdict[str, list[int]] = defaultdict(list)
        """What is written, folded -> number of a node x `_LEVELS` + how well."""
        hidden = frozenset(without)
        self._shown = [node.number for node in nodes.named() if node.id not in hidden] if hidden else None
        for node in self._all():
            for spelt, level in _written(node):
                self._written[spelt].append(node.number * _LEVELS + level)
        self._written.default_factory = None

    def __call__(self, text: str, kind: NodeType) -> str | None:
        """Return the id of the one node of a type that a text names, or None.

        An identifier finds its node whatever the type. A name goes before an alias. Of several nodes of one name
        the one with the surest id is meant, and of those the one that is written just so; a name or an alias that
        is still several nodes' finds none, because attaching to the wrong gene is worse than adding a node.
        """
        text, kind = text.strip(), _SAME.get(kind, kind)
        spelt = text.casefold()
        shared = spelt.startswith(_SHARED)
        normalised = [k.casefold() for k in id_keys(text) if ":" in k]
        found = {k: list(self._fits(k)) for k in dict.fromkeys((spelt, *normalised))}
        same = [(level, node) for fits in found.values() for level, node in fits if level <= _IDENTIFIER]
        same = [(level, node) for level, node in same if not shared or _SAME.get(node.type, node.type) is kind]
        if same:
            return min((node for _, node in same), key=lambda node: (rank_of(node.id), node.number)).id
        alike = [(level, node) for level, node in found[spelt] if _SAME.get(node.type, node.type) is kind]
        named = [node for level, node in alike if level == _NAME]
        left = _written_so(_surest(named), text) if named else [node for level, node in alike if level == _ALIAS]
        ids = {node.id for node in left}
        return ids.pop() if len(ids) == 1 else None

    def gene(self, text: str) -> str | None:
        """Return the id of the gene that a symbol, a name or an identifier with or without its prefix means, or None.

        A bare number is an Entrez id and nothing else.
        """
        text = text.strip()
        if is_number(text):
            return self(f"Gene::{text}", NodeType.GENE) or self(f"ENTREZ:{text}", NodeType.GENE)
        found = self(text, NodeType.GENE)
        if found is None and is_ensembl_gene(text):
            found = self(f"ENSEMBL:{without_version(text)}", NodeType.GENE)
        if found is None and is_uniprot(text):
            found = self(f"UNIPROT:{text}", NodeType.GENE)
        return found

    def fitting(
        self, texts: Iterable[str], *, types: Collection[NodeType] = (), beside: Sequence[NamedNode] = ()
    ) -> dict[str, list[NamedNode]]:
        """Return the nodes that texts mean: one each where that is clear, several where they fit equally well.

        Names in other spellings are not indexed: the nodes are read once for all texts that are written as no node is.

        Args:
            texts: ids or names.
            types: only nodes of these types; all when empty.
            beside: nodes that are looked at as well.

        Returns:
            Text -> nodes, without the texts that no node fits. A node's number says nothing of another graph.
        """
        wanted = list(dict.fromkeys(text for text in texts if text.strip()))
        found = self._as_written(wanted, types, beside)
        found.update(self._as_spelt([text for text in wanted if text not in found], types, beside))
        return {text: _meant(fits[min(fits)].values(), text.strip()) for text, fits in found.items()}

    def identified(self, text: str, *, types: Collection[NodeType] = ()) -> list[NamedNode]:
        """Return the nodes that have an identifier, which may lack its prefix or have a version; most often one."""
        fits = self._as_written([text], types, ()).get(text, {})
        best = min(fits, default=_NAME)
        return _meant(fits[best].values(), text.strip()) if best < _NAME else []

    def _all(self) -> Iterator[NamedNode]:
        return (node for node in self._nodes.named(self._shown) if node.type is not NodeType.DATASET)

    def _fits(self, spelt: str) -> Iterator[tuple[int, NamedNode]]:
        """Yield how well nodes fit what is written, and the nodes, in their order."""
        codes = self._written.get(spelt, ())
        for code, node in zip(codes, self._nodes.named(code // _LEVELS for code in codes), strict=True):
            yield code % _LEVELS, node

    def _as_written(self, texts: Sequence[str], types: Collection[NodeType], beside: Sequence[NamedNode]) -> _Fits:
        """Return what fits by id, identifier, name or alias, without regard to capitals."""
        others: defaultdict[str, list[tuple[int, NamedNode]]] = defaultdict(list)
        for node in beside:
            for spelt, level in _written(node):
                others[spelt].append((level, node))
        found: _Fits = {}
        for text in texts:
            names, identifiers = text.strip().casefold(), {spelt.casefold() for spelt in identifier_keys(text)}
            for spelt in {names, *identifiers}:
                for level, node in (*self._fits(spelt), *others.get(spelt, ())):
                    identifier = level in (_IDENTIFIER, _BARE)
                    if (spelt in identifiers if identifier else spelt == names) and (not types or node.type in types):
                        _take(found, text, _IDENTIFIER if identifier else level, node)
        return found

    def _as_spelt(self, texts: Sequence[str], types: Collection[NodeType], beside: Sequence[NamedNode]) -> _Fits:
        """Return what fits by name or alias in another spelling: hyphens, blanks, Greek letters, accents."""
        forms: defaultdict[str, list[str]] = defaultdict(list)
        for text in texts:
            for form in _forms(text):
                forms[form].append(text)
        found: _Fits = {}
        for node in (*self._all(), *beside) if forms else ():
            if types and node.type not in types:
                continue
            for level, names in ((_SPELT_NAME, (node.name,)), (_SPELT_ALIAS, node.aliases)):
                for text in (text for name in names for form in _forms(name) for text in forms.get(form, ())):
                    _take(found, text, level, node)
        return found


class LateLookup:
    """An `EntityLookup` made when it is first asked, by `make`, which may be set later than this is handed on."""

    def __init__(self) -> None:
        self.make: Callable[[], EntityLookup] | None = None
        self._made: EntityLookup | None = None

    def __call__(self, text: str, kind: NodeType) -> str | None:
        """Look up as `EntityLookup` does."""
        if self._made is None:
            assert self.make is not None
            self._made = self.make()
        return self._made(text, kind)


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


def _written(node: NamedNode) -> Iterator[tuple[str, int]]:
    """Yield everything a node is written as, folded, and how well that fits."""
    yield node.id.casefold(), _ID
    keys = (*node_id_keys(node.id, node.type), *(k for xref in node.xrefs for k in id_keys(xref)))
    identifiers = {k.casefold(): _IDENTIFIER if ":" in k else _BARE for k in keys}
    yield from (identifiers | {xref.casefold(): _IDENTIFIER for xref in node.xrefs}).items()
    yield node.name.casefold(), _NAME
    for alias in node.aliases:
        yield alias.casefold(), _ALIAS


def _forms(name: str) -> Iterator[str]:
    """Yield a name as search compares it and, with blanks around, as linking does; nothing for one without letters."""
    searched = normal(name)
    if searched:
        yield searched
    linked = key(name)
    if linked.strip():
        yield linked


def _take(found: _Fits, text: str, level: int, node: NamedNode) -> None:
    found.setdefault(text, {}).setdefault(level, {})[node.id] = node


def _surest(nodes: list[NamedNode]) -> list[NamedNode]:
    """Return the nodes whose ids stand best for what they name."""
    surest = min(rank_of(node.id) for node in nodes)
    return [node for node in nodes if rank_of(node.id) == surest]


def _written_so(nodes: list[NamedNode], text: str) -> list[NamedNode]:
    """Return the nodes that are called just so, or all when none is."""
    return [node for node in nodes if node.name == text] or nodes


def _meant(nodes: Iterable[NamedNode], text: str) -> list[NamedNode]:
    """Return those of equally fitting nodes that a text means: the main role, the surest id, then as it is written."""
    left = list(nodes)
    for roles in _ROLES:
        first = min((roles[node.type] for node in left if node.type in roles), default=0)
        left = [node for node in left if roles.get(node.type, first) == first]
    left = _written_so(_surest(left), text)
    return left if len(left) == 1 else [node for node in left if text in node.aliases] or left
