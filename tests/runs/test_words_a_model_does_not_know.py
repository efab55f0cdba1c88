"""Which words count as unknown, read off token strings, and what that does to "above chance"."""

from __future__ import annotations

import pytest

from gym.runs.core.against_chance import Tails, against_chance
from gym.runs.core.coverage import LOW_COVERAGE, coverage_of, coverage_words

BPE = 50_257


def tokens(*rows):
    """[spelling, start, end] as a run stores tokens."""
    return [[spelling, 0, start, end, 1.0, 0, False] for spelling, start, end in rows]


def unknown(text, *rows, vocabulary_size=BPE):
    return coverage_of([(text, tokens(*rows))], vocabulary_size=vocabulary_size).unknown


def test_a_word_that_became_the_unknown_token():
    assert unknown("The dax slept.", ("The", 0, 3), ("<unk>", 4, 7), ("slept", 8, 13), (".", 13, 14)) == (
        "dax",
    )
    assert unknown("The dax", ("[CLS]", 0, 0), ("the", 0, 3), ("[UNK]", 4, 7), ("[SEP]", 7, 7)) == ("dax",)
    assert unknown("dogs UNK", ("UNK-LC-s", 0, 4), ("UNK", 5, 8)) == ("dogs",)


def test_a_word_of_single_bytes_and_none_with_a_merge():
    split = (("The", 0, 3), ("Ġz", 3, 5), ("q", 5, 6), ("x", 6, 7))
    assert unknown("The zqx", *split) == ("zqx",)
    assert unknown("The zqx", ("The", 0, 3), ("Ġzq", 3, 6), ("x", 6, 7)) == ()


def test_one_letter_words_and_figures_are_known():
    assert (
        unknown("I a 2024", ("I", 0, 1), ("Ġa", 1, 3), *[(d, 4 + k, 5 + k) for k, d in enumerate("2024")])
        == ()
    )


def test_bytes_of_one_letter_and_letters_that_are_tokens():
    assert unknown("ʘ ok", ("Ê", 0, 1), ("ĺ", 0, 1), ("Ġok", 1, 4)) == ("ʘ",)
    assert unknown("語 ok", ("<0xE8>", 0, 1), ("<0xAA>", 0, 1), ("<0x9E>", 0, 1), ("▁ok", 1, 4)) == ("語",)
    assert unknown("пир", ("▁п", 0, 1), ("и", 1, 2), ("р", 2, 3)) == ()  # letters of the vocabulary, no bytes


def test_ideographs_are_words_of_their_own():
    found = coverage_of(
        [("猫が鱻", tokens(("猫", 0, 1), ("が", 1, 2), ("[UNK]", 2, 3)))], vocabulary_size=BPE
    )
    assert (found.n_words, found.unknown) == (3, ("鱻",))


def test_a_model_of_characters_spells_every_word():
    letters = [(letter, k, k + 1) for k, letter in enumerate("keys")]
    assert unknown("keys", *letters, vocabulary_size=384) == ()
    assert (
        unknown("keys", *letters, vocabulary_size=None) == ()
    )  # nothing longer than a letter: it tells by itself
    assert unknown("keys", *letters) == ("keys",)


def test_words_count_once_per_spelling_and_unknown_anywhere_is_unknown():
    first = "dax the", tokens(("d", 0, 1), ("a", 1, 2), ("x", 2, 3), ("Ġthe", 3, 7))
    later = "the dax", tokens(("the", 0, 3), ("Ġdax", 3, 7))
    found = coverage_of([first, later, later], vocabulary_size=BPE)
    assert (found.n_words, found.unknown) == (2, ("dax",))


def test_without_tokens_nothing_is_said():
    assert coverage_of([("The dax", [])]) is None
    assert coverage_words(None, None) == coverage_words(12, 0) == ""


def test_in_words():
    assert coverage_words(24, 9) == "coverage 62%: 9 words this model does not know"
    assert coverage_words(1000, 1) == "coverage 99%: 1 word this model does not know"


@pytest.mark.parametrize(
    ("coverage", "said"),
    [(None, "above"), (1.0, "above"), (LOW_COVERAGE, "above"), (LOW_COVERAGE - 0.01, "unknown-words")],
)
def test_low_coverage_takes_above_chance_away(coverage, said):
    assert against_chance(Tails(0.001, 1, 1), coverage=coverage) == said


def test_low_coverage_leaves_below_and_at():
    assert against_chance(Tails(1, 0.001, 0.001), coverage=0.1) == "below"
    assert against_chance(Tails(0.5, 0.6, 0.6), coverage=0.1) == "at"
