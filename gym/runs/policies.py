"""The default policy of a run, and which of several runs of a model on a revision counts.

A run with every prediction of the suite goes before one that lacks some, then one under the default policy before
others, then the newest. The first two criteria are stored as `SuiteRun.standing`; `selectors.newest_done` and the
leaderboard order by it. For users: docs/results.md, "Which run counts".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym.runs.models import SuiteRun
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.compute import default_metric
from suites.models import SuiteRevision


def default_policy(revision: SuiteRevision) -> ScoringPolicy:
    """Policy of a run without choices: BOS if the model has one, the revision's join and metric."""
    return ScoringPolicy(join=revision.join_policy, metric=default_metric(revision.metric))


def policy_differences(policy: Mapping[str, Any], revision: SuiteRevision) -> str:
    """Differences from the default policy: "bos=never, metric=mean". Ignores settings that an upload does not state,
    and which tokens were computed, since outcomes are the same."""
    usual = {
        **ScoringPolicy().to_dict(),
        "join": revision.join_policy,
        "metric": default_metric(revision.metric),
    }
    return ", ".join(
        f"{name}={_as_text(policy[name])}"
        for name in usual
        if name != "tokens" and name in policy and policy[name] != usual[name]
    )


def policy_standing(run: SuiteRun, *, is_whole: bool) -> SuiteRun.Standing:
    """`is_whole`: the run has a result for every prediction of its revision."""
    if not is_whole:
        return SuiteRun.Standing.PARTIAL
    return (
        SuiteRun.Standing.OTHER if policy_differences(run.policy, run.revision) else SuiteRun.Standing.DEFAULT
    )


def _as_text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
