"""How text that others wrote (names, questions, cells, what a program printed) is shown without doing anything.

Each function is for one kind of place. None drops a character: what a place cannot show is written as its code.
Streamlit's own Markdown, and drawings, are in `pages/parts/escape.py`.
"""

from __future__ import annotations

import html
import json
import re

_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters but tab and newline: they move a terminal's cursor or ring it
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # they turn the direction of what follows
    "\u2028\u2029\ufeff\ufff9-\ufffb\U000e0000-\U000e007f\ud800-\udfff]"  # they end lines, hide, or have no code
)
_ADDRESS = re.compile(r"(?<=\bhttp)(?=://)|(?<=\bhttps)(?=://)|(?<=\bwww)(?=\.)|(?=@\w)", re.IGNORECASE)
"""Where text would be taken for an address, which many Markdown programs make a link of without being asked."""


def visible(text: object) -> str:
    r"""Return text whose control characters and changes of direction are written as JSON writes them (`\u001b`).

    In a JSON document this changes nothing of what it says. Line ends and tabs stay.
    """
    return _UNSEEN.sub(lambda found: json.dumps(found[0])[1:-1], str(text).replace("\r\n", "\n"))


def in_html(text: object) -> str:
    """Return text for HTML, between tags and within quoted attributes."""
    return html.escape(visible(text), quote=True)


def in_markdown(text: object) -> str:
    """Return text on one line for a Markdown file, which shows it as it is: no formatting, link, image or formula."""
    line = " ".join(visible(text).split())
    line = re.sub(r"([\\`*\[\]<>|$~]|&(?=[#\w]+;))", r"\\\1", line)
    line = re.sub(r"(?<![^\W_])_|_(?![^\W_])", r"\\_", line)  # those inside names mean nothing
    line = re.sub(r"^(\d*)(?=[-+=#.)][-=#\s]|[-+=#.)]$)", r"\1\\", line)  # a list, a heading or a line
    return _ADDRESS.sub(r"\\", line)
