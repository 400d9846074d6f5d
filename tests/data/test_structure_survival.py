"""Times to an event found from values: which event, which clock, and states that began while subjects were watched."""

import itertools

import numpy as np
import pandas as pd
import pytest

from engine.data.profiler import profile_file
from engine.data.structure.rows import look
from engine.domain.datatypes import DataType

RNG = np.random.default_rng


def found(frame: pd.DataFrame):
    return look(frame)[1]


def waiting_list(rng: np.random.Generator, n: int = 90) -> pd.DataFrame:
    """Simulated: some get an organ after a wait, all are followed from acceptance."""
    followed = rng.integers(5, 1500, n)
    got = (rng.random(n) < 0.6) & (followed > 20)
    waited = np.where(got, (followed * rng.uniform(0.05, 0.8, n)).round(), np.nan)
    return pd.DataFrame(
        {"pt": range(1, n + 1), "organ": np.where(got, "Y", "N"), "wait_days": waited, "fu_days": followed,
         "vital": np.where(rng.random(n) < 0.7, "D", "A")}
    )  # fmt: skip


def test_a_state_that_began_while_subjects_were_watched_is_found_with_its_time():
    structure = found(waiting_list(np.random.default_rng(1)))
    assert structure.survival == {"time": "fu_days", "event": "vital", "event_value": "D"}
    assert structure.begins == {"organ": "wait_days"}


def test_a_group_known_from_the_start_does_not_begin():
    frame = waiting_list(np.random.default_rng(2))
    frame["arm"] = ["drug", "placebo"] * 45
    assert "arm" not in found(frame).begins
    measured = frame.assign(wait_days=np.random.default_rng(3).integers(1, 9, 90))  # nobody lacks it
    assert found(measured).begins == {}


def test_of_two_events_the_one_whose_others_were_watched_to_the_end_goes_with_the_time():
    rng = np.random.default_rng(4)
    days = rng.exponential(400, 150).round() + 1
    relapse = np.where(rng.random(150) < 0.5, "yes", "no")
    frame = pd.DataFrame({"relapse": relapse, "days": np.minimum(days, 500), "died": (days < 500).astype(int)})
    assert found(frame).survival["event"] == "died"


def test_numbers_of_rows_with_one_left_out_name_the_rows():
    rng = np.random.default_rng(5)
    hauls = [n for n in range(1, 60) if n != 37]
    frame = pd.DataFrame({"haul": hauls, "fish": rng.poisson(20, 58), "depth_m": rng.normal(900, 80, 58)})
    assert next(c for c in look(frame)[0] if c.name == "haul").scale == "code"


def test_a_column_whose_name_speaks_of_ends_goes_before_one_that_only_holds_the_word_deceased():
    rng = np.random.default_rng(6)
    frame = pd.DataFrame(
        {"case": range(1, 81), "donor": ["living", "deceased"] * 40, "days": rng.exponential(900, 80).round() + 1,
         "outcome": rng.permutation(["lost"] * 25 + ["died"] * 15 + ["working"] * 40)}
    )  # fmt: skip
    assert found(frame).survival.get("event") == "outcome"


@pytest.mark.parametrize(
    ("time_name", "event_name", "levels", "value"),
    [
        ("time", "status", [0, 1], "1"), ("os_days", "os_status", ["alive", "dead"], "dead"), ("Follow-up (months)", "Vital status", ["Alive", "Dead"], "Dead"),
        ("Überlebenszeit", "verstorben", ["nein", "ja"], "ja"), ("suivi (mois)", "décès", ["non", "oui"], "oui"),
        ("tiempo", "estado", ["vivo", "fallecido"], "fallecido"), ("time", "status", [1, 2], ""), ("time", "cens", [0, 1], ""),
        ("days", "censored", ["yes", "no"], "no"), ("weeks", "relapse", [False, True], "True"), ("time", "alive", ["yes", "no"], "no"),
        ("time", "alive", [0, 1], "0"), ("Zeit_Tage", "Ereignis", [0, 1], "1"), ("T", "E", [0, 1], "1"), ("time", "status", [0, 1, 2], ""),
    ],
)  # fmt: skip
def test_times_to_an_event(time_name: str, event_name: str, levels: list, value: str) -> None:
    rng = RNG(23)
    frame = pd.DataFrame({
        time_name: rng.exponential(20, 70).round(1) + 0.1, event_name: [levels[i] for i in rng.integers(0, len(levels), 70)],
        "arm": rng.choice(["a", "b"], 70), "bmi": rng.normal(25, 3, 70),
    })  # fmt: skip
    assert found(frame).survival == {"time": time_name, "event": event_name, "event_value": value}


