"""Recall: what is found, what is not, why, and that it stays right while episodes come, change and go."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence

import numpy as np
import pytest
from waiting import until

from engine.adapters.fakes import FrozenClock
from engine.domain.memory import Episode, RecalledEpisode
from engine.errors import ModelUnavailable, NotFoundError, UserError
from engine.memory.episodes import context
from engine.memory.episodes.memory import EpisodicMemory
from engine.memory.episodes.recalling import Recalling
from engine.memory.episodes.vectors import meaning_texts
from storage.memory.episodes_twin import EpisodesTwin

FIELDS = {
    "bird": "fledglings nestlings great tit breeding songbird illumination lamps light poles night offspring",
    "lupus": "lupus pbmc single cell doublets clusters libraries ambient",
    "dock": "docking vina ligands score celecoxib compounds",
    "reef": "coral reef bleaching heat summer warming whiten sea",
}


def meaning(texts: Sequence[str]) -> np.ndarray:
    """Stand in for a model: a direction for each subject, so that synonyms meet without sharing a word."""
    rows = []
    for text in texts:
        words = set(text.lower().replace(".", " ").replace(",", " ").replace(":", " ").split())
        row = [1.5 * len(words & set(subject.split())) for subject in FIELDS.values()]
        # The rest of a text's meaning is its own: unrelated texts are nearly at right angles.
        own = np.random.default_rng(zlib.crc32(text.encode(errors="replace"))).standard_normal(60)
        rows.append([*row, *(own / np.linalg.norm(own))])
    made = np.asarray(rows, dtype=np.float32)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def episode(episode_id: str, task: str, **fields: object) -> Episode:
    return Episode.model_validate({"id": episode_id, "at": "2026-01-01T00:00:00Z", "task": task, **fields})


EPISODES = [
    episode("tit", "Great tit breeding success near light poles", tools=["glmm"], domains=["ecology"],
            entities=["Parus major", "ALAN"], lessons="Model the zero inflation."),
    episode("pbmc", "PBMC of 12 lupus patients: doublets, clusters", tools=["scanpy", "scrublet"],
            domains=["single_cell", "immunology"], entities=["SLE", "IFI44L"], result_summary="22 labels."),
    episode("pbmc2", "second batch of lupus PBMC", tools=["scanpy"], domains=["single_cell", "immunology"],
            entities=["SLE"], success=False, lessons="Barcodes were reversed."),
    episode("dock", "12 analogues docked into 5KIR", tools=["vina"], domains=["structural_biology"],
            entities=["PTGS2", "5KIR", "celecoxib"], result_summary="Redocking RMSD 0.8 A, r 0.41 with R47H."),
    episode("reef", "coral bleaching and degree heating weeks", tools=["lme4"], domains=["marine_biology"],
            entities=["DHW"], at="2020-01-01T00:00:00Z"),
]  # fmt: skip


def memory(embed: object = meaning, episodes: Sequence[Episode] = EPISODES) -> Recalling:
    made = Recalling(EpisodicMemory(EpisodesTwin()), embed=embed)  # pyright: ignore[reportArgumentType]
    made.memory.add(*episodes)
    return made


def ids(memory: Recalling, query: str, **options: object) -> list[str]:
    return [item.episode.id for item in memory.recall(query, **options).episodes]  # pyright: ignore[reportArgumentType]


def test_a_paraphrase_without_a_shared_word_is_found_by_meaning() -> None:
    query = "songbird offspring under lamps at night"
    found = memory().recall(query)
    assert found.episodes[0].episode.id == "tit"
    assert found.episodes[0].signals.fingerprint == 0.0
    assert found.episodes[0].signals.semantic > 0.5
    assert "close in meaning" in found.episodes[0].why
    assert found.notes == []
    assert "tit" not in ids(memory(embed=None), query)


@pytest.mark.parametrize("query", ["5KIR", "5kir", "what about PTGS2?", "celecoxib"])
def test_bare_identifiers_are_found_without_vectors_too(query: str) -> None:
    for embed in (meaning, None):
        found = memory(embed).recall(query)
        assert found.episodes[0].episode.id == "dock"
        assert found.episodes[0].signals.entities > 0.5
        assert "Mentions" in found.episodes[0].why
    assert ids(memory(), "p.R47H")[0] == "dock"  # an identifier of the result text, in another spelling


@pytest.mark.parametrize(
    "query",
    ["rs429358", "ENSG00000141510", "Raman spectra of bone biopsies", "waggle dance of honey bees", "the of and"],
)
def test_nothing_is_recalled_when_nothing_fits(query: str) -> None:
    for embed in (meaning, None):
        assert memory(embed).recall(query).episodes == []
        assert memory(embed).recall(query, explain=True).episodes == []


def test_an_empty_memory_recalls_nothing() -> None:
    empty = memory(episodes=[])
    assert empty.recall("TP53").episodes == []
    assert empty.context("TP53").text == ""


def test_without_vectors_the_answer_says_so() -> None:
    assert "paraphrases may be missed" in memory(embed=None).recall("lupus pbmc doublets").notes[0]

    def broken(texts: Sequence[str]) -> np.ndarray:
        raise ModelUnavailable("The model's files are missing.")

    found = memory(embed=broken).recall("lupus pbmc doublets")
    assert found.episodes[0].episode.id == "pbmc"
    assert "The model's files are missing." in found.notes[0]


def test_a_model_that_gives_nonsense_is_not_used() -> None:
    for nonsense in (np.zeros((1, 4)), np.full((10, 4), np.nan)):
        found = memory(embed=lambda texts, made=nonsense: made).recall("lupus pbmc doublets")
        assert found.episodes[0].episode.id == "pbmc"
        assert "embedding model gave" in found.notes[0]


def test_success_filter_and_hints() -> None:
    assert set(ids(memory(), "lupus pbmc clusters")) >= {"pbmc", "pbmc2"}
    assert ids(memory(), "lupus pbmc clusters", success=False) == ["pbmc2"]
    assert "pbmc2" not in ids(memory(), "lupus pbmc clusters", success=True)
    plain = memory().recall("lupus").episodes[0]
    hinted = memory().recall("lupus", domains=["Single-cell"], tools=["scrublet"]).episodes[0]
    assert hinted.episode.id == "pbmc"
    assert hinted.signals.domains == 1.0
    assert hinted.signals.tools == 1.0
    assert hinted.score > plain.score
    assert "scrublet" in hinted.why


def test_top_and_least_relevance_limit_what_comes() -> None:
    assert len(ids(memory(), "lupus pbmc", top=1)) == 1
    assert ids(memory(), "lupus pbmc doublets", min_relevance=1.0) == []
    scores = [item.score for item in memory().recall("lupus pbmc", min_relevance=0.0, top=10).episodes]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@pytest.mark.parametrize("options", [{"top": 0}, {"min_relevance": 1.5}, {"min_relevance": -0.1}])
def test_options_out_of_range_are_named(options: dict[str, float]) -> None:
    with pytest.raises(UserError, match=str(next(iter(options.values())))):
        memory().recall("lupus", **options)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("query", ["", "   \n"])
def test_an_empty_query_is_refused(query: str) -> None:
    with pytest.raises(UserError, match="empty"):
        memory().recall(query)


def test_a_very_long_or_strange_query_is_answered() -> None:
    assert ids(memory(), "lupus pbmc doublets " * 3_000)[0] == "pbmc"
    for strange in ("((((", "\x00\x01", "🧬🧬", "a" * 50_000, "--- ::: 12 0.5", "\ud800"):
        memory().recall(strange)


def test_changes_show_at_once() -> None:
    remembered = memory()
    assert ids(remembered, "kdr Anopheles insecticide") == []
    remembered.memory.add(episode("kdr", "kdr allele frequencies in Anopheles and insecticide", entities=["Anopheles"]))
    assert ids(remembered, "kdr Anopheles insecticide") == ["kdr"]
    remembered.memory.edit("kdr", lessons="  Sample every village.  ")
    assert remembered.memory.episode("kdr").lessons == "Sample every village."
    assert remembered.memory.episode("kdr").task.startswith("kdr allele")
    assert ids(remembered, "sample every village")[0] == "kdr"
    remembered.memory.forget("kdr")
    assert ids(remembered, "kdr Anopheles insecticide") == []
    for action in (remembered.memory.forget, remembered.memory.pin, remembered.memory.episode):
        with pytest.raises(NotFoundError, match="'kdr'"):
            action("kdr")
    with pytest.raises(NotFoundError):
        remembered.memory.edit("kdr", lessons="x")


def test_what_others_stored_is_seen_after_a_refresh() -> None:
    store = EpisodesTwin()
    remembered = Recalling(EpisodicMemory(store), embed=meaning)
    assert ids(remembered, "celecoxib") == []
    store.save(EPISODES)
    remembered.memory.refresh()
    assert ids(remembered, "celecoxib") == ["dock"]


def test_many_changes_leave_the_index_as_if_built_anew() -> None:
    remembered = memory()
    remembered.recall("warm")
    for turn in range(260):
        remembered.memory.edit("pbmc", lessons=f"turn {turn}")
        if turn % 50 == 0:
            remembered.recall("lupus")
    fresh = memory(episodes=[*EPISODES[:1], remembered.memory.episode("pbmc"), *EPISODES[2:]])
    for query in ("lupus pbmc", "songbird at night", "5KIR", "turn 259"):
        old = {item.episode.id: item.score for item in remembered.recall(query).episodes}
        new = {item.episode.id: item.score for item in fresh.recall(query).episodes}
        assert old == pytest.approx(new, abs=0.05)
    assert remembered.memory._index is not None
    assert len(remembered.memory._index) < 250


def test_a_pin_prefers_but_never_makes_relevant() -> None:
    twins = [episode(name, "lupus pbmc doublets in the clinic", domains=["immunology"]) for name in ("one", "two")]
    remembered = memory(episodes=[*twins, *EPISODES[3:]])
    assert ids(remembered, "lupus pbmc doublets")[:2] == ["one", "two"]
    remembered.memory.pin("two")
    assert ids(remembered, "lupus pbmc doublets")[:2] == ["two", "one"]
    assert ids(remembered, "5KIR") == ["dock"]
    assert not remembered.memory.pin("two", pinned=False).pinned
    assert ids(remembered, "lupus pbmc doublets")[:2] == ["one", "two"]


def test_what_was_marked_as_wrong_is_kept_and_not_recalled() -> None:
    twins = [episode(name, "lupus pbmc doublets in the clinic", domains=["immunology"]) for name in ("one", "two")]
    remembered = memory(episodes=[*twins, *EPISODES[3:]])
    remembered.memory.doubt("one")
    assert "one" not in ids(remembered, "lupus pbmc doublets")
    assert "two" in ids(remembered, "lupus pbmc doublets")
    remembered.memory.doubt("two")
    assert {"one", "two"}.isdisjoint(ids(remembered, "lupus pbmc doublets"))
    assert {"one", "two"} <= {found.id for found in remembered.memory.episodes()}
    remembered.memory.doubt("one", wrong=False)
    assert "one" in ids(remembered, "lupus pbmc doublets")


def test_age_breaks_ties_and_never_closes_the_gate() -> None:
    old = episode("old", "lupus pbmc doublets", at="1990-01-01T00:00:00Z")
    new = episode("new", "lupus pbmc doublets", at="2026-06-01T00:00:00Z")
    odd = episode("odd", "lupus pbmc doublets", at="some day")
    remembered = memory(episodes=[old, new, odd])
    # A time that cannot be read counts as no age at all.
    assert ids(remembered, "lupus pbmc doublets", at="2026-06-02T00:00:00Z") == ["odd", "new", "old"]
    scores = {item.episode.id: item.score for item in remembered.recall("lupus pbmc doublets").episodes}
    assert scores["old"] == scores["new"]


def test_listing_searches_all_words_and_sorts_by_time() -> None:
    remembered = memory()
    assert [e.id for e in remembered.memory.episodes()][-1] == "reef"
    assert {e.id for e in remembered.memory.episodes("LUPUS pbmc")} == {"pbmc", "pbmc2"}
    assert remembered.memory.episodes("lupus 5kir") == []
    assert len(remembered.memory.episodes(limit=2)) == 2
    remembered.recall("x")
    assert {e.id for e in remembered.memory.episodes("scrublet")} == {"pbmc"}


def test_threads_recall_while_others_add() -> None:
    remembered = memory()
    failures: list[BaseException] = []

    def add(start: int) -> None:
        for number in range(start, start + 25):
            remembered.memory.add(
                episode(f"new{number}", f"docking run {number} of ligands", entities=[f"LIG{number}"])
            )

    def recall() -> None:
        for _ in range(40):
            try:
                assert ids(remembered, "5KIR celecoxib")[0] == "dock"
            except BaseException as error:
                failures.append(error)

    threads = [threading.Thread(target=add, args=(n * 100,)) for n in range(2)]
    threads += [threading.Thread(target=recall) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert ids(remembered, "LIG124")[0] == "new124"


def test_each_episode_is_embedded_once() -> None:
    seen: list[str] = []

    def counting(texts: Sequence[str]) -> np.ndarray:
        seen.extend(texts)
        return meaning(texts)

    remembered = Recalling(EpisodicMemory(EpisodesTwin()), embed=counting, embed_query=meaning)
    remembered.memory.add(*EPISODES)
    remembered.warm()
    for query in ("lupus", "5KIR"):
        remembered.recall(query)
    assert {text for e in EPISODES for text in meaning_texts(e)} <= set(seen)
    assert len(seen) == len(set(seen))
    assert "celecoxib" in seen
    assert "5KIR" not in seen  # an identifier is equal or not


# ==== the planner's text ====


def test_the_context_names_what_the_planner_needs() -> None:
    told = memory().context("lupus pbmc doublets and clusters", top=2)
    assert told.text.startswith(context.HEADING)
    assert "1. PBMC of 12 lupus patients: doublets, clusters [pbmc, relevance " in told.text
    assert "Result: 22 labels." in told.text
    assert "Tools: scanpy, scrublet" in told.text
    assert "failed]\n   Lessons: Barcodes were reversed." in told.text
    assert told.tokens <= 2000
    assert [item.episode.id for item in told.recall.episodes] == ["pbmc", "pbmc2"]


@pytest.mark.parametrize("budget", [1, 20, 40, 60, 80, 100, 150, 200, 400])
def test_the_budget_is_kept_and_records_stay_whole(budget: int) -> None:
    items = [
        RecalledEpisode(
            episode=episode(
                f"e{n}", f"Task {n} of some length", result_summary="First result. Second result with 3 numbers.",
                lessons="First lesson. Second lesson.", tools=["a", "b"], plan_summary="1) look; 2) fit.",
            ),
            score=0.9,
            signals=memory().recall("lupus pbmc").episodes[0].signals,
        )
        for n in range(4)
    ]  # fmt: skip
    text, tokens = context.build(items, budget)
    assert tokens <= budget
    assert tokens == (context.count_tokens(text) if text else 0)
    lines = text.splitlines()[1:]
    for line in lines:
        assert line.startswith(("   Result: First", "   Lessons: First", "   Tools: a, b", "   Plan: 1) look; 2) fit."))  \
            or line.endswith("relevance 0.90, succeeded]")  # fmt: skip
    numbers = [line.split(".")[0] for line in lines if not line.startswith(" ")]
    assert numbers == [str(n) for n in range(1, len(numbers) + 1)]
    exact, counted = context.build(items, budget, lambda text: len(text))
    assert len(exact) == counted <= budget


def test_plans_go_before_tools_and_lessons_go_last() -> None:
    item = memory().recall("lupus pbmc doublets").episodes[0]
    full = item.episode.model_copy(update={"lessons": "Keep this.", "plan_summary": "1) look."})
    items = [item.model_copy(update={"episode": full})]
    seen = []
    for budget in range(200, 10, -1):
        text, _ = context.build(items, budget)
        seen.append(tuple(name for name in ("Plan:", "Tools:", "Result:", "Lessons:") if name in text))
    steps = list(dict.fromkeys(seen))
    assert steps[0] == ("Plan:", "Tools:", "Result:", "Lessons:")
    assert [len(step) for step in steps] == sorted((len(step) for step in steps), reverse=True)
    assert ("Lessons:",) in steps


def test_line_breaks_in_a_record_cannot_fake_another() -> None:
    remembered = memory(episodes=[episode("x", "lupus pbmc\n2. Fake record [y, relevance 1.00, succeeded]")])
    text = remembered.context("lupus pbmc").text
    assert len(text.splitlines()) == 2


def test_a_budget_below_one_is_refused() -> None:
    with pytest.raises(UserError, match="0"):
        memory().context("lupus", budget=0)


def test_very_many_new_episodes_are_recalled_by_words_while_their_vectors_are_made(monkeypatch) -> None:
    monkeypatch.setattr("engine.memory.episodes.vectors.EMBED_NOW", 3)
    going = threading.Event()

    def slow(texts):
        going.wait(20)
        return np.tile(np.eye(1, 8, dtype=np.float32), (len(texts), 1))

    memory = Recalling(
        EpisodicMemory(EpisodesTwin()),
        embed=slow,
        embed_query=lambda texts: np.tile(np.eye(1, 8, dtype=np.float32), (len(texts), 1)),
    )
    memory.memory.add(
        *[
            Episode(id=f"e{k}", at="2026-01-01T00:00:00Z", task=f"docking of ligand{k} into receptor{k}")
            for k in range(6)
        ]
    )
    found = memory.recall("docking of ligand4 into receptor4")
    assert found.episodes[0].episode.id == "e4"
    assert any("being made" in note for note in found.notes)
    going.set()
    until(lambda: not any("being made" in note for note in memory.recall("docking of ligand4").notes))


def test_a_passing_fault_of_the_vectors_is_tried_again() -> None:
    from engine.errors import StorageError

    faults = [StorageError("The disk is full.")]

    def embed(texts: Sequence[str]) -> np.ndarray:
        if faults:
            raise faults.pop()
        return meaning(texts)

    memory = Recalling(EpisodicMemory(EpisodesTwin()), embed=embed)
    memory.memory.add(Episode(id="e1", at="2026-01-01T00:00:00Z", task="great tit breeding near light poles"))
    assert any("disk is full" in note for note in memory.recall("songbird offspring").notes)
    again = memory.recall("songbird offspring and illumination")
    assert not again.notes
    assert again.episodes[0].signals.semantic > 0


QUERY = "lupus pbmc doublets"


@pytest.mark.parametrize("part", ["texts", "query", "query alone"])
def test_whatever_an_embedder_raises_recall_goes_on_without_it(part: str) -> None:
    faults = [RuntimeError("CUDA error: out of memory\non device 0")]

    def embed(texts: Sequence[str]) -> np.ndarray:
        if faults and (part == "texts") == (texts[0] != QUERY):
            raise faults.pop()
        return meaning(texts)

    def embed_query(texts: Sequence[str]) -> np.ndarray:
        return embed(texts)

    remembered = Recalling(
        EpisodicMemory(EpisodesTwin()), embed=embed, embed_query=embed_query if "alone" in part else None
    )
    remembered.memory.add(*EPISODES)
    found = remembered.recall(QUERY)
    assert found.episodes[0].episode.id == "pbmc"
    assert "failed (RuntimeError: CUDA error: out of memory on device 0)" in found.notes[0]
    again = remembered.recall("songbird offspring under lamps at night")
    assert again.notes == []
    assert again.episodes[0].episode.id == "tit"


def test_warming_up_outlives_an_embedder_that_fails() -> None:
    def broken(texts: Sequence[str]) -> np.ndarray:
        raise RuntimeError("no device")

    memory(embed=broken).warm()


def test_listing_goes_by_the_moment_whatever_its_time_zone_and_puts_pinned_ones_first() -> None:
    times = {
        "early": "2026-01-02T00:30:00+02:00",  # 22:30 of the day before in UTC
        "late": "2026-01-01T23:45:00Z",
        "odd": "some day",
        "naive": "2026-01-01T23:00:00",
        "old": "2020-01-01T00:00:00Z",
    }
    remembered = memory(episodes=[episode(name, name, at=at) for name, at in times.items()])
    assert [e.id for e in remembered.memory.episodes()] == ["late", "naive", "early", "old", "odd"]
    remembered.memory.pin("old")
    listed = [e.id for e in remembered.memory.episodes()]
    assert listed == ["old", "late", "naive", "early", "odd"]
    pages = [remembered.memory.episodes(limit=2, offset=start) for start in (0, 2, 4, 6, -3)]
    assert [[e.id for e in page] for page in pages] == [listed[:2], listed[2:4], listed[4:], [], listed[:2]]
    assert remembered.memory.count() == 5


def test_a_change_says_when_it_was_made() -> None:
    clock = FrozenClock()
    remembered = Recalling(EpisodicMemory(EpisodesTwin(), clock))
    remembered.memory.add(episode("e1", "lupus"))
    assert remembered.memory.episode("e1").updated == ""
    clock.advance(60)
    assert remembered.memory.pin("e1").updated == clock.now()
    clock.advance(60)
    assert remembered.memory.pin("e1").updated != clock.now()  # nothing changed
    assert remembered.memory.edit("e1", lessons="Look twice.").updated == clock.now()


def test_the_order_of_what_is_recalled_is_explained_where_the_relevance_alone_does_not() -> None:
    task = "lupus pbmc doublets"
    old = episode("old", f"{task} clinic", at="1990-01-01T00:00:00Z", domains=["immunology"])
    new = episode("new", f"{task} and more of the other things", at="2026-06-01T00:00:00Z")
    pinned = episode("pinned", f"{task} in a wholly different setting of many words", pinned=True)
    remembered = memory(episodes=[old, new, pinned, *EPISODES[3:]])
    seen = []
    for query in (task, "lupus", "lupus pbmc doublets clinic", "5KIR"):
        found = remembered.recall(query, at="2026-06-02T00:00:00Z", min_relevance=0.25, explain=True)
        orders = [item.order for item in found.episodes]
        scores = [item.score for item in found.episodes]
        assert orders == sorted(orders, reverse=True)
        told = [f"Placed by {item.order:.4f}: relevance {item.score:.4f}" in item.why for item in found.episodes]
        assert all(told) if scores != sorted(scores, reverse=True) else not any(told)
        seen += told
        for item in found.episodes:
            assert -0.0201 <= item.order - item.score - (0.05 if item.episode.pinned else 0) <= 1e-4
            assert ("for its pin" in item.why) <= item.episode.pinned
    assert any(seen)
    assert not all(seen)


def test_the_context_lists_only_the_episodes_it_tells_of() -> None:
    remembered = memory()
    none = remembered.context("lupus pbmc doublets and clusters", budget=5)
    assert (none.text, none.told) == ("", [])
    assert len(none.recall.episodes) >= 2
    assert any("budget of 5 tokens has room for 0 of the" in note for note in none.recall.notes)
    recalled = [item.episode.id for item in none.recall.episodes]
    for budget in (*range(1, 200, 7), 1000):
        given = remembered.context("lupus pbmc doublets and clusters", budget=budget)
        assert given.told == recalled[: len(given.told)]
        assert given.told == [name for name in recalled if f"[{name}, relevance " in given.text]
        assert bool(given.recall.notes) == (given.told != recalled)
    assert remembered.context("lupus pbmc doublets and clusters").told == recalled


def test_an_id_that_is_a_whole_text_is_shortened_in_the_message() -> None:
    for action in (memory().memory.episode, memory().memory.forget, memory().memory.pin):
        with pytest.raises(NotFoundError) as refused:
            action("x" * 300_000)
        assert len(refused.value.message) < 200
        assert "300,000 signs" in refused.value.message


def test_lessons_on_a_tool_come_newest_first_once_and_not_from_what_is_marked_as_wrong() -> None:
    def taught(name: str, at: str, *lessons: str, **fields: object) -> Episode:
        steps = [{"tool": "fit", "lessons": list(lessons)}, {"tool": "other", "lessons": ["Elsewhere."]}]
        return episode(name, "t", at=at, steps=steps, **fields)

    made = EpisodicMemory(EpisodesTwin())
    made.add(
        taught("a", "2026-01-01T00:00:00Z", "Old."),
        taught("b", "2026-01-03T00:00:00Z", "New.", "Old."),
        taught("c", "2026-01-04T00:00:00Z", "Wrong.", doubted=True),
    )
    assert made.lessons_on("fit") == ["New.", "Old."]
    assert made.lessons_on("fit", most=1) == ["New."]
    assert made.lessons_on("none") == []
