"""Decides which tools would answer a question: by phrases people use, then by the catalogue's own words.

A phrase is only a hint until the data fit: a goal whose inputs cannot be made from the user's files is
never planned (the planner says what is missing instead).
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from engine.agents.planning.words import stem, tokens
from engine.domain.toolspec import ToolSpec


class Goal(NamedTuple):
    """A tool that might answer the question, how strongly the words say so, and the words."""

    tool: str
    score: float
    phrase: str


_GENE_CHANGE = (
    r"\b(?:genes?|transcripts?|mrnas?|transcriptom\w*)\b.{0,60}?\b(?:chang\w*|differ\w*|alter\w*|affect\w*|respon\w*|"
    r"(?:up|down|de|dys)?.?regulat\w*|induc\w*|repress\w*|influenc\w*|impact\w*|increas\w*|decreas\w*|modulat\w*|"
    r"higher|lower|up|down|react\w*|mov(?:e|ed|es)|shift\w*|activat\w*|suppress\w*|turn\w*|switch\w*)\b"
)
PHRASES: dict[str, tuple[str, ...]] = {
    "differential_expression": (
        r"\bdifferential\w*\b.{0,30}\bexpress", r"\bdifferential (?:gene|analysis|test)", r"\bDEG?s?\b", _GENE_CHANGE,
        r"\b(?:up|down).?regulat", r"\b(?:effects?|impact|influence|response|respons\w*)\b.{0,60}\b(?:genes?|express\w*|transcript\w*)",
        r"\btranscription\w* (?:response|effect|change)", r"\bdeseq", r"\bcompar\w*\b.{0,60}\bexpress", r"\bexpress\w* .{0,30}\bdiffer",
        r"\b(?:which|what|wich|whch|find|list|show)\b.{0,25}\bgenes?\b", r"\b(?:turn|switch)\w* (?:on|off)\b", r"\bfold.?changes?\b",
        r"\bdo(?:es)?\b.{0,60}\b(?:to|on|in) (?:the )?(?:genes?|cells?|express\w*|transcript\w*)", r"\bsignificant\w* genes?\b",
        r"\bexpress\w* (?:chang|alter|respon)\w*", r"\bgene.?express\w*\b.{0,40}\b(?:between|after|upon|under|with|by)\b",
        r"\bgenes?\b.{0,40}\b(?:affected|induced|repressed|regulated) by\b", r"\bgenes? (?:that )?(?:go|goes|went) (?:up|down)",
        r"\b(?:alter|chang|affect|influenc|modulat|impact|shift|remodel)\w*\b.{0,50}\b(?:genes?|transcript\w*|express\w*)", r"\btranscriptom\w*",
        r"\b(?:vs\.?|versus|against)\b.{0,40}\bgenes?\b", r"\bgenexpression\b",
    ),
    "over_representation": (
        r"\benrich\w*", r"\bpathways?\b", r"\bgene.?sets?\b", r"\bhallmarks?\b", r"\bover.?represent", r"\bontolog", r"\bGO.?terms?\b",
        r"\bGSEA\b", r"\bbiological (?:process|function|theme)", r"\bKEGG\b", r"\breactome\b", r"\bsignal\w* (?:pathway|cascade)",
        r"\bwhich (?:functions|processes|programs|programmes)\b", r"\bORA\b",
    ),
    "sample_pca": (
        r"\bPCA\b", r"\bprincipal comp", r"\bsamples?\b.{0,40}\b(?:cluster|group|separat|similar|outlier|look alike)\w*", r"\bbatch effects?\b",
        r"\boutlier samples?\b", r"\bhow similar are the samples",
        r"\b(?:donors?|batch|patients?|cell.?lines?|samples?|individuals?)\b.{0,20}\b(?:effects?|differ\w*|variation|variab\w*)", r"\boverview of the samples",
    ),
    "count_qc": (r"\bquality\b", r"\bQC\b", r"\blibrary sizes?\b", r"\bsequencing depth\b", r"\bread depth\b", r"\bgood enough\b"),
    "volcano_plot": (r"\bvolcano",),
    "ma_plot": (r"\bMA.?plot",),
    "expression_heatmap": (r"\bheat.?map",),
    "normalize_counts": (r"\bnormali[sz]\w*", r"\bvst\b", r"\bcpm\b", r"\bvariance.?stabili"),
    "map_gene_ids": (r"\b(?:convert|map|translat)\w*\b.{0,40}\b(?:ids?|symbols?|ensembl|identifiers?|names)\b",
                     r"\b(?:symbols?|gene names?)\b.{0,30}\b(?:for|of)\b.{0,20}\b(?:ids?|ensembl)"),
    "sc_annotate": (r"\bcell.?types?\b", r"\bannotat\w*", r"\bwh(?:at|ich)\b.{0,20}\bcells?\b", r"\bcell (?:identit|population)\w*",
                    r"\bkinds? of cells?\b", r"\bimmune cells?\b"),
    "sc_cluster": (r"\bcluster\w*", r"\bleiden\b", r"\bsub.?populations?\b", r"\bgroups? of cells?\b", r"\bpopulations?\b"),
    "sc_markers": (r"\bmarkers?\b", r"\bdistinguish\w*", r"\bcharacteri[sz]\w*", r"\bgenes?\b.{0,30}\bdefin\w*", r"\bdefin\w*\b.{0,40}\bgenes?\b",
                   r"\bspecific genes?\b", r"\bsignature\b", r"\bspecific (?:for|to)\b"),
    "sc_embed": (r"\bumap\b", r"\bt-?sne\b", r"\bembedding\b", r"\bvisuali[sz]e the cells\b", r"\bmap of (?:the )?cells\b"),
    "sc_composition": (r"\bproportions?\b", r"\bcomposition\w*", r"\babundan\w*", r"\bfractions?\b", r"\bfrequenc\w*", r"\bhow many (?:\w+ )?cells\b",
                       r"\bpercentages?\b", r"\bmore (?:common|frequent|abundant)\b", r"\bshare of\b"),
    "sc_qc": (r"\bquality\b", r"\bQC\b", r"\bmitochond\w*", r"\bfilter\w* (?:the |bad |low.?quality |dying )*cells?\b", r"\bdead cells?\b"),
    "kaplan_meier": (r"\bsurviv\w*", r"\bkaplan", r"\bkm\b", r"\btime to\b", r"\bprogno\w*", r"\brelaps\w*", r"\brecurren\w*",
                     r"\bmortalit\w*", r"\blive\w* longer\b", r"\blonger\b", r"\bhazards?\b", r"\bdie\w*\b", r"\bdeath\b", r"\boutcome\b",
                     r"\bdeceas\w*", r"\bprogression\b", r"\bre-?arrest\w*", r"\brecidivis\w*", r"\btime.?to.?event"),
    "log_rank": (r"\blog.?rank", r"\bsurviv\w*\b.{0,80}\b(?:differ|compar|between|better|worse|longer|shorter|vs|versus|than)\w*",
                 r"\b(?:differ|compar|prolong|improv|extend|shorten|benefit|affect|influence|help|delay|protect|reduc)\w*\b.{0,80}"
                 r"\b(?:surviv|mortal|relaps|recurr|prognos|death|die|live|progress|risk|arrest|recidiv)\w*",
                 r"\blive longer\b", r"\b(?:live|surviv\w*) (?:for )?(?:longer|better|worse|less)"),
    "cox_regression": (r"\bcox\b", r"\bhazards?\b", r"\badjust\w* (?:for|by)\b", r"\bcovariates?\b", r"\bmulti.?varia\w*", r"\brisk factors?\b",
                       r"\bpredict\w*", r"\bcontrol\w* for\b", r"\bindependent\w*", r"\bwhich (?:factors?|variables?|features?)\b",
                       r"\bprognostic\b", r"\baccount\w* for\b", r"\bassociat\w*", r"\bwhat (?:affects?|influences?|determines?|drives?)\b",
                       r"\brisk\b"),
    "compare_groups": (r"\bdiffer\w*", r"\bcompar\w*", r"\bbetween\b", r"\b(?:higher|lower|larger|smaller|bigger|greater|longer|shorter|heavier|taller|more|less|faster|slower)\b",
                       r"\bt.?test", r"\bmann.?whitney", r"\bwilcoxon", r"\bkruskal", r"\beffects?\b", r"\baffect\w*", r"\binfluenc\w*", r"\bvar(?:y|ies) (?:by|with|between|across)\b",
                       r"\bincreas\w*", r"\breduc\w*", r"\bchang\w*", r"\bdepend\w*", r"\bmatters?\b", r"\bimprov\w*", r"\b(?:heavi|light|long|short|larg|small|bigg|great|tall|high|low|fast|slow|thick|thin)est\b", r"\bvs\.?\b", r"\bversus\b"),
    "anova": (r"\banova\b", r"\btwo.?way\b", r"\binteract\w*", r"\banalysis of variance\b"),
    "correlation": (r"\bcorrelat\w*", r"\brelat(?:ion|ionship|ed|es?)\b", r"\bassociat\w*", r"\bgo(?:es)? (?:along|together) with\b", r"\bspearman\b", r"\bpearson\b",
                    r"\bkendall\b", r"\blink\w*\b", r"\bco.?var(?:y|ies)\b"),
    "contingency": (r"\bassociat\w*", r"\bindependen\w*", r"\bdepend\w*", r"\brelat\w*", r"\bchi.?squared?\b", r"\bfisher", r"\bmore (?:often|common|frequent|likely)\b",
                    r"\bproportions?\b", r"\bcontingency\b", r"\bcross.?tab\w*", r"\bdistribut\w*", r"\bfrequenc\w*", r"\bdiffer\w*"),
    "linear_regression": (r"\bregress\w*", r"\bpredict\w*", r"\blinear model", r"\badjust\w* for\b", r"\bexplain\w*", r"\bdepend\w* on\b", r"\bOLS\b", r"\bcontrol\w* for\b",
                          r"\bwhich (?:factors?|variables?|features?)\b", r"\bslope\b", r"\bper unit\b", r"\bas a function of\b"),
    "logistic_regression": (r"\blogistic\b", r"\bodds\b", r"\bpredict\w*", r"\brisk (?:of|factors?)\b", r"\bclassif\w*", r"\bprobabilit\w*", r"\bdiagnos\w*",
                            r"\bwhich (?:factors?|variables?|features?)\b", r"\bdistinguish\w*", r"\badjust\w* for\b", r"\bassociat\w*"),
    "summarize_table": (r"\bsummar\w*", r"\bdescri\w*", r"\boverview\b", r"\baverage\b", r"\bmeans?\b", r"\bmedians?\b", r"\bstatistics\b", r"\bhow many\b",
                        r"\bwhat is in\b", r"\btell me about\b", r"\blook at\b", r"\bexplore\b", r"\btypical\b"),
    "adjust_p_values": (r"\bmultiple.?(?:testing|comparisons?)\b", r"\bbenjamini", r"\bbonferroni\b", r"\badjust\w*\b.{0,15}\bp.?val", r"\bcorrect\w*\b.{0,20}\bp.?val", r"\bfdr correct"),
    "join_tables": (r"\bjoin\w*", r"\bmerg\w*", r"\bcombine\w*\b.{0,30}\b(?:tables?|files?)\b"),
    "filter_rows": (r"\bfilter\w*", r"\bkeep (?:only|rows)\b", r"\bonly (?:the )?rows\b", r"\bsubset\w*", r"\bselect rows\b", r"\brows (?:where|with)\b"),
    "derive_column": (r"\bderiv\w*", r"\badd (?:a )?(?:new )?column\b", r"\bcompute\b", r"\bcalculat\w*\b.{0,30}\b(?:column|ratio)\b", r"\bnew column\b", r"\bratio of\b"),
    "pivot_table": (r"\bpivot\w*", r"\bcross.?tab\w*", r"\bwide format\b", r"\bfor each combination\b"),
    "box_plot": (r"\bbox.?plots?\b", r"\bviolin", r"\bstrip.?plot"),
    "scatter_plot": (r"\bscatter", r"\bplot\b.{0,40}\b(?:against|vs\.?|versus)\b"),
    "histogram": (r"\bhistogram", r"\bdistribution of\b", r"\bhow is\b.{0,40}\bdistributed\b"),
    "bar_plot": (r"\bbar.?(?:plot|chart|graph)s?\b", r"\bcounts? (?:per|by|of)\b"),
    "summarize_gene_sets": (r"\bwhat (?:gene )?sets\b", r"\bhow many (?:gene )?sets\b", r"\bsummar\w*", r"\bwhat is in\b", r"\bdescri\w*"),
}  # fmt: skip

_COMPILED = {tool: [re.compile(pattern, re.IGNORECASE) for pattern in patterns] for tool, patterns in PHRASES.items()}


def phrase_goals(question: str) -> dict[str, Goal]:
    """Return tool -> goal for every tool whose phrases occur, scored by how many do."""
    goals: dict[str, Goal] = {}
    for tool, patterns in _COMPILED.items():
        hits = [match.group(0) for pattern in patterns if (match := pattern.search(question))]
        if hits:
            goals[tool] = Goal(tool, 1.0 - 0.5 ** len(hits), max(hits, key=len).strip())
    return goals


class Retriever:
    """Ranks the catalogue for a question by BM25 over what tools say of themselves."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self._documents = {spec.name: _document(spec) for spec in specs}
        self._lengths = {name: sum(words.values()) for name, words in self._documents.items()}
        self._mean = sum(self._lengths.values()) / max(1, len(self._lengths))
        self._in = Counter(word for words in self._documents.values() for word in words)

    def rank(self, question: str) -> list[tuple[str, float]]:
        """Return (tool, score) for the tools that share a word with the question, best first."""
        words = [stem(word) for word in tokens(question) if len(word) > 2]
        scores = {name: self._score(name, words) for name in self._documents}
        return sorted(((n, s) for n, s in scores.items() if s > 0), key=lambda item: (-item[1], item[0]))

    def _score(self, name: str, words: list[str]) -> float:
        document, score = self._documents[name], 0.0
        for word in words:
            count = document.get(word, 0)
            if count:
                rarity = math.log(1 + (len(self._documents) - self._in[word] + 0.5) / (self._in[word] + 0.5))
                norm = count + 1.2 * (0.25 + 0.75 * self._lengths[name] / self._mean)
                score += rarity * count * 2.2 / norm
        return score


def _document(spec: ToolSpec) -> Counter[str]:
    text = " ".join([spec.name.replace("_", " "), spec.title, spec.description, spec.domain, spec.example])
    counts = Counter(stem(word) for word in tokens(text) if len(word) > 2)
    for keyword in spec.keywords:
        counts.update({stem(word): 2 for word in tokens(keyword) if len(word) > 2})
    return counts
