"""How good predictions of unseen rows are: areas, shares, errors, their honest intervals, and chance."""

from __future__ import annotations

from engine.toolbox.learning.folds import coded_rows, corrected_interval, fill_and_scale, widest
from engine.toolbox.statistics.proportions import wilson_interval
from engine.toolbox.tables.columns import new_axes, palette


def area_under_curve(truth, score):
    """Return the AUC: the chance that a random positive row scores above a random negative one (ties count half)."""
    import numpy as np
    from scipy.stats import rankdata

    truth = np.asarray(truth, dtype=bool)
    ranks, n = rankdata(score), truth.sum()
    return float((ranks[truth].sum() - n * (n + 1) / 2) / (n * (len(truth) - n)))


def area_interval(area, positives, negatives):
    """Return the 95 % interval of an AUC from `positives` and `negatives` independent subjects.

    Newcombe's score method (2006, Stat Med 25:559, method 5), on Hanley and McNeil's variance: it stays within 0 to 1
    and does not shrink to a point at 1.
    """
    from scipy.optimize import brentq

    half = (positives + negatives) / 2 - 1

    def excess(theta):
        spread = 1 + half * (1 - theta) / (2 - theta) + half * theta / (1 + theta)
        return (area - theta) ** 2 - 1.959963984540054**2 * theta * (1 - theta) * spread / (positives * negatives)

    low = 0.0 if area <= 0 else brentq(excess, 1e-12, min(area, 1 - 1e-9)) if excess(1e-12) > 0 else 0.0
    high = 1.0 if area >= 1 else brentq(excess, max(area, 1e-9), 1 - 1e-12) if excess(1 - 1e-12) > 0 else 1.0
    return float(low), float(high)


def fold_areas(truth, seen, part, names, judged):
    """Return the AUC of every fold, a list for each repeat: the mean of the judged classes, each against the rest.

    Scores of different folds come from different models, so they are ranked within a fold; over all the rows of a
    repeat where a fold lacks a class.
    """
    import numpy as np

    areas = []
    for scores, folds in zip(seen, part, strict=True):
        inside = [folds == number for number in np.unique(folds)]
        if any(not 0 < (truth[here] == names[k]).mean() < 1 for here in inside for k in judged):
            inside = [np.full(len(truth), fill_value=True)]
        areas.append(
            [float(np.mean([area_under_curve(truth[here] == names[k], scores[here, k]) for k in judged]))
             for here in inside]
        )  # fmt: skip
    return areas


def mean_recall_interval(recalls):
    """Return the 95 % interval of the mean of shares of independent groups, from (share, low, high) of each.

    MOVER (Zou and Donner 2008): the squared distances to the ends of the single intervals add up.
    """
    import numpy as np

    share, low, high = np.array(recalls, dtype=float).T
    centre, k = share.mean(), len(share)
    return centre - np.sqrt(((share - low) ** 2).sum()) / k, centre + np.sqrt(((high - share) ** 2).sum()) / k


def share_interval(right, rows, units, part):
    """Return (share, low, high) of right predictions among the rows chosen, one column of `right` a row.

    The interval holds Wilson's for the independent units and the one corrected for folds that share training rows.
    """
    import numpy as np
    import pandas as pd

    share = float(right[:, rows].mean())
    n_units = len(np.unique(units[rows]))
    per_unit = pd.Series(right[:, rows].mean(axis=0)).groupby(units[rows]).mean().mean()
    by_fold = [right[r, rows & (part[r] == k)] for r in range(len(right)) for k in np.unique(part[r])]
    corrected = corrected_interval([own.mean() for own in by_fold if len(own)], part)
    low, high = widest(share, [wilson_interval(per_unit * n_units, n_units), corrected])
    return share, low, high


