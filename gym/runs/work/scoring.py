"""Score a run chunk by chunk, committing each before the next begins.

Chunks are stored before the first is scored: a worker that takes over or helps scores the same sentences together
and gets the same bits. Complete sentences go into the score cache; a sentence of which only the needed tokens
were scored stays with its chunk until the run is done.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import sleep

from django.conf import settings

from gym.jobs.context import JobContext
from gym.runs.models import RunChunk, SuiteRun
from gym.runs.work import cache
from gym.runs.work.shared_chunks import SharedChunks
from lmgym.models.backends import BACKENDS, Backend
from lmgym.models.engine import ScoringFailure, ScoringPolicy
from lmgym.runs import score_store
from lmgym.runs.chunks import chunk_characters, plan_chunks
from lmgym.runs.compute import joined_sentences
from lmgym.runs.needed import Needed
from lmgym.runs.token_arrays import Scores
from suites.selectors import document_of

POLL_SECONDS = 0.1
"""Interval at which an attempt checks whether helpers have finished."""


class Scoring:
    """One attempt at scoring a run or some of its chunks."""

    def __init__(self, context: JobContext, run: SuiteRun, backend: Backend) -> None:
        self.context, self.run, self.backend = context, run, backend
        self.policy = ScoringPolicy.from_dict(run.policy)
        self.document = document_of(run.revision)
        joined = joined_sentences(self.document, self.policy)
        self.needed = Needed(self.document, joined) if self.policy.tokens == "needed" else None
        self.texts = [row.text for row in joined]
        self.scorer = score_store.scorer_key(backend.facts, self.policy)
        self.passing: dict[str, Scores] = {}  # transient failures, which are not stored

    @property
    def n_unique(self) -> int:
        return len(set(self.texts))

    def scores(self) -> list[Scores]:
        """Return the scores of all sentences, in document order."""
        while True:
            self._plan()
            self._score_all()
            chunks = self.run.chunks.order_by("number")
            known = self._kept(chunks) | cache.read(self.scorer, self.texts) | self.passing
            if all(text in known for text in self.texts):
                return [known[text] for text in self.texts]
            self.run.scorer = ""  # the cache was cleared in between: plan the chunks again

    def help(self) -> None:
        """Score some chunks while another attempt computes the run. Does nothing if this worker would get different
        bits because of a different device or versions."""
        if self.run.scorer != self.scorer:
            return
        shared, n = SharedChunks(self.context, self.run), 0
        while shared.is_help_wanted() and (chunk := shared.claim()) is not None:
            self._score(shared, chunk)
            n += len(chunk.positions)
            self.context.progress(n, unit="sentences")
            self.context.check()

    def _plan(self) -> None:
        """Plan and store the run's chunks once, so that later attempts use the same chunks. Chunks belong to
        one scorer: on another device, or after a new check of the model, they are planned again."""
        run = self.run
        if run.scorer != self.scorer:
            known = cache.read(self.scorer, self.texts)
            missing = [position for position, text in enumerate(self.texts) if text not in known]
            facts = self.backend.facts
            planned = plan_chunks(
                [self.texts[position] for position in missing],
                chunk_characters(facts.parameters, facts.device),
                settings.GYM_CHUNK_SENTENCES,
            )
            cached = self.n_unique - sum(map(len, planned))
            with self.context.transaction():
                run.chunks.all().delete()
                RunChunk.objects.bulk_create(
                    [
                        RunChunk(run=run, number=number, positions=[missing[place] for place in places])
                        for number, places in enumerate(planned)
                    ]
                )
                SuiteRun.objects.filter(pk=run.pk).update(n_cached=cached, scorer=self.scorer)
            run.scorer = self.scorer

    def _score_all(self) -> None:
        """Score free chunks one by one, then wait until other attempts have scored theirs."""
        shared = SharedChunks(self.context, self.run)
        sizes = {
            number: len(positions) for number, positions in self.run.chunks.values_list("number", "positions")
        }
        cached = self.n_unique - sum(sizes.values())
        may_be_helped = BACKENDS[self.run.model.backend].needs_torch
        while True:
            done = self.run.chunks.filter(done=True).values_list("number", flat=True)
            self.context.progress(
                cached + sum(sizes.get(number, 0) for number in done), self.n_unique, "sentences"
            )
            self.context.yield_turn()
            if (chunk := shared.claim()) is not None:
                if may_be_helped and (n := shared.ask_for_help()):
                    self.context.log(f"Asked {n} idle worker{'s' if n > 1 else ''} to help.")
                self._score(shared, chunk)
            elif shared.has_other_attempts():
                sleep(POLL_SECONDS)
            else:
                return

    def _score(self, shared: SharedChunks, chunk: RunChunk) -> None:
        """Score a chunk; store complete sentences in the cache, the others with the chunk."""
        texts = [self.texts[position] for position in chunk.positions]
        if self.needed is None:
            results: Sequence[Scores] = self.backend.score(texts, self.policy)
        else:
            results = self.needed.score(self.backend, texts, self.policy)
        scores = dict(zip(texts, results, strict=True))
        passing = {
            text: score
            for text, score in scores.items()
            if isinstance(score, ScoringFailure) and score.transient
        }
        self.passing.update(passing)
        whole = {text: score for text, score in scores.items() if score_store.is_whole(score)}
        parts = {text: score_store.to_json(score) for text, score in scores.items() if text not in whole}
        with self.context.transaction(brings_forward=True):
            cache.write(self.scorer, whole)
            shared.keep(chunk, parts, done=not passing)

    @staticmethod
    def _kept(chunks: Iterable[RunChunk]) -> dict[str, Scores]:
        return {
            text: score_store.from_json(stored)
            for chunk in chunks
            for text, stored in (chunk.scores or {}).items()
        }


class CachedScores:
    """The site's score cache for one scorer, as the `store` of `score_document`. Keeps only complete sentences."""

    def __init__(self, backend: Backend, policy: ScoringPolicy) -> None:
        self.scorer = score_store.scorer_key(backend.facts, policy)

    def read(self, texts: Sequence[str]) -> dict[str, Scores]:
        return cache.read(self.scorer, texts)

    def write(self, scores: Mapping[str, Scores]) -> None:
        cache.write(self.scorer, {text: row for text, row in scores.items() if score_store.is_whole(row)})
