"""Some of the samples of a matrix: a question about the tumours only is answered by their columns alone.

The list of samples comes as a table, cut down or with computed columns, and is given on as a sample sheet beside the
matrix.
"""

from __future__ import annotations

from engine.text.names import without_common_ends
from engine.toolbox.bulk_rna.common import match_samples, name_some
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import finding_values, level_labels, plain_table, require_columns

_SAMPLE = param("Column that names the samples", kind="column", of="table", role="sample", required=True)
_WORDS = (
    "subset of samples",
    "only some samples",
    "leave out samples",
    "drop a sample",
    "bad library",
    "samples of one group",
)
_HELPERS = (name_some, without_common_ends, match_samples, plain_table, require_columns, level_labels, finding_values)


def of_samples(matrix, table, sample, noun):
    """Return the columns of a matrix whose samples a table lists, the table as their sheet, a finding and warnings."""
    table = plain_table(table)
    require_columns(table, [sample])
    named = table.assign(**{sample: level_labels(table[sample])}).dropna(subset=[sample])
    matrix = matrix.copy()
    matrix.columns = matrix.columns.astype(str)
    sheet, notes = match_samples(matrix.columns, named.set_index(sample, drop=False).rename_axis(None))
    # That others have no row is what was asked for.
    warnings = [note for note in notes if "no row in the sample sheet" not in note]
    out = [name for name in matrix.columns if name not in sheet.index]
    left = f"; left out: {name_some(out, 8)}" if out else ""
    finding = {
        "text": f"{len(sheet)} of {matrix.shape[1]} samples of the {noun} are used{left}.",
        "values": finding_values(n_used=len(sheet), n_samples=matrix.shape[1], n_left_out=len(out)),
        "output": "samples",
    }
    return matrix[list(sheet.index)], sheet.drop(columns=sample), finding, warnings


@tool(
    name="keep_samples",
    title="Some samples of a count matrix",
    description=(
        "Keeps those columns of a count matrix whose samples a table lists, and gives the table on as their sample "
        "sheet: the table may have been cut down to some rows, or have columns that were computed."
    ),
    domain="transcriptomics",
    task_type="preprocessing",
    methods=("samples of the list; no test",),
    inputs={"counts": "count_matrix: raw read counts, genes x samples", "table": "table: one row a sample"},
    outputs={"kept": "count_matrix: the samples that are listed", "samples": "sample_sheet: one row a sample"},
    params={"sample": _SAMPLE},
    checks=("tables_not_empty",),
    keywords=_WORDS,
    packages=("pandas",),
    seconds=1.0,
    example="Keep the tumours of the count matrix.",
    helpers=(*_HELPERS, of_samples),
)
def keep_samples(counts, table, *, sample: str):
    """Keep the listed samples of raw counts."""
    kept, sheet, finding, warnings = of_samples(counts, table, sample, "count matrix")
    return {"kept": kept, "samples": sheet, "findings": [finding], "warnings": warnings}


@tool(
    name="keep_samples_of_intensities",
    title="Some samples of a matrix of intensities",
    description=(
        "Keeps those columns of a matrix of intensities or log values whose samples a table lists, and gives the table "
        "on as their sample sheet: the table may have been cut down to some rows, or have columns that were computed."
    ),
    domain="proteomics",
    task_type="preprocessing",
    methods=("samples of the list; no test",),
    inputs={"expression": "expression_matrix: features x samples", "table": "table: one row a sample"},
    outputs={"kept": "expression_matrix: the samples that are listed", "samples": "sample_sheet: one row a sample"},
    params={"sample": _SAMPLE},
    checks=("tables_not_empty",),
    keywords=_WORDS,
    packages=("pandas",),
    seconds=1.0,
    example="Keep the samples of week 4 of the protein matrix.",
    helpers=(*_HELPERS, of_samples),
)
def keep_samples_of_intensities(expression, table, *, sample: str):
    """Keep the listed samples of intensities."""
    kept, sheet, finding, warnings = of_samples(expression, table, sample, "matrix")
    return {"kept": kept, "samples": sheet, "findings": [finding], "warnings": warnings}
