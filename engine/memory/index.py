"""The episodes as an index that any signal can be asked of: fingerprints, names and vectors by row.

A row is an episode's state; a newer state gets a new row and the old one is struck out. Rows are numbered
in the order they were added, and every structure here speaks of rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING

from engine.domain.memory import Episode
from engine.memory import fingerprints as fp
from engine.memory.cues import domain_key, entity_key, scan, tool_key
from engine.memory.nearest import Nearest
from engine.memory.postings import Postings

if TYPE_CHECKING:
    import numpy as np

GRAM_FIELDS: tuple[tuple[str, float], ...] = (("task", 1.0), ("result_summary", 0.8))
"""Fields whose words, pairs and triples of words are fingerprinted, and what they are worth."""
WORD_FIELDS: tuple[tuple[str, float], ...] = (("lessons", 0.7), ("plan_summary", 0.3))
"""Fields of which only the words are."""
LIST_FIELDS: tuple[tuple[str, float], ...] = (("entities", 1.0), ("tools", 0.7), ("domains", 0.5))
_RISING = sorted([*GRAM_FIELDS, *WORD_FIELDS, *LIST_FIELDS], key=lambda field: field[1])
MENTION = 0.7
"""Worth of an identifier in the text, or of a part of an entity's name, beside 1 for an entity."""


LENGTH_POWER = 0.2
"""How much a long record, which shares words by its length alone, is held back."""


