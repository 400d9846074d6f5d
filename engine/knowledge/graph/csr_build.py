"""The store's columns, sorted into traversal arrays."""

from __future__ import annotations

import json
import zlib

import numpy as np

from engine.domain.knowledge import EDGE_CODE, SYMMETRIC
from engine.knowledge.graph.arrays import Arrays, Texts
from engine.knowledge.graph.traverse import Slots
from engine.ports.graph import GraphColumns


def build(columns: GraphColumns) -> Arrays:
    """Return the arrays that `engine.knowledge.graph.view.GraphView` works on."""
    nodes = len(columns.ids)
    codes = np.unique(columns.edge_types)
    made: Arrays = {"edge_codes": codes, "node_types": columns.node_types, "named_by": columns.named_by}
    made.update(_texts(columns))
    made.update(_half_edges(columns, Slots(codes.tolist()), nodes))
    alike = [EDGE_CODE[kind] for kind in SYMMETRIC]
    loops = np.flatnonzero((columns.sources == columns.targets) & ~np.isin(columns.edge_types, alike))
    made["loops"] = np.stack([columns.sources[loops].astype(np.int64), loops], axis=1)
    made["heads"] = columns.sources
    made["tails"] = columns.targets
    made["edge_types"] = columns.edge_types
    made["confidences"] = columns.confidences
    made["relations"] = _narrow(columns.edge_relations, len(columns.relations))
    made["origins"] = _narrow(columns.edge_origins, len(columns.origins))
    about = {
        "relations": columns.relations,
        "origins": [
            {"id": origin.id, "name": origin.name, "at": origin.at, "license": origin.license}
            for origin in columns.origins
        ],
    }
    made["about"] = np.frombuffer(json.dumps(about).encode(), dtype=np.uint8)
    return {name: np.ascontiguousarray(array) for name, array in made.items()}


def _texts(columns: GraphColumns) -> Arrays:
    """Ids and names, packed; ids with sorted hashes to find them by; aliases and xrefs as JSON where there are any."""
    made: Arrays = {}
    made["id_data"], made["id_ends"] = Texts.pack(columns.ids)
    names, aliases = _shown_names(columns)
    made["name_data"], made["name_ends"] = Texts.pack(names)
    others = [""] * len(columns.ids)
    for number in aliases.keys() | columns.xrefs.keys():
        others[number] = json.dumps([aliases.get(number, []), columns.xrefs.get(number, [])])
    made["other_data"], made["other_ends"] = Texts.pack(others)
    hashes = np.fromiter((zlib.crc32(node_id.encode()) for node_id in columns.ids), np.uint32, len(columns.ids))
    order = np.argsort(hashes, kind="stable").astype(np.int32)
    made["id_hashes"], made["id_order"] = hashes[order], order
    return made


def _shown_names(columns: GraphColumns) -> tuple[list[str], dict[int, list[str]]]:
    """Return the names people see and the other names.

    A table of annotations knows a term by its identifier only, so that is its name until an ontology that comes
    later says more; from then on the first real name stands for it.
    """
    names, aliases = list(columns.names), dict(columns.aliases)
    for number, others in columns.aliases.items():
        if names[number] == columns.ids[number]:
            names[number], aliases[number] = others[0], others[1:]
    return names, aliases


def _half_edges(columns: GraphColumns, slots: Slots, nodes: int) -> Arrays:
    """Every edge at both its ends, sorted by node and slot; within a slot in the store's order.

    An edge from a node to itself stands there once, as going out.
    """
    heads, tails, types = columns.sources, columns.targets, columns.edge_types
    rows = np.arange(len(heads), dtype=np.int32)
    back = heads != tails
    if back.all():
        other_heads, other_tails, other_types, other_rows = heads, tails, types, rows
    else:
        other_heads, other_tails, other_types, other_rows = heads[back], tails[back], types[back], rows[back]
    keys = np.concatenate(
        [
            heads.astype(np.int64) * slots.count + slots.outward()[types],
            other_tails.astype(np.int64) * slots.count + slots.inward()[other_types],
        ]
    )
    counts = np.bincount(keys, minlength=nodes * slots.count)
    wide = np.int32 if len(keys) < 2**31 else np.int64
    offsets = np.zeros(nodes * slots.count + 1, dtype=wide)
    np.cumsum(counts, out=offsets[1:])
    order = _order(keys)
    return {
        "offsets": offsets,
        "near": np.concatenate([tails, other_heads])[order],
        "half_rows": np.concatenate([rows, other_rows])[order],
    }


def _order(keys: np.ndarray) -> np.ndarray:
    """Return the stable order of keys. Two passes over 16 bits each are quicker than one comparison sort."""
    if not len(keys) or keys.max() >= 2**32:
        return np.argsort(keys, kind="stable")
    low = np.argsort((keys & 0xFFFF).astype(np.uint16), kind="stable")
    high = (keys >> 16).astype(np.uint16)[low]
    return low[np.argsort(high, kind="stable")]


def _narrow(numbers: np.ndarray, count: int) -> np.ndarray:
    """Store small numbers in half the room."""
    return numbers.astype(np.uint16 if count <= 2**16 else np.int32)
