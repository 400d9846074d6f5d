"""What `kg candidates` prints for people."""

from __future__ import annotations

from typing import Any

from engine.cli.show_words import counted


def candidates_text(found: Any) -> str:
    """Return candidates, best joined first, each with its paths and what speaks against it."""
    verb = found.relation.value.replace("_", " ")
    kind = found.sought.value.replace("_", " ")
    known = ", ".join(node.name for node in found.known[:10]) or "none"
    more = f" and {len(found.known) - 10} more" if len(found.known) > 10 else ""
    lines = [
        f"Candidates for '{verb}' with {found.of.name} among {counted(found.scored, kind)}; stated: {known}{more}.",
        "By paths alone. Probability, with the degrees alone, without the best path; then the paths and their share.",
    ]
    for place, one in enumerate(found.candidates, 1):
        chances = f"{one.probability:.3f}  {one.prior:.3f}  {one.without_best:.3f}"
        lines += ["", f"{place:>3}. {chances}  {one.node.name} ({one.node.id}), {counted(one.count, 'path')}"]
        lines += [f"       {way.share:>4.0%}  {way.path.line}" for way in one.paths]
        lines += [f"       against: {said}" for said in one.against]
        lines += [f"       {said}" for said in one.beside]
    return "\n".join([*lines, "", *found.limits])
