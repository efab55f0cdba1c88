"""Scoring policy and device on the command line."""

from __future__ import annotations

import argparse
from typing import Any

from lmgym.models.engine.policy import METRICS, TOKEN_POLICIES, WHITESPACE_POLICIES
from lmgym.suites.regions import JOIN_POLICIES

NAMES = ("bos", "eos", "join", "metric", "whitespace", "tokens", "overlap")


def add_policy(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("scoring policy: all settings that change numbers")
    group.add_argument(
        "--bos",
        metavar="auto|always|never|TOKEN",
        help="start token: the model's own if it has one (auto), the model's own or an error (always), none (never), "
        "or a token of the vocabulary; default: auto",
    )
    group.add_argument("--eos", action="store_true", default=None, help="also score the end of the sentence")
    group.add_argument(
        "--join", choices=JOIN_POLICIES, help="how regions are joined into a sentence; default: space"
    )
    group.add_argument(
        "--metric", choices=METRICS, help="how tokens are aggregated in a region; default: the suite's"
    )
    group.add_argument(
        "--whitespace", choices=WHITESPACE_POLICIES, help="whitespace correction; default: none"
    )
    group.add_argument(
        "--tokens",
        choices=TOKEN_POLICIES,
        help="tokens to score: all, or those that predictions need; default: all",
    )


def add_overlap(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--overlap",
        type=int,
        metavar="N",
        help="score texts longer than the model's context in windows that share N tokens; default: refuse them",
    )


def policy_of(options: argparse.Namespace) -> dict[str, Any]:
    """Return the policy options set on the command line, as fields of `ScoringPolicy`."""
    return {name: value for name in NAMES if (value := getattr(options, name, None)) is not None}


def add_device(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, cuda:1, cuda:all; default: auto")
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16", "float16"))
