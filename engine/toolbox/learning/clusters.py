"""Do the rows fall into groups, how many, and do the groups come back?

Every table can be cut into clusters, also one without any. So the number of groups is set against data of the same
spread and correlations but without groups, and each group must come back in resamples.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.learning.cluster_methods import (
    best_count,
    gap_statistic,
    stabilities,
    telling_measures,
    tried_cuts,
    without_groups,
)
from engine.toolbox.learning.maps import measured_rows, principal_components
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_p,
    new_axes,
    palette,
    plain_table,
)
from engine.toolbox.tables.rows import table_row


@check("clusters_count_every_row")
def clusters_count_every_row(step: StepOutputs) -> Iterator[Issue]:
    """Every row is in one cluster, silhouettes lie between -1 and 1 and stabilities between 0 and 1."""
    sizes, rows = step.table("clusters"), step.table("members")
    if int(sizes["rows"].sum()) != len(rows) or not sizes["stability"].between(0, 1).all():
        yield Issue(code="clusters_inconsistent", severity="error", where="clusters",
                    message="The clusters do not count every row, or a stability is impossible.")  # fmt: skip
    if not step.table("choice")["silhouette"].dropna().between(-1, 1).all():
        yield Issue(code="silhouette_out_of_range", severity="error", message="A silhouette is outside -1 to 1.",
                    where="choice")  # fmt: skip


@tool(
    name="cluster_samples",
    title="Clusters of samples and their stability",
    description=(
        "Look for groups among rows without labels: k-means, hierarchical clustering (Ward) or a Gaussian mixture of "
        "standardised measurements; the number of groups by the mean silhouette (mixture: by BIC) with the gap "
        "statistic beside, set against data without groups, one cloud of the same correlations and evenly spread rows "
        "(p-value); the stability of each group as the mean Jaccard overlap in resamples (above 0.75 stable, below 0.6 "
        "not to be trusted), and which measurements tell the groups apart."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "method=kmeans => k-means clusters, set against data without groups, because no column says what "
        "the groups are",
        "method=hierarchical => hierarchical clusters (Ward), set against data without groups, because no "
        "column says what the groups are",
        "Gaussian mixture, set against data without groups, because no column says what the groups are",
    ),
    answers=["cluster_samples"],
    inputs={"table": "table: one row a sample, columns of measurements"},
    outputs={
        "choice": "table: silhouette, gap and BIC for each number of groups",
        "clusters": "table: size, stability and means of every cluster",
        "members": "table: the cluster of every row",
        "differences": "table: what tells the clusters apart",
        "cluster_plot": "figure: silhouettes, and the clusters on two principal components",
    },
    params={
        "measures": param("Columns of measurements; empty for all numeric ones", kind="columns", of="table",
                          role="measures", least=2),
        "k": param("Number of groups; empty to choose it by the silhouette", minimum=2, maximum=30,
                   words=["k", "clusters?", "groups?", "types?", "kinds?"]),
        "method": param("How rows are grouped", choices=["kmeans", "hierarchical", "mixture"],
                        words=[r"hierarchical: hierarchical|hclust|ward\b|agglomerative|dendrogram",
                               r"mixture: (?:gaussian )?mixtures?|gmm\b|mclust|latent profile|model.based",
                               "kmeans: k-?means"]),
        "most": param("Largest number of groups tried", minimum=2, maximum=30),
        "resamples": param("Bootstrap resamples, and data sets without groups", minimum=10, maximum=500,
                           words=["resamples?", "bootstraps?"]),
        "seed": param("Seed of starts and resamples", minimum=0, words=["seed"]),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "clusters_count_every_row"),
    keywords=(
        "k-means", "kmeans", "clustering", "natural groups", "silhouette", "subtypes", "how many groups",
        "cluster stability", "types of patients", "unsupervised", "gaussian mixture", "gap statistic",
        "hierarchical clustering of samples", "Ward clustering",
    ),
    citations=(
        Citation(title="Silhouettes: a graphical aid to the interpretation and validation of cluster analysis",
                 authors="Rousseeuw PJ", year=1987, doi="10.1016/0377-0427(87)90125-7"),
        Citation(title="Cluster-wise assessment of cluster stability", authors="Hennig C", year=2007,
                 doi="10.1016/j.csda.2006.11.025"),
        Citation(title="Estimating the number of clusters in a data set via the gap statistic",
                 authors="Tibshirani R, Walther G, Hastie T", year=2001, doi="10.1111/1467-9868.00293"),
    ),
    packages=("scikit-learn", "numpy", "pandas"),
    seconds=10,
    example="Do the patients fall into natural groups by their lab values, and how many?",
)  # fmt: skip
def cluster_samples(
    table,
    *,
    measures: list[str] = [],  # noqa: B006 - a plain default, never changed
    k: int | None = None,
    method: str = "kmeans",
    most: int = 8,
    resamples: int = 50,
    seed: int = 1,
):
    """Look for groups among rows and say how stable they are."""
    import numpy as np
    import pandas as pd
    from threadpoolctl import threadpool_limits

    table = plain_table(table)
    frame, rows, warnings = measured_rows(table, measures, [])
    if len(frame) > 5000:
        raise ValueError(
            f"The table has {len(frame)} rows; expected at most 5000 here. Take a random part of them first."
        )
    most = min(most, (len(frame) - 1) // 2)
    if k is not None and k > len(frame) // 2:
        raise ValueError(f"{k} groups were asked for among {len(frame)} rows; expected at most {len(frame) // 2}.")
    values = ((frame - frame.mean()) / frame.std(ddof=1)).to_numpy(dtype=float)
    # Starts are drawn among the rows: sorted, they are the same whatever the order of the table.
    order = np.lexsort(values.round(9).T)
    values, frame, rows = values[order], frame.iloc[order], rows[order]
    skewed = [name for name, value in frame.skew().items() if abs(value) > 2]
    if skewed:
        warnings.append(f"Strongly skewed: {', '.join(skewed[:6])}. A group may be no more than the tail of such a "
                        "column; look again with logarithms.")  # fmt: skip
    rng, mixture = np.random.default_rng(seed), method == "mixture"
    counts = [*([1] if mixture else []), k] if k is not None else list(range(1, most + 1))
    with threadpool_limits(1):
        found = tried_cuts(values, counts, method, seed)
        best, clear = best_count(found, method)
        labels = found[best][3]
        # Groups are numbered from the largest, so that names do not depend on the start.
        by_size = pd.Series(labels).value_counts(sort=True).index.tolist()
        labels = np.array([by_size.index(label) + 1 for label in labels])
        stability = stabilities(values, labels, best, method, seed, resamples)
        draws = min(resamples, 25 if mixture else 50)
        plain = {kind: [tried_cuts(without_groups(values, kind, rng), counts, method, seed) for _ in range(draws)]
                 for kind in ("cloud", "even")}  # fmt: skip
    null = {kind: [best_count(other, method)[1] for other in own] for kind, own in plain.items()}
    # Both must be beaten: a cloud has a dense middle, evenly spread rows have corners.
    p_value = max((1 + sum(value >= clear for value in own)) / (1 + draws) for own in null.values())
    gaps, by_gap = gap_statistic(found, plain["even"]) if k is None else ({}, None)
    height = found[best][0]
    sizes = [{"cluster": c, "rows": int((labels == c).sum()), "stability": float(stability[c - 1]),
              **frame[labels == c].mean().to_dict()} for c in range(1, best + 1)]  # fmt: skip
    clusters = pd.DataFrame(sizes)
    choice = pd.DataFrame([
        {"k": key, "silhouette": found[key][0], "gap": gaps.get(key, (np.nan,) * 2)[0],
         "gap_error": gaps.get(key, (np.nan,) * 2)[1], "bic": found[key][2], "chosen": key == best,
         "p_value": p_value if key == best else np.nan} for key in sorted(found)
    ])  # fmt: skip
    differences = telling_measures(frame, labels)
    firm = p_value < 0.05 and (not mixture or clear > 0)
    way = {"kmeans": "k-means", "hierarchical": "hierarchical clustering, Ward", "mixture": "Gaussian mixture"}[method]
    verdict = (f"The {len(frame)} rows fall into {best} groups" if firm else
               f"No clear groups: there is no sign of separate groups among the {len(frame)} rows; cut into {best}, "
               "they are parts of one cloud")  # fmt: skip
    told = (f"Gaussian mixture with a BIC {abs(clear):.0f} {'below' if clear > 0 else 'above'} that of one group, mean "
            f"silhouette {height:.2f}" if mixture else f"mean silhouette {height:.2f}")  # fmt: skip
    by = ("number of groups as asked" if k is not None else
          f"best of 2 to {most}; the gap statistic says {by_gap if by_gap != 1 else '1, which is none'}")  # fmt: skip
    findings = [
        {"text": f"{verdict}: {told}, {format_p(p_value)} against data without groups, of the same correlations or "
                 f"evenly spread ({frame.shape[1]} standardised measurements, {way}, {by}).",
         "values": finding_values(silhouette=height, p_value=p_value), "output": "choice", "row": {"k": best}}
    ]  # fmt: skip
    if firm:
        apart = ", ".join(f"{row.measure} ({100 * row.share_between:.0f} %)"
                          for row in differences.head(3).itertuples())  # fmt: skip
        top = differences.iloc[0]
        findings.append({"text": f"The groups are told apart most by {apart}: share of the variance that lies between "
                                 "the groups.",
                         "values": finding_values(share_between=top["share_between"]), "output": "differences",
                         "row": table_row(differences, measure=top["measure"])})  # fmt: skip
    for row in sizes[:8] if firm or k is not None else []:
        inside = labels == row["cluster"]
        far = ((frame[inside].mean() - frame.mean()) / frame.std(ddof=1)).sort_values(key=abs, ascending=False)[:3]
        told = ", ".join(f"{'high' if value > 0 else 'low'} {name}" for name, value in far.items())
        word = "stable" if row["stability"] >= 0.75 else "not to be trusted" if row["stability"] < 0.6 else "doubtful"
        findings.append({"text": f"Group {row['cluster']} has {row['rows']} rows ({told}); it comes back in resamples "
                                 f"with an overlap of {row['stability']:.2f} ({word}).",
                         "values": finding_values(rows=row["rows"], stability=row["stability"]), "output": "clusters",
                         "row": {"cluster": row["cluster"]}})  # fmt: skip
    shaky = [row["cluster"] for row in sizes if row["stability"] < 0.6 and (firm or k is not None)]
    if shaky:
        warnings.append(f"Groups {', '.join(map(str, shaky))} dissolve in resamples; another number of groups or other "
                        "measurements may fit better.")  # fmt: skip
    if firm and by_gap not in (None, best):
        warnings.append(f"The gap statistic would take {by_gap} group{'s' if by_gap > 1 else ''}, the "
                        f"{'BIC' if mixture else 'silhouette'} {best}: the number is not settled.")  # fmt: skip
    if firm or k is not None:
        warnings.append("Testing the groups for differences in the measurements that made them would always find some; "
                        "compare them in other variables.")  # fmt: skip
    scores, _, variances = principal_components(values)
    shares = 100 * variances / variances.sum()
    figure, (left, right) = new_axes(width=10, height=4.2, panels=2)
    if mixture:
        left.plot(choice["k"], choice["bic"], "o-", color=palette(1)[0], label="BIC (lower is better)")
    else:
        left.plot(choice["k"], choice["silhouette"], "o-", color=palette(1)[0])
        line = max(float(np.percentile(own, 95)) for own in null.values())
        left.axhline(line, color="0.4", linestyle="--", linewidth=0.9, label="no groups (95 %)")
    left.set_xlabel("number of groups")
    left.set_ylabel("BIC" if mixture else "mean silhouette")
    left.legend(frameon=False, fontsize=8)
    for c, colour, marker in zip(range(1, best + 1), palette(best), "os^Dv<>P" * 4, strict=False):
        here = labels == c
        right.scatter(scores[here, 0], scores[here, 1], s=18, color=colour, marker=marker, alpha=0.8,
                      edgecolor="white", linewidth=0.3, label=f"{c} ({int(here.sum())})")  # fmt: skip
    right.set_xlabel(f"PC1 ({shares[0]:.0f} %)")
    right.set_ylabel(f"PC2 ({shares[1]:.0f} %)")
    right.legend(title="group", frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
    members = pd.DataFrame({"row": rows + 1, "cluster": labels}).sort_values("row", ignore_index=True)
    return {"choice": choice, "clusters": clusters, "members": members, "differences": differences,
            "cluster_plot": figure, "findings": findings, "warnings": warnings}  # fmt: skip
