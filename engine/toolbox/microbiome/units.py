"""Comparisons of many values at once between groups of samples of which several may share a cage, a litter or a person.

Samples of one unit are alike, and a test that takes them as independent is too sure of itself.
"""

from __future__ import annotations


def how_units_lie(labels, units):
    """Return how samples share units: none, between (a unit lies in one group), paired (one in each group), within."""
    import pandas as pd

    if units is None or pd.Series(list(units)).nunique() in (1, len(units)):
        return "none"
    cells = pd.crosstab(pd.Series(list(units)), pd.Series(list(labels)))
    if ((cells > 0).sum(axis=1) == 1).all():
        return "between"
    both = cells[(cells > 0).all(axis=1)]
    return "paired" if cells.shape[1] == 2 and int(cells.to_numpy().max()) == 1 and len(both) >= 3 else "within"


def random_intercepts(y, x, units):
    """Fit y = x b + an intercept of each unit + rest by REML to every column of y.

    The ratio of the two variances is searched on a grid with 0 on it and then around its best place; given the ratio
    everything else is exact, and needs only sums within units (Laird and Ware 1982, Biometrics 38).

    Args:
        y: samples x items.
        x: samples x effects.
        units: the unit of each sample.

    Returns:
        Coefficients (effects x items), their covariance (items x effects x effects), and the share of the variance
        that lies between units (items).
    """
    import numpy as np
    from scipy.optimize import minimize_scalar

    codes = np.unique(np.asarray(units, dtype=str), return_inverse=True)[1]
    member = np.eye(codes.max() + 1)[codes]
    n, p = x.shape
    sizes, sx, sy = member.sum(axis=0), member.T @ x, member.T @ y
    xx, xy, yy = x.T @ x, x.T @ y, (y**2).sum(axis=0)

    def solved(ratio, items=slice(None)):
        weights = ratio / (1 + ratio * sizes)
        inner = xx - (sx.T * weights) @ sx
        right = xy[:, items] - (sx.T * weights) @ sy[:, items]
        beta = np.linalg.solve(inner, right)
        rest = yy[items] - (weights[:, None] * sy[:, items] ** 2).sum(axis=0) - (beta * right).sum(axis=0)
        rest = np.maximum(rest, 1e-12 * np.maximum(yy[items], 1e-300))
        constant = np.log1p(ratio * sizes).sum() + np.linalg.slogdet(inner)[1]
        return (n - p) * np.log(rest) + constant, beta, rest / (n - p), inner

    grid = np.concatenate([[0.0], np.logspace(-4, 4, 49)])
    places = np.argmin([solved(ratio)[0] for ratio in grid], axis=0)
    beta, covariance, share = np.zeros((p, y.shape[1])), np.zeros((y.shape[1], p, p)), np.zeros(y.shape[1])
    for item, place in enumerate(places):
        one, ratio = slice(item, item + 1), grid[place]
        if place > 0:
            ends = np.log(grid[max(place - 1, 1)]), np.log(grid[min(place + 1, len(grid) - 1)])
            near = minimize_scalar(
                lambda log, one=one: float(solved(np.exp(log), one)[0][0]), bounds=ends, method="bounded",
                options={"xatol": 1e-6},
            )  # fmt: skip
            ratio = float(np.exp(near.x))
        _, b, variance, inner = solved(ratio, one)
        beta[:, item], covariance[item] = b[:, 0], np.linalg.inv(inner) * variance[0]
        share[item] = ratio / (1 + ratio)
    return beta, covariance, share


def welch_overall(samples):
    """Return Welch's F of several samples (rows x items each), its degrees of freedom and p-values."""
    import numpy as np
    from scipy import stats

    k = len(samples)
    with np.errstate(all="ignore"):
        weights = np.array([len(x) / x.var(axis=0, ddof=1) for x in samples])
        means = np.array([x.mean(axis=0) for x in samples])
        grand = (weights * means).sum(axis=0) / weights.sum(axis=0)
        counts = np.array([len(x) for x in samples])[:, None]
        lack = ((1 - weights / weights.sum(axis=0)) ** 2 / (counts - 1)).sum(axis=0)
        f = (weights * (means - grand) ** 2).sum(axis=0) / (k - 1) / (1 + 2 * (k - 2) / (k**2 - 1) * lack)
        df = (k**2 - 1) / (3 * lack)
        return f, df, stats.f.sf(f, k - 1, df)


