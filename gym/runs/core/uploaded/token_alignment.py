"""Tokens of a file aligned with the sentences of a suite."""

from __future__ import annotations

from collections.abc import Sequence

from gym.lib.problems import Report
from gym.lib.text import count
from gym.runs.core.compute import SentenceResult, measure
from gym.runs.core.token_arrays import Scores
from gym.runs.core.uploaded.contents import FileSentence, FileToken, ScorePart
from models_registry.engine import ScoringFailure, ScoringPolicy, TokenScores
from models_registry.engine.token_alignment import SearchBudget, TokenAlignmentError, TokenSpan, align_tokens
from models_registry.engine.token_rules import TokenRules
from suites.formats import SuiteDocument
from suites.regions import JOIN_POLICIES, AlignmentError, JoinedSentence, align, join


def align_sentences(
    part: ScorePart,
    document: SuiteDocument,
    found: Sequence[FileSentence | None],
    metric: str,
    report: Report,
) -> tuple[list[SentenceResult], bool]:
    """A result per sentence of the suite, and whether any end token has bits. What does not fit is a failure."""
    policy = ScoringPolicy(metric=metric)
    rules = part.rules or TokenRules()
    budget = SearchBudget()
    aligned: list[JoinedSentence] = []
    scored: list[Scores] = []
    free = unknown = 0
    end_scored = False
    for sentence, given in zip(document.sentences, found, strict=True):
        joined = join(sentence.contents, "space")
        scores: Scores
        if given is None or not given.tokens:
            scores = ScoringFailure("it is not in the file")
        else:
            try:
                joined, steps = _align_tokens(sentence.contents, given.tokens, rules, budget)
            except TokenAlignmentError as error:
                scores = ScoringFailure(str(error))
            else:
                scores, was_free = _scores(given.tokens, steps)
                free += was_free
                unknown += any(step.unknown for step in steps)
                end_scored |= any(
                    step.special and token.bits is not None
                    for step, token in zip(steps[1:], given.tokens[1:], strict=True)
                )
        aligned.append(joined)
        scored.append(scores)
    if free:
        message = f"{count(free, 'sentence')} whose first token has 0 bits: taken as not scored"
        report.notice("file", f"{message}, so its region has no value")
    if unknown:
        report.notice("file", f"{count(unknown, 'sentence')} with words that the model's vocabulary lacks")
    measured = measure(document, scored, policy, left_to_right=False, joined=aligned)
    return measured.rows(), end_scored


def _align_tokens(
    contents: Sequence[str], tokens: Sequence[FileToken], rules: TokenRules, budget: SearchBudget
) -> tuple[JoinedSentence, list[TokenSpan]]:
    """The sentence as joined, and a step per token: by the file's own offsets where they fit, else by a walk."""
    if any(token.span is not None for token in tokens):
        for policy in JOIN_POLICIES:
            joined = join(contents, policy)
            steps = _by_offsets(joined, tokens)
            if steps is not None:
                return joined, steps
    joined = join(contents, "space")
    special = [None if token.region is None else token.region < 0 for token in tokens]
    return joined, align_tokens(joined.text, [token.text for token in tokens], rules, special, budget)


def _by_offsets(joined: JoinedSentence, tokens: Sequence[FileToken]) -> list[TokenSpan] | None:
    """Steps from start and end; None unless they reach the end of the text and agree with the file's regions."""
    steps: list[TokenSpan] = []
    for token in tokens:
        special = token.region == -1
        if token.span is None or (not special and not 0 <= token.span[0] <= token.span[1]):
            return None
        steps.append(TokenSpan(0, 0, special=True) if special else TokenSpan(*token.span))
    reached = max((step.end for step in steps if not step.special), default=0)
    if reached != len(joined.text):
        return None
    try:
        alignment = align(
            joined, [(step.start, step.end) for step in steps], [step.special for step in steps]
        )
    except AlignmentError:
        return None
    stated = [token.region for token in tokens]
    agrees = all(
        said is None or said == region for said, region in zip(stated, alignment.region, strict=True)
    )
    return steps if agrees else None


def _scores(tokens: Sequence[FileToken], steps: Sequence[TokenSpan]) -> tuple[TokenScores, bool]:
    """The tokens with their bits; a first token of exactly 0 bits was not scored, which is told apart here."""
    bits = [token.bits for token in tokens]
    free = False
    if bits and bits[0] == 0.0:
        bits[0] = None
        free = not steps[0].special
    scores = TokenScores(
        tokens=[token.text for token in tokens],
        ids=[token.number for token in tokens],
        offsets=[(step.start, step.end) for step in steps],
        bits=bits,
        special=[step.special for step in steps],
    )
    return scores, free
