"""Single-cell data: quality, clusters, cell types, markers, composition and comparisons between donors."""

# pyright: reportArgumentType=false, reportCallIssue=false, reportAttributeAccessIssue=false
from __future__ import annotations

import re

from engine.agents.planning import words
from engine.agents.planning.columns import find_columns, find_levels, is_categorical, with_role
from engine.agents.planning.context import Context
from engine.agents.planning.design import Design, add_covariates, comparison, control_level, require_replicates
from engine.agents.planning.fields.bulk import not_understood, plan_enrichment
from engine.domain.datatypes import DataType
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile, Profile
from engine.errors import PlanError

_MENU = ("sc_annotate", "sc_cluster", "sc_markers", "sc_embed", "sc_composition", "sc_qc", "differential_expression",
         "over_representation")  # fmt: skip
_BETWEEN = re.compile(
    r"\b(between|versus|vs\.?|compared|against|treated|treatment|condition|disease|patients|healthy|control|stimulat\w*"
    r"|respon\w*|upon|after|effect)\b",
    re.IGNORECASE,
)
_LABEL_NAMES = re.compile(
    r"cell.?type|label|annotation|celltype|louvain|leiden|cluster|subclass|population", re.IGNORECASE
)


class _Chain:
    """The usual order of single-cell steps; each is added once and takes the newest data."""

    ORDER = ("sc_qc", "sc_normalize", "sc_highly_variable", "sc_embed", "sc_cluster", "sc_annotate")

    def __init__(self, ctx: Context, data: str) -> None:
        self.ctx = ctx
        self.data = data
        self.done: set[str] = set()

    def upto(self, tool: str) -> str:
        """Add every step of the chain up to a tool and return the reference to its data."""
        for step in self.ORDER[: self.ORDER.index(tool) + 1]:
            if step not in self.done:
                params = _chain_params(step, self.ctx.question)
                asked = {"sc_annotate": 2, "sc_cluster": 1}.get(step, 0) if self.ctx.wants(step) else 0
                inputs = {"adata": self.data, **self._extra(step)}
                made = self.ctx.builder.add(step, params, inputs=inputs, priority=asked)
                self.data = f"{made}.adata"
                self.done.add(step)
        return self.data

    def _extra(self, step: str) -> dict[str, str]:
        library = self.ctx.profile_as(DataType.GENE_SET_LIBRARY)
        if step == "sc_annotate" and library and not self.ctx.wants("over_representation"):
            return {"marker_sets": self.ctx.builder.use(*library)}
        return {}


def _chain_params(step: str, question: str) -> dict[str, object]:
    number = words.named_number
    if step == "sc_cluster":
        return {"resolution": number(question, "resolution")}
    if step == "sc_highly_variable":
        count = number(question, r"(?:highly )?variable genes|hvgs?")
        return {"n_top_genes": int(count) if count else None}
    if step == "sc_embed":
        pcs, near = number(question, r"pcs|principal components"), number(question, r"neighbou?rs")
        return {"n_pcs": int(pcs) if pcs else None, "n_neighbors": int(near) if near else None}
    if step == "sc_qc":
        mito = number(question, r"%\s*mito\w*|mito\w*(?: percent)?")
        fewest = number(question, r"min(?:imum)? genes|genes per cell")
        return {"max_mito_percent": mito, "min_genes": int(fewest) if fewest else None}
    return {}


def plan_single_cell(ctx: Context) -> None:
    """Plan what a question asks of cells."""
    found = ctx.profile_as(DataType.ANNDATA)
    assert found is not None
    profile, guess = found
    columns = profile.column_profiles
    genes = ctx.genes(columns, frozenset(profile.feature_ids))
    asked = [tool for tool in _MENU if tool in ctx.goals]
    if not asked and not genes and not ctx.vague and not ctx.names_something_of(columns):
        raise not_understood(
            ctx, "which cell types or clusters there are, their markers, or what differs between conditions"
        )
    chain = _Chain(ctx, ctx.builder.use(profile, guess))
    labels = _named_labels(ctx, columns)
    if _compares_conditions(ctx, columns):
        _between_conditions(ctx, profile, chain, labels, genes)
        return
    if ctx.vague and not asked:
        asked = ["sc_cluster", "sc_annotate", "sc_markers"]
    if "sc_qc" in asked and len(asked) == 1 and not genes:
        chain.upto("sc_qc")
        return
    if {"sc_annotate", "sc_composition"} & set(asked) and not labels:
        chain.upto("sc_annotate")
    elif "sc_cluster" in asked and not labels:
        chain.upto("sc_cluster")
    elif "sc_embed" in asked:
        chain.upto("sc_embed")
    group = labels or ("cell_type" if "sc_annotate" in chain.done else "cluster")
    if "sc_markers" in asked or "differential_expression" in asked:
        _markers(ctx, chain, labels)
    if "sc_composition" in asked:
        _composition(ctx, chain, columns, group)
    if genes:
        if not labels and group not in ("cluster", "cell_type"):
            group = "cluster"
        if not labels and not {"sc_cluster", "sc_annotate"} & chain.done:
            chain.upto("sc_annotate")
            group = "cell_type"
        elif labels:
            chain.upto("sc_normalize")
        ctx.builder.add("sc_gene_expression", {"genes": genes, "group_by": group}, inputs={"adata": chain.data})
    if "over_representation" in asked:
        ctx.warnings.append(
            "Pathways of marker genes are not part of this plan; export the markers as a gene list and ask again."
        )
    if not ctx.builder.nodes:
        chain.upto("sc_annotate")


