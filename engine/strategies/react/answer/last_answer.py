"""What a question asks of the last answer itself, told from its stored numbers: is it significant, how big, which ones.

Such a question is one all of whose words are known to ask of an answer; one word more (a column, a group, a method) and
it is planned. Each sentence is the answer's own or is made of its values.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import TaskDag
from engine.domain.report import Answer, Report
from engine.domain.results import NodeResult
from engine.planning.followups.turn import GROUPS, answering, columns_of
from engine.planning.naming.hints import WHOM
from engine.ports.artifacts import ArtifactStore
from engine.reporting.compose import is_table
from engine.strategies.react.answer.answer_report import told_report
from engine.strategies.react.answer.stored_tables import alpha_of, is_adjusted, is_p, number_of, rows_of
from engine.text.slips import one_slip_away
from engine.text.tokens import tokens
from engine.toolbox.registry import ToolRegistry

_CUES: dict[str, str] = {
    "export": "export exported excel xlsx xls csv download save pdf powerpoint ppt word docx file files copy send "
    "email spreadsheet",
    "digits": "decimals decimal digits precise precisely exact exactly precision rounded rounding unrounded",
    "left_out": "leave left out excluded omitted dropped removed",
    "ranking": "best worst highest lowest top bottom winner rank ranking order",
    "which": "which list whose",
    "count": "many count",
    "significant": "significant significance significantly p pvalue chance random luck real",
    "size": "big large larger strong stronger effect size magnitude much small weak difference",
    "numbers": "numbers number values value table tables raw details detail statistics statistic",
    "figure": "plot plots draw graph graphs chart charts picture pictures figure figures curve curves",
    "meaning": "mean means meaning interpret interpretation explain why understand conclusion conclude summary "
    "summarise summarize sense words simple simply plain",
    "thanks": "thanks thank thx cheers great perfect nice cool wonderful super danke merci gracias",
}
"""What is asked -> the words that ask for it, those that say more first."""
_KINDS = {kind: frozenset(words.split()) for kind, words in _CUES.items()}
_FILL = frozenset(
    "a an the this that these those it its they them there here is are was were be been do does did done have has "
    "had having can could may would should will i we you me us my our your what how so and or but of for to in on "
    "at as with from by please pls ok okay now then also again just only not no yes more most all any some one "
    "ones lot very really still get got give show tell see want need make go goes going up down higher lower "
    "increase increased decrease decreased upregulated downregulated result results answer 1 say says actually "
    "true full whole don doesn didn isn aren t s m re hmm well too possible version way".split()
)
_TYPED = 6
"""A word of so many letters may have one of them wrong."""
UP = frozenset("up higher increase increased upregulated".split())
DOWN = frozenset("down lower decrease decreased downregulated".split())
_EFFECT = re.compile(r"log2_?fold_?change|log2fc|lfc|difference|coefficient|estimate|change|r|rho|nes", re.IGNORECASE)
"""What a column is called whose sign is a direction."""
LISTED = 10


def asked_of_answer(question: str, data_words: frozenset[str] = frozenset()) -> str:
    """Return what a question asks of the last answer (see `_CUES`), "" when it may ask for anything else.

    Args:
        question: what is asked.
        data_words: names of columns and levels of the data in lower case; a question with one of them asks for more.
    """
    typed = [token.text for token in tokens(question)]
    words = [_known(word) for word in typed]
    kind = next((kind for kind, cues in _KINDS.items() if cues & {*words}), "")
    whom = WHOM if kind in ("left_out", "which") else frozenset[str]()
    plain = all(
        word in whom or (known and (word not in data_words or word in _FILL))
        for word, known in zip(typed, words, strict=True)
    )
    return kind if plain else ""


def _known(word: str) -> str:
    """Return a word as it is known to ask of an answer, with one letter put right, or ""."""
    known = _FILL.union(*_KINDS.values())
    return word if word in known else next(iter(one_slip_away(word, known, _TYPED)), "")


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """The last answer of a conversation, asked about."""

    plan: TaskDag
    report: Report | None
    results: Mapping[str, NodeResult]
    artifacts: ArtifactStore
    registry: ToolRegistry
    data_words: frozenset[str] = frozenset()
    """Names of columns and levels of the data in lower case."""

    def told(self, question: str) -> Report | None:
        """Return what is told of the last answer, None when the question asks for anything else."""
        kind = asked_of_answer(question, self.data_words)
        if not kind:
            return None
        if kind == "thanks":
            return told_report(question, self._thanks())
        if self.report is None:
            return told_report(question, [f'There is no result yet: the plan of "{self.plan.question}" has not run.'])
        if kind == "significant" and self._untested():
            return None  # the test of what was only shown is planned
        if kind == "figure":
            figures = self.report.figures
            names = ", ".join(figure.artifact.name for figure in figures)
            return (
                told_report(question, [f"The last answer was drawn already: {names}."], figures=figures)
                if figures
                else None
            )
        lines = [*getattr(self, f"_{kind}")({token.text for token in tokens(question)})]
        return told_report(question, [line.text for line in lines], lines)

    # ==== each kind ====

    def _thanks(self) -> list[str]:
        following = self.report.next_steps[:2] if self.report is not None else []
        return ["You are welcome.", *(f"To go on: {step}" for step in following)]

    def _untested(self) -> bool:
        """Say whether the answer shows groups side by side of which nothing was tested."""
        specs = {node.tool: self.registry.get(node.tool) for node in self.plan.nodes if node.tool in self.registry}
        shown = columns_of(GROUPS, answering(self.plan, specs), specs)
        told = any(re.search(r"\bp [=<]|discovery rate", answer.told) for answer, _ in self._answers())
        return bool(shown) and not told and not any(_tested(finding) for _, finding in self._with_tests())

    def _with_tests(self) -> list[tuple[Answer, Finding]]:
        """Return the answers; where none tests anything, what another step tested of the same columns."""
        assert self.report is not None
        answers = [*self._answers()]
        known = {node.id: {*map(str, node.params.values())} for node in self.plan.nodes}
        own = {answer.node for answer, _ in answers}
        taken = set[str]().union(*map(self._columns, own))
        beside = [
            (Answer(node=finding.node, finding=finding.id, text=finding.text), finding)
            for finding in self.report.findings
            if taken and finding.node not in own and taken <= known.get(finding.node, set()) and _tested(finding)
        ]
        return answers if any(_tested(finding) for _, finding in answers) else beside or answers

    def _columns(self, node_id: str) -> set[str]:
        node = self.plan.node(node_id)
        spec = self.registry.get(node.tool) if node is not None and node.tool in self.registry else None
        if node is None or spec is None:
            return set()
        return {str(node.params[p.name]) for p in spec.params if p.kind == "column" and node.params.get(p.name)}

    def _significant(self, words: set[str]) -> Iterator[Finding]:
        for answer, finding in self._with_tests():
            alpha = self._alpha(answer.node)
            tested = _tested(finding)
            tested = [v for v in tested if is_adjusted(v.name)] or tested
            if not tested:
                end = (
                    ""
                    if re.search(r"\bp [=<]|discovery rate", answer.told)
                    else " No p-value stands behind this answer."
                )
                yield _line(f"{answer.told}{end}", finding)
            for value in tested:
                below = float(value.value or 0.0) < alpha
                verdict = "below" if below else "not below"
                single = any(
                    v.name == "p_value" and v.value == value.value for v in finding.values
                )  # nothing to adjust
                called = "p" if single else "adjusted p" if is_adjusted(value.name) else value.name
                not_ = "" if below else " not"
                text = f"{answer.about}{called} = {value.value:.3g} is {verdict} {alpha:g}, so it is{not_} significant "
                text += f"at that threshold: {answer.text}"
                text += "" if below else " That nothing was shown is no proof that nothing is there."
                yield _line(text, finding, FindingValue(name="threshold", value=alpha))

    def _size(self, words: set[str]) -> Iterator[Finding]:
        for answer, finding in self._answers():
            sized = [v for v in finding.values if not is_p(v.name) and not re.match(r"n$|n_|df|alpha", v.name)]
            yield _line(f"{answer.told} {_listed(sized, '.4g')}".strip(), finding)

    def _digits(self, words: set[str]) -> Iterator[Finding]:
        for answer, finding in self._answers():
            yield _line(f"{answer.about}{_listed(finding.values, '.12g') or answer.text}", finding)
        yield _line(f"The tables hold every number in full: {self._tables()}.")

    def _numbers(self, words: set[str]) -> Iterator[Finding]:
        for answer, finding in self._answers():
            yield _line(f"{answer.told} {_listed(finding.values, '.6g')}".strip(), finding)
        yield _line(f"All numbers are in the tables below the last answer: {self._tables()}.")

    def _export(self, words: set[str]) -> Iterator[Finding]:
        yield _line(
            f"The tables of the last answer are CSV files, which Excel opens: {self._tables()}. Open that answer: "
            "beside each table stands 'Save', and 'Everything (ZIP)' saves all tables and figures with the report; the "
            "report is there as HTML and PDF too."
        )

    def _meaning(self, words: set[str]) -> Iterator[Finding]:
        assert self.report is not None
        for answer, finding in self._answers():
            yield _line(answer.told, finding)
        nodes = {answer.node for answer in self.report.answers}
        for step in self.report.methods:
            if step.node in nodes:
                yield _line(f"How it was found: {step.text}")
        for caveat in self.report.caveats or self.report.limitations[:3]:
            yield _line(f"What limits it: {caveat}")
        if "why" in words:
            yield _line("The numbers say what is so in these data; why it is so they do not say.")

    def _left_out(self, words: set[str]) -> Iterator[Finding]:
        assert self.report is not None
        kept = [f for f in self.report.findings if any(v.name == "n_kept" for v in f.values)]
        yield from (_line(finding.text, finding) for finding in kept)
        said = [
            text
            for text in self.report.limitations
            if re.search(r"missing|left out|dropped|excluded", text, re.IGNORECASE)
        ]
        yield from map(_line, said)
        if not kept and not said:
            yield _line("No step of the last answer says that it left out rows.")

    def _ranking(self, words: set[str]) -> Iterator[Finding]:
        for answer, finding in self._answers():
            means = [v for v in finding.values if v.name.startswith("mean ") and isinstance(v.value, float)]
            means.sort(key=lambda value: -float(value.value or 0.0))
            told = ", ".join(f"{v.name.removeprefix('mean ')} {v.value:.4g}" for v in means)
            note = "" if not told else f" From high to low: {told}. Whether high is good the data do not say."
            yield _line(f"{answer.told}{note}", finding)

    def _which(self, words: set[str]) -> Iterator[Finding]:
        yield from self._passing(words, names=True)

    def _count(self, words: set[str]) -> Iterator[Finding]:
        yield from self._passing(words, names=False)

    # ==== parts ====

    def _answers(self) -> Iterator[tuple[Answer, Finding]]:
        assert self.report is not None
        known = {finding.id: finding for finding in self.report.findings}
        for answer in self.report.answers:
            yield answer, known.get(answer.finding, Finding(id=answer.finding, node=answer.node, text=answer.text))

    def _alpha(self, node: str) -> float:
        result = self.results.get(node)
        return (alpha_of(result, self.registry) if result is not None else None) or 0.05

    def _tables(self) -> str:
        assert self.report is not None
        return ", ".join(table.name for table in self.report.tables) or "none"

    def _passing(self, words: set[str], *, names: bool) -> Iterator[Finding]:
        """Yield how many rows of the answers' tables pass the threshold, by the sign of the effect, and which."""
        for answer, finding in self._answers():
            yield _line(answer.told, finding)
            result = self.results.get(answer.node)
            for artifact in result.artifacts if result is not None else ():
                p = next((c for c in artifact.columns if is_adjusted(c)), "")
                if p and is_table(artifact) and self.artifacts.has(artifact.sha256):
                    yield self._of_table(
                        artifact.name,
                        [*rows_of(self.artifacts.path(artifact.sha256))],
                        p,
                        self._alpha(answer.node),
                        words,
                        names=names,
                    )
                    break

    @staticmethod
    def _of_table(
        name: str, rows: Sequence[Mapping[str, str]], p: str, alpha: float, words: set[str], *, names: bool
    ) -> Finding:
        by_p = sorted(((value, at) for at, row in enumerate(rows) if (value := number_of(row[p])) is not None))
        passed = [rows[at] for value, at in by_p if value < alpha]
        called = next((c for c in (rows[0] if rows else ()) if number_of(rows[0][c]) is None and rows[0][c]), "")
        effect = next((c for c in (rows[0] if rows else ()) if _EFFECT.fullmatch(c)), "")
        parts: list[str] = []
        values = [FindingValue(name="passing", value=len(passed)), FindingValue(name="threshold", value=alpha)]
        for sign, factor in _signs(words) if effect else [("", 0)]:
            own = [row for row in passed if not factor or (number_of(row[effect]) or 0.0) * factor > 0]
            shown = ", ".join(row[called] for row in own[:LISTED]) if names and called else ""
            more = f" and {len(own) - LISTED:,} more" if len(own) > LISTED else ""
            counted = f"{len(own):,} with a {sign} {effect}" if factor else f"{len(own):,}"
            parts.append(f"{counted}: {shown}{more}" if shown else counted)
            values.append(FindingValue(name=f"passing_{sign}" if sign else "rows", value=len(own)))
        text = f"In {name}, {len(passed):,} of {len(rows):,} rows have a {p} below {alpha:g}: {'; '.join(parts)}."
        return Finding(id="", node="", text=text, values=values)


def _tested(finding: Finding) -> list[FindingValue]:
    return [v for v in finding.values if is_p(v.name) and isinstance(v.value, int | float)]


def _signs(words: set[str]) -> list[tuple[str, int]]:
    """Return the signs of an effect that are asked about: both where no direction is named."""
    up, down = bool(words & UP), bool(words & DOWN)
    return [("positive", 1)] * (up or not down) + [("negative", -1)] * (down or not up)


def _line(text: str, finding: Finding | None = None, *more: FindingValue) -> Finding:
    values = [*(finding.values if finding is not None else ()), *more]
    return Finding(id="", node="", text=text, values=values)


def _listed(values: Sequence[FindingValue], form: str) -> str:
    """Return numbers with their limits, written out."""

    def one(value: FindingValue) -> str:
        number = format(value.value, form) if isinstance(value.value, float) else str(value.value)
        limits = (
            f" (95 % interval {value.low:{form}} to {value.high:{form}})"
            if value.low is not None and value.high is not None
            else ""
        )
        return f"{value.name} = {number}{f' {value.unit}' if value.unit else ''}{limits}"

    return "; ".join(map(one, values)) + "." if values else ""
