"""The policy of a run that nobody chose anything for, and which of several runs stands for a model on a revision.

A run that holds every prediction of the suite goes before one that lacks some, then one under the default policy before
one under another, then the newer one. The first two are stored with the results as `SuiteRun.standing`;
`selectors.newest_done` and the leaderboard order by it. What it says to people: docs/results.md, "Which run counts".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym.runs.models import SuiteRun
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.compute import default_metric
from suites.models import SuiteRevision


def default_policy(revision: SuiteRevision) -> ScoringPolicy:
    """What a run does unless told otherwise: BOS where the model has one, the revision's join and metric."""
    return ScoringPolicy(join=revision.join_policy, metric=default_metric(revision.metric))


def policy_differences(policy: Mapping[str, Any], revision: SuiteRevision) -> str:
    """What a policy has otherwise than the default one: "bos=never, metric=mean". Choices it does not state (uploads)
    are no policy_differences, nor is which tokens it computed: outcomes are the same."""
    usual = {
        **ScoringPolicy().to_dict(),
        "join": revision.join_policy,
        "metric": default_metric(revision.metric),
    }
    return ", ".join(
        f"{name}={_said(policy[name])}"
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


def _said(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