def _named_labels(ctx: Context, columns: list[ColumnProfile]) -> str:
    """Return an existing label column the question names exactly (`bulk_labels`, `per louvain cluster`), or ""."""
    able = _label_columns(columns)
    for match in find_columns(ctx.question, able):
        if match.strength >= 0.85:
            return match.name
    named = [c for c in able if find_levels(ctx.question, c)]
    return max(named, key=lambda c: len(find_levels(ctx.question, c))).name if named else ""


def _label_columns(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns that group cells by kind: clusters and cell types, not what was done to them."""
    conditions = {column.name for column in _treated_columns(columns)}
    able = [c for c in columns if is_categorical(c) and c.distinct >= 2 and _LABEL_NAMES.search(c.name)]
    return [column for column in able if column.name not in conditions]


def _treated_columns(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Return columns with a control among few levels: they say what was done to the cells, whatever their name."""
    return [c for c in columns if is_categorical(c) and c.distinct <= 4 and control_level(list(c.levels))]


def _markers(ctx: Context, chain: _Chain, labels: str) -> None:
    method = "t-test" if re.search(r"\bt.?test\b", ctx.question, re.IGNORECASE) else None
    if labels:
        chain.upto("sc_normalize")
        group, why = labels, f"The question names the labels in {labels!r}."
    elif "sc_annotate" in chain.done:
        group, why = "cell_type", "Markers are found for the annotated cell types."
    else:
        chain.upto("sc_cluster")
        group, why = "cluster", "Markers are found for the clusters."
    named = _named_groups(ctx, group)
    params: dict[str, object] = {
        "group_by": group,
        "top_n": words.top_n(ctx.question),
        "method": method,
        "groups": named[:1],
    }
    if len(named) == 2:
        params["reference"] = named[1]
        why += f" {named[0]!r} is compared with {named[1]!r}, as the question names them."
    else:
        params["groups"] = named
    ctx.builder.add("sc_markers", params, inputs={"adata": chain.data}, reasons=[why], priority=1)
    ctx.warnings.append(
        "P-values of markers are too small to be taken literally: the same cells defined the groups and are compared here."
    )


def _named_groups(ctx: Context, label: str) -> list[str]:
    found = ctx.profile_as(DataType.ANNDATA)
    column = found[0].column(label) if found else None
    return [level for level, _ in find_levels(ctx.question, column)] if column else []


def _compares_conditions(ctx: Context, columns: list[ColumnProfile]) -> bool:
    conditions = _condition_columns(columns)
    if not conditions:
        # A question for a comparison of conditions must be told what is missing, not given markers instead.
        return ctx.wants("differential_expression") and not ctx.wants("sc_markers") and _asks_conditions(ctx.question)
    named = ctx.names_something_of(conditions)
    wants = ctx.wants("differential_expression", "sc_composition")
    return wants and (named or bool(_BETWEEN.search(ctx.question))) and not _between_labels(ctx, columns)


def _asks_conditions(question: str) -> bool:
    text = re.search(
        r"\b(treated|treatment|condition|disease|patients?|healthy|control|stimulat\w*|drug|upon|donors?)\b",
        question,
        re.I,
    )
    return bool(text)


def _condition_columns(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    groups = with_role(columns, "group", least=0.3)
    treated = _treated_columns(columns)
    return treated or [
        c
        for c in groups
        if is_categorical(c) and c.distinct <= 8 and not _LABEL_NAMES.search(c.name) and not _technical(c)
    ]


def _technical(column: ColumnProfile) -> bool:
    return (
        column.role("pair") >= 0.7
        or column.role("batch") >= 0.7
        or column.name.lower() in ("phase", "sample", "sample_id")
    )


def _between_labels(ctx: Context, columns: list[ColumnProfile]) -> bool:
    return any(len(find_levels(ctx.question, c)) >= 2 for c in _label_columns(columns))


def _sample_key(ctx: Context, columns: list[ColumnProfile], condition: str) -> tuple[str, list[OpenQuestion]]:
    able = [
        c
        for c in columns
        if c.name != condition and c.distinct >= 2 and c.kind != "number" and not _LABEL_NAMES.search(c.name)
    ]
    named = [m.name for m in find_columns(ctx.question, able) if m.strength >= 0.7]
    by_name = [
        c.name
        for c in able
        if re.search(r"sample|donor|patient|subject|individual|mouse|animal|replicate|orig\.?ident", c.name, re.I)
    ]
    by_role = [c.name for c in with_role(able, "pair", least=0.5)]
    choices = list(dict.fromkeys([*(n for n in named if n in by_name + by_role), *by_name, *by_role]))
    if not choices:
        return "", []
    if len(choices) == 1:
        return choices[0], []
    asked = OpenQuestion(
        id="sample_key",
        text="Which column says which sample (donor) a cell comes from?",
        why="Samples, not cells, are the replicates.",
        param="sample_key",
        choices=choices,
        proposed=choices[0],
    )
    return choices[0], [asked]


def _between_conditions(ctx: Context, profile: Profile, chain: _Chain, labels: str, genes: list[str]) -> None:
    columns = profile.column_profiles
    found = ctx.profile_as(DataType.ANNDATA)
    assert found is not None
    obs = ctx.frame(*found)
    conditions = _condition_columns(columns)
    design = comparison(ctx.question, conditions, obs) if conditions else None
    if design is None:
        message = f"{profile.name} has no column that says which condition a cell comes from."
        raise PlanError(
            message, advice="Add a column to `obs` with the groups to compare (for example control and treated)."
        )
    sample_key, asked = _sample_key(ctx, columns, design.condition)
    if not sample_key:
        message = (
            f"{profile.name} has no column that says which sample or donor a cell comes from, and cells of one donor are "
            "not replicates: comparing them would give p-values that mean nothing."
        )
        raise PlanError(message, advice="Add a sample or donor column to `obs`.")
    per_sample = _per_sample(design, columns, obs, sample_key, ctx.question)
    require_replicates(per_sample, unit="samples (cells are not replicates)")
    ctx.warnings += per_sample.warnings
    cell_types = labels or _existing_labels(columns)
    if not cell_types and (
        ctx.wants("sc_composition") or re.search(r"\b(each|per|every|which) (cell.?type|cluster)", ctx.question, re.I)
    ):
        chain.upto("sc_annotate")
        cell_types = "cell_type"
    if ctx.wants("sc_composition"):
        params = {"group_by": cell_types, "condition": design.condition, "sample_key": sample_key}
        ctx.builder.add("sc_composition", params, inputs={"adata": chain.data})
    if ctx.wants("differential_expression"):
        if not chain.done:
            chain.upto("sc_qc")
        params = {
            "condition": design.condition,
            "treated": design.treated,
            "control": design.control,
            "sample_key": sample_key,
            "cell_type_key": cell_types,
            "covariates": per_sample.covariates,
            "alpha": ctx.alpha,
        }
        why = [
            *per_sample.reasons,
            f"Counts are summed per {sample_key!r}, because cells of one sample are not independent.",
        ]
        made = ctx.builder.add("sc_pseudobulk_de", params, inputs={"adata": chain.data}, reasons=why, priority=2)
        ctx.ask(made, [*per_sample.questions, *asked])
        if ctx.wants("over_representation") and not cell_types:
            plan_enrichment(ctx, f"{made}.de_table", design)
        elif ctx.wants("over_representation"):
            ctx.warnings.append(
                "Gene sets are tested for one comparison at a time; name one cell type to have them tested."
            )
    if genes and cell_types:
        ctx.builder.add("sc_gene_expression", {"genes": genes, "group_by": cell_types}, inputs={"adata": chain.data})


def _existing_labels(columns: list[ColumnProfile]) -> str:
    able = [c for c in _label_columns(columns) if c.distinct <= 60]
    able.sort(key=lambda c: not re.search(r"cell.?type|label|annotation", c.name, re.IGNORECASE))
    return able[0].name if able else ""


def _per_sample(design: Design, columns: list[ColumnProfile], obs: object, sample_key: str, question: str) -> Design:
    """Return the design with samples instead of cells as its units."""
    import pandas as pd

    assert isinstance(obs, pd.DataFrame)
    text = obs.astype({design.condition: "string", sample_key: "string"})
    per = text.groupby(sample_key)[design.condition].nunique()
    constant = [c.name for c in columns if c.name in text and (text.groupby(sample_key)[c.name].nunique() <= 1).all()]
    mixed = bool((per > 1).any())
    keys = [sample_key, design.condition] if mixed else [sample_key]
    kept = list(dict.fromkeys([*keys, design.condition, *(constant if not mixed else [])]))
    samples = text[kept].drop_duplicates(keys).reset_index(drop=True)
    design.sizes = {str(k): int(v) for k, v in samples[design.condition].dropna().value_counts().items()}
    if mixed:
        # Donors that give cells to both conditions pair them; the tool takes donor x condition as the unit.
        design.covariates.append(sample_key)
        design.reasons.append(f"{sample_key!r} occurs in both conditions, so it pairs the samples.")
    others = [c for c in columns if c.name in samples.columns and c.name != sample_key]
    add_covariates(design, question, others, samples)
    return design


def _composition(ctx: Context, chain: _Chain, columns: list[ColumnProfile], group: str) -> None:
    conditions = _condition_columns(columns)
    condition = conditions[0].name if len(conditions) == 1 else ""
    sample_key, _ = _sample_key(ctx, columns, condition)
    params = {"group_by": group, "condition": condition if sample_key else "", "sample_key": sample_key}
    ctx.builder.add("sc_composition", params, inputs={"adata": chain.data})
