"""Records that callers store: policies and token scores."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from lmgym.models.engine import ScoringPolicy, TokenScores


def test_defaults_and_round_trip() -> None:
    policy = ScoringPolicy()
    assert policy.to_dict() == {
        "bos": "auto",
        "eos": False,
        "join": "space",
        "metric": "sum",
        "whitespace": "none",
        "tokens": "all",
    }
    other = ScoringPolicy(bos="never", eos=True, join="natural", metric="mean")
    assert ScoringPolicy.from_dict(json.loads(json.dumps(other.to_dict()))) == other
    assert ScoringPolicy.from_dict({}) == policy
    assert len({policy, ScoringPolicy(), other}) == 2


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"bos": "Never"}, "bos is 'Never': choose one of auto, always, never, or a token"),
        ({"bos": "no"}, "bos is 'no': choose one of auto, always, never, or a token"),
        ({"bos": " "}, "bos is ' ', which is not a token"),
        ({"bos": "a\x00"}, "which is not a token"),
        ({"bos": "a" * 101}, "which is not a token"),
        ({"bos": None}, "bos is None"),
        ({"join": "tabs"}, "join is 'tabs'"),
        ({"metric": "all"}, "metric is 'all'"),
        ({"eos": 1}, "eos is 1"),
        ({"whitespace": "trailing", "metric": "mean"}, "choose the metric sum, or no whitespace correction"),
        ({"log_base": 2, "bos": "auto"}, "unknown fields of a scoring policy: 'log_base'"),
    ],
)
def test_bad_policies(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ScoringPolicy.from_dict(bad)


def test_a_policy_is_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        ScoringPolicy().eos = True  # type: ignore[misc]


def test_token_scores_round_trip() -> None:
    scores = TokenScores(["<s>", "a"], [1, 7], [(0, 0), (0, 1)], [None, 2.5], [True, False])
    assert TokenScores.from_dict(json.loads(json.dumps(scores.to_dict()))) == scores
    assert len(scores) == 2


def test_columns_must_match() -> None:
    with pytest.raises(ValueError, match="unequal length"):
        TokenScores(["a"], [1], [(0, 1)], [], [False])


def test_importing_the_engine_brings_no_torch_and_no_django() -> None:
    code = (
        "import sys, lmgym.models.engine;"
        "print([m for m in ('django', 'torch', 'transformers', 'suites') if m in sys.modules])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
