"""How names and other texts are shown as typed: the one place that knows what Streamlit and the drawings make of text.

For files that are written, see `engine.domain.encoding.escaping`.
"""

from __future__ import annotations

import re

_MARKS = re.compile(r"([\\`*_{}\[\]<>#|~$:&])")
_LINE_START = re.compile(r"^[ \t]+", re.MULTILINE)
_LIST = re.compile(r"^( ?\d*)(?=[-+=.)](?:[-=\s]|$))", re.MULTILINE)
_TOGETHER = re.compile(
    r"(?<=\bhttp:)(?=//)|(?<=\bhttps:)(?=//)|(?<=\bwww)(?=\.)|(?<=@)(?=\w)"  # made a link
    r"|(?<=:)(?=[\w+-]+[:/])"  # made a symbol
    r"|(?<=[<>~-])(?=[-=>])",  # made an arrow, a dash or a sign
    re.IGNORECASE,
)
"""Where characters mean something to Streamlit in spite of backslashes, because they stand in one piece of text."""
_CUT = ":small[]"
"""Nothing in small letters: it is not seen or copied, and parts the piece of text in two."""
_JOINER = "\N{WORD JOINER}"
"""Has no width: what stands beside it looks the same and is no command any more."""


def plain(text: object) -> str:
    """Return text so that Streamlit's Markdown shows it as typed: `log2_fc`, `p*q` or `![x](http://y)` do nothing."""
    from engine.domain.encoding.escaping import visible  # not before the first paint

    typed = _LINE_START.sub(" ", visible(text))
    parts = [_MARKS.sub(r"\\\1", part) for part in _TOGETHER.split(typed)]
    return _LIST.sub(r"\1\\", _CUT.join(parts))


def drawn(text: object) -> str:
    """Return text for a label or hint of a drawing, where `{b}` is a command and `<img ...>` would be HTML."""
    from engine.domain.encoding.escaping import visible

    return re.sub(r"([{<&])", rf"\1{_JOINER}", visible(text))


def hint(text: object) -> str:
    """Return text for what the network shows under the pointer; it is opened as an address by a double click."""
    return _JOINER + drawn(text)
