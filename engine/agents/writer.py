"""The writer: a model puts the answers of a run into plain words, and every number of it is held against the findings.

What the steps found stays as they wrote it; the plain words stand beside it, with who wrote them. Words that cannot be
founded after two corrections are not shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pydantic import Field

from engine.agents.asks import Asks
from engine.agents.held import unfounded
from engine.agents.prompt_files import load_prompt
from engine.domain.base import Value
from engine.domain.findings import Finding
from engine.domain.report import InWords, Report
from engine.reporting.compose import deduplicate

ROUNDS = 3
MOST_FINDINGS = 40
MOST_SENTENCES = 4
MOST_LIMITS = 15


class CitedSentence(Value):
    """A sentence and the findings it rests on."""

    text: str = Field(min_length=1)
    findings: list[str] = Field(min_length=1)


class PlainAnswer(Value):
    """What the model answers."""

    sentences: list[CitedSentence] = Field(min_length=1, max_length=MOST_SENTENCES)


@dataclass(frozen=True, slots=True)
class AnswerWriter:
    """Has answers put into plain words by the model of the role `reasoning`."""

    models: Asks

    def in_words(self, report: Report, *, run_id: str = "", against: Sequence[str] = ()) -> InWords | None:
        """Return the answers of a report in plain words, or None when there is nothing to say or no wording holds.

        Args:
            report: what was found.
            run_id: the run that the calls are counted for.
            against: what was held against earlier words.

        Raises:
            ModelUnavailable: when no model gave an answer.
        """
        answered = {answer.finding for answer in report.answers}
        ordered = _first_of_each(report.findings, answered)[:MOST_FINDINGS]
        findings = {finding.id: finding for finding in ordered if finding.grounding != "contradicted"}
        if not findings:
            return None
        due = _due(findings, answered)
        told = {key: f"{key}{' (must be told)' if key in due else ''}: {found.text}" for key, found in findings.items()}
        issues = list(against)
        for _ in range(ROUNDS):
            system, user = load_prompt("write_answer").filled(
                question=report.question,
                answers="\n".join(told.values()),
                caveats="\n".join(deduplicate([*report.caveats, *report.limitations])[:MOST_LIMITS]),
                complaints="\n".join(issues),
            )
            asked = self.models.ask(
                "reasoning", system, user, PlainAnswer, purpose="put the answer in words", run_id=run_id
            )
            wrong = _issues(asked.value, findings, report.question)
            wrong += _left_out(asked.value, due)
            issues = [*against, *wrong]
            if not wrong:
                text = " ".join(sentence.text.strip() for sentence in asked.value.sentences)
                cited = [key for sentence in asked.value.sentences for key in sentence.findings]
                return InWords(text=text, model=asked.model, findings=list(dict.fromkeys(cited)))
        return None


def _first_of_each(findings: Sequence[Finding], answered: Collection[str]) -> list[Finding]:
    """Return answers first, then the first finding of each step, the second of each: many of one crowd out no other."""
    place = Counter[str]()
    keys = dict[str, tuple[bool, int]]()
    for finding in findings:
        place[finding.node] += 1
        keys[finding.id] = (finding.id not in answered, place[finding.node])
    return sorted(findings, key=lambda finding: keys[finding.id])


def _issues(answer: PlainAnswer, findings: dict[str, Finding], question: str) -> list[str]:
    issues = []
    for sentence in answer.sentences:
        if absent := [key for key in sentence.findings if key not in findings]:
            issues.append(f"There is no finding {', '.join(map(repr, absent))}.")
        cited = [findings[key] for key in sentence.findings if key in findings]
        if numbers := unfounded(sentence.text, cited, question):
            issues.append(f"In {sentence.text!r} no cited finding has {', '.join(numbers)}.")
    return issues


def _due(findings: Collection[str], answered: Collection[str]) -> list[str]:
    """Return the findings that answer a part of the question; of many some may be left out, so none is due."""
    due = [key for key in findings if key in answered]
    return due if len(due) <= MOST_SENTENCES else []


def _left_out(answer: PlainAnswer, due: Collection[str]) -> list[str]:
    """Return what is wrong where an answer of the report has no sentence."""
    cited = {key for sentence in answer.sentences for key in sentence.findings}
    return [f"No sentence tells of {key}, which answers a part of the question." for key in due if key not in cited]
