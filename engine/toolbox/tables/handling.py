"""Why these: before any analysis someone joins a sheet, drops rows or takes a logarithm, and silently loses data.

Every tool here counts what it dropped, doubled or could not compute. Conditions and formulas are read by a
small evaluator that knows columns, numbers, texts and a few functions: nothing else can run.
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
    order_levels,
    plain_table,
    require_columns,
)


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


def expression_names(text, columns):
    """Return the expression with every `back-quoted column` as a plain name, and what each name stands for."""
    import re

    names = {str(column): str(column) for column in columns}

    def plain(found):
        wanted = found.group(1)
        if wanted not in names:
            raise ValueError(f"There is no column {wanted!r}; the columns are: {', '.join(list(names)[:15])}.")
        names[f"quoted_column_{len(names)}"] = wanted
        return f"quoted_column_{len(names) - 1}"

    parts = re.split(r"('[^']*'|\"[^\"]*\")", text)
    parts[::2] = [re.sub(r"`([^`]+)`", plain, part) for part in parts[::2]]
    return "".join(parts), names


def apply_function(name, arguments, text):
    """Return a function of a column: numeric ones on numbers, text ones on text, is_missing on both."""
    import numpy as np
    import pandas as pd

    numeric = {"log2": np.log2, "log10": np.log10, "log": np.log, "ln": np.log, "sqrt": np.sqrt, "abs": np.abs,
               "exp": np.exp, "round": np.round, "floor": np.floor, "ceil": np.ceil, "log1p": np.log1p}  # fmt: skip
    textual = ("contains", "startswith", "endswith")
    if name in ("is_missing", "isna", "isnull", "notna", "notnull") and len(arguments) == 1:
        missing = pd.Series(arguments[0]).isna().astype("boolean")
        return ~missing if name.startswith("not") else missing
    if name in ("upper", "lower") and len(arguments) == 1:
        return getattr(pd.Series(arguments[0]).astype("string").str, name)().astype(object)
    if name in textual and len(arguments) == 2 and isinstance(arguments[1], str):
        column = pd.Series(arguments[0]).astype("string")
        found = column.str.contains(arguments[1], regex=False) if name == "contains" else None
        return (getattr(column.str, name)(arguments[1]) if found is None else found).astype("boolean")
    if name == "join" and len(arguments) == 2:
        first, second = (pd.Series(column).astype("string") for column in arguments)
        return (first.str.removesuffix(".0") + " / " + second.str.removesuffix(".0")).astype(object)
    if name in numeric and len(arguments) == 1:
        values = arguments[0]
        if not isinstance(values, float | int) and not pd.api.types.is_numeric_dtype(values):
            raise ValueError(f"{name} in {text!r} needs numbers, but was given text. Choose a numeric column.")
        with np.errstate(all="ignore"):
            return numeric[name](values)
    known = ", ".join([*numeric, "is_missing", "notna", "upper", "lower", "join", *textual])
    raise ValueError(f"{name!r} in {text!r} is no function that can be used here, or has the wrong number of "
                     f"arguments; "
                     f"expected one of: {known}.")  # fmt: skip


def compare_values(left, operator, right, text):
    """Compare two columns or values; the result is unknown (NA) where either is missing."""
    import operator as operators

    import pandas as pd

    series = [side for side in (left, right) if isinstance(side, pd.Series)]
    if not series:
        raise ValueError(f"A comparison in {text!r} names no column; expected for example: p_value < 0.05.")
    index = series[0].index
    sides = [
        side if isinstance(side, pd.Series) else pd.Series([side] * len(index), index=index) for side in (left, right)
    ]
    numeric = [pd.api.types.is_numeric_dtype(s) or pd.api.types.is_bool_dtype(s) or not s.notna().any() for s in sides]
    if numeric[0] != numeric[1]:
        words = [repr(v) if not isinstance(v, pd.Series) else f"column {v.name!r}" for v in (left, right)]
        kinds = ["numbers" if n else "text" for n in numeric]
        raise ValueError(
            f"{text!r} compares {words[0]} ({kinds[0]}) with {words[1]} ({kinds[1]}); expected the same kind on both "
            "sides. Write texts in quotes and numbers without, and check the column for values that are not numbers."
        )
    known = sides[0].notna() & sides[1].notna()
    result = pd.Series(pd.NA, index=index, dtype="boolean")
    chosen = [side[known] if numeric[0] else side[known].astype(str) for side in sides]
    if known.any():
        run = {"Lt": "lt", "LtE": "le", "Gt": "gt", "GtE": "ge", "Eq": "eq", "NotEq": "ne"}[operator]
        result[known] = getattr(operators, run)(*chosen).astype("boolean")
    return result


def is_member(column, choices, negate, text):
    """Say for every value of a column whether it is one of the choices, unknown where it is missing."""
    import pandas as pd

    if not isinstance(column, pd.Series) or not isinstance(choices, list):
        raise ValueError(f"'in' in {text!r} expects a column and a list, for example: symbol in ['TP53', 'MYC'].")
    texts = not (pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column))
    wrong = [choice for choice in choices if isinstance(choice, str) != texts]
    if wrong:
        raise ValueError(f"{text!r} looks for {wrong[0]!r} in a column of {'text' if texts else 'numbers'}; expected "
                         f"{'texts in quotes' if texts else 'numbers without quotes'}.")  # fmt: skip
    found = column.isin(choices).astype("boolean")
    found[column.isna()] = pd.NA
    return ~found if negate else found


def calculate(left, operator, right, text):
    """Add, subtract, multiply, divide or raise columns and numbers."""
    import operator as operators

    import numpy as np
    import pandas as pd

    run = {"Add": "add", "Sub": "sub", "Mult": "mul", "Div": "truediv", "Mod": "mod", "Pow": "pow"}.get(operator)
    numeric = [isinstance(v, float | int) or (isinstance(v, pd.Series) and pd.api.types.is_numeric_dtype(v)
               and v.dtype != "boolean") for v in (left, right)]  # fmt: skip
    if run is None or not all(numeric):
        what = "an operator that is not supported" if run is None else "text or a condition where a number is needed"
        raise ValueError(f"{text!r} has {what}; expected + - * / % ** on numeric columns and numbers.")
    try:
        with np.errstate(all="ignore"):
            return getattr(operators, run)(left, right)
    except (OverflowError, ZeroDivisionError) as error:
        raise ValueError(f"{text!r} cannot be calculated ({error}); check its constants.") from None


def evaluate_node(node, table, names, text):
    """Evaluate one part of an expression; anything but columns, constants and known operations raises ValueError."""
    import ast

    import pandas as pd

    def again(part):
        return evaluate_node(part, table, names, text)

    if isinstance(node, ast.Constant) and isinstance(node.value, str | bool):
        return node.value
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        return float(node.value)
    if isinstance(node, ast.Name):
        if node.id not in names:
            import difflib

            close = difflib.get_close_matches(node.id, list(names), n=1)
            hint = f"Did you mean {close[0]!r}?" if close else f"The columns are: {', '.join(list(names)[:15])}."
            raise ValueError(f"{node.id!r} in {text!r} is no column. {hint} Texts need quotes.")
        column = table[names[node.id]]
        return column.astype(float) if pd.api.types.is_integer_dtype(column) else column
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        if not all(isinstance(part, ast.Constant | ast.UnaryOp) for part in node.elts):
            raise ValueError(f"The list in {text!r} holds something else than texts and numbers.")
        return [again(part) for part in node.elts]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
        return calculate(-1.0 if isinstance(node.op, ast.USub) else 1.0, "Mult", again(node.operand), text)
    if isinstance(node, ast.BinOp) and not isinstance(node.op, ast.BitAnd | ast.BitOr):
        return calculate(again(node.left), type(node.op).__name__, again(node.right), text)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        return apply_function(node.func.id, [again(part) for part in node.args], text)
    return evaluate_logic(node, again, text)


def evaluate_logic(node, again, text):
    """Evaluate comparisons, and, or, not with three values: true, false and unknown where data is missing."""
    import ast

    import pandas as pd

    def truth(part):
        value = again(part)
        if isinstance(value, pd.Series) and (value.dtype == "boolean" or pd.api.types.is_bool_dtype(value)):
            return value.astype("boolean")
        raise ValueError(f"A part of {text!r} is not a condition; expected comparisons joined by and, or, not.")

    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        return ~truth(node.operand)
    if isinstance(node, ast.BoolOp) or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitAnd | ast.BitOr)):
        parts = node.values if isinstance(node, ast.BoolOp) else [node.left, node.right]
        both = isinstance(node.op, ast.And | ast.BitAnd)
        result = truth(parts[0])
        for part in parts[1:]:
            result = (result & truth(part)) if both else (result | truth(part))
        return result
    if isinstance(node, ast.Compare):
        values = [again(part) for part in [node.left, *node.comparators]]
        result = None
        for left, operator, right in zip(values, node.ops, values[1:], strict=False):
            name = type(operator).__name__
            if name in ("In", "NotIn"):
                step = is_member(left, right, name == "NotIn", text)
            elif name in ("Is", "IsNot"):
                raise ValueError(f"{text!r} uses 'is'; expected == or is_missing(column).")
            else:
                step = compare_values(left, name, right, text)
            result = step if result is None else result & step
        return result
    raise ValueError(
        f"{text!r} holds something that is not allowed here; expected columns, numbers, texts in quotes, comparisons, "
        "and/or/not, in [...], arithmetic and functions such as log2, abs, contains."
    )


def evaluate_expression(text, table):
    """Evaluate a condition or formula on a table; raises ValueError with one sentence when it cannot be read."""
    import ast

    if len(text) > 2000:
        raise ValueError(f"The expression has {len(text)} characters; expected at most 2000.")
    plain, names = expression_names(text.strip(), table.columns)
    try:
        tree = ast.parse(plain, mode="eval")
        if sum(1 for _ in ast.walk(tree)) > 500:
            raise ValueError(f"The expression {text[:60]!r}... is too long; expected at most 500 parts.")
        return evaluate_node(tree.body, table, names, text)
    except SyntaxError:
        hint = " Use == to compare." if " = " in f" {text} " else " Put column names with spaces in `back quotes`."
        raise ValueError(f"{text!r} cannot be read as an expression.{hint}") from None


_EVALUATOR = (expression_names, apply_function, compare_values, is_member, calculate, evaluate_node, evaluate_logic,
              evaluate_expression)  # fmt: skip


@tool(
    name="join_tables",
    title="Join two tables on a shared column",
    description=(
        "Combine two tables by the values of a key column in each: inner keeps rows found in both, left keeps every "
        "row of the first, outer keeps all. Keys are compared as text without surrounding blanks, so 1, 1.0 and '1' "
        "match; case matters; missing keys match nothing. Counts what matched, what did not, and rows that multiplied "
        "because a key occurs more than once."
    ),
    domain="data handling",
    task_type="preprocessing",
    inputs={"left": "table: the first table", "right": "table: the table whose columns are added"},
    outputs={"joined": "table: the combined table"},
    params={
        "left_on": param("Key column of the first table", kind="column", of="left", role="key"),
        "right_on": param("Key column of the second table", kind="column", of="right", role="key"),
        "how": param(
            "Which rows to keep",
            choices=["inner", "left", "outer"],
            words=["left: left\\b", "outer: outer\\b|keep(?:ing)? all rows", "inner: inner\\b"],
        ),
    },
    checks=("tables_not_empty",),
    keywords=("merge", "join", "combine tables", "match", "lookup", "add columns", "link", "annotate rows", "vlookup"),
    packages=("pandas",),
    seconds=1.0,
    example="Add the clinical data to the measurements by patient id.",
    helpers=(plain_table, require_columns, level_labels, finding_values),
    answers=["join_tables"],
)
def join_tables(left, right, *, left_on: str, right_on: str, how: str = "inner"):
    """Join two tables on a key."""
    left, right = plain_table(left), plain_table(right)
    require_columns(left, [left_on])
    require_columns(right, [right_on])
    if how not in ("inner", "left", "outer"):
        raise ValueError(f"There is no join {how!r}; expected inner, left or outer.")
    key_left, key_right = level_labels(left[left_on]), level_labels(right[right_on])
    shared = set(key_left.dropna()) & set(key_right.dropna())
    if not shared:
        raise ValueError(
            f"No value of {left_on!r} (for example {', '.join(map(str, key_left.dropna().head(3)))}) occurs in "
            f"{right_on!r} (for example {', '.join(map(str, key_right.dropna().head(3)))}); expected a shared key. "
            "Choose other columns or make their spelling the same."
        )
    sizes_left, sizes_right = key_left.value_counts(), key_right.value_counts()
    pairs = sum(int(sizes_left[key]) * int(sizes_right[key]) for key in shared)
    if pairs > 5_000_000:
        raise ValueError(f"The join would give {pairs} rows because keys repeat in both tables; expected a key that is "
                         "unique in one of them.")  # fmt: skip
    warnings = []
    blank_left, blank_right = int(key_left.isna().sum()), int(key_right.isna().sum())
    if blank_left or blank_right:
        warnings.append(
            f"Rows without a key match nothing: {blank_left} in the first table, {blank_right} in the second."
        )
    # Missing keys get marks that differ between the tables: pandas would match them with each other.
    a = left.assign(__key=("key " + key_left).where(key_left.notna(), "none in left"))
    b = right.assign(__key=("key " + key_right).where(key_right.notna(), "none in right"))
    same_name = left_on == right_on
    b = b.rename(columns={right_on: "__right_key"}) if same_name else b
    joined = a.merge(b, on="__key", how=how, suffixes=("", "_right"), sort=False)
    if same_name:
        joined[left_on] = joined[left_on].where(joined[left_on].notna(), joined["__right_key"])
        joined = joined.drop(columns="__right_key")
    joined = joined.drop(columns="__key")
    lonely_left = int((~key_left.isin(shared)).sum())
    lonely_right = int((~key_right.isin(shared)).sum())
    fate = {"inner": "both were left out", "left": "those of the first were kept with empty values",
            "outer": "all were kept with empty values"}[how]  # fmt: skip
    if lonely_left or lonely_right:
        examples = [str(v) for v in key_left[~key_left.isin(shared)].dropna().unique()[:3]]
        examples += [str(v) for v in key_right[~key_right.isin(shared)].dropna().unique()[:3]]
        warnings.append(f"{lonely_left} rows of the first and {lonely_right} of the second table have no partner; "
                        f"{fate} "
                        f"(for example {', '.join(examples)}).")  # fmt: skip
    repeated = [key for key in shared if sizes_right[key] > 1]
    if repeated:
        warnings.append(f"{len(repeated)} keys occur more than once in the second table, so rows of the first were "
                        f"repeated (for example {sorted(repeated)[0]}).")  # fmt: skip
    clash = [name for name in joined.columns if str(name).endswith("_right") and name not in right.columns]
    if clash:
        warnings.append(f"Columns in both tables: those of the second are called {', '.join(map(str, clash[:6]))}.")
    findings = [
        {"text": f"The joined table has {len(joined)} rows and {joined.shape[1]} columns: {len(shared)} keys occur in "
                 f"both "
                 f"tables, {lonely_left} of {len(left)} rows of the first and {lonely_right} of {len(right)} of the "
                 f"second "
                 "have no partner.",
         "values": finding_values(n_rows=len(joined), n_shared_keys=len(shared), n_left_unmatched=lonely_left,
                                  n_right_unmatched=lonely_right), "output": "joined"}
    ]  # fmt: skip
    return {"joined": joined, "findings": findings, "warnings": warnings}


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


def describe_order(table, total, sort_by, order, top_n):
    """Return the finding on rows in order: their number, range and the first few by name where a column names them."""
    import pandas as pd

    numeric = pd.api.types.is_numeric_dtype(table[sort_by])
    low, high = ("lowest", "highest") if numeric else ("first", "last")
    end = high if order == "descending" else low
    first, last = table[sort_by].iloc[0], table[sort_by].dropna().iloc[-1]
    shown = (format_number(first, 6), format_number(last, 6)) if numeric else (str(first), str(last))
    names = next((name for name in table.columns if name != sort_by and not pd.api.types.is_float_dtype(table[name])
                  and table[name].notna().all() and table[name].is_unique), "")  # fmt: skip
    head = ", ".join(str(value) for value in table[names].iloc[:5]) if names else ""
    what = f"The {len(table)} of {total} rows with the {end} {sort_by}" if top_n else f"{len(table)} rows by {sort_by}"
    text = f"{what}, in {order} order from {shown[0]} to {shown[1]}" + (f"; first by {names}: {head}." if head else ".")
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
    helpers=(plain_table, require_columns, numeric_values, level_labels, format_number, finding_values, sort_key,
             summarise_rows, rows_in_order, describe_order, *_EVALUATOR), answers=['filter_rows'],
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
            {"text": f"{len(filtered)} of {total} {what} meet the condition {condition}.",
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
        "comparisons, which give true or false. Where a value is missing, or the result is not finite (division by "
        "zero, logarithm of zero), the new value is missing, and counted."
    ),
    domain="data handling",
    task_type="preprocessing",
    inputs={"table": "table: any table"},
    outputs={"derived": "table: the table with the new column last"},
    params={
        "name": param("Name of the new column", role='new_name'),
        "expression": param("The formula; column names with blanks in `back quotes`", role='formula'),
    },
    checks=("tables_not_empty", "findings_match_tables"),
    keywords=("calculate", "compute", "new column", "ratio", "log transform", "log2", "formula", "normalise",
              "difference",
              "fold change", "BMI", "convert units", "transform"),
    packages=("pandas", "numpy"),
    seconds=1.0,
    example="Add the ratio of bill length to bill depth.",
    helpers=(plain_table, format_number, finding_values, *_EVALUATOR), answers=['derive_column'],
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
        warnings.append(f"{used_missing} of {len(table)} rows have no {name}: a value is missing, or the logarithm or "
                        f"root "
                        "of a negative number was asked for.")  # fmt: skip
    table[name] = values
    summary = {"n": len(values) - missing, "missing": missing}
    text = f"{name} = {expression} was calculated for {summary['n']} of {len(table)} rows"
    if pd.api.types.is_float_dtype(values):
        summary |= {"mean": float(values.mean()), "min": float(values.min()), "max": float(values.max())}
        text += (f": mean {format_number(summary['mean'])}, range {format_number(summary['min'])} to "
                 f"{format_number(summary['max'])}")  # fmt: skip
    findings = [{"text": text + ".", "values": finding_values(**summary), "output": "derived"}]
    return {"derived": table, "findings": findings, "warnings": warnings}


@tool(
    name="pivot_table",
    title="Turn a long table into a wide one",
    description=(
        "Spread a long table: one row for each value of `rows`, one column for each value of `columns`, filled with an "
        "aggregate of `values` (mean, median, sum, min, max, or the count of values). Combinations that do not occur "
        "stay empty (0 for counts); missing values are left out of the aggregate. Says how many values were combined."
    ),
    domain="data handling",
    task_type="preprocessing",
    inputs={"table": "table: a long table"},
    outputs={"pivoted": "table: the wide table"},
    params={
        "rows": param("Column whose values become rows", kind="column", of="table", role="split"),
        "columns": param("Column whose values become columns", kind="column", of="table", role="split"),
        "values": param("Column whose values fill the table", kind="column", of="table", role="anything"),
        "aggregate": param(
            "How several values of one combination are combined",
            choices=["mean", "median", "sum", "count", "min", "max"],
            words=[
                "median: medians?\\b",
                "count: how many|counts?\\b|number of|numbers\\b",
                "sum: sums?\\b|total|summed",
                "mean: means?\\b|averages?\\b",
                "max: max\\w*|highest",
                "min: min\\w*|lowest",
            ],
        ),
    },
    checks=("tables_not_empty",),
    keywords=("pivot", "wide", "reshape", "long to wide", "spread", "aggregate", "group by", "matrix", "cross table"),
    packages=("pandas",),
    seconds=1.0,
    example="Make a table with a row a gene and a column a tissue.",
    helpers=(plain_table, require_columns, numeric_values, level_labels, order_levels, finding_values),
    answers=["pivot_table"],
)
def pivot_table(table, *, rows: str, columns: str, values: str, aggregate: str = "mean"):
    """Spread a long table into a wide one."""
    import pandas as pd

    table = plain_table(table)
    require_columns(table, [rows, columns, values])
    if len({rows, columns, values}) < 3 and not (aggregate == "count" and rows != columns):
        raise ValueError("Rows, columns and values must be three different columns of the table.")
    if aggregate not in ("mean", "median", "sum", "count", "min", "max"):
        raise ValueError(f"There is no aggregate {aggregate!r}; expected mean, median, sum, count, min or max.")
    filled = table[values] if aggregate == "count" else numeric_values(table, values)
    tidy = pd.DataFrame({"row": level_labels(table[rows]), "column": level_labels(table[columns]), "value": filled})
    usable = tidy.dropna()
    if len(usable) == 0:
        raise ValueError(f"No row has {rows}, {columns} and {values} together; choose other columns.")
    across = order_levels(usable["column"])
    if len(across) > 1000:
        raise ValueError(f"Column {columns!r} has {len(across)} values; expected at most 1000 new columns. Swap rows "
                         f"and "
                         "columns, or choose another.")  # fmt: skip
    grouped = usable.groupby(["row", "column"], sort=False)["value"].agg(aggregate).unstack("column")
    wide = grouped.reindex(index=list(dict.fromkeys(usable["row"])), columns=across)
    if aggregate == "count":
        wide = wide.fillna(0).astype(int)
    empty = int(wide.isna().sum().sum())
    wide.columns = [str(name) for name in wide.columns]
    wide.index.name = rows if rows not in wide.columns else f"{rows} (rows)"
    wide = wide.reset_index()
    warnings = []
    if len(usable) < len(tidy):
        warnings.append(f"{len(tidy) - len(usable)} of {len(tidy)} rows were left out because a value is missing.")
    combined = int(usable.duplicated(["row", "column"]).sum())
    if combined and aggregate != "count":
        warnings.append(
            f"Some combinations have several values; {combined} further values were combined ({aggregate})."
        )
    if empty:
        warnings.append(f"{empty} combinations do not occur and are empty.")
    findings = [
        {"text": f"The wide table has {len(wide)} rows ({rows}) and {len(across)} columns ({columns}), filled with the "
                 f"{aggregate} of {values} from {len(usable)} rows.",
         "values": finding_values(n_rows=len(wide), n_columns=len(across), n_values=len(usable)), "output": "pivoted"}
    ]  # fmt: skip
    return {"pivoted": wide, "findings": findings, "warnings": warnings}
