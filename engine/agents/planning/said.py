"""What the words of a question say about the settings of a step, tool by tool.

The fields read what decides which steps there are; this reads the rest, after the plan is made, in one place. A
setting that the words name is settled: it takes the value they give where that is clear, and nothing but the user
changes it afterwards, also where the value happens to be the tool's default.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from engine.agents.planning import words
from engine.domain.plan import TaskNode
from engine.domain.toolspec import ParamSpec, ToolSpec
from engine.toolbox.typecheck import param_problem

_AGGREGATES = (
    ("median", r"\bmedians?\b"),
    ("sum", r"\bsums? (?:of|per|by|for)\b|\bsummed\b"),
    ("mean", r"\bmeans?\b|\baverages?\b"),
)
_CHANGES = r"(?:log2?.?)?(?:fold.?changes?|lfcs?|estimates?|effects?)"
_WORDINGS: dict[tuple[str, str], tuple[tuple[Any, str], ...]] = {
    ("adjust_p_values", "method"): (
        ("bonferroni", r"\bbonferroni\b"),
        ("holm", r"\bholm\b"),
        ("benjamini_hochberg", r"\bbenjamini|\bhochberg\b|\bBH\b|\bFDR\b|\bfalse.discovery"),
    ),
    ("normalize_counts", "method"): (
        ("vst", r"\bvst\b|\bvariance.?stabili"),
        ("log_cpm", r"\bcpm\b|\bcounts per million"),
        ("size_factors", r"\bsize.?factors?\b"),
    ),
    ("sc_markers", "method"): (
        ("t-test", r"\bt.?tests?\b"),
        ("wilcoxon", r"\bwilcoxon|\brank.?sum|\bmann.?whitney"),
    ),
    ("correlation", "method"): (
        ("spearman", r"\bspearman"),
        ("pearson", r"\bpearson"),
        ("kendall", r"\bkendall"),
    ),
    ("box_plot", "kind"): (
        ("violin", r"\bviolin"),
        ("points", r"\bstrip.?plots?\b|\bsingle points\b"),
        ("box", r"\bbox.?plots?\b"),
    ),
    ("join_tables", "how"): (
        ("left", r"\bleft\b"),
        ("outer", r"\bouter\b|\bkeep(?:ing)? all rows\b"),
        ("inner", r"\binner\b"),
    ),
    ("rank_genes", "by"): (("log2_fold_change", r"\brank\w* (?:\w+ )?by (?:the )?(?:log2?.?)?fold.?change"),),
    ("pivot_table", "aggregate"): _AGGREGATES,
    ("bar_plot", "aggregate"): _AGGREGATES,
    ("differential_expression", "shrink"): (
        (False, rf"\b(?:without|no|not)\s(?:{_CHANGES} )?shr[iu]n|\bunshrunken\b"),
        (True, rf"\bshr[iu]n\w* (?:of )?(?:the )?{_CHANGES}|\b{_CHANGES} shr[iu]n|\bapeglm\b"),
    ),
    ("anova", "interaction"): (
        (False, r"\b(?:without|no|ignor\w+) (?:an? |the |any )?interactions?\b|\bmain effects only\b|\badditive\b"),
        (True, r"\binteract\w*"),
    ),
    ("linear_regression", "robust_se"): (
        (True, r"\brobust (?:standard )?(?:errors?|regress|model|SEs?\b)|\bHC3\b|\bheterosce"),
    ),
    ("sc_markers", "tie_correct"): ((True, r"\bcorrect\w* (?:for )?(?:the )?ties\b|\bties? correct"),),
}
"""(tool, setting) -> the values and the words for each; the first that occurs holds."""
_TESTS = re.compile(
    r"\bt.?tests?\b|\bwelch|\bstudent|\bmann.?whitney|\bwilcoxon|\brank.?sum|\bkruskal|\banova\b|\bfriedman",
    re.IGNORECASE,
)
_OTHER_WORDS = {
    "n_pcs": r"pcs|principal components",
    "n_neighbors": r"neighbou?rs",
    "n_top_genes": r"(?:highly )?variable genes|hvgs?",
    "penalizer": r"penali[sz]er|penalty|ridge penalty",
    "max_mito_percent": r"%\s*mito\w*|mito\w*(?: percent)?",
    "min_genes": r"min(?:imum)? genes|genes per cell",
}
_READ_ELSEWHERE = frozenset(["alpha", "top_n", "min_abs_lfc", "lfc_threshold"])


def with_what_was_said(node: TaskNode, spec: ToolSpec, question: str, columns: Sequence[str] = ()) -> TaskNode:
    """Return the step with the settings that the question names settled, and set where it gives a value.

    Args:
        node: as the field planned it; what is settled there stays.
        spec: its tool.
        question: the whole question.
        columns: names of the data's columns; such a name says nothing of a setting (`median_income`, `total`).
    """
    known = {name.lower() for name in columns}
    rest = _without(columns, question)
    params, settled, reasons = dict(node.params), dict(node.settled), list(node.reasons)
    for param in spec.params:
        if param.name in settled or param.name.lower() in known:
            continue
        if not _named(spec.name, param, question) and not _values(spec.name, param, rest):
            continue
        settled[param.name] = "plan"
        values = _values(spec.name, param, rest)
        if len(values) != 1:
            continue  # named without a value, or with one for each of several requests
        if values[0] != params.get(param.name) and not param_problem(param, values[0]):
            params[param.name] = values[0]
            reasons.append(f"{param.name} = {values[0]!r}, as the question says.")
    if settled == node.settled:
        return node
    return node.model_copy(update={"params": params, "settled": settled, "reasons": reasons})


def _without(columns: Sequence[str], question: str) -> str:
    """Return the question without the names of columns; of one or two letters a name is left, it may be `t` in `t-test`."""
    for name in sorted((name for name in columns if len(name) > 2), key=len, reverse=True):
        spoken = re.escape(name).replace("_", r"[\s_]")
        question = re.sub(rf"(?<!\w){spoken}(?!\w)", " ", question, flags=re.IGNORECASE)
    return question


def _named(tool: str, param: ParamSpec, question: str) -> bool:
    """Say whether the words are about a setting whose value the field reads, or nobody can read."""
    if param.name == "alpha":
        return words.significance(question) is not None
    if param.name in ("min_abs_lfc", "lfc_threshold"):
        return words.minimum_log2_fold_change(question) is not None
    if param.name == "top_n":
        return words.top_n(question) is not None
    return (tool, param.name) == ("compare_groups", "test") and bool(_TESTS.search(question))


def _values(tool: str, param: ParamSpec, question: str) -> list[Any]:
    """Return the values that the sentences of a question give for a setting, each once."""
    found = [_value(tool, param, sentence) for sentence in words.clauses(question)]
    return list(dict.fromkeys(value for value in found if value is not None))


def _value(tool: str, param: ParamSpec, question: str) -> Any:
    """Return the value the words give for a setting, or None.

    Thresholds are left as the field set them: one question may hold several requests, each with its own.
    """
    for value, pattern in _WORDINGS.get((tool, param.name), ()):
        if re.search(pattern, question, re.IGNORECASE):
            return value
    if param.kind not in ("integer", "number") or param.name in _READ_ELSEWHERE:
        return None
    spoken = param.name.replace("_", r"[\s_]")
    number = words.named_number(question, _OTHER_WORDS.get(param.name, spoken))
    if number is None or param.kind == "number":
        return number
    return int(number) if number.is_integer() else None
