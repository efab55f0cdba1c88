"""Live preview: surprisals of sentences while they are edited.

Cached sentences are returned at once. The others go to the quick queue, where a worker scores them into the cache,
and the page polls with the same body. A preview stores no run.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from gym.accounts import daily_sentences
from gym.accounts.models import User
from gym.jobs import rights
from gym.jobs import services as jobs
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.models import ACTIVE_STATES, FINAL_STATES, Job, State
from gym.jobs.selectors import is_loaded_somewhere
from gym.runs.work import cache
from lmgym.models.backends import BACKENDS, Backend, BackendError, ModelFacts
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenError
from lmgym.runs import score_store
from lmgym.runs.chunks import plan_chunks
from lmgym.runs.compute import SentenceResult, joined_sentences, measure
from lmgym.runs.coverage import Coverage, words_of
from lmgym.runs.lens import shown_tokens
from lmgym.runs.outcomes import Grid, listed, outcomes_of
from lmgym.runs.provenance import coverage_of_run, error_of
from lmgym.runs.token_arrays import Scores
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formulas import FormulaError, parse
from lmgym.text.columns import described
from models_registry import permissions
from models_registry.models import RegisteredModel

KIND = QUEUE = "preview"
CHUNK_CHARACTERS = 2_000
WAIT_SECONDS = 0.2
POLL_SECONDS = 0.01
KEEP = timedelta(minutes=30)
RECENT = timedelta(minutes=2)
"""Time for which a failure is reported instead of retried; longer than the polling interval of a background
page."""


class PreviewFailed(Exception):
    """The model could not be used; the message gives the reason."""


@dataclass(frozen=True)
class Waiting:
    """Result of `preview` while scores are being computed. `loading`: no worker has the model in memory;
    `load_seconds`: duration of the last load, None = unknown."""

    job: str
    loading: bool = False
    load_seconds: float | None = None


@dataclass(frozen=True)
class PreviewToken:
    """A token of a sentence of a preview."""

    text: str = described("characters of the sentence that the token covers")
    token: str = described("the token as the vocabulary spells it")
    region_number: int | None = described("number of its region, from 1; null: outside regions")
    surprisal: float | None = described("surprisal of the token; null: not scored", "bits")
    straddles: bool = described("true if the token crosses a region border")
    part: str = described("“2/3”: the second of three tokens that share a character; empty if it shares none")


@dataclass(frozen=True)
class PreviewRow:
    """A sentence of a preview."""

    item: int = described("number of the item")
    condition: str = described("name of the condition")
    region_surprisals: list[float | None] = described("surprisal of each region", "bits")
    surprisal: float | None = described("surprisal of the sentence", "bits")
    failure: str = described("why there are no scores, or empty")
    known_words: list[str] | None = described("distinct words that the model knows; null: not determined")
    unknown_words: list[str] | None = described(
        "distinct words that the model does not know; null: not determined"
    )
    tokens: list[PreviewToken] | None = described("tokens of the sentence; null: not requested")


def scorer_of(model: RegisteredModel, policy: ScoringPolicy) -> str | None:
    """Return the cache key for this model's scores, from the facts recorded when a worker last loaded it; None if it
    was never loaded."""
    try:
        return score_store.scorer_key(ModelFacts.from_dict(model.facts), policy)
    except (TypeError, AttributeError):
        return None


def preview(
    suite_id: int,
    document: SuiteDocument,
    items: Sequence[int],
    model: RegisteredModel,
    policy: ScoringPolicy,
    *,
    actor: User,
    tokens: bool = False,
) -> dict[str, Any] | Waiting:
    """Return bits, outcomes and margins of these sentences, with their tokens if requested, or Waiting. Sentences
    missing from the cache count towards the daily cap. Raises TooManySentences, LimitReached, PreviewFailed."""
    texts = list(dict.fromkeys(joined.text for joined in joined_sentences(document, policy)))
    known = _known(suite_id, model, policy, texts, actor)
    missing = [text for text in texts if text not in known]
    if missing:
        job = _queue(suite_id, model, policy, missing, actor=actor)
        waiting = _wait(job, model)
        if waiting is not None:
            return waiting
        model.refresh_from_db(fields=["facts"])
        known = _known(suite_id, model, policy, texts, actor)
        if any(text not in known for text in texts):  # the cache was cleared in between
            return Waiting(str(job.pk))
    return _results(document, items, known, model, policy, tokens=tokens)


def _known(
    suite_id: int, model: RegisteredModel, policy: ScoringPolicy, texts: Sequence[str], actor: User
) -> dict[str, Scores]:
    """Return cached scores of these texts, and recent failures of others."""
    scorer = scorer_of(model, policy)
    if scorer is None:
        return {}
    known = cache.read(scorer, texts)
    if len(known) < len(set(texts)):
        failed = _recent_failures(suite_id, scorer, actor)
        known |= {text: failed[text] for text in texts if text in failed and text not in known}
    return known


def _recent_failures(suite_id: int, scorer: str, actor: User) -> dict[str, Scores]:
    """Return transient failures, which the cache does not keep, from this user's recent previews of this suite."""
    recent_jobs = Job.objects.filter(
        kind=KIND,
        owner=actor,
        state=State.DONE,
        finished__gt=timezone.now() - RECENT,
        payload__suite=suite_id,
        payload__scorer=scorer,
    )
    return {
        text: ScoringFailure(reason, transient=True)
        for payload in recent_jobs.values_list("payload", flat=True)
        for text, reason in payload["failed"].items()
    }


