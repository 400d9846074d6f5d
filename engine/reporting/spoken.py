"""The answer as it can be said aloud: few words, no sign that a voice would stumble over, numbers as people say them.

Only the form changes: what stands in brackets is left out but for intervals, numbers are rounded, and where it grows
too long the last clauses are left to the written answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

MOST_WORDS = 60
_NUMBER = re.compile(r"(?<![\w.,])[-−]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+−]?\d+)?(?![\w])")
_LIMIT = r"((?:[-−+]?[\d.,]+(?:[eE][-−]?\d+)?|not reached))"
_INTERVAL = re.compile(
    r"\((?:([^()]*?)[,;:]\s*)?95 ?% (?:CI|confidence interval|interval)[:,]?\s*"
    rf"{_LIMIT} to {_LIMIT}[^()]*\)(?=([.,;:]?))"
)
_P = re.compile(r"\b((?:\w+-)?adjusted )?p( value)? ?(=|<|>) ?([\d.e−-]+\d)")
_WORDS = tuple(
    (re.compile(sign), words)
    for sign, words in (
        (r"\s*%", " percent"),
        (r"±", " plus or minus "),
        (r"°\s*C\b", " degrees Celsius"),
        (r"[µμ]", "micro"),
        (r"²", " squared"),
        (r"³", " cubed"),
        (r"×", " times "),
        (r"≥|>=", " at least "),
        (r"≤|<=", " at most "),
        (r"!=|≠", " is not "),
        (r"<", " below "),
        (r">", " above "),
        (r"→", " to "),
        (r"&", " and "),
        (r"(?<=\w)/(?=\w)", " per "),
        (r"(?<!\w)[-−](?=\d)", "minus "),
        (r"(?<!\w)\+(?=\d)|\+", " plus "),
        (r"[^\w\s.,'-]|_", " "),
    )
)
"""What signs are said as, in this order; any other is left out."""


def spoken(sentences: Sequence[str], most: int = MOST_WORDS) -> str:
    """Return sentences to be said aloud, at most `most` words in whole clauses; "" when there are none."""
    clauses = [(clause, end) for text in sentences for clause, end in _clauses(text)]
    kept: list[str] = []
    for clause, _ in clauses:
        if kept and sum(len(item.split()) for item in kept) + len(clause.split()) > most:
            break
        kept.append(clause)
    words = " ".join(
        f"{clause}{'.' if end or at == len(kept) - 1 else ','}"
        for at, (clause, (_, end)) in enumerate(zip(kept, clauses, strict=False))
    ).split()
    return " ".join(words) if len(words) <= most else " ".join(words[:most]).rstrip(".,") + "."


def _clauses(text: str) -> list[tuple[str, bool]]:
    """Return a sentence's clauses, each with whether a sentence ends there."""
    text = _INTERVAL.sub(_interval, text)
    text = _P.sub(_p_value, text)
    text = re.sub(r" \((mean|median|adjusted mean) ([^()\s]+)\)", r" with \1 \2", text)
    while (shorter := re.sub(r"\s*\([^()]*\)", "", text)) != text:
        text = shorter
    parts = re.split(r"([;:,](?=\s)|[.!?](?=\s|$))", text)
    found = [
        (_said(part), mark in ".!?" and mark != "") for part, mark in zip(parts[::2], [*parts[1::2], "."], strict=False)
    ]
    return [(clause, ends) for clause, ends in found if clause]


def _interval(match: re.Match[str]) -> str:
    before = f", {match[1]}" if match[1] else ""
    return f"{before}, with 95 percent confidence between {match[2]} and {match[3]}{'' if match[4] else ','}"


def _p_value(match: re.Match[str]) -> str:
    value, said = float(match[4].replace("−", "-")), "adjusted p value" if match[1] else "p value"
    if match[3] != "=":
        return f"{said} {'below' if match[3] == '<' else 'above'} {match[4]}"
    return f"{said} below 0.001" if value < 0.001 else f"{said} {value:.3g}"


def _said(text: str) -> str:
    text = _NUMBER.sub(_rounded, text)
    for sign, words in _WORDS:
        text = sign.sub(words, text)
    return " ".join(text.split()).strip(" ,.-")


def _rounded(match: re.Match[str]) -> str:
    text = match[0].replace(",", "").replace("−", "-")
    if re.fullmatch(r"-?\d+", text):
        return text
    number = float(text)
    if abs(number) >= 100:
        return f"{number:.0f}"
    return f"{number:.3g}" if abs(number) >= 0.001 else "about 0" if number else "0"
