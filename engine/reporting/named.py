"""Levels that say too little by themselves, told with the name of their column: `higher in DM ja`, `age above 54.5`.

A sentence names groups as the data write them. Sides of a cut number, levels taken together and a bare yes or no say
nothing without what they are of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from engine.domain.plan import TaskDag, texts_of
from engine.domain.profile import ColumnProfile
from engine.text.letters import plain

_BARE = frozenset(
    "yes no ja nein oui non si true false positive negative pos neg present absent positiv negativ vrai faux".split()
)
_MADE = re.compile(r"if_else\(`([^`]+)`")
_TEXT = re.compile(r"'((?:[^'\\]|\\.)*)'")
_REST = frozenset({"", "neither", "the rest"})


class _Told(NamedTuple):
    column: str
    """As a step was given it."""
    called: str
    """What its levels are told with."""
    levels: tuple[str, ...]
    anywhere: bool
    """Whether a level is no word of plain English, so that it can be told from what stands around it."""


def with_names(text: str, plan: TaskDag | None, columns: Sequence[ColumnProfile], params: Mapping[str, object]) -> str:
    """Return the sentence of a step with the levels of its columns told with what they are of.

    Args:
        text: the sentence.
        plan: whose steps may have made columns.
        columns: of the files.
        params: of the step that wrote the sentence.
    """
    given = {text for value in params.values() for text in texts_of(value)}
    for column in columns:
        if column.name in given:
            text = _with_ends(text, column)
    for told in (*_made(plan), *_yes_and_no(columns)):
        if told.column in given:
            text = _named(text, told)
    return text


_HAPPENED = frozenset("yes ja oui si true wahr vrai y j".split())
_POSITIVE = frozenset("positive pos positiv positif positivo +".split())
_ENDS = {
    word: noun
    for noun, words in {
        "death": "dead died death deceased tot tod gestorben verstorben mort morte deces decede muerto muerte",
        "relapse": "relapse relapsed rezidiv ruckfall rechute recaida",
        "recurrence": "recurrence recurred",
        "progression": "progression progressed",
        "infection": "infection infected",
        "failure": "failure failed",
        "healing": "healed healing geheilt heilung gueri curado",
        "germination": "germinated germination gekeimt",
        "the event": "event events ereignis evento evenement",
    }.items()
    for word in words.split()
}
"""What an end is called where its column or level says how it stands: `dead = yes (1)` is death."""
_OF = r"\b(hazard|risk|odds|rate|share|cumulative incidence|probability) of "


def _with_ends(text: str, column: ColumnProfile) -> str:
    """Return a sentence with what happened as people say it: the hazard of death, the share of Bd positive."""
    for level in column.levels:
        own = re.escape(level)
        told = re.compile(rf"{_OF}{re.escape(column.name)} = (?:(\w[\w ]*?) \({own}\)|({own}))(?![\w.(])")
        text = told.sub(lambda found: _of_end(found, column.name), text)
        end = re.search(rf"events, {re.escape(column.name)} = (?:(\w[\w ]*?) \({own}\)|({own}))\)", text)
        text = _until(text, end, column.name) if end else text
    return text


def _until(text: str, end: re.Match[str], name: str) -> str:
    """Return a sentence on the time to an end that calls it so: only where people die do they survive."""
    noun = _noun(end[1] or end[2], name) or end[1] or name
    if noun == "death":
        return text.replace("half had the event by", "half had died by")
    told = re.sub(r"\bSurvival is\b", f"Time to {noun} is", text, count=1)
    told = re.sub(r"\bMedian survival\b", f"Median time to {noun}", told, count=1)
    return told.replace("half had the event by", "half had reached it by")


def _of_end(found: re.Match[str], name: str) -> str:
    noun = _noun(found[2] or found[3], name)
    noun = noun or (f"{name} positive" if plain(found[2] or found[3]).strip() in _POSITIVE else "")
    return f"{found[1]} of {noun}" if noun else found[0]


def _noun(level: str, name: str) -> str:
    """Return what an end is called by its level, or of a bare yes by its column; "" where neither says it."""
    words = plain(level).strip()
    return _ENDS.get(words) or (_ENDS.get(plain(name).strip(), name) if words in _HAPPENED else "")


def _made(plan: TaskDag | None) -> Iterator[_Told]:
    for node in plan.nodes if plan is not None else ():
        expression, name = str(node.params.get("expression", "")), str(node.params.get("name", ""))
        of = _MADE.match(expression)
        if of is not None and name.startswith((f"{of[1]} cut at ", f"{of[1]}: ")):
            results = expression[of.end() :].partition("], " if " in [" in expression else ", ")[2]
            results = re.sub(r"`[^`]+` in \[[^]]*\]", "", results)
            yield _Told(
                name, of[1], tuple(level for level in _TEXT.findall(results) if level not in _REST), anywhere=True
            )


def _yes_and_no(columns: Sequence[ColumnProfile]) -> Iterator[_Told]:
    for column in columns:
        if 2 <= len(column.levels) <= 3 and all(level.strip().lower() in _BARE for level in column.levels):
            yield _Told(column.name, column.name, tuple(column.levels), anywhere=False)


def _named(text: str, told: _Told) -> str:
    for level in told.levels:
        own, said = re.escape(level), f"{told.called} {level}"
        if told.anywhere:
            text = re.sub(rf"{re.escape(told.column)}\s*=\s*{own}(?![\w]|[.,]\d)", said, text)
            text = re.sub(rf"(?<![\w=.])(?<!{re.escape(told.called)} ){own}(?![\w]|[.,]\d)", said, text)
        else:  # a `no` means a group only where a group can stand
            text = re.sub(rf"(?<=\bin ){own}(?=[ ,:;.])", said, text)
            text = re.sub(rf"(?<=\bbetween ){own}(?= and )", said, text)
            first = "|".join(map(re.escape, told.levels))
            both = rf"(?<=\bbetween {re.escape(told.called)} )({first}) and {own}(?=[ ,:;])"
            text = re.sub(both, rf"\1 and {said}", text)
            text = re.sub(rf"(?<=difference ){own}(?= minus )", said, text)
            text = re.sub(rf"(?<= minus ){own}(?= -?\d)", said, text)
    return text
