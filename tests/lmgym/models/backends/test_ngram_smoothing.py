"""The n-gram model compared with a slow textbook implementation, and properties of any language model."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lmgym.models.backends.ngram_model import BOS, EOS, FALLBACK_DISCOUNTS, UNK, NgramModel, train_ngram

STORIES = [
    "the cat sat on the mat .",
    "the dog sat on the cat .",
    "a dog saw the cat on a mat .",
    "the cat saw a dog .",
    "the dog saw the dog .",
    "a cat sat .",
    "the bird sang on the mat near the cat .",
    "a bird saw the dog on the mat .",
    "sat .",
    "the cat",
]


class Textbook:
    """Chen & Goodman (1998), section 3: recursive, over dictionaries, straight from the formulas."""

    def __init__(self, sentences: list[str], order: int, min_count: int) -> None:
        self.order = order
        lines = [sentence.split() for sentence in sentences]
        seen = Counter(word for line in lines for word in line)
        self.words = {word for word, count in seen.items() if count >= min_count}
        self.vocabulary = {*self.words, "<unk>", "</s>"}
        raw: dict[int, Counter[tuple[str, ...]]] = {n: Counter() for n in range(1, order + 1)}
        for line in lines:
            padded = ["<s>", *(self.known(word) for word in line), "</s>"]
            for n in raw:
                raw[n].update(tuple(padded[at : at + n]) for at in range(len(padded) - n + 1))
        self.counts: dict[int, Counter[tuple[str, ...]]] = {}
        for n in raw:
            if n == order:
                self.counts[n] = raw[n]
            else:
                self.counts[n] = Counter(gram[1:] for gram in raw[n + 1])
                for gram, count in raw[n].items():
                    if gram[0] == "<s>":
                        self.counts[n][gram] = count
        self.counts[1].pop(("<s>",), None)

    def known(self, word: str) -> str:
        return word if word in self.words else "<unk>"

    def discount(self, n: int, count: int) -> float:
        n1, n2, n3, n4 = (sum(c == k for c in self.counts[n].values()) for k in (1, 2, 3, 4))
        values = FALLBACK_DISCOUNTS
        if n1 and n2 and n3 and n4:
            y = n1 / (n1 + 2 * n2)
            candidates = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
            if all(0 < value <= k for k, value in enumerate(candidates, 1)):
                values = candidates
        return 0.0 if count == 0 else values[min(count, 3) - 1]

    def probability(self, word: str, context: tuple[str, ...]) -> float:
        context = context[len(context) - min(len(context), self.order - 1) :]
        n = len(context) + 1
        lower = 1 / len(self.vocabulary) if not context else self.probability(word, context[1:])
        following = {gram[-1]: count for gram, count in self.counts[n].items() if gram[:-1] == context}
        total = sum(following.values())
        if not total:
            return lower
        count = following.get(word, 0)
        left = sum(self.discount(n, c) for c in following.values())
        return (count - self.discount(n, count)) / total + left / total * lower


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("min_count", [1, 2])
def test_agrees_with_textbook(order: int, min_count: int) -> None:
    model, book = train_ngram(STORIES, order, min_count=min_count), Textbook(STORIES, order, min_count)
    assert set(model.words) == {*book.vocabulary, "<s>"}
    for text in [*STORIES, "the zebra sat on a bird .", "mat on mat on", ". . cat", "the"]:
        for start in ([], ["<s>"]):
            words = [*start, *(book.known(word) for word in text.split()), "</s>"]
            ids = [model.words.index(word) for word in words]
            for at in range(1, len(words)):
                mine = float(model.probabilities([ids[at]], [ids[:at]])[0])
                assert mine == pytest.approx(book.probability(words[at], tuple(words[:at])), rel=1e-12)


@given(
    st.lists(
        st.lists(st.sampled_from("abcde"), min_size=1, max_size=7).map(" ".join), min_size=1, max_size=25
    ),
    st.integers(1, 5),
    st.integers(1, 3),
    st.lists(st.integers(0, 7), max_size=6),
    st.booleans(),
)
def test_random_corpora(
    sentences: list[str], order: int, least: int, history: list[int], start: bool
) -> None:
    """For any corpus and context, probabilities sum to 1, none is 0, and all equal the textbook's."""
    model, book = train_ngram(sentences, order, min_count=least), Textbook(sentences, order, least)
    size = len(model.words)
    context = [BOS] * start + [number for number in (h % size for h in history) if number not in (BOS, EOS)]
    chances = model.distribution(context)
    assert chances[BOS] == 0
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    assert all(chances[number] > 0 for number in range(size) if number != BOS)
    words = tuple(model.words[number] for number in context)
    for number in range(size):
        if number != BOS:
            assert chances[number] == pytest.approx(book.probability(model.words[number], words), rel=1e-9)


