"""What tests give for genes and for sets of genes."""

from __future__ import annotations

from engine.data.columns.column import is_numeric
from engine.data.columns.genes import id_warnings, identify, is_gene_header
from engine.data.found import TableFound
from engine.data.kind import Kind
from engine.data.kinds.table import read_table
from engine.data.schema import GENE_ID, GENE_SYMBOL, Field, Schema
from engine.data.source import Frame
from engine.domain.datatypes import DataType
from engine.domain.profile import TypeGuess

_P = r"p|pvals?|pvalues?|nominalp|nompval|nompvalue|rawp"
_ADJUSTED = (
    r"padj|fdr|qval|qvalues?|q|adjp|adjpval|adjpvalue|adjustedpvalue|adjustedp|pvaladj|pvalsadj|padjusted|padjust|"
    r"pvalueadj|bh|fdrqval|fdrqvalue|fwerpval"
)
_P_VALUE = Field(name="p_value", meaning="p-value of one test", kind="number", pattern=_P)
_P_ADJ = Field(name="p_adj", meaning="p-value or q-value for all tests together", kind="number", pattern=_ADJUSTED)
_TESTED = Schema(fields=(
    Field(name="feature", meaning="the gene", kind="text", needed=True, pattern=GENE_ID + "|id|row|unnamed0"),
    Field(name="symbol", meaning="the gene's symbol beside its id", kind="text", pattern=GENE_SYMBOL),
    Field(name="base_mean", meaning="mean of the normalised counts", kind="number", pattern=r"basemean"),
    # A natural logarithm (lnFC, Seurat's avg_logFC of old) must not pass as one to the base of 2.
    Field(name="log2_fold_change", meaning="log2 of the ratio of the groups", kind="number", needed=True,
          pattern=r"((mean|mle|shrunken)?log2?|avglog2)(fc|foldchanges?|ratio)(mle|shrunk)?|lfc"),
    Field(name="lfc_se", meaning="standard error of the log2 fold change", kind="number", pattern=r"lfcse"),
    Field(name="stat", meaning="test statistic", kind="number", pattern=r"stat|t"),
    _P_VALUE, _P_ADJ,
))  # fmt: skip
_ENRICHED = Schema(fields=(
    Field(name="term", meaning="the gene set", kind="text", needed=True,
          pattern=r"terms?|pathways?|genesets?|gs|termname|goterm|description|name|genesetname|id|goid|termid|set"),
    Field(name="evidence", meaning="overlap or score of a gene set", kind="text", needed=True,
          pattern=r"overlap|nes|es|combinedscore|oddsratio|generatio|bgratio|genes|leadingedge|leadedgegenes|"
                  r"intersection|geneset|hits|setsize|matchedsize|tagpercent|geneid|enrichmentratio|"
                  r"foldenrichment|kresult"),
    _P_VALUE, _P_ADJ,
))  # fmt: skip


def result_columns(frame: Frame) -> dict[str, str]:
    """Return the columns of a differential expression result: log2 fold change, p and adjusted p."""
    names = _TESTED.find([str(column) for column in frame.columns if is_numeric(frame[column])])
    found = {role: names[role] for role in ("log2_fold_change", "p_value", "p_adj") if role in names}
    return found if "log2_fold_change" in found and len(found) > 1 else {}


def _results(table: TableFound, frame: Frame) -> list[TypeGuess]:
    found = result_columns(frame)
    if not found:
        return []
    gene = next((str(c) for c in frame.columns if is_gene_header(str(c)) and frame[c].dtype == object), None)
    gene = gene or next((str(c) for c in frame.columns[:3] if frame[c].dtype == object), None)
    if gene is None:
        table.warnings.append(f"{table.name} has fold changes and p-values but no column of gene names.")
    else:
        values = frame[gene].dropna().astype(str).tolist()
        table.genes, table.feature_ids = identify(values, header=gene), values[:200]
        table.warnings += id_warnings(table.name, values)
        found = {"gene": gene} | found
    table.details["result_columns"] = found
    return [TypeGuess(type=DataType.DE_TABLE, confidence=0.95 if gene else 0.6, read=table.read)]


def _enrichment(table: TableFound, frame: Frame) -> list[TypeGuess]:
    found = _ENRICHED.find([str(column) for column in frame.columns])
    term = any(_ENRICHED.field("term").called(str(c)) and frame[c].dtype == object for c in frame.columns)
    tested, evidence = "p_value" in found or "p_adj" in found, "evidence" in found
    if not (term and tested and evidence) or result_columns(frame):
        return []
    return [TypeGuess(type=DataType.ENRICHMENT_TABLE, confidence=0.9, read=table.read)]


DE_TABLE = Kind(
    type=DataType.DE_TABLE, words="a table of differential expression results", edam="data_0951", records=True,
    schema=_TESTED, read=read_table, in_table=_results,
    summary=lambda table: f"Differential expression results for {table.count('gene')}{table.note}",
)  # fmt: skip
ENRICHMENT_TABLE = Kind(
    type=DataType.ENRICHMENT_TABLE, edam="data_3753", records=True,
    schema=_ENRICHED, read=read_table, in_table=_enrichment,
    summary=lambda table: f"Enrichment results for {table.count('gene set')}",
)  # fmt: skip
