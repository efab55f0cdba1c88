"""How a run gets its scores: chunk by chunk, each committed before the next begins; or, without the web, by the same
arithmetic in the calling process.

Chunks are stored before the first is scored: a worker that takes over scores the same sentences together, and so gets
the same bits. Whole sentences go into the score cache. A sentence of which only needed tokens were computed stays with
its chunk until the run is done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from django.conf import settings

from gym.jobs.context import JobContext
from gym.runs.core.chunks import chunk_characters, plan_chunks
from gym.runs.core.compute import RunResult, evaluate_document, joined_sentences
from gym.runs.core.needed import Needed
from gym.runs.core.provenance import error_bits_of
from gym.runs.core.token_arrays import Scores
from gym.runs.models import RunChunk, SuiteRun
from gym.runs.work import cache
from models_registry.backends import Backend
from models_registry.engine import ScoringFailure, ScoringPolicy
from suites.formats import SuiteDocument
from suites.selectors import document_of


class Scoring:
    """One attempt at the scores of one run."""

    def __init__(self, context: JobContext, run: SuiteRun, backend: Backend) -> None:
        self.context, self.run, self.backend = context, run, backend
        self.policy = ScoringPolicy.from_dict(run.policy)
        self.document = document_of(run.revision)
        joined = joined_sentences(self.document, self.policy)
        self.needed = Needed(self.document, joined) if self.policy.tokens == "needed" else None
        self.texts = [row.text for row in joined]
        self.scorer = cache.scorer_key(backend.facts, self.policy)
        self.passing: dict[str, Scores] = {}  # failures that may not happen again, and are kept nowhere

    @property
    def n_unique(self) -> int:
        return len(set(self.texts))

    def scores(self) -> list[Scores]:
        """Scores of all sentences, in document order."""
        while True:
            chunks = self._chunks()
            self._score(chunks)
            found = self._kept(chunks) | cache.read(self.scorer, self.texts) | self.passing
            if all(text in found for text in self.texts):
                return [found[text] for text in self.texts]
            self.run.scorer = ""  # the cache was cleared meanwhile: the chunks are planned anew

    def _chunks(self) -> list[RunChunk]:
        """The run's chunks; planned and stored by the first attempt, so that later attempts find the same ones.

        They belong to one scorer: with another device or after a new check they are planned again.
        """
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
        return list(run.chunks.order_by("number"))

    def _texts_of(self, chunk: RunChunk) -> list[str]:
        return [self.texts[position] for position in chunk.positions]

    def _progress(self, chunks: Sequence[RunChunk], left: Sequence[RunChunk]) -> None:
        of_chunks = sum(len(chunk.positions) for chunk in chunks)
        done = of_chunks - sum(len(chunk.positions) for chunk in left)
        self.context.progress(self.n_unique - of_chunks + done, self.n_unique, "sentences")

    def _score(self, chunks: Sequence[RunChunk]) -> None:
        left = [chunk for chunk in chunks if not chunk.done]
        self._progress(chunks, left)
        while left:
            self.context.check()
            texts = self._texts_of(left[0])
            if self.needed is None:
                found: Sequence[Scores] = self.backend.score(texts, self.policy)
            else:
                found = self.needed.score(self.backend, texts, self.policy)
            self._keep(left.pop(0), dict(zip(texts, found, strict=True)))
            self._progress(chunks, left)

    def _keep(self, chunk: RunChunk, scores: dict[str, Scores]) -> None:
        """Whole sentences in the cache, the others in the chunk."""
        passing = {
            text: score
            for text, score in scores.items()
            if isinstance(score, ScoringFailure) and score.transient
        }
        self.passing.update(passing)
        parts = {text: score for text, score in scores.items() if not cache.is_whole(score)}
        chunk.done = not passing
        chunk.scores = {text: cache.to_json(score) for text, score in parts.items()} or None
        with self.context.transaction(brings_forward=True):
            cache.write(self.scorer, {text: scores[text] for text in scores if text not in parts})
            chunk.save(update_fields=["scores", "done"])

    @staticmethod
    def _kept(chunks: Sequence[RunChunk]) -> dict[str, Scores]:
        return {
            text: cache.from_json(stored) for chunk in chunks for text, stored in (chunk.scores or {}).items()
        }


def run_document(
    document: SuiteDocument,
    backend: Backend,
    policy: ScoringPolicy,
    *,
    use_cache: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> RunResult:
    """Score and judge a document. `progress(done, total)` is called with counts of distinct sentences.

    With the cache, texts that this scorer has seen keep the bits they have on the site's pages.
    """
    joined = joined_sentences(document, policy)
    texts = [row.text for row in joined]
    needed = Needed(document, joined) if policy.tokens == "needed" else None
    scorer = cache.scorer_key(backend.facts, policy)
    known: dict[str, Scores] = cache.read(scorer, texts) if use_cache else {}
    missing = [text for text in texts if text not in known]
    total = len(set(texts))
    progress(total - len(set(missing)), total)
    for places in plan_chunks(missing, chunk_characters(backend.facts.parameters, backend.facts.device)):
        batch = [missing[place] for place in places]
        found = needed.score(backend, batch, policy) if needed else backend.score(batch, policy)
        scores = dict(zip(batch, found, strict=True))
        if use_cache:
            cache.write(scorer, {text: row for text, row in scores.items() if cache.is_whole(row)})
        known.update(scores)
        progress(len(known), total)
    facts = backend.facts
    return evaluate_document(
        document,
        [known[text] for text in texts],
        policy,
        error_bits_of(facts),
        left_to_right=facts.left_to_right,
    )
