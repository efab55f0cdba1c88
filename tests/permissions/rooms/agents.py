"""Who gets what: agent servers, suites of agent tests, their cases and runs."""

from __future__ import annotations

from typing import Any

from gym.conversations.models import CaseRun
from tests.conversations.site import GOOD, make_run, make_server, make_suite
from tests.permissions.rooms import MEMBERS, OPEN, OWNERS, Row

MINE = ("in", 404, 404, 404, 200, 200)
MINE_ACT = ("in", 404, 404, 404, 302, 302)
MAY_NOT = ("in", 403, 403, 403, 200, 200)
MAY_NOT_ACT = ("in", 403, 403, 403, 302, 302)
ANYBODY_ACTS = ("in", 302, 302, 302, 302, 302)
RUN, CASE_RUN = "open-agent-run", "open-case-run"
HIDDEN_RUN, HIDDEN_CASE_RUN = "private-agent-run", "private-case-run"

ROWS: list[Row] = [
    ("GET", "agent-home", [], OPEN),
    ("GET", "agent-suite-new", [], MEMBERS),
    ("GET", "agent-server-new", [], MEMBERS),
    ("GET", "agent-server", ["open-agent"], OPEN),
    ("GET", "agent-server", ["secret-agent"], OWNERS),
    ("GET", "agent-server-edit", ["open-agent"], MAY_NOT),
    ("GET", "agent-server-edit", ["secret-agent"], MINE),
    ("GET", "agent-server-status", ["secret-agent"], OWNERS),
    ("POST", "agent-server-check", ["open-agent"], MAY_NOT_ACT),
    ("GET", "agent-suite", ["open-tests"], OPEN),
    ("GET", "agent-suite", ["secret-tests"], OWNERS),
    ("GET", "agent-suite-edit", ["open-tests"], MAY_NOT),
    ("GET", "agent-suite-edit", ["secret-tests"], MINE),
    ("GET", "agent-suite-import", ["open-tests"], MAY_NOT),
    ("GET", "agent-suite-download", ["open-tests"], OPEN),
    ("GET", "agent-suite-download", ["secret-tests"], OWNERS),
    ("POST", "agent-suite-run", ["open-tests"], ANYBODY_ACTS),
    ("POST", "agent-suite-run", ["secret-tests"], MINE_ACT),
    ("GET", "agent-case-new", ["open-tests"], MAY_NOT),
    ("POST", "agent-case-check", ["open-tests"], MAY_NOT),
    ("GET", "agent-case", ["open-tests", "open-case"], OPEN),
    ("GET", "agent-case", ["secret-tests", "secret-case"], OWNERS),
    ("GET", "agent-case-edit", ["open-tests", "open-case"], MAY_NOT),
    ("GET", "agent-case-form", ["secret-tests", "secret-case"], MINE),
    ("GET", "agent-case-form", ["open-tests", "open-case"], MAY_NOT),
    ("GET", "agent-case-download", ["open-tests", "open-case"], OPEN),
    ("GET", "agent-case-download", ["secret-tests", "secret-case"], OWNERS),
    ("GET", "agent-run", [RUN], OPEN),
    ("GET", "agent-run", [HIDDEN_RUN], OWNERS),
    ("GET", "agent-run-progress", [RUN], (286, 286, 286, 286, 286, 286)),
    ("POST", "agent-run-cancel", [RUN], MAY_NOT_ACT),
    ("POST", "agent-run-retry", [RUN], MAY_NOT_ACT),
    ("POST", "agent-run-rescore", [RUN], MAY_NOT_ACT),
    ("GET", "agent-run-download", [RUN, "json"], OPEN),
    ("GET", "agent-run-download", [RUN, "junit"], OPEN),
    ("GET", "agent-run-download", [RUN, "exe"], (404,) * 6),
    ("GET", "agent-run-download", [HIDDEN_RUN, "json"], OWNERS),
    ("GET", "agent-case-run", [RUN, CASE_RUN], OPEN),
    ("GET", "agent-case-run", [HIDDEN_RUN, HIDDEN_CASE_RUN], OWNERS),
    ("GET", "agent-case-run", [RUN, HIDDEN_CASE_RUN], (404,) * 6),
    ("GET", "agent-assess", [RUN, CASE_RUN], OPEN),
    ("GET", "agent-assess", [HIDDEN_RUN, HIDDEN_CASE_RUN], OWNERS),
    ("GET", "agent-assess-download", [RUN, CASE_RUN, "text"], OPEN),
    ("GET", "agent-assess-download", [HIDDEN_RUN, HIDDEN_CASE_RUN, "json"], OWNERS),
    ("POST", "agent-mode", [RUN, CASE_RUN], MAY_NOT_ACT),
    ("GET", "agent-compare", [], (404,) * 6),
    # the API
    ("GET", "api-agents", [], OPEN),
    ("GET", "api-agent-suites", [], OPEN),
    ("GET", "api-agent-cases", ["open-tests"], OPEN),
    ("GET", "api-agent-cases", ["secret-tests"], OWNERS),
    ("POST", "api-agent-cases", ["open-tests"], (401, 403, 403, 403, 400, 400)),
    ("POST", "api-agent-cases", ["secret-tests"], (401, 404, 404, 404, 400, 400)),
    ("GET", "api-agent-runs", [], OPEN),
    ("POST", "api-agent-runs", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "api-agent-run", [RUN], OPEN),
    ("GET", "api-agent-run", [HIDDEN_RUN], OWNERS),
    ("GET", "api-agent-results", [RUN], OPEN),
    ("GET", "api-agent-results", [HIDDEN_RUN], OWNERS),
    ("POST", "api-agent-cancel", [RUN], (401, 403, 403, 403, 409, 409)),
]
LAST: list[Row] = [
    ("POST", "agent-case-delete", ["secret-tests", "secret-case"], MINE_ACT),
    ("POST", "agent-suite-delete", ["secret-tests"], MINE_ACT),
]
FORMS = (
    "agent-suite-new",
    "agent-suite-edit",
    "agent-suite-import",
    "agent-server-new",
    "agent-server-edit",
    "agent-case-new",
    "agent-case-edit",
    "agent-case-form",
)


def furnish(people: Any, world: dict[str, Any]) -> None:
    """alice's public and private agents and tests, and a finished run of each."""
    for name, visibility, run_name, case_run_name in (
        ("open", "public", RUN, CASE_RUN),
        ("secret", "private", HIDDEN_RUN, HIDDEN_CASE_RUN),
    ):
        server = make_server(people.alice, f"{name}-agent", visibility=visibility)
        suite = make_suite(people.alice, f"{name}-tests", {"hello": GOOD}, visibility=visibility)
        run = make_run(suite, server)
        world[run_name] = run.key
        world[case_run_name] = CaseRun.objects.get(run=run).pk
        world[f"{name}-case"] = suite.cases.get().pk
