"""How far predicted probabilities are from what happened, beyond chance, and what would set them right."""

from __future__ import annotations

from engine.toolbox.tables.columns import finding_values


def logit_fit(happened, logits, slope):
    """Return (intercept, its error, slope, its error) of outcomes on log odds; without `slope` these are an offset."""
    import numpy as np
    import statsmodels.api as sm

    ones = np.ones(len(logits))
    design = np.column_stack([ones, logits]) if slope else ones[:, None]
    model = sm.GLM(happened, design, family=sm.families.Binomial(), offset=None if slope else logits).fit()
    if not slope:
        return float(model.params[0]), float(model.bse[0]), 1.0, 0.0
    return float(model.params[0]), float(model.bse[0]), float(model.params[1]), float(model.bse[1])


def bin_gap(chance, happened, part, n_bins):
    """Return the expected calibration error: |mean predicted - observed share| of the bins, weighted by their rows."""
    import numpy as np

    rows = np.bincount(part, minlength=n_bins)
    gaps = np.bincount(part, weights=chance, minlength=n_bins) - np.bincount(part, weights=happened, minlength=n_bins)
    return float(np.abs(gaps).sum() / rows.sum())


def gap_rows(chance, happened, part, seed=1, draws=1000):
    """Return the rows of the expected calibration error and of what right probabilities would show by chance.

    Even right probabilities show a gap in bins of few rows: outcomes drawn from the predictions say how large. The
    interval is that of bootstrap samples, moved by their bias.
    """
    import numpy as np

    n, n_bins, rng = len(chance), int(part.max()) + 1, np.random.default_rng(seed)
    found = bin_gap(chance, happened, part, n_bins)
    again, right = [], []
    for _ in range(draws):
        take = rng.integers(0, n, n)
        again.append(bin_gap(chance[take], happened[take], part[take], n_bins))
        right.append(bin_gap(chance, (rng.random(n) < chance).astype(float), part, n_bins))
    low, high = np.percentile(again, [2.5, 97.5]) - (np.mean(again) - found)
    return [
        {"measure": "ece", "value": found, "lower_95": max(0.0, min(low, found)), "upper_95": max(high, found),
         "ideal": 0.0},
        {"measure": "ece of right probabilities", "value": float(np.mean(right)),
         "lower_95": float(np.percentile(right, 2.5)), "upper_95": float(np.percentile(right, 97.5))},
    ]  # fmt: skip


def recalibrated_brier(logits, happened, seed=1):
    """Return the Brier score of recalibrated probabilities in rows not used to recalibrate them (five folds)."""
    import numpy as np

    part, squares = np.random.default_rng(seed).permutation(len(logits)) % 5, np.zeros(len(logits))
    for number in range(5):
        rest, own = part != number, part == number
        if not 0 < happened[rest].mean() < 1:
            return float("nan")
        start, _, slope, _ = logit_fit(happened[rest], logits[rest], True)
        squares[own] = (1 / (1 + np.exp(-(start + slope * logits[own]))) - happened[own]) ** 2
    return float(squares.mean())


def advice(logits, happened, shift, slope, brier, measures):
    """Return (rows of the recalibration, a finding that says whether and how to recalibrate).

    Args:
        logits: log odds of the predictions.
        happened: what happened, 0 or 1.
        shift: calibration intercept, its lower and upper limit.
        slope: calibration slope, its lower and upper limit.
        brier: Brier score of the predictions.
        measures: the rows found so far, by name.
    """
    import numpy as np

    start = logit_fit(happened, logits, True)[0]
    after = recalibrated_brier(logits, happened)
    rows = [{"measure": "recalibration intercept", "value": start}, {"measure": "recalibration slope",
            "value": slope[0]}, {"measure": "brier recalibrated", "value": after, "ideal": 0.0}]  # fmt: skip
    gap, chance_gap = measures["ece"], measures["ece of right probabilities"]
    beyond = gap["value"] > chance_gap["upper_95"]
    said = (f"Predicted and observed shares differ by {100 * gap['value']:.1f} points on average over the bins ("
            f"expected calibration error; 95 % interval {100 * gap['lower_95']:.1f} to {100 * gap['upper_95']:.1f}); "
            f"right probabilities would show {100 * chance_gap['value']:.1f} by chance")  # fmt: skip
    off, bent = not shift[1] <= 0 <= shift[2], not slope[1] <= 1 <= slope[2]
    if slope[2] <= 0 or (slope[1] <= 0 and bent):
        told = "the probabilities do not rise with what happened, so that no recalibration helps"
    elif off or bent:
        moved = [1 / (1 + np.exp(-(start + slope[0] * np.log(p / (1 - p))))) for p in (0.1, 0.5, 0.9)]
        become = "{:.0f} %, {:.0f} % and {:.0f} %".format(*(100 * p for p in moved))
        told = (f"recalibrate them: new log odds = {start + 0.0:.2f} + {slope[0]:.2f} x old log odds, so that 10 %, "
                f"50 % and 90 % become {become} (Brier score in rows not used for it {after:.3f}, before {brier:.3f}); "
                "test it on new data")  # fmt: skip
    elif beyond:
        told = "intercept and slope are in order but the curve is bent; look at the bins, a line does not mend it"
    else:
        told = "no recalibration is called for"
    finding = {"text": f"{said}; {told}.", "values": finding_values(value=(gap["value"], gap["lower_95"],
               gap["upper_95"])), "output": "calibration", "row": {"measure": "ece"}}  # fmt: skip
    return rows, finding
