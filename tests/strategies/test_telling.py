"""Answers that need no plan: from the graph, memory and facts, and where a row of the last tables went."""

from __future__ import annotations

import io
from dataclasses import replace

import pandas as pd
import pytest
import scipy.stats
from growth_data import write_growth

from engine.api import open_engine
from engine.domain.datatypes import DataType
from engine.domain.findings import Finding, FindingValue
from engine.domain.plan import Chosen, Dataset, TaskDag, TaskNode
from engine.domain.report import Answer, MethodStep, Report
from engine.domain.results import Artifact, NodeResult
from engine.strategies.react.answer.last_answer import LastAnswer, asked_of_answer
from engine.strategies.react.answer.whereabouts import Whereabouts
from engine.strategies.react.wording import asks_what_is_known
from engine.toolbox.registry import builtin_tools
from storage.runs.artifacts_twin import ArtifactsTwin

COUNTS = "gene,a,b\nMYC,90,10\nIL6,3,4\nTNF,0,0\nEGFR,8,9\n"
TABLE = "feature,log2_fold_change,p_value,p_adj\nMYC,-3.1,0.0001,0.0004\nIL6,0.4,0.5,0.63\nEGFR,0.2,0.8,\n"


@pytest.fixture
def places() -> Whereabouts:
    """A run of one step that tested three of four genes."""
    artifacts = ArtifactsTwin()
    counts, table = artifacts.put_bytes(COUNTS.encode()), artifacts.put_bytes(TABLE.encode())
    node = TaskNode(id="n1", name="Find genes", tool="differential_expression")
    data = Dataset(name="counts.csv", path="counts.csv", sha256=counts, type=DataType.COUNT_MATRIX)
    columns: list[str] = [*TABLE.split("\n", 1)[0].split(",")]
    held = Artifact(name="de_table.csv", output="de_table", type="de_table", sha256=table, bytes=1, columns=columns)
    result = NodeResult(
        node="n1", tool=node.tool, status="succeeded", artifacts=[held], params={"alpha": 0.05}
    )  # fmt: skip
    plan = TaskDag(question="?", datasets=[data], nodes=[node])
    return Whereabouts(plan, {"n1": result}, artifacts, builtin_tools(), data_words=frozenset({"treated"}))


def said(places: Whereabouts, question: str) -> str:
    report = places.told(question)
    assert report is not None
    return " ".join(report.summary)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("why is IL6 missing?", "p_adj is not below the threshold 0.05, so it is not listed as significant"),
        ("where is il6, i dont see it", "p_adj 0.63"),
        ("why not MYC?", "below the threshold 0.05, so it counts as significant"),
        ("How come EGFR is not in the list", "p_adj is empty"),
        ("why is TNF missing", "is in counts.csv, but not in the result tables"),
        ("why is TNF missing", "add up to 0, the largest is 0"),
        ("where's BRCA1?", "BRCA1 is in none of the 1 result tables and, under this name, not in counts.csv"),
        ("why is that gene missing?", "Which one is meant?"),
    ],
)
def test_a_missing_row_is_looked_up_with_its_numbers(places, question, told):
    assert told in said(places, question)


LISTED = "name,log2FoldChange,pvalue,padj\nACT7,2.5,0.0001,0.002\nPR1,0.3,0.04,\nWRKY6,0.1,0.9,0.95\n"


@pytest.mark.parametrize(
    ("question", "told", "untold"),
    [
        ("why is PR1 missing?", "its padj is empty there, so it passes no threshold", "add up"),
        ("where is WRKY6", "log2FoldChange 0.1, pvalue 0.9, padj 0.95", "empty"),
        (
            "why is ACT7 not in the list?",
            "it is in the answer; its row in result.csv: log2FoldChange 2.5",
            "left it out",
        ),
    ],
)
def test_a_row_of_a_finished_result_is_told_with_its_p_value(question, told, untold):
    artifacts = ArtifactsTwin()
    file, genes = artifacts.put_bytes(LISTED.encode()), artifacts.put_bytes(b"gene\nACT7\n")
    held = Artifact(name="genes.csv", output="genes", type="gene_list", sha256=genes, bytes=1, columns=["gene"])
    result = NodeResult(node="n1", tool="select_genes", status="succeeded", artifacts=[held], params={"alpha": 0.05})
    data = Dataset(name="result.csv", path="result.csv", sha256=file, type=DataType.DE_TABLE)
    plan = TaskDag(question="?", datasets=[data], nodes=[TaskNode(id="n1", name="Select", tool="select_genes")])
    text = said(Whereabouts(plan, {"n1": result}, artifacts, builtin_tools()), question)
    assert told in text
    assert untold not in text


