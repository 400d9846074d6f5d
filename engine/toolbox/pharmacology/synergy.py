"""More than the two alone: what both drugs do together against what each does by itself, by three references.

That a combination beats either drug proves nothing, since two drugs that ignore each other do so too. What "more than
expected" means depends on the reference, so Bliss, HSA and Loewe are all said, each with what it rests on.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.domain.toolspec import Citation, NextStep
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.pharmacology.fitting import (
    hidden_groups,
    positive_column,
    said_range,
    separating_column,
    split_curves,
)
from engine.toolbox.pharmacology.synergy_models import (
    effects_of,
    log_dose_alone,
    measured,
    pair_columns,
    reading_of,
    summary_rows,
)
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    format_p,
    level_labels,
    new_axes,
    numeric_values,
)
from engine.toolbox.tables.rows import table_row


@check("excess_is_what_is_left")
def excess_is_what_is_left(step: StepOutputs) -> Iterator[Issue]:
    """Every excess is the effect minus what is expected, and Bliss never expects less than the better of the two."""
    table = step.table("pairs")
    for name in ("bliss", "hsa", "loewe"):
        known = table.dropna(subset=[f"{name}_excess"])
        if ((known["effect"] - known[f"{name}_expected"] - known[f"{name}_excess"]).abs() > 1e-6).any():
            message = f"An excess over {name} is not the effect minus what is expected."
            yield Issue(code="excess_differs", severity="error", message=message, where="pairs")
    summary = step.table("summary").dropna(subset=["lower_95"])
    if ((summary["mean_excess"] < summary["lower_95"]) | (summary["mean_excess"] > summary["upper_95"])).any():
        message = "A mean excess lies outside its own interval."
        yield Issue(code="interval_without_estimate", severity="error", message=message, where="summary")


def refuse_thin_doses(name, a, b, first, second):
    """Raise ValueError where the rows cannot show what two drugs do together."""
    of = "" if name == "all" else f"{name}: "
    for dose, drug in ((a, first), (b, second)):
        if not (dose > 0).any():
            raise ValueError(f"{of}{drug} is 0 in every row, so only one drug was given; expected doses of two drugs.")
    if not ((a > 0) & (b > 0)).any():
        raise ValueError(
            f"{of}no row gives {first} and {second} together; expected rows in which both doses are above 0."
        )
    for own, other, drug, left in ((a, b, first, second), (b, a, second, first)):
        if not ((own > 0) & (other == 0)).any():
            raise ValueError(
                f"{of}no row gives {drug} alone ({left} 0), so what it does by itself is unknown; expected "
                "single-agent rows of both drugs. Add them."
            )


def way_of(row):
    """Return "more", "less" or "" for a mean excess by its p-value; "" too where there is no interval."""
    return "" if not row["p_value"] < 0.05 else "more" if row["mean_excess"] > 0 else "less"


def in_doubt(way):
    """Return the references that contradict Bliss: Loewe with any other verdict, the better alone with the opposite.

    Between the better alone and Bliss lies much that is less than the one and more than the other, which is said so.
    """
    other = {"Loewe": lambda one, two: one != two, "HSA": lambda one, two: {one, two} == {"more", "less"}}
    return [name for name, differs in other.items() if name in way and differs(way["Bliss"], way[name])]


def synergy_sentences(rows, first, second, who):
    """Return a sentence per reference: Bliss first, with what the others say in words and where they disagree."""
    way = {row["model"]: way_of(row) for row in rows if row["lower_95"] == row["lower_95"]}
    doubt = in_doubt(way) if "Bliss" in way else []
    beyond = {"HSA": "the better of the two alone", "Loewe": "what Loewe additivity expects"}
    sentences = []
    for row in rows:
        name, excess = row["model"], row["mean_excess"]
        verdicts = {"more": "Synergy", "less": "Antagonism", "": "Neither synergy nor antagonism is shown"}
        judgement = verdicts[way[name]] if name in way else "Not judged"
        if name == "HSA":
            start = f"Against the better of the two alone (HSA){who}, {first} with {second} does"
        else:
            by = "Bliss independence" if name == "Bliss" else "Loewe additivity"
            start = f"{judgement} by {by}{who}: {first} with {second} does"
        if name == "Bliss":
            assumed = "which assumes that the drugs act independently of each other"
            against = [
                f"{verdicts[way[other]][0].lower()}{verdicts[way[other]][1:]} against "
                + (
                    "Loewe additivity, which fits drugs of one action"
                    if other == "Loewe"
                    else "the better of the two alone"
                )
                for other in doubt
            ]
            verdict = f"{judgement[0].lower()}{judgement[1:]}" if doubt else judgement
            start = f"{verdict} by Bliss independence{'' if doubt else who}, {assumed}"
            if doubt:
                start = f"The reference models disagree{who}: {start}, but {' and '.join(against)}"
            start += f": {first} with {second} does"
        text = f"{start} {format_number(abs(excess))} points of effect {'more' if excess >= 0 else 'less'} on average"
        text += f" over {row['pairs']} dose pairs ({said_range(row['lower_95'], row['upper_95'])}"
        text += f"; {format_p(row['p_value'])}" if row["p_value"] == row["p_value"] else ""
        text += ")"
        if row["pairs_above"] or row["pairs_below"]:
            text += f"; pair by pair, more at {row['pairs_above']} and less at {row['pairs_below']} of these (Holm)"
        if name == "Loewe" and row.get("combination_index") == row.get("combination_index", float("nan")):
            index = said_range(row["index_lower_95"], row["index_upper_95"])
            text += f"; combination index {format_number(row['combination_index'])} ({index}; less than 1 is synergy)"
        if name == "Bliss":
            others = [
                f"{way[other]} than {what}" if way[other] else f"not shown to differ from {what}"
                for other, what in beyond.items()
                if other in way and name in way
            ]
            text += f"; {' and '.join(others)}" if others else ""
        sentences.append((text + ".", row))
    return sentences


def synergy_remarks(of, found, columns, first, second, f):
    """Return what a careful reader must know of one set of dose pairs."""
    import numpy as np

    remarks, n = [], len(columns["dose_a"])
    names = {"a": first, "b": second}
    for drug, why in found["lacking"].items():
        remarks.append(f"{of}Loewe additivity is not defined for {names[drug]}: {why}.")
    bare = int(np.isnan(columns["bliss_excess"]).sum())
    if bare:
        remarks.append(
            f"{of}{bare} of {n} dose pairs have a dose that was not given alone; Bliss and HSA are not known there."
        )
    if found["curves"] is not None:
        without = int(np.isnan(columns["loewe_excess"]).sum())
        top = 100 * min(theta[0] for theta in found["curves"])
        if without:
            remarks.append(
                f"{of}Loewe additivity is not defined at {without} of {n} dose pairs, where it would exceed the "
                f"{top:.0f} % that the weaker drug reaches alone; they are left out of its mean."
            )
        expected = columns["loewe_expected"][~np.isnan(columns["loewe_expected"])] / 100
        far = np.zeros(len(expected), dtype=bool)
        for drug, theta in zip("ab", found["curves"], strict=True):
            far |= np.exp(log_dose_alone(theta, expected)) > 1.001 * found["fits"][drug]["span"][1]
        if far.sum() > len(expected) / 4:
            remarks.append(
                f"{of}at {int(far.sum())} of {len(expected)} dose pairs Loewe additivity needs doses of one drug alone "
                "above the highest that was given: there it is extrapolated."
            )
    if found["source"] == "curves":
        remarks.append(
            f"{of}no dose pair was repeated; intervals rest on the scatter of single drugs around their curves."
        )
    elif not found["source"]:
        remarks.append(f"{of}no dose pair was repeated and single drugs have no curve: no interval can be given.")
    elif found["source"] == "wells":
        few = f" and only {found['df']} repeats" if found["df"] < 10 else ""
        remarks.append(
            f"{of}intervals come from repeated wells{few}, each taken as independent; three or more plates or days "
            "that hold every dose pair (replicate) would say what another experiment shows."
        )
    if f.min() < -0.3:
        remarks.append(f"{of}some wells show {-100 * f.min():.0f} % more than untreated ones: look at these wells.")
    return remarks


def telling_pairs(pairs, summary, name):
    """Return the dose pair furthest from Bliss on the side of the mean, on both sides where single pairs show both."""
    mine = pairs[(pairs["curve"] == name) & pairs["bliss_excess"].notna()]
    row = summary[(summary["curve"] == name) & (summary["model"] == "Bliss")]
    if not len(mine) or not len(row):
        return []
    row = row.iloc[0]
    both = row["pairs_above"] > 0 and row["pairs_below"] > 0
    most, least = mine.nlargest(1, "bliss_excess"), mine.nsmallest(1, "bliss_excess")
    chosen = [most, least] if both else [most if row["mean_excess"] >= 0 else least]
    return [one for part in chosen for one in part.to_dict("records")]


def draw_excess(axis, doses_a, doses_b, values, shown, first, second, title, largest):
    """Draw an excess over the grid of dose pairs in colours, with its number, and a star where it is shown."""
    import numpy as np

    a, b = np.unique(doses_a), np.unique(doses_b)
    grid, stars = np.full((len(b), len(a)), np.nan), np.zeros((len(b), len(a)), dtype=bool)
    at = np.searchsorted(b, doses_b), np.searchsorted(a, doses_a)
    grid[at], stars[at] = values, shown
    image = axis.imshow(grid, origin="lower", cmap="RdBu_r", vmin=-largest, vmax=largest, aspect="auto")
    if grid.size <= 120:
        for (row, column), value in np.ndenumerate(grid):
            if value == value:
                dark = abs(value) > 0.6 * largest
                text = f"{round(value) + 0}{'*' if stars[row, column] else ''}"
                axis.text(column, row, text, ha="center", va="center", fontsize=7, color="white" if dark else "black")
    axis.set_xticks(range(len(a)), [f"{dose:.3g}" for dose in a], fontsize=8, rotation=45 if len(a) > 6 else 0)
    axis.set_yticks(range(len(b)), [f"{dose:.3g}" for dose in b], fontsize=8)
    axis.set_xlabel(first)
    axis.set_ylabel(second)
    axis.set_title(title, fontsize=10)
    return image


@tool(
    name="drug_synergy",
    title="Synergy of two drugs",
    description=(
        "Compares what two drugs do together with what each does alone: excess over Bliss independence, over the "
        "highest single agent (HSA) and over Loewe additivity (with combination index), and says where these "
        "disagree, for every dose pair and on average, with 95 % intervals from replicate plates or resampled wells, "
        "and a heat map."
    ),
    domain="pharmacology",
    task_type="analysis",
    methods=(
        "excess over Bliss, highest single agent and Loewe, with intervals from plates or resampled wells, "
        "because both single doses are measured beside the pair",
    ),
    inputs={"table": "table: one row a well with the doses of both drugs and a response"},
    outputs={
        "summary": "table: mean excess over every reference, with interval",
        "pairs": "table: effect, expected effect and excess of every dose pair, in percent",
        "synergy_plot": "figure: heat maps of the excess over the dose pairs",
    },
    params={
        "dose_a": param(
            "Column of doses of the first drug, 0 for none",
            kind="column",
            of="table",
            role="dose",
            called=r"((drug|dose|conc\w*|compound|cpd|d|c) ?)?(a|1|one|row)( (dose|conc\w*|[munp]?[mg]|m?l|kg|per))*",
        ),
        "dose_b": param(
            "Column of doses of the second drug, 0 for none",
            kind="column",
            of="table",
            role="dose",
            called=r"((drug|dose|conc\w*|compound|cpd|d|c) ?)?(b|2|two|col)( (dose|conc\w*|[munp]?[mg]|m?l|kg|per))*",
        ),
        "response": param("Column of the response (viability, inhibition)", kind="column", of="table", role="measure"),
        "group": param(
            "Column that tells cell lines or strains apart", kind="column", of="table", role="group_optional"
        ),
        "replicate": param(
            "Column of plates or experiments that each hold every dose pair",
            kind="column",
            of="table",
            role="group_optional",
            called=r"(bio\w* |tech\w* )?(replicate|repl|rep|plate|run|batch|experiment|exp)( (id|no|nr|number|\d+))?",
        ),
        "reading": param(
            "What a high response means: survival (what is left) or effect (what is lost)",
            choices=["auto", "survival", "effect"],
        ),
        "scale": param(
            "Scale of the response; raw is a signal set against untreated wells",
            choices=["auto", "percent", "fraction", "raw"],
        ),
        "resamples": param("How often wells are drawn anew for the intervals", minimum=100, maximum=5000),
        "seed": param("Seed of the resampling", minimum=0),
        "unit_a": param("Unit of the first drug's doses"),
        "unit_b": param("Unit of the second drug's doses"),
    },
    checks=("tables_not_empty", "p_values_valid", "findings_match_tables", "excess_is_what_is_left"),
    keywords=(
        "synergy",
        "drug combination",
        "Bliss independence",
        "Bliss excess",
        "Bliss score",
        "highest single agent",
        "HSA",
        "Loewe additivity",
        "combination index",
        "isobologram",
        "Chou-Talalay",
        "checkerboard",
        "antagonism",
        "dose matrix",
        "Colby",
        "drug interaction",
    ),
    citations=(
        Citation(
            title="The toxicity of poisons applied jointly",
            authors="Bliss CI",
            year=1939,
            doi="10.1111/j.1744-7348.1939.tb06990.x",
        ),
        Citation(
            title="The problem of synergism and antagonism of combined drugs",
            authors="Loewe S",
            year=1953,
        ),
        Citation(title="What is synergy?", authors="Berenbaum MC", year=1989),
    ),
    packages=("scipy", "numpy", "pandas"),
    seconds=8.0,
    example="Do the two drugs together kill more than expected from each alone?",
    next_steps=(
        NextStep(
            text="Repeat the strongest dose pairs with their single doses on other days before they are relied on."
        ),
    ),
    answers=["drug_synergy"],
)
def drug_synergy(
    table,
    *,
    dose_a: str,
    dose_b: str,
    response: str,
    group: str = "",
    replicate: str = "",
    reading: str = "auto",
    scale: str = "auto",
    resamples: int = 400,
    seed: int = 0,
    unit_a: str = "",
    unit_b: str = "",
):
    """Compare dose pairs with Bliss (1939) independence, the highest single agent and Loewe (1953) additivity.

    Effects f lie from 0 (as untreated) to 1 (nothing left). Bliss expects fa + fb - fa fb, HSA the larger of both,
    Loewe the f at which a / A(f) + b / B(f) = 1, where A and B are doses of the drugs alone from log-logistic curves;
    the combination index is that sum at the effect seen (Berenbaum 1989). Excesses are in percentage points.

    Raises:
        ValueError: for negative doses, one drug only, no single-agent rows, or a response on no known scale.
    """
    import re

    import numpy as np
    import pandas as pd

    table, labels, names, warnings = split_curves(table, [dose_a, dose_b, response], group)
    if not replicate:
        keys = [dose_a, dose_b, *([group] if group else [])]
        found = separating_column(table, keys, {*keys, response})
        if re.match(r"(?i)(bio|tech)?[\W_]*(rep|plate|run|batch|exp|day)", found):
            replicate = found
            warnings.append(f"{replicate} was taken to tell replicate plates apart: each holds a dose pair once.")
    a, b = (positive_column(table, name, "doses").to_numpy() for name in (dose_a, dose_b))
    y = numeric_values(table, response).to_numpy()
    plates = level_labels(table[replicate]).fillna("").to_numpy() if replicate else np.full(len(y), "")
    if re.search(r"(?i)(^|[^a-z])(log|ln)(10|2)?([^a-z]|cfu|$)", response):
        warnings.append(
            f"{response} reads like logarithms; Bliss multiplies shares that survive, so give plain values."
        )
    control = (a == 0) & (b == 0)
    pairs, summary, findings, results, residuals = [], [], [], {}, np.zeros(len(y))
    reading, notes = reading_of(y, a, b, response, reading)
    warnings += notes
    for name in names:
        here = (labels == name).to_numpy()
        refuse_thin_doses(name, a[here], b[here], dose_a, dose_b)
        f, said = effects_of(y[here], control[here], plates[here], response, reading, scale)
        untreated = np.unique(y[here][control[here]])
        exact = len(untreated) == 1 and (control[here].sum() > 1 or untreated[0] in (0, 1, 100))
        found = measured(f, a[here], b[here], plates[here], exact, resamples, seed)
        columns = pair_columns(found)
        rows = [{"curve": name, **row} for row in summary_rows(found, columns)]
        pairs.append(pd.DataFrame({"curve": name, **columns}))
        summary += rows
        of, who = ("", "") if name == "all" else (f"{name}: ", f" in {group} {name}")
        findings += synergy_sentences(rows, dose_a, dose_b, who)
        warnings += [text for text in (of + said,) if name == names[0] or group]
        warnings += synergy_remarks(of, found, columns, dose_a, dose_b, f)
        results[name] = columns
        residuals[here] = f - found["means"][found["place"]]
    if not group:
        warnings += hidden_groups(table, {dose_a, dose_b, response, replicate}, residuals)
    pairs, summary = pd.concat(pairs, ignore_index=True), pd.DataFrame(summary)
    pairs.insert(1, "pair", [f"{x:g} + {z:g}" for x, z in zip(pairs["dose_a"], pairs["dose_b"], strict=True)])
    findings = [
        {
            "text": text,
            "values": finding_values(
                mean_excess=(row["mean_excess"], row["lower_95"], row["upper_95"]),
                p_value=row["p_value"],
                combination_index=(row.get("combination_index"), row.get("index_lower_95"), row.get("index_upper_95")),
            ),
            "output": "summary",
            "row": table_row(summary, curve=row["curve"], model=row["model"]),
        }
        for text, row in findings[:12]
    ]
    for row in [row for name in names[:4] for row in telling_pairs(pairs, summary, name)]:
        low, high, p = row["bliss_lower_95"], row["bliss_upper_95"], row["bliss_p_adj"]
        where = "" if row["curve"] == "all" else f" in {group} {row['curve']}"
        doses = f"{dose_a} {row['dose_a']:g}{' ' + unit_a if unit_a else ''} with "
        doses += f"{dose_b} {row['dose_b']:g}{' ' + unit_b if unit_b else ''}"
        known = f" ({said_range(low, high)}; {format_p(p)} after Holm)" if low == low else ""
        way = "above" if row["bliss_excess"] > 0 else "below"
        findings.append(
            {
                "text": f"The dose pair furthest {way} Bliss{where} is {doses}: "
                f"{format_number(row['bliss_excess'])} points{known}, an effect of {format_number(row['effect'])} % "
                f"where {format_number(row['bliss_expected'])} % is expected.",
                "values": finding_values(
                    bliss_excess=(row["bliss_excess"], low, high),
                    effect=row["effect"],
                    bliss_expected=row["bliss_expected"],
                ),
                "output": "pairs",
                "row": table_row(pairs, curve=row["curve"], pair=row["pair"]),
            }
        )
    maps = [(name, "bliss") for name in names[:6]]
    if len(names) == 1:
        maps = [("all" if not group else names[0], key) for key in ("bliss", "hsa", "loewe")]
        maps = [(name, key) for name, key in maps if np.isfinite(results[name][f"{key}_excess"]).any()]
    largest = max(5.0, float(np.nanmax(np.abs(pairs[[f"{key}_excess" for _, key in maps]].to_numpy()))))
    figure, axes = new_axes(width=0.8 + 3.9 * len(maps), height=3.9, panels=len(maps))
    titles = {"bliss": "over Bliss", "hsa": "over the better alone (HSA)", "loewe": "over Loewe"}
    drugs = [f"{drug} ({unit})" if unit else drug for drug, unit in ((dose_a, unit_a), (dose_b, unit_b))]
    image = None
    for axis, (name, key) in zip(np.atleast_1d(axes), maps, strict=True):
        own = results[name]
        title = f"{name}: {titles[key]}" if group else titles[key]
        shown = own[f"{key}_p_adj"] < 0.05
        image = draw_excess(axis, own["dose_a"], own["dose_b"], own[f"{key}_excess"], shown, *drugs, title, largest)
    figure.colorbar(image, ax=np.atleast_1d(axes)[-1], label="excess effect, points (* p < 0.05, Holm)")
    return {
        "summary": summary,
        "pairs": pairs,
        "synergy_plot": figure,
        "findings": findings,
        "warnings": warnings,
    }
