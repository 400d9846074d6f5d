"""Keeps what is sent within what a model reads, and says what it left out.

A server that is sent too much refuses it, or (worse) cuts off its beginning without a word. So what is long is
shortened here: first results of tools, then old turns. Instructions and the question are never touched; where they
alone do not fit, the call is refused before it is made.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from engine.errors import ContextTooLong
from engine.ports.models.chat import ChatMessage, ToolOffer
from engine.text.token_cost import estimate_tokens

SAFETY = 1.2
"""What an estimate of tokens is taken times: tokenizers differ by about that much from one another."""
_FRAME = 4
"""Tokens around each message."""
_OUTPUT_SHARE, _SPARE = 0.15, 512
_SHORT = 200
"""Tokens that a tool's result keeps at least."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Messages that fit, and a sentence on what was left out for it; empty when nothing was."""

    messages: tuple[ChatMessage, ...]
    tokens: int
    note: str = ""


def input_budget(reads: int, writes: int, wanted: int) -> int:
    """Return the tokens that may be sent to a model that reads `reads` and writes `writes`, asked for `wanted`."""
    return max(0, math.floor(reads - min(writes, wanted) * _OUTPUT_SHARE - _SPARE))


def cost(message: ChatMessage) -> int:
    """Return the tokens of a message, with the safety factor."""
    calls = sum(estimate_tokens(call.name) + estimate_tokens(call.arguments) for call in message.tool_calls)
    return math.ceil(SAFETY * (estimate_tokens(message.content) + calls + _FRAME))


def cost_of_tools(tools: Iterable[ToolOffer], schema: object) -> int:
    """Return the tokens of what is sent besides the messages, with the safety factor."""
    texts = [json.dumps([tool.name, tool.description, tool.parameters]) for tool in tools]
    texts += [json.dumps(schema)] if schema is not None else []
    return math.ceil(SAFETY * sum(map(estimate_tokens, texts)))


def fit(messages: Sequence[ChatMessage], room: int, *, keep: Collection[int] = ()) -> Fitted:
    """Return the messages within `room` tokens.

    Args:
        messages: in their order; each tool's message follows the assistant's that called it.
        room: tokens there are.
        keep: places of messages that stay as they are, besides instructions and the last question.

    Raises:
        ContextTooLong: when what must stay does not fit.
    """
    before = sum(map(cost, messages))
    if before <= room:
        return Fitted(tuple(messages), before)
    fitting = _Fitting(list(messages), room, keep)
    fitting.shorten_results()
    fitting.leave_out_turns()
    return fitting.fitted(before)


class _Fitting:
    """One fitting; a message that is left out becomes None."""

    def __init__(self, messages: list[ChatMessage], room: int, keep: Collection[int]) -> None:
        self._messages: list[ChatMessage | None] = list(messages)
        self._costs = [cost(message) for message in messages]
        self._room = room
        asked = [place for place, message in enumerate(messages) if message.role == "user"]
        self._question = asked[-1] if asked else len(messages) - 1
        instructions = {place for place, message in enumerate(messages) if message.role == "system"}
        self._kept = {self._question, *instructions, *keep}
        self._shortened = 0
        self._first_gap = -1

    def _over(self) -> int:
        return sum(self._costs) - self._room

    def shorten_results(self) -> None:
        """Shorten results of tools, the oldest first, none by more than is needed."""
        for place, message in enumerate(self._messages):
            over = self._over()
            if over <= 0:
                return
            if message is None or message.role != "tool" or place in self._kept or self._costs[place] <= _SHORT:
                continue
            self._set(place, replace(message, content=shortened(message.content, self._costs[place] - over)))
            self._shortened += 1

    def leave_out_turns(self) -> None:
        """Leave out turns: those before the question, then those after it, each time the oldest first."""
        turns = self._turns()
        early = [turn for turn in turns if turn[0] < self._question]
        late = [turn for turn in turns if turn[0] > self._question]
        for turn in [*early, *late[:-1]]:  # without the newest the model would not know what it just did
            if self._over() <= 0:
                return
            for place in turn:
                self._messages[place], self._costs[place] = None, 0
            if self._first_gap < 0:
                self._first_gap = turn[0]
            self._note_gap()

    def fitted(self, before: int) -> Fitted:
        """Return what is left.

        Raises:
            ContextTooLong: when that is still too long.
        """
        after = sum(self._costs)
        if after > self._room:
            message = f"Instructions and question alone are about {after:,} tokens; the model takes {self._room:,}."
            raise ContextTooLong(message, details={"tokens": after, "room": self._room}, reached=False)
        gone = sum(message is None for message in self._messages) + (self._first_gap >= 0)
        parts = [f"{self._shortened} tool results were shortened"] if self._shortened else []
        parts += [f"{gone} earlier messages were left out"] if gone else []
        note = f"To fit what the model reads ({before:,} to {after:,} tokens) {' and '.join(parts)}."
        return Fitted(tuple(message for message in self._messages if message is not None), after, note)

    def _note_gap(self) -> None:
        """Let one message stand for all that were left out, so that the model knows of them."""
        gone = sum(message is None for message in self._messages) + (self._messages[self._first_gap] is not None)
        note = ChatMessage(role="user", content=f"[{gone} earlier messages were left out here.]")
        self._set(self._first_gap, note)

    def _set(self, place: int, message: ChatMessage) -> None:
        self._messages[place], self._costs[place] = message, cost(message)

    def _turns(self) -> list[list[int]]:
        """Return the places of messages that go together: a call of tools with its results, else each by itself."""
        turns: list[list[int]] = []
        for place, message in enumerate(self._messages):
            if message is None:
                continue
            if message.role == "tool" and turns:
                turns[-1].append(place)
            else:
                turns.append([place])
        return [turn for turn in turns if not self._kept.intersection(turn)]


def shortened(text: str, tokens: int) -> str:
    """Return a text whose middle is left out so that its message costs about `tokens`, and not less than `_SHORT`."""
    room = max(_SHORT, tokens) / SAFETY - _FRAME
    note = "\n[... {} letters left out ...]\n"
    room -= estimate_tokens(note.format(len(text)))
    whole = estimate_tokens(text)
    keep = len(text)
    cut = text
    while whole > room and keep > 0:
        keep = int(keep * min(0.9, max(room, 0) / whole))
        head, tail = text[: keep - keep // 3], text[len(text) - keep // 3 :]
        cut, whole = head + note.format(len(text) - keep) + tail, estimate_tokens(head) + estimate_tokens(tail)
    return cut
