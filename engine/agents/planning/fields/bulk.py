"""Bulk RNA-seq: quality, overview, differential expression, and what the changed genes have in common."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

import re

from engine.agents.planning import words
from engine.agents.planning.builder import missing, usable, why_not
from engine.agents.planning.context import Context
from engine.agents.planning.design import (
    Design,
    add_covariates,
    comparison,
    require_replicates,
)
from engine.domain.datatypes import DataType
from engine.domain.profile import Profile, TypeGuess
from engine.errors import PlanError
from engine.profiling.matching import match_samples

_MENU = ("differential_expression", "over_representation", "sample_pca", "count_qc", "volcano_plot", "ma_plot",
         "expression_heatmap", "normalize_counts", "map_gene_ids")  # fmt: skip
_AFTER_DE = ("differential_expression", "over_representation", "volcano_plot", "ma_plot")


def plan_bulk(ctx: Context) -> None:
    """Plan what a question asks of a matrix of genes and samples."""
    counts, expression = ctx.profile_as(DataType.COUNT_MATRIX), ctx.profile_as(DataType.EXPRESSION_MATRIX)
    matrix = counts or expression
    assert matrix is not None
    sheet = _sample_sheet(ctx, matrix[0])
    genes = ctx.genes(sheet[0].column_profiles if sheet else [], frozenset(matrix[0].feature_ids))
    asked = [tool for tool in _MENU if tool in ctx.goals]
    named = sheet is not None and ctx.names_something_of(sheet[0].column_profiles)
    if not asked and not genes and not named and not ctx.vague:
        raise not_understood(ctx, "which genes change between groups, how the samples group, or which pathways change")
    overview_only = bool(asked) and not any(tool in _AFTER_DE for tool in asked) and not (genes and named)
    if genes and not asked:
        overview_only = False
    if overview_only:
        _overview(ctx, counts, expression, sheet, asked, genes)
        return
    if counts is None:
        _refuse_normalised(ctx, matrix[0])
    assert counts is not None
    if sheet is None:
        raise missing(ctx.profiles, ctx.builder.registry.get("differential_expression"), DataType.SAMPLE_SHEET)
    _differential(ctx, counts, sheet, genes)


def _refuse_normalised(ctx: Context, profile: Profile) -> None:
    message = f"Differential expression needs raw counts (whole numbers), and {profile.name} does not hold them."
    raise PlanError(message, advice=f"{why_not(profile)} Give the count matrix from before normalisation.")


def _sample_sheet(ctx: Context, matrix: Profile) -> tuple[Profile, TypeGuess] | None:
    """Return the file whose rows are the matrix's samples, read with the column that holds their names as index."""
    best: tuple[float, Profile, TypeGuess, str | None] | None = None
    tables = [p for p in ctx.profiles if p is not matrix and _could_be_sheet(p)]
    for profile in tables:
        match = match_samples(matrix, profile)
        guess = profile.serves_as(DataType.SAMPLE_SHEET) or profile.types[0]
        if best is None or match.fraction > best[0]:
            best = (match.fraction, profile, guess, match.column)
    if best is None:
        return None
    fraction, profile, guess, column = best
    if fraction == 0:
        ours, theirs = ", ".join(matrix.sample_ids[:3]), ", ".join(profile.sample_ids[:3]) or "none recognised"
        message = (
            f"No sample of {matrix.name} is in {profile.name}: the matrix has {ours}..., the sheet has {theirs}..."
        )
        raise PlanError(message, advice="Make the sample names the same in both files.")
    read = {key: value for key, value in guess.read.items() if key != "index_col"}
    if column is not None:
        read["index_col"] = column
    elif "index_col" in guess.read:
        read["index_col"] = guess.read["index_col"]
    return profile, TypeGuess(type=DataType.SAMPLE_SHEET, confidence=guess.confidence, read=read)


