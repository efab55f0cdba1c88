"""The background runner: scores a run chunk by chunk and writes its results in one transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.utils import timezone

from gym.evaluations import cache
from gym.evaluations.compute import RunResult, Scores, evaluate_document, joined_sentences, plan_chunks
from gym.evaluations.models import PredictionResult, RunChunk, SentenceScore, SuiteRun
from gym.evaluations.provenance import provenance
from gym.evaluations.signals import results_written
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from models_registry.backends import Backend, BackendError, BackendUnavailable
from models_registry.engine import ScoringFailure, ScoringPolicy
from suites.models import SuiteRevision
from suites.selectors import document_of

ROWS = 500
LARGE = 1_000_000_000
"""Parameters from which on a chunk has fewer sentences."""


@handler("suite_run")
def suite_run(context: JobContext) -> None:
    """Claimed by a worker: load, score what the cache does not know, judge, write."""
    from models_registry.warm import load_pinned

    run = (
        SuiteRun.objects.select_related("revision__suite", "model").filter(pk=context.payload["run"]).first()
    )
    if run is None:
        raise PermanentFailure("The run was deleted.")
    if not run.model.is_ready:
        raise PermanentFailure(f"{run.model.name} is not ready any more: {run.model.status_reason}")
    try:
        backend = load_pinned(run.model)
        score_run(context, run, backend)
    except BackendUnavailable:
        raise  # a server that is busy: the job is tried again
    except BackendError as error:
        raise PermanentFailure(str(error)) from error


def score_run(context: JobContext, run: SuiteRun, backend: Backend) -> None:
    policy = ScoringPolicy.from_dict(run.policy)
    document = document_of(run.revision)
    texts = [joined.text for joined in joined_sentences(document, policy)]
    scorer = cache.scorer_key(backend.facts, policy)
    scores: dict[str, Scores] = {}
    while not scores:
        passing = _score_chunks(context, run, backend, policy, texts, scorer)
        known = cache.read(scorer, texts) | passing
        if all(text in known for text in texts):
            scores = known
        else:  # the cache was cleared meanwhile: plan what is missing anew
            run.scorer = ""
    context.check()
    result = evaluate_document(document, [scores[text] for text in texts], policy)
    facts = provenance(run.revision.sha256, run.model.backend, backend, result)
    with context.finish():
        write_result(run, result, facts, n_unique=len(set(texts)))


def _score_chunks(
    context: JobContext,
    run: SuiteRun,
    backend: Backend,
    policy: ScoringPolicy,
    texts: Sequence[str],
    scorer: str,
) -> dict[str, Scores]:
    """Score every chunk that is not done into the cache; returns the failures that are not kept there."""
    chunks = _chunks_of(context, run, texts, scorer, _chunk_size(run))
    unique = len(set(texts))
    done = unique - sum(len(chunk.positions) for chunk in chunks if not chunk.done)
    passing: dict[str, Scores] = {}
    context.progress(done, unique, "sentences")
    for chunk in chunks:
        if chunk.done:
            continue
        context.check()
        chunk_texts = [texts[position] for position in chunk.positions]
        scores = dict(zip(chunk_texts, backend.score(chunk_texts, policy), strict=True))
        passing.update(
            (text, value)
            for text, value in scores.items()
            if isinstance(value, ScoringFailure) and value.transient
        )
        with context.transaction(brings_forward=True):
            cache.write(scorer, scores)
            RunChunk.objects.filter(pk=chunk.pk).update(done=not any(text in passing for text in chunk_texts))
        done += len(chunk_texts)
        context.progress(done, unique, "sentences")
    return passing


def _chunk_size(run: SuiteRun) -> int:
    """Sentences per chunk; fewer for large models, so that progress moves and a cancellation is heard."""
    size: int = settings.GYM_CHUNK_SENTENCES
    return max(1, size // 4) if (run.model.parameters or 0) >= LARGE else size


def _chunks_of(
    context: JobContext, run: SuiteRun, texts: Sequence[str], scorer: str, size: int
) -> list[RunChunk]:
    """The run's chunks; planned and stored by the first attempt, so that later attempts find the same ones.

    They belong to one scorer: with another device or after a new check they are planned again.
    """
    if run.scorer == scorer:
        return list(run.chunks.order_by("number"))
    known = cache.read(scorer, texts)
    missing = [position for position, text in enumerate(texts) if text not in known]
    planned = plan_chunks([texts[position] for position in missing], size)
    cached = len(set(texts)) - sum(map(len, planned))
    with context.transaction():
        run.chunks.all().delete()
        RunChunk.objects.bulk_create(
            [
                RunChunk(run=run, number=number, positions=[missing[place] for place in places])
                for number, places in enumerate(planned)
            ]
        )
        SuiteRun.objects.filter(pk=run.pk).update(n_cached=cached, scorer=scorer)
    run.scorer = scorer
    return list(run.chunks.order_by("number"))


def write_result(run: SuiteRun, result: RunResult, facts: dict[str, Any], *, n_unique: int) -> None:
    """Replace whatever the run holds by this result. Call inside the transaction that finishes the job."""
    revision: SuiteRevision = run.revision
    run.sentence_scores.all().delete()
    run.prediction_results.all().delete()
    sentences = {row.position: row for row in revision.sentences.all()}
    SentenceScore.objects.bulk_create(
        [
            SentenceScore(
                run=run,
                sentence=sentences[row.position],
                text=row.text,
                regions=row.regions,
                special_bits=row.special,
                total_bits=row.total,
                tokens=row.tokens,
                failure=row.failure,
            )
            for row in result.sentences
        ],
        batch_size=ROWS,
    )
    predictions = {row.position: row for row in revision.predictions.all()}
    PredictionResult.objects.bulk_create(
        [
            PredictionResult(
                run=run,
                prediction=predictions[row.position],
                position=row.position,
                total=row.total,
                passed=row.passed,
                ties=row.ties,
                not_evaluable=row.not_evaluable,
                near_ties=row.near_ties,
                ci_low=row.ci_low,
                ci_high=row.ci_high,
                chance=row.chance,
                chance_error=row.chance_error,
                mean_margin=row.mean_margin,
                items=result.items,
                outcomes=row.outcomes,
                margins=row.margins,
            )
            for row in result.predictions
        ]
    )
    SuiteRun.objects.filter(pk=run.pk).update(
        completed_at=timezone.now(),
        provenance=facts,
        n_unique=n_unique,
        n_unscored=result.n_unscored,
        region_summary=result.region_summary,
    )
    results_written.send(sender=SuiteRun, run=run)
