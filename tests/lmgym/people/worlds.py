"""Small suites, runs and experiments whose truth is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from lmgym.models.engine import ScoringPolicy, TokenScores
from lmgym.people.observations import Measure, Observations
from lmgym.runs.compute import RunResult, evaluate_document
from lmgym.suites.formats import SuiteDocument, read_json

SPR = Measure("self-paced reading time", "reading time")
WORDS = (
    "time", "year", "people", "way", "day", "man", "thing", "woman", "life", "child", "world", "school", "state",
    "family", "student", "group", "country",
)  # fmt: skip


def suite(n_items: int = 8, *, language: str = "en", seed: int = 3) -> SuiteDocument:
    """Items of two conditions and four regions, the last of two words; region 3 should cost more in `b`."""
    rng = np.random.default_rng(seed)

    def regions() -> list[dict[str, object]]:
        texts = [*rng.choice(WORDS, 3), " ".join(rng.choice(WORDS, 2))]
        return [{"region_number": k, "content": str(text)} for k, text in enumerate(texts, start=1)]

    items = [
        {
            "item_number": item,
            "conditions": [{"condition_name": name, "regions": regions()} for name in ("a", "b")],
        }
        for item in range(1, n_items + 1)
    ]
    return read_json(
        json.dumps(
            {
                "meta": {"name": "small", "metric": "sum", "language": language},
                "region_meta": {"1": "one", "2": "two", "3": "three", "4": "four"},
                "predictions": [{"type": "formula", "formula": "(3;%b%) > (3;%a%)"}],
                "items": items,
            }
        ).encode()
    )


def run(document: SuiteDocument, seed: int = 5, *, bits: np.ndarray | None = None) -> RunResult:
    """A run whose words are tokens with random bits; word 3 of condition b has 4 bits more. `bits`: of all words."""
    rng = np.random.default_rng(seed)
    scores, at = [], 0
    for sentence in document.sentences:
        words = sentence.text.split(" ")
        values = rng.gamma(4.0, 2.0, len(words))
        values[2] += 4.0 * (sentence.condition == "b")
        if bits is not None:
            values = bits[at : at + len(words)]
        at += len(words)
        ends = np.cumsum([len(word) + 1 for word in words]) - 1
        offsets = [(int(end) - len(word), int(end)) for word, end in zip(words, ends, strict=True)]
        scores.append(
            TokenScores(
                ids=list(range(len(words))),
                tokens=words,
                offsets=offsets,
                bits=values.tolist(),
                special=[False] * len(words),
            )
        )
    return evaluate_document(document, scores, ScoringPolicy(), left_to_right=False)


def read(
    document: SuiteDocument,
    result: RunResult,
    n_participants: int = 12,
    *,
    slope: float = 5.0,
    spill: float = 2.0,
    noise: float = 30.0,
    seed: int = 7,
) -> Observations:
    """Everybody reads every sentence word by word: 300 ms + slope × bits + spill × bits of the word before."""
    rng = np.random.default_rng(seed)
    people, of_items = rng.normal(0, 40, n_participants), rng.normal(0, 15, len(document.items))
    rows = []
    for p in range(n_participants):
        for trial, sentence in enumerate(result.sentences, start=1):
            bits = np.array([token[4] for token in sentence.tokens])
            before = np.concatenate(([0.0], bits[:-1]))
            item = document.items.index(sentence.item)
            times = (
                300
                + people[p]
                + of_items[item]
                + slope * bits
                + spill * before
                + rng.normal(0, noise, len(bits))
            )
            code = document.conditions.index(sentence.condition)
            for k, (token, time) in enumerate(zip(sentence.tokens, times, strict=True)):
                rows.append((p, sentence.item, code, token[5] + 1, k + 1, time, trial))
    columns = np.array(rows)
    return Observations(
        SPR,
        tuple(f"p{k}" for k in range(n_participants)),
        document.conditions,
        *(
            columns[:, k].astype(kind)
            for k, kind in enumerate((np.int32, np.int32, np.int16, np.int16, np.int16))
        ),
        columns[:, 5],
        trial=columns[:, 6].astype(np.int32),
    )


def averaged(people: Observations) -> Observations:
    """Means over participants, with their number."""
    places = np.stack([people.item, people.condition, people.word])
    _, first, keys = np.unique(places, axis=1, return_index=True, return_inverse=True)
    n = np.bincount(keys)
    return replace(
        people.take(first),
        participants=(),
        participant=np.full(len(first), -1, np.int32),
        value=np.bincount(keys, people.value) / n,
        n_participants=n.astype(np.int32),
        trial=np.zeros(len(first), np.int32),
    )


def observations(rows, measure=SPR, participants=("p0", "p1"), conditions=("a", "b"), **more):
    """Rows of participant, item, condition, region, word, value."""
    columns = np.array(rows, dtype=float)
    kinds = (np.int32, np.int32, np.int16, np.int16, np.int16, float)
    return Observations(
        measure,
        participants,
        conditions,
        *(columns[:, k].astype(kind) for k, kind in enumerate(kinds)),
        **more,
    )
