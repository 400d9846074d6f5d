"""Why apart: a curve has parameters that mean something (a plateau, a rate): they are what is asked for.

Every curve brings its own starting values, several of them, so that nobody has to guess; the fit with the smallest sum
of squares counts. A formula that the user writes is fitted beside the curves that have names. Dose-response curves and
enzyme kinetics have tools of their own fields.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.statistics.own_curves import (
    FORMULA_SAID,
    fit_formula,
    read_formula,
    undetermined_parameters,
)
from engine.toolbox.tables.columns import (
    complete_rows,
    finding_values,
    format_number,
    level_labels,
    new_axes,
    numeric_values,
    order_levels,
    palette,
    plain_table,
    require_columns,
)

MOST_GROUPS = 20
"""So many curves are fitted side by side."""


@check("curve_parameters_in_intervals")
def curve_parameters_in_intervals(step: StepOutputs) -> Iterator[Issue]:
    """Every parameter of a curve lies in its interval, and one curve a group is called best by AICc."""
    parameters, curves = step.table("parameters"), step.table("curves")
    for _, row in parameters.dropna(subset=["lower_95", "upper_95"]).iterrows():
        slack = 1e-9 * max(1.0, abs(row["estimate"]))
        if not row["lower_95"] - slack <= row["estimate"] <= row["upper_95"] + slack:
            message = f"{row['parameter']} of {row['group']} ({row['estimate']}) lies outside its interval."
            yield Issue(code="interval_without_estimate", severity="error", message=message, where="parameters")
    for group, part in curves.groupby("group"):
        if abs(part["delta_AICc"].min()) > 1e-9:
            message = f"No curve of {group} has the smallest AICc."
            yield Issue(code="no_best_curve", severity="error", message=message, where="curves")


def curve_value(name, x, p):
    """Return y of a named curve at x for its parameters."""
    import numpy as np

    with np.errstate(all="ignore"):
        if name == "exponential":
            return p[0] * np.exp(p[1] * x)
        if name == "exponential_floor":
            return p[0] + p[1] * np.exp(-p[2] * x)
        if name == "saturating":
            return p[0] * (1 - np.exp(-p[1] * x))
        if name == "hyperbola":
            return p[0] * x / (p[1] + x)
        if name == "power":
            return p[0] * np.power(x, p[1])
        if name == "logistic":
            return p[0] / (1 + np.exp(-p[1] * (x - p[2])))
        if name == "gompertz":
            return p[0] * np.exp(-np.exp(-p[1] * (x - p[2])))
        return p[0] * (1 - np.exp(-p[1] * (x - p[2])))


def curve_meanings():
    """Return curve -> (formula, parameters with their meanings)."""
    return {
        "exponential": ("y = a exp(b x)", [("a", "value at x = 0"), ("b", "rate per unit of x, negative for decay")]),
        "exponential_floor": ("y = c + a exp(-k x)", [("c", "level approached in the end"),
                                                      ("a", "value at x = 0 minus c"),
                                                      ("k", "rate per unit of x")]),
        "saturating": ("y = a (1 - exp(-b x))", [("a", "plateau"), ("b", "rate per unit of x")]),
        "hyperbola": ("y = a x / (b + x)", [("a", "plateau"), ("b", "x at half of the plateau")]),
        "power": ("y = a x^b", [("a", "value at x = 1"), ("b", "exponent")]),
        "logistic": ("y = a / (1 + exp(-k (x - m)))", [("a", "plateau"), ("k", "rate per unit of x"),
                                                       ("m", "x at half of the plateau (inflection)")]),
        "gompertz": ("y = a exp(-exp(-k (x - m)))", [("a", "plateau"), ("k", "rate per unit of x"),
                                                     ("m", "x at the inflection, 37 % of the plateau")]),
        "von_bertalanffy": ("y = a (1 - exp(-k (x - t0)))", [("a", "plateau (asymptotic size)"),
                                                             ("k", "rate per unit of x"),
                                                             ("t0", "x at which y is 0")]),
    }  # fmt: skip


def curve_starts(name, x, y):
    """Return starting values for a curve, taken from the data, several because one may lead astray."""
    import numpy as np

    width, top = max(float(np.ptp(x)), 1e-300), float(np.max(np.abs(y))) * (1 if np.mean(y) >= 0 else -1)
    rates = [r / width for r in (0.3, 1.0, 3.0, 8.0, 20.0)]
    middles = [float(np.min(x) + share * width) for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    if name == "exponential":
        starts = [(float(y[np.argmin(np.abs(x))]) or top, sign * r) for r in rates for sign in (-1, 1)]
        if (y > 0).all():
            slope, cut = np.polyfit(x, np.log(y), 1)
            starts.insert(0, (float(np.exp(cut)), float(slope)))
        return starts
    if name == "exponential_floor":
        first, last = float(y[np.argmin(x)]), float(y[np.argmax(x)])
        return [(end, first - end, r) for r in rates for end in (last, 0.0)]
    if name in ("saturating", "hyperbola"):
        return [(f * top, r if name == "saturating" else 1 / r) for r in rates for f in (1.0, 2.0)]
    if name == "power":
        use = (x > 0) & (y > 0)
        slope, cut = np.polyfit(np.log(x[use]), np.log(y[use]), 1) if use.sum() > 1 else (1.0, 0.0)
        return [(float(np.exp(cut)), float(slope)), (top, 0.5), (top, -0.5), (top / 10, 1.0)]
    if name == "von_bertalanffy":
        return [(1.1 * top, r, t) for r in rates for t in (0.0, middles[0] - 0.1 * width)]
    return [(f * top, sign * r, m) for r in rates for m in middles for f in (1.0, 1.5) for sign in (1, -1)]


def fit_curve(name, x, y):
    """Return the least-squares fit of a curve (parameters, covariance, sum of squares), or None when there is none."""
    import warnings

    import numpy as np
    from scipy.optimize import curve_fit

    if len(y) <= len(curve_meanings()[name][1]) or (name == "power" and ((x < 0).any() or (x == 0).any())):
        return None
    best = None
    for start in curve_starts(name, x, y):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found, covariance = curve_fit(lambda v, *p: curve_value(name, v, p), x, y, p0=start, maxfev=2000)
        except (RuntimeError, ValueError, TypeError):
            continue
        rss = float(((y - curve_value(name, x, found)) ** 2).sum())
        if np.isfinite(covariance).all() and np.isfinite(rss) and (best is None or rss < best["rss"] * (1 - 1e-10)):
            best = {"parameters": found, "covariance": covariance, "rss": rss}
    if best is not None:
        best |= {"value": lambda v, p: curve_value(name, v, p), "meanings": curve_meanings()[name][1]}
    return best


def curve_score(fit, n):
    """Return AICc of a least-squares fit, the error's variance counted as a parameter."""
    import math

    k = len(fit["parameters"]) + 1
    aic = n * math.log(max(fit["rss"], 1e-300) / n) + 2 * k
    return aic + 2 * k * (k + 1) / (n - k - 1) if n > k + 1 else float("inf")


