"""The grammar and the corpus: reproducible, balanced, and disjoint from the suites."""

from __future__ import annotations

import ast
import hashlib
import json
from collections import Counter
from pathlib import Path

import pytest

from gym.demo import corpus
from gym.demo.catalogue import DATA_DIR, DEMO_SUITES, SUITES_DIR
from gym.demo.grammar import Dice, Grammar
from lmgym.suites.formats import SuiteDocument, read_suite
from lmgym.suites.formulas import parse

MANIFEST = json.loads((DATA_DIR / "manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def full() -> corpus.Corpus:
    return corpus.generate()


@pytest.fixture(scope="module", params=DEMO_SUITES, ids=lambda path: path.stem)
def suite(request: pytest.FixtureRequest) -> SuiteDocument:
    return read_suite(request.param.read_bytes(), request.param.name)


# ---- the same everywhere ----


def test_grammar_is_the_same_for_a_seed() -> None:
    def digest(seed: int) -> str:
        grammar = Grammar(seed)
        return hashlib.sha256(
            "\n".join(" ".join(grammar.sentence().words) for _ in range(500)).encode()
        ).hexdigest()

    assert digest(1) == digest(1)
    assert digest(1) != digest(2)


def test_corpus_is_the_one_of_the_manifest(full: corpus.Corpus) -> None:
    assert full.sha256 == MANIFEST["corpus"]["sha256"]
    assert len(full.sentences) == MANIFEST["corpus"]["sentences"] == corpus.SENTENCES
    assert full.held_out == MANIFEST["corpus"]["left_out"] > 0


def test_texts_come_in_both_spellings(full: corpus.Corpus) -> None:
    texts = list(full.texts())
    assert texts == list(full.texts())
    spaced = sum(text.endswith(" .") for text in texts)
    assert 0.48 < spaced / len(texts) < 0.52
    assert all(text.endswith(".") for text in texts)


def test_the_demo_has_every_suite_of_its_folder() -> None:
    assert {*DEMO_SUITES} == {*SUITES_DIR.iterdir()}


def test_committed_files_are_those_of_the_manifest() -> None:
    for name, digest in MANIFEST["files"].items():
        assert hashlib.sha256((DATA_DIR / name).read_bytes()).hexdigest() == digest, name


def test_dice() -> None:
    dice = Dice(3)
    counts = Counter(dice.weighted([(1, "a"), (3, "b")]) for _ in range(4000))
    assert 0.7 < counts["b"] / 4000 < 0.8
    assert {dice.below(3) for _ in range(100)} == {0, 1, 2}
    assert sorted(dice.shuffled(range(20))) == list(range(20))


def test_no_django_in_the_pure_modules() -> None:
    folder = Path(corpus.__file__).parent
    for name in ("catalogue", "corpus", "gpt2", "grammar", "lexicon", "train"):
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            assert not any(imported.split(".")[0] == "django" for imported in names), name


# ---- balance: what the last words give away ----


def test_attractors_say_nothing_about_the_verb(full: corpus.Corpus) -> None:
    """After "next to the kings" and the like, singular and plural verbs are equally frequent."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for sentence in full.sentences:
        words = sentence.words
        for verb in ("is", "are"):
            if sentence.construction == "agreement_across_phrase" and verb in words:
                noun = words[words.index(verb) - 1]
                counts[noun.endswith("s") or noun in ("men", "women"), verb == "are"] += 1
    for plural in (False, True):
        share = counts[plural, True] / (counts[plural, True] + counts[plural, False])
        assert 0.45 < share < 0.55


def test_gaps_and_fillers_are_balanced(full: corpus.Corpus) -> None:
    fillers = Counter(
        "what" if "what" in sentence.words else "that"
        for sentence in full.sentences
        if sentence.construction == "filler_gap"
    )
    assert 0.48 < fillers["what"] / fillers.total() < 0.52


def test_both_orders_of_verbs_are_equally_frequent(full: corpus.Corpus) -> None:
    orders = Counter(
        sentence.words[-2] in {"helped", "stopped", "improved", "failed", "changed"}
        for sentence in full.sentences
        if sentence.construction == "centre_embedding"
    )
    assert 0.48 < orders[True] / orders.total() < 0.52


def test_ever_only_after_no(full: corpus.Corpus) -> None:
    assert all(sentence.words[0] == "No" for sentence in full.sentences if "ever" in sentence.words)


def test_every_word_is_frequent(full: corpus.Corpus) -> None:
    """No word is so rare that a model could not learn it."""
    counts = Counter(word for sentence in full.sentences for word in sentence.words)
    assert len(counts) == 265
    assert min(counts.values()) >= 100


# ---- suites ----


def test_no_suite_sentence_was_trained_on(full: corpus.Corpus) -> None:
    held = corpus.suite_prefixes()
    longest = max(len(words) for words in held)
    for sentence in full.sentences:
        assert not any(sentence.words[:length] in held for length in range(1, longest + 1))


def test_suite_is_well_formed(suite: SuiteDocument) -> None:
    assert not suite.notices
    assert suite.metric == "sum"
    assert len({sentence.item for sentence in suite.sentences}) == 24
    assert len(suite.sentences) == 24 * len(suite.conditions)
    for key in ("title", "tags", "author", "description", "reference", "licence"):
        assert suite.meta[key]
    regions = dict(enumerate(suite.region_names, 1))
    for prediction in suite.predictions:
        assert prediction.name
        assert prediction.description
        formula = parse(prediction.formula)
        assert not formula.warnings
        assert not formula.check(regions, suite.conditions)
    texts = [" ".join(content for content in sentence.contents if content) for sentence in suite.sentences]
    assert len(set(texts)) == len(texts)


def test_suite_uses_words_of_the_corpus(suite: SuiteDocument, full: corpus.Corpus) -> None:
    known = {word for sentence in full.sentences for word in sentence.words}
    assert {word for s in suite.sentences for content in s.contents for word in content.split()} <= known


def test_some_suites_have_two_predictions() -> None:
    counts = [len(read_suite(path.read_bytes(), path.name).predictions) for path in DEMO_SUITES]
    assert counts.count(2) >= 3


def test_centre_embedding_comes_in_twins() -> None:
    items = json.loads((SUITES_DIR / "center_embed.json").read_bytes())["items"]
    for first, second in zip(items[::2], items[1::2], strict=True):
        orders = [
            [region["content"] for region in item["conditions"][at]["regions"]][2:]
            for item, at in ((first, 0), (second, 1))
        ]
        assert orders[0] == orders[1]