PIGS = "pig,pen,gain,feed\npig_1,a,3.1,hay\npig_2,a,,hay\npig_3,b,4.0,oats\npig_4,b,2.2,oats\n"


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("why is pig_2 missing?", "its gain is empty, which the step 'Compare' needs"),
        ("why is animal pig_3 missing?", "the step 'Keep' left it out, which keeps the rows where pen is a"),
        ("where did pig_1 go?", "it is part of the answer"),
    ],
)
@pytest.mark.parametrize("ending", ["csv", "xlsx"])
def test_a_row_of_the_data_is_told_with_what_left_it_out(question, told, ending):
    artifacts, book = ArtifactsTwin(), io.BytesIO()
    pd.read_csv(io.StringIO(PIGS)).to_excel(book, sheet_name="pens", index=False)
    file = artifacts.put_bytes(PIGS.encode() if ending == "csv" else book.getvalue())
    some = artifacts.put_bytes("\n".join(PIGS.split("\n")[:3]).encode())
    held = Artifact(name="kept.csv", output="filtered", type="table", sha256=some, bytes=1, columns=["pig", "pen", "gain", "feed"])  # fmt: skip
    keep = TaskNode(id="n1", name="Keep", tool="filter_rows", params={"condition": "`pen` in ['a']"})
    compare = TaskNode(id="n2", name="Compare", tool="compare_groups", params={"value": "gain", "group": "feed"})
    read = {} if ending == "csv" else {"sheet": "pens"}
    data = Dataset(name=f"pigs.{ending}", path=f"pigs.{ending}", sha256=file, type=DataType.TABLE, read=read)
    plan = TaskDag(question="?", datasets=[data], nodes=[keep, compare])
    result = NodeResult(node="n1", tool="filter_rows", status="succeeded", artifacts=[held])
    words = frozenset({"pig_1", "pig_2", "pig_3", "pig_4", "a", "b", "hay", "oats"})
    place = Whereabouts(plan, {"n1": result}, artifacts, builtin_tools(), data_words=words)
    assert told in said(place, question)
    assert place.told("why is gain lower in hay?") is None


def test_numbers_of_the_answer_are_those_of_the_table(places):
    report = places.told("why is IL6 not significant?")
    values = {value.name: value.value for value in report.findings[0].values}
    assert values == {"log2_fold_change": 0.4, "p_value": 0.5, "p_adj": 0.63, "threshold": 0.05}


@pytest.mark.parametrize(
    "question",
    ["Is IL6 higher in treated?", "Why is survival shorter in treated?", "and for the women only", "which pathways?"],
)
def test_other_questions_are_not_taken_for_it(places, question):
    assert places.told(question) is None


def test_another_name_of_a_gene_is_looked_for(places):
    named = Whereabouts(
        places.plan, places.results, places.artifacts, places.registry, lambda name: ["MYC"] if name == "BHLHE39" else []
    )  # fmt: skip
    assert "BHLHE39 (MYC) is in de_table.csv" in said(named, "why is BHLHE39 missing?")


# ==== asked of the last answer ====


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("is that significant?", "significant"),
        ("is it signficant", "significant"),
        ("how big is the effect?", "size"),
        ("which ones?", "which"),
        ("how many of them go up?", "count"),
        ("show me the numbers", "numbers"),
        ("can I have the table", "numbers"),
        ("more digits please", "digits"),
        ("export as excel", "export"),
        ("why?", "meaning"),
        ("what does that mean?", "meaning"),
        ("plot it", "figure"),
        ("which patients were left out?", "left_out"),
        ("which one is best?", "ranking"),
        ("thanks a lot!", "thanks"),
        ("which pathways?", ""),
        ("plot that by dose", ""),
        ("how many patients are there?", ""),
        ("is weight significant?", ""),
        ("use a t test", ""),
        ("only the women", ""),
    ],
)
def test_what_is_asked_of_an_answer_is_told_from_what_is_to_be_planned(question, kind):
    assert asked_of_answer(question, frozenset({"weight"})) == kind


