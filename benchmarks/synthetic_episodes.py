"""Episodes that nobody lived through, as many as wanted, with words as unevenly frequent as in real text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from engine.domain.memory import Episode

DIMENSIONS = 384
CLUSTERS = 400
_CONSONANTS, _VOWELS = "bcdfgklmnprstvz", "aeiou"
_LENGTHS = {"task": 10, "plan_summary": 18, "result_summary": 16, "lessons": 9}


def vocabulary(size: int, rng: np.random.Generator) -> list[str]:
    """Return distinct pronounceable words."""
    words: dict[str, None] = {}
    while len(words) < size:
        parts = int(rng.integers(2, 5))
        letters = [rng.choice(list(_CONSONANTS)) + rng.choice(list(_VOWELS)) for _ in range(parts)]
        words["".join(letters)] = None
    return list(words)


def episodes(count: int, *, seed: int = 7, words: int = 20_000, names: int = 8_000) -> Iterator[Episode]:
    """Yield episodes; word frequencies fall as in text (Zipf and Mandelbrot)."""
    rng = np.random.default_rng(seed)
    vocabulary_words = np.array(vocabulary(words, rng), dtype=object)
    entities = np.array([f"{''.join(rng.choice(list('ABCDEFGHKLMNPRST'), 3))}{n}" for n in range(names)], dtype=object)
    tools = np.array([f"tool_{n}" for n in range(300)], dtype=object)
    domains = np.array([f"domain_{n}" for n in range(24)], dtype=object)
    # Without its stop words a text's most frequent word stands in about a third of the records, not in all.
    zipf = 1.0 / (20 + np.arange(1, words + 1))
    zipf /= zipf.sum()
    total = sum(_LENGTHS.values())
    for start in range(0, count, 5_000):
        size = min(5_000, count - start)
        drawn = vocabulary_words[rng.choice(words, size=(size, total), p=zipf)]
        named = entities[rng.integers(0, names, size=(size, 3))]
        used = tools[(rng.random((size, 3)) ** 2 * len(tools)).astype(int)]
        fields = domains[(rng.random((size, 2)) ** 2 * len(domains)).astype(int)]
        for row in range(size):
            texts, at = {}, 0
            for field, length in _LENGTHS.items():
                texts[field] = " ".join(drawn[row, at : at + length])
                at += length
            texts["task"] += f" {named[row, 0]}"
            number = start + row
            yield Episode(
                id=f"ep{number:07d}",
                at=f"20{20 + number % 6}-{1 + number % 12:02d}-{1 + number % 28:02d}T08:00:00Z",
                tools=list(dict.fromkeys(used[row])),
                domains=list(dict.fromkeys(fields[row])),
                entities=list(named[row]),
                success=number % 6 != 0,
                quality=0.8,
                **texts,
            )


def vectors(count: int, *, seed: int = 7) -> np.ndarray:
    """Return unit vectors in clusters, float32, (count, DIMENSIONS): as near each other as texts on one subject are."""
    rng = np.random.default_rng(seed)
    # Directions of falling importance, as in the vectors of real texts.
    spread = (1.0 / np.sqrt(np.arange(1, DIMENSIONS + 1))).astype(np.float32)
    centres = rng.standard_normal((CLUSTERS, DIMENSIONS), dtype=np.float32) * spread
    found = centres[rng.integers(0, CLUSTERS, count)]
    found += 0.8 * rng.standard_normal((count, DIMENSIONS), dtype=np.float32) * spread
    return found / np.linalg.norm(found, axis=1, keepdims=True)
