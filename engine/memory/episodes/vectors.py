"""The vectors of episodes and of their words: made as they are needed, and what is said where they cannot be."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from engine.domain.memory import Episode
from engine.errors import EngineError, ModelUnavailable
from engine.memory.episodes.index import EpisodeIndex
from engine.memory.episodes.reading import Question

if TYPE_CHECKING:
    import numpy as np

Embed = Callable[[Sequence[str]], "np.ndarray"]

EMBED_NOW = 2000
"""Episodes without a vector that a recall waits for: some ten seconds of work, once."""
EMBED_BATCH = 256
EMBED_WAIT_SECONDS = 5.0


class EpisodeVectors:
    """Makes vectors outside the index's lock, so that others can go on recalling. Thread-safe."""

    def __init__(
        self,
        embed: Embed | None,
        embed_query: Embed | None,
        indexed: Callable[[], AbstractContextManager[EpisodeIndex]],
    ) -> None:
        """Keep what is needed; nothing is made yet.

        Args:
            embed: gives unit vectors for texts to keep, shape (texts, dimensions), or None.
            embed_query: the same for a question and words of it, which nobody keeps; `embed` by default.
            indexed: gives the index that is in use, which nobody changes meanwhile.
        """
        self._embed = embed
        self._embed_query = embed_query or embed
        self._indexed = indexed
        self._making = threading.Lock()
        self._unavailable = "" if embed is not None else "No embedding model is set up."

    def of_question(
        self, query: str, asked: Question, notes: list[str]
    ) -> tuple[np.ndarray, dict[str, np.ndarray]] | None:
        """Return the vectors of a question and, by form, of its words that have none yet; None, noted, without."""
        import numpy as np

        if not self._ready(notes):
            return None
        with self._indexed() as index:
            new = [
                word
                for word in asked.words.values()
                if not word.is_identifier and not index.vocabulary.has_vector(word.form)
            ]
        assert self._embed_query is not None
        try:
            made = _checked(self._embed_query, [query, *(word.text for word in new)])
        except EngineError as error:
            notes.append(_without_vectors(error.message))
            return None
        lengths = np.linalg.norm(made, axis=1, keepdims=True)
        if not lengths[0] > 0:
            return None
        made = made / np.maximum(lengths, 1e-12)
        return made[0], {word.form: vector for word, vector in zip(new, made[1:], strict=True)}

    def fill(self, notes: list[str]) -> bool:
        """Make the vectors that episodes and words lack and say whether meanings can be compared."""
        if self._unavailable:
            notes.append(_without_vectors(self._unavailable))
            return False
        # One thread makes them; others wait a moment and then go on with those that are there.
        if not self._making.acquire(timeout=EMBED_WAIT_SECONDS):
            notes.append("Vectors of some episodes are still being made, so paraphrases may be missed.")
            return True
        try:
            while self._fill_episodes() or self._fill_words():
                pass
        except EngineError as error:
            if isinstance(error, ModelUnavailable):
                # A model that is not here does not come by itself; a full disk passes, so that is tried again.
                self._unavailable = error.message
            notes.append(_without_vectors(error.message))
            return False
        finally:
            self._making.release()
        return True

    def _ready(self, notes: list[str]) -> bool:
        """Make missing vectors now when they are few; make many beside the recall, which then says so."""
        with self._indexed() as index:
            many = len(index.lacking_vectors(EMBED_NOW + 1)) > EMBED_NOW
        if not many or self._unavailable:
            return self.fill(notes)
        if not self._making.locked():
            threading.Thread(target=self.fill, args=([],), name="episode-vectors", daemon=True).start()
        notes.append("Vectors of many episodes are being made, so paraphrases may be missed for now.")
        return True

    def _fill_episodes(self) -> bool:
        """Make the vectors of a batch of episodes; False when none lacks."""
        with self._indexed() as index:
            batch = index.lacking_vectors(EMBED_BATCH)
        if not batch:
            return False
        assert self._embed is not None
        made = _checked(self._embed, [text for episode in batch for text in meaning_texts(episode)])
        with self._indexed() as now:
            if index is now:
                index.put_vectors(batch, made[0::2] + made[1::2])
        return True

    def _fill_words(self) -> bool:
        """Make the vectors of a batch of words; False when none lacks."""
        import numpy as np

        with self._indexed() as index:
            batch = index.vocabulary.lacking_vectors(EMBED_BATCH)
        if not batch:
            return False
        assert self._embed is not None
        texts = [word.text for word in batch if not word.is_identifier]
        made = _checked(self._embed, texts) if texts else np.zeros((0, 1), np.float32)
        vectors = np.zeros((len(batch), index.dimensions or made.shape[1]), np.float32)
        vectors[[not word.is_identifier for word in batch]] = made
        with self._indexed() as now:
            if index is now and index.vocabulary.lacking_vectors(EMBED_BATCH)[: len(batch)] == batch:
                index.vocabulary.put_vectors(vectors)
        return True


def meaning_texts(episode: Episode) -> tuple[str, str]:
    """Return the two texts whose vectors together stand for an episode: what happened, and what it was about."""
    domains = ", ".join(name.replace("_", " ") for name in episode.domains)
    entities = ", ".join(episode.entities)
    tools = " ".join(name.replace("_", " ") for name in episode.tools)
    whole = f"{episode.task}. {entities}. {episode.result_summary} {episode.lessons} {domains}"
    subject = f"{domains}: {episode.task}. {entities}. {tools}"
    return whole, subject


def _checked(embed: Embed, texts: Sequence[str]) -> np.ndarray:
    """Return vectors, float32; whatever else goes wrong in a model becomes an error that recall can go on after."""
    import numpy as np

    try:
        made = np.asarray(embed(texts), dtype=np.float32)
    except EngineError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:200]
        raise EngineError(f"The embedding model failed ({type(error).__name__}: {reason}).") from error
    if made.ndim != 2 or len(made) != len(texts) or not np.isfinite(made).all():
        raise ModelUnavailable(
            f"The embedding model gave vectors of shape {made.shape} for {len(texts)} texts, or numbers that are not "
            "finite.",
            advice="Choose another model with the setting embedding_model.",
        )
    return made


def _without_vectors(reason: str) -> str:
    return f"Recalled without comparing meanings, so paraphrases may be missed: {reason}"