@pytest.fixture
def answer(places) -> LastAnswer:
    """The answer of that run: one significant gene of three."""
    values = [FindingValue(name="n_up", value=0), FindingValue(name="p_adj", value=0.0004)]
    values.append(FindingValue(name="difference", value=-3.1234567, low=-4.0, high=-2.25))
    finding = Finding(id="n1_f1", node="n1", text="MYC is lower.", values=values)
    method = MethodStep(node="n1", name="Find genes", tool="differential_expression", text="A test was made.")
    report = Report(
        title="?", question="?", summary=[finding.text], findings=[finding], methods=[method], figures=[], limitations=[],
        tables=list(places.results["n1"].artifacts), next_steps=["Repeat it."], citations=[], caveats=["Few samples."],
        answers=[Answer(text=finding.text, node="n1", finding=finding.id)],
    )  # fmt: skip
    return LastAnswer(places.plan, report, places.results, places.artifacts, places.registry)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("is that significant?", "adjusted p = 0.0004 is below 0.05, so it is significant at that threshold"),
        ("how big is the effect?", "difference = -3.123 (95 % interval -4 to -2.25)"),
        ("more decimals", "difference = -3.1234567"),
        ("which ones?", "1 of 3 rows have a p_adj below 0.05: 0 with a positive log2_fold_change; 1 with a negative"),
        ("which ones?", "log2_fold_change: MYC."),
        ("how many go up?", "0 with a positive log2_fold_change."),
        ("export as excel", "CSV files, which Excel opens: de_table.csv"),
        ("what does that mean?", "What limits it: Few samples."),
        ("why?", "why it is so they do not say"),
        ("thanks", "To go on: Repeat it."),
    ],
)
def test_the_last_answer_is_told_from_its_own_numbers(answer, question, told):
    assert told in " ".join(answer.told(question).summary)


def _shown(answer: LastAnswer, *findings: Finding) -> LastAnswer:
    """Return the answer of a description of two groups, with what other steps found."""
    columns = {"columns": ["gain"], "group_by": "feed"}
    shown = TaskNode(id="n1", name="Describe", tool="summarize_table", params=columns)
    test = TaskNode(id="n2", name="Test", tool="compare_groups", params={"value": "gain", "group": "feed"})
    plan = answer.plan.model_copy(
        update={"nodes": [shown, test], "analysis": [Chosen(id="describe_table", probability=1.0)]}
    )
    told = Finding(id="f1", node="n1", text="The mean is 3 with hay and 4 with oats.")
    given = {"answers": [Answer(text=told.text, node="n1", finding="f1")], "findings": [told, *findings]}
    report = answer.report.model_copy(update=given)
    return replace(answer, plan=plan, report=report, results={})


def test_a_test_that_another_step_made_is_told(answer):
    p = Finding(id="f2", node="n2", text="gain differs.", values=[FindingValue(name="p_value", value=0.01)])
    report = _shown(answer, p).told("is that significant?")
    assert report.summary == ["p = 0.01 is below 0.05, so it is significant at that threshold: gain differs."]


def test_groups_are_told_from_high_to_low(answer):
    means = [FindingValue(name=f"mean {level}", value=value) for level, value in (("hay", 3.0), ("oats", 4.25))]
    report = _shown(answer)
    finding = report.report.findings[0].model_copy(update={"values": [*means, FindingValue(name="p_value", value=0.2)]})
    told = replace(report, report=report.report.model_copy(update={"findings": [finding]})).told("which one is best?")
    end = "From high to low: oats 4.25, hay 3. Whether high is good the data do not say."
    assert told.summary == [f"{finding.text} {end}"]


def test_what_was_only_shown_is_left_to_be_tested(answer):
    assert _shown(answer).told("is that significant?") is None


def test_what_was_not_computed_or_drawn_is_not_told(answer):
    assert answer.told("plot it") is None  # nothing was drawn: it is planned
    waits = replace(answer, report=None)
    assert "has not run" in waits.told("is that significant?").summary[0]


