"""Fit the contents of a file to a suite, align tokens with the suite's sentences, and compute outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.models.engine.token_alignment import SearchBudget, TokenAlignmentError, TokenSpan, align_tokens
from lmgym.models.engine.token_rules import TokenRules
from lmgym.runs.compute import RunResult, SentenceResult, measure, metric_of, result_of_rows
from lmgym.runs.outcomes import outcomes_alone
from lmgym.runs.token_arrays import Scores
from lmgym.runs.uploaded.contents import FileSentence, FileToken, OutcomePart, OutcomeRow, Part, ScorePart
from lmgym.runs.uploaded.plausibility import check_mean, check_signs
from lmgym.runs.uploaded.table_files import numbering
from lmgym.suites.formats import SentenceDoc, SuiteDocument
from lmgym.suites.formats.documents import METRICS
from lmgym.suites.regions import JOIN_POLICIES, AlignmentError, JoinedSentence, align, join
from lmgym.text import count, listing
from lmgym.text.problems import Notice, Report

LISTED = 12


@dataclass(frozen=True)
class FittedPart:
    """Results of a suite from a part of a file. `missing`: names of the data that the file lacks.

    `metric` is empty for outcomes; `end_scored`: some end token has bits; `shift` was added to the file's item
    numbers.
    """

    result: RunResult
    missing: tuple[str, ...]
    notices: tuple[Notice, ...]
    metric: str = ""
    end_scored: bool = False
    shift: int = 0

    @property
    def failures(self) -> list[SentenceResult]:
        return [row for row in self.result.sentences if row.failure]


def fit_part(part: Part, document: SuiteDocument) -> FittedPart:
    """Fit a part to a suite. Raises `FormatError` if it does not fit."""
    report = Report()
    if isinstance(part, OutcomePart):
        return _outcomes(part, document, report)
    metric = part.metrics[0] if part.metrics and part.metrics[0] else metric_of(document)
    if metric not in METRICS:
        report.problem("file", f"unknown metric “{metric[:40]}”", f"Known: {', '.join(METRICS)}.")
    check_signs(part, report)
    report.raise_problems()
    missing: list[str] = []
    end_scored = False
    if part.kind in {"lmzoo", "tokens"}:
        found = _by_number(part, document, report) if part.numbered else _by_name(part, document, report)
        report.raise_problems()
        rows, end_scored = align_sentences(part, document, found, metric, report)
        if any(not token.number >= 0 for sentence in part.sentences for token in sentence.tokens):
            missing.append("token ids")
    else:
        rows = _region_rows(part, document, metric, report)
        missing.append("tokens")
    _refuse_if_nothing_fits(rows, report)
    check_mean(rows, document, metric, report)
    report.raise_problems()
    result = result_of_rows(document, rows, metric=metric)
    return FittedPart(result, tuple(missing), tuple(report.notices), metric, end_scored)


def _by_name(part: ScorePart, document: SuiteDocument, report: Report) -> list[FileSentence | None]:
    """Match the file's sentences with the suite's by item and condition; requires exactly the same set."""
    by_key = {(row.item, row.condition): row for row in part.sentences}
    known = {(row.item, row.condition) for row in document.sentences}
    for key, row in by_key.items():
        if key not in known:
            message = f"the suite has no item {row.item} in the condition “{row.condition[:60]}”"
            report.problem(row.where, message, "Is this the right suite, in the right version?")
    absent = [
        f"item {item}, {condition}" for item, condition in sorted(known) if (item, condition) not in by_key
    ]
    if absent:
        message = (
            f"the file lacks {len(absent)} of the suite's {len(known)} sentences: {listing(absent, LISTED)}"
        )
        report.problem("file", message, "List every sentence; leave the value empty if there is none.")
    return [by_key.get((row.item, row.condition)) for row in document.sentences]


def _by_number(part: ScorePart, document: SuiteDocument, report: Report) -> list[FileSentence | None]:
    """Match the file's sentences with the suite's by number. Missing sentences are reported later."""
    by_number = {row.item: row for row in part.sentences}
    n = len(document.sentences)
    for number, row in by_number.items():
        if not 1 <= number <= n:
            message = f"the file has a sentence {number}, but the suite has sentences 1 to {n}"
            report.problem(row.where, message, "Sentences are numbered in the order of the suite's file.")
    return [by_number.get(number) for number in range(1, n + 1)]


def _region_rows(
    part: ScorePart, document: SuiteDocument, metric: str, report: Report
) -> list[SentenceResult]:
    found = _by_name(part, document, report)
    rows: list[SentenceResult] = []
    folded = free = 0
    for position, (sentence, in_file) in enumerate(zip(document.sentences, found, strict=True)):
        if in_file is None:
            continue
        folded += _check_regions(in_file, sentence, report)
        values = [
            _value(in_file.regions.get(number), content, metric)
            for number, content in enumerate(sentence.contents, start=1)
        ]
        was_free = metric != "range" and _unscore_first(values, sentence)
        free += was_free
        known = [value for value in values if value is not None]
        whole = metric == "sum" and len(known) + was_free == len(values)
        rows.append(
            SentenceResult(
                position=position,
                item=sentence.item,
                condition=sentence.condition,
                text=sentence.text,
                regions=values,
                special_surprisal=0.0,
                surprisal=sum(known) if whole else None,
                tokens=[],
                failure="" if known else "the file has no value for any of its regions",
            )
        )
    if free:
        message = f"{count(free, 'sentence')} whose first region has 0 bits: treated as not scored"
        report.notice("file", f"{message}, so that region has no value")
    if folded:
        report.notice(
            "file",
            f"{count(folded, 'region')} whose text differs from the suite's only in capitals: case ignored",
        )
    return rows


def _unscore_first(values: list[float | None], sentence: SentenceDoc) -> bool:
    """Remove the value of the first non-empty region if it is exactly 0 bits, i.e. its token was not scored; return
    True if removed. A sentence with one region keeps its value."""
    filled = [at for at, content in enumerate(sentence.contents) if content]
    if len(filled) < 2 or values[filled[0]] != 0:
        return False
    values[filled[0]] = None
    return True


def _value(bits: float | None, content: str, metric: str) -> float | None:
    """Return the value of a region: an empty region has 0 bits for `sum` and no value for other metrics."""
    return 0.0 if bits is None and not content and metric == "sum" else bits


def _check_regions(in_file: FileSentence, sentence: SentenceDoc, report: Report) -> int:
    """Compare region texts; return the number that differ only in case. Other differences are problems."""
    n = len(sentence.contents)
    numbers = range(1, n + 1)
    wrong = sorted(number for number in in_file.regions if number not in numbers)
    if wrong:
        message = f"item {in_file.item}, {in_file.condition}: regions that the suite lacks: {listing(wrong)}"
        report.problem(in_file.where, message, f"The suite has regions 1 to {n}.")
    absent = [number for number in numbers if number not in in_file.regions]
    if absent:
        message = f"item {in_file.item}, {in_file.condition}: regions without a row: {listing(absent)}"
        report.problem(in_file.where, message, "Leave the value empty if there is none.")
    folded = 0
    for number in numbers:
        file_text, suite_text = in_file.contents.get(number), sentence.contents[number - 1]
        if file_text is None or file_text == suite_text:
            continue
        if file_text.casefold() == suite_text.casefold():
            folded += 1
        else:
            message = (
                f"region {number} reads “{file_text[:60]}” in the file, and “{suite_text[:60]}” in the suite"
            )
            where = f"{in_file.where} (item {in_file.item}, {in_file.condition})"
            report.problem(where, message, "The results belong to another version of the suite.")
    return folded


def _refuse_if_nothing_fits(rows: Sequence[SentenceResult], report: Report) -> None:
    if rows and all(row.failure for row in rows) and not report.problems:
        for row in rows[:LISTED]:
            report.problem(f"item {row.item}, {row.condition}", row.failure)
        report.problem(
            "file", f"none of the {len(rows)} sentences could be matched", "Is this the right suite?"
        )


def _outcomes(part: OutcomePart, document: SuiteDocument, report: Report) -> FittedPart:
    if not document.predictions:
        report.problem("file", "the suite has no predictions, so it cannot have outcomes")
    report.raise_problems()
    labels = [row.name.strip() or f"Prediction {k}" for k, row in enumerate(document.predictions, start=1)]
    by_prediction = _by_prediction(part, labels, report)
    shift = numbering({row.item for row in part.rows}, document.items, report)
    report.raise_problems()
    predictions = []
    for place, rows in sorted(by_prediction.items()):
        held = {row.item + (shift or 0): bool(row.correct) for row in rows}
        numbering(held, document.items, report)  # every prediction has every item
        report.raise_problems()
        predictions.append(
            outcomes_alone(
                place,
                document.predictions[place],
                [held[item] for item in document.items],
                len(document.region_names),
            )
        )
    if shift:
        report.notice("file", "items are numbered from 0; 1 was added to match the suite")
    missing = ["tokens", "surprisals by region", "margins", "which failures are ties"]
    unjudged = [label for k, label in enumerate(labels) if k not in by_prediction]
    if unjudged:
        missing.append(f"outcomes of {listing(unjudged)}")
        if not any(row.prediction or row.number for row in part.rows):
            message = f"one outcome per item, taken as the outcome of the first prediction, “{labels[0]}”"
            report.notice("file", message)
    result = RunResult(list(document.items), [], predictions, [])
    return FittedPart(result, tuple(missing), tuple(report.notices), shift=shift or 0)


def _by_prediction(part: OutcomePart, labels: Sequence[str], report: Report) -> dict[int, list[OutcomeRow]]:
    """Group rows by prediction, each item at most once."""
    found: dict[int, list[OutcomeRow]] = {}
    seen: dict[tuple[int, int], str] = {}
    for row in part.rows:
        place = _place(row, labels, report)
        if place is None:
            continue
        if (place, row.item) in seen:
            message = f"item {row.item} of {labels[place][:60]} is already in {seen[place, row.item]}"
            report.problem(row.where, message, "Keep one of the two rows.")
            continue
        seen[place, row.item] = row.where
        found.setdefault(place, []).append(row)
    report.raise_problems()
    return found


def _place(row: OutcomeRow, labels: Sequence[str], report: Report) -> int | None:
    """Find the prediction of a row: by name; by number if the row has no name or several predictions share
    it; the first prediction if the row has neither."""
    named = [k for k, label in enumerate(labels) if label == row.prediction]
    if not row.prediction:
        named = [k for k in range(len(labels)) if k == (row.number or 1) - 1]
    elif row.number is not None and len(named) > 1:
        named = [k for k in named if k == row.number - 1]
    if len(named) == 1:
        return named[0]
    what = f"“{row.prediction[:60]}”" if row.prediction else "with this number"
    if named:
        message = f"the suite has {len(named)} predictions {what}"
        report.problem(row.where, message, "Add a column prediction_number.")
    else:
        hint = f"Its predictions: {listing([f'“{label[:60]}”' for label in labels])}."
        report.problem(row.where, f"the suite has no prediction {what}", hint)
    return None


def align_sentences(
    part: ScorePart,
    document: SuiteDocument,
    found: Sequence[FileSentence | None],
    metric: str,
    report: Report,
) -> tuple[list[SentenceResult], bool]:
    """Return one result per sentence of the suite, and whether any end token has bits. A sentence that does not fit is
    a failure."""
    policy = ScoringPolicy(metric=metric)
    rules = part.rules or TokenRules()
    budget = SearchBudget()
    aligned: list[JoinedSentence] = []
    scored: list[Scores] = []
    free = unknown = folded = 0
    end_scored = False
    for sentence, in_file in zip(document.sentences, found, strict=True):
        joined = join(sentence.contents, "space")
        scores: Scores
        if in_file is None or not in_file.tokens:
            scores = ScoringFailure("the sentence is not in the file")
        else:
            try:
                joined, steps, was_folded = _align_or_fold(sentence.contents, in_file.tokens, rules, budget)
            except TokenAlignmentError as error:
                scores = ScoringFailure(str(error))
            else:
                scores, was_free = _scores(in_file.tokens, steps)
                free += was_free
                folded += was_folded
                unknown += any(step.unknown for step in steps)
                end_scored |= any(
                    step.special and token.bits is not None
                    for step, token in zip(steps[1:], in_file.tokens[1:], strict=True)
                )
        aligned.append(joined)
        scored.append(scores)
    if free:
        message = f"{count(free, 'sentence')} whose first token has 0 bits: treated as not scored"
        report.notice("file", f"{message}, so the region of that token has no value")
    if folded:
        message = (
            f"{count(folded, 'sentence')} whose tokens differ from the suite's only in capitals: case ignored"
        )
        spec = "; the spec says “cased”: true" if part.rules else ""
        report.notice("file", f"{message}{spec}")
    if unknown:
        report.notice("file", f"{count(unknown, 'sentence')} with words that the model's vocabulary lacks")
    measured = measure(document, scored, policy, left_to_right=False, joined=aligned)
    return measured.rows(), end_scored


def _align_or_fold(
    contents: Sequence[str], tokens: Sequence[FileToken], rules: TokenRules, budget: SearchBudget
) -> tuple[JoinedSentence, list[TokenSpan], bool]:
    """Align with `_align_tokens`; if it fails, retry ignoring case (the last value is then True), because some
    tokenizers lower-case without declaring it."""
    try:
        return *_align_tokens(contents, tokens, rules, budget), False
    except TokenAlignmentError as error:
        if not rules.cased:
            raise
        reason = error
    try:
        return *_align_tokens(contents, tokens, replace(rules, cased=False), budget), True
    except TokenAlignmentError:
        raise reason from None


def _align_tokens(
    contents: Sequence[str], tokens: Sequence[FileToken], rules: TokenRules, budget: SearchBudget
) -> tuple[JoinedSentence, list[TokenSpan]]:
    """Return the joined sentence and one span per token: from the file's offsets if they fit, else by matching text."""
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
    """Return spans from the file's offsets; None unless they reach the end of the text and agree with the file's
    regions."""
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
        stated_region is None or stated_region == region
        for stated_region, region in zip(stated, alignment.region, strict=True)
    )
    return steps if agrees else None


def _scores(tokens: Sequence[FileToken], steps: Sequence[TokenSpan]) -> tuple[TokenScores, bool]:
    """Return the tokens with their bits, and whether the first one counts as unscored: its bits are exactly 0."""
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
