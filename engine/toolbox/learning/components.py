"""Many measurements of each row: on which axes they vary together, and maps on which like rows lie near each other."""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, Points
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.learning.maps import (
    common_factors,
    kept_distances,
    kept_neighbours,
    map_points,
    measured_rows,
    principal_components,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    drawn_rows,
    finding_values,
    format_p,
    level_labels,
    new_axes,
    palette,
    plain_table,
    require_columns,
)
from engine.toolbox.tables.figures import colour_points

_MAPS = ["pca", "tsne", "umap", "mds", "classical_mds", "factor"]


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


def map_beside(values, components, method, perplexity, above, seed):
    """Return (coordinates, outputs, findings, warnings) of a map beside the first two principal components."""
    import pandas as pd

    if method != "pca" and len(values) > 5000:
        raise ValueError(f"The table has {len(values)} rows; expected at most 5000 for this map. Take a random part of "
                         "them first, or use the principal components (method = pca).")  # fmt: skip
    name = {"tsne": "t-SNE", "umap": "UMAP", "mds": "MDS", "classical_mds": "classical MDS"}[method]
    points, rows, kept = map_points(values, method, perplexity, seed), [], {}
    for label, here in ((name, points), ("two principal components", components)):
        k, near = kept_neighbours(values, here)
        order, stress = kept_distances(values, here)
        kept[label] = (near, order)
        rows.append({"map": label, "neighbours_kept": near, "neighbours": k, "distance_order": order,
                     "stress": stress if label != name or "MDS" in name else float("nan"),
                     "by_chance": k / (len(values) - 1)})  # fmt: skip
    (near, order), (pca_near, pca_order) = kept.values()
    text = (f"On the {name} map {100 * near:.0f} % of each row's {k} nearest rows in all {values.shape[1]} "
            f"measurements are its nearest too (two principal components: {100 * pca_near:.0f} %, chance: "
            f"{100 * k / (len(values) - 1):.0f} %); the order of all distances is kept with a Spearman correlation of "
            f"{order:.2f} (two principal components: {pca_order:.2f}).")  # fmt: skip
    findings = [{"text": text, "values": finding_values(neighbours_kept=near, distance_order=order), "output": "fit",
                 "row": {"map": name}}]  # fmt: skip
    warnings = []
    if method in ("tsne", "umap"):
        warnings.append(f"In a {name} map only who lies beside whom means something: the sizes of clumps, the "
                        "distances between them and their shape come from the method, and another seed gives "
                        "another map. Do not count groups on it; look for them in the measurements.")  # fmt: skip
    if method == "classical_mds":
        warnings.append("Classical scaling of these (Euclidean) distances is the same as principal components.")
    if above == 0:
        warnings.append(f"No component rises above shuffled data, so clumps on the {name} map would be made by the "
                        "method.")  # fmt: skip
    extra = pd.DataFrame(points, columns=[f"{name} 1", f"{name} 2"])
    return extra, {"fit": pd.DataFrame(rows)}, findings, warnings


