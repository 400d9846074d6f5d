"""Prompts: files with declared variables, so that what leaves the machine can be read, tested and named by its hash.

A file begins with a line `data:` and a line `ours:`, which name its variables, and has a part `--- system` and a part
`--- user`; `$a` stands for a variable. What others wrote (questions, names and values of data, messages of programs) is
`data`: it is put between `<data>` and `</data>`, which no value can end.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from engine.domain.encoding.hashing import sha256_text

_PARTS = re.compile(
    r"\Adata: (?P<data>[^\n]*)\nours: (?P<ours>[^\n]*)\n--- system\n(?P<system>.*?)\n--- user\n(?P<user>.*)\Z",
    re.DOTALL,
)
_TAG = re.compile(r"<\s*/?\s*data\s*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt before its variables are filled."""

    name: str
    data: frozenset[str]
    """Variables whose values others wrote."""
    ours: frozenset[str]
    system: str
    user: str
    sha256: str
    """Of the file."""

    def filled(self, **values: str) -> tuple[str, str]:
        """Return the texts of system and user; an empty value is `none`.

        Raises:
            ValueError: unless exactly the declared variables are given.
        """
        if values.keys() != self.data | self.ours:
            message = f"The prompt {self.name!r} takes {sorted(self.data | self.ours)}, not {sorted(values)}."
            raise ValueError(message)
        told = {name: data_block(value) if name in self.data else value or "none" for name, value in values.items()}
        return self.system, Template(self.user).substitute(told)


def data_block(text: str) -> str:
    """Return a text of others as a block that it cannot end."""
    return f"<data>\n{_TAG.sub('[data]', text).strip() or 'none'}\n</data>"


@functools.cache
def load_prompt(name: str) -> Prompt:
    """Return a prompt of this package.

    Raises:
        ValueError: for a file that is no prompt, or uses variables that it does not declare.
    """
    text = files("engine.agents").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8")
    parts = _PARTS.match(text)
    if parts is None:
        message = f"The file of the prompt {name!r} lacks its variables or one of its two parts."
        raise ValueError(message)
    data, ours = (frozenset(parts[key].replace(",", " ").split()) for key in ("data", "ours"))
    used = set(Template(parts["user"]).get_identifiers()) | set(Template(parts["system"]).get_identifiers())
    if used != data | ours:
        message = f"The prompt {name!r} declares {sorted(data | ours)} and uses {sorted(used)}."
        raise ValueError(message)
    return Prompt(name, data, ours, parts["system"].strip(), parts["user"].strip(), sha256_text(text))
