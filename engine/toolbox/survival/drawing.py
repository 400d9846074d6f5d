"""Survival curves as they are read: bands, ticks where follow-up ends, and the numbers at risk below."""

from __future__ import annotations


def draw_survival(curves, unit, landmark=None):
    """Return a figure of survival curves with bands, censoring ticks and the numbers at risk below."""
    import numpy as np
    from matplotlib.figure import Figure

    colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#999999"]
    styles = ["-", "--", "-.", ":"]
    figure = Figure(figsize=(6.5, 4.2 + 0.22 * len(curves)), layout="constrained")
    axes, below = figure.subplots(2, 1, sharex=True, height_ratios=[10, 0.9 + 0.7 * len(curves)])
    for number, (name, curve) in enumerate(curves.items()):
        colour = colours[number % len(colours)]
        axes.step(
            curve["time"],
            curve["survival"],
            where="post",
            color=colour,
            linestyle=styles[(number // 2) % 4],
            label=name,
        )
        axes.fill_between(
            curve["time"], curve["lower_95"], curve["upper_95"], step="post", color=colour, alpha=0.15, linewidth=0
        )
        censored = curve[curve["censored"] > 0]
        axes.plot(censored["time"], censored["survival"], "|", color=colour, markersize=5)
    axes.set_ylim(0, 1.02)
    axes.set_xlim(left=landmark or 0)
    axes.set_ylabel("survival probability")
    axes.legend(frameon=False, title="band: 95 %")
    ticks = [tick for tick in axes.get_xticks() if (landmark or 0) <= tick <= axes.get_xlim()[1]]
    for number, (_, curve) in enumerate(curves.items()):
        for tick in ticks:
            left = np.searchsorted(curve["time"], tick, side="left")
            at_risk = curve["at_risk"].iloc[left] if left < len(curve) else 0
            below.text(tick, number, str(int(at_risk)), ha="center", va="center", fontsize=8)
    below.set_ylim(len(curves) - 0.5, -0.5)
    below.set_yticks(range(len(curves)), list(curves), fontsize=8)
    below.tick_params(axis="y", length=0, pad=16)
    below.set_title("number at risk", fontsize=8, loc="left")
    below.set_xlabel(f"time ({unit})" if unit else "time (unit of the table)")
    for side in ("top", "right", "left"):
        below.spines[side].set_visible(False)
    return figure
