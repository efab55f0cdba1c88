"""Background job for a run: score it chunk by chunk and write the results in one transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from gym import log_fields
from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import MissingResource, PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.models import State
from gym.runs.models import PredictionResult, SentenceScore, SuiteRun
from gym.runs.policies import policy_standing
from gym.runs.signals import results_written
from gym.runs.work.scoring import Scoring
from gym.runs.work.shared_chunks import HELP
from gym.runs.work.start_tokens import name_if_former
from lmgym.models.backends import Backend, BackendError, BackendUnavailable, NotOnThisMachine
from lmgym.runs.compute import RunResult, evaluate_document
from lmgym.runs.coverage import MOST_KEPT, Coverage
from lmgym.runs.provenance import coverage_of_run, error_of, provenance
from models_registry import permissions as model_permissions
from suites import permissions as suite_permissions
from suites.models import SuiteRevision

ROWS = 500


@handler("suite_run", seconds=7 * 86_400)
def suite_run(context: JobContext) -> None:
    """Load the model, score sentences missing from the cache, compute outcomes, and store the results."""
    run = _run_of(context)
    if run is None:
        raise PermanentFailure("The run was deleted.")
    suite, model = run.revision.suite, run.model
    log_fields.add(suite=suite.slug, model=model.slug)
    rights.require(
        context,
        {
            f"the suite {suite.slug}": lambda person: suite_permissions.can_run(person, suite),
            f"the model {model.slug}": lambda person: model_permissions.can_run(person, model),
        },
    )
    if not run.model.is_ready:
        raise PermanentFailure(f"{run.model.name} is no longer ready: {run.model.status_reason}")
    with _model_of(context, run) as backend:
        score_run(context, run, backend)


@handler(HELP, seconds=7 * 86_400, only_when_idle=True)
def suite_run_help(context: JobContext) -> None:
    """Score chunks of a run that another worker is computing, while no other job waits. Permissions are checked by that
    run's job."""
    run = _run_of(context)
    if run is None or run.state != State.RUNNING:
        return
    try:
        with _model_of(context, run) as backend:
            Scoring(context, run, backend).help()
    except MissingResource as error:  # not retried: the run does not depend on it
        context.log(f"This worker lacks {error.what}.")


def _run_of(context: JobContext) -> SuiteRun | None:
    rows = SuiteRun.objects.select_related("revision__suite", "model", "job")
    return rows.filter(pk=context.payload["run"]).first()


@contextmanager
def _model_of(context: JobContext, run: SuiteRun) -> Iterator[Backend]:
    """Load the run's model; translate its errors, on loading or in use, into job errors."""
    from models_registry.warm import fetching, loaded_model

    try:
        if run.model.config.get("source") == "hub":  # perhaps checked on another machine
            context.run_cancellable(fetching(run.model))
        with loaded_model(run.model) as backend:
            yield backend
    except NotOnThisMachine as error:
        raise MissingResource(error.lacks(run.model.slug)) from error
    except BackendUnavailable:
        raise  # a busy server: the job is retried
    except BackendError as error:
        raise PermanentFailure(str(error)) from error


def score_run(context: JobContext, run: SuiteRun, backend: Backend) -> None:
    scoring = Scoring(context, run, backend)
    scores = scoring.scores()
    context.check()
    facts = backend.facts
    result = evaluate_document(
        scoring.document, scores, scoring.policy, error_of(facts), left_to_right=facts.left_to_right
    )
    coverage = coverage_of_run(facts, result.sentences)
    record = provenance(run.revision.sha256, run.model.backend, backend, result, scoring.policy, coverage)
    with context.finish():
        name_if_former(run, backend.facts)
        write_result(run, result, record, n_unique=scoring.n_unique, coverage=coverage)


def write_result(
    run: SuiteRun, result: RunResult, facts: dict[str, Any], *, n_unique: int, coverage: Coverage | None
) -> None:
    """Replace the run's results. Call inside the transaction that completes the run."""
    revision: SuiteRevision = run.revision
    run.sentence_scores.all().delete()
    run.prediction_results.all().delete()
    sentences = {row.position: row for row in revision.sentences.all()}
    SentenceScore.objects.bulk_create(
        [
            SentenceScore(run=run, sentence=sentences[row.position], **row.columns())
            for row in result.sentences
        ],
        batch_size=ROWS,
    )
    predictions = {row.position: row for row in revision.predictions.all()}
    PredictionResult.objects.bulk_create(
        [
            PredictionResult(
                run=run, prediction=predictions[row.position], items=result.items, **row.columns()
            )
            for row in result.predictions
        ]
    )
    SuiteRun.objects.filter(pk=run.pk).update(
        completed_at=timezone.now(),
        standing=policy_standing(run, is_whole=len(result.predictions) == len(predictions)),
        provenance=facts,
        n_unique=n_unique,
        n_unscored=result.n_unscored,
        region_summary=result.region_summary,
        n_words=coverage.n_words if coverage else None,
        n_unknown_words=coverage.n_unknown if coverage else None,
        unknown_words=list(coverage.unknown[:MOST_KEPT]) if coverage else [],
    )
    run.chunks.update(scores=None)
    results_written.send(sender=SuiteRun, run=run)
