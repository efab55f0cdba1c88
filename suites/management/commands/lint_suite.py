from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from suites.lint import lint
from suites.management.files import read_file


class Command(BaseCommand):
    help = (
        "What a careful reviewer would notice in suite files. Exit status 1 when there is an error among it."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path)
        parser.add_argument("--format", choices=["text", "json"], default="text")

    def handle(self, *args: Any, **options: Any) -> None:
        reports = {}
        for path in options["files"]:
            document = read_file(path)
            reports[str(path)] = (lint(document), document.notices)
        if options["format"] == "json":
            self.stdout.write(json.dumps(_as_json(reports), ensure_ascii=False, indent=2))
        else:
            self._print(reports)
        if any(finding.severity == "error" for findings, _ in reports.values() for finding in findings):
            sys.exit(1)

    def _print(self, reports: dict[str, Any]) -> None:
        for path, (findings, notices) in reports.items():
            self.stdout.write(f"{path}: {len(findings)} findings")
            for notice in notices:
                self.stdout.write(f"  import   {notice}")
            for finding in findings:
                hint = f" {finding.hint}" if finding.hint else ""
                self.stdout.write(
                    f"  {finding.severity:<8} {finding.where}: {finding.message}.{hint} [{finding.code}]"
                )


def _as_json(reports: dict[str, Any]) -> dict[str, Any]:
    return {
        path: {
            "findings": [
                {
                    "code": finding.code,
                    "severity": finding.severity,
                    "where": finding.where,
                    "message": finding.message,
                    "hint": finding.hint,
                }
                for finding in findings
            ],
            "notices": [{"where": notice.where, "message": notice.message} for notice in notices],
        }
        for path, (findings, notices) in reports.items()
    }
