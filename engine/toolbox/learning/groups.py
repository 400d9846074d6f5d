"""Many measurements of each row: on which axes they vary together, and whether the rows fall into groups.

Every table can be cut into clusters, also one without any. So the number of groups is set against data of the same
spread and correlations but without groups, and each group must come back in resamples.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.learning.folds import named_like_id
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    GROUP_HELPERS,
    finding_values,
    format_p,
    level_labels,
    new_axes,
    numeric_values,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.figures import colour_points
from engine.toolbox.tables.rows import table_row


@check("variance_shares_add_up")
def variance_shares_add_up(step: StepOutputs) -> Iterator[Issue]:
    """Shares of variance fall, are not negative and add up to 1; loadings have length 1 on every component."""
    shares = step.table("variance")["share"]
    if (shares < -1e-9).any() or (shares.diff().iloc[1:] > 1e-9).any() or abs(shares.sum() - 1) > 1e-6:
        message = "The shares of variance do not fall to a sum of 1."
        yield Issue(code="variance_shares", severity="error", message=message, where="variance")
    loadings = step.table("loadings").drop(columns=["measure"])
    if ((loadings**2).sum() - 1).abs().max() > 1e-6:
        yield Issue(code="loadings_length", severity="error", message="The loadings of a component have not length 1.",
                    where="loadings")  # fmt: skip


@check("clusters_count_every_row")
def clusters_count_every_row(step: StepOutputs) -> Iterator[Issue]:
    """Every row is in one cluster, silhouettes lie between -1 and 1 and stabilities between 0 and 1."""
    sizes, rows = step.table("clusters"), step.table("members")
    if int(sizes["rows"].sum()) != len(rows) or not sizes["stability"].between(0, 1).all():
        yield Issue(code="clusters_inconsistent", severity="error", where="clusters",
                    message="The clusters do not count every row, or a stability is impossible.")  # fmt: skip
    if not step.table("choice")["silhouette"].between(-1, 1).all():
        yield Issue(code="silhouette_out_of_range", severity="error", message="A silhouette is outside -1 to 1.",
                    where="choice")  # fmt: skip


def measured_rows(table, measures, skip):
    """Return (complete rows of numeric measures, their rows in the table, warnings); ids and constants are left out."""
    import numpy as np
    import pandas as pd

    named = list(dict.fromkeys(measures))
    require_columns(table, named)
    warnings, kept = [], {}
    for name in named or [str(column) for column in table.columns if column not in skip]:
        if not named and not pd.api.types.is_numeric_dtype(table[name]):
            continue
        if not named and (pd.api.types.is_bool_dtype(table[name]) or named_like_id(name)):
            warnings.append(f"{name} is no measurement and was left out.")
            continue
        kept[name] = numeric_values(table, name)
    frame = pd.DataFrame(kept, index=table.index)
    sparse = [name for name in frame if frame[name].notna().mean() < 0.7] if not named else []
    if sparse:
        warnings.append(f"More than 30 % empty and left out: {', '.join(sparse[:8])}.")
        frame = frame.drop(columns=sparse)
    full = frame.notna().all(axis=1).to_numpy()
    if not full.all():
        gaps = ", ".join(f"{name} ({n})" for name, n in frame.isna().sum().items() if n)
        warnings.append(f"{int((~full).sum())} of {len(full)} rows were left out because a value is missing: {gaps}.")
    frame = frame[full]
    constant = [name for name in frame if frame[name].nunique() < 2]
    if constant:
        warnings.append(f"The same in every row and left out: {', '.join(constant[:8])}.")
    frame = frame.drop(columns=constant)
    if frame.shape[1] < 2:
        raise ValueError(f"Only {frame.shape[1]} measurement(s) that vary are left; expected at least two columns of "
                         "numbers.")  # fmt: skip
    if len(frame) < 6:
        raise ValueError(f"Only {len(frame)} rows have a value in all {frame.shape[1]} measurements; expected at "
                         f"least 6. "
                         "Leave out columns with many gaps.")  # fmt: skip
    return frame, np.flatnonzero(full), warnings


def principal_components(values):
    """Return (scores, loadings, variances) by singular value decomposition; the largest loading of each is positive."""
    import numpy as np

    u, s, vt = np.linalg.svd(values - values.mean(axis=0), full_matrices=False)
    sign = np.sign(vt[np.arange(len(vt)), np.abs(vt).argmax(axis=1)])
    return u * s * sign, (vt * sign[:, None]).T, s**2 / (len(values) - 1)


@tool(
    name="principal_component_analysis",
    title="Principal component analysis (PCA)",
    description=(
        "Reduce many measurements of each row to a few axes (principal components of standardised columns, or of "
        "raw ones "
        "in one unit): share of variance of each, loadings, scores, and how many rise above shuffled data (parallel "
        "analysis). Draws a scree plot and the first two axes, coloured by a group. Describes, tests nothing."
    ),
    domain="statistics",
    task_type="analysis",
    answers=["dimension_reduction"],
    inputs={"table": "table: one row a sample, columns of measurements"},
    outputs={
        "variance": "table: share of variance of every component, and of shuffled data",
        "loadings": "table: what every measurement weighs in the components",
        "scores": "table: where every row lies on the components",
        "pca_plot": "figure: scree plot, scores and the strongest loadings",
    },
    params={
        "measures": param("Columns of measurements; empty for all numeric ones", kind="columns", of="table",
                          role="measures"),
        "group": param("Column that colours the points", kind="column", of="table", role="split"),
        "scaled": param("Whether columns are standardised first", words=["false: unscaled|not scaled|covariance"]),
        "seed": param("Seed of the shuffled data", minimum=0, words=["seed"]),
    },
    checks=("tables_not_empty", "findings_match_tables", "variance_shares_add_up"),
    keywords=(
        "PCA", "principal component analysis", "prcomp", "scree plot", "biplot", "loadings", "variance explained",
        "dimension reduction", "map of samples", "ordination of measurements",
    ),
    citations=(
        Citation(title="Analysis of a complex of statistical variables into principal components",
                 authors="Hotelling H", year=1933, doi="10.1037/h0071325"),
        Citation(title="A rationale and test for the number of factors in factor analysis",
                 authors="Horn JL", year=1965, doi="10.1007/BF02289447"),
    ),
    packages=("numpy", "pandas", "matplotlib"),
    seconds=3,
    example="PCA of the skull measurements, coloured by species.",
    helpers=(*GROUP_HELPERS, table_row, named_like_id, measured_rows, principal_components, colour_points),
)  # fmt: skip
def principal_component_analysis(
    table,
    *,
    measures: list[str] = [],  # noqa: B006 - a plain default, never changed
    group: str = "",
    scaled: bool = True,
    seed: int = 1,
):
    """Reduce measurements to principal components."""
    import numpy as np
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [group] if group else [])
    frame, rows, warnings = measured_rows(table, [name for name in measures if name != group], [group])
    values = frame.to_numpy(dtype=float)
    spread = values.std(axis=0, ddof=1)
    if scaled:
        values = (values - values.mean(axis=0)) / spread
    elif spread.max() > 10 * spread.min():
        warnings.append("Columns are not standardised and differ more than tenfold in spread: the first axes show the "
                        "widest columns.")  # fmt: skip
    scores, loadings, variances = principal_components(values)
    keep = variances > 1e-12 * variances.sum()
    scores, loadings, variances = scores[:, keep], loadings[:, keep], variances[keep]
    shares = variances / variances.sum()
    rng = np.random.default_rng(seed)
    shuffled = []
    for _ in range(100):
        other = np.column_stack([rng.permutation(column) for column in values.T])
        parts = principal_components(other)[2]
        shuffled.append((parts / parts.sum())[: len(shares)])
    chance = np.percentile(shuffled, 95, axis=0)
    above = int(np.argmin(np.append(shares > chance, False)))
    names = [f"PC{i + 1}" for i in range(len(shares))]
    variance = pd.DataFrame({"component": names, "variance": variances, "share": shares, "cumulative": shares.cumsum(),
                             "share_shuffled_95": chance})  # fmt: skip
    weights = pd.DataFrame(loadings, columns=names)
    weights.insert(0, "measure", list(frame.columns))
    placed = pd.DataFrame(scores[:, : min(10, len(names))], columns=names[:10])
    placed.insert(0, "row", rows + 1)
    colour = table[group].iloc[rows].reset_index(drop=True) if group else None
    if colour is not None:
        placed.insert(1, group, level_labels(colour))
    two = shares[:2].sum()
    verdict = (f"{above} component{'s' if above != 1 else ''} rise{'' if above != 1 else 's'} above shuffled data"
               if above else "no component rises above shuffled data, so the measurements hardly vary "
                             "together")  # fmt: skip
    findings = [
        {"text": f"The first two components hold {100 * two:.0f} % of the variance of {frame.shape[1]} measurements of "
                 f"{len(frame)} rows (PC1 {100 * shares[0]:.0f} %, PC2 {100 * shares[1]:.0f} %); {verdict}.",
         "values": finding_values(share=float(shares[0]), cumulative=float(shares[0])), "output": "variance",
         "row": {"component": "PC1"}}
    ]  # fmt: skip
    for i in range(min(2, len(names))):
        order = np.argsort(-np.abs(loadings[:, i]))[:4]
        told = ", ".join(f"{frame.columns[j]} ({loadings[j, i]:+.2f})" for j in order)
        findings.append({"text": f"{names[i]} ({100 * shares[i]:.0f} %) weighs most: {told}.",
                         "values": finding_values(share=float(shares[i])), "output": "variance",
                         "row": {"component": names[i]}})  # fmt: skip
    if colour is not None and not (pd.api.types.is_numeric_dtype(colour) and colour.nunique() > 8):
        labels = level_labels(colour)
        known = labels.notna().to_numpy()
        between = [
            sum((labels[known] == level).sum() * scores[(labels == level).to_numpy(), i].mean() ** 2
                for level in labels[known].unique()) / (scores[known, i] ** 2).sum()
            for i in range(min(2, len(names)))
        ]  # fmt: skip
        parts = ", ".join(f"{100 * part:.0f} % of {names[i]}" for i, part in enumerate(between))
        findings.append({"text": f"Differences between the groups of {group} make up {parts}; the axes were found "
                                 f"without "
                                 "looking at the groups, and this is no test.",
                         "values": finding_values(n_groups=int(labels.nunique()))})  # fmt: skip
    if len(frame) < 5 * frame.shape[1]:
        warnings.append(
            f"{len(frame)} rows for {frame.shape[1]} measurements are few: loadings would move with others."
        )
    figure, (left, right) = new_axes(width=10.5, height=4.2, panels=2)
    shown = min(12, len(names))
    left.bar(range(1, shown + 1), 100 * shares[:shown], color=palette(1)[0])
    left.plot(range(1, shown + 1), 100 * chance[:shown], "o--", color="0.3", markersize=3, label="shuffled data (95 %)")
    left.set_xlabel("component")
    left.set_ylabel("share of variance (%)")
    left.legend(frameon=False, fontsize=8)
    warnings += colour_points(figure, right, scores[:, 0], scores[:, 1], colour, group)
    reach = np.abs(scores[:, :2]).max() / max(np.abs(loadings[:, :2]).max(), 1e-12)
    for j in np.argsort(-(loadings[:, :2] ** 2).sum(axis=1))[:6]:
        end = 0.8 * reach * loadings[j, :2]
        right.annotate("", end, (0, 0), arrowprops={"arrowstyle": "->", "color": "0.35", "linewidth": 0.9})
        right.text(*(1.06 * end), str(frame.columns[j]), fontsize=7, color="0.25", ha="center", va="center")
    right.set_xlabel(f"PC1 ({100 * shares[0]:.0f} %)")
    right.set_ylabel(f"PC2 ({100 * shares[1]:.0f} %)")
    return {"variance": variance, "loadings": weights, "scores": placed, "pca_plot": figure, "findings": findings,
            "warnings": warnings}  # fmt: skip


def cut(values, k, seed):
    """Return k-means clusters of the rows, 0 to k - 1 (five starts, fixed seed)."""
    from sklearn.cluster import KMeans

    return KMeans(k, n_init=5, random_state=seed).fit(values)


def shared_part(one, other):
    """Return the Jaccard overlap of two sets of rows."""
    return (one & other).sum() / max((one | other).sum(), 1)


def best_cut(values, most, seed):
    """Return (silhouette of every k from 2 to `most`, labels of the best k)."""
    from sklearn.metrics import silhouette_score

    found = {}
    for k in range(2, most + 1):
        labels = cut(values, k, seed).labels_
        found[k] = (float(silhouette_score(values, labels)) if len(set(labels)) > 1 else -1.0, labels)
    best = max(found, key=lambda k: found[k][0])
    return {k: value for k, (value, _) in found.items()}, best, found[best][1]


@tool(
    name="cluster_samples",
    title="Clusters of samples (k-means) and their stability",
    description=(
        "Look for groups among rows without labels: k-means of standardised measurements, the number of groups by the "
        "mean silhouette, set against data of the same correlations without groups (p-value), and the stability of "
        "each "
        "group as the mean Jaccard overlap in bootstrap resamples (above 0.75 stable, below 0.6 not to be trusted)."
    ),
    domain="statistics",
    task_type="analysis",
    answers=["cluster_samples"],
    inputs={"table": "table: one row a sample, columns of measurements"},
    outputs={
        "choice": "table: silhouette for each number of groups",
        "clusters": "table: size, stability and means of every cluster",
        "members": "table: the cluster of every row",
        "cluster_plot": "figure: silhouettes, and the clusters on two principal components",
    },
    params={
        "measures": param("Columns of measurements; empty for all numeric ones", kind="columns", of="table",
                          role="measures"),
        "k": param("Number of groups; empty to choose it by the silhouette", minimum=2, maximum=30,
                   words=["k", "clusters?", "groups?", "types?", "kinds?"]),
        "most": param("Largest number of groups tried", minimum=2, maximum=30),
        "resamples": param("Bootstrap resamples, and data sets without groups", minimum=10, maximum=500,
                           words=["resamples?", "bootstraps?"]),
        "seed": param("Seed of starts and resamples", minimum=0, words=["seed"]),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "clusters_count_every_row"),
    keywords=(
        "k-means", "kmeans", "clustering", "natural groups", "silhouette", "subtypes", "how many groups",
        "cluster stability", "types of patients", "unsupervised",
    ),
    citations=(
        Citation(title="Silhouettes: a graphical aid to the interpretation and validation of cluster analysis",
                 authors="Rousseeuw PJ", year=1987, doi="10.1016/0377-0427(87)90125-7"),
        Citation(title="Cluster-wise assessment of cluster stability", authors="Hennig C", year=2007,
                 doi="10.1016/j.csda.2006.11.025"),
    ),
    packages=("scikit-learn", "numpy", "pandas"),
    seconds=10,
    example="Do the patients fall into natural groups by their lab values, and how many?",
    helpers=(*GROUP_HELPERS, table_row, named_like_id, measured_rows, principal_components, cut, shared_part, best_cut),
)  # fmt: skip
def cluster_samples(
    table,
    *,
    measures: list[str] = [],  # noqa: B006 - a plain default, never changed
    k: int | None = None,
    most: int = 8,
    resamples: int = 50,
    seed: int = 1,
):
    """Look for groups among rows and say how stable they are."""
    import numpy as np
    import pandas as pd
    from sklearn.metrics import silhouette_score
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
    rng, overlap, null = np.random.default_rng(seed), [], []
    with threadpool_limits(1):
        silhouettes, best, labels = best_cut(values, most, seed)
        if k is not None and k != best:
            best, labels = k, cut(values, k, seed).labels_
            silhouettes[k] = float(silhouette_score(values, labels))
        # Groups are numbered from the largest, so that names do not depend on the start.
        order = pd.Series(labels).value_counts(sort=True).index.tolist()
        labels = np.array([order.index(label) + 1 for label in labels])
        for _ in range(resamples):
            take = rng.integers(0, len(values), len(values))
            if len(np.unique(take)) <= best:
                continue
            fitted = cut(values[take], best, seed)
            again, inside = fitted.predict(values), np.isin(np.arange(len(values)), take)
            overlap.append(
                [max(shared_part(inside & (labels == c), inside & (again == d)) for d in range(best))
                 for c in range(1, best + 1)]
            )  # fmt: skip
        covariance = np.cov(values.T)
        tries = [best] if k is not None else list(range(2, most + 1))
        for _ in range(min(resamples, 50)):
            plain = rng.multivariate_normal(np.zeros(values.shape[1]), covariance, len(values), check_valid="ignore")
            null.append(max(silhouette_score(plain, cut(plain, count, seed).labels_) for count in tries))
    height = silhouettes[best]
    p_value = (1 + sum(value >= height for value in null)) / (1 + len(null))
    stability = np.mean(overlap, axis=0)
    sizes = [{"cluster": c, "rows": int((labels == c).sum()), "stability": float(stability[c - 1]),
              **frame[labels == c].mean().to_dict()} for c in range(1, best + 1)]  # fmt: skip
    clusters = pd.DataFrame(sizes)
    choice = pd.DataFrame({"k": sorted(silhouettes), "silhouette": [silhouettes[key] for key in sorted(silhouettes)]})
    choice["chosen"] = choice["k"] == best
    choice["p_value"] = np.where(choice["chosen"], p_value, np.nan)
    firm = p_value < 0.05
    verdict = (f"The {len(frame)} rows fall into {best} groups" if firm else
               f"There is no sign of separate groups among the {len(frame)} rows; cut into {best}, they are parts "
               f"of one cloud")  # fmt: skip
    shaky = [row["cluster"] for row in sizes if row["stability"] < 0.6]
    findings = [
        {"text": f"{verdict}: mean silhouette {height:.2f}, {format_p(p_value)} against data of the same correlations "
                 f"without groups ({frame.shape[1]} standardised measurements, k-means"
                 + (", number of groups as asked)." if k is not None else f", best of 2 to {most})."),
         "values": finding_values(silhouette=height, p_value=p_value), "output": "choice", "row": {"k": best}}
    ]  # fmt: skip
    for row in sizes[:8]:
        inside = labels == row["cluster"]
        far = ((frame[inside].mean() - frame.mean()) / frame.std(ddof=1)).sort_values(key=abs, ascending=False)[:3]
        told = ", ".join(f"{'high' if value > 0 else 'low'} {name}" for name, value in far.items())
        word = "stable" if row["stability"] >= 0.75 else "not to be trusted" if row["stability"] < 0.6 else "doubtful"
        findings.append({"text": f"Group {row['cluster']} has {row['rows']} rows ({told}); it comes back in "
                                 f"resamples with "
                                 f"an overlap of {row['stability']:.2f} ({word}).",
                         "values": finding_values(rows=row["rows"], stability=row["stability"]), "output": "clusters",
                         "row": {"cluster": row["cluster"]}})  # fmt: skip
    if shaky:
        warnings.append(f"Groups {', '.join(map(str, shaky))} dissolve in resamples; another number of groups or other "
                        "measurements may fit better.")  # fmt: skip
    warnings.append("Testing the groups for differences in the measurements that made them would always find some; "
                    "compare them in other variables.")  # fmt: skip
    scores, _, variances = principal_components(values)
    shares = 100 * variances / variances.sum()
    figure, (left, right) = new_axes(width=10, height=4.2, panels=2)
    left.plot(choice["k"], choice["silhouette"], "o-", color=palette(1)[0])
    left.axhline(float(np.percentile(null, 95)), color="0.4", linestyle="--", linewidth=0.9, label="no groups (95 %)")
    left.set_xlabel("number of groups")
    left.set_ylabel("mean silhouette")
    left.legend(frameon=False, fontsize=8)
    for c, colour, marker in zip(range(1, best + 1), palette(best), "os^Dv<>P" * 4, strict=False):
        here = labels == c
        right.scatter(scores[here, 0], scores[here, 1], s=18, color=colour, marker=marker, alpha=0.8,
                      edgecolor="white", linewidth=0.3, label=f"{c} ({int(here.sum())})")  # fmt: skip
    right.set_xlabel(f"PC1 ({shares[0]:.0f} %)")
    right.set_ylabel(f"PC2 ({shares[1]:.0f} %)")
    right.legend(title="group", frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
    members = pd.DataFrame({"row": rows + 1, "cluster": labels})
    return {"choice": choice, "clusters": clusters, "members": members, "cluster_plot": figure, "findings": findings,
            "warnings": warnings}  # fmt: skip