def factors_beside(frame, number, above):
    """Return (scores, outputs, findings, warnings) of a factor analysis; as many factors as asked or above chance."""
    import numpy as np
    import pandas as pd
    from scipy.stats import chi2

    p = frame.shape[1]
    most = max(m for m in range(1, p) if m == 1 or (p - m) ** 2 >= p + m)  # more cannot be told apart
    if p < 3:
        raise ValueError(f"There are only {p} measurements; a factor analysis needs at least three. Name more columns.")
    if number and number > most:
        raise ValueError(f"{number} factors of {p} measurements cannot be told apart; expected at most {most}.")
    if len(frame) <= p:
        raise ValueError(f"There are {len(frame)} rows for {p} measurements; a factor analysis needs more rows than "
                         "measurements. Name fewer columns, or use principal components.")  # fmt: skip
    values = ((frame - frame.mean()) / frame.std(ddof=1)).to_numpy(dtype=float)
    count = number or min(max(above, 1), most)
    loadings, unique, scores, misfit, freedom = common_factors(values, count)
    names, shares = [f"F{i + 1}" for i in range(count)], (loadings**2).sum(axis=0) / p
    table = pd.DataFrame(loadings, columns=names)
    table.insert(0, "measure", list(frame.columns))
    table = table.assign(communality=1 - unique, uniqueness=unique)
    p_value = float(chi2.sf(misfit, freedom)) if freedom > 0 else float("nan")
    fit = [{"map": name, "share": share} for name, share in zip(names, shares, strict=True)]
    fit.append({"map": "all factors", "share": float(shares.sum()), "chi_squared": misfit, "df": freedom,
                "p_value": p_value})  # fmt: skip
    fits = "" if p_value != p_value else (
        f"; chi-squared {misfit:.1f}, {freedom} degrees of freedom, {format_p(p_value)}: "
        + ("what is left is more than chance, so more factors or none at all would fit better" if p_value < 0.05
           else "what is left is no more than chance"))  # fmt: skip
    how = "as asked" if number else "as many as rise above shuffled data" if above else "the least there can be"
    hold = f"{count} factor{'s' if count > 1 else ''} ({how}) hold{'' if count > 1 else 's'}"
    findings = [{"text": f"{hold} {100 * shares.sum():.0f} % of the variance of {p} measurements of {len(frame)} "
                         f"rows{fits}.",
                 "values": finding_values(share=float(shares.sum()), p_value=p_value), "output": "fit",
                 "row": {"map": "all factors"}}]  # fmt: skip
    turned = ", turned by varimax" if count > 1 else ""
    for i, name in enumerate(names[:4]):
        order = [j for j in np.argsort(-np.abs(loadings[:, i])) if abs(loadings[j, i]) >= 0.3][:6]
        told = ", ".join(f"{frame.columns[j]} ({loadings[j, i]:+.2f})" for j in order) or "nothing beyond 0.3"
        findings.append({"text": f"{name} ({100 * shares[i]:.0f} % of the variance{turned}) loads on "
                                 f"{told}.",
                         "values": finding_values(share=float(shares[i])), "output": "fit",
                         "row": {"map": name}})  # fmt: skip
    warnings = ["Factors are turned by a convention (varimax), and their names are the reader's: they are no proof "
                "that something behind the measurements exists."]  # fmt: skip
    full = [name for name, left in zip(frame.columns, unique, strict=True) if left < 0.01]
    if full:
        warnings.append(f"The factors explain {', '.join(full)} to nearly 100 % (a Heywood case): the factors do "
                        "not fit; ask for fewer, or leave measurements out.")  # fmt: skip
    return pd.DataFrame(scores, columns=names), {"fit": pd.DataFrame(fit), "factors": table}, findings, warnings


