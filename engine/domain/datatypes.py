"""The closed vocabulary of what flows between the steps of a plan.

A tool says which of these it takes and gives; the planner chains tools over them; a plan that joins
two steps whose types do not fit is refused before anything runs. Where EDAM (the bioinformatics
ontology of data and formats) has a fitting term, its identifier stands beside the type.
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


EDAM: dict[DataType, str] = {
    DataType.TABLE: "data_2526",
    DataType.COUNT_MATRIX: "data_3917",
    DataType.GENE_LIST: "data_2872",
    DataType.EXPRESSION_MATRIX: "data_2603",
    DataType.DE_TABLE: "data_0951",
    DataType.GENE_SET_LIBRARY: "data_2872",
    DataType.ENRICHMENT_TABLE: "data_3753",
    DataType.SEQUENCES: "data_2044",
    DataType.ALIGNMENT: "data_0863",
    DataType.TREE: "data_0872",
    DataType.VARIANTS: "data_3498",
    DataType.STRUCTURE: "data_0883",
    DataType.IMAGE: "data_2968",
    DataType.FIGURE: "data_2884",
    DataType.TEXT: "data_3671",
}

TABULAR: frozenset[DataType] = frozenset(
    {
        DataType.TABLE,
        DataType.SAMPLE_SHEET,
        DataType.DE_TABLE,
        DataType.RANKED_GENES,
        DataType.ENRICHMENT_TABLE,
        DataType.SURVIVAL_TABLE,
        DataType.DOSE_RESPONSE_TABLE,
        DataType.SPECTRUM_TABLE,
    }
)


def accepts(wanted: DataType, offered: DataType) -> bool:
    """Say whether an input of type `wanted` may be given data of type `offered`.

    A plain `table` takes anything that is one record a row, and times to an event may come from a table some rows of
    which a step kept; every other type takes only itself, because a wider rule would let normalised values pass as
    counts.
    """
    if wanted is DataType.SURVIVAL_TABLE and offered is DataType.TABLE:
        return True
    return wanted == offered or (wanted is DataType.TABLE and offered in TABULAR)
