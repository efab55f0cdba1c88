"""Permissions: agent servers, suites of agent tests, their cases and runs."""

from __future__ import annotations

from typing import Any

from gym.agents.models import CaseRun
from tests.agents.site import GOOD, make_run, make_server, make_suite
from tests.permissions.sections import (
    API_EDITORS,
    API_OWNER,
    EDITORS,
    EDITORS_ACT,
    HIDDEN,
    INCOMPLETE_EDITORS,
    INCOMPLETE_OPEN,
    MEMBERS,
    OPEN,
    OWNER,
    OWNER_ACTS,
    Row,
    leaving_rows,
    people_rows,
    share,
)

MAY_NOT = ("in", 403, 403, 403, 200, 200)
MAY_NOT_ACT = ("in", 403, 403, 403, 302, 302)
ANYBODY_ACTS = ("in", 302, 302, 302, 302, 302)
RUN, CASE_RUN = "open-agent-run", "open-case-run"
HIDDEN_RUN, HIDDEN_CASE_RUN = "private-agent-run", "private-case-run"

ROWS: list[Row] = [
    ("GET", "agent-home", [], OPEN),
    ("GET", "agent-suite-new", [], MEMBERS),
    ("POST", "agent-suite-new", [], MEMBERS),
    ("GET", "agent-server-new", [], MEMBERS),
    ("POST", "agent-server-new", [], MEMBERS),
    ("GET", "agent-server", ["open-agent"], OPEN),
    ("GET", "agent-server", ["secret-agent"], HIDDEN),
    ("GET", "agent-server-edit", ["open-agent"], MAY_NOT),
    ("POST", "agent-server-edit", ["open-agent"], MAY_NOT),
    ("GET", "agent-server-edit", ["secret-agent"], OWNER),
    ("POST", "agent-server-edit", ["secret-agent"], OWNER),
    ("GET", "agent-server-status", ["secret-agent"], HIDDEN),
    ("POST", "agent-server-check", ["open-agent"], MAY_NOT_ACT),
    ("POST", "agent-server-delete", ["open-agent"], MAY_NOT_ACT),
    ("GET", "agent-suite", ["open-tests"], OPEN),
    ("GET", "agent-suite", ["secret-tests"], HIDDEN),
    ("GET", "agent-suite-edit", ["open-tests"], MAY_NOT),
    ("POST", "agent-suite-edit", ["open-tests"], MAY_NOT),
    ("GET", "agent-suite-edit", ["secret-tests"], EDITORS),
    ("POST", "agent-suite-edit", ["secret-tests"], EDITORS),
    ("GET", "agent-suite-import", ["open-tests"], MAY_NOT),
    ("POST", "agent-suite-import", ["open-tests"], INCOMPLETE_OPEN),
    ("GET", "agent-suite-download", ["open-tests"], OPEN),
    ("GET", "agent-suite-download", ["secret-tests"], HIDDEN),
    ("POST", "agent-suite-run", ["open-tests"], ANYBODY_ACTS),
    ("POST", "agent-suite-run", ["secret-tests"], ("in", 404, 302, 302, 302, 302)),
    ("GET", "agent-schedule-limits", ["open-tests"], MEMBERS),
    ("GET", "agent-schedule-limits", ["secret-tests"], ("in", 404, 200, 200, 200, 200)),
    ("POST", "agent-schedule-new", ["open-tests"], ANYBODY_ACTS),
    ("POST", "agent-schedule-new", ["secret-tests"], ("in", 404, 302, 302, 302, 302)),
    ("POST", "agent-schedule-resume", ["open-tests", "0"], ("in", 404, 404, 404, 404, 404)),
    ("POST", "agent-schedule-delete", ["open-tests", "0"], ("in", 404, 404, 404, 404, 404)),
    ("GET", "agent-case-new", ["open-tests"], MAY_NOT),
    ("POST", "agent-case-new", ["open-tests"], MAY_NOT),
    ("GET", "agent-case-new-form", ["open-tests"], MAY_NOT),
    ("POST", "agent-case-new-form", ["open-tests"], INCOMPLETE_OPEN),
    ("POST", "agent-case-check", ["open-tests"], MAY_NOT),
    ("GET", "agent-case", ["open-tests", "open-case"], OPEN),
    ("GET", "agent-case", ["secret-tests", "secret-case"], HIDDEN),
    ("GET", "agent-case-edit", ["open-tests", "open-case"], MAY_NOT),
    ("POST", "agent-case-edit", ["open-tests", "open-case"], MAY_NOT),
    ("GET", "agent-case-form", ["secret-tests", "secret-case"], EDITORS),
    ("POST", "agent-case-form", ["secret-tests", "secret-case"], INCOMPLETE_EDITORS),
    ("GET", "agent-case-form", ["open-tests", "open-case"], MAY_NOT),
    ("POST", "agent-case-form", ["open-tests", "open-case"], INCOMPLETE_OPEN),
    ("GET", "agent-case-download", ["open-tests", "open-case"], OPEN),
    ("GET", "agent-case-download", ["secret-tests", "secret-case"], HIDDEN),
    ("GET", "agent-runs", [], OPEN),
    ("GET", "agent-run", [RUN], OPEN),
    ("GET", "agent-run", [HIDDEN_RUN], HIDDEN),
    ("GET", "agent-run-progress", [RUN], (286, 286, 286, 286, 286, 286)),
    ("POST", "agent-run-cancel", [RUN], MAY_NOT_ACT),
    ("POST", "agent-run-retry", [RUN], MAY_NOT_ACT),
    ("POST", "agent-run-rescore", [RUN], MAY_NOT_ACT),
    ("GET", "agent-run-download", [RUN, "json"], OPEN),
    ("GET", "agent-run-download", [RUN, "junit"], OPEN),
    ("GET", "agent-run-download", [RUN, "csv"], OPEN),
    ("GET", "agent-run-download", [RUN, "exe"], (404,) * 6),
    ("GET", "agent-run-download", [HIDDEN_RUN, "json"], HIDDEN),
    ("GET", "agent-case-run", [RUN, CASE_RUN], OPEN),
    ("GET", "agent-case-run", [HIDDEN_RUN, HIDDEN_CASE_RUN], HIDDEN),
    ("GET", "agent-case-run", [RUN, HIDDEN_CASE_RUN], (404,) * 6),
    ("GET", "agent-case-run-download", [RUN, CASE_RUN], OPEN),
    ("GET", "agent-case-run-download", [HIDDEN_RUN, HIDDEN_CASE_RUN], HIDDEN),
    ("GET", "agent-failures-download", [RUN, CASE_RUN, "text"], OPEN),
    ("GET", "agent-failures-download", [HIDDEN_RUN, HIDDEN_CASE_RUN, "json"], HIDDEN),
    ("GET", "agent-naming", [RUN, CASE_RUN], (286,) * 6),
    ("GET", "agent-naming", [HIDDEN_RUN, HIDDEN_CASE_RUN], (404, 404, 286, 286, 286, 286)),
    ("POST", "agent-naming", [RUN, CASE_RUN], ANYBODY_ACTS),  # all of them see why nothing is queued
    ("POST", "agent-naming-forget", [RUN, CASE_RUN], MAY_NOT_ACT),
    ("POST", "agent-naming-forget", [HIDDEN_RUN, HIDDEN_CASE_RUN], EDITORS_ACT),
    ("GET", "agent-compare", [], (302,) * 6),
    ("GET", "agent-compare-download", ["cases.csv"], (404,) * 6),
    *people_rows("agent-suite", "api-agent-suite", "secret-tests", "open-tests", "bobs-tests-role"),
    # the API
    ("GET", "api-agent-servers", [], OPEN),
    ("POST", "api-agent-servers", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "api-agent-server", ["open-agent"], OPEN),
    ("GET", "api-agent-server", ["secret-agent"], HIDDEN),
    ("PATCH", "api-agent-server", ["secret-agent"], API_OWNER),
    ("PATCH", "api-agent-server", ["open-agent"], (401, 403, 403, 403, 200, 200)),
    ("POST", "api-agent-server-check", ["secret-agent"], (401, 404, 403, 202, 202, 202)),
    ("POST", "api-agent-server-check", ["open-agent"], (401, 403, 403, 403, 202, 202)),
    ("DELETE", "api-agent-server", ["open-agent"], (401, 403, 403, 403, 400, 400)),  # it has runs
    ("GET", "api-agent-suites", [], OPEN),
    ("POST", "api-agent-suites", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "api-agent-suite", ["open-tests"], OPEN),
    ("GET", "api-agent-suite", ["secret-tests"], HIDDEN),
    ("PATCH", "api-agent-suite", ["open-tests"], (401, 403, 403, 403, 200, 200)),
    ("PATCH", "api-agent-suite", ["secret-tests"], API_EDITORS),
    ("GET", "api-agent-suite-export", ["open-tests"], OPEN),
    ("GET", "api-agent-suite-export", ["secret-tests"], HIDDEN),
    ("GET", "api-agent-case", ["open-tests", "open-case"], OPEN),
    ("GET", "api-agent-case", ["secret-tests", "secret-case"], HIDDEN),
    ("PATCH", "api-agent-case", ["open-tests", "open-case"], (401, 403, 403, 403, 200, 200)),
    ("PATCH", "api-agent-case", ["secret-tests", "secret-case"], API_EDITORS),
    ("GET", "api-agent-cases", ["open-tests"], OPEN),
    ("GET", "api-agent-cases", ["secret-tests"], HIDDEN),
    ("POST", "api-agent-cases", ["open-tests"], (401, 403, 403, 403, 400, 400)),
    ("POST", "api-agent-cases", ["secret-tests"], (401, 404, 403, 400, 400, 400)),
    ("GET", "api-agent-runs", [], OPEN),
    ("POST", "api-agent-runs", [], (401, 400, 400, 400, 400, 400)),
    ("GET", "api-agent-run", [RUN], OPEN),
    ("GET", "api-agent-run", [HIDDEN_RUN], HIDDEN),
    ("GET", "api-agent-results", [RUN], OPEN),
    ("GET", "api-agent-results", [HIDDEN_RUN], HIDDEN),
    ("GET", "api-agent-run-file", [RUN, "junit"], OPEN),
    ("GET", "api-agent-run-file", [RUN, "exe"], (404,) * 6),
    ("GET", "api-agent-run-file", [HIDDEN_RUN, "json"], HIDDEN),
    ("GET", "api-agent-compare", [], (400,) * 6),
    ("POST", "api-agent-rescore", [RUN], (401, 403, 403, 403, 201, 201)),
    ("POST", "api-agent-cancel", [RUN], (401, 403, 403, 403, 409, 409)),
]
LAST: list[Row] = [
    *leaving_rows("agent-suite", "api-agent-suite", "shared-tests", "bobs-other-tests-role"),
    ("POST", "agent-server-delete", ["secret-agent"], OWNER_ACTS),
    ("DELETE", "api-agent-server", ["secret-agent"], (401, 404, 403, 403, 400, 400)),
    ("DELETE", "api-agent-case", ["open-tests", "open-case"], (401, 403, 403, 403, 204, 204)),
    ("DELETE", "api-agent-suite", ["open-tests"], (401, 403, 403, 403, 400, 400)),  # a run is under way
    ("POST", "agent-case-delete", ["secret-tests", "secret-case"], EDITORS_ACT),
    ("POST", "agent-suite-delete", ["secret-tests"], OWNER_ACTS),
]


def add_objects(people: Any, world: dict[str, Any]) -> None:
    """Create alice's public and private agents and tests, each with a finished run."""
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
        if name == "secret":
            share(server.model, people)
            share(suite, people)
            world["bobs-tests-role"] = suite.collaborations.get(user=people.bob).pk
            shared = make_suite(people.alice, "shared-tests", {}, visibility="private")
            share(shared, people)
            world["bobs-other-tests-role"] = shared.collaborations.get(user=people.bob).pk
