"""Score only what predictions need: regions that formulas refer to, and their characters. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lmgym.models.backends import Backend
from lmgym.models.engine import ScoringFailure, ScoringPolicy
from lmgym.runs.token_arrays import Bools, Scores
from lmgym.suites.formats import SuiteDocument
from lmgym.suites.formulas import parse
from lmgym.suites.regions import JoinedSentence, align

Span = tuple[int, int]


def needed_cells(document: SuiteDocument) -> Bools:
    """Return bool[sentence, region], True if predictions refer to the region; the last column is for tokens outside
    regions."""
    required = _regions(document)
    width = len(document.region_names)
    rows = {
        condition: [
            *("*" in regions or number in regions for number in range(1, width + 1)),
            "*" in regions,
        ]
        for condition, regions in required.items()
    }
    cells = [rows[sentence.condition] for sentence in document.sentences]
    return np.array(cells, dtype=np.bool_).reshape(len(cells), width + 1)


def _regions(document: SuiteDocument) -> dict[str, set[int | str]]:
    """Map each condition to the regions that predictions refer to; "*" is the whole sentence."""
    required: dict[str, set[int | str]] = {condition: set() for condition in document.conditions}
    for prediction in document.predictions:
        for condition, region in parse(prediction.formula).references:
            if condition in required:
                required[condition].add(region)
    return required


class Needed:
    """Characters of each text whose tokens affect predictions."""

    def __init__(self, document: SuiteDocument, joined: Sequence[JoinedSentence]) -> None:
        required = _regions(document)
        self._places: dict[str, list[tuple[JoinedSentence, list[Span]]]] = {}
        for sentence, row in zip(document.sentences, joined, strict=True):
            spans = _spans(row, required[sentence.condition])
            self._places.setdefault(row.text, []).append((row, spans))

    def score(self, backend: Backend, texts: Sequence[str], policy: ScoringPolicy) -> list[Scores]:
        """Score at least the needed tokens of these texts. A text is scored in full if a token that counts for a needed
        region lies outside it."""
        results = list(backend.score(texts, policy, [self.spans(text) for text in texts]))
        short = [at for at, text in enumerate(texts) if self._is_short(text, results[at])]
        if short:
            whole = backend.score([texts[at] for at in short], policy)
            for at, scores in zip(short, whole, strict=True):
                results[at] = scores
        return results

    def spans(self, text: str) -> list[Span]:
        """Return the character ranges to pass to `Backend.score(needed=…)`."""
        return sorted({span for _, spans in self._places[text] for span in spans})

    def _is_short(self, text: str, score: Scores) -> bool:
        if isinstance(score, ScoringFailure) or score.complete:
            return False
        for joined, spans in self._places[text]:
            required = {number for number, span in enumerate(joined.spans) if tuple(span) in spans}
            homes = align(joined, score.offsets, score.special).region
            if any(skip and home in required for skip, home in zip(score.not_computed, homes, strict=True)):
                return True
        return False


def _spans(joined: JoinedSentence, regions: set[int | str]) -> list[Span]:
    n = len(joined.text)
    if "*" in regions:
        return [(0, n), (n, n)]  # the empty range selects the end token
    chosen = (joined.spans[region - 1] for region in regions if isinstance(region, int))
    return [(span.start, span.end) for span in chosen if span.end > span.start]
