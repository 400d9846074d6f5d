"""Why these: before any analysis someone joins a sheet, drops rows or takes a logarithm, and silently loses data.

Every tool here counts what it dropped or could not compute. Conditions and formulas are read by a small evaluator
(`expressions.py`) that can run nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator

from engine.domain.results import Issue
from engine.toolbox.checks import StepOutputs, check
from engine.toolbox.registry import param, tool
from engine.toolbox.tables.columns import (
    finding_values,
    format_number,
    level_labels,
    numeric_values,
    plain_table,
    require_columns,
    whole_or_short,
)
from engine.toolbox.tables.expressions import evaluate_expression


@check("filter_condition_holds")
def filter_condition_holds(step: StepOutputs) -> Iterator[Issue]:
    """Every row that was kept meets the condition, evaluated again on the stored file."""
    condition = str(step.params.get("condition", ""))
    if not condition or "filtered" not in step.files:
        return
    table = step.table("filtered")
    try:
        kept = evaluate_expression(condition, table)
    except ValueError as error:
        message = f"The condition cannot be evaluated on the stored rows: {error}"
        yield Issue(code="condition_unreadable", severity="warning", message=message, where="filtered")
        return
    wrong = int((~kept.fillna(False).astype(bool)).sum())
    if wrong:
        message = f"{wrong} of {len(table)} stored rows do not meet the condition {condition!r}."
        yield Issue(code="condition_broken", severity="error", message=message, where="filtered")


@check("filtered_rows_in_order")
def filtered_rows_in_order(step: StepOutputs) -> Iterator[Issue]:
    """The stored rows stand in the order that was asked for, and are not more than were asked for."""
    sort_by, top = str(step.params.get("sort_by") or ""), int(step.params.get("top_n") or 0)
    if not sort_by or "filtered" not in step.files:
        return
    table = step.table("filtered")
    key = sort_key(table, sort_by).dropna()
    rising = step.params.get("order") == "ascending"
    if not (key.is_monotonic_increasing if rising else key.is_monotonic_decreasing):
        message = f"The stored rows are not in {'ascending' if rising else 'descending'} order of {sort_by!r}."
        yield Issue(code="order_broken", severity="error", message=message, where="filtered")
    if top and len(table) > top:
        message = f"{len(table)} rows are stored, but {top} were asked for."
        yield Issue(code="too_many_rows", severity="error", message=message, where="filtered")


def sort_key(table, name):
    """Return what the rows are ordered by: numbers, dates with the year first, or text in alphabetical order."""
    import pandas as pd

    column = table[name]
    if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_datetime64_any_dtype(column):
        return column
    text = level_labels(column)
    known = text.dropna().astype(str)
    if len(known) and pd.to_numeric(known, errors="coerce").notna().mean() > 0.5:
        return numeric_values(table, name)
    if len(known) and known.str.fullmatch(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}").all():
        raise ValueError(
            f"Column {name!r} holds dates such as {known.iloc[0]!r}, whose order cannot be told; write them year first "
            "(2024-03-31) or choose another column."
        )
    return text.str.casefold()


def summarise_rows(table, by, aggregate):
    """Return one row for each level of `by` (its number of rows, the summary of every other column), and warnings."""
    import pandas as pd

    if aggregate not in ("mean", "median", "sum", "max", "min", "count"):
        raise ValueError(f"Rows summarised by {by!r} need to know how; expected mean, median, sum, max, min or count.")
    others = [name for name in table.columns if name != by]
    if aggregate != "count":
        others = [n for n in others if pd.api.types.is_numeric_dtype(table[n]) and table[n].dtype != bool]
    labels = level_labels(table[by])
    groups = table.assign(**{by: labels}).groupby(by, sort=False)
    summary = groups[others].agg(aggregate).reset_index()
    summary.insert(1, "rows" if "rows" not in others else "rows in group", groups.size().to_numpy())
    missing = int(labels.isna().sum())
    return summary, [f"{missing} of {len(table)} rows have no {by} and were left out."] if missing else []


def rows_in_order(table, sort_by, order, top_n):
    """Return the rows in order, the first `top_n` of them unless it is 0, and warnings."""
    if order not in ("descending", "ascending"):
        raise ValueError(f"There is no order {order!r}; expected descending or ascending.")
    key = sort_key(table, sort_by)
    ordered = table.loc[key.sort_values(ascending=order == "ascending", kind="stable", na_position="last").index]
    key, warnings = key.loc[ordered.index], []
    missing = int(key.isna().sum())
    if missing == len(table):
        raise ValueError(f"Column {sort_by!r} has no values here to order the rows by; choose another column.")
    if missing:
        fate = "were left out" if top_n else "stand last"
        warnings.append(f"{missing} of {len(table)} rows have no {sort_by} and {fate}.")
    if not top_n:
        return ordered, warnings
    known = int(key.notna().sum())
    if known < top_n:
        warnings.append(f"Only {known} rows have a {sort_by}; {top_n} were asked for.")
    elif known > top_n and (ties := int((key == key.iloc[top_n - 1]).iloc[top_n:].sum())):
        last = ordered[sort_by].iloc[top_n - 1]
        warnings.append(f"{ties} further rows have the same {sort_by} as the last one shown ({last}).")
    return ordered.iloc[: min(top_n, known)], warnings


def condition_in_words(condition):
    """Return a condition as it is said: "`sex` in ['F'] and `age` > 60" as `sex is F and age > 60`."""
    import re

    def either(match):
        values = re.findall(r"'[^']*'|\"[^\"]*\"|[^\s,][^,]*", match[1])  # a comma in quotes parts nothing
        return " or ".join(value.strip().strip("'\"") for value in values)

    of_subjects = r"count_of\((`[^`]+` in \[[^]]*\]), `([^`]+)`\) (?:(== 0)|> 0)"
    condition = re.sub(of_subjects, lambda m: f"{'no' if m[3] else 'a'} row of the {m[2]} has {m[1]}", condition)
    condition = re.sub(r"\((`[^`]+` not in \[[^\]]*\]) or is_missing\(`[^`]+`\)\)", r"\1", condition)
    text = re.sub(r"is_missing\(`([^`]+)`\)", r"\1 is empty", condition)
    text = re.sub(r"`([^`]+)`", r"\1", text)
    text = re.sub(r" not in \[([^]]*)\]", lambda match: f" is not {either(match)}", text)
    return re.sub(r" in \[([^]]*)\]", lambda match: f" is {either(match)}", text)


def naming_column(table, *without):
    """Return the first column whose values are all there and name one row each, "" where none does."""
    import pandas as pd

    able = (name for name in table.columns if name not in without and not pd.api.types.is_float_dtype(table[name]))
    return next((name for name in able if table[name].notna().all() and table[name].is_unique), "")


def named_rows(kept, whole, condition):
    """Return which few rows meet a condition, as the end of a sentence: by what names all rows or, of these, a text."""
    asked = [column for column in whole.columns if f"`{column}`" in condition]
    among = naming_column(kept, *asked)
    name = naming_column(whole, *asked) or (among if among and kept[among].dtype == object else "")
    if not name or len(kept) > 12:
        return ""
    return f": {name} {', '.join(str(value) for value in kept[name])}"


def describe_order(table, total, sort_by, order, top_n):
    """Return the finding on rows in order: their number, range and the first few by name where a column names them."""
    import pandas as pd

    numeric = pd.api.types.is_numeric_dtype(table[sort_by])
    low, high = ("lowest", "highest") if numeric else ("first", "last")
    end = high if order == "descending" else low
    first, last = table[sort_by].iloc[0], table[sort_by].dropna().iloc[-1]
    shown = [whole_or_short(value, 6) if numeric else str(value) for value in (first, last)]
    names = naming_column(table, sort_by)
    ahead = table.iloc[: 10 if top_n else 5]
    beside = [f" ({whole_or_short(value, 4)})" if numeric and value == value else "" for value in ahead[sort_by]]
    head = ", ".join(f"{name}{value}" for name, value in zip(ahead[names], beside, strict=True)) if names else ""
    what = f"The {len(table)} of {total} rows with the {end} {sort_by}" if top_n else f"{len(table)} rows by {sort_by}"
    told = f": {names} {head}{'' if len(ahead) == len(table) else ', ...'};" if head else ","
    text = f"{what}{told} in {order} order from {shown[0]} to {shown[1]}."
    ends = {"first": float(first), "last": float(last)} if numeric else {}
    values = finding_values(n_kept=len(table), n_rows=total, **ends)
    return {"text": text, "values": values, "output": "filtered"}


@tool(
    name="filter_rows",
    title="Keep the rows that meet a condition",
    description=(
        "Keep the rows of a table for which a condition is true, for example `p_adj < 0.05 and symbol == 'TP53'`, put "
        "them in order of a column, or both; `top_n` keeps the first of them (the ten heaviest). With `by`, each level "
        "of that column becomes one row of summaries (mean, sum, count...) first, and condition and order are about "
        "these. Columns, numbers, texts in quotes, comparisons, and/or/not, `in [...]`, arithmetic and abs, log2, "
        "contains, startswith, is_missing. A condition on a missing value is neither true nor false: such rows are "
        "left out and counted, also for `!=` and `not`."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=(
        "rows that meet the condition; no test",
    ),
    inputs={"table": "table: any table"},
    outputs={"filtered": "table: the rows that meet the condition, in order"},
    params={
        "condition": param("The condition; column names with blanks in `back quotes`; empty for all rows", role='rows'),
        "sort_by": param("Column that the rows are put in order of; empty to leave their order", kind="column",
                         of="table", role='sort'),
        "order": param("Highest or lowest first", choices=["descending", "ascending"],
                       words=['ascending: ascend\\w*|lowest|smallest|fewest|lightest|shortest|youngest|earliest',
                              'descending: descend\\w*|highest|largest|most|heaviest|longest|tallest|oldest|latest']),
        "top_n": param("How many rows to keep of those in order; 0 for all", minimum=0),
        "by": param("Column whose levels are summarised to one row each before all this; empty for rows as they are",
                    kind="column", of="table", role='by'),
        "aggregate": param("How the rows of a level are summarised",
                           choices=["none", "mean", "median", "sum", "max", "min", "count"],
                           words=['mean: on average|averag\\w*|means?\\b', 'median: medians?\\b',
                                  'sum: in total|totals?\\b|altogether|summed']),
    },
    checks=("tables_not_empty", "filter_condition_holds", "filtered_rows_in_order"),
    keywords=("filter", "subset", "select rows", "only", "where", "threshold", "cut-off", "exclude", "keep",
              "remove rows", "sort", "order", "rank", "top", "list the highest"),
    packages=("pandas",),
    seconds=1.0,
    example="Keep only the female penguins heavier than 4 kg.",
    answers=['filter_rows'],
)  # fmt: skip
def filter_rows(
    table,
    *,
    condition: str = "",
    sort_by: str = "",
    order: str = "descending",
    top_n: int = 0,
    by: str = "",
    aggregate: str = "none",
):
    """Keep the rows that meet a condition, put them in order, or both."""
    import pandas as pd

    table, warnings, findings = plain_table(table), [], []
    if not condition.strip() and not sort_by:
        raise ValueError("Neither a condition nor a column to order by is given; expected at least one of them.")
    if top_n and not sort_by:
        raise ValueError(f"The first {top_n} rows are wanted, but not in the order of which column; give sort_by.")
    if aggregate != "none" and not by:
        raise ValueError(f"The {aggregate} needs a column whose levels are summarised; give `by`.")
    if by:
        require_columns(table, [by])
        table, warnings = summarise_rows(table, by, aggregate)
    require_columns(table, [sort_by] if sort_by else [])
    total, filtered = len(table), table
    if condition.strip():
        kept = evaluate_expression(condition, table)
        if not isinstance(kept, pd.Series) or not (kept.dtype == "boolean" or pd.api.types.is_bool_dtype(kept)):
            raise ValueError(f"{condition!r} is not a condition; expected a comparison such as body_mass_g > 4000.")
        unknown = int(kept.isna().sum())
        filtered = table[kept.fillna(False).astype(bool)]
        if filtered.empty:
            raise ValueError(
                f"No row of {total} meets the condition {condition!r}"
                + (f" ({unknown} have a missing value in it)" if unknown else "")
                + "; loosen it or check the spelling of its values."
            )
        if unknown:
            warnings.append(f"{unknown} of {total} rows were left out because a value in the condition is missing.")
        what = f"levels of {by}, by their {aggregate}," if by else "rows"
        findings = [
            {"text": f"In {len(filtered)} of {total} {what} {condition_in_words(condition)}"
                     f"{named_rows(filtered, table, condition)}.",
             "values": finding_values(n_kept=len(filtered), n_rows=total, n_unknown=unknown), "output": "filtered"}
        ]  # fmt: skip
    if sort_by:
        of = len(filtered)
        filtered, notes = rows_in_order(filtered, sort_by, order, top_n)
        warnings += notes
        findings.append(describe_order(filtered, of, sort_by, order, top_n))
    return {"filtered": filtered.reset_index(drop=True), "findings": findings, "warnings": warnings}


@tool(
    name="derive_column",
    title="Add a column calculated from others",
    description=(
        "Add a column computed by a formula from the others, for example `log2(treated / control)` or `weight_kg / "
        "height_m ** 2`: + - * / % **, log2, log10, log (natural), log1p, exp, sqrt, abs, round, floor, ceil, and "
        "comparisons, which give true or false; `days_between(entry, exit)` of two columns of dates. Where a value is "
        "missing, or the result is not finite (division by zero, logarithm of zero), the new value is missing, and "
        "counted."
    ),
    domain="data handling",
    task_type="preprocessing",
    methods=(
        "formula in every row; no test",
    ),
    inputs={"table": "table: any table"},
    outputs={"derived": "table: the table with the new column last"},
    params={
        "name": param("Name of the new column", role='new_name'),
        "expression": param("The formula; column names with blanks in `back quotes`. part(sample, '_', 1) takes a "
                            "piece of a text, number(dose) its number; signal / mean_of(signal, drug == 'DMSO', plate) "
                            "divides by the mean of those rows of the row's own plate", role='formula'),
    },
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=("calculate", "compute", "new column", "ratio", "log transform", "log2", "formula", "normalise",
              "difference",
              "fold change", "BMI", "convert units", "transform"),
    packages=("pandas", "numpy"),
    seconds=1.0,
    example="Add the ratio of bill length to bill depth.",
    answers=['derive_column'],
)  # fmt: skip
def derive_column(table, *, name: str, expression: str):
    """Add a calculated column."""
    import numpy as np
    import pandas as pd

    table, name = plain_table(table).copy(), str(name).strip()
    if not name:
        raise ValueError("The new column has no name; expected one, for example bill_ratio.")
    if name in table.columns:
        raise ValueError(f"The table already has a column {name!r}; choose another name so that no data is replaced.")
    values = evaluate_expression(expression, table)
    if not isinstance(values, pd.Series):
        raise ValueError(f"{expression!r} names no column; expected a formula of at least one column.")
    warnings = []
    used_missing = int(values.isna().sum())
    if pd.api.types.is_numeric_dtype(values) and values.dtype != "boolean" and not pd.api.types.is_bool_dtype(values):
        values = values.astype(float)
        infinite = int(np.isinf(values).sum())
        values = values.where(~np.isinf(values))
        if infinite:
            warnings.append(
                f"{infinite} results are not finite (division by zero or logarithm of zero) and are missing."
            )
    missing = int(values.isna().sum())
    if missing == len(values):
        raise ValueError(f"{expression!r} gives no value in any row; check for missing, zero or negative values.")
    if used_missing:
        rooted = any(f"{name}(" in expression for name in ("log", "log2", "log10", "log1p", "ln", "sqrt"))
        negative = ", or the logarithm or root of a negative number was asked for" if rooted else ""
        why = ("a date is missing, so later steps leave them out" if "days_between(" in expression
               else f"a value is missing{negative}")  # fmt: skip
        warnings.append(f"{used_missing} of {len(table)} rows have no {name}: {why}.")
    table[name] = values
    summary = {"n": len(values) - missing, "missing": missing}
    text = f"{name} = {expression} was calculated for {summary['n']} of {len(table)} rows"
    if pd.api.types.is_float_dtype(values):
        summary |= {"mean": float(values.mean()), "min": float(values.min()), "max": float(values.max())}
        text += (f": mean {format_number(summary['mean'])}, range {format_number(summary['min'])} to "
                 f"{format_number(summary['max'])}")  # fmt: skip
    findings = [{"text": text + ".", "values": finding_values(**summary), "output": "derived"}]
    return {"derived": table, "findings": findings, "warnings": warnings}
