"""The closed vocabulary of what flows between the steps of a plan.

A tool says which of these it takes and gives; the planner chains tools over them; a plan that joins
two steps whose types do not fit is refused before anything runs. What is known of each stands in
`engine/data/kinds/`, where a file may declare a type of its own.
"""

from __future__ import annotations

from enum import StrEnum


class DataType(StrEnum):
    """A kind of data. The member's value is its name in plans, profiles and reports."""

    TABLE = "table"
    COUNT_MATRIX = "count_matrix"
    SAMPLE_SHEET = "sample_sheet"
    GENE_LIST = "gene_list"
    RANKED_GENES = "ranked_genes"
    EXPRESSION_MATRIX = "expression_matrix"
    DE_TABLE = "de_table"
    GENE_SET_LIBRARY = "gene_set_library"
    ENRICHMENT_TABLE = "enrichment_table"
    ANNDATA = "anndata"
    SURVIVAL_TABLE = "survival_table"
    SEQUENCES = "sequences"
    ALIGNMENT = "alignment"
    TREE = "tree"
    VARIANTS = "variants"
    STRUCTURE = "structure"
    COMPOUNDS = "compounds"
    IMAGE = "image"
    ABUNDANCE_TABLE = "abundance_table"
    GENOTYPE_TABLE = "genotype_table"
    PEAKS = "peaks"
    METHYLATION_TABLE = "methylation_table"
    GUIDE_TABLE = "guide_table"
    DOSE_RESPONSE_TABLE = "dose_response_table"
    SPECTRUM_TABLE = "spectrum_table"
    GRAPH = "graph"
    MODEL = "model"
    FIGURE = "figure"
    TEXT = "text"
    DOCUMENTS = "documents"
    HYPOTHESES = "hypotheses"

    @classmethod
    def declare(cls, name: str) -> DataType:
        """Add a type to the vocabulary, for the file that declares its kind."""
        if name not in _DECLARED and name not in set(cls):
            own = str.__new__(cls, name)
            own._name_, own._value_ = name.upper(), name
            _DECLARED[name] = own
        return cls(name)

    @classmethod
    def _missing_(cls, value: object) -> DataType | None:
        return _DECLARED.get(str(value))


_DECLARED: dict[str, DataType] = {}
"""Types beside the members, by name: an enumeration admits no member once it is made."""


MATRICES = (DataType.COUNT_MATRIX, DataType.EXPRESSION_MATRIX, DataType.ABUNDANCE_TABLE)
"""What is measured in samples, one a column, which a list of samples may describe; raw counts first."""
