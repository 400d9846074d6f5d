"""A search tree to look at: the states that were visited most, with what they are worth and why they were tried."""

from __future__ import annotations

from collections.abc import Callable

from engine.discovery.tree.search import SearchNode, TreeSearch
from engine.discovery.tree.space import State
from engine.domain.discovery.search_tree import TreeView

WIDEST, DEEPEST = 5, 6
"""Choices that are shown of a state, and choices in a row."""


def tree_view(
    search: TreeSearch[State],
    *,
    widest: int = WIDEST,
    deepest: int = DEEPEST,
    said: Callable[[str], str] = lambda key: "",
) -> TreeView:
    """Return the tree as it is now, each state with its most visited choices; what is left out is counted.

    What is `said` of a state (by its key) follows the choice that led to it.
    """

    def shown(node: SearchNode[State], prior: float, why: str, deep: int) -> TreeView:
        tried = [(choice, child) for choice, child in node.choices or [] if child.visits]
        tried.sort(key=lambda pair: (-pair[1].visits, -pair[1].best, pair[1].key))
        kept = tried[:widest] if deep else []
        return TreeView(
            key=node.key,
            why="; ".join(filter(None, (why, said(node.key)))),
            visits=node.visits,
            value=round(node.mean, 6),
            best=round(node.best, 6),
            prior=round(prior, 6),
            end=node.end,
            choices=[shown(child, choice.prior, choice.why, deep - 1) for choice, child in kept],
            hidden=len(node.choices or []) - len(kept),
        )

    return shown(search.root, 1.0, "", deepest)
