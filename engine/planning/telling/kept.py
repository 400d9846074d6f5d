"""Which rows earlier steps keep for one, in words, and which of their conditions could be dropped."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engine.domain.brief import BriefPart
from engine.domain.plan import DATA_PREFIX, Span, TaskDag, TaskNode
from engine.text.codes import reworded
from engine.text.times import time_unit
from engine.toolbox.registry import ToolRegistry

ALL_ROWS = "all rows"
_AND = " and "


def kept_before(
    plan: TaskDag, node: TaskNode, registry: ToolRegistry, known: Mapping[str, Mapping[str, str]]
) -> list[BriefPart]:
    """Return what a step and those before it do to the rows, each with what else it could be: fewer conditions or none.

    Args:
        plan: the plan.
        node: the step.
        registry: says which parameter holds a condition on rows.
        known: what codes stand for.
    """
    ahead, seen, found = [node.id], set[str](), list[BriefPart]()
    while ahead:
        step = plan.node(ahead.pop(0))
        if step is None or step.id in seen:
            continue
        seen.add(step.id)
        ahead += [ref.partition(".")[0] for ref in step.inputs.values() if not ref.startswith(DATA_PREFIX)]
        for param in registry.get(step.tool).params:
            if param.role == "rows" and step.params.get(param.name):
                text = str(step.params[param.name])
                called = {"": ALL_ROWS} | {left: kept_rows(left, known) for left in _without_one(text)}
                found.append(BriefPart(
                    label="Rows", words=kept_rows(text, known), node=step.id, param=param.name, value=text,
                    candidates=list(called), called=called | {text: kept_rows(text, known)},
                    by_hand=step.settled.get(param.name) in ("edit", "set"),
                ))  # fmt: skip
    return found


def led_by(condition: str, known: Mapping[str, Mapping[str, str]], sentence: str) -> str:
    """Return what stands before a sentence on some rows only: `For sex F and age above 60, without comment hem: `.

    A condition with alternatives, which has no such short form, is told as it is. The levels that a sentence compares
    need not be said before it.
    """
    parts = [part for part in _parts(condition) if not _compared_in(part, sentence)]
    told = [_sided(part, known) for part in parts]
    if not all(told):
        return f"Where {kept_rows(_AND.join(parts), known)}: "
    if not told:
        return ""
    kept = [words for side, words in filter(None, told) if side == "for"]
    out = [words for side, words in filter(None, told) if side == "without"]
    sides = [f"for {_AND.join(kept)}"] * bool(kept) + [f"without {' or '.join(out)}"] * bool(out)
    text = ", ".join(sides)
    return f"{text[0].upper()}{text[1:]}: "


def at_times(lead: str, understood: Sequence[Span], question: str) -> str:
    """Return what stands before a sentence with a time told as the question does: `At day 21: ` of `For Time 21: `."""
    told = [span for span in understood if span.taken_as == "column" and time_unit(span.text.lower())]
    for span in understood:
        column, _, level = span.value.partition(" in ") if span.taken_as == "restriction" else ("", "", "")
        for unit in (one for one in told if column and one.value == column and level == span.text):
            first, last = sorted((unit, span), key=lambda one: one.start)
            if question[first.end : last.start].strip(" -") == "":
                words = f"{first.text} {last.text}".lower()
                lead = re.sub(rf"\AFor {re.escape(column)} {re.escape(level)}(?=: |, )", f"At {words}", lead)
    return lead


_SIGNS = {">": "above", "<": "below", ">=": "at least", "<=": "at most", "==": "", "!=": ""}
_LISTED = re.compile(r"\(?`([^`]+)` (not in|in) \[([^\]]*)\](?: or is_missing\(`\1`\)\))?")
_COMPARED = re.compile(r"`([^`]+)` (>=|<=|==|!=|>|<) (-?[\d.]+)")


def _compared_in(part: str, sentence: str) -> bool:
    """Say whether a condition keeps several levels, all of which a sentence names."""
    listed = _LISTED.fullmatch(part)
    levels = re.findall(r"'([^']*)'", listed[3]) if listed and listed[2] == "in" else []
    return len(levels) > 1 and all(re.search(rf"(?<!\w){re.escape(level)}(?!\w)", sentence) for level in levels)


def _sided(part: str, known: Mapping[str, Mapping[str, str]]) -> tuple[str, str] | None:
    """Return whether one condition says what is kept or what is left out, and what; None for one with alternatives."""
    if listed := _LISTED.fullmatch(part):
        column, how, values = listed.groups()
        level = reworded(f"{column} is {_either(values)}", known).removeprefix(f"{column} is ")
        words = level if level.lower().startswith(column.lower()) else f"{column} {level}"
        return "without" if how == "not in" else "for", words
    if compared := _COMPARED.fullmatch(part):
        column, sign, value = compared.groups()
        return "without" if sign == "!=" else "for", " ".join(f"{column} {_SIGNS[sign]} {value}".split())
    return None


def _without_one(condition: str) -> list[str]:
    """Return a condition without each of the parts that must all hold, one at a time; none where it has one part only."""
    parts = _parts(condition)
    return [_AND.join(parts[:at] + parts[at + 1 :]) for at in range(len(parts))] if len(parts) > 1 else []


def _parts(condition: str) -> list[str]:
    """Return the parts of a condition that must all hold: cut at `and`, not within brackets, names or texts."""
    parts, depth, quote, start, at = list[str](), 0, "", 0, 0
    while at < len(condition):
        sign = condition[at]
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "`'\"":
            quote = sign
        elif sign in "([":
            depth += 1
        elif sign in ")]":
            depth -= 1
        elif depth == 0 and condition.startswith(_AND, at):
            parts.append(condition[start:at])
            start = at + len(_AND)
        at += 1
    return [*parts, condition[start:]]


def kept_rows(condition: str, known: Mapping[str, Mapping[str, str]] | None = None) -> str:
    """Return a condition in words: "`sex` in ['F'] and `age` > 60" as `sex is F and age > 60`.

    Args:
        condition: as a step for rows takes it.
        known: column -> level -> what it stands for.
    """
    text = re.sub(r"count_of\(`([^`]+)` in (\[[^]]*\]), `([^`]+)`\) (== 0|> 0)", _whole, condition)
    text = re.sub(
        r"\((`[^`]+` not in \[[^\]]*\]) or is_missing\(`[^`]+`\)\)", r"\1", text
    )  # an empty remark says nothing
    text = re.sub(r"is_missing\(`([^`]+)`\)", r"\1 is empty", text)
    text = re.sub(r"`([^`]+)` in \['\1'\]", r"\1", text)  # a column that is called as what it says
    text = re.sub(r"`([^`]+)`", r"\1", text)
    text = re.sub(r" not in \[([^]]*)\]", lambda m: f" is not {_either(m[1])}", text)
    text = re.sub(r" in \[([^]]*)\]", lambda m: f" is {_either(m[1])}", text)
    return reworded(text, known or {})


def _whole(count: re.Match[str]) -> str:
    """Return the condition on how many rows of a subject have a value in words: `no row of the calf has note died`."""
    column, values, subject, some = count.groups()
    return f"{'no' if some == '== 0' else 'a'} row of the {subject} has {column} in {values}"


def _either(listed: str) -> str:
    values = re.findall(r"'[^']*'|\"[^\"]*\"|[^\s,][^,]*", listed)  # a comma in quotes parts nothing
    return " or ".join(value.strip().strip("'\"") for value in values)
