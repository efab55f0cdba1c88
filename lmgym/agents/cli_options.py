"""Command-line options shared by the agent commands: server, judge, files, output."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import urlsplit

from lmgym import net
from lmgym.agents.archives import SUFFIXES
from lmgym.agents.case_reader import read_case
from lmgym.agents.cases import CaseError, Problem, TestCase
from lmgym.agents.demo_server import DemoTransport
from lmgym.agents.driver import Options
from lmgym.agents.hocon import MAX_BYTES
from lmgym.agents.llm_judge import AgentJudge, VotingJudge
from lmgym.agents.redact import TOO_SHORT, can_be_hidden, header_words, redactor
from lmgym.agents.results import CaseResult
from lmgym.agents.retries import run_transport
from lmgym.agents.transport import HTTPTransport, Transport, server_address_problem
from lmgym.files import archives

EMBEDDED = "embedded"
WRONG = 2
"""Exit status if a file could not be read or nothing could be run."""


class CommandError(Exception):
    """Raised with a message for the user if nothing can be run."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--server",
        required=True,
        metavar="URL",
        help='an agent server, or "embedded": the built-in demo agents',
    )
    parser.add_argument(
        "--reference-compatible",
        action="store_true",
        help="follow the code of neuro-san 0.7.15 where it differs from its documentation (on a site: the reading "
        "“reference-compatible”)",
    )
    parser.add_argument(
        "--judge",
        metavar="AGENT",
        help="agent that judges gist and not_gist; without a judge, these checks are errors",
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="treat warnings about a file, such as an unknown test, as errors and do not run it",
    )
    parser.add_argument(
        "--judge-server", metavar="URL", help="URL of the judge's server; default: the server of --server"
    )
    parser.add_argument(
        "--votes", type=int, default=1, help="number of votes of the judge; the majority decides; default: 1"
    )
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VARIABLE",
        help="send the value of this environment variable as a header; it is hidden in all output; may be repeated",
    )
    parser.add_argument(
        "--judge-header",
        action="append",
        default=[],
        metavar="NAME=VARIABLE",
        help="like --header, but for --judge-server, which does not receive the headers of --server",
    )
    parser.add_argument(
        "--variable",
        action="append",
        default=[],
        metavar="NAME",
        help="environment variable that files may use as ${NAME}; its value is hidden in all output; may be repeated",
    )
    parser.add_argument(
        "--parallel", type=int, default=4, help="iterations to run at the same time; default: 4"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=300.0,
        help="time limit of a request in seconds, if the case sets none; default: 300",
    )
    parser.add_argument("--output", "-o", type=Path, help="default: standard output")


def check_output(args: dict[str, Any]) -> None:
    """Fail before the run if --output cannot be written."""
    if args["output"]:
        _write(args["output"], "", "a")


def write_output(out: TextIO, args: dict[str, Any], text: str) -> None:
    if args["output"]:
        _write(args["output"], text, "w")
    else:
        out.write(text)


