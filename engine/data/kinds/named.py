"""Kinds that tools may name, and of which no file is recognised: what is written of them is a table or JSON."""

from __future__ import annotations

from engine.data.kind import Kind
from engine.domain.datatypes import DataType

ABUNDANCE_TABLE = Kind(type=DataType.ABUNDANCE_TABLE)
GENOTYPE_TABLE = Kind(type=DataType.GENOTYPE_TABLE)
METHYLATION_TABLE = Kind(type=DataType.METHYLATION_TABLE)
GUIDE_TABLE = Kind(type=DataType.GUIDE_TABLE)
GRAPH = Kind(type=DataType.GRAPH)
MODEL = Kind(type=DataType.MODEL)
DOCUMENTS = Kind(type=DataType.DOCUMENTS)
HYPOTHESES = Kind(type=DataType.HYPOTHESES)
