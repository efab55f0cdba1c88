"""`lmgym score`: surprisals of sentences."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from lmgym.cli import shared


def parser(prog: str) -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog=prog, description="Surprisals of sentences in bits, token by token.")
    top.add_argument("texts", nargs="*", metavar="TEXT", help="default: the lines of standard input")
    top.add_argument("--model", "-m", required=True, help="a folder, an n-gram file, or a hub id")
    top.add_argument("--format", choices=("csv", "json", "parquet"), default="csv")
    top.add_argument("--output", "-o", type=Path, help="default: standard output")
    shared.add_policy(top)
    shared.add_device(top)
    return top


def main(argv: Sequence[str], prog: str = "lmgym score") -> int:
    """Run; the exit status. Wrong arguments raise SystemExit(2)."""
    return shared.run(_score, parser(prog), argv)


def _score(options: argparse.Namespace) -> int:
    from lmgym.evaluation import score

    texts = options.texts or [line.rstrip("\r\n") for line in sys.stdin if line.strip()]
    if not texts:
        raise shared.Failed("There is no text to score.")
    frame = score(
        texts, options.model, policy=shared.policy_of(options), device=options.device, dtype=options.dtype
    )
    shared.write(shared.rendered(frame, options.format), options.output)
    return 0
