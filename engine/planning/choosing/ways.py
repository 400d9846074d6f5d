"""Ways to do an analysis that a question may ask for and a plan may not do: what is not done is said, never dropped in silence.

A way counts as done where a setting took its words, or where a step of the plan is about it by its own title, keywords or
description (`bootstrap` in an intraclass correlation with bootstrapped limits).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from engine.domain.toolspec import ToolSpec
from engine.planning.naming.numbers import CUT_AFTER
from engine.planning.reading.declared import CODE_DEFINED
from engine.planning.reading.reading import Reading
from engine.text.numbers import as_number


class Way(NamedTuple):
    """A way to do an analysis: how it is called and what is to be said where a plan does not do it."""

    called: str
    says: str
    of_rows: bool = False
    """True where rows that the question leaves out by name are what is meant."""
    by_column: bool = True
    """True where the name of a column among the words takes them."""
    of_level: bool = False
    """True where it only matters if its number is a level of some column, which may be what is meant."""
    ask: str = ""
    """What to say next instead; `{measure}` is what was measured."""


_NO_STEP = "no step of this plan does that"
_WAYS = (
    Way(r"(?:one|single)[\s-]?(?:sided|tailed|tail)\b", "the tests of this plan are two-sided"),
    Way(r"(?:[5-8]\d|9[0-46-9]|99[.,]\d+)\s?(?:%|per ?cent)\s?(?:CIs?|conf\w*|(?:credible |prediction )?intervals?|limits)\b",
        "the intervals of this plan are of 95 %"),
    Way(r"bootstrap\w*|jack.?knif\w*", _NO_STEP),
    Way(r"(?:permutation|randomi[sz]ation) (?:tests?|p.?values?)|permuted p\w*", _NO_STEP),
    Way(r"bayes\w*|credible intervals?|posterior\w*", _NO_STEP),
    Way(r"(?:multiple |multiply )?imput(?:e|ed|ing|ation)\w*", "rows with a missing value are left out instead"),
    Way(r"log(?:2|10|arithm\w*)?[\s-]?(?:transform\w*|scale)|(?:square[\s-]?root|sqrt|arcsine?|logit|box[\s-]?cox)[\s-]?transform\w*",
        "name the measure with it, as in 'log10 weight', to have it computed first"),
    Way(r"(?:without|excl\w+|remov\w+|drop\w*|omit\w*|ignor\w+|leav\w+ out|take out|minus|trim\w*)\s(?:(?:the|all|any|obvious|extreme|few|two|three)\s)*"
        r"outli\w+|outli\w+\s(?:removed|excluded|dropped|left out)|winsori\w+|trimmed means?",
        "nothing is left out by itself; ask whether there are outliers, then say which rows to leave out",
        ask="Ask 'Are there outliers in {measure}?'; then leave out rows by name ('without' and the name) or by a condition "
        "('only {measure} below' and a number)."),
    Way(r"(?:leav\w+|tak\w+|throw\w*)\s+(?:that|this|these|those|it|him|her|them)(?:\s+\w+){0,2}\s+out|"
        r"(?<!and )(?<!or )without\s+(?:them|him|her|these|those)\b|"
        r"(?:exclud\w+|omit\w*|drop|remove|ignore)\s+(?:that|this|these|those)\s+(?:one\s+|two\s+|few\s+)?\w+",
        "which rows these are is not said by a column and its values, so none is left out", of_rows=True),
    Way(r"(?:improv|worsen|dropp|drop|fell|fall|gain|los|chang|decreas|increas|r[io]s)\w*\s+(?:by\s+)?(?:at least\s+|more than\s+)?"
        r"\d[\d.]*\s*(?!fold|times|%)\w+\s+or\s+more|(?:improv|worsen|dropp|fell|gain|chang)\w*\s+by\s+(?:at least|more than)\s+\d[\d.]*",
        "who changed by that much is not counted; have the change made as a new column first, then ask about its rows"),
    Way(rf"\d+(?:[.,]\d+)?{CUT_AFTER.pattern}",
        "rows are not chosen by that number; say it with the name of the column, as in 'age 65 or more'", by_column=False),
    Way(r"(?:at )?any ?(?:time|point|visit)\b|ever (?=had|have|got|reach|above|over|below|under|a\b)|(?<=had )ever\b|at least once",
        "rows are counted one by one, not whether it was so at any of the times of one subject"),
    Way(r"(?:(?:not |no )?(?:more|less) than|above|below|under|exceeding|at least|at most)\s+\d+(?:[.,]\d+)?(?![\d.,]*\s*-?\s*(?:fold\b|times\b|x\b|"
        r"days?\b|weeks?\b|months?\b|years?\b|hours?\b|h\b|min\b|groups?\b|levels?\b))",
        "rows are not chosen by that number; say it with the name of the column, as in 'age above 65'", by_column=False),
    Way(r"(?<!again )(?:after|at|on|by) \d+(?:[.,]\d+)? ?(?:min(?:utes?)?|h(?:ours?|rs?)?|d(?:ays?)?|w(?:eeks?|ks?)?|months?|years?)\b",
        "no column says which rows are of that time; say it with the name of a column", of_level=True),
    Way(r"quadratic\w*|polynomial\w*|cubic\w*|splines?", _NO_STEP),
    Way(r"propensit\w+|inverse probability|IPTW|IPW|case.?control match\w*|matched? (?:on|by|for) (?=age|sex)", _NO_STEP),
    Way(r"(?:survey|sampling|inverse.variance|analytic) weight\w*", _NO_STEP),
    Way(r"cross.?validat\w*", _NO_STEP),
    Way(r"non.?param\w*|distribution.?free|rank.?based", _NO_STEP),
)  # fmt: skip


def ways_said(question: str) -> Iterator[tuple[re.Match[str], Way]]:
    """Yield where a question asks for a way to do it, and which."""
    for way in _WAYS:
        if (said := re.search(rf"\b(?:{way.called})", question, re.IGNORECASE)) is not None:
            yield said, way


def is_about(way: Way, steps: Iterable[ToolSpec]) -> bool:
    """Say whether a step is about a way by its own title, description or keywords."""
    texts = (" ".join((spec.title, spec.description, *spec.keywords)) for spec in steps)
    return any(re.search(rf"\b(?:{way.called})", text, re.IGNORECASE) for text in texts)


def not_done(reading: Reading, steps: Iterable[ToolSpec], levels: Collection[float | None] = ()) -> list[str]:
    """Return what is said of the ways that a question asks for and that no step of the plan goes.

    Args:
        reading: the question.
        steps: the tools of the plan.
        levels: the numbers that are levels of columns.
    """
    steps, lines = [*steps], list[str]()
    own = {param.name for spec in steps for param in spec.params}
    defined = [match.span() for match in CODE_DEFINED.finditer(reading.question)]
    for said, way in ways_said(reading.question):
        told = way.of_level and not {as_number(number) for number in re.findall(r"\d+(?:\.\d+)?", said[0])} & {*levels}
        if told or any(start <= said.start() < end for start, end in defined):
            continue
        taken = [
            reading.used.get(at, ("", "", 0.0))
            for at, word in enumerate(reading.words)
            if said.start() <= word.start < said.end()
        ]
        # A number that a setting of another tool would take is not taken by this plan.
        settled = any(
            (kind == "column" and way.by_column)
            or kind in ("level", "restriction")
            or (" = " in value and (kind != "number" or value.partition(" = ")[0] in own))
            for kind, value, _ in taken
        )
        cut = any(row.op not in ("in", "not in") and said.start() < reading.words[row.last].end
                  and reading.words[row.first].start < said.end() for row in reading.restrictions)  # fmt: skip
        left = way.of_rows and any(row.op == "not in" for row in reading.restrictions)
        if not settled and not cut and not is_about(way, steps) and not left:
            lines.append(f"{said.group().strip()!r}: {way.says}.")
    return lines
