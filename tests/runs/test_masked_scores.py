"""Scores of a real, tiny masked model: a value depends on what follows, so nothing is shared between sentences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gym.jobs.testing import run_pending
from gym.runs.models import ScoreCache, SuiteRun
from gym.runs.read.report import result_of
from gym.runs.work import cache, services
from gym.runs.work.preview import preview
from lmgym.models.backends import Backend
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.runs import score_store
from lmgym.runs.compute import evaluate_document, joined_sentences
from lmgym.runs.scoring import score_document
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.regions import align, region_values
from models_registry.models import RegisteredModel
from models_registry.warm import load_pinned
from suites.selectors import document_of
from tests.factories import checked, make_model, make_revision
from tests.lmgym.models import tiny

SUBJECT = "(1;%match%) < (1;%mismatch%)"
"""A prediction about a region with the same words in both conditions; the verb comes after it."""
NOISE = 1e-3
POLICY = ScoringPolicy()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("masked")
    tokenizer = tiny.framed(tiny.train("byte-bpe"))  # no two words look alike to it
    tiny.save(root / "bert", tiny.gap_filler("bert", len(tokenizer)), tokenizer)
    return root


@pytest.fixture
def model(people, settings, folder) -> RegisteredModel:
    settings.GYM_MODEL_DIR = folder
    config = {"source": "directory", "path": "bert", "device": "cpu", "method": "original"}
    model = make_model(people.alice, slug="gaps", backend="masked", config=config)
    return checked(model)


@pytest.fixture
def revision(people):
    return make_revision(people.alice, items=5, formulas=(SUBJECT,))


def raw_scores(document: SuiteDocument, backend: Backend) -> list[TokenScores]:
    texts = [joined.text for joined in joined_sentences(document, POLICY)]
    scores = backend.score(texts, POLICY)
    return [score for score in scores if not isinstance(score, ScoringFailure)]


def raw_regions(document: SuiteDocument, scores: list[TokenScores]) -> list[list[float]]:
    """Return plain sums of the model's scores, sentence by sentence."""
    return [
        list(region_values(align(row, score.offsets, score.special), score.bits, 3).values)
        for row, score in zip(joined_sentences(document, POLICY), scores, strict=True)
    ]


def true_margins(regions: list[list[float]]) -> list[float]:
    """Return the margins of `SUBJECT`; sentences alternate between match and mismatch."""
    return [wrong[0] - right[0] for right, wrong in zip(regions[::2], regions[1::2], strict=True)]


def check(result: Any, regions: list[list[float]]) -> None:
    assert [row.regions for row in result.sentences] == [pytest.approx(row, abs=NOISE) for row in regions]
    margins = true_margins(regions)
    assert all(abs(margin) > 10 * NOISE for margin in margins), "the model sees what follows"
    [prediction] = result.predictions
    assert prediction.margins == pytest.approx(margins, abs=2 * NOISE)
    assert prediction.outcomes == [int(margin > 0) for margin in margins]


def test_a_masked_score_depends_on_what_follows(model, revision):
    document, backend = document_of(revision), load_pinned(model)
    scores = raw_scores(document, backend)
    result = evaluate_document(document, scores, POLICY, left_to_right=backend.facts.left_to_right)
    check(result, raw_regions(document, scores))
    check(score_document(document, backend, POLICY), raw_regions(document, scores))


@pytest.mark.parametrize("tokens", ["all", "needed"])
def test_a_run_keeps_masked_scores_as_they_are(people, settings, model, revision, tokens):
    settings.GYM_CHUNK_SENTENCES = 4
    document, backend = document_of(revision), load_pinned(model)
    regions = raw_regions(document, raw_scores(document, backend))
    run = services.queue_run(revision, model, ScoringPolicy(tokens=tokens), actor=people.alice)
    run_pending()
    assert run.chunks.count() == 3
    result = result_of(SuiteRun.objects.get(pk=run.pk))
    if tokens == "needed":
        assert [row.regions[1:] for row in result.sentences] == [[None, None]] * 10
        for row, known in zip(result.sentences, regions, strict=True):
            row.regions[1:] = known[1:]
    check(result, regions)


def test_the_score_cache_holds_what_the_masked_model_said(people, settings, model, revision):
    settings.GYM_CHUNK_SENTENCES = 4
    document, backend = document_of(revision), load_pinned(model)
    services.queue_run(revision, model, actor=people.alice)
    run_pending()
    texts = [joined.text for joined in joined_sentences(document, POLICY)]
    known = cache.read(score_store.scorer_key(backend.facts, POLICY), texts)
    assert ScoreCache.objects.count() == len(texts)
    for text, score in zip(texts, raw_scores(document, backend), strict=True):
        assert known[text].bits == pytest.approx(score.bits, abs=NOISE)


def test_a_preview_shows_masked_scores_as_they_are(people, model, revision):
    document = document_of(revision)
    asked = (revision.suite_id, document, [1, 2, 3, 4, 5], model, POLICY)
    preview(*asked, actor=people.alice)
    run_pending("preview")
    told = preview(*asked, actor=people.alice)
    assert isinstance(told, dict)
    regions = raw_regions(document, raw_scores(document, load_pinned(model)))
    assert [row.region_surprisals for row in told["rows"]] == [
        pytest.approx(row, abs=NOISE) for row in regions
    ]
    assert told["margins"] == [pytest.approx(true_margins(regions), abs=2 * NOISE)]
