"""`lmgym lint`: check suites for problems."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

from lmgym.cli import shared
from lmgym.cli.suite_files import add_reading, load
from lmgym.suites.lint import Finding, lint
from lmgym.suites.regions import JOIN_POLICIES
from lmgym.text import count
from lmgym.text.arguments import Parser
from lmgym.text.problems import Notice

Reports: TypeAlias = Mapping[str, tuple[Sequence[Finding], Sequence[Notice]]]
"""Findings, and notices from reading, by file."""


def parser(prog: str) -> argparse.ArgumentParser:
    top = Parser(
        prog=prog,
        description="Check suites for problems. The exit status is 1 if a finding is an error, and 2 if a file cannot "
        "be read; the others are checked.",
    )
    top.add_argument("files", nargs="+", metavar="SUITE")
    top.add_argument(
        "--join",
        choices=JOIN_POLICIES,
        default="space",
        help="how regions are joined into a sentence; default: space",
    )
    top.add_argument("--format", choices=("text", "json"), default="text")
    add_reading(top)
    return top


def main(argv: Sequence[str], prog: str = "lmgym lint") -> int:
    """Run the command; return its exit status, 1 if a finding is an error. Invalid arguments raise SystemExit(2)."""
    return shared.run(_lint, parser(prog), argv)


def _lint(options: argparse.Namespace) -> int:
    reports, unread = {}, []
    for path in options.files:
        try:
            document = load(path, options)
        except shared.Failed as error:
            unread.append(str(error))
            continue
        reports[path] = (lint(document, options.join), document.notices)
    if reports or not unread:
        shared.write(as_json(reports) if options.format == "json" else as_text(reports), None)
    if unread:
        raise shared.Failed("\n".join(unread))
    return int(has_error(reports))


def has_error(reports: Reports) -> bool:
    return any(finding.severity == "error" for findings, _ in reports.values() for finding in findings)


def as_text(reports: Reports) -> str:
    lines = []
    for path, (findings, notices) in reports.items():
        lines.append(f"{path}: {count(len(findings), 'finding')}")
        lines += [f"  import   {notice}" for notice in notices]
        for finding in findings:
            hint = f" {finding.hint}" if finding.hint else ""
            lines.append(
                f"  {finding.severity:<8} {finding.where}: {finding.message}.{hint} [{finding.code}]"
            )
    return "".join(f"{line}\n" for line in lines)


def as_json(reports: Reports) -> str:
    names = ("code", "severity", "where", "message", "hint")
    data: dict[str, Any] = {
        path: {
            "findings": [{name: getattr(finding, name) for name in names} for finding in findings],
            "notices": [{name: asdict(notice)[name] for name in ("where", "message")} for notice in notices],
        }
        for path, (findings, notices) in reports.items()
    }
    return json.dumps(data, ensure_ascii=False, indent=2) + "\n"
