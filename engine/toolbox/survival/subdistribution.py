"""Why beside the cause-specific hazards: what changes a rate of an end need not change the share that comes to it.

The subdistribution hazard of Fine and Gray (1999) keeps those in the risk set who ended otherwise, each with the chance
still to be uncensored then. A ratio above 1 means a higher cumulative incidence, whichever way that comes about.
"""

from __future__ import annotations

from engine.toolbox.survival.cox_model import code_covariates


def censoring_survival(times, states, moments):
    """Return the Kaplan-Meier probability of not being censored before each moment.

    Who ends at a time counts as at risk of being censored then, as in cmprsk (survival::finegray leaves them out).
    """
    import numpy as np

    points, place = np.unique(times, return_inverse=True)
    risk = len(times) - np.searchsorted(np.sort(times), points, side="left")
    lost = np.bincount(place, weights=states == "", minlength=len(points))
    curve = np.concatenate([[1.0], np.cumprod(1 - lost / risk)])
    return curve[np.searchsorted(points, moments, side="left")]


def fine_gray_sums(x, hazard, times, past, share, moments, share_at):
    """Return the weighted sums over the risk set at each moment of the hazard, of hazard * x and of hazard * x x'.

    `past` are those who ended otherwise; after that they weigh G(t-) / G(T-), their `share` being G(T-) (formula 9).
    """
    import numpy as np

    size = x.shape[1]
    parts = np.column_stack([np.ones(len(x)), x, (x[:, :, None] * x[:, None, :]).reshape(len(x), size * size)])
    parts = hazard[:, None] * parts
    order = np.argsort(times, kind="stable")
    zero = np.zeros((1, parts.shape[1]))
    ahead = np.vstack([np.cumsum(parts[order][::-1], axis=0)[::-1], zero])
    weighted = np.where(past, 1 / share, 0.0)[:, None] * parts
    behind = np.vstack([zero, np.cumsum(weighted[order], axis=0)])
    at = np.searchsorted(times[order], moments, side="left")
    total = ahead[at] + share_at[:, None] * behind[at]
    return total[:, 0], total[:, 1 : 1 + size], total[:, 1 + size :].reshape(-1, size, size)


def fine_gray(times, states, cause, x):
    """Return (coefficients, covariance) of the proportional subdistribution hazards model.

    Tied ends as Breslow. The covariance is the sandwich of Fine and Gray (1999, formulas 7 and 8) with the term for
    estimating the censoring distribution (one Kaplan-Meier for all), as R's cmprsk::crr. A model that does not converge
    raises ValueError.
    """
    import numpy as np

    times, states = np.asarray(times, dtype=float), np.asarray(states)
    centre, scale = x.mean(axis=0), x.std(axis=0)
    z = (x - centre) / scale
    own, past = states == cause, (states != "") & (states != cause)
    moments, place = np.unique(times[own], return_inverse=True)
    counts = np.bincount(place).astype(float)
    share = np.where(past, censoring_survival(times, states, times), 1.0)
    share_at = censoring_survival(times, states, moments)
    beta, old = np.zeros(z.shape[1]), -np.inf
    step = np.zeros(z.shape[1])
    for _ in range(60):
        lead = z @ beta
        first, second, third = fine_gray_sums(z, np.exp(lead), times, past, share, moments, share_at)
        likelihood = lead[own].sum() - counts @ np.log(first)
        if not np.isfinite(likelihood) or likelihood < old - 1e-9:
            beta, step = beta - step / 2, step / 2
            continue
        mean = second / first[:, None]
        information = np.einsum("m,mij->ij", counts, third / first[:, None, None] - mean[:, :, None] * mean[:, None])
        score = z[own].sum(axis=0) - counts @ mean
        if np.abs(score).max() < 1e-9 * counts.sum():
            break
        old, step = likelihood, np.linalg.solve(information, score)
        beta = beta + step
    else:
        raise ValueError("The Fine-Gray model did not converge in 60 steps.")
    # Where a covariate separates, the likelihood is flat far out and the sandwich vanishes: not an estimate.
    if np.abs(beta).max() > 10:
        raise ValueError("The Fine-Gray model did not converge: a covariate separates those with and without the end.")
    parts = fine_gray_scores(z, np.exp(z @ beta), times, states, cause, moments, counts, first, mean, share, share_at)
    inverse = np.linalg.inv(information)
    covariance = inverse @ (parts.T @ parts) @ inverse
    return beta / scale, covariance / np.outer(scale, scale)


