"""What the columns of a kind of data mean, and the names under which programs and people write them.

Names are compared in their plain form (`plain`), so that `adj.P.Val`, `adj_p_val` and `adjPVal` are one. Tools' code is
shipped without Biodesk and keeps names of its own; a test holds the two together.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Literal

from engine.domain.base import Value


def plain(name: str) -> str:
    """Return a column name as lower-case letters and digits only: `adj.P.Val` and `adj_p_val` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


class Field(Value):
    """A column (or the row names) that a kind of data has."""

    name: str
    """What it is called here, in a tool's own results."""
    meaning: str
    kind: Literal["text", "number"]
    pattern: str = "(?!)"
    """A regular expression for the whole of a name's plain form; matches nothing where names say nothing."""
    needed: bool = False

    def called(self, header: str) -> bool:
        """Say whether a column with this header is this field."""
        return re.fullmatch(self.pattern, plain(header)) is not None


class Schema(Value):
    """The fields of a kind of data."""

    fields: tuple[Field, ...]
    index: str = ""
    """What the row names are, where they mean something."""

    @cached_property
    def by_name(self) -> dict[str, Field]:
        """Return the fields under their names."""
        return {field.name: field for field in self.fields}

    def field(self, name: str) -> Field:
        """Return the field called `name`."""
        return self.by_name[name]

    def find(self, headers: list[str]) -> dict[str, str]:
        """Return field -> the first header that is called so."""
        forms = [(header, plain(header)) for header in headers]
        found = {f.name: next((h for h, form in forms if re.fullmatch(f.pattern, form)), None) for f in self.fields}
        return {name: header for name, header in found.items() if header is not None}


GENE_SYMBOL = r"symbol|gene(name|symbols?)|hgncsymbol|externalgenename"
GENE_ID = (
    r"genes?|feature(id)?|features|(ens|ensembl)(gene)?(id)?|ensgene|geneid|targetid|probe(id)?|probeset|idref|"
    r"trackingid|entrez(gene)?(id)?|transcript(id)?|protein(id)?|names"
)
"""Patterns of what columns of genes are called."""
