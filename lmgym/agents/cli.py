"""The command line: `agenttest` runs test cases, `assess` sorts the failures of one."""

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

COMMANDS = {
    "agenttest": (
        "Run agent test cases (HOCON) against an agent server. Exit status: 0 when all passed, 1 when some failed, "
        "2 when something could not be read or no check of a case was made, 3 when none failed and some have no "
        "verdict, because a server or judge could not be asked."
    ),
    "assess": (
        "Make all iterations of an agent test case and sort its failures into modes. Exit status: 0 when they were "
        "made, 2 when something could not be read, 3 when none has a verdict, because a server or judge could not be "
        "asked."
    ),
}
INTERRUPTED = 130


def parser(prog: str, more: Callable[[Any], None] = lambda commands: None) -> argparse.ArgumentParser:
    """Everything. `more` adds subcommands that are run elsewhere."""
    top = argparse.ArgumentParser(prog=prog, description="Test agents by conversations.")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    test, sort = (commands.add_parser(name, help=text, description=text) for name, text in COMMANDS.items())
    test.add_argument("files", nargs="+", type=Path, metavar="FILE", help="test cases, or folders of them")
    test.add_argument("--format", choices=reports.FORMATS, default="table")
    test.add_argument(
        "--early-stop", action="store_true", help="stop when enough iterations passed or no longer can"
    )
    sort.add_argument("file", type=Path, metavar="FILE", help="a test case")
    sort.add_argument("--format", choices=["text", "json"], default="text")
    sort.add_argument("--namer", metavar="AGENT", help="agent that says why answers failed")
    for command in (test, sort):
        command.add_argument(
            "--iterations",
            type=_iterations,
            metavar="N",
            help="make so many of each case, with the required rate as it is; default: as the case says",
        )
        shared.add_arguments(command)
    more(commands)
    return top


def _iterations(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_ITERATIONS:
        raise argparse.ArgumentTypeError(f"a number from 1 to {MAX_ITERATIONS:,} is needed, not {text!r}")
    return int(text)


def main(
    argv: Sequence[str],
    prog: str = "lmgym agents",
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Run; the exit status. Wrong arguments end in SystemExit(2)."""
    given = vars(parser(prog).parse_args(argv))
    out, err = _safe(out or sys.stdout), _safe(err or sys.stderr)
    try:
        shared.check_output(given)
        return {"agenttest": _agenttest, "assess": _assess}[given["command"]](given, out, err)
    except CommandError as error:
        err.write(f"{prog} {given['command']}: {error}\n")
        return WRONG
    except BrokenPipeError:
        with contextlib.suppress(OSError):
            sys.stdout.close()
        return 0
    except KeyboardInterrupt:
        err.write("Stopped.\n")
        return INTERRUPTED


def _safe(stream: TextIO) -> TextIO:
    """Answers may hold characters that a terminal cannot write."""
    if isinstance(stream, io.TextIOWrapper):
        stream.reconfigure(errors="backslashreplace")
    return stream


def _agenttest(given: dict[str, Any], out: TextIO, err: TextIO) -> int:
    server = shared.transport(given["server"], given)
    judge = shared.judge(given, server)
    options = shared.options(given, early_stop=given["early_stop"])
    results: list[tuple[str, CaseResult]] = []
    wrong = False
    for path in shared.files(given["files"]):
        try:
            case = repeated(shared.read(path, given, err), given["iterations"])
        except CaseError as error:
            message = shared.explain(path, error, given)
            err.write(f"{message}\n")
            result = CaseResult("", Ratio(1, 1, ""), options.reading, error=message)
            wrong = True
        else:
            result = shared.hidden(run_case(case, server, judge, options), given)
        results.append((shared.said_path(path), result))
    shared.write_output(out, given, reports.render(results, given["format"]))
    return WRONG if wrong else reports.exit_status(results)


def _assess(given: dict[str, Any], out: TextIO, err: TextIO) -> int:
    server = shared.transport(given["server"], given)
    try:
        case = repeated(shared.read(given["file"], given, err), given["iterations"])
    except CaseError as error:
        raise CommandError(shared.explain(given["file"], error, given)) from None
    judge, options = shared.judge(given, server), shared.options(given)
    result = shared.hidden(run_case(case, server, judge, options), given)
    assessment = _named(result, server, given["namer"], err) if given["namer"] else assess(result)
    if given["format"] == "json":
        text = json.dumps(assessment.as_dict(), ensure_ascii=False, indent=2) + "\n"
    else:
        text = text_report(assessment)
    shared.write_output(out, given, text)
    return reports.NO_VERDICT if result.errors and not result.n else 0


def _named(result: CaseResult, server: Transport, namer: str, err: TextIO) -> Assessment:
    made = list(choices(samples_of(result), {}, chooser(AgentJudge(server, namer))))
    troubles = [choice.trouble for choice in made if choice.trouble]
    undecided = sum(not choice.mode for choice in made)
    if undecided:
        why = troubles[0] if troubles else "neither a number of the list nor NEW was said."
        err.write(f"{undecided} of {len(made)} failures stay as grouped by text. {namer}: {why}\n")
    return assess(
        result,
        names={choice.mode: choice.name for choice in made if choice.mode},
        chosen={choice.place: choice.mode for choice in made if choice.mode},
    )
