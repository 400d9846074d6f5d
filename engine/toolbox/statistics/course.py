"""Why apart: who asks what happens over time wants to see time, whatever model tests it.

Means of every group at every moment, of the rows that the model used.
"""

from __future__ import annotations

from engine.toolbox.statistics.slopes import changing_number
from engine.toolbox.tables.columns import level_labels, new_axes, palette


def course_means(places, y, labels):
    """Return a row for each group and moment with n, mean and its 95 % interval; a single value has none.

    Of zeros and ones the mean is a share and its interval Wilson's, of other values it is Student's.

    Args:
        places: the moment of each row.
        y: what was measured.
        labels: the group of each row.
    """
    import numpy as np
    import pandas as pd
    from scipy import stats
    from statsmodels.stats.proportion import proportion_confint

    share, rows = set(y) <= {0.0, 1.0}, []
    rows_at = pd.DataFrame({"group": labels, "moment": places, "y": y}).groupby(["group", "moment"])["y"]
    for (group, place), part in rows_at:
        n, mean = len(part), float(part.mean())
        half = float(stats.t.ppf(0.975, n - 1) * part.std(ddof=1) / n**0.5) if n > 1 else np.nan
        low, high = proportion_confint(part.sum(), n, method="wilson") if share else (mean - half, mean + half)
        rows.append({"group": group, "moment": place, "n": n, "mean": mean, "lower_95": low, "upper_95": high})
    return pd.DataFrame(rows)


def course_figure(table, y, design, groups, effects, preferred, outcome):
    """Draw the means of the groups over what changes within subjects; None where nothing does.

    The groups are the levels of the first factor of the model. Of more than 40 moments no means are drawn.
    """
    over = changing_number(design, groups, effects, preferred)
    if not over or design[over].nunique() > 40:
        return None
    factor = next((name for name in effects if ":" not in name and effects[name] != [name]), "")
    labels = level_labels(table[factor]).to_numpy() if factor else ["all"] * len(y)
    means = course_means(design[over].to_numpy(), y, labels)
    figure, axis = new_axes(width=6.8 if factor else 6.0)
    levels = list(dict.fromkeys(means["group"]))
    width = design[over].max() - design[over].min()
    for at, (level, colour) in enumerate(zip(levels, palette(len(levels)), strict=True)):
        own = means[means["group"] == level]
        shift = 0.006 * width * (at - (len(levels) - 1) / 2)  # bars of groups side by side, not on top
        bars = [own["mean"] - own["lower_95"], own["upper_95"] - own["mean"]]
        bars = [bar.fillna(0).clip(lower=0) for bar in bars]
        axis.errorbar(own["moment"] + shift, own["mean"], yerr=bars, color=colour,
                      marker="os^Dv<>P"[at % 8], markersize=5, linewidth=1.8, capsize=3, label=level)  # fmt: skip
    axis.set_xlabel(over)
    axis.set_ylabel(f"{'share with' if set(y) <= {0.0, 1.0} else 'mean of'} {outcome} (95 % CI of each)")
    if factor:
        axis.legend(title=factor, frameon=False)
    return figure
