"""Makes a plan from a question and the profiles of the data, without a model.

The order of thought: which data are there; which goals do the words name (`planning.goals`); which field
do data and goals belong to; what does that field expect around the goals (`planning.fields`). The fields
add steps to a `PlanBuilder`, which chains tools over data types. What cannot be known becomes an open
question; what cannot be planned becomes an error that says what is missing, never a guess.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from engine.agents.planning.builder import PlanBuilder, missing, why_not
from engine.agents.planning.columns import find_columns, find_levels, is_categorical, with_role
from engine.agents.planning.context import Context
from engine.agents.planning.fields.bulk import NotUnderstood, plan_bulk, plan_gene_results
from engine.agents.planning.fields.generic import plan_generic
from engine.agents.planning.fields.single_cell import plan_single_cell
from engine.agents.planning.fields.survival import plan_survival
from engine.agents.planning.fields.tables import plan_tables
from engine.agents.planning.goals import PHRASES, Retriever, phrase_goals
from engine.agents.planning.limits import (
    refuse_ignored_restriction,
    refuse_missing_codes,
    refuse_unknown_groups,
)
from engine.agents.planning.said import with_what_was_said
from engine.domain.datatypes import DataType
from engine.domain.plan import TaskDag, TaskNode
from engine.domain.profile import Profile
from engine.domain.retrieval import ToolSearch
from engine.errors import DataError, PlanError
from engine.profiling.matching import cross_check
from engine.toolbox.registry import ToolRegistry
from engine.toolbox.typecheck import check_plan

_SURVIVAL_WORDS = re.compile(r"\b(?:surviv\w*|kaplan\w*|hazards?|cox|log.?rank)\b", re.IGNORECASE)
_SURVIVAL_GOALS = ("kaplan_meier", "log_rank", "cox_regression")
_GENE_RESULTS = (DataType.DE_TABLE, DataType.GENE_LIST, DataType.RANKED_GENES, DataType.GENE_SET_LIBRARY)
_TABLES = (DataType.TABLE, DataType.SAMPLE_SHEET, DataType.SURVIVAL_TABLE, DataType.ENRICHMENT_TABLE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A plan and the tools that were considered for it, best first."""

    plan: TaskDag
    retrieved: list[str]


