"""A run without the web: the same arithmetic as the worker's, in the calling process."""

from __future__ import annotations

from collections.abc import Callable

from gym.runs.core.chunks import chunk_characters, plan_chunks
from gym.runs.core.compute import RunResult, evaluate_document, joined_sentences
from gym.runs.core.needed import Needed
from gym.runs.core.provenance import error_bits_of
from gym.runs.core.token_arrays import Scores
from gym.runs.work import cache
from models_registry.backends import Backend
from models_registry.engine import ScoringPolicy
from suites.formats import SuiteDocument


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
