"""Any table of measurements: groups, associations, models, and the handling of tables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engine.agents.planning import words
from engine.agents.planning.builder import PlanBuilder
from engine.agents.planning.columns import ColumnMatch, find_columns, find_levels, is_categorical, is_numeric, with_role
from engine.agents.planning.context import Context
from engine.agents.planning.design import adjustment_columns, control_level
from engine.agents.planning.fields.bulk import not_understood
from engine.agents.planning.goals import phrase_goals
from engine.domain.datatypes import DataType
from engine.domain.profile import ColumnProfile, Profile, TypeGuess
from engine.errors import PlanError

_OUTCOME_FIRST = re.compile(
    r"\b(?:effects?|influence|impact|role) of (?P<x>.+?) (?:on|upon|in) (?P<y>.+)|"
    r"\bpredict\w* (?P<y2>.+?) (?:from|using|with|by|based on) (?P<x2>.+)|"
    r"\b(?:do|does|did|can|is|are)?\s*(?P<x3>.+?) (?:affect|influenc|predict|explain|increas|decreas|reduc|improv|chang|determin|alter|rais|lower)\w* (?P<y3>.+)|"
    r"(?P<y4>.+?) (?:depend\w* on|explained by|predicted by|affected by|influenced by|as a function of|associated with|var(?:y|ies) with) (?P<x4>.+)|"
    r"\bregress\w* (?P<y5>.+?) (?:on|against) (?P<x5>.+)|(?P<y6>\S+)\s*~\s*(?P<x6>.+)",
    re.IGNORECASE,
)
_EVERY = re.compile(
    r"\b(?:which|what) (?:factors?|variables?|features?|measure\w*|characteristics|columns)\b|\ball (?:other )?(?:variables|columns|features)\b",
    re.I,
)
_EXPLICIT_MODEL = re.compile(r"\b(?:odds|logistic|regress|adjust|model|multivaria)\w*", re.IGNORECASE)
_ANOTHER_REQUEST = re.compile(
    r",? and (?=(?:show|plot|draw|make|correlate|compare|test|summari[sz]e|give|compute|fit|predict)\b)|"
    r", (?=(?:an? )?(?:histogram|box|scatter|violin|bar|correlat|show|plot|draw|make|compare|test|summari[sz]e)\w*)",
    re.IGNORECASE,
)
_IDENTIFIES = re.compile(
    r"(?:id|subject|patient|participant|animal|donor|pair|individual|person|mouse)(?:[._]?id)?$", re.I
)
_TESTING = ("compare_groups", "anova", "correlation", "contingency", "linear_regression", "logistic_regression")
_UNNAMED = re.compile(
    r"\b(?:is|was) (?:the )?(?:mean |average |median )?(?P<what>[a-z][a-z-]{3,}[^s\W])(?: levels?| content| concentration| expression)? "
    r"(?:significantly |really )?(?:higher|lower|larger|smaller|greater|longer|shorter|increased|decreased|elevated|reduced|"
    r"different|changed|affected|correlated|associated)\b",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\bcompare (?:the )?(?P<what>[a-z][a-z-]{3,}) (?:between|across|in|by)\b", re.IGNORECASE)
_MODEL_WORDS = re.compile(r"\b(?:predict|odds|logistic|regress|risk|classif|probabilit)\w*", re.IGNORECASE)
_TESTS = {"welch_t": r"\bwelch", "student_t": r"\bstudent", "mann_whitney": r"mann.?whitney|rank.?sum|\bu.?test", "wilcoxon": r"wilcoxon|signed.?rank",
          "paired_t": r"\bpaired t", "kruskal": r"kruskal", "friedman": r"\bfriedman"}  # fmt: skip


def plan_tables(ctx: Context) -> None:
    """Plan what a question asks of a table; each of several requests gets its own steps.

    Raises:
        PlanError: when the words lead to nothing that can be done with the columns.
    """
    whole = ctx.question
    for request in requests(ctx):
        ctx.question, ctx.goals = request, phrase_goals(request)
        _plan_request(ctx)
    ctx.question, ctx.goals = whole, phrase_goals(whole)


def requests(ctx: Context) -> list[str]:
    """Split a question into the requests that can be planned alone; words that cannot stay with those before them."""
    parts = [part for clause in words.clauses(ctx.question) for part in _ANOTHER_REQUEST.split(clause) if part.strip()]
    if len(parts) < 2:
        return [ctx.question]
    merged: list[str] = []
    for part in parts:
        if merged and not _understood(ctx, part):
            merged[-1] = f"{merged[-1]}. {part.strip()}"
        else:
            merged.append(part.strip())
    return merged if all(_understood(ctx, part) for part in merged) else [ctx.question]


def _understood(ctx: Context, request: str) -> bool:
    trial = Context(
        question=request,
        profiles=ctx.profiles,
        builder=PlanBuilder(ctx.builder.registry, ctx.profiles),
        goals={tool: goal for tool, goal in phrase_goals(request).items() if tool in ctx.builder.registry},
    )
    try:
        _plan_request(trial)
    except PlanError:
        return False
    return bool(trial.builder.nodes)


def _plan_request(ctx: Context) -> None:
    tables = [(p, g) for p in ctx.profiles if (g := _as_table(p))]
    if ctx.wants("join_tables") and len(tables) >= 2:
        _join(ctx, tables[0], tables[1])
        return
    profile, guess = _best_table(ctx, tables)
    data = {"table": ctx.builder.use(profile, guess)}
    columns = [c for c in profile.column_profiles if (c.distinct != 1 or c.levels) and not _names_rows(c, profile)]
    found = [m for m in find_columns(ctx.question, columns) if m.strength >= 0.55]
    found += [
        ColumnMatch(c.name, 0.6, len(ctx.question))
        for c in columns
        if c.name not in {m.name for m in found} and find_levels(ctx.question, c)
    ]
    before = len(ctx.builder.nodes)
    if _handling(ctx, profile, columns, found, data) and not ctx.wants(*_TESTING):
        return
    planner = _Association(ctx, profile, columns, found, data)
    if planner.plan() or len(ctx.builder.nodes) > before:
        return
    if ctx.vague or ctx.wants("summarize_table"):
        names = [match.name for match in found]
        group = next((n for n in names if is_categorical(planner.by_name[n])), "")
        numbers = [n for n in names if n != group]
        ctx.builder.add("summarize_table", {"columns": numbers, "group_by": group}, inputs=data)
        return
    listed = ", ".join(c.name for c in columns[:20])
    raise not_understood(ctx, f"anything about the columns {listed}")


def _names_rows(column: ColumnProfile, profile: Profile) -> bool:
    """Say whether a column only names the rows: no analysis is about it, whatever word of the question it resembles."""
    rows = profile.rows or 0
    if column.kind == "integer" and column.distinct == rows and column.minimum in (0, 1):
        # 1, 2, 3 ... to the number of rows: a running number, whatever its name.
        return column.maximum == column.minimum + rows - 1
    return column.role("id") >= 0.7 and column.distinct >= 0.9 * rows and column.kind != "number"


def _as_table(profile: Profile) -> TypeGuess | None:
    """Return how to read a file as a plain table: no column is turned into row names."""
    for guess in profile.types:
        if guess.type == DataType.TABLE:
            read = {key: value for key, value in guess.read.items() if key != "index_col"}
            return guess.model_copy(update={"read": read})
    for guess in profile.types:
        if guess.type in (DataType.SURVIVAL_TABLE, DataType.SAMPLE_SHEET, DataType.DE_TABLE, DataType.ENRICHMENT_TABLE):
            read = {key: value for key, value in guess.read.items() if key != "index_col"}
            return TypeGuess(type=DataType.TABLE, confidence=guess.confidence, read=read)
    return None


def _best_table(ctx: Context, tables: Sequence[tuple[Profile, TypeGuess]]) -> tuple[Profile, TypeGuess]:
    def named(item: tuple[Profile, TypeGuess]) -> float:
        return sum(match.strength for match in find_columns(ctx.question, item[0].column_profiles))

    return max(tables, key=named)


def _join(ctx: Context, left: tuple[Profile, TypeGuess], right: tuple[Profile, TypeGuess]) -> None:
    shared = [c.name for c in left[0].column_profiles if right[0].column(c.name)]
    named = [match.name for match in find_columns(ctx.question, left[0].column_profiles) if match.name in shared]
    ids = [name for name in shared if (left[0].column(name) or _EMPTY).role("id") >= 0.5]
    key = (named or ids or shared or [""])[0]
    if not key:
        message = f"{left[0].name} and {right[0].name} have no column of the same name to join on."
        raise PlanError(message, advice="Give the key column the same name in both files.")
    how = next((h for h in ("left", "outer", "inner") if re.search(rf"\b{h}\b", ctx.question, re.I)), None)
    inputs = {"left": ctx.builder.use(*left), "right": ctx.builder.use(*right)}
    ctx.builder.add("join_tables", {"left_on": key, "right_on": key, "how": how}, inputs=inputs)


_EMPTY = ColumnProfile(name="", kind="text")


def _handling(
    ctx: Context, profile: Profile, columns: list[ColumnProfile], found: list[ColumnMatch], data: dict[str, str]
) -> bool:
    """Plan filtering, pivoting, figures and p-value adjustment when the question is for just that."""
    by_name = {column.name: column for column in columns}
    names = [match.name for match in found]
    numbers = [
        n for n in names if is_numeric(by_name[n]) and not (is_categorical(by_name[n]) and by_name[n].distinct <= 3)
    ]
    groups = [n for n in names if is_categorical(by_name[n]) and n not in numbers]
    if ctx.wants("adjust_p_values"):
        p_columns = [c.name for c in columns if re.search(r"p.?val|^p$|pr\(|p_value", c.name, re.I)]
        column = next((n for n in names if n in p_columns), p_columns[0] if p_columns else "")
        if column:
            methods = {"bonferroni": "bonferroni", "holm": "holm"}
            method = next((m for word, m in methods.items() if word in ctx.question.lower()), None)
            ctx.builder.add("adjust_p_values", {"column": column, "method": method, "alpha": ctx.alpha}, inputs=data)
            return True
    if ctx.wants("filter_rows") and (condition := _condition(ctx.question, columns)):
        ctx.builder.add("filter_rows", {"condition": condition}, inputs=data)
        return True
    if ctx.wants("pivot_table") and len(groups) >= 2 and numbers:
        ctx.builder.add("pivot_table", {"rows": groups[0], "columns": groups[1], "values": numbers[0]}, inputs=data)
        return True
    return _figures(ctx, numbers, groups, names, data)


def _figures(ctx: Context, numbers: list[str], groups: list[str], names: list[str], data: dict[str, str]) -> bool:
    group = groups[0] if groups else ""
    if ctx.wants("box_plot") and numbers and group:
        kind = "violin" if "violin" in ctx.question.lower() else None
        ctx.builder.add("box_plot", {"value": numbers[0], "group": group, "kind": kind}, inputs=data)
        return True
    if ctx.wants("scatter_plot") and len(numbers) >= 2:
        params = {"x": numbers[1], "y": numbers[0], "color_by": group}
        ctx.builder.add("scatter_plot", params, inputs=data)
        return True
    if ctx.wants("histogram") and numbers:
        ctx.builder.add("histogram", {"column": numbers[0], "group_by": group}, inputs=data)
        return True
    if ctx.wants("bar_plot") and (group or names):
        value = numbers[0] if numbers and group else ""
        ctx.builder.add("bar_plot", {"category": group or names[0], "value": value}, inputs=data)
        return True
    return False


def _condition(question: str, columns: list[ColumnProfile]) -> str:
    """Return a filter such as `age > 50 and sex == 'male'` read from the question, or ""."""
    signs = {"at least": ">=", "at most": "<=", "greater than": ">", "more than": ">", "larger than": ">", "above": ">", "over": ">",
             "older than": ">", "less than": "<", "smaller than": "<", "below": "<", "under": "<", "younger than": "<", ">=": ">=",
             "<=": "<=", ">": ">", "<": "<", "==": "==", "=": "==", "equal to": "==", "equals": "=="}  # fmt: skip
    parts: list[str] = []
    for column in columns:
        if is_numeric(column):
            name = re.escape(column.name).replace("_", r"[\s_]")
            sign = "|".join(re.escape(s) for s in sorted(signs, key=len, reverse=True))
            match = re.search(
                rf"\b{name}\s*(?:is |are )?(?P<sign>{sign})\s*(?P<n>-?\d+(?:\.\d+)?(?:e-?\d+)?)", question, re.I
            )
            if match:
                parts.append(f"`{column.name}` {signs[match['sign'].lower()]} {match['n']}")
                continue
        levels = [level for level, _ in find_levels(question, column)]
        if levels and is_categorical(column) and not is_numeric(column):
            listed = ", ".join(repr(level) for level in levels)
            parts.append(f"`{column.name}` in [{listed}]")
    return " and ".join(parts)


class _Association:
    """Chooses between comparison, correlation, contingency and regression by the kinds of the named columns."""

    def __init__(
        self,
        ctx: Context,
        profile: Profile,
        columns: list[ColumnProfile],
        found: list[ColumnMatch],
        data: dict[str, str],
    ) -> None:
        self.ctx = ctx
        self.profile = profile
        self.columns = columns
        self.by_name = {column.name: column for column in columns}
        self.found = found
        paired = bool(re.search(r"\bpair|\bsame\b|\brepeated|\bwithin\b", ctx.question, re.IGNORECASE))
        self.names = [name for name in dict.fromkeys(m.name for m in found) if not (paired and _IDENTIFIES.match(name))]
        self.data = data
        self.adjusted = adjustment_columns(ctx.question, columns)

    def plan(self) -> bool:
        """Add the steps; False when the question names too little."""
        ctx, names = self.ctx, self.names
        stats = ("compare_groups", "anova", "correlation", "contingency", "linear_regression", "logistic_regression")
        if not names and ctx.wants("correlation"):
            return self._correlate([])
        if not ctx.wants(*stats) and len({match.position for match in self.found}) < 2:
            return False
        every = bool(_EVERY.search(ctx.question)) and ctx.wants(*stats)
        if not every and (not names or not (ctx.wants(*stats) or len(names) >= 2)):
            return False
        if ctx.wants("summarize_table") and not ctx.wants(*stats):
            return False
        self._subset()
        outcome, predictors = self._sides()
        if _EVERY.search(ctx.question) and not outcome:
            labels = [c for c in self.columns if is_categorical(c) and c.role("id") < 0.7]
            outcome = labels[0].name if len(labels) == 1 else ""
        if _EVERY.search(ctx.question) and outcome and not predictors:
            predictors = self._everything_but(outcome)
            ctx.notes.append(f"Every other usable column is taken as a predictor of {outcome!r}.")
        predictors = list(dict.fromkeys([*predictors, *(n for n in self.adjusted if n != outcome)]))
        if not outcome:
            return False
        if not predictors:
            return self._single(outcome)
        numbers = [name for name in predictors if self._numeric(name)]
        if every and not self._numeric(outcome) and len(numbers) > 3 and not _EXPLICIT_MODEL.search(ctx.question):
            return self._screen(outcome, [])
        self._refuse_wide_pairs()
        if self._several_outcomes():
            numbers = [name for name in self.names if self._numeric(name)]
            group = next(name for name in self.names if name not in numbers)
            return self._screen(group, numbers)
        return self._model(outcome, predictors)

    def _refuse_wide_pairs(self) -> None:
        """Refuse a paired comparison of two columns: a correlation of them would answer another question."""
        numbers = [name for name in self.names if self._numeric(name)]
        said = re.search(r"\bpaired\b|\bbefore\b.*\bafter\b|\bafter\b.*\bbefore\b", self.ctx.question, re.IGNORECASE)
        related = self.ctx.wants("correlation") and not self.ctx.wants("compare_groups")
        if said and not related and len(numbers) >= 2 and len(numbers) == len(self.names):
            message = f"A paired comparison of two columns ({numbers[0]!r} and {numbers[1]!r}) is not available."
            advice = "Give the table in long form: one row a measurement, with the subject, the occasion and the value."
            raise PlanError(message, advice=advice)

    def _several_outcomes(self) -> bool:
        """Say whether the question compares several measurements between one grouping."""
        numbers = [name for name in self.names if self._numeric(name)]
        one_group = len(self.names) - len(numbers) == 1
        plain = (
            self.ctx.wants("compare_groups") and not self.adjusted and not self.ctx.wants("linear_regression", "anova")
        )
        return len(numbers) >= 2 and one_group and plain and not _OUTCOME_FIRST.search(self.ctx.question)

    def _subset(self) -> None:
        """Keep only the rows of a level the question restricts itself to: `within Gentoo`, `in females only`."""
        for column in self.columns:
            levels = [level for level, _ in find_levels(self.ctx.question, column)]
            if len(levels) != 1 or not is_categorical(column) or is_numeric(column) or column.distinct < 2:
                continue
            level = re.escape(levels[0])
            restricts = (
                rf"\b(?:within|among|in|only|for|of)\s+(?:the\s+|only\s+)?{level}(?:s|es)?\b|\b{level}(?:s|es)? only\b"
            )
            others = [name for name in self.names if name != column.name]
            enough = len(others) >= 2 or (others and column.distinct > 2)
            if enough and re.search(restricts, self.ctx.question, re.IGNORECASE):
                condition = f"`{column.name}` in [{levels[0]!r}]"
                why = [f"The question is about {column.name} = {levels[0]} only."]
                made = self.ctx.builder.add("filter_rows", {"condition": condition}, inputs=self.data, reasons=why)
                self.data = {"table": f"{made}.filtered"}
                self.names = others
                return

    def _sides(self) -> tuple[str, list[str]]:
        """Return (outcome, predictors) from the question's grammar, else from the columns' kinds."""
        main = [n for n in self.names if n not in self.adjusted]
        for match in _OUTCOME_FIRST.finditer(self.ctx.question):
            groups = {key[0]: value for key, value in match.groupdict().items() if value}
            left = [m.name for m in find_columns(groups["y"], self.columns) if m.strength >= 0.55 and m.name in main]
            right = [m.name for m in find_columns(groups["x"], self.columns) if m.strength >= 0.55 and m.name in main]
            right = [n for n in right if n not in left[:1]]
            if left and right:
                if not self._numeric(left[0]) and self._numeric(right[0]) and not self._binary(left[0]):
                    left, right = right, left
                return left[0], [*right, *(n for n in left[1:] if n not in right)]
        numbers = [n for n in main if self._numeric(n)]
        groups_named = [n for n in main if not self._numeric(n)]
        if re.search(r"\b(?:odds|logistic|probabilit\w*)\b", self.ctx.question, re.I):
            binary = [n for n in main if self._binary(n)]
            if binary:
                return binary[0], [n for n in main if n != binary[0]]
        if numbers and groups_named:
            return numbers[0], groups_named + numbers[1:]
        if len(main) >= 2:
            return main[0], main[1:]
        return (main[0], []) if main else ("", [])

    def _numeric(self, name: str) -> bool:
        column = self.by_name[name]
        return (is_numeric(column) and column.distinct > 5) or (is_numeric(column) and not is_categorical(column))

    def _binary(self, name: str) -> bool:
        return self.by_name[name].distinct == 2

    def _few(self, name: str) -> bool:
        column = self.by_name[name]
        return is_categorical(column) or (bool(column.levels) and column.distinct <= 6)

    def _everything_but(self, outcome: str) -> list[str]:
        able = [c for c in self.columns if c.name != outcome and c.role("id") < 0.7]
        return [c.name for c in able if is_numeric(c) or (is_categorical(c) and c.distinct <= 10)][:30]

    def _single(self, name: str) -> bool:
        """One column named: compare it between the one obvious grouping, or describe it."""
        others = [c for c in with_role(self.columns, "group", least=0.3) if c.name != name and is_categorical(c)]
        if self._numeric(name) and self.ctx.wants("compare_groups") and others:
            if len(others) == 1:
                return self._compare(name, others[0].name)
            listed = ", ".join(c.name for c in others[:8])
            message = f"The question does not say between which groups {name!r} is compared."
            raise PlanError(message, advice=f"Name one of these columns: {listed}.")
        numbers = [
            c for c in self.columns if c.name != name and is_numeric(c) and c.role("id") < 0.7 and not self._few(c.name)
        ]
        unnamed = _UNNAMED.search(self.ctx.question) or _COMPARED.search(self.ctx.question)
        if numbers and unnamed and not find_levels(unnamed["what"], self.by_name[name]):
            what = unnamed["what"]
            known = any(match.strength >= 0.55 for match in find_columns(what, self.columns))
            if not known and what.lower() not in ("there", "this", "that", "something", "anything", "everything"):
                listed = ", ".join(c.name for c in numbers[:12])
                message = f"No column of {self.profile.name} is about {what!r}."
                raise PlanError(message, advice=f"Its measurements are: {listed}.")
        if not self._numeric(name) and self.ctx.wants("compare_groups") and numbers:
            if len(numbers) == 1:
                return self._compare(numbers[0].name, name)
            self.ctx.notes.append(f"No measurement was named, so each is compared between the groups of {name!r}.")
            return self._screen(name, [])
        return False

    def _screen(self, group: str, columns: list[str]) -> bool:
        """Compare many measurements between groups in one step, corrected for their number."""
        levels = list(self.by_name[group].levels)
        control = control_level(levels) if len(levels) == 2 else ""
        treated = next((level for level in levels if level != control), "") if control else ""
        params = {"group": group, "columns": columns, "treated": treated, "control": control, "alpha": self.ctx.alpha}
        why = ["Many measurements are compared, so the p-values are corrected for the number of tests."]
        self.ctx.builder.add("compare_columns", params, inputs=self.data, reasons=why)
        return True

    def _model(self, outcome: str, predictors: list[str]) -> bool:
        ctx = self.ctx
        regression = ctx.wants("linear_regression", "logistic_regression") or bool(self.adjusted)
        numeric = [n for n in predictors if self._numeric(n)]
        groups = [n for n in predictors if n not in numeric]
        if not self._numeric(outcome):
            modelled = bool(self.adjusted) or bool(_MODEL_WORDS.search(ctx.question))
            if self._binary(outcome) and (numeric or modelled or len(predictors) > 1):
                if not regression and len(predictors) == 1:
                    return self._compare(predictors[0], outcome)
                return self._logistic(outcome, predictors)
            if groups and not numeric:
                for group in groups:
                    ctx.builder.add("contingency", {"row": group, "column": outcome}, inputs=self.data)
                return True
            if numeric:
                for name in numeric:
                    self._compare(name, outcome)
                return True
            return False
        if ctx.wants("anova") or (
            len(groups) >= 2 and not numeric and not ctx.wants("linear_regression") and not self.adjusted
        ):
            return self._anova(outcome, groups + [n for n in numeric if self._few(n)])
        if regression and (numeric or self.adjusted or len(predictors) > 1):
            ctx.builder.add("linear_regression", {"outcome": outcome, "predictors": predictors}, inputs=self.data)
            return True
        if groups and not numeric:
            return self._compare(outcome, groups[0])
        if groups and numeric:
            if ctx.wants("correlation") and not ctx.wants("compare_groups"):
                return self._correlate([outcome, *numeric])
            few = [n for n in numeric if self._few(n)]
            if len(few) == len(numeric):
                return self._anova(outcome, groups + few)
            ctx.builder.add("linear_regression", {"outcome": outcome, "predictors": predictors}, inputs=self.data)
            return True
        if ctx.wants("linear_regression") and not ctx.wants("correlation"):
            ctx.builder.add("linear_regression", {"outcome": outcome, "predictors": numeric}, inputs=self.data)
            return True
        return self._correlate([outcome, *numeric])

    def _compare(self, value: str, group: str) -> bool:
        question = self.ctx.question
        column = self.by_name[group]
        pair = self._pair(group)
        test = next((name for name, pattern in _TESTS.items() if re.search(pattern, question, re.I)), None)
        if test is None and column.distinct == 2 and re.search(r"\bt.?tests?\b", question, re.I):
            test = "paired_t" if pair else "welch_t"
        levels = list(column.levels)
        control = control_level(levels) if len(levels) == 2 else ""
        named = [level for level, _ in find_levels(question, column)]
        treated = next((level for level in levels if level != control), "") if control else ""
        if not control and len(levels) == 2 and len(named) == 2:
            treated, control = named
        params = {
            "value": value,
            "group": group,
            "test": test,
            "pair": pair,
            "treated": treated,
            "control": control,
        }
        reasons = [f"{value!r} is a measurement and {group!r} has {column.distinct} groups."]
        if params["pair"]:
            reasons.append(f"{params['pair']!r} says which measurements belong together, so the test is paired.")
        self.ctx.builder.add("compare_groups", params, inputs=self.data, reasons=reasons)
        return True

    def _pair(self, group: str) -> str:
        """Return the column that pairs the rows of two groups: each of its levels once in each group."""
        if re.search(r"\b(unpaired|independent)\b", self.ctx.question, re.I):
            return ""
        import pandas as pd

        guess = _as_table(self.profile)
        assert guess is not None
        frame = self.ctx.frame(self.profile, guess)
        said = bool(
            re.search(
                r"\bpaired?\b|\bsame (?:subject|patient|person|animal|individual)|before and after|repeated",
                self.ctx.question,
                re.I,
            )
        )
        for column in self.columns:
            candidate = column.name not in (group,) and not self._numeric_measure(column)
            if not candidate or column.name not in frame or group not in frame:
                continue
            if not (
                column.role("pair") >= 0.5
                or (said and column.role("id") >= 0.3)
                or (said and column.role("pair") >= 0.2)
            ):
                continue
            table = pd.crosstab(frame[column.name], frame[group])
            if table.shape[0] >= 2 and table.shape[1] >= 2 and bool((table == 1).all().all()):
                return column.name
        return ""

    def _numeric_measure(self, column: ColumnProfile) -> bool:
        return column.kind == "number"

    def _anova(self, outcome: str, factors: list[str]) -> bool:
        if not factors:
            return False
        alone = len(factors) == 1  # which leaves nothing to interact with
        params = {"value": outcome, "factors": factors[:3], "interaction": False if alone else None}
        self.ctx.builder.add("anova", params, inputs=self.data)
        return True

    def _logistic(self, outcome: str, predictors: list[str]) -> bool:
        levels = list(self.by_name[outcome].levels)
        named = [level for level, _ in find_levels(self.ctx.question, self.by_name[outcome])]
        control = control_level(levels)
        event = (
            named[0]
            if named and named[0] != control
            else next((v for v in levels if v != control), "")
            if control
            else ""
        )
        params = {"outcome": outcome, "predictors": [p for p in predictors if p != outcome], "event_value": event}
        self.ctx.builder.add("logistic_regression", params, inputs=self.data)
        return True

    def _correlate(self, names: list[str]) -> bool:
        method = next((m for m in ("spearman", "pearson", "kendall") if m in self.ctx.question.lower()), None)
        names = list(dict.fromkeys(n for n in names if is_numeric(self.by_name[n])))
        if len(names) == 2:
            params = {"x": names[1], "y": names[0], "method": method}
        elif len(names) > 2 or not names:
            numbers = [c.name for c in self.columns if is_numeric(c) and c.role("id") < 0.7 and c.distinct > 2]
            if len(numbers) < 2:
                return False
            params = {"columns": names or numbers[:15], "method": method}
        else:
            return False
        self.ctx.builder.add("correlation", params, inputs=self.data)
        return True
