"""The episodes in the search engine, by words, names and meaning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from engine.domain.memory import Episode
from engine.memory.episodes.reading import DOMAIN, ENTITY, TOOL, name_key, pieces, words
from engine.memory.episodes.vocabulary import EpisodeWords
from engine.search.index import Document, FieldWeight, SearchIndex

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
        self.vocabulary = EpisodeWords()
        self._words_of: dict[str, np.ndarray] = {}
        """Episode -> numbers of its words, ascending, int32."""

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
        self._words_of[episode.id] = self.vocabulary.numbers([word for listed in found.values() for word in listed])
        mentioned = [part for name in episode.entities if " " in name for part in pieces(name) if len(part) > 2]
        names = {ENTITY: [*episode.entities, *mentioned], TOOL: episode.tools, DOMAIN: episode.domains}
        return Document(
            id=episode.id,
            words={field: [word.form for word in listed] for field, listed in found.items()},
            names={group: {key for name in given if (key := name_key(name))} for group, given in names.items()},
            owner=episode.user,
            kind=DOUBTED if episode.doubted else SUCCEEDED if episode.success else FAILED,
        )