def _results(
    document: SuiteDocument,
    items: Sequence[int],
    known: dict[str, Scores],
    model: RegisteredModel,
    policy: ScoringPolicy,
    *,
    tokens: bool,
) -> dict[str, Any]:
    scores = [known[joined.text] for joined in joined_sentences(document, policy)]
    facts = ModelFacts.from_dict(model.facts)
    measured = measure(document, scores, policy, left_to_right=facts.left_to_right)
    grid = measured.grid()
    places = {item: place for place, item in enumerate(grid.items)}
    chosen = [places.get(item) for item in items]
    error = error_of(facts)
    judged = [
        _judge(prediction.formula, document, grid, chosen, error) for prediction in document.predictions
    ]
    rows = measured.rows()
    coverage = coverage_of_run(facts, rows)
    return {
        "rows": [
            PreviewRow(
                row.item,
                row.condition,
                row.regions,
                row.surprisal,
                row.failure,
                *_words(row, facts, coverage),
                _tokens(row) if tokens else None,
            )
            for row in rows
        ],
        "items": list(items),
        "outcomes": [outcomes for outcomes, _, _ in judged],
        "margins": [margins for _, margins, _ in judged],
        "too_close": [close for _, _, close in judged],
    }


def _tokens(row: SentenceResult) -> list[PreviewToken]:
    return [
        PreviewToken(token.text, token.token, region, token.surprisal, token.straddles, token.part)
        for region, token in shown_tokens(row)
    ]


def _words(
    row: SentenceResult, facts: ModelFacts, coverage: Coverage | None
) -> tuple[list[str] | None, list[str] | None]:
    """List the distinct words of the sentence that the model knows, and the unknown ones; None if not
    determined."""
    words = coverage and words_of(
        row.text, row.tokens, facts.vocabulary_size, in_pieces=coverage.spelling.is_in_pieces
    )
    return words or (None, None)


Judged = tuple[list[int | None], list[float | None], list[bool | None]]


def _judge(
    text: str, document: SuiteDocument, grid: Grid, chosen: Sequence[int | None], error: TokenError
) -> Judged:
    """Compute outcome codes, margins and "too close to call" of one formula. All are None if the formula is
    invalid, and for items that are not in the grid."""
    nothing: Judged = [None] * len(chosen), [None] * len(chosen), [None] * len(chosen)
    try:
        formula = parse(text)
    except FormulaError:
        return nothing
    if formula.check(document.regions, document.conditions) or not formula.references:
        return nothing
    outcomes, margins, close = outcomes_of(formula, grid, error)
    columns = outcomes.tolist(), listed(margins), close.tolist()
    codes, sizes, flags = (
        [None if place is None else column[place] for place in chosen] for column in columns
    )
    return codes, sizes, flags


# --- the queue ---