def test_event_needs_no_time_word_when_its_name_is_plain_and_the_time_is_skewed() -> None:
    rng = RNG(24)
    frame = pd.DataFrame({"length of watch": rng.exponential(9, 80), "died": rng.integers(0, 2, 80)})
    assert found(frame).survival == {"time": "length of watch", "event": "died", "event_value": "1"}


@pytest.mark.parametrize(
    "name",
    ["length of stay", "LOS days", "icu_days", "Verweildauer", "days in hospital", "center_time_s", "Immobility time"],
)
def test_a_stay_is_measured_and_no_time_to_death(name: str) -> None:
    """It ends with going home: those who lived were not watched until then only, and leaving is no censoring at random."""
    rng = RNG(24)
    frame = pd.DataFrame({name: rng.exponential(9, 80), "died": rng.integers(0, 2, 80)})
    assert found(frame).survival == {}


def test_watched_to_the_end_of_the_study() -> None:
    """Every row without the event has the longest time: the name of the event is not needed."""
    rng = RNG(25)
    event = rng.integers(0, 2, 100)
    frame = pd.DataFrame(
        {"week": np.where(event == 1, rng.integers(1, 50, 100), 52), "q": event, "married": rng.integers(0, 2, 100)}
    )
    assert found(frame).survival == {"time": "week", "event": "q", "event_value": "1"}


@pytest.mark.parametrize("names", [("start", "stop"), ("von", "bis"), ("v1", "v2")])
def test_start_and_stop(names: tuple[str, str]) -> None:
    rng = RNG(26)
    rows = []
    for who in range(1, 31):
        cuts = [0, *np.cumsum(rng.integers(3, 30, rng.integers(1, 4)))]
        sex = rng.choice(["m", "f"])
        for i, (a, b) in enumerate(itertools.pairwise(cuts)):
            rows.append(
                {
                    "id": who,
                    "sex": sex,
                    names[0]: int(a),
                    names[1]: int(b),
                    "death": int(i == len(cuts) - 2 and who % 2),
                    "drug": int(rng.integers(0, 2)),
                }
            )
    assert found(pd.DataFrame(rows)).survival == {
        "start": names[0],
        "time": names[1],
        "event": "death",
        "event_value": "1",
    }


def test_stanford_heart_transplants() -> None:
    """Crowley and Hu (1977): 103 patients in 172 rows of start and stop."""
    from lifelines.datasets import load_stanford_heart_transplants

    structure = found(load_stanford_heart_transplants())
    assert structure.survival == {"start": "start", "time": "stop", "event": "event", "event_value": "1"}
    assert (structure.repeated[0].subject, structure.repeated[0].subjects) == ("id", 103)


def test_recidivism_of_432_released_men() -> None:
    """Rossi, Berk and Lenihan (1980): one row a man, a year of 52 weeks, no word that a list of events would hold."""
    from lifelines.datasets import load_rossi

    structure = found(load_rossi())
    assert structure.repeated == []
    assert structure.survival == {"time": "week", "event": "arrest", "event_value": "1"}


def test_an_event_told_in_words_among_other_ends_is_found() -> None:
    rng = np.random.default_rng(2)
    ends = rng.choice(["failed", "in function", "lost to follow-up"], 150, p=[0.3, 0.5, 0.2])
    frame = pd.DataFrame({
        "tooth": [f"t{n}" for n in range(150)], "patient": [f"p{n // 2}" for n in range(150)],
        "months in service": rng.exponential(40, 150).round(1), "status last visit": ends,
    })  # fmt: skip
    survival = found(frame).survival
    assert survival == {"time": "months in service", "event": "status last visit", "event_value": "failed"}


def test_the_time_that_those_without_the_event_ran_to_its_end_is_the_clock() -> None:
    rng = RNG(5)
    relapse = (rng.random(120) < 0.7).astype(int)
    frame = pd.DataFrame({"ttr": np.where(relapse == 1, rng.integers(0, 170, 120), 182), "relapse": relapse}).assign(
        yearsSmoking=rng.integers(5, 45, 120)
    )
    assert found(frame).survival == {"time": "ttr", "event": "relapse", "event_value": "1"}