def test_the_last_answer_is_asked_about_in_a_conversation(engine, tmp_path):
    data = write_growth(tmp_path / "growth.csv")
    first = engine.ask("Is growth higher in treated than in control?", [data], auto_approve=True)
    engine.wait(first, 120)
    table = pd.read_csv(data)
    groups = [table.loc[table.treatment == level, "growth"] for level in ("treated", "control")]
    p = scipy.stats.ttest_ind(*groups, equal_var=False).pvalue
    record = engine.wait(engine.ask("is that significant?", [data], conversation=first), 60)
    report = engine.view(record.run_id).report
    assert f"p = {p:.3g} is below 0.05" in report.summary[0]
    assert report.findings[0].values[-1].value == 0.05
    drawn = engine.wait(engine.ask("plot it", [data], conversation=first), 60)
    assert [f.artifact.name for f in engine.view(drawn.run_id).report.figures]
    assert engine.verify(drawn.run_id).ok
    # What is told makes no plan: a follow-up goes on from the answer.
    back = engine.wait(engine.ask("undo that", [data], conversation=first), 60)
    assert "Nothing stands before" in back.error


# ==== what is known ====


@pytest.mark.parametrize(
    ("question", "known"),
    [
        ("What is known about TP53?", True),
        ("any papers on metformin", True),
        ("did we find IL6 before?", True),
        ("Which genes change with dose?", False),
        ("Is weight higher in treated than in control?", False),
    ],
)
def test_knowledge_is_told_from_computation(question, known):
    assert asks_what_is_known(question) is known


@pytest.fixture
def engine(tmp_path):
    with open_engine(workspace=tmp_path / "ws", warm_workers=False, embedding_model="none") as opened:
        yield opened


@pytest.mark.parametrize(
    "question",
    ["Did we see a difference in growth between treated and control?", "have we found that height depends on growth"],
)
def test_what_can_be_computed_is_not_answered_by_what_another_run_found(engine, tmp_path, question):
    data = write_growth(tmp_path / "growth.csv")
    engine.wait(engine.ask("Is growth higher in treated than in control?", [data], auto_approve=True), 120)
    run_id = engine.ask(question, [data])
    assert engine.wait(run_id, 60).status == "awaiting_approval"
    assert engine.view(run_id).plan is not None


def test_a_question_without_files_is_answered_from_the_graph_with_its_source(engine):
    engine._parts.memory.semantic.state("EGFR", "is mutated in", "our cell line", "notebook 7", 0.9)
    record = engine.wait(engine.ask("Which drugs target EGFR?"), 60)
    assert record.status == "succeeded", record.error
    report = engine.view(record.run_id).report
    assert "No data file came with the question" in report.summary[0]
    told = " ".join(report.summary)
    stated = {
        around.name
        for around in engine.knowledge.neighbours("EGFR").nodes
        if around.type.value == "drug" and around.name in told
    }
    assert stated
    assert "source: Starter knowledge" in told
    assert "our cell line (source: notebook 7" in told
    assert engine.verify(record.run_id).ok
    assert engine.run_json(record.run_id)["status"] == "succeeded"
    assert "EGFR" in engine.report_html(record.run_id)


def test_literature_is_said_not_to_be_searched_and_nothing_is_made_up(engine):
    record = engine.wait(engine.ask("Is there literature on the xqzzy factor?"), 60)
    told = " ".join(engine.view(record.run_id).report.summary)
    assert "searches no literature" in told
    assert "Nothing the question names is in the knowledge graph" in told


def test_a_question_about_own_data_without_files_is_refused_and_not_answered_from_elsewhere(engine):
    record = engine.wait(engine.ask("Which genes change in my data with EGFR?"), 60)
    assert (record.status, record.error_code) == ("failed", "bad_plan")
    assert "No data file" in record.error


def test_a_plan_that_only_a_person_can_settle_waits_although_plans_run_at_once(engine, tmp_path):
    table = tmp_path / "trial.csv"
    rows = "".join(f"{k},{'ab'[k % 2]},{10 + k * 37 % 900},{k * 7 % 3}\n" for k in range(90))
    table.write_text("patient,arm,time,status\n" + rows)  # censored, transplanted, dead: nobody says which is which
    record = engine.wait(engine.ask("Does survival differ by arm?", [table], auto_approve=True), 60)
    plan = engine.view(record.run_id).plan
    assert any(q.blocking and not plan.answers(q) for q in plan.open_questions)
    assert (record.status, record.error) == ("awaiting_approval", "")


@pytest.mark.parametrize(
    "question", ["What can you do?", "what kinds of analyses can you do?", "hi, which tests can I run"]
)
def test_what_the_desk_can_do_is_an_answer(engine, question):
    record = engine.wait(engine.ask(question), 60)
    assert record.status == "succeeded", record.error
    told = " ".join(engine.view(record.run_id).report.summary)
    assert "no textbook" in told
    assert "Cox regression" in told
