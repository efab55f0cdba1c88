"""The shipped models on the shipped suites: expected failures, expected passes, and the numbers in the
docs."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

from gym.demo.catalogue import DATA_DIR, DEMO_MODELS, DEMO_SUITES, MODELS_DIR
from gym.demo.train import Measured, chance, measure, table
from gym.runs.read.model_profile import MODIFIED
from lmgym.models.backends import Backend, check_config, load_backend, probe
from lmgym.models.backends.ngram import NgramBackend
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import TokenScores
from lmgym.suites.formats import SuiteDocument, read_suite

DOCS = Path(__file__).parents[2] / "docs" / "demo.md"
SUITES = [path.stem for path in DEMO_SUITES]
TIED = ["filler_gap_object", "garden_path_npz", "subordination"]
NATURAL = ScoringPolicy(join="natural")


@cache
def backend(slug: str) -> Backend:
    (model,) = [model for model in DEMO_MODELS if model.slug == slug]
    return load_backend(model.backend, model.config, model_dir=MODELS_DIR, hub_allowed=False)


@cache
def suite(name: str) -> SuiteDocument:
    path = DATA_DIR / "suites" / f"{name}.json"
    return read_suite(path.read_bytes(), path.name)


@cache
def result(slug: str, name: str, policy: ScoringPolicy = ScoringPolicy()) -> Measured:  # noqa: B008 -- frozen
    return measure(backend(slug), suite(name), policy)


# ---- the n-gram ----


def test_ngram_passes_where_neighbours_decide() -> None:
    assert result("demo-ngram", "agreement_simple").rate >= 0.85


@pytest.mark.parametrize("name", ["agreement_pp", "agreement_src", "agreement_orc", "reflexive_orc"])
def test_ngram_is_not_above_chance_across_an_attractor(name: str) -> None:
    """With 24 items at a chance level of .25, 11 or more passes have a probability of 2%."""
    assert result("demo-ngram", name).passed <= 10


@pytest.mark.parametrize("name", TIED)
@pytest.mark.parametrize("policy", [ScoringPolicy(), NATURAL], ids=["space", "natural"])
def test_ngram_ties_where_the_last_four_words_are_the_same(name: str, policy: ScoringPolicy) -> None:
    """The ties are exact, because the critical words follow the same four words in all conditions."""
    for prediction in result("demo-ngram", name, policy).predictions:
        assert prediction.ties == prediction.n
        assert set(prediction.margins) == {0.0}


def test_ngram_cannot_see_what_licenses_ever() -> None:
    assert result("demo-ngram", "npi").passed == 0


def test_ngram_is_right_in_exactly_one_of_two_twins() -> None:
    (prediction,) = result("demo-ngram", "center_embed").predictions
    outcomes, margins = prediction.outcomes, prediction.margins
    assert [a + b for a, b in zip(outcomes[::2], outcomes[1::2], strict=True)] == [1] * 12
    assert margins[::2] == pytest.approx([-margin for margin in margins[1::2] if margin is not None])


# ---- the baseline ----


@pytest.mark.parametrize("name", SUITES)
def test_uniform_never_passes(name: str) -> None:
    assert result("demo-uniform", name).passed == 0


def test_uniform_has_the_vocabulary_of_the_ngram() -> None:
    """Equal vocabularies make the bits of the two models comparable."""
    assert backend("demo-uniform").facts.vocabulary_size == backend("demo-ngram").facts.vocabulary_size


# ---- the transformer ----


@pytest.mark.parametrize("name", SUITES)
@pytest.mark.parametrize("policy", [ScoringPolicy(), NATURAL], ids=["space", "natural"])
def test_transformer_passes(name: str, policy: ScoringPolicy) -> None:
    pytest.importorskip("torch", reason="the transformer needs torch")
    assert result("demo-gpt2", name, policy).rate >= 0.9


def test_transformer_beats_the_ngram_everywhere_in_the_distance() -> None:
    pytest.importorskip("torch", reason="the transformer needs torch")
    distant = [name for name in SUITES if "long-distance" in suite(name).meta["tags"]]
    assert len(distant) == 10
    assert all(result("demo-gpt2", name).rate - result("demo-ngram", name).rate >= 0.4 for name in distant)


def test_transformer_scores_any_text() -> None:
    """Its vocabulary has all bytes, and all of its positions can be used."""
    pytest.importorskip("torch", reason="the transformer needs torch")
    gpt2 = backend("demo-gpt2")
    assert gpt2.facts.context_length is not None
    assert gpt2.facts.context_length >= 512
    texts = [
        "Ελληνικά, 日本語, العربية 🙂\u0000\x7f",
        "and the king laughs" + " the king" * 200,
        "Zwölf Boxkämpfer jagen Viktor.",
    ]
    for text, score in zip(texts, gpt2.score(texts, ScoringPolicy()), strict=True):
        assert isinstance(score, TokenScores)
        assert all(value is not None for value in score.bits[1:])
        assert score.offsets[-1][1] == len(text)
    probe(gpt2)


def test_words_are_single_tokens() -> None:
    pytest.importorskip("torch", reason="the transformer needs torch")
    (score,) = backend("demo-gpt2").score(
        ["The singer that the young girls helped is famous."], ScoringPolicy()
    )
    assert isinstance(score, TokenScores)
    assert len(score) == 11  # start token, nine words, full stop


# ---- what the docs state about them ----


def test_documented_table_is_what_is_measured() -> None:
    pytest.importorskip("torch", reason="the transformer needs torch")
    rows = []
    for name in SUITES:
        results = [result(model.slug, name) for model in DEMO_MODELS]
        rows.append((name, results[0].n, chance(suite(name)), results))
    assert table([model.slug for model in DEMO_MODELS], rows) in DOCS.read_text(encoding="utf-8")


@pytest.mark.parametrize("model", DEMO_MODELS, ids=lambda model: model.slug)
def test_catalogue(model) -> None:
    check_config(model.backend, model.config)
    assert (MODELS_DIR / model.slug / "README.md").is_file()
    assert model.licence == "CC0-1.0"
    assert len(model.corpus) <= 200
    if model.backend == "causal":
        pytest.importorskip("torch", reason="the transformer needs torch")
    parameters = backend(model.slug).facts.parameters
    assert model.parameters == "none" if parameters == 0 else f"{parameters:,}" in model.parameters


def test_the_demo_has_a_learning_curve_seeds_and_a_suite_with_a_modifier() -> None:
    steps = {tag for model in DEMO_MODELS if "group:Demo 5-gram" in model.tags for tag in model.tags}
    assert steps == {"group:Demo 5-gram", "step:5k", "step:20k", "step:80k"}
    assert any(MODIFIED.match(slug) and slug.removesuffix("_mod") in SUITES for slug in SUITES)


def test_shipped_sizes() -> None:
    """The demo stays small, since it is part of every checkout."""
    sizes = {
        folder.name: sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
        for folder in MODELS_DIR.iterdir()
    }
    assert set(sizes) == {model.slug for model in DEMO_MODELS}
    assert sum(sizes.values()) < 3_000_000


def test_ngram_knows_its_corpus() -> None:
    ngram = backend("demo-ngram")
    assert isinstance(ngram, NgramBackend)
    manifest = json.loads((DATA_DIR / "manifest.json").read_text(encoding="utf-8"))
    assert ngram.model.order == manifest["ngram"]["order"] == 5
    assert ngram.model.corpus.sentences == manifest["corpus"]["sentences"]
    assert ngram.model.corpus.tokens == manifest["corpus"]["words"]
    assert ngram.facts.fingerprint == manifest["files"]["models/demo-ngram/model.ngram"]