def class_measures(truth, seen, plain, part, units, names, event):
    """Return rows of (measure, value, lower_95, upper_95, baseline): means over repeats, with intervals.

    Args:
        truth: the true class of every row.
        seen: unseen probabilities, by repeat, row and class.
        plain: those of the baseline, the shares of the training rows.
        part: in which fold a row was tested, by repeat and row.
        units: what is independent of each other, a code a row.
        names: the classes, sorted.
        event: of two classes the one that is looked for; empty for more.
    """
    import numpy as np

    guess, rows = names[seen.argmax(axis=2)], []
    everything = np.full(len(truth), fill_value=True)

    def add(measure, value, low, high, baseline):
        rows.append({"measure": measure, "value": value, "lower_95": low, "upper_95": high, "baseline": baseline})

    judged = [int(np.flatnonzero(names == event)[0])] if event else list(range(len(names)))
    areas = fold_areas(truth, seen, part, names, judged)
    in_folds = len(areas[0]) > 1
    area = float(np.mean([np.mean(repeat) for repeat in areas]))
    counts = {name: len(np.unique(units[truth == name])) for name in names}
    ranges = [area_interval(area, counts[names[k]], sum(counts.values()) - counts[names[k]]) for k in judged]
    by_fold = [value for repeat in areas for value in repeat] if in_folds else []
    ends = widest(area, [np.mean(ranges, axis=0), corrected_interval(by_fold, part)])
    shares = {name: float((truth == name).mean()) for name in names}
    recalls = [share_interval(guess == name, truth == name, units, part) for name in names]
    if event:
        add("AUC", area, *ends, 0.5)
    add("accuracy", *share_interval(guess == truth, everything, units, part), max(shares.values()))
    by_fold = [
        np.mean([(guess[r][part[r] == k] == name)[truth[part[r] == k] == name].mean()
                 for name in np.unique(truth[part[r] == k])]) for r in range(len(part)) for k in np.unique(part[r])
    ] if in_folds else []  # fmt: skip
    balanced = float(np.mean([share for share, _, _ in recalls]))
    low, high = widest(balanced, [mean_recall_interval(recalls), corrected_interval(by_fold, part)])
    add("balanced_accuracy", balanced, low, high, 1 / len(names))
    if event:
        hit, miss = int(np.flatnonzero(names == event)[0]), int(np.flatnonzero(names != event)[0])
        add("sensitivity", *recalls[hit], 0.0 if shares[event] < 0.5 else 1.0)
        add("specificity", *recalls[miss], 1.0 if shares[event] < 0.5 else 0.0)
        if min(shares.values()) < 0.3:
            above = seen[:, :, hit] > plain[:, :, hit]
            add("sensitivity_at_share", *share_interval(above, truth == event, units, part), float("nan"))
            add("specificity_at_share", *share_interval(~above, truth != event, units, part), float("nan"))
    else:
        add("macro_AUC", area, *ends, 0.5)
        for k, name in enumerate(names):
            own = fold_areas(truth, seen, part, names, [k])
            alone = float(np.mean([np.mean(repeat) for repeat in own]))
            single = area_interval(alone, counts[name], sum(counts.values()) - counts[name])
            values = [value for repeat in own for value in repeat] if in_folds else []
            add(f"recall of {name}", *recalls[k], 0.0 if shares[name] < max(shares.values()) else 1.0)
            add(f"AUC of {name}", alone, *widest(alone, [single, corrected_interval(values, part)]), 0.5)
    hot = (truth[:, None] == names[None, :]).astype(float)
    squares, plainly = (((values - hot) ** 2).sum(axis=2) / 2 for values in (seen, plain))
    add("brier", float(squares.mean()), *error_interval(squares, part, units), float(plainly.mean()))
    return rows


def error_interval(errors, part, units, highest=1.0):
    """Return the 95 % interval of a mean error (by repeat and row): over units, or corrected over folds if wider."""
    import numpy as np
    import pandas as pd
    from scipy.stats import t

    per_unit = pd.Series(errors.mean(axis=0)).groupby(units).mean()
    half = t.ppf(0.975, len(per_unit) - 1) * per_unit.std(ddof=1) / np.sqrt(len(per_unit))
    value = float(errors.mean())
    by_fold = [errors[r, part[r] == k].mean() for r in range(len(part)) for k in np.unique(part[r])]
    return widest(value, [(value - half, value + half), corrected_interval(by_fold, part)], highest=highest)