def holm(p):
    """Return Holm's adjustment of the p-values of each column."""
    import numpy as np

    p = np.asarray(p, dtype=float)
    order = np.argsort(p, axis=0)
    steps = np.take_along_axis(p, order, axis=0) * np.arange(len(p), 0, -1)[:, None]
    steps = np.minimum(np.maximum.accumulate(steps, axis=0), 1.0)
    adjusted = np.empty_like(p)
    np.put_along_axis(adjusted, order, steps, axis=0)
    return adjusted


def benjamini_hochberg(p):
    """Return p-values adjusted for the false discovery rate; those that are missing stay so."""
    import numpy as np

    p = np.asarray(p, dtype=float)
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(-p[known], kind="stable")]
    ranks = np.arange(len(order), 0, -1)
    adjusted = np.full(len(p), np.nan)
    adjusted[order] = np.minimum(np.minimum.accumulate(p[order] * len(order) / ranks), 1.0)
    return adjusted


def compared(values, labels, levels, units, unit):
    """Compare the columns of a table of samples between groups.

    Without units: Welch's t test for two groups, Welch's F for more. With one sample of each unit in each of two
    groups: the paired t test. With several samples a unit: a mixed model with a random intercept. Its degrees of
    freedom are the units less the groups where groups are of whole units, else the samples less the units and the
    effects. With units of equal size the former is the t test of the units' means, unless units are no more alike
    than others.

    Args:
        values: samples x items, numbers.
        labels: the group of each sample.
        levels: the groups to compare, the reference last.
        units: the unit of each sample, None for none.
        unit: what a unit is called.

    Returns:
        A dict: `design`, `test` in words, `pairs` (of each pair its levels, and arrays by item: difference, lower_95,
        upper_95, statistic, df, p_value, p_adj by Holm), `overall` (p-values by item), `means` (level -> by item),
        `samples` and `units` (level -> their number), `notes`.
    """
    import numpy as np
    from scipy import stats

    y, labels = np.asarray(values, dtype=float), np.asarray(labels, dtype=object)
    units = None if units is None else np.asarray(units, dtype=object)
    design, notes = how_units_lie(labels, units), []
    if design == "paired":
        whole = [u for u in np.unique(units.astype(str)) if len({*labels[units.astype(str) == u]}) == 2]
        kept = np.isin(units.astype(str), whole)
        if not kept.all():
            notes.append(
                f"{int((~kept).sum())} samples without a partner in the other group are left out: {unit} pairs them."
            )
        y, labels, units = y[kept], labels[kept], units[kept]
    samples = {level: y[labels == level] for level in levels}
    n_units = {
        level: len(x) if units is None or design == "none" else len({*units[labels == level]})
        for level, x in samples.items()
    }
    small = [f"{level} has {n}" for level, n in n_units.items() if n < 2]
    if small:
        what = "samples" if design == "none" else f"different values of {unit}"
        raise ValueError(
            f"Each group needs at least 2 {what} to tell a difference from chance: {', '.join(small)}. Choose other "
            "groups, or describe them without a test."
        )
    orders = [(a, b) for i, a in enumerate(levels) for b in levels[i + 1 :]]
    means = {level: x.mean(axis=0) for level, x in samples.items()}
    rows, overall = [], None
    if design == "none":
        test = "Welch's t test" if len(levels) == 2 else "Welch's analysis of variance"
        for a, b in orders:
            errors = [samples[one].var(axis=0, ddof=1) / len(samples[one]) for one in (a, b)]
            with np.errstate(all="ignore"):
                df = (errors[0] + errors[1]) ** 2 / sum(
                    error**2 / (len(samples[one]) - 1) for error, one in zip(errors, (a, b), strict=True)
                )
            rows.append((a, b, means[a] - means[b], np.sqrt(errors[0] + errors[1]), df))
        overall = welch_overall(list(samples.values()))[2] if len(levels) > 2 else None
    elif design == "paired":
        test = f"paired t test, paired by {unit}"
        order = np.argsort(units.astype(str), kind="stable")
        first, second = (y[order][labels[order] == level] for level in levels)
        gaps = first - second
        error, free = gaps.std(axis=0, ddof=1) / np.sqrt(len(gaps)), len(gaps) - 1.0
        rows.append((*levels, gaps.mean(axis=0), error, np.full(y.shape[1], free)))
    else:
        test = f"mixed model with a random intercept for {unit}"
        n_all, x = len({*units}), np.array([[float(label == level) for level in levels] for label in labels])
        free = n_all - len(levels) if design == "between" else len(y) - n_all - len(levels) + 1
        if free < 1:
            raise ValueError(
                f"{len(y)} samples of {n_all} values of {unit} are too few to compare {len(levels)} groups; choose "
                f"fewer "
                f"groups, or leave {unit} out."
            )
        beta, covariance, share = random_intercepts(y, x, units)
        means = dict(zip(levels, beta, strict=True))
        for a, b in orders:
            turn = np.array([float(level == a) - float(level == b) for level in levels])
            error = np.sqrt(np.einsum("p,tpq,q->t", turn, covariance, turn))
            rows.append((a, b, turn @ beta, error, np.full(y.shape[1], float(free))))
        if len(levels) > 2:
            turn = np.array([[float(level == a) - float(level == levels[-1]) for level in levels] for a in levels[:-1]])
            f = [
                b @ turn.T @ np.linalg.solve(turn @ v @ turn.T, turn @ b) / (len(levels) - 1)
                for b, v in zip(beta.T, covariance, strict=True)
            ]
            overall = stats.f.sf(f, len(levels) - 1, free)
        if y.shape[1] == 1 and share[0] < 1e-3:
            notes.append(
                f"Samples of one {unit} are no more alike than others here; the model keeps {unit} all the same."
            )
    pairs = []
    for a, b, difference, error, df in rows:
        with np.errstate(all="ignore"):
            t = difference / error
            reach = stats.t.ppf(0.975, df) * error
            p = 2 * stats.t.sf(np.abs(t), df)
        pairs.append(
            {"group_1": a, "group_2": b, "difference": difference, "lower_95": difference - reach,
             "upper_95": difference + reach, "statistic": t, "df": df, "p_value": np.where(error > 0, p, np.nan)}
        )  # fmt: skip
    for pair, adjusted in zip(pairs, holm([pair["p_value"] for pair in pairs]), strict=True):
        pair["p_adj"] = adjusted
    return {
        "design": design, "test": test, "pairs": pairs, "overall": pairs[0]["p_value"] if overall is None else overall,
        "means": means, "samples": {level: len(x) for level, x in samples.items()}, "units": n_units, "notes": notes,
    }  # fmt: skip


def counted_units(result, unit):
    """Return in words how many units (or samples) each group has: `6 cages each`, `5 litters with A, 6 with B`."""
    import re

    word = re.sub(r"[\s_.-]*(ids?|no|nr|name|number)$", "", str(unit).strip(), flags=re.I).replace("_", " ").lower()
    irregular = {
        "mouse": "mice",
        "child": "children",
        "person": "people",
        "calf": "calves",
        "individual": "individuals",
    }
    many = "samples" if result["design"] == "none" else irregular.get(word, word if word.endswith("s") else f"{word}s")
    counts = result["samples"] if result["design"] == "none" else result["units"]
    if len({*counts.values()}) == 1:
        text = f"{next(iter(counts.values()))} {many} each"
    else:
        ends = [f"{n} with {level}" for level, n in counts.items()]
        text = f"{ends[0].replace(' with', f' {many} with', 1)}, {', '.join(ends[1:])}"
    if result["design"] in ("between", "within"):
        text += f", {sum(result['samples'].values())} samples"
    return text