def _queue(
    suite_id: int, model: RegisteredModel, policy: ScoringPolicy, texts: Sequence[str], *, actor: User
) -> Job:
    """Return the job for these texts: an active job, or a new one that replaces outdated jobs. Raises PreviewFailed if
    such a job failed recently."""
    request = {"suite": suite_id, "model": model.pk, "policy": policy.to_dict(), "texts": list(texts)}
    digest = hashlib.sha256(json.dumps(request, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()
    mine = Job.objects.filter(kind=KIND, owner=actor, payload__suite=suite_id)
    same = mine.filter(payload__digest=digest)
    failed = same.filter(state=State.FAILED, finished__gt=timezone.now() - RECENT).first()
    if failed is not None:
        raise PreviewFailed(failed.error)
    active = same.filter(state__in=ACTIVE_STATES, cancel_requested=False).first()
    if active is not None:
        return active
    with transaction.atomic():
        paid: set[str] = set()
        for stale in mine.filter(state__in=ACTIVE_STATES, cancel_requested=False):
            if all(stale.payload[name] == request[name] for name in ("model", "policy")):
                paid.update(stale.payload["texts"])  # already charged, and scored by the new job
            jobs.stop(stale, actor=actor)
        daily_sentences.charge(actor, len(set(texts) - paid))
        return jobs.enqueue(
            KIND,
            {**request, "digest": digest},
            owner=actor,
            queue=QUEUE,
            title=f"Preview with {model.name}",
            total=len(texts),
            max_attempts=1,
        )


def _wait(job: Job, model: RegisteredModel) -> Waiting | None:
    """Wait briefly, because most previews finish within that time; return None when done. Does not wait for a model
    that has to be loaded first."""
    seconds = model.load_seconds if model.load_seconds is not None else model.facts.get("load_seconds")
    slow = BACKENDS[model.backend].needs_torch or (seconds or 0.0) > WAIT_SECONDS
    loading = slow and not is_loaded_somewhere(model.slug, QUEUE)
    end = time.monotonic() + (0.0 if loading else WAIT_SECONDS)
    while True:
        row = Job.objects.filter(pk=job.pk).values_list("state", "error").first()
        state, error = row if row is not None else (State.DONE, "")
        if state == State.DONE:
            return None
        if state == State.FAILED:
            raise PreviewFailed(error)
        if time.monotonic() >= end or state == State.CANCELLED:
            return Waiting(str(job.pk), loading, seconds)
        time.sleep(POLL_SECONDS)


@handler(KIND, seconds=600)
def score_preview(context: JobContext) -> None:
    """Score the texts that are missing from the cache, chunk by chunk, so that an outdated preview stops early.
    Transient failures are stored with the job.
    """
    from models_registry.warm import loaded_model

    model = RegisteredModel.objects.filter(pk=context.payload["model"]).first()
    if model is None:
        raise PermanentFailure("The model was deleted.")
    rights.require(
        context,
        {f"the model {model.slug}": lambda person: permissions.can_run(person, model)},
    )
    policy = ScoringPolicy.from_dict(context.payload["policy"])
    try:
        with loaded_model(model) as backend:
            scores = score_missing(context, backend, policy, context.payload["texts"])
    except BackendError as error:
        raise PermanentFailure(str(error)) from error
    scorer = score_store.scorer_key(backend.facts, policy)
    failed = {
        text: row.reason for text, row in scores.items() if isinstance(row, ScoringFailure) and row.transient
    }
    with context.finish():
        if failed:
            payload = {**context.payload, "scorer": scorer, "failed": failed}
            Job.objects.filter(pk=context.job_id).update(payload=payload)
        if (
            scorer_of(model, policy) != scorer
        ):  # the model was checked on another machine: record its facts here
            model.refresh_from_db(fields=["facts"])  # its start token may have changed in between
            facts = {
                **model.facts,
                **backend.facts.to_dict(),
                "bos": model.facts.get("bos", backend.facts.bos),
            }
            RegisteredModel.objects.filter(pk=model.pk).update(facts=facts)
        drop_old()


def drop_old() -> int:
    """Delete jobs of previews older than KEEP; return how many."""
    old = Job.objects.filter(kind=KIND, state__in=FINAL_STATES, started__lt=timezone.now() - KEEP)
    return old.delete()[1].get(Job._meta.label, 0) if old.exists() else 0


def score_missing(
    context: JobContext, backend: Backend, policy: ScoringPolicy, texts: Sequence[str]
) -> dict[str, Scores]:
    """Score the texts that the cache lacks, and return the scores of all texts. New scores are cached, except
    transient failures."""
    scorer = score_store.scorer_key(backend.facts, policy)
    known = cache.read(scorer, texts)
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    done = len(texts) - len(missing)
    for places in plan_chunks(missing, CHUNK_CHARACTERS):
        context.refresh()
        context.check()
        chunk = [missing[place] for place in places]
        scores: Sequence[Scores] = backend.score(chunk, policy)
        new_scores = dict(zip(chunk, scores, strict=True))
        with context.transaction():
            cache.write(scorer, new_scores)
        known |= new_scores
        done += len(chunk)
        context.progress(done, len(texts), "sentences")
    return known