def _could_be_sheet(profile: Profile) -> bool:
    kinds = {guess.type for guess in usable(profile)}
    return bool(kinds & {DataType.SAMPLE_SHEET, DataType.TABLE, DataType.SURVIVAL_TABLE})


def _overview(
    ctx: Context,
    counts: tuple[Profile, TypeGuess] | None,
    expression: tuple[Profile, TypeGuess] | None,
    sheet: tuple[Profile, TypeGuess] | None,
    asked: list[str],
    genes: list[str],
) -> None:
    samples = {"samples": ctx.builder.use(*sheet)} if sheet else {}
    group = _group_column(ctx, sheet)
    if counts and ("count_qc" in asked or "sample_pca" in asked):
        matrix = ctx.builder.use(*counts)
        ctx.builder.add("count_qc", inputs={"counts": matrix, **samples}, reasons=["Samples are checked first."])
    if counts:
        made = ctx.builder.add(
            "normalize_counts",
            {"method": _method(ctx.question)},
            inputs={"counts": ctx.builder.use(*counts), **samples},
            reasons=["Overviews compare samples on a scale where genes vary alike."],
        )
        source = f"{made}.expression"
    else:
        assert expression is not None
        source = ctx.builder.use(*expression)
    if "sample_pca" in asked:
        if not samples:
            raise missing(ctx.profiles, ctx.builder.registry.get("sample_pca"), DataType.SAMPLE_SHEET)
        ctx.builder.add("sample_pca", {"color_by": group}, inputs={"expression": source, **samples})
    if "expression_heatmap" in asked:
        params = {"genes": genes, "group_by": group, "top_n": words.top_n(ctx.question)}
        ctx.builder.add("expression_heatmap", params, inputs={"expression": source, **samples})
    if genes and group and "expression_heatmap" not in asked:
        ctx.builder.add(
            "gene_expression", {"genes": genes, "group_by": group}, inputs={"expression": source, **samples}
        )
    if "map_gene_ids" in asked and not {"sample_pca", "count_qc"} & set(asked):
        ctx.notes.append("Differential expression tables carry gene symbols beside Ensembl ids without being asked.")


def _group_column(ctx: Context, sheet: tuple[Profile, TypeGuess] | None) -> str:
    if sheet is None:
        return ""
    found = comparison(ctx.question, sheet[0].column_profiles, ctx.frame(*sheet))
    return found.condition if found else ""


def _method(question: str) -> str:
    if re.search(r"\bvst\b|variance.?stabili", question, re.IGNORECASE):
        return "vst"
    return "log_cpm" if re.search(r"\bcpm\b|counts per million", question, re.IGNORECASE) else ""


