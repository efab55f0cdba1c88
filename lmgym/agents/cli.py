"""The commands `agenttest`, which runs test cases, and `assess`, which runs one case and groups its failures."""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from lmgym.agents import cli_options as shared
from lmgym.agents import reports
from lmgym.agents.assessor import Assessment, assess, choices, chooser, samples_of, text_report
from lmgym.agents.cases import MAX_ITERATIONS, CaseError, Ratio, repeated
from lmgym.agents.cli_options import WRONG, CommandError
from lmgym.agents.driver import run_case
from lmgym.agents.llm_judge import AgentJudge
from lmgym.agents.results import CaseResult
from lmgym.agents.transport import Transport
from lmgym.text.arguments import Parser

COMMANDS = {
    "agenttest": (
        "Run agent test cases (HOCON) against an agent server. Exit status: 0 if all passed, 1 if some failed, "
        "2 if a file could not be read or a case ran none of its checks, 3 if no case failed but some have no "
        "verdict, for example because a server or judge could not be reached."
    ),
    "assess": (
        "Run all iterations of an agent test case and group its failures into modes. Exit status: 0 if the "
        "iterations were run, 2 if a file could not be read, 3 if no iteration has a verdict, for example because a "
        "server or judge could not be reached."
    ),
}
INTERRUPTED = 130


def parser(prog: str, more: Callable[[Any], None] = lambda commands: None) -> argparse.ArgumentParser:
    """Build the parser. `more` adds subcommands that are implemented elsewhere."""
    top = Parser(prog=prog, description="Test agents with scripted conversations.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    test, sort = (commands.add_parser(name, help=text, description=text) for name, text in COMMANDS.items())
    test.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="test cases or folders of test cases"
    )
    test.add_argument("--format", choices=reports.FORMATS, default="table")
    test.add_argument(
        "--early-stop",
        action="store_true",
        help="stop once the required number of iterations has passed or can no longer be reached",
    )
    sort.add_argument("file", type=Path, metavar="FILE", help="a test case")
    sort.add_argument("--format", choices=["text", "json"], default="text")
    sort.add_argument("--namer", metavar="AGENT", help="agent that names the reasons why answers failed")
    for command in (test, sort):
        command.add_argument(
            "--iterations",
            type=_iterations,
            metavar="N",
            help="iterations of each case; its required rate is unchanged; default: the number in the case",
        )
        shared.add_arguments(command)
    more(commands)
    return top


def _iterations(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_ITERATIONS:
        raise argparse.ArgumentTypeError(f"expected a number from 1 to {MAX_ITERATIONS:,}, not {text!r}")
    return int(text)


def main(
    argv: Sequence[str],
    prog: str = "lmgym agents",
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run a command and return its exit status. Raises SystemExit(2) for invalid arguments."""
    args = vars(parser(prog).parse_args(argv))
    out, err = _safe(out or sys.stdout), _safe(err or sys.stderr)
    try:
        shared.check_output(args)
        return {"agenttest": _agenttest, "assess": _assess}[args["command"]](args, out, err)
    except CommandError as error:
        err.write(f"{prog} {args['command']}: {error}\n")
        return WRONG
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 0
    except KeyboardInterrupt:
        err.write("Stopped.\n")
        return INTERRUPTED


def _safe(stream: TextIO) -> TextIO:
    """Escape characters in answers that the terminal cannot display."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _agenttest(args: dict[str, Any], out: TextIO, err: TextIO) -> int:
    server = shared.transport(args["server"], args)
    judge = shared.judge(args, server)
    options = shared.options(args, early_stop=args["early_stop"])
    results: list[tuple[str, CaseResult]] = []
    wrong = False
    for path in shared.files(args["files"]):
        try:
            case = repeated(shared.read(path, args, err), args["iterations"])
        except CaseError as error:
            message = shared.explain(path, error, args)
            err.write(f"{message}\n")
            result = CaseResult("", Ratio(1, 1, ""), options.reading, error=message)
            wrong = True
        else:
            result = shared.hidden(run_case(case, server, judge, options), args)
        results.append((shared.report_path(path), result))
    shared.write_output(out, args, reports.render(results, args["format"]))
    return WRONG if wrong else reports.exit_status(results)


def _assess(args: dict[str, Any], out: TextIO, err: TextIO) -> int:
    server = shared.transport(args["server"], args)
    try:
        case = repeated(shared.read(args["file"], args, err), args["iterations"])
    except CaseError as error:
        raise CommandError(shared.explain(args["file"], error, args)) from None
    judge, options = shared.judge(args, server), shared.options(args)
    result = shared.hidden(run_case(case, server, judge, options), args)
    assessment = _named(result, server, args["namer"], err) if args["namer"] else assess(result)
    if args["format"] == "json":
        text = json.dumps(assessment.as_dict(), ensure_ascii=False, indent=2) + "\n"
    else:
        text = text_report(assessment)
    shared.write_output(out, args, text)
    return reports.NO_VERDICT if result.errors and not result.n else 0


def _named(result: CaseResult, server: Transport, namer: str, err: TextIO) -> Assessment:
    """Assess a case, with an agent naming its failures."""
    made = list(choices(samples_of(result), {}, chooser(AgentJudge(server, namer))))
    troubles = [choice.trouble for choice in made if choice.trouble]
    undecided = sum(not choice.mode for choice in made)
    if undecided:
        why = troubles[0] if troubles else "the reply was neither a listed number nor NEW."
        err.write(f"failures that stay grouped by text: {undecided} of {len(made)}. {namer}: {why}\n")
    return assess(
        result,
        names={choice.mode: choice.name for choice in made if choice.mode},
        chosen={choice.place: choice.mode for choice in made if choice.mode},
    )
