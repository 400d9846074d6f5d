"""Kinds that have other names in the catalogues of others, and of which no file is recognised here."""

from __future__ import annotations

from engine.data.kind import Kind
from engine.domain.datatypes import DataType

GENOTYPE_TABLE = Kind(type=DataType.GENOTYPE_TABLE, aliases=("plink", "genotypes", "ped"))
GRAPH = Kind(type=DataType.GRAPH, aliases=("graphml", "sif", "network"))
