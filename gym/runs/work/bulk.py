"""Queue several models on several suites. Existing runs are reported instead of queued again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.core.exceptions import PermissionDenied, ValidationError

from gym.accounts.errors import LimitReached
from gym.accounts.models import User
from gym.runs.models import SuiteRun
from gym.runs.policies import default_policy
from gym.runs.work.services import queue_once
from lmgym.text import count, listing
from models_registry.models import RegisteredModel
from models_registry.names import disambiguate
from suites.bulk import BulkResult
from suites.models import Suite, SuiteRevision

LISTED = 6
"""Maximum number of models named in one line of the report."""


def queue_each(
    suites: Iterable[Suite], models: Sequence[RegisteredModel], *, actor: User, again: bool = False
) -> list[BulkResult]:
    """Queue every model on the newest frozen revision of every suite, under its default policy. Quotas and limits
    apply to each run. `again`: queue even if the same run exists."""
    disambiguate(models)
    results: list[BulkResult] = []
    for suite in suites:
        revision = suite.latest_frozen
        if revision is None:
            results.append(BulkResult(suite, "refused", "It has no frozen revision: freeze its draft first."))
        else:
            revision.suite = suite
            results += _queue_on(revision, models, actor, again)
    return results


def _queue_on(
    revision: SuiteRevision, models: Sequence[RegisteredModel], actor: User, again: bool
) -> list[BulkResult]:
    suite = revision.suite
    queued: list[str] = []
    existing: list[tuple[str, SuiteRun]] = []
    refused: dict[str, list[str]] = {}
    policy = default_policy(revision)
    for model in models:
        try:
            outcome = queue_once(revision, model, policy, actor=actor, again=again)
        except PermissionDenied:
            refused.setdefault("You may not run the model on this suite.", []).append(model.label)
        except ValidationError as error:
            refused.setdefault(" ".join(error.messages), []).append(model.label)
        except LimitReached as error:
            refused.setdefault(str(error), []).append(model.label)
        else:
            if outcome.is_new:
                queued.append(model.label)
            else:
                existing.append((model.label, outcome.run))
    results: list[BulkResult] = []
    if queued:
        text = f"Queued {count(len(queued), 'run')}: {listing(queued, LISTED)}."
        results.append(BulkResult(suite, "done", text, revision.get_absolute_url()))
    for label, run in existing:
        text = f"{label} {'has already run on this suite' if run.is_done else 'already has a run under way'}."
        results.append(BulkResult(suite, "there", text, run.get_absolute_url()))
    for reason, names in refused.items():
        results.append(BulkResult(suite, "refused", f"{listing(names, LISTED)}: {reason}"))
    return results
