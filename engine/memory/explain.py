"""Why an episode was recalled, in one sentence."""

from __future__ import annotations

from engine.domain.memory import Episode, EpisodeSignals
from engine.memory import fingerprints as fp
from engine.memory.cues import Cues, entity_key, tool_key
from engine.text.prose import listed

MOST_NAMED = 4
NEAR = 0.3
"""A cosine from which the meaning is called near."""
KIN = 0.05


def why(episode: Episode, cues: Cues, signals: EpisodeSignals, *, raised: float = 0.0) -> str:
    """Return a sentence that names what an episode shares with a query.

    Args:
        episode: the recalled episode.
        cues: the query.
        signals: how well the episode fits it.
        raised: how much of its relevance it owes to belonging to the same work as the best hits.
    """
    entities = _shared_entities(episode, cues)
    words = _shared_words(episode, cues, [*entities])
    tools = [name for name in episode.tools if tool_key(name) in set(cues.tools.values())]
    parts = []
    if entities:
        parts.append(f"mentions {_list(entities)}")
    if words:
        parts.append(f"shares the words {_list(words)}" if len(words) > 1 else f"shares the word {words[0]}")
    if tools:
        parts.append(f"used {_list(tools)}")
    if signals.semantic >= NEAR:
        parts.append(
            f"{'is close' if signals.semantic >= 2 * NEAR else 'is related'} in meaning "
            f"(similarity {signals.semantic:.2f})"
        )
    if signals.domains > 0 and len(parts) < 3:
        parts.append("is of the same field")
    if raised >= KIN:
        parts.append("belongs to the same line of work as the best hits")
    if not parts:
        return "Weakly related: no word, name or meaning stands out."
    sentence = listed(parts)
    return f"{sentence[:1].upper()}{sentence[1:]}."


def _shared_entities(episode: Episode, cues: Cues) -> list[str]:
    """Return the query's entities and identifiers that the episode mentions, as the episode writes them."""
    wanted = set(cues.entities.values()) | {entity_key(name) for name in cues.identifiers}
    if not wanted:
        return []
    written = [*episode.entities]
    for text in (*episode.entities, episode.task, episode.result_summary, episode.lessons):
        written += fp.pieces(text)
    found: dict[int, str] = {}
    for name in written:
        key = entity_key(name)
        if key in wanted:
            found.setdefault(key, name)
    names = list(found.values())
    # `TREM2 R47H` says what `TREM2` and `R47H` would only repeat.
    return [name for name in names if not any(f" {name} " in f" {other} " for other in names if other != name)]


def _shared_words(episode: Episode, cues: Cues, but: list[str]) -> list[str]:
    """Return the query's words that the episode has too, as the query writes them."""
    fields = (episode.task, episode.result_summary, episode.lessons, *episode.entities)
    theirs = {key for text in fields for key in fp.word_hashes(text)}
    left_out = {key for name in but for key in fp.word_hashes(name)}
    shared: dict[int, str] = {}
    for piece in fp.pieces(cues.text):
        keys = fp.word_hashes(piece)
        if keys and theirs.issuperset(keys) and not left_out.intersection(keys):
            shared.setdefault(keys[0], piece)
    return list(shared.values())


def _list(names: list[str]) -> str:
    shown = names[:MOST_NAMED]
    if len(names) > MOST_NAMED:
        return f"{', '.join(shown)} and {len(names) - MOST_NAMED} more"
    return listed(shown)