def number_measures(truth, seen, plain, part, units, seed):
    """Return rows of (measure, value, lower_95, upper_95, baseline) for R2, RMSE and MAE: means over repeats.

    The intervals hold those of 1,000 bootstrap samples of the units and those corrected for folds that share rows.
    """
    import numpy as np

    squares, plainly = (seen - truth) ** 2, (plain - truth) ** 2
    sizes, base = np.abs(seen - truth), float(plainly.mean())
    members = [np.flatnonzero(units == unit) for unit in np.unique(units)]
    rows = np.column_stack([values.mean(axis=0) for values in (squares, plainly, sizes)])
    sums = np.array([rows[here].sum(axis=0) for here in members])
    counts = np.array([len(here) for here in members])
    rng, draws = np.random.default_rng(seed), []
    for _ in range(1000):
        take = rng.integers(0, len(members), len(members))
        own, n = sums[take].sum(axis=0), counts[take].sum()
        draws.append([1 - own[0] / max(own[1], 1e-300), np.sqrt(own[0] / n), own[2] / n])
    low, high = np.percentile(draws, [2.5, 97.5], axis=0)
    folds = [(r, part[r] == k) for r in range(len(part)) for k in np.unique(part[r])]
    fold_squares = corrected_interval([squares[r, here].mean() for r, here in folds], part)
    corrected = [[1 - end / base for end in fold_squares[::-1]], [np.sqrt(max(0.0, end)) for end in fold_squares],
                 corrected_interval([sizes[r, here].mean() for r, here in folds], part)]  # fmt: skip
    values = [1 - float(squares.mean()) / base, float(np.sqrt(squares.mean())), float(sizes.mean())]
    bases = [0.0, float(np.sqrt(base)), float(np.abs(plain - truth).mean())]
    ends = [widest(value, [(low[i], high[i]), corrected[i]], -np.inf if i == 0 else 0.0, 1.0 if i == 0 else np.inf)
            for i, value in enumerate(values)]  # fmt: skip
    return [{"measure": name, "value": value, "lower_95": float(end[0]), "upper_95": float(end[1]), "baseline": plain_}
            for name, value, end, plain_ in zip(("R2", "RMSE", "MAE"), values, ends, bases, strict=True)]  # fmt: skip


def chance_p(frame, target, groups, part, model, seed, target_is_number, draws=999):
    """Return the p-value that the predictors know nothing of the outcome; NaN for models that are not linear.

    Labels (of whole units) are shuffled within each fold. A linear score of the outcome, ridge regression with a fixed
    penalty, takes the place of the model: it is linear in the outcome, so all shuffles cost one product of matrices.
    Statistic: mean AUC of the folds (each class against the rest), or the squared error for a number.
    """
    import numpy as np
    from scipy.stats import rankdata

    n, folds = len(target), np.unique(part)
    units = np.arange(n) if groups is None else groups.to_numpy()
    truth = target.to_numpy()
    whole = groups is None or target.groupby(groups).nunique().max() == 1
    linear = model in ("linear", "lasso", "elastic_net", "lda", "pls")
    if not linear or n > 2000 or not whole or len(folds) > n / 2:
        return float("nan")
    classes = [None] if target_is_number else np.unique(truth)[: None if len(set(truth)) > 2 else 1]
    hat, tests = np.zeros((n, n)), [np.flatnonzero(part == number) for number in folds]
    for test in tests:
        train = np.setdiff1d(np.arange(n), test)
        facts = fill_and_scale(frame, train)
        known, new = coded_rows(frame, train, facts), coded_rows(frame, test, facts)
        centre = known.mean(axis=0)
        known, new = known - centre, new - centre
        kernel = known @ known.T
        ridge = np.linalg.solve(kernel + np.eye(len(train)) * max(np.trace(kernel) / len(train), 1e-9), known @ new.T).T
        hat[np.ix_(test, train)] = ridge - ridge.mean(axis=1, keepdims=True) + 1 / len(train)
    rng = np.random.default_rng(seed)
    order = np.tile(np.arange(n), (draws + 1, 1))
    for test in tests:
        first = {unit: place for place, unit in zip(test[::-1], units[test][::-1], strict=True)}
        own = list(first)
        for draw in order[1:]:
            mixed = dict(zip(own, rng.permutation(own), strict=True))
            draw[test] = [first[mixed[unit]] for unit in units[test]]
    statistic = np.zeros(draws + 1)
    for name in classes:
        mixed = (truth if target_is_number else (truth == name).astype(float))[order].T
        score = hat @ mixed
        if target_is_number:
            statistic -= ((score - mixed) ** 2).sum(axis=0)
            continue
        for test in tests:
            ranks, hits = rankdata(score[test], axis=0), mixed[test]
            count = hits.sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                area = ((ranks * hits).sum(axis=0) - count * (count + 1) / 2) / (count * (len(test) - count))
            statistic += np.nan_to_num(area, nan=0.5)
    return float((statistic >= statistic[0] - 1e-9 * max(1.0, abs(statistic[0]))).sum() / (draws + 1))


