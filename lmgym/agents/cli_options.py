"""Options that the commands on agents share: server, judge, files, output. Pure."""

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
"""Exit status when something could not be read, or nothing could be run."""


class CommandError(Exception):
    """Nothing can be run. `str()` is for the person at the keyboard."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--server", required=True, metavar="URL", help='an agent server, or "embedded"')
    parser.add_argument(
        "--reference-compatible",
        action="store_true",
        help="follow the rules of neuro-san 0.7.15 (its code) where they differ from those of the documentation; "
        "on a site: the reading reference-compatible",
    )
    parser.add_argument(
        "--judge", metavar="AGENT", help="agent that judges gist; without one gist is an error"
    )
    parser.add_argument(
        "--strict",
        action="store_true",
        help="treat warnings about a file, such as an unknown test, as errors and do not run it",
    )
    parser.add_argument("--judge-server", metavar="URL", help="where the judge is; default: the same server")
    parser.add_argument("--votes", type=int, default=1, help="ask the judge so many times, majority decides")
    parser.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=VARIABLE",
        help="send the value of this environment variable as a header; it is shown nowhere",
    )
    parser.add_argument(
        "--judge-header",
        action="append",
        default=[],
        metavar="NAME=VARIABLE",
        help="the same for --judge-server, which gets none of the headers of --server",
    )
    parser.add_argument(
        "--variable",
        action="append",
        default=[],
        metavar="NAME",
        help="environment variable that ${NAME} in the files may stand for; it is shown nowhere",
    )
    parser.add_argument("--parallel", type=int, default=4, help="iterations under way at the same time")
    parser.add_argument("--seconds", type=float, default=300.0, help="longest time for one request")
    parser.add_argument("--output", "-o", type=Path, help="default: standard output")


def check_output(given: dict[str, Any]) -> None:
    """Fail before the run if --output cannot be written."""
    if given["output"]:
        _written(given["output"], "", "a")


def write_output(out: TextIO, given: dict[str, Any], text: str) -> None:
    if given["output"]:
        _written(given["output"], text, "w")
    else:
        out.write(text)


def _written(path: Path, text: str, mode: str) -> None:
    try:
        with path.open(mode, encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise CommandError(f"Cannot write {path}: {error.strerror}.") from error


def from_environment(name: str) -> str:
    """A secret, which must be long enough to be found in results."""
    value = os.environ.get(name)
    if not value:
        raise CommandError(f"The environment variable {name} is not set.")
    if not all(map(can_be_hidden, header_words(value))):
        raise CommandError(f"The environment variable {name} is too short. {TOO_SHORT}")
    return value


def variables(given: dict[str, Any]) -> dict[str, str]:
    return {name: from_environment(name) for name in given["variable"]}


def headers(pairs: list[str]) -> dict[str, str]:
    """NAME=VARIABLE: headers with the values of environment variables."""
    found = {}
    for pair in pairs:
        name, sign, variable = pair.partition("=")
        if not sign:
            raise CommandError(f"{pair} is not NAME=VARIABLE.")
        found[name] = from_environment(variable)
    return found


def transport(url: str, given: dict[str, Any], header_option: str = "header") -> Transport:
    """The server at `url`, with the headers of that option. GYM_NET_ALLOW is for what people ask a site to do; who
    types a command may reach every address from their machine."""
    if url == EMBEDDED:
        return DemoTransport()
    if problem := server_address_problem(url):
        raise CommandError(f"The address of the server: {problem}")
    parts = urlsplit(url)
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else str(parts.hostname)
    port = parts.port or (443 if parts.scheme == "https" else 80)

    def policy(**limits: Any) -> net.NetPolicy:
        return net.NetPolicy.allowing(f"{host}:{port}", f"0.0.0.0/0:{port}", f"[::/0]:{port}", **limits)

    sent = headers(given[header_option])
    hidden = tuple(word for value in sent.values() for word in header_words(value))
    return run_transport(HTTPTransport(url, policy=policy, headers=sent, secrets=hidden))


def secrets(given: dict[str, Any]) -> list[str]:
    """Everything that must appear in no output."""
    sent = [*headers(given["header"]).values(), *headers(given["judge_header"]).values()]
    return [*variables(given).values(), *(word for value in sent for word in header_words(value))]


def options(given: dict[str, Any], **more: Any) -> Options:
    return Options(
        reading="reference-compatible" if given["reference_compatible"] else "document",
        parallel=max(1, given["parallel"]),
        request_seconds=given["seconds"],
        secrets=tuple(secrets(given)),
        **more,
    )


def judge(given: dict[str, Any], server: Transport) -> VotingJudge | None:
    if given["judge_header"] and not given["judge_server"]:
        raise CommandError("--judge-header is for --judge-server.")
    if not given["judge"]:
        return None
    there = transport(given["judge_server"], given, "judge_header") if given["judge_server"] else server
    compatible = given["reference_compatible"]
    ask = AgentJudge(there, given["judge"], given["judge_server"] or given["server"], compiled=compatible)
    return VotingJudge(ask, given["votes"], compatible, clean=redactor(secrets(given)))


def files(paths: list[Path]) -> list[Path]:
    """The files, folders being looked through for .hocon, .conf and .json."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(p for p in path.rglob("*") if p.suffix in SUFFIXES and p.is_file())
        else:
            found.append(path)
    if not found:
        places, kinds = (", ".join(map(str, one)) for one in (paths, SUFFIXES))
        raise CommandError(f"There are no test cases ({kinds}) in {places}.")
    return found


def said_path(path: Path) -> str:
    """The name of a file in reports: from the current folder where it is below it, so that reports of two machines name
    the same tests."""
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def read(path: Path, given: dict[str, Any], err: TextIO) -> TestCase:
    """The case in a file; its warnings go to `err`, without secrets, or are errors with --strict. Raises CaseError."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        problem = Problem("error", "file", "the file", 0, 0, f"{error.strerror}.")
        raise CaseError([problem]) from None
    if data.startswith(archives.MAGIC):
        message = "This is a zip archive. Unpack it and name the folder."
        raise CaseError([Problem("error", "file", "the file", 0, 0, message)])
    case = read_case(data, variables(given))
    clean = redactor(secrets(given))
    warnings = [finding for finding in case.findings if finding.severity == "warning"]
    if warnings and given["strict"]:
        raise CaseError(warnings)
    for finding in warnings:
        err.write(clean(f"{path}: {finding}\n"))
    return case


def explain(path: Path, error: CaseError, given: dict[str, Any]) -> str:
    clean = redactor(secrets(given))
    return "\n".join(f"{path}: {clean(str(problem))}" for problem in error.problems)


def hidden(result: CaseResult, given: dict[str, Any]) -> CaseResult:
    """Its iterations are without secrets already; the case itself may name them anywhere."""
    clean = redactor(secrets(given))
    ratio = replace(result.ratio, text=clean(result.ratio.text))
    unsatisfiable = clean(result.unsatisfiable)
    return replace(
        result, agent=clean(result.agent), error=clean(result.error), ratio=ratio, unsatisfiable=unsatisfiable
    )