def _differential(
    ctx: Context, counts: tuple[Profile, TypeGuess], sheet: tuple[Profile, TypeGuess], genes: list[str]
) -> None:
    columns, frame = sheet[0].column_profiles, ctx.frame(*sheet)
    samples_known = set(counts[0].sample_ids)
    here = frame[frame.index.astype(str).isin(samples_known)]
    if 0 < len(here) < max(len(frame), len(samples_known)):
        frame_note = f"{len(here)} samples are in both {counts[0].name} and {sheet[0].name}; only these are used."
        ctx.warnings.append(frame_note)
    if len(here) < 4:
        message = (
            f"{len(here)} samples are too few: each group needs at least 2 samples to tell a difference from chance, "
            "and 3 or more to find most of them."
        )
        raise PlanError(message, advice="Add replicates; without them no p-value means anything.")
    design = comparison(ctx.question, columns, here)
    if design is None:
        message = f"{sheet[0].name} has no column that could be the groups to compare."
        advice = "Add a column that says which group each sample belongs to (with at least two groups)."
        raise PlanError(message, advice=advice)
    add_covariates(design, ctx.question, columns, here)
    require_replicates(design)
    ctx.warnings += design.warnings
    matrix, samples = ctx.builder.use(*counts), ctx.builder.use(*sheet)
    add = ctx.builder.add
    add(
        "count_qc",
        inputs={"counts": matrix, "samples": samples},
        reasons=["Samples are checked before they are compared."],
    )
    normalised = add(
        "normalize_counts",
        {"method": _method(ctx.question)},
        habits={"method": "log_cpm"},
        inputs={"counts": matrix, "samples": samples},
        reasons=["The overview and the heatmap need values on one scale; the test itself uses the raw counts."],
    )
    expression = f"{normalised}.expression"
    add(
        "sample_pca",
        {"color_by": design.condition, "shape_by": design.pair},
        inputs={"expression": expression, "samples": samples},
        reasons=["Shows outliers and what separates the samples before any test is believed."],
    )
    tested = add(
        "differential_expression",
        {
            "condition": design.condition,
            "treated": design.treated,
            "control": design.control,
            "covariates": design.covariates,
            "alpha": ctx.alpha,
            "genes_of_interest": genes,
        },
        inputs={"counts": matrix, "samples": samples},
        name=f"Differential expression: {design.treated} against {design.control}",
        reasons=design.reasons,
        priority=2,
    )
    ctx.ask(tested, design.questions)
    table = f"{tested}.de_table"
    lfc = words.minimum_log2_fold_change(ctx.question)
    add("volcano_plot", {"alpha": ctx.alpha, "min_abs_lfc": lfc, "highlight": genes}, inputs={"de_table": table})
    if ctx.wants("ma_plot"):
        add("ma_plot", {"alpha": ctx.alpha}, inputs={"de_table": table})
    add(
        "expression_heatmap",
        {"group_by": design.condition, "top_n": words.top_n(ctx.question)},
        inputs={"expression": expression, "samples": samples, "de_table": table},
    )
    directions = _directions(ctx.question)
    if (lfc or len(directions) == 1) and not ctx.wants("over_representation"):
        # A threshold or a direction that was asked for is answered by a list, not only drawn.
        for direction in directions:
            side = {"up": "higher", "down": "lower"}[direction]
            add(
                "select_genes",
                {"direction": direction, "alpha": ctx.alpha, "min_abs_lfc": lfc},
                inputs={"de_table": table},
                name=f"Genes {side} in {design.treated} than in {design.control}",
                reasons=["The question asks for this direction or this size of change."],
                priority=1,
            )
    if genes:
        params = {"genes": genes, "group_by": design.condition}
        add("gene_expression", params, inputs={"expression": expression, "samples": samples})
    if ctx.wants("over_representation"):
        plan_enrichment(ctx, table, design)


def plan_enrichment(ctx: Context, de_table: str, design: Design | None = None) -> None:
    """Test gene sets among the changed genes and over the whole ranking, as far as the question asks."""
    libraries = [(p, guess) for p in ctx.profiles if (guess := p.serves_as(DataType.GENE_SET_LIBRARY))]
    if not libraries:
        message = (
            "The question asks for pathways or gene sets, but no gene set file (GMT) was given, so that part is left "
            "out; add one (for example the hallmark sets of MSigDB) and ask again."
        )
        ctx.warnings.append(message)
        return
    ranking = bool(re.search(r"\bGSEA\b|\brank\w*", ctx.question, re.IGNORECASE))
    overlap = bool(re.search(r"over.?represent|\bORA\b|hypergeom|fisher", ctx.question, re.IGNORECASE))
    for library in libraries:
        sets = ctx.builder.use(*library)
        if overlap or not ranking:
            _over_representation(ctx, de_table, sets, design)
        if ranking or not overlap:
            ranked = ctx.builder.add("rank_genes", inputs={"de_table": de_table})
            params = {"permutations": _whole(words.named_number(ctx.question, "permutations?")), "alpha": ctx.alpha}
            spec = ctx.builder.registry.get("gsea_preranked")
            ctx.builder.add(
                "gsea_preranked",
                {key: value for key, value in params.items() if spec.param(key)},
                inputs={"ranked": f"{ranked}.ranked", "gene_sets": sets},
                reasons=["Uses the whole ranking, so it needs no threshold and sees small changes in many genes."],
                priority=1,
            )