def test_words_beside_codes_are_the_event() -> None:
    rng = RNG(6)
    status = rng.integers(0, 3, 90)
    frame = pd.DataFrame({"time": rng.exponential(5, 90).round(2), "status": status}).assign(
        cause=[("event-free", "AIDS", "SI")[n] for n in status]
    )
    assert found(frame).survival["event"] == "cause"


@pytest.mark.parametrize("name", ["dias_hasta_caida", "days_to_fall", "time.to.fall"])
def test_a_time_until_something_finds_the_state_of_those_it_came_for(name: str) -> None:
    """First falls within a year, some watched for less: the column of the event has no telling name."""
    rng = RNG(9)
    fall, watched = rng.exponential(400, 150), rng.choice([300, 330, 365], 150)
    frame = pd.DataFrame({
        "age": rng.integers(70, 95, 150), name: np.minimum(fall, watched).round(), "q": (fall < watched).astype(int),
        "stick": rng.integers(0, 2, 150),
    })  # fmt: skip
    assert found(frame).survival == {"time": name, "event": "q", "event_value": "1"}


def test_a_measure_at_an_occasion_is_no_time_to_death() -> None:
    rng = RNG(26)
    frame = pd.DataFrame({
        "crp_d0": rng.lognormal(3, 0.5, 80).round(1), "crp_d3": rng.lognormal(2.6, 0.5, 80).round(1), "LOS days": rng.exponential(9, 80),
        "died": rng.integers(0, 2, 80),
    })  # fmt: skip
    assert found(frame).survival == {}
    assert found(frame.assign(months=rng.exponential(20, 80))).survival["time"] == "months"


def mice(named: str) -> pd.DataFrame:
    """Simulated: four mice in each of twelve cages, of both sexes, watched until they died or for 14 days."""
    rng, n = np.random.default_rng(6), 48
    day = np.minimum(rng.geometric(0.15, n) + 1, 14)
    return pd.DataFrame(
        {named: [f"m{at}" for at in range(1, n + 1)], "grp": np.repeat(["veh", "KX10", "KX30"], 16),
         "sex": ["M", "F"] * 24, "cage": [f"c{1 + at // 4}" for at in range(n)], "day_end": day,
         "died": (day < 14).astype(int)}
    )  # fmt: skip


def test_animals_of_a_cage_are_no_occasions_of_it():
    assert found(mice("mouse")).survival == {"time": "day_end", "event": "died", "event_value": "1"}
    assert found(mice("sample")).survival == {}  # rows may be samples of a cage


def test_weights_beside_the_time_of_death_hide_no_survival(tmp_path):
    frame = mice("mouse")
    rng = np.random.default_rng(7)
    for day in range(8):
        frame[f"wt_d{day}"] = np.where(frame["day_end"] > day, rng.normal(20, 1, 48).round(1), np.nan)
    frame.to_csv(tmp_path / "mice.csv", index=False)
    assert profile_file(tmp_path / "mice.csv").types[0].type is DataType.SURVIVAL_TABLE


def test_what_codes_stand_for_says_which_column_is_the_end(tmp_path):
    draw = np.random.default_rng(4)
    rows = [[f"P{k:03d}", int(draw.integers(0, 2)), int(draw.integers(40, 80)), round(draw.uniform(1, 60), 1), int(draw.integers(0, 2))]
            for k in range(60)]  # fmt: skip
    table = pd.DataFrame(rows, columns=["pat", "tx", "age", "fu_mo", "fin"])
    codes = [["tx", 0, "standard care"], ["tx", 1, "new drug"], ["fin", 0, "alive at last contact"], ["fin", 1, "died"]]
    with pd.ExcelWriter(tmp_path / "cohort.xlsx") as book:
        table.to_excel(book, sheet_name="data", index=False)
        pd.DataFrame(codes, columns=["variable", "code", "meaning"]).to_excel(book, sheet_name="codes", index=False)
    table.to_csv(tmp_path / "cohort.csv", index=False)
    told, bare = (profile_file(tmp_path / name) for name in ("cohort.xlsx", "cohort.csv"))
    assert told.structure.survival == {"time": "fu_mo", "event": "fin", "event_value": "1"}
    assert not bare.structure.survival
