"""Some of the samples of a table of taxa: a question that leaves out a small library is answered without its column."""

from __future__ import annotations

from engine.toolbox.bulk_rna.samples import of_samples
from engine.toolbox.registry import param, tool


@tool(
    name="keep_samples_of_taxa",
    title="Some samples of a table of taxa",
    description=(
        "Keeps those columns of a table of taxa whose samples a table lists, and gives the table on as their sample "
        "sheet: the table may have been cut down to some rows, or have columns that were computed."
    ),
    domain="microbiome",
    task_type="preprocessing",
    methods=("samples of the list; no test",),
    inputs={"taxa": "abundance_table: counts or shares, taxa x samples", "table": "table: one row a sample"},
    outputs={"kept": "abundance_table: the samples that are listed", "samples": "sample_sheet: one row a sample"},
    params={"sample": param("Column that names the samples", kind="column", of="table", role="key", required=True)},
    checks=("tables_not_empty",),
    keywords=("subset of samples", "leave out samples", "drop a sample", "bad library"),
    packages=("pandas",),
    seconds=1.0,
    example="Leave out sample M21 of the genus table.",
)
def keep_samples_of_taxa(taxa, table, *, sample: str):
    """Keep the listed samples of a table of taxa."""
    kept, sheet, finding, warnings = of_samples(taxa, table, sample, "table of taxa")
    kept.attrs.update(taxa.attrs)
    return {"kept": kept, "samples": sheet, "findings": [finding], "warnings": warnings}
