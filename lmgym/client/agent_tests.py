"""Client methods for agent tests: servers, suites, runs, reports."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import quote
from zipfile import ZipFile

from .connection import POLL_SECONDS, Connection
from .values import AgentRun

ENDINGS = (".hocon", ".conf", ".json")
"""File extensions of case files."""


def case_files(paths: Sequence[Path]) -> list[tuple[str, bytes]]:
    """Collect files for `upload_cases`.

    Args:
        paths: files and folders. The cases of a folder are sent as one zip archive, with their relative paths.

    Raises:
        OSError: a file cannot be read.
        ValueError: a folder has no cases.
    """
    return [_folder(path) if path.is_dir() else (path.name, path.read_bytes()) for path in paths]


def _folder(folder: Path) -> tuple[str, bytes]:
    cases = sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS and path.is_file())
    if not cases:
        raise ValueError(f"There are no test cases ({', '.join(ENDINGS)}) in {folder}.")
    data = BytesIO()
    with ZipFile(data, "w") as archive:
        for path in cases:
            archive.writestr(path.relative_to(folder).as_posix(), path.read_bytes())
    return f"{folder.resolve().name}.zip", data.getvalue()


class AgentTests(Connection):
    def register_agent_server(self, name: str, url: str, **card: Any) -> str:
        """Register a server with neuro-san's interface; its check starts immediately.

        Args:
            card: further fields: slug, visibility, description, secret_headers.

        Returns:
            The server's slug; pass it to `wait_for_agent_server`.
        """
        return str(self.post("agent-servers/", {"kind": "server", "name": name, "url": url, **card})["slug"])

    def wait_for_agent_server(self, slug: str, *, seconds: float = 60.0) -> str:
        """Poll until the check has ended. Returns "ready" or "broken"; raises TimeoutError."""
        end = time.monotonic() + seconds
        while (state := self.get(f"agent-servers/{quote(slug)}/")["state"]) not in ("ready", "broken"):
            if time.monotonic() > end:
                raise TimeoutError(f"server {slug} is still {state} after {seconds:.0f} s")
            self.transport.sleep(POLL_SECONDS)
        return str(state)

    def make_agent_suite(self, title: str, **card: Any) -> str:
        """Create a suite and return its slug. `card`: further fields: slug, visibility, description, judge,
        judge_agent, judge_votes."""
        return str(self.post("agent-suites/", {"title": title, **card})["slug"])

    def delete_agent_suite(self, suite: str) -> None:
        """Delete a suite with its cases and runs."""
        self.transport.send("DELETE", f"agent-suites/{quote(suite)}/")

    def upload_cases(self, suite: str, files: Sequence[tuple[str, bytes]]) -> list[str]:
        """Import case files or zip archives of them; if one is invalid, none is imported. Cases with the same name are
        replaced. Returns the names of the cases."""
        response = self.transport.send("POST", f"agent-suites/{quote(suite)}/cases/", files=files)
        return [case["name"] for case in response.json()["cases"]]

    def start_agent_run(
        self, suite: str, server: str, *, cases: Sequence[str] | None = None, **options: Any
    ) -> AgentRun:
        """Queue a run of all cases, or of the named ones. `options`: reading, early_stop, parallel, iterations."""
        body: dict[str, Any] = {"suite": suite, "server": server, **options}
        body |= {"cases": list(cases)} if cases else {}
        return AgentRun.of(self.post("agent-runs/", body))

    def agent_run(self, key: str) -> AgentRun:
        return AgentRun.of(self.get(f"agent-runs/{quote(key)}/"))

    def wait_for_agent_run(
        self, key: str, *, on_update: Callable[[AgentRun], None] | None = None, seconds: float = 3600.0
    ) -> AgentRun:
        """Poll until the run has ended; `on_update` is called with each response. Raises TimeoutError."""
        return self._ended(self.agent_run, key, on_update, seconds)

    def agent_report(self, key: str, form: str = "junit") -> bytes:
        """Download the results of a run; `form`: junit, json or csv."""
        return self.transport.send("GET", f"agent-runs/{quote(key)}/files/{quote(form)}/").body

    def compare_agent_runs(self, first: str, *others: str) -> dict[str, Any]:
        """Compare the first run with each of the others, case by case (`comparisons`). Differences: other − first."""
        return dict(self.get("agent-compare/", first=first, second=list(others)))
