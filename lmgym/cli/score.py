"""`lmgym score`: surprisals of sentences, locally or on a site."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from lmgym.cli import at_site, shared
from lmgym.cli.policy import add_device, add_overlap, add_policy, policy_of
from lmgym.client import Client
from lmgym.text.arguments import Parser


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Compute surprisals of sentences in bits, token by token. The exit status is 2 if a sentence has "
        "none.",
    )
    top.add_argument("texts", nargs="*", metavar="TEXT", help="default: one text per line of standard input")
    top.add_argument(
        "--model",
        "-m",
        required=True,
        help="a folder, an n-gram or GGUF file, or organisation/name[@revision] on the Hub; with --site: a slug",
    )
    shared.add_output(top, ("csv", "json", "parquet"))
    add_policy(top)
    add_overlap(top)
    add_device(top)
    at_site.add_choice_of_site(top, "use a model of the site")
    return top


def main(argv: Sequence[str], prog: str = "lmgym score") -> int:
    """Run the command; return its exit status. Invalid arguments raise SystemExit(2)."""
    return shared.run(_score, parser(prog), argv)


def _score(options: argparse.Namespace) -> int:
    texts = options.texts or _lines()
    if not texts:
        raise shared.Failed("No text to score.")
    if options.site is None:
        from lmgym.evaluation import score

        policy = policy_of(options)
        frame = score(texts, options.model, policy=policy, device=options.device, dtype=options.dtype)
    elif (options.device, options.dtype) != ("auto", "float32"):
        raise shared.Failed("--device and --dtype are for local models: omit them with --site.")
    elif options.overlap is not None:
        raise shared.Failed("--overlap is for local models: omit it with --site.")
    else:
        frame = _at_site(at_site.client_of(options), texts, options)
    shared.write(shared.rendered(frame, options.format), options.output)
    scored = set(frame.loc[frame["surprisal"].notna(), "text_number"])
    reasons = dict(frame.loc[frame["failure"] != "", ["text_number", "failure"]].itertuples(index=False))
    without = [number for number in range(1, len(texts) + 1) if number not in scored]
    for number in without:
        shared.note(f"text {number}: {reasons.get(number, 'no token has a value')}")
    return shared.WRONG if without else shared.DONE


def _lines() -> list[str]:
    """Return the non-blank lines of standard input. Raises Failed if it is not UTF-8."""
    try:
        text = sys.stdin.buffer.read().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise shared.Failed(f"Standard input is not UTF-8 ({error.reason} at byte {error.start}).") from error
    return [line for line in text.splitlines() if line.strip()]


def _at_site(client: Client, texts: Sequence[str], options: argparse.Namespace) -> Any:
    from lmgym.evaluation import token_frame

    cells: list[tuple[Any, ...]] = []
    scored = client.score(options.model, texts, policy=policy_of(options))
    for number, sentence in enumerate(scored, start=1):
        if sentence.failure:
            cells.append((number, None, None, None, None, None, None, None, sentence.failure))
            continue
        for token_number, token in enumerate(sentence.tokens, start=1):
            values = (token.token, token.token_id, token.start, token.end, token.special, token.surprisal)
            cells.append((number, token_number, *values, ""))
    return token_frame(cells)
