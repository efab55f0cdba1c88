"""Which characters of a sentence each token covers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.engine.token_alignment import (
    MAX_STEPS,
    MAX_STEPS_OF_FILE,
    SearchBudget,
    TokenAlignmentError,
    align_tokens,
)
from lmgym.models.engine.token_rules import TokenRules, read_spec
from lmgym.text.problems import FormatError

PLAIN = TokenRules(
    prefix=frozenset({"<s>"}), suffix=frozenset({"</s>"}), unknown=frozenset({"<unk>"}), moses=False
)


def read(text: str, tokens: str, rules: TokenRules = PLAIN) -> list[str]:
    """Return the text that each token covers; “*” for special tokens."""
    return ["*" if s.special else text[s.start : s.end] for s in align_tokens(text, tokens.split(), rules)]


@pytest.mark.parametrize(
    ("text", "tokens", "found"),
    [
        ("The cat runs .", "<s> The cat runs . </s>", ["*", "The", "cat", "runs", ".", "*"]),
        ("The cat runs.", "The Ġcat Ġruns .", ["The", "cat", "runs", "."]),
        ("The cat", "▁The ▁c at", ["The", "c", "at"]),
        ("a sentence", "a sen ##tence", ["a", "sen", "tence"]),
        ("a sentence", "a sen@@ tence", ["a", "sen", "tence"]),
        ("naïve café", "na Ã¯ ve ĠcafÃ ©", ["na", "ï", "ve", "café", "é"]),
        ("x girl that that", "x <unk> that that", ["x", "girl", "that", "that"]),
        ("will remand and order", "will <unk> and order", ["will", "remand", "and", "order"]),
        ("A B that", "<unk> <unk> that", ["A", "B", "that"]),
        ("Fred's cat", "<unk> 's cat", ["Fred", "'s", "cat"]),
        ("ends oddly", "ends <unk>", ["ends", "oddly"]),
        ("oui\u00a0; non", "oui Âł ; Ġnon", ["oui", "\u00a0", ";", "non"]),
        ("oui\u00a0; non", "oui ; non", ["oui", ";", "non"]),
    ],
)
def test_every_spelling_finds_its_characters(text, tokens, found):
    assert read(text, tokens) == found


def test_an_uncased_unknown_word_does_not_take_its_neighbours_region():
    rules = TokenRules(cased=False, unknown=frozenset({"<unk>"}))
    assert read("QQQ IRS said", "<unk> irs said", rules) == ["QQQ", "IRS", "said"]


def test_moses_and_treebank_spellings_are_read():
    rules = TokenRules(moses=True)
    text = 'well-known - 5,000 "yes" (no) & so'
    tokens = "well @-@ known - 5 @,@ 000 `` yes '' -LRB- no -RRB- &amp; so"
    assert "".join(read(text, tokens, rules)) == text.replace(" ", "")
    assert read("a–b", "a @-@ b", rules) == ["a", "–", "b"]


def test_start_end_and_unknown_may_be_one_token():
    rules = TokenRules(prefix=frozenset({"#"}), suffix=frozenset({"#"}), unknown=frozenset({"#"}))
    assert read("The zyx", "# The # #", rules) == ["*", "The", "zyx", "*"]


def test_characters_the_tokenizer_drops_are_passed_over():
    rules = TokenRules(dropped=lambda character: character in ".,")
    assert read("Well , the bird .", "Well the bird", rules) == ["Well", "the", "bird"]
    with pytest.raises(TokenAlignmentError, match=r"the tokens end before “\.”"):
        read("the bird .", "the bird")


@pytest.mark.parametrize(
    ("tokens", "reason"),
    [
        ("The dog", "token 2, “dog”, does not match at “cat”"),
        ("The", "the tokens end before “cat”"),
        ("The cat sat", "token 3, “sat”, does not match at the end of the sentence"),
    ],
)
def test_what_does_not_fit_is_said(tokens, reason):
    with pytest.raises(TokenAlignmentError, match=reason):
        read("The cat", tokens)


def test_a_hopeless_sentence_gives_up_in_time():
    rules = TokenRules(unknown=frozenset({"<unk>"}))
    budget = SearchBudget()
    for _ in range(3):
        with pytest.raises(TokenAlignmentError, match="too many ways"):
            align_tokens("a" * 2000, ["<unk>"] * 1000 + ["b"], rules, budget=budget)
    assert budget.left == MAX_STEPS_OF_FILE - 3 * (MAX_STEPS + 1)
    budget.left = 0
    with pytest.raises(TokenAlignmentError, match="too many ways"):
        align_tokens("a b", ["a", "b"], rules, budget=budget)


@given(st.lists(st.text("abcé", min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_any_cut_of_any_sentence_is_found_again(words, data):
    text = " ".join(words)
    tokens = []
    for word in words:
        cut = data.draw(st.integers(0, len(word) - 1))
        tokens += [piece for piece in (word[:cut], word[cut:]) if piece]
    steps = align_tokens(text, tokens, TokenRules())
    assert [text[step.start : step.end] for step in steps] == tokens


@pytest.mark.parametrize("pattern", ["(a+)+$", "^(.*)*$", "[a-", "x|y"])
def test_a_pattern_that_could_take_forever_is_refused(pattern):
    import json

    spec = {
        "vocabulary": {f"{key}_types": [] for key in ("unk", "prefix", "suffix", "special")},
        "tokenizer": {"cased": True, "drop_token_pattern": pattern},
    }
    with pytest.raises(FormatError, match="not supported"):
        read_spec(json.dumps(spec).encode())
    spec["tokenizer"]["drop_token_pattern"] = "^[-.?!,]+$"
    rules = read_spec(json.dumps(spec).encode())
    assert rules.dropped("?")
    assert not rules.dropped("a")
