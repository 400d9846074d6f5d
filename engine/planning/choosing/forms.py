"""Plain wordings that can mean one thing only, put as the wording that the chooser knows best.

The chooser learned from people who wrote sentences about their work; asked in five words (`how many died in each arm`) it has too little
to go by. `data/forms.tsv` has such wordings, whole, by the kinds of data they name. They know no analysis and no tool: what comes
out is another wording, judged like any.
"""

from __future__ import annotations

import functools
import re
from importlib import resources

from engine.planning.choosing.choose import Wording
from engine.planning.choosing.wording import KINDS, spoken
from engine.planning.naming.hints import LIVING
from engine.planning.reading.requests import asks_nothing
from engine.text.numbers import NUMBER_WORDS

_ASIDE = re.compile(
    r"^(?:(?:hi|hello|hey|so|and|ok|well|please|pls|plz|(?:can|could|would) (?:you|u|we|i)|tell|say|show|give|me|us|i|we|want|need|like|would|to|know|see|"
    r"find out|check|if|whether|that|do you know|just(?! LEV)|now|then|question) )+(?=\w)|\b(?:please|pls|plz|thanks|thank you|in (?:my|our|this|the) (?:data|study|"
    r"trial|table|file|experiment|cohort|sample)|at all|actually|really|taken together|put together|combined|pooled|lumped together|over (?:the )?(?:whole|entire|full) (?:year|study|period|season|time))\b|"
    r"\b(?:only|just) (?:in |for |among )?(?:the )?LEV(?: UNIT)?\b|\b(?:in|for|among) (?:the )?LEV(?: UNIT)? only\b|^(?:in|among|for) (?:the )?LEV(?: UNIT)? (?=\w+ NUM)|^LEV (?=(?:do|does|did|is|are|was|were|which|what|how) )",
)  # fmt: skip
_ARTICLES = re.compile(
    r"\b(?:the|a|an|our|my|their|his|her|its|these|those|this|that|there(?! (?:an? )?(?:\w+ )?(?:diff|rel|corr|inter|ass|link)))\b"
)
_WORDS = re.compile(rf"\b(?:{'|'.join(KINDS)}|END|PART)\b|[^\W_]+|%", re.UNICODE)


_WORDS_OF_DATA = re.compile(rf"\b(?:{'|'.join(KINDS)}|END|PART)\b")


_FIRST = re.compile(r"[?.!](?=\s)|[?]")
"""Where the first sentence ends."""
_ASKS_MORE = re.compile(
    r"\b(?:odds|(?:adjust|correct|control|account|allow)\w* (?:for|also)|model|regression)\b", re.IGNORECASE
)
"""Behind a question mark, too, these say what is to be done: `is it more often with A? odds ratio adjusted for B`."""


@functools.cache
def _forms() -> tuple[tuple[re.Pattern[str], str], ...]:
    """Return (wording, what it stands for) of `forms.tsv`."""
    parts: dict[str, str] = {"beings": f"(?:{'|'.join(sorted(LIVING))})"}
    found: list[tuple[re.Pattern[str], str]] = []
    text = resources.files("engine.planning").joinpath("data/forms.tsv").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        name, defined, pattern = line.partition(" := ")
        if defined:
            parts[name] = pattern
            continue
        pattern, _, stands_for = line.partition("\t")
        found.append((re.compile(_filled(pattern, parts)), stands_for))
    return tuple(found)


def _filled(pattern: str, parts: dict[str, str]) -> str:
    """Return a pattern with its parts, and theirs, put in."""
    while "<" in pattern:
        pattern = re.sub(r"<(\w+)>", lambda match: parts[match[1]], pattern)
    return pattern


def plain_form(masked: str) -> str:
    """Return the wording that a whole masked wording stands for, or ""."""
    kept = [word if word in (*KINDS, "END", "PART") else word.lower() for word in _WORDS.findall(masked)]
    text = " ".join("NUM" if word == "CNT" else "VAL" if word.isdigit() else word for word in kept)
    text = " ".join(_ARTICLES.sub(" ", _ASIDE.sub(" ", text)).split())
    asked = [
        text,
        text.replace("PART", "BIN"),
        text.replace("PART", "NUM"),
    ]  # a count out of a total is a share, and a number as well
    asked.append(" ".join("VAL" if word in NUMBER_WORDS else word for word in asked[-1].split()))  # `the seven trees`
    return next((stands_for for one in asked for form, stands_for in _forms() if form.fullmatch(one)), "")


def worded(text: str, masked: str, whole: str) -> Wording:
    """Return the wording to judge: the one it stands for, where it has a plain form.

    Args:
        text: the wording as typed.
        masked: with what it surely names masked.
        whole: with all that it names masked.
    """
    first = _FIRST.search(whole)
    asked, mark, remarks = (whole[: first.start()], first[0], whole[first.end() :]) if first else (whole, "", "")
    # `is it higher in A than in B? only the first of each, some are in there twice`
    beside = bool(mark) and asks_nothing(remarks) and not _ASKS_MORE.search(remarks)
    form = plain_form(whole) or (plain_form(asked) if beside else "")
    topic, colon, rest = whole.partition(":")
    if not form and colon and not _WORDS_OF_DATA.search(topic):
        form = plain_form(rest)  # `Weights after challenge: what was ...`
    return Wording(spoken(form), form) if form else Wording(text, masked)
