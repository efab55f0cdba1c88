"""Examples for the API's description; a test holds them against the schemas."""

from __future__ import annotations

from typing import Any

RUN = "3f2a9c1d5e7b8a604c21"
OTHER_RUN = "9b1e4c7f0a2d8b6355fe"
RULE = {
    "key": "each",
    "label": "each prediction",
    "counts": "the mean over predictions of their pass rates",
}
NOTE = "Scoring rule: each prediction (the mean over predictions of their pass rates; as SyntaxGym)."
NO_SEEDS = {"seeds": None, "deviation_between_seeds": None, "range_of_seeds": None}
MEAN: dict[str, Any] = {
    "rate": 0.9,
    "interval": [0.699, 0.972],
    "suites_run": 1,
    "suites": 2,
    **NO_SEEDS,
}
CELL: dict[str, Any] = {
    "run": RUN,
    "rate": 0.9,
    "interval": [0.699, 0.972],
    "passed": 18,
    "judged": 20,
    "n_items": 20,
    "chance": 0.5,
    "p_above_chance_uncorrected": 0.0002,
    "p_holm": 0.0002,
    "ties": 0,
    "too_close": 0,
    "not_evaluable": 0,
    "source": "computed",
    "policy": "default",
    "score_kind": "surprisal",
    **NO_SEEDS,
}


def _column(slug: str, title: str) -> dict[str, Any]:
    return {
        "key": slug,
        "slug": slug,
        "title": title,
        "revision": 1,
        "sha256": "6d1f" * 16,
        "tags": ["agreement"],
        "weight": 1.0,
        "chance": 0.5,
    }


GAP: dict[str, Any] = {
    "model": "demo-gpt2",
    "suite": "npi_orc",
    "why": "not run",
    "run": None,
    "predictions_held": None,
    "predictions": None,
}
ROW: dict[str, Any] = {
    "model": ["demo-gpt2"],
    "name": "Demo GPT-2",
    "parameters": 1_200_000,
    "perplexity": None,
    "score": MEAN,
    "tags": {},
    "suites": {"agreement_orc": CELL, "npi_orc": None},
    "missing": [GAP],
}
BOARD = {
    "next": None,
    "rule": RULE,
    "note": NOTE,
    "suites": [_column("agreement_orc", "Agreement"), _column("npi_orc", "Polarity")],
    "results": [ROW],
}
DIFFERENCE = {"n": 20, "mean": 0.35, "interval": [0.13, 0.57], "effect": 0.71}
TEST = {"method": "mcnemar", "only_first": 0, "only_second": 7, "p": 0.0156, "p_corrected": 0.0312}
NAMED = {"model": "demo-gpt2", "name": "Demo GPT-2"}
COMPARED = {
    "next": None,
    "rule": RULE,
    "note": NOTE,
    "correction": "Holm",
    "models": [{"model": "demo-ngram", "name": "Demo n-gram"}, NAMED],
    "missing": [GAP],
    "totals": [NAMED | {"difference": DIFFERENCE | {"effect": None}, "suites_both": 1}],
    "results": [
        {
            "suite": "agreement_orc",
            "title": "Agreement",
            "revision": 1,
            "sha256": "6d1f" * 16,
            "rates": [
                {"run": OTHER_RUN, "rate": 0.55, "interval": [0.342, 0.742], "n_items": 20},
                {"run": RUN, "rate": 0.9, "interval": [0.699, 0.972], "n_items": 20},
            ],
            "against_baseline": [{"difference": DIFFERENCE, "test": TEST}],
            "unlike": [],
        }
    ],
}
POLICY = {"bos": "auto", "eos": False, "join": "space", "metric": "sum"}
SIDES: list[dict[str, Any]] = [
    {
        "model": "demo-ngram",
        "name": "Demo n-gram",
        "label": "Demo n-gram",
        "revision": 1,
        "run": OTHER_RUN,
        "rate": 0.55,
        "interval": [0.342, 0.742],
        "n_items": 20,
        "score_kind": "surprisal",
        "policy": POLICY,
    },
    {
        **NAMED,
        "label": "Demo GPT-2",
        "revision": 1,
        "run": RUN,
        "rate": 0.9,
        "interval": [0.699, 0.972],
        "n_items": 20,
        "score_kind": "surprisal",
        "policy": POLICY | {"bos": "never"},
    },
]
UNLIKE = [{"fact": "bos", "values": ["auto", "never"]}]
COMPARISON = {
    "suite": "agreement_orc",
    "title": "Agreement",
    "rule": RULE,
    "note": NOTE,
    "correction": "Holm",
    "sides": SIDES,
    "unlike": UNLIKE,
    "not_run": [],
    "missing": [],
    "pairs": [
        {
            "first": 0,
            "second": 1,
            "rate": DIFFERENCE,
            "test": TEST,
            "margin": {"n": 20, "mean": 2.5, "interval": [1.1, 3.8], "effect": 0.6},
        }
    ],
    "n_items": 20,
    "n_differ": 7,
}
COMPARED_ITEMS = {
    "next": None,
    "rule": RULE,
    "sides": SIDES,
    "unlike": UNLIKE,
    "results": [
        {
            "item": 1,
            "differs": True,
            "sides": [
                {"outcomes": ["failed"], "counts": 0.0, "margin_bits": -0.4},
                {"outcomes": ["held"], "counts": 1.0, "margin_bits": 3.5},
            ],
        }
    ],
}
PROFILE = {
    **NAMED,
    "rule": RULE,
    "note": NOTE,
    "score": MEAN,
    "missing": [GAP],
    "tags": [{"tag": "agreement", "mean": MEAN, "others_mean": 0.6, "others": 2}],
    "suites": [
        {
            "suite": "agreement_orc",
            "revision": 1,
            "run": RUN,
            "rate": 0.9,
            "interval": [0.699, 0.972],
            "n_items": 20,
            "chance": 0.5,
            "policy": "default",
            "others_mean": 0.6,
            "others": 2,
            "difference": 0.3,
            "rank": 1,
        }
    ],
    "strengths": ["agreement_orc"],
    "weaknesses": [],
    "pairs": [
        {
            "plain": "centre",
            "modified": "centre_mod",
            "without": 0.9,
            "without_interval": [0.699, 0.972],
            "items_without": 20,
            "with_modifier": 0.85,
            "with_interval": [0.64, 0.948],
            "items_with": 20,
            "difference": -0.05,
            "difference_interval": [-0.266, 0.167],
        }
    ],
    "checkpoints": [],
    "field": [{**NAMED, "parameters": 1_200_000, "perplexity": None, "score": MEAN}],
}
