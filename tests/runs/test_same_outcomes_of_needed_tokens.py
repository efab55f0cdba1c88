"""Runs of needed tokens have the same outcomes as runs of all tokens, for every kind of model."""

from __future__ import annotations

from pathlib import Path

import pytest

from gym.demo.catalogue import DEMO_MODELS, MODELS_DIR
from lmgym.models.backends import Backend, load_backend
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.compute import RunResult
from lmgym.runs.scoring import score_document
from lmgym.suites.formats import PredictionDoc, SentenceDoc, SuiteDocument
from tests.lmgym.models import tiny
from tests.lmgym.models.conftest import tiny_models  # noqa: F401

NOISE = 1e-3
NOUNS = ("key", "horse", "woman", "senator")
FORMULAS = {
    "regions": ("(3;%match%) < (3;%mismatch%)", "(1;%match%) - (4;%match%) < 40"),
    "one condition": ("(3;%match%) < 12",),
    "first region": ("(1;%match%) < 1000", "(3;%match%) < (3;%mismatch%)"),
    "whole sentence": ("(*;%match%) < (*;%mismatch%)",),
}


def document(formulas: tuple[str, ...]) -> SuiteDocument:
    sentences = [
        SentenceDoc(item, condition, (f"The {noun}s", "near the cabinet", verb, "old."))
        for item, noun in enumerate(NOUNS, start=1)
        for condition, verb in (("match", "are"), ("mismatch", "is"))
    ]
    return SuiteDocument(
        name="agreement",
        metric="sum",
        meta={},
        region_names=("subject", "attractor", "verb", "rest"),
        conditions=("match", "mismatch"),
        sentences=tuple(sentences),
        predictions=tuple(PredictionDoc(formula) for formula in formulas),
    )


@pytest.fixture(scope="module")
def backends(tiny_models: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Backend]:  # noqa: F811
    root = tmp_path_factory.mktemp("masked")
    tokenizer = tiny.framed(tiny.train("byte-bpe"))
    tiny.save(root / "bert", tiny.gap_filler("bert", len(tokenizer)), tokenizer)
    ngram = next(model for model in DEMO_MODELS if model.backend == "ngram")

    def load(kind: str, root: Path, config: dict[str, object]) -> Backend:
        return load_backend(kind, config, model_dir=root, hub_allowed=False)

    return {
        "causal": load("causal", tiny_models, {"source": "directory", "path": "byte-bpe"}),
        "no-bos": load("causal", tiny_models, {"source": "directory", "path": "no-bos"}),
        "masked": load("masked", root, {"source": "directory", "path": "bert", "method": "original"}),
        "ngram": load("ngram", MODELS_DIR, dict(ngram.config)),
    }


def run(backend: Backend, formulas: tuple[str, ...], policy: ScoringPolicy) -> RunResult:
    return score_document(document(formulas), backend, policy)


@pytest.mark.parametrize("formulas", FORMULAS.values(), ids=FORMULAS)
@pytest.mark.parametrize("kind", ["causal", "no-bos", "masked", "ngram"])
def test_outcomes_margins_and_rates_are_those_of_all_tokens(backends, kind, formulas):
    whole, part = (
        run(backends[kind], formulas, ScoringPolicy(tokens=tokens)) for tokens in ("all", "needed")
    )
    for a, b in zip(whole.predictions, part.predictions, strict=True):
        assert (a.outcomes, a.rate, a.not_evaluable) == (b.outcomes, b.rate, b.not_evaluable)
        assert a.margins == [None if m is None else pytest.approx(m, abs=NOISE) for m in b.margins]
        assert all(margin == 0 or abs(margin) > 10 * NOISE for margin in a.margins if margin is not None)
    assert whole.complete
    for a, b in zip(whole.sentences, part.sentences, strict=True):
        skipped = {b.tokens[number][5] for number in b.not_computed}
        for region, (full, bits) in enumerate(zip(a.regions, b.regions, strict=True)):
            assert bits == (None if full is None or region in skipped else pytest.approx(full, abs=NOISE))
        assert all(b.tokens[number][4] is None for number in b.not_computed)


def test_the_correction_of_needed_regions_is_that_of_all_tokens(backends):
    formulas = FORMULAS["regions"]
    whole, part = (
        run(backends["causal"], formulas, ScoringPolicy(whitespace="trailing", tokens=tokens))
        for tokens in ("all", "needed")
    )
    for a, b in zip(whole.predictions, part.predictions, strict=True):
        assert a.outcomes == b.outcomes
        assert a.margins == pytest.approx(b.margins, abs=NOISE)


def test_an_unscored_first_token_is_not_one_that_was_not_computed(backends):
    """A model without a start token has no value for the first region, whether it is needed or not."""
    first = run(backends["no-bos"], FORMULAS["first region"], ScoringPolicy(tokens="needed"))
    assert first.predictions[0].not_evaluable == len(NOUNS)
    match = first.sentences[0]
    assert match.regions[0] is None
    assert not any(match.tokens[number][5] == 0 for number in match.not_computed)
    other = run(backends["no-bos"], FORMULAS["one condition"], ScoringPolicy(tokens="needed"))
    assert 0 not in other.sentences[0].not_computed


def test_only_needed_cells_have_means_and_the_others_say_why(backends):
    result = run(backends["ngram"], FORMULAS["one condition"], ScoringPolicy(tokens="needed"))
    cells = [(cell["n"], cell["not_computed"]) for row in result.region_summary for cell in row["regions"]]
    assert cells == [(0, True), (0, True), (4, False), *[(0, True)] * 5]