def _write(path: Path, text: str, mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise CommandError(f"Cannot write {path}: {error.strerror}.") from error


def from_environment(name: str) -> str:
    """Read a secret from the environment. Raises CommandError if it is not set or too short to be hidden in results."""
    value = os.environ.get(name)
    if not value:
        raise CommandError(f"The environment variable {name} is not set.")
    if not all(map(can_be_hidden, header_words(value))):
        raise CommandError(f"The value of the environment variable {name} is too short. {TOO_SHORT}")
    return value


def variables(args: dict[str, Any]) -> dict[str, str]:
    return {name: from_environment(name) for name in args["variable"]}


def headers(pairs: list[str]) -> dict[str, str]:
    """Parse NAME=VARIABLE pairs into headers with the values of the environment variables. Raises CommandError."""
    values = {}
    for pair in pairs:
        name, sign, variable = pair.partition("=")
        if not sign:
            raise CommandError(f"{pair} is not NAME=VARIABLE.")
        values[name] = from_environment(variable)
    return values


def transport(url: str, args: dict[str, Any], header_option: str = "header") -> Transport:
    """Return the transport to a server, with the headers given by the option `header_option`.

    GYM_NET_ALLOW is not applied: it restricts a site's users, whereas the user of a command can already reach every
    address from this machine. Raises CommandError for an invalid address or header.
    """
    if url == EMBEDDED:
        return DemoTransport()
    if problem := server_address_problem(url):
        raise CommandError(f"Invalid server address: {problem}")
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
    port = parts.port or (443 if parts.scheme == "https" else 80)

    def policy(**limits: Any) -> net.NetPolicy:
        return net.NetPolicy.allowing(f"{host}:{port}", f"0.0.0.0/0:{port}", f"[::/0]:{port}", **limits)

    values = headers(args[header_option])
    hidden = tuple(word for value in values.values() for word in header_words(value))
    return run_transport(HTTPTransport(url, policy=policy, headers=values, secrets=hidden))


def secrets(args: dict[str, Any]) -> list[str]:
    """Return all texts that must be hidden in output."""
    values = [*headers(args["header"]).values(), *headers(args["judge_header"]).values()]
    return [*variables(args).values(), *(word for value in values for word in header_words(value))]


def options(args: dict[str, Any], **more: Any) -> Options:
    return Options(
        reading="reference-compatible" if args["reference_compatible"] else "document",
        parallel=max(1, args["parallel"]),
        request_seconds=args["seconds"],
        secrets=tuple(secrets(args)),
        **more,
    )


def judge(args: dict[str, Any], server: Transport) -> VotingJudge | None:
    if args["judge_header"] and not args["judge_server"]:
        raise CommandError("--judge-header requires --judge-server.")
    if not args["judge"]:
        return None
    judging = transport(args["judge_server"], args, "judge_header") if args["judge_server"] else server
    compatible = args["reference_compatible"]
    ask = AgentJudge(judging, args["judge"], args["judge_server"] or args["server"], compiled=compatible)
    return VotingJudge(ask, args["votes"], compatible, clean=redactor(secrets(args)))


def files(paths: list[Path]) -> list[Path]:
    """Replace each folder by the .hocon, .conf and .json files in it and its subfolders; keep other paths.
    Raises CommandError if no path is left.
    """
    cases: list[Path] = []
    for path in paths:
        if path.is_dir():
            cases += sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        else:
            cases.append(path)
    if not cases:
        places, suffixes = (", ".join(map(str, names)) for names in (paths, SUFFIXES))
        raise CommandError(f"There are no test cases ({suffixes}) in {places}.")
    return cases


def report_path(path: Path) -> str:
    """Return a file's name for reports: relative to the current folder if inside it, so that reports from two machines
    use the same names."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def read(path: Path, args: dict[str, Any], err: TextIO) -> TestCase:
    """Read a case and write its warnings, without secrets, to `err`; --strict makes them errors. Raises CaseError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        problem = Problem("error", "file", "the file", 0, 0, f"{error.strerror}.")
        raise CaseError([problem]) from None
    if data.startswith(archives.MAGIC):
        message = "This is a zip archive. Unpack it and pass the folder."
        raise CaseError([Problem("error", "file", "the file", 0, 0, message)])
    case = read_case(data, variables(args))
    clean = redactor(secrets(args))
    warnings = [finding for finding in case.findings if finding.severity == "warning"]
    if warnings and args["strict"]:
        raise CaseError(warnings)
    for finding in warnings:
        err.write(clean(f"{path}: {finding}\n"))
    return case


def explain(path: Path, error: CaseError, args: dict[str, Any]) -> str:
    clean = redactor(secrets(args))
    return "\n".join(f"{path}: {clean(str(problem))}" for problem in error.problems)


def hidden(result: CaseResult, args: dict[str, Any]) -> CaseResult:
    """Hide secrets in the texts of the case; iterations contain none."""
    clean = redactor(secrets(args))
    ratio = replace(result.ratio, text=clean(result.ratio.text))
    unsatisfiable = clean(result.unsatisfiable)
    return replace(
        result, agent=clean(result.agent), error=clean(result.error), ratio=ratio, unsatisfiable=unsatisfiable
    )
