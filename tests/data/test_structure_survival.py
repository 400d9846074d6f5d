"""Times to an event found from values: which event, which clock, and states that began while subjects were watched."""

import numpy as np
import pandas as pd

from engine.data.structure.rows import look


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
