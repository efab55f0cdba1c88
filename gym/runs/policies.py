"""Default policies, and the choice of the run that counts among several runs of a model on a revision.

Runs with every prediction of the suite are preferred, then runs under the default policy, then the newest. The first
two criteria are stored as `SuiteRun.standing`; `selectors.newest_done` and the leaderboard order by it. For users:
docs/results.md, "Which run counts".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gym.runs.models import SuiteRun
from lmgym.models.engine import ScoringPolicy
from lmgym.runs.compute import default_metric
from suites.models import SuiteRevision

_DEFAULTS = ScoringPolicy().to_dict()


def default_policy(revision: SuiteRevision) -> ScoringPolicy:
    """Return the policy for a run without explicit settings: BOS if the model has one, the revision's join and
    metric."""
    return ScoringPolicy(join=revision.join_policy, metric=default_metric(revision.metric))


def policy_differences(policy: Mapping[str, Any], revision: SuiteRevision) -> str:
    """Describe differences from the default policy: "bos=never, metric=mean". Ignores settings that an upload
    does not state, and `tokens`, which does not change outcomes."""
    defaults = {
        **_DEFAULTS,
        "join": revision.join_policy,
        "metric": default_metric(revision.metric),
        "overlap": None,
    }
    return ", ".join(
        f"{name}={_as_text(policy[name])}"
        for name in defaults
        if name != "tokens" and name in policy and policy[name] != defaults[name]
    )


def policy_standing(run: SuiteRun, *, is_whole: bool) -> SuiteRun.Standing:
    """Return the run's standing. `is_whole`: the run has a result for every prediction of its revision."""
    if not is_whole:
        return SuiteRun.Standing.PARTIAL
    return (
        SuiteRun.Standing.OTHER if policy_differences(run.policy, run.revision) else SuiteRun.Standing.DEFAULT
    )


def _as_text(value: Any) -> str:
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