def derived_value(name, fit, df):
    """Return what follows from a rate (half-life or doubling), its interval where the rate's excludes 0, or None."""
    import math

    from scipy import stats

    at = {"exponential": 1, "exponential_floor": 2, "saturating": 1}.get(name)
    if at is None or fit["parameters"][at] == 0:
        return None
    rate, half = fit["parameters"][at], stats.t.ppf(0.975, df) * math.sqrt(fit["covariance"][at][at])
    word = {"exponential": "doubling in x" if rate > 0 else "half-life in x",
            "exponential_floor": "half-life in x of what is above the level",
            "saturating": "x at half of the plateau"}[name]  # fmt: skip
    limits = (
        sorted(math.log(2) / abs(r) for r in (rate - half, rate + half)) if abs(rate) > half else [float("nan")] * 2
    )
    return {"parameter": "ln 2 / rate", "meaning": word, "estimate": math.log(2) / abs(rate), "se": float("nan"),
            "lower_95": limits[0], "upper_95": limits[1]}  # fmt: skip


def curve_rows(group, name, fit, n):
    """Return the parameter rows of a fit with standard errors and 95 % intervals (t, n - parameters)."""
    from scipy import stats

    meanings = fit["meanings"]
    df = n - len(meanings)
    critical, rows = stats.t.ppf(0.975, df), []
    for i, (letter, meaning) in enumerate(meanings):
        estimate, se = float(fit["parameters"][i]), float(fit["covariance"][i][i] ** 0.5)
        rows.append({"group": group, "curve": name, "parameter": letter, "meaning": meaning, "estimate": estimate,
                     "se": se,
                     "lower_95": estimate - critical * se, "upper_95": estimate + critical * se})  # fmt: skip
    more = derived_value(name, fit, df)
    return rows + ([{"group": group, "curve": name, **more}] if more else [])


