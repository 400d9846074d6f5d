"""What a question in a conversation takes over from the plan before it.

A follow-up says little by itself: which rows (`and for the women only`), another setting (`use FDR 1 %`), what is held constant
(`same but adjusted for age`), another measure (`the same for weight`), what comes next (`which pathways?`), a picture (`plot that by
dose`). The question before is written anew with it, so that its plan is made, checked and explained like that of any other
question. Where both say something of one thing, the follow-up holds. A question that says all it needs takes over nothing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from engine.domain.plan import TaskDag, TaskNode
from engine.domain.toolspec import ToolSpec
from engine.errors import PlanError
from engine.planning.names import STOP
from engine.planning.reading import Contrast, Reading, Restriction
from engine.planning.score import Candidate
from engine.planning.settings import settings_said
from engine.planning.sheets import Data, is_group
from engine.planning.ways import ways_said
from engine.toolbox.registry import ToolRegistry

_LEAD = r"^\W*(?:(?:ok(?:ay)?|thanks?(?: you)?|thx|great|nice|good|perfect|hmm|please|pls|can you|could you|kindly|and|but|so|now|then|also|well)\b\W*)*"
_WEAK = re.compile(
    r"^\W*(?:and|but|also|now|then|so|ok(?:ay)?|thanks?|thx|please|pls|use|using|with|take|try|add|include|set|put|what if)\b",
    re.I,
)
_STRONG = re.compile(
    _LEAD + r"(?:what about|how about|(?:do |run |give |show )?(?:me )?(?:the )?same(?! (?:patient|subject|animal|donor|individual|person|sample)s?\b)|again|repeat|redo|rerun|only|just|"
    r"without|excluding|exclude|except|omit|leave|drop|remove|instead|do (?:it|that|this)|for the|in the|among|limit|restrict|adjust\w*|correct\w*|"
    r"(?:also )?(?:by|for each|within each|separate\w*|split\w*)|(?:use |on )?(?:an? |the )?log(?:10|2)?[ -]?(?:scale|transform\w*))\b|"
    r"\binstead\b|\bas well\W*$|\btoo\W*$|\bagain\W*$",
    re.I,
)  # fmt: skip
_POINTS = re.compile(r"\b(?:that|this|these|those|it|them|they)\b(?!\s+(?:is|was)?\s*(?:true|possible|that)\b)", re.I)
_POINTED = re.compile(r"\b(?:that|this|it|them|these|those)\b(?!\s+[\w-]+s\b)", re.I)
SHORT = 7
"""So many words without a sign that they go on still do when they say too little by themselves."""
LONG = 16
"""More words are a question of its own."""
NEXT = 0.2
"""How likely by its words another analysis must be to come next."""
MEANT = 0.75
"""From this probability on it is taken as meant; below it is asked."""
DRAWN = 0.02
"""The same among drawings, where the words say that one is wanted."""
_GOING = frozenset(
    "ok okay thanks thank thx great nice good please pls now then also so but and repeat redo rerun same again instead rather without "
    "except exclude excluding leave drop remove omit keep keeping limit restrict restricted only just alone use using try set take put "
    "make run do test analysis analyse analyze model result results threshold cutoff cut level criterion value values everything all "
    "samples rows data patients subjects ones group groups compare comparing comparison against versus vs change changed like before "
    "outlier outliers wrong bad first second it that this adjusted adjusting adjust adjustment corrected correcting correction account "
    "accounting consider considering include including add adding too well what about how if when is was be significant done".split()
)
"""Words that a follow-up changes something with: they ask for nothing by themselves."""


class Try(NamedTuple):
    """A way to understand a follow-up: the whole question it makes, and as what to plan it."""

    question: str
    analysis: str
    kept: str
    """What it takes over, in words."""
    new: str
    """What is new, in words."""
    sure: bool = True
    """False where the words hardly say that this is meant: it is asked."""
    holds: str = ""
    """What must stand in the parameters of a plan that does it: a formula, the column that rows are taken apart by."""


class FollowUp(NamedTuple):
    """A question that goes on from a plan."""

    tries: list[Try]
    """The likeliest first."""
    settings: dict[tuple[str, str], Any]
    """(Tool, parameter) -> the value that it says."""
    named: frozenset[str]
    """The columns it names."""
    rows: list[Restriction]
    """The rows it keeps or leaves out."""
    held: list[str]
    """The columns it holds constant."""
    same: dict[tuple[str, str], Any]
    """(Tool, parameter) -> the columns that stay as they were, where only rows or settings change."""

    def is_done(self, plan: TaskDag, one: Try, *, chosen: bool) -> bool:
        """Say whether a plan really does what is said to be new: keeps the rows, holds the columns, has the settings.

        Where a person has chosen the analysis, its steps need not be those before.
        """
        values = [value for node in plan.nodes for value in node.params.values()]
        texts = " ".join(value for value in values if isinstance(value, str))
        lists = [{*value} for value in values if isinstance(value, list)]
        kept = all(f"`{row.column}`" in texts or {*row.values} in lists for row in self.rows) and one.holds in texts
        constant = {*self.held} <= {item for value in values for item in _flat(value)}
        tools = {node.tool for node in plan.nodes}
        stays = (
            chosen
            or bool(one.holds)
            or all(
                any(node.tool == tool and node.params.get(name) == value for node in plan.nodes)
                for (tool, name), value in self.same.items()
            )
        )
        return kept and constant and stays and (not self.settings or any(tool in tools for tool, _ in self.settings))


def follow_up(
    question: str, own: Reading, base: Reading, judge: Judge, before: TaskDag, data: Data, registry: ToolRegistry
) -> FollowUp | None:
    """Return how a question goes on from the plan before it, or None when it stands by itself.

    Args:
        question: what is asked.
        own: its reading.
        base: the reading of the question before.
        judge: returns what a text may ask for by itself, likeliest first, and its reading.
        before: the plan before it.
        data: the files.
        registry: the tools.

    Raises:
        PlanError: when it goes on, and nothing in it is found that the plan before could do otherwise.
    """
    specs = {node.tool: registry.get(node.tool) for node in before.nodes if node.tool in registry}
    fresh = replace(own, used=dict(own.used))  # judging notes what other tools would take the words for
    if not before.nodes or stands_alone(question, own, judge(question)[0], specs):
        return None
    _require_no_samples(question, data)
    settings = _settings(specs.values(), fresh)
    more = _asks_more(fresh) and not (_ADDED.search(question) and own.named())
    cuts = [row for row in own.restrictions if row.sure and row.op not in ("in", "not in")]
    if cuts and not _PICTURE.search(question) and {*own.named()} <= {row.column for row in cuts}:
        more = more and len(own.words) > SHORT  # `the ones older than 50 years` asks for nothing more
    rows = [row for row in own.restrictions if row.sure or not more]  # `the risk of low weight` keeps no rows
    rows = rows or ([] if more or own.contrasts else _levels_alone(own))
    against = [c for c in own.contrasts if c.explicit or c.column not in {row.column for row in rows}]
    asked = {chosen.id for chosen in before.analysis}  # one of each level is one analysis
    last = asked.pop() if len(asked) == 1 else ""
    settings |= {key: value for key, value in _threshold(question, specs.values(), own).items() if key not in settings}
    held = [name for name, parts in own.parts.items() if "adjust" in parts]
    added = [name for name in own.named() if _ADDED.search(question) and name not in held]
    held += added
    if held and all(_is_held(name, base, before, specs) for name in held) and not (rows or settings):
        message = f"{', '.join(held)} is held constant in the plan before already."
        raise PlanError(message, advice=f"It was read as going on from {_short(before.question)}.")
    free = [name for name in _let_go(own) if _is_held(name, base, before, specs)]
    held = [name for name in held if name not in _let_go(own)]
    new = _changes(against, rows, settings, held, free)
    alone = rows and not (settings or held or against or more)  # rows and nothing else: said as surely as can be
    said = "" if free else ", ".join(_told(own, row, data) for row in rows) if alone else _said_anew(question)
    if added:
        said = f"adjusted for {' and '.join(held)}"
    base_text = _overridden(base, own, free).rstrip(" .?!;,")
    merged = f"{base_text}{', ' if _CLAUSE.match(said) else '; '}{said}" if said else base_text
    kept = _short(before.question)
    tries: list[Try] = []
    swapped = _swapped(own, base, before, specs, data)
    if swapped is not None:
        old, column, anew = swapped
        tries += [Try(anew, key, kept, f"{column} in place of {old}") for key in dict.fromkeys([last, ""])]
    elif more:
        tries += _next(question, own, base, before, specs, judge, merged, kept, {tool for tool, _ in settings})
    if new:
        # What is held constant may need another analysis than the one before.
        able = any(last in spec.answers and any(p.role in HELD for p in spec.params) for spec in specs.values())
        keys = [*_holding(held, judge(merged)[0]), "", last] if (held or free) and not able else [last, ""]
        tries += [Try(merged, key, kept, new) for key in dict.fromkeys(keys)]
    same = {} if (held or free or against or more or swapped) else _columns(before, specs)
    if same and len(rows) == 1 and rows[0].op == "in" and (column := data.column(rows[0].column)) is not None:
        others = [level for level in column.levels if level not in rows[0].values]  # the same rows, read more surely
        tries.append(Try(f"{base_text}, without {column.name} {' and '.join(others)}", last, kept, new))
    if not tries or re.search(r"\b(?:split|separat|each|log[\d\s-]{0,3}(?:scale|transf))", question, re.IGNORECASE):
        tries = _other_form(question, own, base, before, specs, data, last) + tries
    if not tries:
        raise _nothing_new(question, own, before, data)
    return FollowUp(tries, settings, frozenset(own.columns()), rows if new else [], held, same)


_APART = re.compile(r"\b(?:by|per|each|every|within|split\w*|separate\w*|both|strat\w+|groups?)\b", re.IGNORECASE)
_LOG = re.compile(r"\b(?P<log>log(?:10|2)?)[\s-]?(?:scale|transform\w*|values?)?\b", re.IGNORECASE)


def _other_form(
    question: str, own: Reading, base: Reading, before: TaskDag, specs: Mapping[str, ToolSpec], data: Data, last: str
) -> list[Try]:
    """Return the question before asked of the rows of each level (`also by sex`), or of the logarithm of what it measures."""
    text, kept = base.question.rstrip(" .?!;,"), _short(before.question)
    apart = [name for name in own.columns() if (column := data.column(name)) is not None and is_group(column)]
    if len(apart) == 1 and _APART.search(question) and not base.strength(apart[0]):
        return [
            Try(
                f"{text}, separately for each {apart[0]}",
                last,
                kept,
                f"one step for each level of {apart[0]}",
                holds=f"`{apart[0]}`",
            )
        ]
    said = _LOG.search(question)
    explained = [n for n in outcomes(before, specs, ("outcome", "measure", "count")) if base.strength(n)]
    measured = explained if said and not apart else []
    spots = [m for m in base.mentions if m.column in measured[:1] and not m.level]
    if said is not None and spots:
        start, log = base.words[spots[0].first].start, said["log"].lower()
        log = "log10" if log == "log" else log
        return [
            Try(
                f"{text[:start]}{log} {text[start:]}",
                "",
                kept,
                f"{log} of {measured[0]}",
                holds=f"{log}(`{measured[0]}`)",
            )
        ]
    return []


def _require_no_samples(question: str, data: Data) -> None:
    """Refuse to leave out samples of a matrix, which no step does.

    Raises:
        PlanError: when a sample is named.
    """
    known = {name for sheet in data.sheets for name in sheet.profile.sample_ids if sheet.profile.feature_ids}
    named = [word for word in re.findall(r"[\w.-]+", question) if word in known]
    if named:
        message = f"No step leaves out or keeps single samples of a matrix ({', '.join(named)})."
        raise PlanError(
            message, advice="Leave them out of both files, the matrix and its sample sheet, and ask with these."
        )


def _holding(held: Sequence[str], every: Sequence[Candidate]) -> list[str]:
    """Return the likeliest analysis that can hold columns constant."""
    able = (
        c.analysis.id
        for c in every
        if held and c.bound is not None and c.feasible and not c.bound.missing and {*held} <= {*c.bound.of_role(*HELD)}
    )  # fmt: skip
    return list(itertools.islice(able, 1))


OUTCOMES = ("outcome", "measure", "y", "count")
"""Roles of the columns that a step explains."""
HELD = ("held", "covariates", "predictors", "strata")
"""Roles of the columns that a step can hold constant."""
Judge = Callable[[str], tuple[Sequence[Candidate], Reading]]
_CLAUSE = re.compile(
    r"(?:only|without|excluding|except|adjust\w*|correct\w*|controll\w*|with|using|for|in|among|at)\b", re.IGNORECASE
)
"""What is said as a part of a sentence."""
_SAME = re.compile(r"^(?:(?:do |run |give |show )?(?:me )?(?:the )?same(?: thing| analysis| test| again)?|again|repeat(?: (?:it|that|this))?|redo(?: (?:it|that|this))?)\b[\s,]*(?:but\b|and\b|with (?=only|adjust))?\s*", re.I)  # fmt: skip


def _said_anew(question: str) -> str:
    """Return a follow-up without the words that only say that it is one."""
    said = re.sub(_LEAD, "", question, flags=re.IGNORECASE).strip() or question
    return (_SAME.sub("", said).strip() or said).rstrip(" ?!.")


def _is_held(name: str, base: Reading, before: TaskDag, specs: Mapping[str, ToolSpec]) -> bool:
    """Say whether the plan before holds a column constant."""
    roles = {
        (tool, param.name) for tool, spec in specs.items() for param in spec.params if param.role in HELD
    }  # fmt: skip
    bound = any(
        name in _flat(node.params.get(param)) for node in before.nodes for tool, param in roles if tool == node.tool
    )
    return bound or base.is_a(name, "adjust")


def _nothing_new(question: str, own: Reading, before: TaskDag, data: Data) -> PlanError:
    """Return the error for a follow-up in which nothing is found that could be done otherwise."""
    steps = ", ".join(dict.fromkeys(node.name for node in before.nodes))
    if ways := [f"{said.group()!r}: {way.says}." for said, way in ways_said(question)]:
        message = " ".join(ways)
    elif own.alpha is not None or own.min_lfc is not None or own.top is not None:
        message = f"No step of the plan before has a setting for what {question!r} says; its steps are: {steps}."
    elif own.named():
        message = f"What is to be done with {', '.join(own.named())} in {question!r} was not understood."
    else:
        message = f"Nothing in {question!r} is a column, a value, a setting or an analysis that was found here."
    names = ", ".join(column.name for column in data.columns()[:12])
    advice = f"It was read as going on from {_short(before.question)}. Say which rows (a column and its value), which setting or which analysis is meant; the columns are {names}."
    return PlanError(message, advice=advice)


def stands_alone(question: str, own: Reading, every: Sequence[Candidate], specs: Mapping[str, ToolSpec]) -> bool:
    """Say whether a question says all it needs: what is measured, and by what.

    Args:
        question: what is asked.
        own: its reading.
        every: what it may ask for, likeliest first.
        specs: the tools of the plan before: what they make something for goes on from them.
    """
    words, strong, points = len(own.words), bool(_STRONG.search(question)), bool(_POINTS.search(question))
    if words > LONG or (own.every and not points and not strong):
        return True
    if strong:
        return False
    top = every[0] if every else None
    bound = top.bound if top is not None else None
    onward = {tool for spec in specs.values() for tool in spec.produces_for} | {*specs}
    if bound is not None and bound.spec.name in onward and not bound.columns():
        return False
    if words <= SHORT and own.restrictions and {*own.named()} <= {row.column for row in own.restrictions}:
        return False  # `the ones older than 50`: of what was asked before
    if top is not None and bound is not None and not bound.missing and top.feasible and not top.unmet and not points:
        needs_none = not bound.columns() and not own.restrictions and top.wording >= 0.5
        if len(own.named()) > 1 or needs_none or (own.named() and not _WEAK.search(question)):
            return True
    return not points and not _WEAK.search(question) and words > SHORT


def with_what_was_set(plan: TaskDag, before: TaskDag, said: FollowUp) -> TaskDag:
    """Return the plan with what the follow-up says of settings, and what a person had set in the plan before."""
    kept = _set_by_hand(before)
    nodes = []
    for node in plan.nodes:
        params, settled, reasons = dict(node.params), dict(node.settled), list(node.reasons)
        for (tool, name), value in said.settings.items():
            if tool == node.tool and params.get(name) != value:
                params[name], settled[name] = value, "plan"
        for name, value in kept.get(node.tool, {}).items():
            named = isinstance(value, str | list) and bool({*_flat(params.get(name))} & said.named)
            if (node.tool, name) not in said.settings and params.get(name) != value and not named:
                params[name], settled[name] = value, "set"
                reasons.append(f"{name} = {value!r} as it was set in the plan before.")
        nodes.append(node.model_copy(update={"params": params, "settled": settled, "reasons": reasons}))
    return plan.model_copy(update={"nodes": nodes})


def _set_by_hand(before: TaskDag) -> dict[str, dict[str, Any]]:
    """Return tool -> what a person set in it, of tools that one step alone is of."""
    count: dict[str, list[TaskNode]] = {}
    for node in before.nodes:
        count.setdefault(node.tool, []).append(node)
    return {
        tool: {name: node.params.get(name) for name, who in node.settled.items() if who in ("set", "edit")}
        for tool, (node, *others) in count.items()
        if not others
    }


def _flat(value: Any) -> list[str]:
    return [str(item) for item in (value if isinstance(value, list) else [value]) if item not in (None, "")]


# ==== what is new ====


def _settings(specs: Iterable[ToolSpec], own: Reading) -> dict[tuple[str, str], Any]:
    """Return what the follow-up says of the settings of the steps before."""
    found: dict[tuple[str, str], Any] = {}
    for spec in specs:
        texts = {param.name: None for param in spec.params if param.kind == "text"}
        for name, value in settings_said(spec, own, texts).items():
            found[spec.name, name] = value
    return found


def _changes(
    against: Sequence[Contrast],
    rows: Sequence[Restriction],
    settings: Mapping[tuple[str, str], Any],
    held: list[str],
    free: list[str],
) -> str:
    told = [_rows(row) for row in rows]
    told += list(dict.fromkeys(f"{name} = {_said(value)}" for (_, name), value in settings.items()))
    told += [f"{' against '.join(c.levels)} ({c.column})" for c in against]
    told += [f"held constant: {column}" for column in held]
    told += [f"no longer held constant: {column}" for column in free]
    return "; ".join(told)


def _said(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else ", ".join(_flat(value))


def _rows(row: Restriction) -> str:
    values = ", ".join(row.values)
    if row.op in ("in", "not in"):
        return f"{'only' if row.op == 'in' else 'without'} {row.column} = {values}"
    return f"only {row.column} {' to '.join(row.values) if row.op == 'between' else f'{row.op} {values}'}"


def _in_words(row: Restriction) -> str:
    """Return rows as the reader understands them surely."""
    values = " and ".join(row.values)
    if row.op in ("in", "not in"):
        return f"{'only' if row.op == 'in' else 'without'} {row.column} {values}"
    if row.op == "between":
        return f"only {row.column} >= {row.values[0]}, only {row.column} <= {row.values[1]}"
    return f"only {row.column} {row.op} {values}"


_ADDED = re.compile(
    r"\b(?:take|include|add|put|use|consider)\b.{0,40}\b(?:in(?:to)? (?:the )?(?:model|analysis|account)|to the model|as (?:an? )?(?:covariates?|confounders?|factors?))\b",
    re.IGNORECASE,
)
"""What adds columns to the model: `take batch in the model too`."""
_LIMIT = re.compile(
    r"\b(?:threshold|cut-?off|p(?:-?value)?s?|significance|level)\b\W*(?:(?:of|to|at|is|below|under)\W*)?(?P<n>0?[.,]\d+|\d+(?:[.,]\d+)?\s*%)",
    re.I,
)


def _threshold(question: str, specs: Iterable[ToolSpec], own: Reading) -> dict[tuple[str, str], Any]:
    """Return the significance that a follow-up names as a bare threshold (`with threshold 0.01`), for the tools that have one."""
    said = _LIMIT.search(question)
    if said is None or own.alpha is not None or own.named():
        return {}
    text = said["n"].replace(",", ".")
    value = float(text.rstrip(" %")) / (100 if "%" in text else 1)
    if not 0 < value < 0.5:
        return {}
    own.mark_text(said.start(), said.end(), "threshold", f"{value:g}")
    return {(spec.name, "alpha"): value for spec in specs if spec.param("alpha") is not None}


def _levels_alone(own: Reading) -> list[Restriction]:
    """Return the rows of the levels of one column that are named and nothing else is: `can you also test the females`."""
    named = [m for m in own.mentions if m.level]
    if not named or len({m.column for m in named}) > 1 or own.named():
        return []
    values = tuple(dict.fromkeys(m.level for m in named))
    return [Restriction(named[0].column, "in", values, named[0].first, named[-1].last, sure=True)]


def _told(own: Reading, row: Restriction, data: Data) -> str:
    """Return rows in the words of the follow-up where these are names, so that they are read surely: `only men`."""
    words = own.question[own.words[row.first].start : own.words[row.last].end]
    if row.op not in ("in", "not in"):
        return _in_words(row)
    sign = "only" if row.op == "in" else "without"
    several = sum({*row.values} <= {*column.levels} for column in data.columns()) > 1  # `yes` alone says nothing
    plain = words.replace(" ", "").isalpha() and not several
    return f"{sign} {words}" if plain else f"{sign} {row.column} {' and '.join(row.values) if several else words}"


def _asks_more(own: Reading) -> bool:
    """Say whether words are left that ask for something, beside those that change the analysis before."""
    held = {at for row in own.restrictions for at in range(row.first, row.last + 1)}
    left = [w for at, w in enumerate(own.words) if at not in own.used and at not in held and w.number is None]
    return any(w.text not in STOP and w.text not in _GOING and len(w.text) > 2 for w in left)


def _next(
    question: str, own: Reading, base: Reading, before: TaskDag, specs: Mapping[str, ToolSpec], judge: Judge, merged: str, kept: str, changed: set[str],
) -> list[Try]:  # fmt: skip
    """Return the analyses that the follow-up may ask for next, first by what it says with the pointing words filled in."""
    outcome = next(iter(outcomes(before, specs)), "")
    filled = _POINTED.sub(outcome, question, count=1) if outcome else question
    every, reading = judge(filled)
    done = {chosen.id for chosen in before.analysis}
    onward = {tool for spec in specs.values() for tool in spec.produces_for}
    able = [
        c
        for c in every
        if c.analysis.data
        and c.bound is not None
        and (c.bound.spec.task_type != "preprocessing" or c.bound.spec.name in onward)
        and (c.analysis.id not in done or filled != question)
    ]
    if _PICTURE.search(question):
        able = [c for c in able if c.bound is not None and c.bound.spec.task_type == "visualization"] or able
    named = {*reading.named()}
    least = DRAWN if _PICTURE.search(question) else NEXT
    worded = [c for c in able if max(c.wording, c.probability) >= least]
    # What takes a column that nobody named fits less: `plot it by sex` shows no year.
    worded.sort(key=lambda c: (c.bound is not None and not {*c.bound.columns()} <= named, -c.probability))
    again = {row.column for row in own.restrictions}
    rows = [_in_words(row) for row in base.restrictions if row.sure and row.column not in again]
    found: list[Try] = []
    for one in worded[:2]:
        if one.bound is not None and one.bound.spec.name in changed:
            continue  # `only top 10 genes in the heatmap`: a step that is there already, otherwise
        sure = one.probability >= MEANT or (
            bool(_PICTURE.search(question)) and one.bound is not None and one.bound.spec.task_type == "visualization"
        )
        if len(named) > 1:
            text = ", ".join([_said_anew(filled), *rows])
            found.append(
                Try(
                    text,
                    one.analysis.id,
                    "; ".join([f"{outcome} of {kept}" if filled != question else kept, *rows]),
                    one.analysis.name,
                    sure,
                )
            )
        if one.analysis.id not in done:
            found.append(Try(merged, one.analysis.id, kept, one.analysis.name, sure))
    return found


_PICTURE = re.compile(
    r"\b(?:plot\w*|draw\w*|figures?|graphs?|charts?|pictures?|\w*plots?|heat ?maps?|volcano|histograms?|curves?|visuali[sz]e)\b",
    re.I,
)


def outcomes(before: TaskDag, specs: Mapping[str, ToolSpec], roles: Sequence[str] = OUTCOMES) -> list[str]:
    """Return the columns that the steps answering the question before explain."""
    asked = {chosen.id for chosen in before.analysis}
    answering = [node for node in before.nodes if (s := specs.get(node.tool)) and asked & {*s.answers}]
    return [
        column
        for node in answering
        for param in specs[node.tool].params
        if param.kind in ("column", "columns") and param.role in roles
        for column in _flat(node.params.get(param.name))
    ]


def _columns(before: TaskDag, specs: Mapping[str, ToolSpec]) -> dict[tuple[str, str], Any]:
    """Return (tool, parameter) -> the columns of the steps that answer the question before."""
    asked = {chosen.id for chosen in before.analysis}
    return {
        (node.tool, param.name): node.params.get(param.name)
        for node in before.nodes
        if (spec := specs.get(node.tool)) and asked & {*spec.answers}
        for param in spec.params
        if param.kind in ("column", "columns")
    }


# ==== the question before, written anew ====


def _overridden(base: Reading, own: Reading, free: Sequence[str]) -> str:
    """Return the question before without what the follow-up says otherwise."""
    text = base.question
    gone: list[tuple[int, int]] = []
    again = {row.column for row in own.restrictions if row.op != "not in"}
    for row in base.restrictions:
        if row.column in again and row.op != "not in":
            gone.append(_around(text, base.words[row.first].start, base.words[row.last].end))
    for new, old in ((own.alpha, base.alpha), (own.min_lfc, base.min_lfc), (own.top, base.top)):
        if new is not None and old is not None:
            gone.append((old.start, old.end))
    other = {contrast.column for contrast in own.contrasts}
    gone += [
        (base.words[m.first].start, base.words[m.last].end) for m in base.mentions if m.level and m.column in other
    ]
    for column in free:
        gone += [
            _around(text, base.words[m.first].start, base.words[m.last].end)
            for m in base.mentions
            if m.column == column and "adjust" in base.parts.get(column, ())
        ]
    for start, end in sorted(gone, reverse=True):
        text = text[:start] + " " + text[end:]
    return " ".join(text.split())


_BEFORE = re.compile(
    r"(?:[,;]?\s*\b(?:and|but|for|in|among|within|only|just|the|of|with|on|at|those|who|that|are|were|is|all|from|adjust\w*|correct\w*|controll\w*|account\w*)\s*)+$",
    re.I,
)
_AFTER = re.compile(r"^\s*(?:only|alone|ones?)\b", re.I)


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return a stretch with the small words that belong to it."""
    before, after = _BEFORE.search(text[:start]), _AFTER.match(text[end:])
    return (before.start() if before else start), end + (after.end() if after else 0)