@tool(
    name="principal_component_analysis",
    title="Principal component analysis (PCA) or another map",
    description=(
        "Reduce many measurements of each row to a few axes (principal components of standardised columns, or of raw "
        "ones in one unit): share of variance of each, loadings, scores, and how many rise above shuffled data "
        "(parallel analysis). Draws a scree plot and the first two axes, coloured by a group. By name also t-SNE, "
        "UMAP, classical and metric multidimensional scaling, with the share of neighbours and distances that the map "
        "kept beside that of the components, and factor analysis (maximum likelihood, varimax). Describes, tests "
        "nothing."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "method=pca => principal components; no test",
        "method=tsne => t-SNE map; no test",
        "method=umap => UMAP map; no test",
        "method=mds|classical_mds => multidimensional scaling; no test",
        "factor analysis (maximum likelihood, varimax); no test",
    ),
    answers=["dimension_reduction"],
    inputs={"table": "table: one row a sample, columns of measurements"},
    outputs={
        "variance": "table: share of variance of every component, and of shuffled data",
        "loadings": "table: what every measurement weighs in the components",
        "scores": "table: where every row lies on the components, and on the map or the factors asked for",
        "pca_plot": "figure: scree plot, and the scores with the strongest loadings or the map asked for",
        "fit": "table: neighbours and distances that the map kept, or the fit of the factors",
        "factors": "table: loadings, communality and uniqueness of every measurement",
    },
    optional_outputs=("fit", "factors"),
    points={"pca_plot": Points(table="scores", x="t-SNE 1|UMAP 1|MDS 1|classical MDS 1|PC1",
                               y="t-SNE 2|UMAP 2|MDS 2|classical MDS 2|PC2", colour="=group")},
    params={
        "measures": param("Columns of measurements; empty for all numeric ones", kind="columns", of="table",
                          role="measures", least=2),
        "group": param("Column that colours the points", kind="column", of="table", role="split"),
        "scaled": param("Whether columns are standardised first", words=["false: unscaled|not scaled|covariance"]),
        "method": param("Principal components alone, or beside them another map or factors", choices=_MAPS,
                        words=[r"tsne: t-?\s?sne\b", r"umap: umap\b",
                               r"classical_mds: classical (?:mds|scaling|multi)|torgerson|pcoa\b|principal coord",
                               "mds: (?:metric )?mds|multi-?dimensional scaling|smacof",
                               r"factor: (?:exploratory )?factor analys\w+|efa\b|factanal|common factors"]),
        "factors": param("Number of factors; empty for as many as rise above shuffled data", minimum=1, maximum=20,
                         words=["(?:latent )?factors?"]),
        "perplexity": param("For t-SNE, how many neighbours count for each row", minimum=2, maximum=200,
                            words=["perplexity"]),
        "seed": param("Seed of the shuffled data and of the map", minimum=0, words=["seed"]),
    },
    checks=("tables_not_empty", "findings_match_tables", "variance_shares_add_up"),
    keywords=(
        "PCA", "principal component analysis", "prcomp", "scree plot", "biplot", "loadings", "variance explained",
        "dimension reduction", "map of samples", "ordination of measurements", "t-SNE", "UMAP",
        "multidimensional scaling", "factor analysis", "parallel analysis", "factor loadings",
    ),
    citations=(
        Citation(title="Analysis of a complex of statistical variables into principal components",
                 authors="Hotelling H", year=1933, doi="10.1037/h0071325"),
        Citation(title="A rationale and test for the number of factors in factor analysis",
                 authors="Horn JL", year=1965, doi="10.1007/BF02289447"),
        Citation(title="Visualizing data using t-SNE", authors="van der Maaten L, Hinton G", year=2008),
        Citation(title="The varimax criterion for analytic rotation in factor analysis", authors="Kaiser HF", year=1958,
                 doi="10.1007/BF02289233"),
    ),
    packages=("numpy", "pandas", "matplotlib", "scikit-learn", "scipy"),
    seconds=4,
    example="PCA of the skull measurements, coloured by species.",
)  # fmt: skip
def principal_component_analysis(
    table,
    *,
    measures: list[str] = [],  # noqa: B006 - a plain default, never changed
    group: str = "",
    scaled: bool = True,
    method: str = "pca",
    factors: int | None = None,
    perplexity: float = 30,
    seed: int = 1,
):
    """Reduce measurements to principal components, or beside them to another map or factors."""
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
    more, first, notes, extra = {}, [], [], None
    if method == "factor":
        axes, more, first, notes = factors_beside(frame, factors, above)
        placed = pd.concat([placed, axes], axis=1)
    elif method != "pca":
        extra, more, first, notes = map_beside(values, scores[:, :2], method, perplexity, above, seed)
        placed = pd.concat([placed, extra], axis=1)
    warnings += notes
    colour = table[group].iloc[rows].reset_index(drop=True) if group else None
    if colour is not None:
        placed.insert(1, group, level_labels(colour))
    named = drawn_rows(table, [group] if group else []).iloc[rows, 0]
    if named.name not in placed:
        placed.insert(0, named.name, named.to_numpy())
    two = shares[:2].sum()
    verdict = (f"{above} component{'s' if above != 1 else ''} rise{'' if above != 1 else 's'} above shuffled data"
               if above else "no component rises above shuffled data, so the measurements hardly vary "
                             "together")  # fmt: skip
    findings = [
        *first,
        {"text": f"The first two components hold {100 * two:.0f} % of the variance of {frame.shape[1]} measurements of "
                 f"{len(frame)} rows (PC1 {100 * shares[0]:.0f} %, PC2 {100 * shares[1]:.0f} %); {verdict}.",
         "values": finding_values(share=float(shares[0]), cumulative=float(shares[0])), "output": "variance",
         "row": {"component": "PC1"}}
    ]  # fmt: skip
    for i in range(0 if method == "factor" else min(2, len(names))):
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
        findings.insert(0, {"text": f"Differences between the groups of {group} make up {parts}; the axes were found "
                                    "without looking at the groups, and this is no test.",
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
    if extra is not None:
        warnings += colour_points(figure, right, extra.iloc[:, 0], extra.iloc[:, 1], colour, group)
        right.set_xlabel(extra.columns[0])
        right.set_ylabel(extra.columns[1])
    else:
        warnings += colour_points(figure, right, scores[:, 0], scores[:, 1], colour, group)
        reach = np.abs(scores[:, :2]).max() / max(np.abs(loadings[:, :2]).max(), 1e-12)
        for j in np.argsort(-(loadings[:, :2] ** 2).sum(axis=1))[:6]:
            end = 0.8 * reach * loadings[j, :2]
            right.annotate("", end, (0, 0), arrowprops={"arrowstyle": "->", "color": "0.35", "linewidth": 0.9})
            right.text(*(1.06 * end), str(frame.columns[j]), fontsize=7, color="0.25", ha="center", va="center")
        right.set_xlabel(f"PC1 ({100 * shares[0]:.0f} %)")
        right.set_ylabel(f"PC2 ({100 * shares[1]:.0f} %)")
    return {"variance": variance, "loadings": weights, "scores": placed, "pca_plot": figure, **more,
            "findings": findings, "warnings": warnings}  # fmt: skip