def _over_representation(ctx: Context, de_table: str, sets: str, design: Design | None) -> None:
    lfc = words.minimum_log2_fold_change(ctx.question)
    for direction in _directions(ctx.question):
        than = f" in {design.treated}" if design else ""
        than += f" than in {design.control}" if design else ""
        between = f" between {design.treated} and {design.control}" if design else ""
        label = {"up": f"higher{than}", "down": f"lower{than}", "both": f"that differ{between}"}[direction]
        chosen = ctx.builder.add(
            "select_genes",
            {
                "direction": direction,
                "alpha": ctx.alpha,
                "min_abs_lfc": lfc,
                "top_n": words.top_n(ctx.question) if lfc else None,
            },
            inputs={"de_table": de_table},
            name=f"Select genes: {label}",
        )
        ctx.builder.add(
            "over_representation",
            {"alpha": ctx.alpha, "label": label},
            inputs={"genes": f"{chosen}.genes", "gene_sets": sets, "background": de_table},
            name=f"Over-representation: genes {label}",
            priority=1,
            reasons=["The background is the genes that were tested, not the whole genome: others could not be found."],
        )


def _directions(question: str) -> list[str]:
    up = bool(
        re.search(r"\bup.?regulat\w*|\bgo(?:es)? up\b|\binduced\b|\bactivated\b|\bincreased genes\b", question, re.I)
    )
    down = bool(
        re.search(
            r"\bdown.?regulat\w*|\bgo(?:es)? down\b|\brepressed\b|\bsuppressed\b|\bdecreased genes\b", question, re.I
        )
    )
    return ["up"] if up and not down else ["down"] if down and not up else ["up", "down"]


def _whole(number: float | None) -> int | None:
    return int(number) if number else None


def plan_gene_results(ctx: Context) -> None:
    """Plan what a question asks of results: a differential expression table, a gene list, a ranking."""
    table = ctx.profile_as(DataType.DE_TABLE)
    if table:
        ref = ctx.builder.use(*table)
        plots = [tool for tool in ("volcano_plot", "ma_plot", "map_gene_ids") if tool in ctx.goals]
        for tool in plots or ([] if ctx.wants("over_representation") else ["volcano_plot"]):
            params = {"alpha": ctx.alpha} if tool != "map_gene_ids" else {}
            if tool == "volcano_plot":
                params["min_abs_lfc"] = words.minimum_log2_fold_change(ctx.question)
            ctx.builder.add(tool, params, inputs={("table" if tool == "map_gene_ids" else "de_table"): ref})
        if ctx.wants("over_representation") or ctx.profile_as(DataType.GENE_SET_LIBRARY):
            plan_enrichment(ctx, ref)
        return
    spec = ctx.builder.registry.get("over_representation")
    library = ctx.profile_as(DataType.GENE_SET_LIBRARY)
    if ctx.profile_as(DataType.RANKED_GENES) and library:
        ctx.builder.add("gsea_preranked", {"alpha": ctx.alpha})
        return
    if ctx.profile_as(DataType.GENE_LIST):
        if not library:
            raise missing(ctx.profiles, spec, DataType.GENE_SET_LIBRARY)
        ctx.builder.add("over_representation", {"alpha": ctx.alpha})
        return
    if ctx.wants("over_representation") and not ctx.wants("summarize_gene_sets"):
        raise missing(ctx.profiles, spec, DataType.GENE_LIST)
    ctx.builder.add("summarize_gene_sets")


class NotUnderstood(PlanError):
    """The words of a question lead to nothing that can be done with these files."""


def not_understood(ctx: Context, could: str) -> NotUnderstood:
    """Return the error for a question whose words lead to no tool: what these files could be asked."""
    files = ", ".join(profile.name for profile in ctx.profiles)
    message = "The question names nothing that can be analysed in these files."
    return NotUnderstood(message, advice=f"{files} can be asked: {could}.")
