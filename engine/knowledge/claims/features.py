"""What the models see of a masked clause: stems by where they stand, pairs of stems, the types of the two entities.

A clause is a list of tokens in which `@1` and `@2` stand for the two entities and `@x` for any other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise

from engine.text.letters import plain, signs_spelt
from engine.text.stems import stem

FIRST, SECOND, OTHER = "@1", "@2", "@x"
_TOKEN = re.compile(r"@[12x]|\d+(?:[.,]\d+)*|[^\W\d_]+|[,;:?()]")
_PREFIXES = "over|under|up|down|non|co|anti|un|hyper|hypo|trans|in|de|dys"
_HEADS = (
    "express|abund|produc|activ|affect|chang|alter|relat|detect|respons|associ|transcrib|depend|sensit|indic|"
    "occur|immunoprecipit|var|represent"
)
_JOINED = re.compile(rf"({_PREFIXES})({_HEADS})")
_HYPHEN = re.compile(rf"\b({_PREFIXES})-(?={_HEADS}|regul|modul)")
_SAME_PREFIX = {"over": "up", "hyper": "up", "under": "down", "hypo": "down"}
_LOSS = frozenset(map(stem, "loss deletion depletion knockdown knockout silencing absence lack ablation".split()))
_TURNS = frozenset(map(stem, "not nor never few nobody none hardly".split()))
_NEAR = 14
"""Tokens before the first and after the second entity that count."""


def tokens_of(text: str) -> list[str]:
    """Return the tokens of a masked text: stems, masks, and the signs that part clauses."""
    text = plain(signs_spelt(text)).replace("n't", " not ").replace("n’t", " not ").replace("cannot", "can not")
    return [part for word in _TOKEN.findall(_HYPHEN.sub(r"\1", text)) for part in _parts(word)]


@cache
def _parts(word: str) -> tuple[str, ...]:
    """Return the stem of a word, after its prefix where that turns or places it: `overexpressed` is `up express`."""
    if not word[0].isalpha():
        return ("0" if word[0].isdigit() else word,)
    stemmed = stem(word)
    match = _JOINED.match(stemmed)
    return (_SAME_PREFIX.get(match[1], match[1]), stemmed[match.end(1) :]) if match else (stemmed,)


def without_loss(tokens: Sequence[str], *families: str) -> tuple[list[str], str]:
    """Return a clause about two genes without `loss of` before one, and its mask: it does the opposite of its loss."""
    for at, mask in enumerate(tokens) if set(families) == {"gene"} else ():
        lost = mask in (FIRST, SECOND) and at > 1 and tokens[at - 1] == "of" and tokens[at - 2] in _LOSS
        if lost and tokens[at + 1 : at + 2] not in (["by"], ["in"]):
            return [*tokens[: at - 2], *tokens[at:]], mask
    return list(tokens), ""


def without_litotes(tokens: Sequence[str]) -> list[str]:
    """Return a clause with what `not without` says in plain words."""
    at = tokens.index("without") if "without" in tokens else 0
    turns = [k for k in range(at) if tokens[k] in _TURNS and "," not in tokens[k:at]]
    return [*tokens[: turns[0]], *tokens[turns[0] + 1 : at], "with", *tokens[at + 1 :]] if turns else list(tokens)


@cache
def _classes() -> dict[str, str]:
    """Return stem -> the kind of word it is (`UP`, `DOWN`, `NOT`...)."""
    text = files("engine.knowledge.claims").joinpath("data", "words.tsv").read_text(encoding="utf-8")
    return {stem(word): kind for kind, words in (x.split("\t") for x in text.splitlines()) for word in words.split()}


def _with_classes(tokens: Sequence[str]) -> list[str]:
    classes = _classes()
    return [classes.get(token, token) for token in tokens]


def relation_features(tokens: Sequence[str], subject: str, types: str) -> Iterator[str]:
    """Yield the features of a clause read with one mask as the subject; `types` are both families, as `drug>gene`."""
    first, last = sorted((tokens.index(FIRST), tokens.index(SECOND)))
    way = "<" if tokens[first] == subject else ">"
    roles = ["S" if t == subject else "O" if t in (FIRST, SECOND) else t for t in tokens]
    yield f"T{types}"
    yield f"T{types}{way}"
    zones = (roles[max(0, first - _NEAR) : first + 1], roles[first : last + 1], roles[last : last + 1 + _NEAR])
    for name, zone in zip("pmq", zones, strict=True):
        yield from _zone(name, way, zone)
        yield from (f"{feature}^" for feature in _zone(name, way, _with_classes(zone)))
    for word in {t for t in roles if t[0].isalpha() and t not in ("S", "O")}:
        yield from (f"w{word}", f"w{types}{word}")
        if word in _classes():
            yield f"w{types}{_classes()[word]}"
    yield f"l{way}{min(6, (last - first - 1) // 2)}"


def _zone(name: str, way: str, zone: Sequence[str]) -> Iterator[str]:
    for word in zone:
        if word not in ("S", "O"):
            yield from (f"{name}{word}", f"{name}{way}{word}")
    yield from (f"{name}{way}{a} {b}" for a, b in pairwise(zone))
    yield from (f"k{way}{a} {b}" for a, b in zip(zone, zone[2:], strict=False) if name == "m")


def stance_features(tokens: Sequence[str]) -> Iterator[str]:
    """Yield the features by which a clause is seen to assert, to deny or to leave open."""
    first, last = sorted((tokens.index(FIRST), tokens.index(SECOND)))
    masked = [t if t not in (FIRST, SECOND) else "@" for t in tokens]
    parting = [k for k, word in enumerate(masked) if word in (",", ";", ":")]
    near = max((k + 1 for k in parting if k < first), default=0)
    beyond = min((k for k in parting if k > last), default=len(masked))
    # far before, before, between, after, far after: a comma or colon parts near from far
    ends = ((0, near), (near, first + 1), (first, last + 1), (last, beyond), (beyond, len(masked)))
    classes = _classes()
    count = 0
    for name, zone in zip("fpmqt", (masked[a:b] for a, b in ends), strict=True):
        yield from (f"{name}{word}" for word in zone)
        yield from (f"{name}{classes[word]}^" for word in zone if word in classes)
        yield from (f"{name}{a} {b}" for a, b in pairwise(zone))
        for place in (k for k, word in enumerate(zone) if classes.get(word) == "NOT"):
            count += name in "pmq"
            yield f"{name}NOT"
            yield from (f"{name}NOT {after}" for after in zone[place + 1 : place + 5])
            yield from (f"{name}{before} NOT" for before in zone[max(0, place - 3) : place])
    yield from (f"w{t}" for t in masked if t[0].isalpha())
    yield from (f"n{min(count, 3)}", f"h{masked[0]}", f"h{' '.join(masked[:2])}", f"e{masked[-1]}")


_UNCHANGED = frozenset(
    "flat stabl constant unchang unalt unaffect chang alter affect effect influenc respond respons differ "
    "independ touch move budg impact".split()
)


def no_change(tokens: Sequence[str]) -> bool:
    """Say whether a clause speaks of change and of no direction: `leaves A unchanged`, `neither raises nor lowers`."""
    ways = {"UP", "DOWN"}.intersection(_with_classes(tokens))
    return len(ways) == 2 or (not ways and not _UNCHANGED.isdisjoint(tokens))


def says_direction(tokens: Sequence[str]) -> bool:
    """Say whether words mean more or less of something."""
    return not {"UP", "DOWN", "GO", "STOP", "on", "off"}.isdisjoint(_with_classes(tokens))
