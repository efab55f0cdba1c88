"""Score a document with a loaded model, for the site's commands and `lmgym.evaluate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from lmgym.models.backends import Backend
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.chunks import chunk_characters, plan_chunks
from lmgym.runs.compute import RunResult, evaluate_document, joined_sentences
from lmgym.runs.needed import Needed
from lmgym.runs.provenance import error_of
from lmgym.runs.token_arrays import Scores
from lmgym.suites.formats import SuiteDocument

Progress = Callable[[int, int], None]
"""Called with the number of distinct sentences scored, and the total."""


class ScoreStore(Protocol):
    """Cache of scores by text, for one model and policy."""

    def read(self, texts: Sequence[str]) -> dict[str, Scores]: ...
    def write(self, scores: Mapping[str, Scores]) -> None: ...


def score_document(
    document: SuiteDocument,
    backend: Backend,
    policy: ScoringPolicy,
    *,
    store: ScoreStore | None = None,
    progress: Progress = lambda done, total: None,
) -> RunResult:
    """Compute region values, outcomes and rates of a document.

    Sentences are scored in the same chunks as on the site, so that a machine gives the same bits either way. Texts in
    `store` keep their stored bits. Raises BackendError if the model does not support the policy.
    """
    joined = joined_sentences(document, policy)
    texts = [row.text for row in joined]
    needed = Needed(document, joined) if policy.tokens == "needed" else None
    known: dict[str, Scores] = store.read(texts) if store else {}
    missing = [text for text in texts if text not in known]
    total = len(set(texts))
    progress(total - len(set(missing)), total)
    for places in plan_chunks(missing, chunk_characters(backend.facts.parameters, backend.facts.device)):
        batch = [missing[place] for place in places]
        batch_scores = needed.score(backend, batch, policy) if needed else backend.score(batch, policy)
        scores = dict(zip(batch, batch_scores, strict=True))
        if store:
            store.write(scores)
        known.update(scores)
        progress(len(known), total)
    facts = backend.facts
    return evaluate_document(
        document,
        [known[text] for text in texts],
        policy,
        error_of(facts),
        left_to_right=facts.left_to_right,
    )
