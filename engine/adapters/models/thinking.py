"""Tells thoughts that a model writes into its answer, between <think> and </think>, from the answer."""

from __future__ import annotations

from collections.abc import Iterator

from engine.ports.models.chat import TextPiece

_OPEN, _CLOSE = "<think>", "</think>"


class Thinking:
    """Takes text in any pieces. Thoughts count as such only at the very beginning: later the tag is quoted text."""

    def __init__(self) -> None:
        self._held = ""
        """Text that may be the beginning of a tag."""
        self._state = "begin"

    def take(self, text: str) -> Iterator[TextPiece]:
        """Yield what is certain by now."""
        if not text:
            return
        if self._state == "answer":
            yield TextPiece(text)
            return
        self._held += text
        if self._state == "begin":
            yield from self._begin()
        if self._state == "thought":
            yield from self._thought()

    def rest(self) -> Iterator[TextPiece]:
        """Yield what was held back when no more comes; thoughts that never ended stay thoughts."""
        held, self._held = self._held, ""
        if held:
            yield TextPiece(held, "reasoning" if self._state == "thought" else "text")

    def _begin(self) -> Iterator[TextPiece]:
        start = self._held.lstrip()
        if start.startswith(_OPEN):
            self._state, self._held = "thought", start[len(_OPEN) :]
        elif not _OPEN.startswith(start):
            self._state, held, self._held = "answer", self._held, ""
            yield TextPiece(held)

    def _thought(self) -> Iterator[TextPiece]:
        thought, closed, after = self._held.partition(_CLOSE)
        if closed:
            self._state, self._held = "answer", ""
            yield from (piece for piece in (TextPiece(thought, "reasoning"), TextPiece(after.lstrip())) if piece.text)
            return
        keep = next((n for n in range(len(_CLOSE) - 1, 0, -1) if self._held.endswith(_CLOSE[:n])), 0)
        sure = self._held[: len(self._held) - keep]
        self._held = self._held[len(sure) :]
        if sure:
            yield TextPiece(sure, "reasoning")