def fine_gray_scores(z, hazard, times, states, cause, moments, counts, first, mean, share, share_at):
    """Return eta + psi of every subject: its weighted score residual, and what it adds through the censoring curve."""
    import numpy as np

    own, past, lost = states == cause, (states != "") & (states != cause), states == ""
    rise = (counts / first)[:, None]
    zero = np.zeros((1, 1 + z.shape[1]))
    plain = np.vstack([zero, np.cumsum(np.hstack([rise, rise * mean]), axis=0)])
    faded = np.vstack([zero, np.cumsum(share_at[:, None] * np.hstack([rise, rise * mean]), axis=0)])
    reached = np.searchsorted(moments, times, side="right")

    def pull(part):
        return z * part[:, :1] - part[:, 1:]

    eta = -hazard[:, None] * pull(plain[reached])
    eta -= np.where(past, hazard / share, 0.0)[:, None] * pull(faded[-1] - faded[reached])
    eta[own] += z[own] - mean[np.searchsorted(moments, times[own])]
    # q(u): what those who ended otherwise before u still add after u, were the censoring curve to change at u.
    losses, place = np.unique(times[lost], return_inverse=True)
    if not len(losses):
        return eta
    order = np.argsort(times, kind="stable")
    kept = np.where(past, hazard / share, 0.0)[:, None] * np.hstack([np.ones((len(z), 1)), z])
    behind = np.vstack([zero, np.cumsum(kept[order], axis=0)])[np.searchsorted(times[order], losses, side="left")]
    after = faded[-1] - faded[np.searchsorted(moments, losses, side="left")]
    q = behind[:, 1:] * after[:, :1] - behind[:, :1] * after[:, 1:]
    risk = (len(times) - np.searchsorted(times[order], losses, side="left"))[:, None]
    spent = np.vstack([zero[:, 1:], np.cumsum(np.bincount(place)[:, None] * q / risk**2, axis=0)])
    psi = -spent[np.searchsorted(losses, times, side="right")]
    psi[lost] += (q / risk)[place]
    return eta + psi


def subdistribution_of_causes(data, causes, covariates, categorical):
    """Return (subdistribution hazard ratios, one row a cause and term, or None, warnings)."""
    import numpy as np
    import pandas as pd
    from scipy.stats import norm

    design, _, _ = code_covariates(data, covariates, categorical)
    rows, warnings = [], []
    for cause in causes:
        events = int((data["state"] == cause).sum())
        if events <= design.shape[1]:
            continue  # said by the cause-specific model
        try:
            coef, covariance = fine_gray(data["time"], data["state"], cause, design.to_numpy(dtype=float))
            error = np.sqrt(np.diag(covariance))
        except (ValueError, np.linalg.LinAlgError):
            error = np.array([np.inf])
        if not (error < 10).all():
            warnings.append(
                f"{cause}: the Fine-Gray model did not converge: a covariate almost separates those with and without "
                "this end, or two say the same. Leave one out."
            )
            continue
        half = 1.959963984540054 * error
        rows += [
            {"cause": cause, "term": term, "subdistribution_ratio": float(np.exp(b)), "coef": float(b), "se": float(s),
             "lower_95": float(np.exp(b - h)), "upper_95": float(np.exp(b + h)),
             "p_value": float(2 * norm.sf(abs(b) / s)), "events": events}
            for term, b, s, h in zip(design.columns, coef, error, half, strict=True)
        ]  # fmt: skip
    return (pd.DataFrame(rows) if rows else None), warnings
