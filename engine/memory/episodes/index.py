"""The episodes in the search engine: by words, names and meaning, and each word's own meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.domain.memory import Episode
from engine.memory.episodes.reading import DOMAIN, ENTITY, TOOL, Word, name_key, pieces, spelling, words
from engine.search.index import Document, FieldWeight, SearchIndex
from engine.search.vectors import Vectors

if TYPE_CHECKING:
    import numpy as np

FIELDS = {
    "task": FieldWeight(2.0, 0.5),
    "entities": FieldWeight(2.0, 0.5),
    "result": FieldWeight(1.5, 0.5),
    "lessons": FieldWeight(1.2, 0.5),
    "tools": FieldWeight(1.0, 0.5),
    "plan": FieldWeight(0.7, 0.5),
    "domains": FieldWeight(0.5, 0.5),
}
SUCCEEDED, FAILED, DOUBTED = "succeeded", "failed", "doubted"


class EpisodeIndex:
    """Episodes by id. Not thread-safe: the caller holds a lock."""

    def __init__(self) -> None:
        self.episodes: dict[str, Episode] = {}
        self.search = SearchIndex(FIELDS)
        self.word_vectors = Vectors()
        """By number of a word; zero for identifiers, which are equal or not."""
        self._numbers: dict[str, int] = {}
        """Form of a word -> its number, in the order they came."""
        self._words: list[Word] = []
        self._spellings: list[str] = []
        self._words_of: dict[str, np.ndarray] = {}
        """Episode -> numbers of its words, ascending, int32."""
        self._words_with_vector = 0
        """Words of lower number have their vector."""

    def __len__(self) -> int:
        """Return the number of episodes."""
        return len(self.episodes)

    def add(self, episodes: Iterable[Episode]) -> None:
        """Add episodes; one whose id is there takes the place of the older state."""
        batch = {episode.id: episode for episode in episodes}
        self.search.add(self._document(episode) for episode in batch.values())
        self.episodes.update(batch)

    def remove(self, episode_id: str) -> None:
        """Take an episode out if it is there."""
        if self.episodes.pop(episode_id, None) is not None:
            self.search.remove(episode_id)
            del self._words_of[episode_id]

    def at(self, row: int) -> Episode:
        """Return the episode of a row of the search engine."""
        return self.episodes[self.search.ids[row]]

    def known(self, group: str, key: str) -> bool:
        """Say whether any episode ever had a name of a group (`ENTITY`, ...)."""
        return self.search.knows(group, key)

    def number(self, form: str) -> int:
        """Return the number of a word, -1 for one that no episode has."""
        return self._numbers.get(form, -1)

    def has_vector(self, form: str) -> bool:
        """Say whether a word has its vector."""
        return 0 <= self.number(form) < self._words_with_vector

    def spellings(self, numbers: np.ndarray) -> list[str]:
        """Return how the words of some numbers are spelt; "" where that is not compared."""
        return [self._spellings[number] for number in numbers.tolist()]

    def words_of(self, row: int) -> np.ndarray:
        """Return the numbers of the words of a row, int32, ascending."""
        return self._words_of[self.search.ids[row]]

    @property
    def dimensions(self) -> int:
        """How many numbers the vectors have, 0 before the first."""
        return self.search.vectors.dimensions

    def lacking_vectors(self, most: int) -> list[Episode]:
        """Return the first episodes, at most `most`, without a vector."""
        return [self.episodes[name] for name in self.search.without_vector(most)]

    def put_vectors(self, episodes: Sequence[Episode], vectors: np.ndarray) -> None:
        """Store vectors of episodes, except of those that have changed or gone since."""
        same = [self.episodes.get(episode.id) is episode for episode in episodes]
        kept = [episode.id for episode, keep in zip(episodes, same, strict=True) if keep]
        self.search.put_vectors(kept, vectors[same])

    def words_lacking_vectors(self, most: int) -> list[Word]:
        """Return the next words, at most `most`, without a vector, in the order of their numbers."""
        return self._words[self._words_with_vector :][:most]

    def put_word_vectors(self, vectors: np.ndarray) -> None:
        """Store the vectors of the next words without one, in the order of `words_lacking_vectors`."""
        import numpy as np

        first = self._words_with_vector
        self.word_vectors.put(np.arange(first, first + len(vectors)), vectors)
        self._words_with_vector = first + len(vectors)

    def _document(self, episode: Episode) -> Document:
        texts = {
            "task": episode.task,
            "entities": " ".join(episode.entities),
            "result": episode.result_summary,
            "lessons": episode.lessons,
            "tools": " ".join(episode.tools).replace("_", " "),
            "plan": episode.plan_summary,
            "domains": " ".join(episode.domains).replace("_", " "),
        }
        found = {field: words(text) for field, text in texts.items()}
        self._number(episode.id, [word for listed in found.values() for word in listed])
        mentioned = [part for name in episode.entities if " " in name for part in pieces(name) if len(part) > 2]
        names = {ENTITY: [*episode.entities, *mentioned], TOOL: episode.tools, DOMAIN: episode.domains}
        return Document(
            id=episode.id,
            words={field: [word.form for word in listed] for field, listed in found.items()},
            names={group: {key for name in given if (key := name_key(name))} for group, given in names.items()},
            owner=episode.user,
            kind=DOUBTED if episode.doubted else SUCCEEDED if episode.success else FAILED,
        )

    def _number(self, episode_id: str, found: Sequence[Word]) -> None:
        """Give new words a number and note which words an episode has."""
        import numpy as np

        numbers = self._numbers
        for word in found:
            if word.form not in numbers:
                numbers[word.form] = len(self._words)
                self._words.append(word)
                self._spellings.append(spelling(word))
        self._words_of[episode_id] = np.array(sorted({numbers[word.form] for word in found}), np.int32)
