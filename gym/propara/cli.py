"""The command line: `evaluate` as the reference's evaluator.py, `explain` as its explainer.py. Imports no Django.

`python -m gym.propara` is this without Django's start-up; `manage.py propara` is the same thing.
"""

from __future__ import annotations

import io
import sys

from gym.propara import compat
from gym.propara.errors import Crash, ProParaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from typing import Any, TextIO


def parser(prog: str) -> argparse.ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        def _get_option_tuples(self, option_string: str) -> Any:
            """The reference's options may be shortened; those it does not have may not."""
            found = super()._get_option_tuples(option_string)
            return [one for one in found if one[0].dest not in ("format", "bootstrap")]

    top = Parser(
        prog=prog,
        description="Score predictions about processes (ProPara), or put an action file into words.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="evaluate | explain")
    evaluate = commands.add_parser(
        "evaluate", help="score predictions", description="Evaluator for ProPara Leaderboard"
    )
    for name, what, text in (
        ("predictions", "predictions_file", "Path to file with predictions"),
        ("answers", "answers_file", "Path to file with answers"),
        ("output", "output_file", "Output results to this file."),
        ("diagnostics", "diagnostics_file", "Write diagnostics to this file."),
        ("sentences", "sentences_file", "Path to file with sentences."),
    ):
        required = name in ("predictions", "answers")
        evaluate.add_argument(f"--{name}", f"-{name[0]}", dest=what, required=required, help=text)
    evaluate.add_argument("--format", choices=["text", "json"], default="text", help="json: everything known")
    evaluate.add_argument(
        "--bootstrap",
        type=_positive,
        default=0,
        metavar="N",
        help="95%% intervals from N resamples of the processes",
    )
    commands.add_parser(
        "explain",
        help="action file on standard input, sentences on standard output",
        description="Reads an action file from standard input and prints its events in words.",
    )
    return top


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


_positive.__name__ = "positive int"


def main(
    argv: Sequence[str],
    prog: str = "python -m gym.propara",
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run; the exit code. Wrong arguments end in SystemExit(2), as argparse has it."""
    err = err or sys.stderr or io.StringIO()
    if out:
        return _run(argv, prog, out, err)
    try:
        code = _run(argv, prog, sys.stdout or io.StringIO(), err)
        if sys.stdout:
            sys.stdout.flush()
    except OSError as error:
        print(f"Error: Cannot write standard output: {error.strerror}.", file=err)
        _silence()
        return Crash.exit_code
    return code


def _silence() -> None:
    """What is left in the buffer of standard output would fail again when Python ends."""
    import os

    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())


def _run(argv: Sequence[str], prog: str, out: TextIO, err: TextIO) -> int:
    paths = _plain(argv)
    if paths is not None:
        return compat.run(paths, out, err)
    options = parser(prog).parse_args(argv)
    if options.command == "explain":
        return _explain(out, err)
    paths = compat.Paths(
        options.predictions_file,
        options.answers_file,
        options.output_file,
        options.diagnostics_file,
        options.sentences_file,
    )
    if options.format == "json":
        return _json(paths, options.bootstrap, out, err)
    if not options.bootstrap:
        return compat.run(paths, out, err)
    scores: list[Sequence[tuple[float, float]]] = []
    code = compat.run(paths, out, err, scores)
    if code == 0:
        out.write(_intervals_text(scores, options.bootstrap))
    return code


_PLAIN = {
    "-p": "predictions",
    "--predictions": "predictions",
    "-a": "answers",
    "--answers": "answers",
    "-o": "output",
    "--output": "output",
    "-d": "diagnostics",
    "--diagnostics": "diagnostics",
    "-s": "sentences",
    "--sentences": "sentences",
}


def _plain(argv: Sequence[str]) -> compat.Paths | None:
    """Options written out in full, each once: what nearly every call looks like. All else is for argparse, whose
    import takes longer than scoring fifty processes."""
    words, values = argv[1::2], argv[2::2]
    if not argv or argv[0] != "evaluate" or len(words) != len(values):
        return None
    if not all(word in _PLAIN for word in words) or any(value.startswith("-") for value in values):
        return None
    found = {_PLAIN[word]: value for word, value in zip(words, values, strict=True)}
    if len(found) < len(words) or not {"predictions", "answers"} <= found.keys():
        return None
    return compat.Paths(
        found["predictions"],
        found["answers"],
        found.get("output"),
        found.get("diagnostics"),
        found.get("sentences"),
    )


def _explain(out: TextIO, err: TextIO) -> int:
    """Bytes that are not UTF-8 pass through untouched, as they do where the reference runs in the C locale."""
    from gym.propara.explain import explain

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


def _json(paths: compat.Paths, resamples: int, out: TextIO, err: TextIO) -> int:
    """Everything as one JSON object. --output is written as ever, --diagnostics is not (it is all in here)."""
    import json

    from gym.propara import render
    from gym.propara.grid import read_text
    from gym.propara.report import evaluate

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
        if resamples and report.averages:
            from gym.propara.bootstrap import bootstrap

            data["intervals"] = bootstrap(report, resamples).as_dict()
        out.write(json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n")
        if report.averages is None:
            pid, failure = next(iter(report.errors.items()))
            raise Crash(f"Process {pid} has no score ({failure.code}): {failure.message}")
        if paths.output:
            compat.write_file(paths.output, render.metrics_json(report.averages))
    except ProParaError as error:
        if error.problems:
            problems = [problem.as_dict() for problem in error.problems]
            out.write(json.dumps({"problems": problems}, ensure_ascii=False, indent=2) + "\n")
        print(f"Error: {error}", file=err)
        return error.exit_code
    return 0


def _intervals_text(scores: Sequence[Sequence[tuple[float, float]]], resamples: int) -> str:
    """`scores`: of each process, precision and recall of the four questions."""
    import numpy as np

    from gym.propara.bootstrap import intervals

    found = intervals(np.array(scores, dtype=np.float64).reshape(len(scores), -1), resamples).as_dict()
    lines = [f"95% intervals from {resamples} resamples of {len(scores)} processes:"]
    for name in ("precision", "recall", "f1"):
        low, high = found[name]
        label = {"f1": "F1"}.get(name, name.capitalize())
        lines.append(f"Overall {label:<9} {low:.3f} to {high:.3f}")
    return "\n".join(lines) + "\n"