class Planner:
    """The rule-based planner."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._registry = registry
        self._retriever = Retriever(registry)

    def plan(
        self,
        question: str,
        profiles: list[Profile],
        found: ToolSearch | None = None,
        *,
        analysis: str = "",
        previous: TaskDag | None = None,
    ) -> Proposal:
        """Return a plan that type-checks.

        Args:
            question: what is asked.
            profiles: what the files can serve as.
            found: what the search over all catalogues found; where no built-in step answers the question, the
                error names the nearest of these.
            analysis: the id of the analysis to plan as; "" to choose one.
            previous: the conversation's last plan, which a follow-up may refer to.

        Raises:
            PlanError: when the question cannot be planned on these data; the message says what is missing.
            DataError: when none of the files can be used.
        """
        question = " ".join(question.split())
        usable = [profile for profile in profiles if profile.types]
        self._require_data(profiles, usable)
        goals = {tool: goal for tool, goal in phrase_goals(question).items() if tool in self._registry}
        ranked = self._retriever.rank(question)
        builder = PlanBuilder(self._registry, usable)
        ctx = Context(
            question=question, profiles=usable, builder=builder, goals=goals, ranked=[name for name, _ in ranked]
        )
        try:
            self._field(ctx, ranked)(ctx)
        except NotUnderstood as err:
            if ctx.wants("differential_expression") and not ctx.profile_as(DataType.COUNT_MATRIX):
                # A question about genes with only a sheet (or a broken matrix) lacks data, not words.
                raise missing(profiles, self._registry.get("differential_expression"), DataType.COUNT_MATRIX) from err
            raise with_nearest(err, found) from err
        columns = [column for profile in usable for column in profile.column_profiles]
        refuse_ignored_restriction(question, builder.nodes)
        refuse_unknown_groups(question, columns)
        refuse_missing_codes(builder.nodes, self._registry, columns)
        if not builder.nodes:
            raise PlanError("No step of the catalogue answers this question on these data.")
        return Proposal(plan=self._finished(ctx, profiles), retrieved=self._retrieved(ctx))

    def _require_data(self, profiles: list[Profile], usable: list[Profile]) -> None:
        if not profiles:
            message = "No data file came with the question."
            raise PlanError(
                message, advice="Add the file (CSV, TSV, Excel, h5ad, GMT...) that holds the data to analyse."
            )
        if not usable:
            message = " ".join(why_not(profile) for profile in profiles)
            raise DataError(message, advice="Give a file that holds data, for example a CSV table or an h5ad file.")

    def _field(self, ctx: Context, ranked: list[tuple[str, float]]) -> Callable[[Context], None]:
        """Choose who plans: a tool no field knows when its own words fit clearly best, else the data's field."""
        kinds = {profile.best.type for profile in ctx.profiles if profile.best}
        unknown = self._unknown_tool(ctx, ranked)
        if unknown:
            return lambda c: plan_generic(c, unknown)
        if DataType.ANNDATA in kinds:
            return plan_single_cell
        if kinds & {DataType.COUNT_MATRIX, DataType.EXPRESSION_MATRIX}:
            return plan_bulk
        survival = ctx.profile_as(DataType.SURVIVAL_TABLE)
        if survival is not None and self._about_survival(ctx, survival[0]):
            return plan_survival
        if not survival and _SURVIVAL_WORDS.search(ctx.question) and not self._has_survival_column(ctx):
            return self._refuse_survival
        if kinds & set(_TABLES) and not (kinds & set(_GENE_RESULTS) and ctx.wants("over_representation")):
            return plan_tables
        if kinds & set(_GENE_RESULTS):
            return plan_gene_results
        return self._refuse_type

    def _unknown_tool(self, ctx: Context, ranked: list[tuple[str, float]]) -> str:
        if not ranked or ranked[0][0] in PHRASES:
            return ""
        name, score = ranked[0]
        second = next((s for n, s in ranked[1:] if n in PHRASES), 0.0)
        spec = self._registry.get(name)
        makable = all(port.optional or ctx.builder.can_make(port.type) for port in spec.inputs)
        known_companion = name in _COMPANIONS
        return name if makable and not known_companion and spec.runnable and score > 1.3 * second else ""

    @staticmethod
    def _about_survival(ctx: Context, profile: Profile) -> bool:
        """Say whether the words are about time to an event; a table can serve as both."""
        if ctx.wants(*_SURVIVAL_GOALS[:2]):
            return True
        best = profile.best
        if best is None or best.type != DataType.SURVIVAL_TABLE:
            return False
        columns = {column.name: column for column in profile.column_profiles}
        times = {c.name for role in ("time", "event") for c in with_role(profile.column_profiles, role)}
        named = {m.name for m in find_columns(ctx.question, profile.column_profiles) if m.strength >= 0.6}
        named |= {name for name, column in columns.items() if find_levels(ctx.question, column)}
        if times & named:
            return True
        described = ctx.wants("summarize_table", "histogram", "bar_plot", "contingency", "pivot_table", "filter_rows")
        groups_only = bool(named) and all(is_categorical(columns[name]) for name in named)
        if groups_only and ctx.wants("compare_groups") and not (described and len(named) > 1):
            return True
        others = ("compare_groups", "correlation", "linear_regression", "anova", "summarize_table", "contingency")
        return bool(named) and ctx.wants("cox_regression") and not ctx.wants(*others)

    @staticmethod
    def _has_survival_column(ctx: Context) -> bool:
        """Say whether a column is itself called survival (`survived` yes/no), which is then an ordinary outcome."""
        return any("surviv" in column.name.lower() for profile in ctx.profiles for column in profile.column_profiles)

    @staticmethod
    def _refuse_survival(ctx: Context) -> None:
        names = ", ".join(profile.name for profile in ctx.profiles)
        message = f"The question is about time to an event, but {names} has no time column with an event column."
        raise PlanError(message, advice="Add how long each subject was followed and whether the event happened (0/1).")

    @staticmethod
    def _refuse_type(ctx: Context) -> None:
        files = " ".join(f"{profile.name}: {why_not(profile)}" for profile in ctx.profiles)
        message = "No tool of this version analyses these kinds of files."
        raise PlanError(message, advice=files)

    def _finished(self, ctx: Context, profiles: list[Profile]) -> TaskDag:
        plan = TaskDag(
            question=ctx.question,
            datasets=ctx.builder.used_datasets(),
            nodes=self._as_said(ctx),
            open_questions=ctx.questions,
            warnings=list(dict.fromkeys([*ctx.warnings, *self._data_warnings(ctx, profiles)])),
            notes=ctx.notes,
        )
        blocked = [q for q in plan.open_questions if q.blocking]
        problems = [i for i in check_plan(plan, self._registry) if i.severity == "error" and i.code != "open_question"]
        wanted = {(q.node, q.param) for q in blocked}
        problems = [
            p for p in problems if not (p.code == "missing_param" and any(p.where == node for node, _ in wanted))
        ]
        if problems:
            message = f"The plan does not fit together: {problems[0].message}"
            raise PlanError(message, details={"issues": [p.model_dump() for p in problems]})
        return plan

    def _as_said(self, ctx: Context) -> list[TaskNode]:
        """Return the steps with the settings that the question names; what is asked stays open."""
        names = [column.name for profile in ctx.profiles for column in profile.column_profiles]
        return [with_what_was_said(n, self._registry.get(n.tool), ctx.question, names) for n in ctx.builder.nodes]

    @staticmethod
    def _data_warnings(ctx: Context, profiles: list[Profile]) -> list[str]:
        used = {dataset.path for dataset in ctx.builder.used_datasets()}
        own = [warning for profile in profiles if profile.path in used for warning in profile.warnings]
        unused = [
            f"{profile.name} was not used: {why_not(profile)}" for profile in profiles if profile.path not in used
        ]
        between = cross_check([profile for profile in profiles if profile.path in used])
        return [*between, *own, *unused]

    @staticmethod
    def _retrieved(ctx: Context) -> list[str]:
        by_phrase = sorted(ctx.goals.values(), key=lambda goal: -goal.score)
        return list(dict.fromkeys([*(goal.tool for goal in by_phrase), *ctx.ranked]))[:15]


def with_nearest(err: NotUnderstood, found: ToolSearch | None) -> NotUnderstood:
    """Return the error with the tools of the catalogues that come nearest to the question."""
    near = found.tools[:3] if found else []
    if not near:
        return err
    names = "; ".join(f"{t.name} ({'built in' if t.runnable else f'{t.catalogue}, not runnable here'})" for t in near)
    return NotUnderstood(err.message, advice=f"{err.advice} Nearest in the catalogues: {names}.", details=err.details)


_COMPANIONS = frozenset(
    [
        "compare_columns",
        "select_genes",
        "rank_genes",
        "gsea_preranked",
        "gene_expression",
        "sc_normalize",
        "sc_highly_variable",
        "sc_pseudobulk_de",
        "sc_gene_expression",
    ]
)
"""Tools the fields add around their goals; their names are not phrases of their own."""