_NOT_ADJUSTED = re.compile(
    r"\b(?:without|no|not|drop|remove|leave out|instead of)\b[^,;.]{0,30}\b(?:adjust|correct|account|controll)\w*", re.I
)


def _let_go(own: Reading) -> list[str]:
    """Return the columns that the follow-up no longer wants held constant."""
    return own.named() if _NOT_ADJUSTED.search(own.question) else []


_INSTEAD = re.compile(r"\b(?:instead of|rather than|in place of|not)\b", re.I)
_SAME_FOR = re.compile(
    _LEAD
    + r"(?:(?:do |run |give |show )?(?:me )?(?:the )?same (?:thing |analysis |test |again )?(?:for|with|of|on|but)|repeat|redo|again|what about|how about|instead)\b|\binstead\b",
    re.I,
)


def _swapped(
    own: Reading, base: Reading, before: TaskDag, specs: Mapping[str, ToolSpec], data: Data
) -> tuple[str, str, str] | None:
    """Return (column before, column now, the question before with it) where a follow-up puts one column in place of another."""
    told = [
        name
        for name in own.named()
        if name not in {row.column for row in own.restrictions} and not own.is_a(name, "adjust", "by")
    ]
    known = [name for name in told if base.strength(name)]
    fresh = [name for name in told if name not in known]
    if len(fresh) != 1 or not (_SAME_FOR.search(own.question) or _INSTEAD.search(own.question)) or own.restrictions:
        return None
    column = data.column(fresh[0])
    explained = [name for name in outcomes(before, specs) if base.strength(name)]
    alike = [
        name
        for name in [*explained, *base.named()]
        if column is not None
        and (old := data.column(name)) is not None
        and (old.kind == "text") == (column.kind == "text")
    ]
    old = (known or alike or [""])[0]
    spots = [m for m in base.mentions if m.column == old and not m.level]
    if not spots:
        return None
    text = base.question
    for m in sorted(spots, key=lambda m: -m.first):
        text = text[: base.words[m.first].start] + fresh[0] + text[base.words[m.last].end :]
    new = re.escape(fresh[0])
    text = re.sub(rf"\b(?:[\w-]+ \({new}\)|{new}(?:\s+{new})+)", lambda _: fresh[0], text)  # it was said in two ways
    return old, fresh[0], text


def _short(text: str, length: int = 90) -> str:
    text = " ".join(text.split())
    cut = text if len(text) <= length else text[:length].rsplit(" ", 1)[0].rstrip(",;: ") + "..."
    return f'"{cut}"'
