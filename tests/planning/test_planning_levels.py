"""Which level, rows and share a sentence means: the event and its denial, men and women, what goes out, items of a list."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_files
from engine.planning.planner import Planner
from engine.planning.reading.read import read
from engine.planning.reading.requests import items_alone
from engine.planning.tables.sheets import Data
from engine.toolbox.registry import builtin_tools

RNG = np.random.default_rng(11)
PLANNER = Planner(builtin_tools())


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    n = 120
    rows = {
        "pat_id": [f"P{k:03d}" for k in range(n)],
        "Gender": ["male", "female"] * (n // 2),
        "group": ["DRUG+DIET", "DIET", "DIET", "DRUG+DIET"] * (n // 4),
        "per_protocol": ["yes", "yes", "no"] * (n // 3),
        "statin": ["no", "unk", "yes"] * (n // 3),
        "sbp": RNG.normal(140, 12, n).round(),
        "stroke": RNG.integers(0, 2, n),
    }
    path = tmp_path_factory.mktemp("levels") / "trial.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def swabs(tmp_path_factory):
    truth = ["detected", "not detected", "detected", "not detected", "not detected"] * 24
    rows = {"sample": range(1, 121), "PCR": truth, "Strip": ["pos", "neg", "pos", "neg", "void"] * 24}
    path = tmp_path_factory.mktemp("swabs") / "swabs.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def kept(question, path):
    return {(r.column, r.op, r.values) for r in read(question, Data.of(profile_files([path]))).restrictions if r.sure}


def steps(question, *paths):
    return [(node.tool, node.params) for node in PLANNER.plan(question, profile_files(paths)).plan.nodes]


@pytest.mark.parametrize(("word", "level"), [("men", "male"), ("women", "female"), ("females", "female")])
def test_men_are_male_and_women_female(word, level, trial):
    named = read(f"mean sbp of {word} only", Data.of(profile_files([trial]))).levels("Gender")
    assert named == [level]


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("sbp by group, patients with statin 'unk' go out", {("statin", "not in", ("unk",))}),
        ("compare sbp between the groups (statin unk left out)", {("statin", "not in", ("unk",))}),
        ("compare sbp between the groups; those with statin unk are excluded", {("statin", "not in", ("unk",))}),
        ("DRUG+DIET against DIET, quite a few dropped out. Does sbp differ?", set()),
        ("the pill lowers sbp in women but not in men", set()),
        ("mean sbp of all groups but not DIET", {("group", "not in", ("DIET",))}),
        ("mean sbp only in DIET and DRUG+DIET, by Gender", set()),
        ("stroke is significant only in women, show odds ratios by Gender for men and women", set()),
    ],
)
def test_what_is_said_of_rows_is_told_from_what_is_claimed(question, rows, trial):
    assert kept(question, trial) == rows


@pytest.mark.parametrize(
    "question",
    [
        "Sensitivity and specificity of Strip for PCR, void strips left out",
        "How good is Strip? Of the PCR negatives many had a pos Strip. Sensitivity against PCR, leave out the void ones",
        "sensitivity of the Strip against PCR (detected or not detected) without the void ones",
    ],
)
def test_a_test_is_positive_and_a_state_present_however_often_their_denials_are_named(question, swabs):
    found = dict(steps(question, swabs))
    rows, params = found["filter_rows"], found["diagnostic_accuracy"]
    assert rows["condition"] == "`Strip` not in ['void']"
    assert (params["event_value"], params["positive"]) == ("detected", "pos")


@pytest.mark.parametrize(
    ("said", "share"),
    [("3 in 100 have it", 0.03), ("about 1 out of 250 are infected", 0.004), ("prevalence of 2 %", 0.02),
     ("5 per 1000 people carry it", 0.005)],
)  # fmt: skip
def test_a_prevalence_is_read_in_words(said, share, swabs):
    question = f"sensitivity, specificity and predictive values of Strip against PCR where {said}"
    assert steps(question, swabs)[-1][1]["prevalence"] == pytest.approx(share)


def test_what_is_asked_of_cases_and_controls_goes_before_it(tmp_path):
    rows = {"study_group": ["case", "control", "control"] * 40, "solvents": ["Y", "N", "N", "N"] * 30,
            "age": RNG.integers(40, 80, 120), "smoking": ["never", "former", "current"] * 40}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "cc.csv", index=False)
    question = "Is the risk higher with solvents? study_group holds cases and controls. Number needed to harm; also adjusted for age and smoking"
    tool, params = steps(question, tmp_path / "cc.csv")[-1]
    assert tool == "risk_measures"
    assert {key: params[key] for key in ("exposure", "exposed", "outcome", "event_value")} == {
        "exposure": "solvents", "exposed": "Y", "outcome": "study_group", "event_value": "case"}  # fmt: skip


def test_the_start_of_a_span_is_no_covariate(tmp_path):
    rows = [(f"D{k}", 90 * visit, 90 * visit + 90, round(10 + RNG.normal(), 1), 60 + k % 20, int(visit == 3 and k % 3 == 0))
            for k in range(40) for visit in range(4)]  # fmt: skip
    names = ["pid", "day_from", "day_to", "Hb", "age", "died"]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "spans.csv", index=False)
    question = "Cox regression with day_from and day_to, died: hazard ratio of death per 1 g/dl Hb, adjusted for age"
    params = steps(question, tmp_path / "spans.csv")[-1][1]
    assert params["start"] == "day_from"
    assert sorted(params["covariates"]) == ["Hb", "age"]


def test_each_item_of_a_list_is_planned_with_its_own_numbers():
    question = (
        "Two arms, 90% power, alpha 5%. (a) cure 60% with the old cream, 75% hoped for: how many per arm, allowing for 20% drop-out? "
        "(b) itch score, difference of 1.5 with SD 4, how many per arm? (c) hazard ratio 0.65 for survival: how many events?"
    )
    first, second, third = (params for _, params in steps(question))
    assert (first["share_1"], first["share_2"], first["dropout"], first["power"]) == (0.6, 0.75, 0.2, 0.9)
    assert (second["difference"], second["sd"], second["dropout"], second["power"]) == (1.5, 4, 0, 0.9)
    assert (third["hazard_ratio"], third["design"], third["power"]) == (0.65, "survival", 0.9)


@pytest.mark.parametrize(
    ("question", "items"),
    [
        ("(a) one thing (b) another", ["(a) one thing ", "              (b) another"]),
        ("both: 1) one 2) two", ["both: 1) one ", "both:        2) two"]),
        ("group (a) is older than (c) in years", []),
        ("a mean (a) of weight", []),
    ],
)
def test_a_list_is_one_when_its_marks_follow_each_other(question, items):
    assert [text.rstrip() for text in items_alone(question)] == [text.rstrip() for text in items]


def test_a_word_for_what_could_not_be_measured_keeps_a_column_a_measurement(tmp_path):
    rows = [(f"rat{k}", 250 + k, 1.2, t, "BLQ" if t in (0, 1440) else f"{500 * np.exp(-t / 300) + k:.1f}")
            for k in range(8) for t in (0, 15, 30, 60, 120, 240, 480, 720, 1440)]  # fmt: skip
    names = ["Animal", "BW_g", "dose_mg", "min post gavage", "plasma ng/ml"]
    pd.DataFrame(rows, columns=names).to_csv(tmp_path / "pk.csv", index=False)
    tool, params = steps("Non-compartmental pharmacokinetics of each rat: AUC, half life, CL/F", tmp_path / "pk.csv")[
        -1
    ]
    assert (tool, params["concentration"], params["time"]) == ("pharmacokinetics", "plasma ng/ml", "min post gavage")


def test_what_two_sentences_say_of_one_analysis_goes_together(tmp_path):
    rows = {"transect": [f"T{k}" for k in range(66)], "cover": ["meadow", "mown", "edge"] * 22, "m dragged": RNG.integers(4, 21, 66) * 5,
            "nymphs": RNG.poisson(4, 66)}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "drags.csv", index=False)
    question = (
        "May drags, of unequal length. Can you fit a negative binomial model with the drag length as exposure? "
        "Tell me how many times more nymphs there are in meadow and edge compared to mown, with 95% CI."
    )
    (tool, params), *_ = steps(question, tmp_path / "drags.csv")
    assert (tool, params["exposure"], params["predictors"]) == ("count_regression", "m dragged", ["cover"])


def test_a_side_of_the_comparison_is_not_left_out(tmp_path):
    rows = [(pop, dose, 5 / (1 + (dose / (3 if pop.startswith("S") else 12)) ** 2) + RNG.normal(0, 0.1))
            for pop in ("S (Cambs.)", "R - Fenwick Farm") for dose in (0, 1, 2, 4, 8, 16, 32) for _ in range(4)]  # fmt: skip
    pd.DataFrame(rows, columns=["pop.", "rate g/ha", "fresh weight g"]).to_csv(tmp_path / "rye.csv", index=False)
    question = "ED50 of the susceptible one from Cambs and of the resistant one from Fenwick farm, how many fold more resistant is Fenwick?"
    ((tool, params),) = steps(question, tmp_path / "rye.csv")
    assert (tool.endswith("dose_response"), params["group"]) == (True, "pop.")


def test_a_heart_rate_is_no_time_and_a_stay_no_place(tmp_path):
    rows = {"foal": range(90), "HR": RNG.integers(60, 160, 90), "lact": RNG.uniform(1, 12, 90).round(1),
            "days in clinic": RNG.uniform(1, 12, 90).round(1), "left as": ["home", "home", "dead"] * 30}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "foals.csv", index=False)
    question = "How well can we tell at the door whether a foal will die in the clinic? Cross-validated AUC, logistic regression"
    tool, params = steps(question, tmp_path / "foals.csv")[-1]
    assert (tool, sorted(params["predictors"])) == ("classify", ["HR", "lact"])  # the stay is the time to the outcome


@pytest.fixture(scope="module")
def dates(tmp_path_factory):
    n = 90
    begin = pd.Timestamp("2015-03-01") + pd.to_timedelta(RNG.integers(0, 900, n), unit="D")
    end = begin + pd.to_timedelta(RNG.integers(60, 900, n), unit="D")
    graft = begin + (end - begin) / 2
    rows = {"case_no": range(1, n + 1), "arm": ["A", "B"] * (n // 2), "listed_on": begin.strftime("%d/%m/%Y"),
            "grafted_on": np.where(np.arange(n) % 3, graft.strftime("%d/%m/%Y"), None), "last_seen": end.strftime("%d/%m/%Y"),
            "status": ["2", "2", "1", "9", "2"] * (n // 5)}  # fmt: skip
    path = tmp_path_factory.mktemp("dates") / "list.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def test_watching_begins_where_all_began_and_codes_of_ends_may_leave_out_numbers(dates):
    question = (
        "Survival by arm, log-rank, survival at 2 years (1 year = 365.25 days); status 1 = alive, 2 = died, 9 = lost"
    )
    found = dict(steps(question, dates))
    assert found["derive_column"]["expression"] == "days_between(`listed_on`, `last_seen`)"
    params = found["kaplan_meier"]
    assert (params["event"], params["event_value"], params["at"], params["at_unit"]) == ("status", "2", 2, "years")


@pytest.mark.parametrize(
    ("said", "first", "second"),
    [("A = new drug, B = placebo", "A", "B"), ("B = the sham, A = laser", "A", "B"), ("B=verum A=placebo tablets", "B", "A")],
)  # fmt: skip
def test_letters_that_the_question_explains_are_levels(said, first, second, tmp_path):
    rows = {"subject": range(60), "alloc": ["A", "B"] * 30, "site": ["north", "south", "east"] * 20,
            "pain": RNG.normal(40, 8, 60).round(1)}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "laser.csv", index=False)
    tool, params = steps(f"Is pain lower in one of the arms ({said})?", tmp_path / "laser.csv")[-1]
    assert (tool, params["group"], params["treated"], params["control"]) == ("compare_groups", "alloc", first, second)


@pytest.fixture(scope="module")
def sites(tmp_path_factory):
    n = 144
    rows = {"patient": [f"P{k:03d}" for k in range(n)], "arm": ["drug", "placebo"] * (n // 2), "sex": ["male", "female", "female"] * (n // 3),
            "centre": ["Lyon", "Graz", "Turin", "Graz"] * (n // 4), "smoker": ["no", "yes", "unknown"] * (n // 3),
            "infection": ["no", "no", "yes", "no", "yes", "no"] * (n // 6), "crp": RNG.gamma(2, 5, n).round(1),
            "stage": ["I", "II", "III"] * (n // 3), "genotype": ["WT", "KO", "KO+rescue"] * (n // 3)}  # fmt: skip
    path = tmp_path_factory.mktemp("sites") / "sites.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


OUT = {("centre", "not in", ("Graz",))}


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("Compare crp between drug and placebo. Graz excluded.", OUT),
        ("crp by arm; patients in Graz omitted", OUT),
        ("crp by arm (centre Graz removed)", OUT),
        ("crp by arm, smokers unknown excluded", {("smoker", "not in", ("unknown",))}),
        ("crp by arm. Patients from Graz should be left out.", OUT),
        ("crp by arm; Graz does not count", OUT),
        ("crp by arm. Patients from Graz are counted too.", set()),
        ("crp by arm; patients in Graz are not excluded", set()),
        ("should Graz be excluded? crp by arm", set()),
        ("crp by arm. Nobody from Graz was excluded.", set()),
        ("Compare drug and placebo after the tumour was removed", set()),
        ("crp in the Lyon and Graz patients, but not those with stage III, by arm", {("stage", "not in", ("III",))}),
        ("crp in Lyon and Graz but not Turin, by arm", {("centre", "not in", ("Turin",))}),
    ],
)
def test_words_of_leaving_out_are_read_with_what_denies_and_asks_them(question, rows, sites):
    assert kept(question, sites) == rows


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Compare crp between drug and placebo; nobody from Graz was excluded", {"group": "arm"}),
        ("Infection odds by sex: only women seem to be affected", {"predictors": ["sex"]}),
        ("Compare crp of rescue and KO", {"group": "genotype", "levels": ["KO+rescue", "KO"]}),
    ],
)
def test_rows_that_a_comparison_needs_are_kept(question, expected, sites):
    ((_, params),) = steps(question, sites)
    assert {key: params[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Was PCR positive more often in women than men?", {"event": "PCR", "event_value": "detected"}),
        ("share of PCR negatives in women and men", {"event": "PCR", "event_value": "not detected"}),
    ],
)
def test_positive_and_negative_belong_to_the_column_beside_them(question, expected, tmp_path):
    rows = {"PCR": ["detected", "not detected", "detected", "not detected", "not detected"] * 24,
            "Strip": ["pos", "neg", "pos", "neg", "void", "neg"] * 20, "gender": ["f", "m", "m"] * 40}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "swabs.csv", index=False)
    params = steps(question, tmp_path / "swabs.csv")[-1][1]
    assert {key: params[key] for key in expected} == expected


def test_states_are_not_what_is_compared_nor_arms_what_happens(tmp_path):
    rows = {"pat": range(200), "course": ["short", "long"] * 100, "cured": ["N", "Y", "Y", "Y", "N"] * 40,
            "clinic": ["N", "S", "S", "N"] * 50}  # fmt: skip
    pd.DataFrame(rows).to_csv(tmp_path / "cure.csv", index=False)
    for question, kind in [
        (
            "Is the cured share of the short course equivalent to that of the long course, margin 10 percentage points?",
            "equivalence",
        ),
        ("Is short non-inferior to long for cured, margin 10 points?", "not_worse"),
    ]:
        ((tool, params),) = steps(question, tmp_path / "cure.csv")
        assert (tool, params["group"], params["outcome"], params["event_value"], params["kind"]) == (
            "share_equivalence", "course", "cured", "Y", kind)  # fmt: skip
    rows = {
        "id": range(90),
        "days": RNG.integers(20, 900, 90),
        "died": [0, 1, 1] * 30,
        "arm": ["A", "B"] * 45,
        "age": RNG.integers(40, 80, 90),
    }
    pd.DataFrame(rows).to_csv(tmp_path / "surv.csv", index=False)
    cox = dict(steps("hazard ratio of death for B versus A adjusted for age", tmp_path / "surv.csv"))["cox_regression"]
    assert sorted(cox["covariates"]) == ["age", "arm"]


@pytest.mark.parametrize(
    "phrase",
    [
        " (centre Graz excluded)",
        ", smokers unknown excluded",
        "; without the patients from Graz",
        ". Graz goes out.",
        ", leaving the Graz ones out",
        "; take all Graz patients out",
    ],
)
def test_what_is_left_out_does_not_decide_what_is_asked(phrase, sites):
    found = [tool for tool, _ in steps(f"Compare crp between drug and placebo{phrase}", sites)]
    assert found == ["filter_rows", "compare_groups"]


def test_leaving_out_alone_is_what_is_asked(sites):
    assert [tool for tool, _ in steps("Leave out the patients from Graz", sites)] == ["filter_rows"]


@pytest.mark.parametrize("said", ["Welch's test", "Welch's t-test"])
def test_the_initials_of_a_test_are_no_level(said, tmp_path):
    rows = {"genotype": ["WT", "KO", "rescue"] * 20, "weight": RNG.normal(25, 2, 60).round(1)}
    pd.DataFrame(rows).to_csv(tmp_path / "mice.csv", index=False)
    ((tool, params),) = steps(f"Is weight lower in KO than WT, {said}?", tmp_path / "mice.csv")
    assert (tool, params["treated"], params["control"], params["test"]) == ("compare_groups", "KO", "WT", "welch_t")
