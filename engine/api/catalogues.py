"""Calls about the tools that can be found, and the imported catalogues of them."""

from __future__ import annotations

from engine.api.calls import Calls, passed_on
from engine.retrieval.service import ToolFinder


class CatalogueCalls(Calls):
    """The catalogues of a workspace."""

    entries = passed_on(ToolFinder.entries, "finder")
    entry = passed_on(ToolFinder.entry, "finder")
    call = passed_on(ToolFinder.call, "finder")
    catalogues = passed_on(ToolFinder.catalogues, "finder")
    import_catalogue = passed_on(ToolFinder.import_catalogue, "finder")
    remove_catalogue = passed_on(ToolFinder.remove_catalogue, "finder")
