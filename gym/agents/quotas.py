"""Quotas for agent suites and their runs. The quota is checked when a run is queued, with its copy of the cases. Its
transcripts count towards the check of the next run."""

from __future__ import annotations

from gym.accounts.quotas import Part, register, stored
from gym.agents.models import (
    AgentCase,
    AgentRun,
    AgentSuite,
    CaseIteration,
    CaseRun,
    FailureMode,
)

AGENT_SUITES = register(
    "agent_suites",
    "agent suite",
    "agent suites",
    Part(AgentSuite, size=stored("description", "variables")),
    Part(AgentCase, "suite__owner", stored("text")),
    Part(FailureMode, "suite__owner", stored("name")),
    setting="GYM_QUOTA_AGENT_SUITES",
)
AGENT_RUNS = register(
    "agent_runs",
    "agent run",
    "agent runs",
    Part(AgentRun, size=stored("options")),
    Part(CaseRun, "run__owner", stored("text", "error", "tokens")),
    Part(CaseIteration, "case_run__run__owner", stored("data")),
    setting="GYM_QUOTA_AGENT_RUNS",
)
