"""What the columns of each kind of data mean, and the names under which programs and people write them.

Profiler, readers and tools go by this one list. Names are compared in their plain form (`plain`), so
that `adj.P.Val`, `adj_p_val` and `adjPVal` are one. Tools' code is shipped without Biodesk and keeps
names of its own; a test holds the two together.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

from engine.domain.base import Value
from engine.domain.datatypes import DataType


def plain(name: str) -> str:
    """Return a column name as lower-case letters and digits only: `adj.P.Val` and `adj_p_val` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


class Field(Value):
    """A column (or the row names) that a kind of data has."""

    name: str
    """What it is called here, in a tool's own results."""
    meaning: str
    kind: Literal["text", "number"]
    pattern: str = "(?!)"
    """A regular expression for the whole of a name's plain form; matches nothing where names say nothing."""
    needed: bool = False

    def called(self, header: str) -> bool:
        """Say whether a column with this header is this field."""
        return re.fullmatch(self.pattern, plain(header)) is not None


class Schema(Value):
    """The fields of a kind of data."""

    fields: tuple[Field, ...]
    index: str = ""
    """What the row names are, where they mean something."""

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """Return the fields under their names."""
        return {field.name: field for field in self.fields}

    def field(self, name: str) -> Field:
        """Return the field called `name`."""
        return self.by_name[name]

    def find(self, headers: list[str]) -> dict[str, str]:
        """Return field -> the first header that is called so."""
        forms = [(header, plain(header)) for header in headers]
        found = {f.name: next((h for h, form in forms if re.fullmatch(f.pattern, form)), None) for f in self.fields}
        return {name: header for name, header in found.items() if header is not None}


_ID = (
    r"genes?|feature(id)?|features|(ens|ensembl)(gene)?(id)?|ensgene|geneid|targetid|probe(id)?|probeset|idref|"
    r"trackingid|entrez(gene)?(id)?|transcript(id)?|protein(id)?|names"
)
_SYMBOL = r"symbol|gene(name|symbols?)|hgncsymbol|externalgenename"
_GENE = f"{_ID}|{_SYMBOL}"
_P = r"p|pvals?|pvalues?|nominalp|nompval|nompvalue|rawp"
_ADJUSTED = (
    r"padj|fdr|qval|qvalues?|q|adjp|adjpval|adjpvalue|adjustedpvalue|adjustedp|pvaladj|pvalsadj|padjusted|padjust|"
    r"pvalueadj|bh|fdrqval|fdrqvalue|fwerpval"
)
_P_VALUE = Field(name="p_value", meaning="p-value of one test", kind="number", pattern=_P)
_P_ADJ = Field(name="p_adj", meaning="p-value or q-value for all tests together", kind="number", pattern=_ADJUSTED)

SCHEMAS: dict[DataType, Schema] = {
    DataType.GENE_LIST: Schema(
        fields=(Field(name="gene", meaning="name or id of a gene", kind="text", pattern=_GENE + "|id", needed=True),)
    ),
    DataType.RANKED_GENES: Schema(
        fields=(
            Field(name="gene", meaning="name or id of a gene", kind="text", pattern=_GENE, needed=True),
            Field(name="score", meaning="what the genes are ranked by, highest first", kind="number", needed=True,
                  pattern=r"scores?|rank(ing)?|stat(istic)?|metric|weight|t|z|zscore|value|log2?fc|log2?foldchange|nes"),
        )
    ),
    DataType.DE_TABLE: Schema(
        fields=(
            Field(name="feature", meaning="the gene", kind="text", needed=True, pattern=_ID + "|id|row|unnamed0"),
            Field(name="symbol", meaning="the gene's symbol beside its id", kind="text",
                  pattern=_SYMBOL),
            Field(name="base_mean", meaning="mean of the normalised counts", kind="number", pattern=r"basemean"),
            # A natural logarithm (lnFC, Seurat's avg_logFC of old) must not pass as one to the base of 2.
            Field(name="log2_fold_change", meaning="log2 of the ratio of the groups", kind="number", needed=True,
                  pattern=r"((mean|mle|shrunken)?log2?|avglog2)(fc|foldchanges?|ratio)(mle|shrunk)?|lfc"),
            Field(name="lfc_se", meaning="standard error of the log2 fold change", kind="number", pattern=r"lfcse"),
            Field(name="stat", meaning="test statistic", kind="number", pattern=r"stat|t"),
            _P_VALUE, _P_ADJ,
        )
    ),
    DataType.ENRICHMENT_TABLE: Schema(
        fields=(
            Field(name="term", meaning="the gene set", kind="text", needed=True,
                  pattern=r"terms?|pathways?|genesets?|gs|termname|goterm|description|name|genesetname|id|goid|termid|set"),
            Field(name="evidence", meaning="overlap or score of a gene set", kind="text", needed=True,
                  pattern=r"overlap|nes|es|combinedscore|oddsratio|generatio|bgratio|genes|leadingedge|leadedgegenes|"
                          r"intersection|geneset|hits|setsize|matchedsize|tagpercent|geneid|enrichmentratio|"
                          r"foldenrichment|kresult"),
            _P_VALUE, _P_ADJ,
        )
    ),
    DataType.SURVIVAL_TABLE: Schema(
        fields=(
            # Time and event are found by their values, too: engine.data assigns these roles.
            Field(name="time", meaning="time to the event or to the end of observation", kind="number", needed=True,
                  pattern=r"times?|days|months|years|weeks?|[op]s|pfs|dfs|rfs|efs|ttp|futime|duration|t|followup|survtime|"
                          r"survival|stime|lifetime|tte"),
            Field(name="event", meaning="whether the event was seen", kind="text", needed=True,
                  pattern=r"status|events?|death|dead|died|cens(or(ed|ing)?)?|delta|fustat|observed|relapse|recurrence|"
                          r"vital(status)?|progression|failure|deceased"),
            Field(name="subject", meaning="who was observed", kind="text",
                  pattern=r"id|patient(id)?|subject(id)?|participant(id)?"),
        )
    ),
    DataType.SAMPLE_SHEET: Schema(
        fields=(Field(name="sample", meaning="a sample's name", kind="text",
                      pattern=r"samples?|sampleid|samplename|library"),),
        index="sample",
    ),
    DataType.COUNT_MATRIX: Schema(fields=(), index="feature"),
    DataType.EXPRESSION_MATRIX: Schema(fields=(), index="feature"),
}  # fmt: skip
"""DataType -> its columns. A type that is not here is not a table, or any table."""

RANKED_GENES_NAMES = [field.name for field in SCHEMAS[DataType.RANKED_GENES].fields]
"""The columns of a ranking that has no header."""
