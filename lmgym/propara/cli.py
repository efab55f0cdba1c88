"""Command line of ProPara. `evaluate` and `explain` behave like the reference's evaluator.py and explainer.py; the
other commands are in `lmgym.propara.commands`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from lmgym.propara import commands as own
from lmgym.propara import reference
from lmgym.propara.errors import Crash, ProParaError
from lmgym.propara.grid import read_text
from lmgym.propara.reference import explain
from lmgym.propara.report import evaluate

COMMANDS = ("evaluate", "explain", "check", "compare", "convert", "prompts", "score-answers", "template")


class _Parser(argparse.ArgumentParser):
    def _get_option_tuples(self, option_string: str) -> Any:
        """Allow abbreviations only for the reference's options."""
        options = super()._get_option_tuples(option_string)
        return [option for option in options if option[0].dest not in ("format", "bootstrap")]


def parser(prog: str, more: Callable[[Any], None] = lambda commands: None) -> argparse.ArgumentParser:
    """Build the parser. `more` adds subcommands that are run by the caller."""
    top = _Parser(
        prog=prog,
        description="Score, check, compare and convert predictions about processes (ProPara).",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    evaluate = commands.add_parser(
        "evaluate", help="score predictions", description="Evaluator for ProPara Leaderboard"
    )
    for name, dest, text in (
        ("predictions", "predictions_file", "Path to file with predictions"),
        ("answers", "answers_file", "Path to file with answers"),
        ("output", "output_file", "Output results to this file."),
        ("diagnostics", "diagnostics_file", "Write diagnostics to this file."),
        ("sentences", "sentences_file", "Path to file with sentences."),
    ):
        required = name in ("predictions", "answers")
        evaluate.add_argument(f"--{name}", f"-{name[0]}", dest=dest, required=required, help=text)
    evaluate.add_argument(
        "--format", choices=["text", "json"], default="text", help="json: the whole report; default: text"
    )
    evaluate.add_argument(
        "--bootstrap",
        type=own.positive,
        default=0,
        metavar="N",
        help="95%% intervals from N resamples of the processes",
    )
    commands.add_parser(
        "explain",
        help="describe an action file from standard input in words",
        description="Read an action file from standard input and print its events in words.",
    )
    own.add_parsers(commands)
    more(commands)
    return top


def main(
    argv: Sequence[str],
    prog: str = "lmgym propara",
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run a command and return its exit code. Invalid arguments raise SystemExit(2)."""
    err = err or sys.stderr or io.StringIO()
    if out:
        return _run(argv, prog, out, err)
    try:
        code = _run(argv, prog, sys.stdout or io.StringIO(), err)
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        print(f"Error: Cannot write to standard output: {error.strerror}.", file=err)
        _silence()
        return Crash.exit_code
    return code


def _silence() -> None:
    """Redirect standard output to os.devnull, because flushing the buffer at exit would fail again."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _run(argv: Sequence[str], prog: str, out: TextIO, err: TextIO) -> int:
    options = parser(prog).parse_args(argv)
    if options.command == "explain":
        return _explain(out, err)
    if options.command != "evaluate":
        return own.run(options, out, err)
    paths = reference.Paths(
        options.predictions_file,
        options.answers_file,
        options.output_file,
        options.diagnostics_file,
        options.sentences_file,
    )
    if options.format == "json":
        return _json(paths, options.bootstrap, out, err)
    return reference.run(paths, out, err, options.bootstrap)


def _explain(out: TextIO, err: TextIO) -> int:
    """Describe standard input. Bytes that are not UTF-8 are kept unchanged, as by the reference in the C locale."""
    stdin = getattr(sys.stdin, "buffer", None)
    text = stdin.read().decode("utf-8", "surrogateescape") if stdin else sys.stdin.read()
    try:
        lines = "".join(f"{line}\n" for line in explain(text))
    except Crash as error:
        print(f"Error: {error}", file=err)
        return error.exit_code
    raw = getattr(out, "buffer", None)
    if raw:
        out.flush()
        raw.write(lines.encode("utf-8", "surrogateescape"))
    else:
        out.write(lines)
    return 0


def _json(paths: reference.Paths, resamples: int, out: TextIO, err: TextIO) -> int:
    """Print the report as a JSON object and write --output. No --diagnostics file is written, because the object
    contains the diagnostics.
    """
    try:
        sentences = read_text(paths.sentences) if paths.sentences else None
        report = evaluate(
            read_text(paths.answers),
            read_text(paths.predictions),
            sentences,
            answers_file=paths.answers,
            predictions_file=paths.predictions,
            sentences_file=paths.sentences or "sentences",
        )
        data = report.as_dict()
        if resamples and report.averages and report.n_answers > 1:
            from lmgym.propara.bootstrap import bootstrap

            data["intervals"] = bootstrap(report, resamples).as_dict()
        out.write(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
        if report.averages is None:
            pid, failure = next(iter(report.errors.items()))
            raise Crash(f"Process {pid} has no score ({failure.code}): {failure.message}")
        if paths.output:
            reference.write_file(paths.output, reference.metrics_json(report.averages))
    except ProParaError as error:
        if error.problems:
            problems = [problem._asdict() for problem in error.problems]
            out.write(json.dumps({"problems": problems}, ensure_ascii=False, indent=2) + "\n")
        print(f"Error: {error}", file=err)
        return error.exit_code
    return 0