def curve_figure(data, fits, x, y, title):
    """Draw the points and the fitted curve of every group."""
    import numpy as np

    figure, axis = new_axes(width=6.4, height=4.6)
    for (group, (across, up)), colour in zip(data.items(), palette(len(data)), strict=True):
        axis.scatter(across, up, s=18, color=colour, alpha=0.75, edgecolor="white", linewidth=0.4)
        if group in fits:
            name, fit = fits[group]
            low = max(across.min(), 1e-12) if name == "power" else across.min()
            line = np.linspace(low, across.max(), 300)
            axis.plot(
                line,
                fit["value"](line, fit["parameters"]) * np.ones(300),
                color=colour,
                label=f"{group} (n = {len(across)})",
            )
    if len(data) > 1:
        axis.legend(frameon=False, fontsize=8, bbox_to_anchor=(1.01, 1), loc="upper left")
    axis.set_xlabel(x)
    axis.set_ylabel(y)
    axis.set_title(title, fontsize=10)
    return figure


@tool(
    name="nonlinear_fit",
    title="Fit of a named curve or of a formula",
    description=(
        "Fit a curve with a name, or a formula that you write (`a*(1 - exp(-b*x))`), to points by nonlinear least "
        "squares: exponential decay or growth, decay to a "
        "level, saturating "
        "exponential, rectangular hyperbola (of the Michaelis form), power law, logistic, Gompertz, von "
        "Bertalanffy; parameters "
        "with meaning, standard error and 95 % interval, half-life or doubling, all curves compared by AICc, by "
        "group. Starting "
        "values are found from the data. Points are independent and scatter alike."
    ),
    domain="statistics",
    task_type="analysis",
    methods=(
        "formula => least-squares fit of {formula}, because the formula is given",
        "model=auto => curves of several kinds by least squares, the best by AICc, because none is named",
        "{model} curve by least squares",
    ),
    complete=("y", "x", "group"),
    answers=["nonlinear_fit"],
    inputs={"table": "table: one row a point"},
    outputs={
        "parameters": "table: parameters with intervals and what they mean",
        "curves": "table: every curve with residual SD, R2 and AICc",
        "curve_plot": "figure: points and curves",
    },
    params={
        "y": param("The measurement", kind="column", of="table", role="measure"),
        "x": param("What the curve runs along", kind="column", of="table", role="x"),
        "group": param("One curve for each level", kind="column", of="table", role="split", distinct=MOST_GROUPS),
        "model": param(
            "The curve; auto takes the one with the smallest AICc",
            choices=["auto", "exponential", "exponential_floor", "saturating", "hyperbola", "power", "logistic",
                     "gompertz",
                     "von_bertalanffy"],
            words=["von_bertalanffy: (?:von )?bertalanff\\w*", "gompertz: gompert\\w*",
                   "hyperbola: hyperbol\\w*|michaelis|light response",
                   "exponential_floor: newton|cooling|(?:with|to) an? (?:floor|level)|"
                   "(?:decay|decreas|declin|fall|drop)\\w*[^.?!]{0,20} (?:to|towards) (?:an? |the |some )?"
                   "(?:non-?zero |lower )?(?:plateau|floor|baseline|constant|residual|asymptote|background)",
                   "saturating: saturat\\w*|asymptotic(?: exponential)?|level(?:s|ling)? "
                   "off|flatten\\w*|plateau|ceiling|"
                   "exponential rise to",
                   "power: power.?(?:law|curve|function)?\\b(?! of\\b)|allometr\\w*|species.area",
                   "logistic: logistic|s.?shaped|s.?curve|sigmoid\\w*",
                   "exponential: exp(?:onential\\w*)?\\b|decays?|half.?(?:life|time)|doubl\\w*"],
        ),
        "formula": param("A formula of x to fit in place of a named curve, all other names its parameters, such as "
                         "a*(1 - exp(-b*x)); ^ is a power", role="curve", of="x", words=FORMULA_SAID),
    },
    checks=("tables_not_empty", "findings_match_tables", "curve_parameters_in_intervals"),
    keywords=("nonlinear regression", "nls", "curve fitting", "exponential decay", "exponential growth", "half-life",
              "saturating curve", "plateau", "power law", "allometry", "allometric exponent", "logistic curve",
              "Gompertz curve", "von Bertalanffy", "rectangular hyperbola", "species-area", "asymptote",
              "rate constant", "my own formula", "user-defined function", "custom equation"),
    citations=(
        Citation(title="Nonlinear Regression Analysis and Its Applications", authors="Bates DM, Watts DG", year=1988,
                 doi="10.1002/9780470316757"),
        Citation(title="Regression and time series model selection in small samples", authors="Hurvich CM, Tsai CL",
                 year=1989,
                 doi="10.1093/biomet/76.2.297"),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=4.0,
    example="Fit an exponential decay to activity over days and give the half-life.",
    next_steps=(
        NextStep(text="Look at the points about the curve in the figure: a bend left over means another curve, a "
                      "fan means that "
                      "the scatter grows and logarithms fit better."),
    ),
)  # fmt: skip
def nonlinear_fit(table, *, y: str, x: str, group: str = "", model: str = "auto", formula: str = ""):
    """Fit a named curve, or a formula, to points."""
    import numpy as np
    import pandas as pd

    chosen = [name for name in (x, y, group) if name]
    if len(set(chosen)) < len(chosen):
        raise ValueError(f"The same column serves twice ({', '.join(chosen)}); expected different columns.")
    table = plain_table(table)
    require_columns(table, chosen)
    table, warnings = complete_rows(table, chosen)
    across, up = numeric_values(table, x), numeric_values(table, y)
    labels = level_labels(table[group]) if group else pd.Series("all", index=table.index)
    levels = order_levels(labels)
    if len(levels) > MOST_GROUPS:
        raise ValueError(f"Column {group!r} has {len(levels)} different values; expected at most {MOST_GROUPS} groups.")
    if model == "power" and (across <= 0).any():
        raise ValueError(f"{int((across <= 0).sum())} values of {x!r} are 0 or below; a power law needs positive "
                         f"ones. Leave "
                         "these rows out.")  # fmt: skip
    own = read_formula(formula, x, table.columns) if formula.strip() else None
    if own:
        model = "formula"
    same = "exponential_floor" if model == "von_bertalanffy" else "von_bertalanffy"  # one curve, written in two ways
    names = [name for name in curve_meanings() if name != same]
    shown = {name: meaning[0] for name, meaning in curve_meanings().items()}
    rows, table_rows, fits, data = [], [], {}, {}
    for level in levels:
        at = (labels == level).to_numpy()
        px, py = across[at].to_numpy(), up[at].to_numpy()
        data[level] = (px, py)
        who = f"{group} {level}" if group else "the points"
        if len(px) < 4 or len(np.unique(px)) < 3 or np.ptp(py) == 0:
            problem = f"{who}: {len(px)} points at {len(np.unique(px))} values of {x} cannot carry a curve"
            if len(levels) == 1:
                raise ValueError(f"{problem}; expected at least 4 points at 3 values that vary in {y}.")
            warnings.append(problem + ".")
            continue
        tried = {name: fit for name in names if (fit := fit_curve(name, px, py)) is not None}
        if own and (fit := fit_formula(*own, px, py)) is not None:
            loose = undetermined_parameters(fit, px, own[2])
            if loose:
                raise ValueError(f"The data ({who}) do not determine {' and '.join(loose)} of the formula "
                                 f"{formula!r}: the curve stays the same while they change. Write it with fewer "
                                 "parameters.")  # fmt: skip
            tried["formula"] = fit | {"meanings": [(name, "as in the formula") for name in own[2]]}
        scores = {name: curve_score(fit, len(px)) for name, fit in tried.items()}
        best = min(scores, key=scores.get) if scores else ""
        use = best if model == "auto" else model
        if use not in tried:
            called = formula if own else (use or "asked for").replace("_", " ")
            problem = f"The curve {called} cannot be fitted to {who}: the points do not determine it"
            if len(levels) == 1:
                raise ValueError(f"{problem}. Take another curve, or auto.")
            warnings.append(problem + ".")
            continue
        fits[level] = (use, tried[use])
        rows += curve_rows(level, use, tried[use], len(px))
        total = float(((py - py.mean()) ** 2).sum())
        for name, fit in sorted(tried.items(), key=lambda item: scores[item[0]]):
            df = len(px) - len(fit["parameters"])
            table_rows.append({"group": level, "curve": name, "formula": shown.get(name, formula), "n": len(px),
                               "residual_sd": (fit["rss"] / df) ** 0.5, "df": df, "R2": 1 - fit["rss"] / total,
                               "AICc": scores[name], "delta_AICc": scores[name] - scores[best] if name != best else 0.0,
                               "used": int(name == use)})  # fmt: skip
        if model != "auto" and scores[use] - scores[best] > 4:
            warnings.append(f"{who}: the curve {best.replace('_', ' ')} fits clearly better than "
                            f"{use.replace('_', ' ')} (AICc "
                            f"smaller by {scores[use] - scores[best]:.1f}).")  # fmt: skip
        plateau = use not in ("exponential", "exponential_floor", "power", "formula")
        if plateau and abs(tried[use]["parameters"][0]) > 1.5 * np.abs(py).max():
            warnings.append(f"{who}: the plateau lies far above all points "
                            f"({format_number(tried[use]['parameters'][0])} against "
                            f"at most {format_number(float(py.max()))}): it is a guess beyond the data.")  # fmt: skip
    if not fits:
        raise ValueError("No group has enough points for a curve; expected at least 4 at 3 values each.")
    if model == "auto":
        warnings.append(
            "The curve was chosen among seven by AICc on the same points; take the one your theory names if it does."
        )
    if across.duplicated().sum() == 0 and len(across) < 8:
        warnings.append(
            f"{len(across)} points are few for a curve: the intervals, which lean on many points, are too narrow."
        )
    warnings.append(
        "Intervals take the points as independent; repeated measurements of one subject make them too narrow."
    )
    parameters, curves = pd.DataFrame(rows), pd.DataFrame(table_rows)
    findings = []
    for level, (name, _) in list(fits.items())[:8]:
        part = [row for row in rows if row["group"] == level]
        quality = next(row for row in table_rows if row["group"] == level and row["used"])
        told = "; ".join(
            f"{row['parameter']} = {format_number(row['estimate'])} ("
            + (f"95 % CI {format_number(row['lower_95'])} to {format_number(row['upper_95'])}"
               if row["lower_95"] == row["lower_95"]
               else "no interval: the rate may be 0") + ("" if own else f"; {row['meaning']}") + ")"
            for row in part
        )  # fmt: skip
        times = [row for row in part if row["meaning"].startswith(("half-life", "doubling"))]
        span = next((row for row in times if row["lower_95"] == row["lower_95"]), None)
        derived = ""
        if span:
            interval = f"95 % CI {format_number(span['lower_95'])} to {format_number(span['upper_95'])}"
            verb = "halves" if span["meaning"].startswith("half") else "doubles"
            derived = f"{verb} every {format_number(span['estimate'])} ({interval}) and "
        words = name.replace("_", " ").replace("von bertalanffy", "von Bertalanffy").replace("gompertz", "Gompertz")
        findings.append({
            "text": f"{f'{group} {level}: ' if group else ''}{y} along {x} {derived}follows "
                    f"{'the formula' if own else f'the {words} curve'} {quality['formula']} with "
                    f"{told}; residual SD {format_number(quality['residual_sd'])}, R2 {quality['R2']:.3f}, n = "
                    f"{quality['n']}.",
            "values": finding_values(**{f"{row['parameter']}": (row["estimate"], row["lower_95"], row["upper_95"])
                                        for row in part}),
            "output": "parameters"})  # fmt: skip
    used = {name for name, _ in fits.values()}
    title = shown.get(next(iter(used)), formula) if len(used) == 1 else "curves by group"
    return {"parameters": parameters, "curves": curves, "curve_plot": curve_figure(data, fits, x, y, title),
            "findings": findings, "warnings": warnings}  # fmt: skip
