"""Why apart: what a Cox fit is judged by when rows are spans of time or belong together.

lifelines fits such rows, but its residuals and its concordance take every row as watched from time 0 and tied events as
one after the other. Here the residuals know entries, ties (Efron) and strata, so robust errors and the test of
proportional hazards are right for them.
"""

from __future__ import annotations


def fit_cox(frame, strata, penalizer, entry=""):
    """Return (fitted model, warnings of the fit); a fit that fails is one sentence.

    `entry` names the column of times from which a row is watched; "" when all are watched from 0.
    """
    import warnings as python_warnings

    import numpy as np
    from lifelines import CoxPHFitter
    from lifelines.exceptions import ConvergenceError

    model = CoxPHFitter(penalizer=penalizer)
    with python_warnings.catch_warnings(record=True) as caught:
        python_warnings.simplefilter("always")
        try:
            model.fit(frame, "time", "event", strata=strata or None, entry_col=entry or None,
                      fit_options={"precision": 1e-9})  # fmt: skip
        except (ConvergenceError, np.linalg.LinAlgError) as err:
            message = (
                "The Cox model did not converge: a covariate separates those with and without the event, "
                "or two covariates say the same. Leave one out, or set a penalizer such as 0.1."
            )
            raise ValueError(message) from err
    texts = [
        str(item.message)
        for item in caught
        if "onvergence" in type(item.message).__name__
        or "onverge" in str(item.message)
        or "separat" in str(item.message)
    ]
    return model, texts


def cox_residuals(start, stop, event, design, beta, strata=None, efron=True):
    """Return (score residuals, one row a record; Schoenfeld residuals, one row an event; the records of these events).

    The score residual of a record is the sum over events of (x - mean x at risk) times its martingale increment
    (Therneau and Grambsch 2000, section 4.6 and appendix E). At d tied events Efron's d risk sets are each entered by a
    d-th of every event; `efron=False` gives Breslow's one risk set.
    """
    import numpy as np

    start, stop = np.asarray(start, dtype=float), np.asarray(stop, dtype=float)
    event, x = np.asarray(event) == 1, np.asarray(design, dtype=float)
    groups = np.zeros(len(stop)) if strata is None else np.asarray(strata)
    lead = x @ np.asarray(beta, dtype=float)
    hazard = np.exp(lead - lead.mean())
    score, schoenfeld = np.zeros(x.shape), np.full(x.shape, np.nan)
    for stratum in np.unique(groups):
        rows = np.flatnonzero(groups == stratum)
        moments = np.unique(stop[rows][event[rows]])
        weighted = np.column_stack([hazard[rows], hazard[rows, None] * x[rows]])
        # At risk at a moment: those who stop then or later, less those who start then or later.
        sums = np.zeros((len(moments), weighted.shape[1]))
        for ends, sign in ((stop[rows], 1.0), (start[rows], -1.0)):
            order = np.argsort(ends)
            later = np.vstack([np.cumsum(weighted[order][::-1], axis=0)[::-1], np.zeros(weighted.shape[1])])
            sums += sign * later[np.searchsorted(ends[order], moments, side="left")]
        steps = np.zeros(sums.shape)  # of the hazard, and of the hazard times the mean of x
        for at, moment in enumerate(moments):
            dead = rows[event[rows] & (stop[rows] == moment)]
            tied = np.concatenate([[hazard[dead].sum()], (hazard[dead, None] * x[dead]).sum(axis=0)])
            for share in (np.arange(len(dead)) / len(dead)) * efron:
                total = sums[at] - share * tied
                mean = total[1:] / total[0]
                steps[at] += np.concatenate([[1.0], mean]) / total[0]
                score[dead] += (x[dead] - mean) * (1 / len(dead) + share * hazard[dead, None] / total[0])
                schoenfeld[dead] = np.nan_to_num(schoenfeld[dead]) + (x[dead] - mean) / len(dead)
        until = np.vstack([np.zeros(steps.shape[1]), np.cumsum(steps, axis=0)])
        met = (until[np.searchsorted(moments, stop[rows], side="right")]
               - until[np.searchsorted(moments, start[rows], side="right")])  # fmt: skip
        score[rows] -= hazard[rows, None] * (x[rows] * met[:, :1] - met[:, 1:])
    records = np.flatnonzero(event)
    return score, schoenfeld[records], records


def cluster_covariance(score, covariance, clusters):
    """Return the sandwich covariance of Lin and Wei (1989): what each cluster's records together move the estimates."""
    import numpy as np

    moves = np.asarray(score) @ np.asarray(covariance)
    _, place = np.unique(np.asarray(clusters), return_inverse=True)
    summed = np.zeros((place.max() + 1, moves.shape[1]))
    np.add.at(summed, place, moves)
    return summed.T @ summed


def interval_concordance(start, stop, event, lead, strata=None):
    """Return the share of pairs at risk together of which the one with the higher linear predictor had its event first.

    Ties of the predictor count half; pairs with events at the same time do not count.
    """
    import numpy as np

    start, stop, lead = (np.asarray(values, dtype=float) for values in (start, stop, lead))
    event = np.asarray(event) == 1
    groups = np.zeros(len(stop)) if strata is None else np.asarray(strata)
    agree = pairs = 0.0
    for one in np.flatnonzero(event):
        others = (groups == groups[one]) & (start < stop[one]) & (
            (stop > stop[one]) | ((stop == stop[one]) & ~event)
        )  # fmt: skip
        agree += (lead[others] < lead[one]).sum() + 0.5 * (lead[others] == lead[one]).sum()
        pairs += others.sum()
    return float(agree / pairs) if pairs else float("nan")


def interval_hazards_test(model, frame, strata):
    """Return (chi-squared, p) of every term: do scaled Schoenfeld residuals change with Kaplan-Meier-transformed time?

    Grambsch and Therneau's (1994) statistic with one degree of freedom a term, for records that enter late.
    """
    import numpy as np
    from lifelines import KaplanMeierFitter
    from scipy.stats import chi2

    terms = list(model.params_.index)
    groups = frame[strata].astype(str).agg("\t".join, axis=1) if strata else None
    _, residuals, records = cox_residuals(
        frame["start"], frame["time"], frame["event"], frame[terms], model.params_, groups
    )
    covariance = model.variance_matrix_.to_numpy()
    curve = KaplanMeierFitter().fit(frame["time"], frame["event"], entry=frame["start"])
    moments = curve.survival_function_at_times(frame["time"].iloc[records]).to_numpy()
    away = moments - moments.mean()
    scaled = len(records) * residuals @ covariance
    statistic = (away @ scaled) ** 2 / (len(records) * np.diag(covariance) * (away**2).sum())
    return statistic, chi2.sf(statistic, 1)