def calibration_line(happened, chance, n_units):
    """Return the rows of intercept and slope of what happened on the log odds of the predictions (logistic fit).

    Their errors are those of as many independent rows as there are units.
    """
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    safe = np.clip(chance, 1e-4, 1 - 1e-4)
    logits = np.log(safe / (1 - safe))
    if np.ptp(logits) < 1e-9:
        return []
    line = LogisticRegression(C=np.inf, max_iter=500, tol=1e-8).fit(logits[:, None], happened)
    design = np.column_stack([np.ones(len(logits)), logits])
    fitted = line.predict_proba(logits[:, None])[:, 1]
    known = design.T @ (design * (fitted * (1 - fitted))[:, None]) * n_units / len(logits)
    errors = np.sqrt(np.diag(np.linalg.pinv(known)))
    if errors.max() > 5:  # the predictions part the classes: no slope is too steep
        return []
    return [{"measure": f"calibration_{name}", "value": float(value), "lower_95": float(value - 1.959964 * error),
             "upper_95": float(value + 1.959964 * error)}
            for name, value, error in zip(("intercept", "slope"), [line.intercept_[0], line.coef_[0, 0]], errors,
                                          strict=True)]  # fmt: skip


def draw_classes(truth, predicted, chance, classes, event, area):
    """Return a figure: the ROC curve where there are two classes, and which class was taken for which."""
    import numpy as np

    figure, axes = new_axes(width=8.4 if event else 4.8, height=4.0, panels=2 if event else 1)
    grid = axes[1] if event else axes
    if event:
        order = np.argsort(-chance, kind="stable")
        hits = (truth == event)[order]
        ends = np.append(np.flatnonzero(np.diff(chance[order])), len(hits) - 1)
        rise = np.concatenate([[0], np.cumsum(hits)[ends]]) / hits.sum()
        false = np.concatenate([[0], np.cumsum(~hits)[ends]]) / (~hits).sum()
        axes[0].plot(false, rise, color=palette(1)[0], label=f"AUC {area:.2f}")
        axes[0].plot([0, 1], [0, 1], color="0.6", linestyle="--", linewidth=0.9, label="guessing")
        axes[0].set_xlabel(f"share of others called {event}")
        axes[0].set_ylabel(f"share of {event} found")
        axes[0].legend(frameon=False, loc="lower right")
    counts = np.array([[((truth == a) & (predicted == b)).sum() for b in classes] for a in classes])
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    grid.imshow(shares, cmap="Blues", vmin=0, vmax=1)
    for i, row in enumerate(counts):
        for j, count in enumerate(row):
            grid.text(j, i, str(count), ha="center", va="center", color="white" if shares[i, j] > 0.6 else "black")
    short = [name if len(name) <= 14 else name[:12] + ".." for name in classes]
    grid.set_xticks(range(len(classes)), short, rotation=35 if len(classes) > 3 else 0)
    grid.set_yticks(range(len(classes)), short)
    grid.set_xlabel("predicted (rows not seen)")
    grid.set_ylabel("true")
    return figure