def test_only_the_last_words_count() -> None:
    model = train_ngram(STORIES, 3)
    near = model.ids(["on", "the"])
    far = model.ids(["a", "dog", "saw", "bird"])
    assert np.array_equal(model.distribution([BOS, *near]), model.distribution([BOS, *far, *near]))


def test_batches_change_nothing() -> None:
    model = train_ngram(STORIES, 4)
    ids = [BOS, *model.ids(STORIES[6].split()), EOS]
    targets, histories = ids[1:], [ids[:at] for at in range(1, len(ids))]
    alone = [float(model.probabilities([t], [h])[0]) for t, h in zip(targets, histories, strict=True)]
    assert model.probabilities(targets, histories).tolist() == alone
    assert len(model.probabilities([], [])) == 0
    with pytest.raises(ValueError, match="targets but"):
        model.probabilities([1], [])


def test_rare_words_are_unknown() -> None:
    model = train_ngram(["a a b", "a b c"], 2)
    assert model.words == ("<unk>", "</s>", "<s>", "a", "b")
    assert model.ids(["a", "c", "zebra", "<s>", "</s>", "<unk>"]) == [3, UNK, UNK, UNK, UNK, UNK]
    assert model.vocabulary_size == 4
    assert train_ngram(["a a b", "a b c"], 2, min_count=1).words[3:] == ("a", "b", "c")


def test_unknown_has_a_share_when_nothing_was_rare() -> None:
    model = train_ngram(["a b a b"] * 3, 3)
    assert 0 < model.distribution([BOS])[UNK] < 0.2


def test_discounts() -> None:
    """Enough data gives estimated discounts, little data the fixed ones."""
    rng = np.random.default_rng(7)
    words = [f"w{k}" for k in range(40)]
    text = [" ".join(words[int(39 * rng.random() ** 3)] for _ in range(12)) for _ in range(300)]
    model, book = train_ngram(text, 3), Textbook(text, 3, 2)
    assert all(values != FALLBACK_DISCOUNTS for values in model.discounts[1:])
    for length, values in enumerate(model.discounts, 1):
        assert values == pytest.approx([book.discount(length, count) for count in (1, 2, 3)])
    ids = [BOS, *model.ids(text[0].split())]
    spelled = [model.words[number] for number in ids]
    for at in range(1, len(ids)):
        mine = float(model.probabilities([ids[at]], [ids[:at]])[0])
        assert mine == pytest.approx(book.probability(spelled[at], tuple(spelled[:at])), rel=1e-12)
    assert train_ngram(["a b"] * 4, 2).discounts == [FALLBACK_DISCOUNTS] * 2


@pytest.mark.parametrize(("sentences", "order"), [([], 3), (["", "  "], 3), (["a"], 0), (["a"], 9)])
def test_nothing_to_train(sentences: list[str], order: int) -> None:
    with pytest.raises(ValueError, match=r"has no words|the order must be"):
        train_ngram(sentences, order)


def test_longer_contexts_fit_better() -> None:
    """On the training text, every order fits better than the next lower one."""

    def bits(model: NgramModel) -> float:
        total = 0.0
        for story in STORIES * 3:
            ids = [BOS, *model.ids(story.split()), EOS]
            chances = model.probabilities(ids[1:], [ids[:at] for at in range(1, len(ids))])
            total -= float(np.log2(chances).sum())
        return total

    sizes = [bits(train_ngram(STORIES * 3, order)) for order in (1, 2, 3, 4)]
    assert sizes == sorted(sizes, reverse=True)
