"""Time-to-event data: curves, the log-rank test and Cox regression."""

from __future__ import annotations

import re

from engine.agents.planning.columns import find_columns, find_levels, is_categorical, is_numeric, with_role
from engine.agents.planning.context import Context
from engine.agents.planning.design import adjustment_columns
from engine.domain.datatypes import DataType
from engine.domain.plan import OpenQuestion
from engine.domain.profile import ColumnProfile, Profile
from engine.errors import PlanError

_ALL = re.compile(
    r"\b(?:which|what) (?:factors?|variables?|features?|covariates?|characteristics|things)\b|\brisk factors?\b|\bpredictors?\b|"
    r"\bprognostic\b|\bwhat (?:affects?|influences?|determines?|drives?|predicts?)\b|\ball (?:variables|covariates|factors)\b",
    re.IGNORECASE,
)
_EVENT_WORDS = (
    "dead",
    "death",
    "died",
    "deceased",
    "event",
    "relapse",
    "relapsed",
    "recurrence",
    "progressed",
    "yes",
    "true",
    "1",
)


def plan_survival(ctx: Context) -> None:
    """Plan curves, a test and a regression for the groups and covariates a question names."""
    found = ctx.profile_as(DataType.SURVIVAL_TABLE)
    assert found is not None
    profile, guess = found
    columns = profile.column_profiles
    time, event = _one(ctx, profile, "time"), _one(ctx, profile, "event")
    value, asked = _event_value(ctx.question, event)
    base = {"time": time.name, "event": event.name, "event_value": value}
    others = [c for c in columns if c.name not in (time.name, event.name) and c.role("id") < 0.8 and c.distinct > 1]
    adjusted = adjustment_columns(ctx.question, others)
    named = [match.name for match in find_columns(ctx.question, others) if match.strength >= 0.55]
    named += [c.name for c in others if c.name not in named and len(find_levels(ctx.question, c)) >= 1]
    by_name = {column.name: column for column in others}
    groups = [name for name in named if name not in adjusted and _makes_curves(by_name[name])]
    everything = bool(_ALL.search(ctx.question)) and not [name for name in named if name not in adjusted]
    if everything:
        named = [c.name for c in others if is_numeric(c) or is_categorical(c)]
    covariates = list(dict.fromkeys([*(n for n in named if n not in adjusted), *adjusted]))
    data = {"survival": ctx.builder.use(profile, guess)}
    group = groups[0] if groups and not everything else ""
    unit = _time_unit(ctx.question, time)
    reasons = [f"Time is {time.name!r}, the event is {event.name!r} = {value}."]
    curves = ctx.builder.add("kaplan_meier", {**base, "group": group, "time_unit": unit}, inputs=data, reasons=reasons)
    if group:
        ctx.builder.add(
            "log_rank", {**base, "group": group}, inputs=data, reasons=[f"Compares the curves of {group!r}."]
        )
    for extra in groups[1:] if not adjusted and not everything else []:
        ctx.builder.add("kaplan_meier", {**base, "group": extra, "time_unit": unit}, inputs=data)
        ctx.builder.add("log_rank", {**base, "group": extra}, inputs=data)
    if covariates:
        why = [f"Estimates hazard ratios of {', '.join(covariates)} together."]
        if everything:
            why = ["The question asks which factors matter, so every column that can be a covariate is in the model."]
            _warn_many(ctx, covariates, profile)
        ctx.builder.add("cox_regression", {**base, "covariates": covariates}, inputs=data, reasons=why, priority=2)
    elif not ctx.vague and ctx.wants("cox_regression", "log_rank") and not group:
        usable_names = ", ".join(by_name) or "none"
        message = f"The question compares survival, but names no column of {profile.name} to compare by."
        raise PlanError(message, advice=f"Columns that could be meant: {usable_names}.")
    ctx.ask(curves, asked, also=[node.id for node in ctx.builder.nodes[1:]])
    if asked and len(event.levels) > 2:
        others = ", ".join(level for level in event.levels if level != value)
        ctx.warnings.append(
            f"{event.name!r} = {value} is taken as the event and {others} as censored; change it if that is wrong."
        )


def _makes_curves(column: ColumnProfile) -> bool:
    """Say whether a column is a grouping: a score of many whole numbers is a measurement and gets no curve a value."""
    return is_categorical(column) and not (is_numeric(column) and column.distinct > 6)


def _one(ctx: Context, profile: Profile, role: str) -> ColumnProfile:
    columns = with_role(profile.column_profiles, role, least=0.3)
    if not columns:
        message = f"{profile.name} has no column that could be the {role}."
        raise PlanError(message, advice="Survival analysis needs a time column and a 0/1 event column.")
    named = [match for match in find_columns(ctx.question, columns) if match.strength >= 0.9]
    return next(c for c in columns if c.name == named[0].name) if named else columns[0]


def _event_value(question: str, event: ColumnProfile) -> tuple[str, list[OpenQuestion]]:
    """Return the level that means the event happened, with a question when the coding is unusual."""
    levels = list(event.levels)
    plain = {level.lower().removesuffix(".0"): level for level in levels}
    if set(plain) <= {"0", "1"}:
        unsure = event.name.lower().startswith("cens")
        why = f"A column called {event.name!r} may mark the censored or the observed with 1"
        return plain.get("1", "1"), [_ask_event(event, "1", why)] if unsure else []
    if set(plain) <= {"1", "2"}:
        return plain.get("2", "2"), [_ask_event(event, "2", "1/2 codes usually mean 1 = censored, 2 = event")]
    if set(plain) <= {"true", "false"}:
        return plain.get("true", "True"), []
    named = [level for level, _ in find_levels(question, event)]
    if named:
        return named[0], []
    for word in _EVENT_WORDS:
        if word in plain and not word.isdigit():
            return plain[word], []
    numbers = sorted(plain, key=lambda text: float(text) if re.fullmatch(r"-?[\d.]+", text) else 0)
    value = plain[numbers[-1]]
    return value, [
        _ask_event(event, value, f"{event.name!r} has the values {', '.join(levels)}; others are taken as censored")
    ]


def _ask_event(event: ColumnProfile, value: str, why: str) -> OpenQuestion:
    return OpenQuestion(
        id="event_value",
        text=f"Which value of {event.name!r} means that the event happened?",
        why=why + ".",
        param="event_value",
        choices=list(event.levels),
        proposed=value,
    )


def _time_unit(question: str, time: ColumnProfile) -> str:
    text = f"{time.name} {question}".lower()
    return next((unit for unit in ("days", "weeks", "months", "years") if unit in text), "")


def _warn_many(ctx: Context, covariates: list[str], profile: Profile) -> None:
    if len(covariates) > 10:
        ctx.warnings.append(
            f"{len(covariates)} covariates enter one model on {profile.rows} rows: single results need confirmation."
        )
