"""Refuses what asks for harm: making pathogens worse, toxins and weapons, attacks on people, animals or crops.

The rules are data (`harm.tsv`). A rule refuses a sentence that matches its pattern, that asks for something (an order,
a wish, a possibility: not a question on what is, nor a report of what was seen) and is part of a text with what the
rule needs. Where a word of protection governs the pattern (`prevent`, `detect`, `neutralise`), or what does it is
weather or the like, it does not hold. A model may be asked as well; what either of the two refuses is refused.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from typing import Protocol

REFUSED = "This is not worked on. {why} Ask about detection, prevention or treatment instead."
_SENTENCES = re.compile(r"(?<=[.!?;])\s+|\n+")
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
_NAME = re.compile(r"\{([A-Z]+)\}")
_GOVERNED = re.compile(
    r"\b(?:prevent|stop|block|inhibit|reduc|lower|avoid|counter|against|protect|detect|neutrali[sz]|treat|cure|antidote|"
    r"surveil|respond|survive)\w*\b(?![^,;:]*\bby\b)[^,;:]{0,30}$"
)
"""A word of protection shortly before the pattern, unless harm is named as its means (`stop X by making Y lethal`)."""
_BEFORE, _AFTER = 60, 40
"""Characters around a match in which what lifts a rule is looked for: subject and object of its verb."""
_LONGEST = 20_000
"""Characters of a text that are read, from the beginning; nobody reads a goal of more."""


class HarmReader(Protocol):
    """A model that is asked whether a text asks for harm."""

    def __call__(self, text: str) -> str:
        """Return why a text asks for harm, "" when it does not or nobody could be asked."""
        ...


@dataclass(frozen=True, slots=True)
class _HarmRule:
    name: str
    pattern: re.Pattern[str]
    needs: re.Pattern[str] | None
    unless: re.Pattern[str] | None
    says: str


def refusal(text: str, reader: HarmReader | None = None) -> str:
    """Return a plain sentence on why a goal or hypothesis is not worked on, "" when it may be.

    Args:
        text: the goal or hypothesis.
        reader: a model that is asked where the rules find nothing.
    """
    why = by_rules(text) or (reader(text).strip() if reader is not None else "")
    return REFUSED.format(why=why if not why or why.endswith((".", "!", "?")) else f"{why}.") if why else ""


def refuses(reader: HarmReader | None = None) -> Callable[[str], str]:
    """Return `refusal` with a reader."""
    return functools.partial(refusal, reader=reader)


def by_rules(text: str) -> str:
    """Return what the first rule that holds says of a text, "" when none does."""
    plain = unicodedata.normalize("NFKC", text[:_LONGEST]).translate(_INVISIBLE).casefold()
    rules, asking, natural = _rules()
    for sentence in _SENTENCES.split(plain):
        sentence = re.sub(r"\s+", " ", sentence).strip(" \"'-*")
        if asking.search(sentence) is None:
            continue
        for rule in rules:
            if (rule.needs is None or rule.needs.search(plain)) and _holds(rule, sentence, natural):
                return rule.says
    return ""


def _holds(rule: _HarmRule, sentence: str, natural: re.Pattern[str]) -> bool:
    return any(
        (rule.unless is None or not rule.unless.search(sentence, match.start(), match.end() + _AFTER))
        and not _GOVERNED.search(sentence[: match.start()])
        and not natural.search(sentence, max(0, match.start() - _BEFORE), match.start())
        for match in rule.pattern.finditer(sentence)
    )


@functools.cache
def _rules() -> tuple[tuple[_HarmRule, ...], re.Pattern[str], re.Pattern[str]]:
    """Return the rules, what tells a sentence that asks for something, and what is done by nobody."""
    lines = files("engine.strategies.tournament.safety").joinpath("harm.tsv").read_text(encoding="utf-8").splitlines()
    words: dict[str, str] = {}
    rules: list[_HarmRule] = []
    for line in lines[1:]:
        kind, name, pattern, needs, unless, says = line.split("\t")
        whole = _NAME.sub(lambda match: f"(?:{words[match[1]]})", pattern)
        if kind == "word":
            words[name] = whole
        else:
            rules.append(
                _HarmRule(
                    name,
                    re.compile(whole),
                    re.compile(words[needs]) if needs else None,
                    re.compile(unless) if unless else None,
                    says,
                )
            )
    return tuple(rules), re.compile(words["ASKING"]), re.compile(words["NATURAL"])