class EpisodeIndex:
    """Rows of episodes. Not thread-safe: the caller holds a lock."""

    def __init__(self) -> None:
        import numpy as np

        self.episodes: list[Episode | None] = []
        """By row; None where the row was struck out."""
        self.row_of: dict[str, int] = {}
        self.text = Postings()
        self.names = Postings()
        """Entities, tools and domains."""
        self.nearest = Nearest()
        self.entities_of: list[tuple[int, ...]] = []
        """Keys of each row's entities."""
        self.domains_of: list[tuple[int, ...]] = []
        self._breadth = np.zeros(0, dtype=np.float32)
        self._alive = np.zeros(0, dtype=bool)
        self._success = np.zeros(0, dtype=bool)
        self._short = np.zeros(0, dtype=np.float32)
        self._words = 0
        """Distinct words of all rows together."""
        self._days = np.zeros(0, dtype=np.float32)

    def __len__(self) -> int:
        """Return the number of rows, struck out ones included."""
        return len(self.episodes)

    @property
    def living(self) -> int:
        """The number of episodes."""
        return len(self.row_of)

    @property
    def alive(self) -> np.ndarray:
        """By row: True for an episode, False where the row was struck out."""
        return self._alive[: len(self.episodes)]

    @property
    def success(self) -> np.ndarray:
        """By row: whether the analysis succeeded."""
        return self._success[: len(self.episodes)]

    @property
    def short(self) -> np.ndarray:
        """By row: how short a record is, as its number of distinct words to the power -`LENGTH_POWER`, float32."""
        return self._short[: len(self.episodes)]

    @property
    def usual_words(self) -> float:
        """The mean number of distinct words of a row."""
        return max(1.0, self._words / max(1, len(self.episodes)))

    @property
    def breadth(self) -> np.ndarray:
        """By row: the number of domains, float32."""
        return self._breadth[: len(self.episodes)]

    @property
    def days(self) -> np.ndarray:
        """By row: when it was, in days since 1970, float32; NaN where the time cannot be read."""
        return self._days[: len(self.episodes)]

    def add(self, episodes: Iterable[Episode]) -> None:
        """Add episodes; one whose id is there takes the place of the older state."""
        batch = {episode.id: episode for episode in episodes}
        for episode_id in batch:
            self.remove(episode_id)
        self.nearest.prepare(len(self.episodes) + len(batch))
        rows = _Rows()
        for row, episode in enumerate(batch.values(), len(self.episodes)):
            rows.read(row, episode)
        first = len(self.episodes)
        self.episodes.extend(batch.values())
        self.row_of.update({episode_id: row for row, episode_id in enumerate(batch, first)})
        self.entities_of.extend(rows.entities_of)
        self.domains_of.extend(rows.domains_of)
        self.text.add(*rows.text_postings())
        self.names.add(*rows.name_postings())
        self._extend(first, rows.words, list(batch.values()))

    def remove(self, episode_id: str) -> bool:
        """Strike an episode out; False when it was not there."""
        row = self.row_of.pop(episode_id, None)
        if row is None:
            return False
        self.episodes[row] = None
        self._alive[row] = False
        self.nearest.drop(row)
        return True

    def at(self, row: int) -> Episode:
        """Return the episode in a row that was not struck out."""
        episode = self.episodes[row]
        assert episode is not None, "a struck out row is no candidate"
        return episode

    @property
    def wasteful(self) -> bool:
        """True when so many rows were struck out that building anew pays."""
        return len(self) - self.living > max(200, self.living // 3)

    def compacted(self) -> EpisodeIndex:
        """Return the same episodes without struck out rows; vectors are taken over."""
        import numpy as np

        fresh = EpisodeIndex()
        old_rows = np.flatnonzero(self.alive)
        fresh.add(self.at(row) for row in old_rows.tolist())
        have = self.nearest.has(old_rows)
        if have.any():
            fresh.nearest.put(np.flatnonzero(have), self.nearest.vectors(old_rows[have]))
        return fresh

    def lacking_vectors(self, most: int) -> np.ndarray:
        """Return the first rows, at most `most`, of episodes without a vector."""
        import numpy as np

        if self.nearest.known == self.living:
            return np.empty(0, dtype=np.int64)
        rows = np.flatnonzero(self.alive)
        return rows[~self.nearest.has(rows)][:most]

    def put_vectors(self, episodes: Sequence[Episode], vectors: np.ndarray) -> None:
        """Store vectors of episodes, except of those that have changed or gone since."""
        import numpy as np

        rows = [self.row_of.get(episode.id, -1) for episode in episodes]
        same = [row >= 0 and self.episodes[row] is episode for row, episode in zip(rows, episodes, strict=True)]
        keep = np.asarray(same, dtype=bool)
        self.nearest.put(np.asarray(rows, dtype=np.int64)[keep], vectors[keep])

    def known(self, keys: np.ndarray) -> list[bool]:
        """Say for each key whether any row has a name with it."""
        return (self.names.find(keys).counts > 0).tolist()

    def _extend(self, first: int, words: Sequence[int], episodes: Sequence[Episode]) -> None:
        import numpy as np

        last = first + len(episodes)
        if last > len(self._alive):
            more = max(last, len(self._alive) * 3 // 2, 64) - len(self._alive)
            self._alive = np.concatenate((self._alive, np.zeros(more, dtype=bool)))
            self._success = np.concatenate((self._success, np.zeros(more, dtype=bool)))
            self._short = np.concatenate((self._short, np.zeros(more, dtype=np.float32)))
            self._days = np.concatenate((self._days, np.zeros(more, dtype=np.float32)))
            self._breadth = np.concatenate((self._breadth, np.zeros(more, dtype=np.float32)))
        self._alive[first:last] = True
        self._success[first:last] = [episode.success for episode in episodes]
        self._short[first:last] = np.maximum(words, 1).astype(np.float32) ** -LENGTH_POWER
        self._words += sum(words)
        self._breadth[first:last] = [len(keys) for keys in self.domains_of[first:last]]
        self._days[first:last] = [day(episode.at) for episode in episodes]


class _Rows:
    """Postings of a batch, gathered in plain lists and turned into arrays at the end."""

    def __init__(self) -> None:
        self.words: list[int] = []
        self.entities_of: list[tuple[int, ...]] = []
        self.domains_of: list[tuple[int, ...]] = []
        self._keys: list[int] = []
        self._rows: list[int] = []
        self._weights: list[float] = []
        self._in_order: dict[str, tuple[list[int], list[int]]] = {name: ([], []) for name, _ in GRAM_FIELDS}
        self._names: list[int] = []
        self._name_rows: list[int] = []
        self._name_weights: list[float] = []

    def read(self, row: int, episode: Episode) -> None:
        """Take in an episode."""
        worth: dict[int, float] = {}
        mentioned: list[int] = []
        # From the least worth to the most, so that the last value given to a word is its best.
        for name, weight in _RISING:
            value = getattr(episode, name)
            if isinstance(value, list):
                for text in value:
                    worth.update(dict.fromkeys(_name_words(text), weight))
                continue
            words, named = scan(value)
            worth.update(dict.fromkeys(words, weight))
            mentioned += named
            if name in self._in_order:
                in_order, owners = self._in_order[name]
                in_order += words
                owners += [row] * len(words)
        self._keys += worth
        self._weights += worth.values()
        self._rows += [row] * len(worth)
        self.words.append(len(worth))
        self._read_names(row, episode, mentioned)

    def text_postings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return keys, rows and weights of the words and of the pairs and triples of words."""
        import numpy as np

        keys = [np.array(self._keys, dtype=np.uint64)]
        rows = [np.array(self._rows, dtype=np.int32)]
        weights = [np.array(self._weights, dtype=np.float32)]
        for name, weight in GRAM_FIELDS:
            hashes = np.array(self._in_order[name][0], dtype=np.uint64)
            grams, owners = fp.grams(hashes, np.array(self._in_order[name][1], dtype=np.int32))
            # Single words lead the result and are in already, with the best weight of all fields.
            keys.append(grams[len(hashes) :])
            rows.append(owners[len(hashes) :])
            weights.append(np.full(len(grams) - len(hashes), weight, dtype=np.float32))
        return np.concatenate(keys), np.concatenate(rows), np.concatenate(weights)

    def name_postings(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return keys, rows and weights of entities, tools and domains."""
        import numpy as np

        return (
            np.array(self._names, dtype=np.uint64),
            np.array(self._name_rows, dtype=np.int32),
            np.array(self._name_weights, dtype=np.float32),
        )

    def _read_names(self, row: int, episode: Episode, mentioned: list[int]) -> None:
        entities = tuple(dict.fromkeys(entity_key(name) for name in episode.entities if fp.normal_entity(name)))
        domains = tuple(dict.fromkeys(domain_key(name) for name in episode.domains if name.strip()))
        self.entities_of.append(entities)
        self.domains_of.append(domains)
        worth = dict.fromkeys(mentioned, MENTION)
        for name in episode.entities:
            if " " in name:
                worth.update(dict.fromkeys((entity_key(part) for part in fp.pieces(name)), MENTION))
        worth.update(dict.fromkeys(entities, 1.0))
        worth.update(dict.fromkeys((tool_key(name) for name in episode.tools if name.strip()), 1.0))
        worth.update(dict.fromkeys(domains, 1.0))
        self._names += worth
        self._name_weights += worth.values()
        self._name_rows += [row] * len(worth)


@lru_cache(maxsize=200_000)
def _name_words(name: str) -> tuple[int, ...]:
    """Return the fingerprints of the words of a tool, domain or entity."""
    return tuple(fp.word_hashes(name.replace("_", " ")))


def day(at: str) -> float:
    """Return a UTC time in ISO 8601 as days since 1970; NaN when it cannot be read."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return float("nan")
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() / 86_400
