"""How a run gets its scores: chunk by chunk, needed tokens first, each chunk committed before the next begins.

A run of more than one chunk takes two passes. The first scores the tokens that predictions look at and keeps them in
the chunks; outcomes are judged from them. The second scores the rest and puts whole sentences into the score cache,
which never holds anything else. Both passes work on the same chunks, which are stored before the first is scored: a
worker that takes over scores the same sentences together, and so gets the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from django.conf import settings

from gym.evaluations import cache
from gym.evaluations.chunks import (
    chunk_characters,
    look_at_everything,
    needed_by_text,
    needed_spans,
    plan_chunks,
)
from gym.evaluations.columns import Scores
from gym.evaluations.compute import joined_sentences
from gym.evaluations.filling import FirstValues, joined_up, lacks_needed, rest_of
from gym.evaluations.models import RunChunk, SuiteRun
from gym.jobs.context import JobContext
from models_registry.backends import Backend
from models_registry.engine import ScoringFailure, ScoringPolicy, TokenScores
from suites.selectors import document_of


class Scoring:
    """One attempt at the scores of one run."""

    def __init__(self, context: JobContext, run: SuiteRun, backend: Backend) -> None:
        self.context, self.run, self.backend = context, run, backend
        self.policy = ScoringPolicy.from_dict(run.policy)
        self.document = document_of(run.revision)
        self.joined = joined_sentences(self.document, self.policy)
        self.texts = [joined.text for joined in self.joined]
        self.scorer = cache.scorer_key(backend.facts, self.policy)
        self.passing: dict[str, Scores] = {}  # failures that may not happen again, and are kept nowhere

    @cached_property
    def spans(self) -> list[list[tuple[int, int]]]:
        return needed_spans(self.document, self.joined)

    @property
    def n_unique(self) -> int:
        return len(set(self.texts))

    def needed(self) -> list[Scores]:
        """Scores of all sentences in which every token that a prediction looks at has its value."""
        while True:
            chunks = self._chunks()
            if self._in_two_passes(chunks):
                self._score_needed(chunks)
            else:
                self._score_rest(chunks)
            scores = self._first_pass(chunks) | cache.read(self.scorer, self.texts) | self.passing
            if (found := self._of_all(scores)) is not None:
                return found

    def complete(self) -> list[Scores]:
        """Complete scores of all sentences. Gives way to ordinary work between chunks if it is background work."""
        while True:
            self._score_rest(self._chunks())
            scores = cache.read(self.scorer, self.texts) | self.passing
            if (found := self._of_all(scores)) is not None:
                return found

    def _of_all(self, scores: dict[str, Scores]) -> list[Scores] | None:
        """In document order; None, and the chunks are planned anew, if the cache was cleared meanwhile."""
        if all(text in scores for text in self.texts):
            return [scores[text] for text in self.texts]
        self.run.scorer = ""
        return None

    # --- chunks ---

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

    def _in_two_passes(self, chunks: Sequence[RunChunk]) -> bool:
        """One chunk is scored whole: its results come no later than those of a first pass could matter."""
        return len(chunks) > 1 and not look_at_everything(self.joined, self.spans)

    def _texts_of(self, chunk: RunChunk) -> list[str]:
        return [self.texts[position] for position in chunk.positions]

    def _progress(self, chunks: Sequence[RunChunk], left: Sequence[RunChunk]) -> None:
        of_chunks = sum(len(chunk.positions) for chunk in chunks)
        done = of_chunks - sum(len(chunk.positions) for chunk in left)
        self.context.progress(self.n_unique - of_chunks + done, self.n_unique, "sentences")

    # --- the first pass ---

    def _score_needed(self, chunks: Sequence[RunChunk]) -> None:
        needed = needed_by_text(self.joined, self.spans)
        left = [chunk for chunk in chunks if not chunk.done and chunk.scores is None]
        self._progress(chunks, left)
        while left:
            self.context.check()
            chunk = left[0]
            texts = self._texts_of(chunk)
            found = self.backend.score(texts, self.policy, [needed[text] for text in texts])
            scores = dict(zip(texts, found, strict=True))
            short = [text for text in texts if lacks_needed(scores[text], self._places[text])]
            if short:
                scores.update(zip(short, self.backend.score(short, self.policy), strict=True))
            self._keep_first_pass(chunk, scores)
            left.pop(0)
            self._progress(chunks, left)

    @cached_property
    def _places(self) -> dict[str, list[tuple[object, list[tuple[int, int]]]]]:
        places: dict[str, list[tuple[object, list[tuple[int, int]]]]] = {}
        for joined, spans in zip(self.joined, self.spans, strict=True):
            places.setdefault(joined.text, []).append((joined, spans))
        return places

    def _keep_first_pass(self, chunk: RunChunk, scores: dict[str, Scores]) -> None:
        """In the chunk; or in the cache at once, where a backend scored everything because it costs nothing."""
        whole = not any(_is_open(score) for score in scores.values())
        with self.context.transaction(brings_forward=True):
            if whole:
                cache.write(self.scorer, scores)
                chunk.done = True
            else:
                chunk.scores = [cache.to_json(score) for score in scores.values()]
            chunk.save(update_fields=["scores", "done"])

    def _first_pass(self, chunks: Sequence[RunChunk]) -> dict[str, Scores]:
        """What the first pass found, by text."""
        return {
            text: cache.from_json(stored)
            for chunk in chunks
            if chunk.scores is not None
            for text, stored in zip(self._texts_of(chunk), chunk.scores, strict=True)
        }

    # --- the second pass, or the only one ---

    def _score_rest(self, chunks: Sequence[RunChunk]) -> None:
        left = [chunk for chunk in chunks if not chunk.done]
        self._progress(chunks, left)
        first = self._first_pass(chunks)
        values = self._first_values(first) if first and left else None
        while left:
            self.context.check()
            self.context.give_way()
            chunk = left[0]
            texts = self._texts_of(chunk)
            if chunk.scores is None:
                found = self.backend.score(texts, self.policy)
            else:
                later = self.backend.score(texts, self.policy, rest_of(first, texts, self.policy))
                found = [joined_up(first.get(text), row) for text, row in zip(texts, later, strict=True)]
            if values is not None:
                found = [values.applied(score) for score in found]
            self._keep_whole(chunk, dict(zip(texts, found, strict=True)))
            left.pop(0)
            self._progress(chunks, left)

    def _first_values(self, first: dict[str, Scores]) -> FirstValues | None:
        """What the rest must agree with; None where values depend on what follows, and so belong to whole texts."""
        return FirstValues(self._in_document_order(first)) if self.backend.facts.left_to_right else None

    def _in_document_order(self, first: dict[str, Scores]) -> list[Scores]:
        """Everything that outcomes were judged from: what the first pass found, and what was known before."""
        known = cache.read(self.scorer, [text for text in self.texts if text not in first]) | first
        return [known[text] for text in self.texts if text in known]

    def _keep_whole(self, chunk: RunChunk, scores: dict[str, Scores]) -> None:
        passing = {
            text: score
            for text, score in scores.items()
            if isinstance(score, ScoringFailure) and score.transient
        }
        self.passing.update(passing)
        with self.context.transaction(brings_forward=True):
            cache.write(self.scorer, scores)
            RunChunk.objects.filter(pk=chunk.pk).update(done=not passing)


def _is_open(score: Scores) -> bool:
    """Whether something is left to do about this text."""
    return not score.complete if isinstance(score, TokenScores) else score.transient
