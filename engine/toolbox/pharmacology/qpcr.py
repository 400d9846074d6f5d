"""Relative expression from qPCR: statistics on cycles, where errors are even, and folds only for reading.

Wells of one sample say how well was pipetted, samples say how much the biology varies; so wells are averaged first and
only samples count.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import said_range
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.group_tests import holm_adjust
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    label_groups,
    left_open,
    level_labels,
    likely_control,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    pick_level,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.rows import table_row

MOST_GROUPS = 20
"""So many groups are compared."""


@check("folds_match_cycles")
def folds_match_cycles(step: StepOutputs) -> Iterator[Issue]:
    """A fold change is 2 to the minus delta-delta Ct, within its interval."""
    table = step.table("folds")
    expected = 2.0 ** -table["delta_delta_ct"]
    if ((table["fold_change"] / expected - 1).abs() > 1e-6).any():
        message = "A fold change is not 2 to the minus delta-delta Ct."
        yield Issue(code="fold_differs", severity="error", message=message, where="folds")
    known = table.dropna(subset=["lower_95", "upper_95"])
    if ((known["fold_change"] < known["lower_95"]) | (known["fold_change"] > known["upper_95"])).any():
        message = "A fold change lies outside its own interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="folds")


def is_reference_gene(name):
    """Say whether a gene is one of the usual reference genes."""
    import re

    usual = {
        "gapdh", "actb", "bactin", "betaactin", "actin", "act1", "act2", "b2m", "hprt", "hprt1", "18s",
        "18srrna", "rn18s", "tbp", "rplp0", "36b4", "rpl13a", "rpl19", "rpl32", "rps18", "ywhaz", "ubc", "ppia",
        "sdha", "gusb", "hmbs", "tfrc", "pgk1", "ef1a", "eef1a1", "tubb", "ubq10", "pp2a", "16s", "rpob",
        "reference", "housekeeping",
    }  # fmt: skip
    return re.sub(r"[\W_]|β", "", str(name).casefold().replace("β", "b")) in usual


def cycle_values(column, name):
    """Return Ct values with NaN for wells without amplification (Undetermined, N/A, 0), and how many those are."""
    import pandas as pd

    text = column.astype(str).str.strip()
    none = text.str.fullmatch(r"(?i)undetermined|undet\.?|n/?a|n\.?d\.?|no ?ct|inf|-|nan|none|<na>|") | column.isna()
    values = pd.Series(float("nan"), index=column.index)
    if (~none).any():
        values[~none] = numeric_values(pd.DataFrame({name: column[~none]}), name)
    dead = none | (values == 0)
    if (values < 0).any() or (values > 60).any():
        raise ValueError(
            f"Column {name!r} holds values from {values.min():g} to {values.max():g}; expected cycles (Ct) "
            f"between 0 and 60."
        )
    return values.where(~dead), int(dead.sum())


def long_cycles(table, ct, gene, cts, group, sample):
    """Return a long table (sample, group, gene, ct) and warnings, of a column of genes or of a column per gene."""
    import re

    import pandas as pd

    if bool(ct) == bool(cts):
        raise ValueError(
            "Expected either one column of Ct values with a column of genes, or a Ct column for each gene. "
            "Name one of these two forms."
        )
    table = plain_table(table)
    require_columns(table, [name for name in (ct, gene, *cts, group, sample) if name])
    warnings = []
    if ct and not gene:
        able = [
            str(c)
            for c in table.columns
            if str(c) not in (ct, group, sample) and any(is_reference_gene(v) for v in table[c].dropna().unique()[:200])
        ]
        if len(able) != 1:
            raise ValueError(
                "No column of genes is named, and none can be told by its reference genes; name it (gene)."
            )
        gene = able[0]
        warnings.append(f"{gene} was taken for the column of genes.")
    if ct and not sample:
        able = [
            str(c)
            for c in table.columns
            if str(c) not in (ct, group, gene)
            and not table.duplicated([c, gene]).all()
            and table[group].nunique() < table[c].nunique() <= len(table) / 2
            and table.groupby(c)[group].nunique().max() == 1
            and table.groupby(c)[gene].nunique().min() > 1
        ]
        if len(able) != 1:
            raise ValueError(
                "No column of samples is named, so wells of one sample cannot be told from samples; name it (sample)."
            )
        sample = able[0]
        warnings.append(f"{sample} was taken for the column of samples.")
    rows = (
        level_labels(table[sample])
        if sample
        else pd.Series([f"row {i + 1}" for i in range(len(table))], index=table.index)
    )
    groups = level_labels(table[group])
    parts, dead = [], 0
    for name in [ct] if ct else cts:
        values, missing = cycle_values(table[name], name)
        dead += missing
        label = re.sub(r"(?i)^(mean)?[\s_.-]*c[tq][\s_.-]+|[\s_.-]+(mean)?[\s_.-]*c[tq]$", "", str(name))
        genes = level_labels(table[gene]) if ct else pd.Series(label, index=table.index, dtype=object)
        parts.append(pd.DataFrame({"sample": rows, "group": groups, "gene": genes, "ct": values}))
    long = pd.concat(parts, ignore_index=True)
    blank = long["group"].fillna("").str.fullmatch(r"(?i)ntc|no.?template.*|no.?rt|-rt|water|h2o|blank") | long[
        "sample"
    ].fillna("").str.fullmatch(r"(?i)ntc.*|no.?template.*|no.?rt.*|-rt.*|water.*|h2o.*")
    if blank.any():
        warnings.append(f"{int(blank.sum())} wells without template were left out.")
    if dead:
        warnings.append(
            f"{dead} wells without a Ct (undetermined or empty) were left out; where a gene is off in one group "
            "only, its fold change cannot be seen here."
        )
    unnamed = long[["sample", "group", "gene"]].isna().any(axis=1) & ~blank
    if unnamed.any():
        warnings.append(f"{int(unnamed.sum())} wells without sample, group or gene were left out.")
    long = long[~blank & ~unnamed].dropna(subset=["ct"])
    last = long["ct"].isin([40.0, 45.0, 50.0])
    if last.sum() > 1:
        warnings.append(
            f"{int(last.sum())} wells have a Ct of exactly {long.loc[last, 'ct'].max():g}, as a last cycle put in for "
            "no amplification would be; they count as measured."
        )
    if not len(long):
        raise ValueError(
            "No well has a Ct, a gene, a sample and a group; expected at least two samples. Choose other columns."
        )
    return long, warnings


def gene_efficiencies(genes, efficiency, efficiencies):
    """Return gene -> factor per cycle (2 is perfect); numbers above 2.2 are read as percent."""

    def factor(value):
        value = float(value)
        value = 1 + value / 100 if value > 2.2 else value
        if not 1.3 <= value <= 2.2:
            raise ValueError(
                f"An efficiency of {value:g} per cycle is not possible; expected 1.3 to 2.2 (2 is perfect), or "
                "percent such as 95."
            )
        return value

    found = dict.fromkeys(genes, factor(efficiency))
    for text in efficiencies:
        name, _, value = str(text).replace(":", "=").partition("=")
        try:
            found[pick_level(name, genes, "gene")] = factor(value)
        except ValueError as err:
            raise ValueError(f"The efficiency {text!r} is not understood ({err})") from err
    return found


def sample_deltas(long, references, factors):
    """Return a row per sample and target: delta Ct in doublings, against the mean of the reference genes.

    Cycles are weighed by log2 of the efficiency, so that with 2 this is the ordinary delta Ct.
    """
    import numpy as np
    import pandas as pd

    means = long.groupby(["sample", "group", "gene"], sort=False)["ct"].agg(["mean", "std", "count"]).reset_index()
    means["weighed"] = means["mean"] * means["gene"].map({gene: np.log2(factor) for gene, factor in factors.items()})
    wide = means.pivot(index=["sample", "group"], columns="gene", values="weighed")
    level = wide[references].mean(axis=1, skipna=False)
    rows = []
    for gene in order_levels([gene for gene in wide.columns if gene not in references]):
        part = (wide[gene] - level).dropna().reset_index(name="delta_ct")
        rows.append(part.assign(gene=gene))
    deltas = (
        pd.concat(rows, ignore_index=True) if rows else pd.DataFrame(columns=["sample", "group", "delta_ct", "gene"])
    )
    return deltas[["gene", "sample", "group", "delta_ct"]], means, level


def unsteady_references(means, references, factors, control):
    """Return a warning where two reference genes move apart between groups, so that one of them is no reference."""
    import itertools

    import numpy as np
    from scipy import stats

    wide = means.pivot(index=["sample", "group"], columns="gene", values="weighed").reset_index()
    for a, b in itertools.combinations(references, 2):
        gap = (wide[a] - wide[b]).dropna()
        calm = gap[wide.loc[gap.index, "group"] == control]
        for level in wide["group"].unique():
            moved = gap[wide.loc[gap.index, "group"] == level]
            if level == control or min(len(calm), len(moved)) < 3 or gap.std() == 0:
                continue
            apart, p = float(moved.mean() - calm.mean()), float(stats.ttest_ind(moved, calm, equal_var=False).pvalue)
            if p < 0.01 and abs(apart) > 0.3:
                return [f"The reference genes {a} and {b} move apart by {abs(apart):.2f} cycles in {level} against "
                        f"{control} ({format_p(p)}): at least one of them changes, and folds against their mean are "
                        f"{format_number(float(np.exp2(abs(apart))))}-fold apart between the two. Choose one that "
                        "does not."]  # fmt: skip
    return []


def fold_row(gene, level, control, one, other, paired=False):
    """Return the row of one comparison: delta-delta Ct, its fold change, interval and test (Welch's, or of pairs).

    `one` and `other` are delta Ct by sample.
    """
    import numpy as np
    from scipy import stats

    if paired:
        both = one.index.intersection(other.index)
        one, other = one[both], other[both]
    gap = float(one.mean() - other.mean())
    row = {
        "comparison": f"{gene}: {level} vs {control}",
        "gene": gene,
        "n_1": len(one),
        "n_2": len(other),
        "delta_delta_ct": gap,
        "fold_change": 2.0**-gap,
        "lower_95": np.nan,
        "upper_95": np.nan,
        "p_value": np.nan,
    }
    if min(len(one), len(other)) > 1 and one.std() + other.std() > 0:
        alike = paired and (one - other).std() == 0
        test = stats.ttest_rel(one, other) if paired and not alike else stats.ttest_ind(one, other, equal_var=False)
        limits = test.confidence_interval(0.95)
        row |= {
            "lower_95": float(2.0**-limits.high),
            "upper_95": float(2.0**-limits.low),
            "p_value": float(test.pvalue),
        }
    return row


def folds_overview(rows, control, how):
    """Return the finding that names every gene of one comparison: what is up, down, not shown to differ and not tested.

    None for a single gene, for several comparisons and where no gene has a p-value.
    """
    level = {row["comparison"].split(": ", 1)[1].split(" vs ")[0] for row in rows}
    tested = [row for row in rows if row["p_value"] == row["p_value"]]
    if not 2 <= len(rows) <= 8 or len(level) > 1 or not tested:
        return []
    clear = [row for row in tested if row.get("p_adj", row["p_value"]) < 0.05]

    def named(some):
        return ", ".join(
            f"{row['gene']} {format_number(row['fold_change'])}-fold"
            + (
                f" (95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])})"
                if row in tested
                else ""
            )
            for row in some
        )

    sides = {
        "up ": [row for row in clear if row["fold_change"] > 1],
        "down ": [row for row in clear if row["fold_change"] <= 1],
        "not shown to differ: ": [row for row in tested if row not in clear],
        "too few samples for a test: ": [row for row in rows if row not in tested],
    }
    told = (": " if clear else "; ") + "; ".join(f"{words}{named(some)}" for words, some in sides.items() if some)
    text = f"In {level.pop()} relative to {control} {len(clear)} of {len(tested)} genes differ{told} ({how} on "
    values = [{"name": f"fold change {row['gene']}", "value": row["fold_change"], "low": row["lower_95"],
               "high": row["upper_95"]} for row in rows]  # fmt: skip
    return [{"text": f"{text}delta Ct, p-values adjusted by Holm).", "output": "folds", "values": values}]


@tool(
    name="qpcr_relative",
    title="Relative expression by delta-delta Ct",
    description=(
        "Gives the fold change of target genes between groups from qPCR cycles by delta-delta Ct: wells of a sample "
        "are averaged first, one or several reference genes are taken off, efficiencies other than 2 are allowed "
        "(Pfaffl), and groups are compared on delta Ct with 95 % intervals: Welch, or in pairs of the same donors."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "paired => paired t test on delta Ct, because the same donors are in both groups",
        "Welch's t test on delta Ct, because the wells of a sample are averaged first and samples are compared",
    ),
    inputs={"table": "table: one row a well, or one a sample with a Ct column for each gene"},
    outputs={
        "folds": "table: delta-delta Ct, fold change, interval and p-value of every comparison",
        "samples": "table: delta Ct of every sample",
        "fold_plot": "figure: relative expression of every sample",
    },
    params={
        "ct": param(
            "Column of cycles (Ct, Cq)",
            kind="column",
            of="table",
            role="measure",
            needed=True,
            called=r"(ct|cq|cp|c t)( .*)?",
        ),
        "gene": param(
            "Column of genes (targets and references)",
            kind="column",
            of="table",
            role="label",
            called=r"(gene|target|assay|detector|primer|amplicon)( (name|id|symbol))?",
            holds=r"gapdh|actb|(b|beta)[-_ ]?actin|b2m|hprt1?|rn?18s|tbp|rplp0|rpl(13a|19|32)|ywhaz|ppia|sdha|gusb",
        ),
        "cts": param(
            "Ct columns, one a gene, when the table is wide",
            kind="columns",
            of="table",
            role="measures",
            least=2,
            instead_of=["ct", "gene"],
            called=r"(mean )?c[tqp]s? .+|.+ c[tqp]( mean)?",
        ),
        "group": param("Column of groups to compare", kind="column", of="table", role="group", distinct=MOST_GROUPS),
        "sample": param(
            "Column of samples; wells of one sample are technical replicates", kind="column", of="table", role="subject"
        ),
        "paired": param(
            "Compare the same samples (donors, animals) between groups, each with itself",
            words=[
                r"true: paired\b(?!.?end)|pairs of|same (?:donors?|animals?|mice|rats?|patients?|samples?)|matched|"
                # The name of a column is blank here: `each donor got all three`.
                r"(?:each|every|all)\s+(?:\w+\s+)?(?:got|gets|received?s?|ha[ds]|have|were given|was given|saw)\s+"
                r"(?:all|both|each|every)|within (?:each|every|donors?|animals?|patients?)"
            ],
        ),
        "treated": param("The group to compare", kind="level", of="group", role="interest"),
        "control": param("The group it is compared with", kind="level", of="group", role="reference"),
        "references": param(
            "Reference genes; empty to recognise them",
            kind="texts",
            of="gene",
            role="marked",
            words=["normali[sz]\\w*", "relative", "references?", "house.?keep\\w*", "calibrated", "control genes?"],
        ),
        "efficiency": param(
            "Factor per cycle (2 is perfect) or percent, for all genes",
            minimum=1,
            maximum=120,
            words=["efficiency", "efficiencies"],
        ),
        "efficiencies": param("Efficiency of single genes, such as IL6=1.93", kind="texts"),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "folds_match_cycles"),
    keywords=(
        "qPCR",
        "RT-qPCR",
        "delta-delta Ct",
        "ddCt",
        "2^-ddCt",
        "Livak",
        "Pfaffl",
        "Ct values",
        "Cq",
        "reference gene",
        "housekeeping gene",
        "relative expression",
        "relative quantification",
        "normalised to GAPDH",
    ),
    citations=(
        Citation(
            title="Analysis of relative gene expression data using real-time quantitative PCR and the 2(-delta delta "
            "C(T)) method",
            authors="Livak KJ, Schmittgen TD",
            year=2001,
            doi="10.1006/meth.2001.1262",
        ),
        Citation(
            title="A new mathematical model for relative quantification in real-time RT-PCR",
            authors="Pfaffl MW",
            year=2001,
            doi="10.1093/nar/29.9.e45",
        ),
        Citation(
            title="Accurate normalization of real-time quantitative RT-PCR data by geometric averaging of multiple "
            "internal control genes",
            authors="Vandesompele J et al.",
            year=2002,
            doi="10.1186/gb-2002-3-7-research0034",
        ),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=2.0,
    example="Is IL6 up in treated cells, normalised to GAPDH?",
    next_steps=(NextStep(text="Check the efficiency of every primer pair with a dilution series (standard_curve)."),),
    answers=["qpcr_relative"],
)
def qpcr_relative(
    table,
    *,
    ct: str = "",
    gene: str = "",
    cts: list[str] = [],  # noqa: B006 - a plain default, never changed
    group: str,
    sample: str = "",
    paired: bool = False,
    treated: str = "",
    control: str = "",
    references: list[str] = [],  # noqa: B006 - a plain default, never changed
    efficiency: float = 2.0,
    efficiencies: list[str] = [],  # noqa: B006 - a plain default, never changed
):
    """Compare groups by delta-delta Ct (Livak and Schmittgen 2001; Pfaffl 2001; Vandesompele et al. 2002).

    Delta Ct is in doublings; a fold change of 2 is one doubling more than the control. Intervals and p-values are
    Welch's on delta Ct of samples, or of the paired t test where the same samples are in both groups (`paired`).

    Raises:
        ValueError: without a reference gene, a control group, or wells with cycles; for pairs without two samples
            in both groups.
    """
    import numpy as np
    import pandas as pd

    long, warnings = long_cycles(table, ct, gene, list(cts), group, sample)
    genes = order_levels(long["gene"])
    chosen = [pick_level(name, genes, gene or "genes") for name in references]
    if not chosen:
        chosen = [name for name in genes if is_reference_gene(name)]
        if not chosen:
            raise ValueError(
                f"None of the genes ({', '.join(genes[:12])}) is a usual reference gene; say which it is (references)."
            )
        warnings.append(f"Reference: {', '.join(chosen)}, recognised by name.")
    if len(chosen) == len(genes):
        raise ValueError(f"Every gene is a reference ({', '.join(chosen)}); expected at least one target.")
    levels = order_levels(long["group"])
    if len(levels) < 2:
        raise ValueError(f"Column {group!r} has one group ({levels[0]}); expected at least two. Choose another column.")
    if len(levels) > MOST_GROUPS:
        raise ValueError(
            f"Column {group!r} has {len(levels)} different values; at most {MOST_GROUPS} groups can be compared."
        )
    calm = pick_level(control, levels, group) if control else likely_control(levels)
    shown = [pick_level(treated, levels, group)] if treated else None
    if calm is None and len(levels) == 2:
        calm = next(level for level in levels if not shown or level != shown[0])
        warnings.append(f"{calm} was taken for the control; set control for the other.")
    if calm is None:
        raise ValueError(
            f"None of the groups ({', '.join(levels[:12])}) is named like a control; say which it is (control)."
        )
    factors = gene_efficiencies(genes, efficiency, list(efficiencies))
    if all(value == 2 for value in factors.values()):
        warnings.append(
            "Every primer pair was taken to double its product each cycle (efficiency 2); measure it if it may not."
        )
    deltas, means, level_of = sample_deltas(long, chosen, factors)
    if not len(deltas):
        raise ValueError("No sample has both a target and every reference gene; expected wells of both in each sample.")
    lacking = len(level_of) - int(level_of.notna().sum())
    if lacking:
        warnings.append(f"{lacking} samples without a Ct of every reference gene were left out.")
    rough = means[means["std"] > 0.5]
    if len(rough):
        where = ", ".join(f"{row['sample']} {row['gene']}" for row in rough.head(5).to_dict("records"))
        warnings.append(f"Wells of one sample differ by more than 0.5 cycles (SD) {len(rough)} times: {where}.")
    base = deltas[deltas["group"] == calm].groupby("gene")["delta_ct"].mean()
    deltas["relative_expression"] = 2.0 ** -(deltas["delta_ct"] - deltas["gene"].map(base))
    rows = []
    for name in order_levels(deltas["gene"]):
        part = deltas[deltas["gene"] == name].set_index("sample")
        for level in shown or [other for other in levels if other != calm]:
            one, other = (part.loc[part["group"] == at, "delta_ct"] for at in (level, calm))
            if paired and len(one.index.intersection(other.index)) < 2:
                warnings.append(f"{name} has fewer than 2 samples with a Ct both in {level} and in {calm}: no pairs.")
                continue
            if len(one) and len(other):
                rows.append(fold_row(name, level, calm, one, other, paired))
            else:
                warnings.append(f"{name} has no sample with a Ct in {level if not len(one) else calm}.")
    if not rows and paired:
        raise ValueError(
            f"No sample has a Ct both in {calm} and in another group, so there are no pairs; name the column of donors "
            "or animals (sample), or compare without pairs (paired)."
        )
    if not rows:
        raise ValueError("No target has samples both in a group and in the control; look at the wells without a Ct.")
    tested = [row for row in rows if row["p_value"] == row["p_value"]]
    if len(tested) > 1:
        adjusted = {row["comparison"]: row["p_adj"] for row in holm_adjust(tested)}
        rows = [row | {"p_adj": adjusted.get(row["comparison"], np.nan)} for row in rows]
        warnings.append(f"The p-values of {len(tested)} comparisons are adjusted by Holm; their intervals are not.")
    if len(tested) < len(rows):
        warnings.append(
            "A group with one sample has no biological replicate: its fold change has neither interval nor p-value, "
            "however many wells it has."
        )
    steady = (
        long[long["gene"].isin(chosen)].groupby(["sample", "group"])["ct"].mean().reset_index().groupby("group")["ct"]
    )
    twice = deltas.groupby("sample")["group"].nunique().gt(1) if sample else pd.Series(dtype=bool)
    if twice.sum() > 1 and not paired:
        warnings.append(
            f"{int(twice.sum())} samples have the same name in several groups; if these are the same animals or "
            "donors, comparing them in pairs would tell more: here they count as different samples."
        )
    if float(steady.mean().max() - steady.mean().min()) > 1:
        warnings.append(
            "The reference genes differ by more than one cycle between groups: unequal amounts of RNA, or a "
            "reference that the treatment changes."
        )
    warnings += unsteady_references(means, chosen, factors, calm)
    if len(chosen) == 1:
        warnings.append("One reference gene: whether it is steady cannot be checked.")
    how = "paired t" if paired else "Welch"
    folds = pd.DataFrame(rows)
    findings = folds_overview(rows, calm, how)
    for row in rows[:30]:  # one for each gene, for who asks about that gene alone
        p = row.get("p_adj", row["p_value"])
        known = p == p
        level = row["comparison"].split(": ", 1)[1].split(" vs ")[0]
        size = f"{format_number(row['fold_change'])}-fold" + (
            ""
            if row["fold_change"] >= 1 or (known and p >= 0.05)
            else f" ({format_number(1 / row['fold_change'])}-fold down)"
        )
        verdict = (
            "is"
            if not known
            else "is up"
            if p < 0.05 and row["fold_change"] > 1
            else ("is down to" if p < 0.05 else "is not shown to differ:")
        )
        text = f"{row['gene']} {verdict} {size} in {level} relative to {calm}"
        text += (
            f" ({said_range(row['lower_95'], row['upper_95'])}; {how} on delta Ct, {format_p(row['p_value'])}"
            if known
            else " ("
        )
        text += f", adjusted {format_p(p)}" if "p_adj" in row and known else ""
        text += f"{'; ' if known else ''}n = {row['n_1']} and {row['n_2']} samples)"
        text += f"{left_open(row['lower_95'], row['upper_95'], ratio=True) if known and p >= 0.05 else ''}."
        findings.append(
            {
                "text": text,
                "output": "folds",
                "row": table_row(folds, comparison=row["comparison"], gene=row["gene"]),
                "values": finding_values(
                    fold_change=(row["fold_change"], row["lower_95"], row["upper_95"]),
                    p_value=row["p_value"],
                    p_adj=row.get("p_adj"),
                ),
            }
        )
    names = order_levels(deltas["gene"])[:12]
    groups = [calm, *[level for level in (shown or levels) if level != calm]]
    figure, axis = new_axes(width=max(4.2, min(14, 0.55 * len(names) * len(groups) + 2.6)))
    colours, places, rng = palette(len(groups)), [], np.random.default_rng(0)
    for i, name in enumerate(names):
        for j, level in enumerate(groups):
            values = deltas.loc[(deltas["gene"] == name) & (deltas["group"] == level), "relative_expression"]
            at = i * (len(groups) + 1) + j
            axis.scatter(
                at + rng.uniform(-0.15, 0.15, len(values)),
                values,
                s=18,
                color=colours[j],
                alpha=0.85,
                label=f"{level}" if i == 0 else None,
            )
            if len(values):
                axis.plot(
                    [at - 0.28, at + 0.28], [float(np.exp(np.log(values).mean()))] * 2, color="black", linewidth=1.4
                )
        places.append(i * (len(groups) + 1) + (len(groups) - 1) / 2)
    axis.axhline(1, color="0.6", linestyle="--", linewidth=0.8)
    axis.set_yscale("log", base=2)
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    label_groups(axis, names, places)
    axis.set_ylabel(f"expression relative to {calm} (log scale)")
    axis.legend(frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left", title=group)
    return {"folds": folds, "samples": deltas, "fold_plot": figure, "findings": findings, "warnings": warnings}
