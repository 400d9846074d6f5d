"""Prompts: files with declared variables, so that what leaves the machine can be read, tested and named by its hash.

A file begins with `variables: a, b` and has a part `--- system` and a part `--- user`; `$a` stands for a variable.
"""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from importlib.resources import files
from string import Template

from engine.domain.encoding.hashing import sha256_text

_PARTS = re.compile(r"\Avariables: (?P<names>[^\n]*)\n--- system\n(?P<system>.*?)\n--- user\n(?P<user>.*)\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt before its variables are filled."""

    name: str
    variables: frozenset[str]
    system: str
    user: str
    sha256: str
    """Of the file."""

    def filled(self, **values: str) -> tuple[str, str]:
        """Return the texts of system and user.

        Raises:
            ValueError: unless exactly the declared variables are given.
        """
        if values.keys() != self.variables:
            message = f"The prompt {self.name!r} takes {sorted(self.variables)}, not {sorted(values)}."
            raise ValueError(message)
        return self.system, Template(self.user).substitute(values)


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
    variables = frozenset(parts["names"].replace(",", " ").split())
    used = set(Template(parts["user"]).get_identifiers()) | set(Template(parts["system"]).get_identifiers())
    if used != variables:
        message = f"The prompt {name!r} declares {sorted(variables)} and uses {sorted(used)}."
        raise ValueError(message)
    return Prompt(name, variables, parts["system"].strip(), parts["user"].strip(), sha256_text(text))
