"""Which words count as unknown, judging by token strings, and the effect on "above chance"."""

from __future__ import annotations

import pytest
from tokenizers import Tokenizer

from gym.demo.catalogue import MODELS_DIR, SUITES_DIR
from lmgym.runs.against_chance import Tails, against_chance
from lmgym.runs.coverage import LOW_COVERAGE, coverage_of, coverage_share, coverage_words, is_low

BPE = 50_257


def tokens(*rows):
    """Return tokens as stored by a run, from [spelling, start, end]."""
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
    )  # no token is longer than a letter, which is conclusive
    assert unknown("keys", *letters) == ("keys",)


def test_words_count_once_per_spelling_and_unknown_anywhere_is_unknown():
    first = "dax the", tokens(("d", 0, 1), ("a", 1, 2), ("x", 2, 3), ("Ġthe", 3, 7))
    later = "the dax", tokens(("the", 0, 3), ("Ġdax", 3, 7))
    found = coverage_of([first, later, later], vocabulary_size=BPE)
    assert (found.n_words, found.unknown) == (2, ("dax",))


def cut(*words):
    """Return (text, tokens) of words with dots between their pieces: h·or·se."""
    rows, at = [], 0
    for word in words:
        for k, piece in enumerate(word.split("·")):
            begin = at - (k == 0 and at > 0)  # the blank before a word belongs to its first piece
            rows.append((piece, begin, at + len(piece)))
            at += len(piece)
        at += 1
    return " ".join(words).replace("·", ""), tokens(*rows)


TEN = ["the", "sleeps", "near", "that", "river", "under", "old", "bridge", "every", "night"]
"""Words of one token each."""


def spelling(*words):
    return coverage_of([cut(*words)], vocabulary_size=BPE).spelling


def test_more_than_a_tenth_of_the_words_in_pieces_of_two_letters_is_spelled():
    found = coverage_of([cut(*TEN[2:], "h·or·se", "d·og", "thr·ough")], vocabulary_size=BPE)
    assert (found.spelling.n_words, found.spelling.n_short, found.spelling.is_in_pieces) == (11, 2, True)
    assert found.unknown == ("horse", "dog", "through")
    assert is_low(coverage_share(found.n_words, found.n_unknown))


def test_a_tenth_of_the_words_is_not_spelled_and_then_all_are_known():
    found = coverage_of([cut(*TEN[:9], "h·or·se")], vocabulary_size=BPE)
    assert (found.spelling.short_share, found.unknown) == (0.1, ())
    assert found.spelling.words == ""


def test_more_than_one_and_eight_tenths_pieces_a_word_is_spelled():
    pairs = ["hor·ses", "bar·ley", "ket·tle", "pur·ple", "sil·ver", "gar·den", "win·dow", "can·dle"]
    found = coverage_of([cut(*pairs, "the", "old")], vocabulary_size=BPE)
    assert (found.spelling.pieces_per_word, found.spelling.is_in_pieces) == (1.8, False)
    found = coverage_of([cut(*pairs, "the", "old", "mar·ket")], vocabulary_size=BPE)
    assert (found.spelling.n_short, found.spelling.is_in_pieces) == (0, True)
    assert found.unknown[-1] == "market"
    assert found.spelling.words == (
        "Spelled in pieces: 1.8 pieces per word; 0% of the words consist only of pieces of one or two letters. "
        "Above 1.8 "
        "pieces per word (of fewer than 3.25 letters each) or 10% of such words, every word in two pieces or more "
        "counts as unknown."
    )


def test_long_words_in_long_pieces_are_not_spelled():
    stems = ["talo", "kirja", "vene", "katu", "puisto", "silta", "meri", "kaupunki", "metsä", "joki"]
    words = [f"{stem}·issa·mme" for stem in stems]
    assert (spelling(*words).pieces_per_word, spelling(*words).is_in_pieces) == (3.0, False)


@pytest.mark.parametrize(
    "word",
    ["X·av·ie·r", "NA·TO", "B2·b", "19·84·s", "he·'s", "l·’·eau", "あ·げ·ら·れた", "ไป·ไหน"],
)  # fmt: skip
def test_names_acronyms_figures_clitics_and_scripts_without_blanks_are_not_counted(word):
    found = coverage_of([cut(*TEN, *(word for _ in range(4)), f"{word}·{word[-1]}")], vocabulary_size=BPE)
    assert (found.spelling.n_words, found.unknown) == (10, ())


def test_a_syllable_of_hangul_has_its_letters():
    words = [
        "학생·이",
        "선생·님·을",
        "학교·에",
        "책·을",
        "친구·가",
        "집·에",
        "물·을",
        "밥·을",
        "꽃·이",
        "길·에",
    ]
    assert spelling(*words).n_short == 0


def test_a_word_counts_where_it_has_the_fewest_pieces():
    rows = [cut(*TEN), cut("th·e", "sl·ee·ps", "ne·ar")]
    assert coverage_of(rows, vocabulary_size=BPE).spelling.n_pieces == 10


def test_from_few_words_and_from_a_model_of_characters_nothing_is_concluded():
    assert not spelling("h·or·se", "d·og", *TEN[:7]).is_in_pieces
    letters = ["·".join(word) for word in TEN]
    assert coverage_of([cut(*letters)], vocabulary_size=384).spelling.n_words == 0


def test_a_toy_tokenizer_spells_real_english_and_knows_its_own():
    tokenizer = Tokenizer.from_file(str(MODELS_DIR / "demo-gpt2" / "tokenizer.json"))

    def found(*texts):
        encoded = [(text, tokenizer.encode(text)) for text in texts]
        rows = [
            (text, [[s, i, *span] for s, i, span in zip(e.tokens, e.ids, e.offsets, strict=True)])
            for text, e in encoded
        ]
        return coverage_of(rows, vocabulary_size=tokenizer.get_vocab_size())

    real = found("The horse raced past the old barn fell.", "The soldier warned about hidden mines stopped.")
    assert real.spelling.is_in_pieces
    assert {"horse", "barn", "soldier"} <= set(real.unknown)
    own = found(*(SUITES_DIR.parent / "sentences.txt").read_text(encoding="utf-8").splitlines()[:40])
    assert (own.spelling.pieces_per_word, own.unknown) == (1.0, ())


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
    assert against_chance(Tails(0.001, 1, 1, 1), coverage=coverage) == said


def test_low_coverage_leaves_below_and_at():
    assert against_chance(Tails(1, 0.001, 0.001, 0.001), coverage=0.1) == "below"
    assert against_chance(Tails(0.5, 0.6, 0.6, 0.6), coverage=0.1) == "at"
