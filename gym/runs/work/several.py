"""Several models on several suites in one go. A run that is there already is named, not made again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import Q

from gym.accounts.errors import TooManyJobs
from gym.accounts.models import User
from gym.jobs.models import ACTIVE_STATES
from gym.lib.text import count, listing
from gym.runs.models import SuiteRun
from gym.runs.policies import default_policy
from gym.runs.read.selectors import visible_to
from gym.runs.work.services import queue_run
from gym.runs.work.start_tokens import plain
from models_registry.engine import ENGINE_VERSION, ScoringPolicy
from models_registry.models import RegisteredModel
from models_registry.names import tell_apart
from suites.models import Suite, SuiteRevision
from suites.several import Said

LISTED = 6
"""Models that one line of the report names."""


def same_run(
    revision: SuiteRevision, model: RegisteredModel, policy: ScoringPolicy, *, user: User
) -> SuiteRun | None:
    """The newest run that this user may see, done or under way, of the same files of the model on this revision under
    this policy, by this version of the engine. A new one would give the same numbers."""
    done = Q(completed_at__isnull=False)
    policy = plain(policy, model)
    if model.fingerprint:
        done &= Q(provenance__model_fingerprint=model.fingerprint, provenance__engine=ENGINE_VERSION)
    runs = visible_to(user).filter(
        Q(completed_at=None, job__state__in=ACTIVE_STATES) | done,
        revision=revision,
        model=model,
        source=SuiteRun.Source.COMPUTED,
        policy=policy.to_dict(),
    )
    return runs.order_by("-created", "-pk").first()


def queue_each(
    suites: Iterable[Suite], models: Sequence[RegisteredModel], *, actor: User, again: bool = False
) -> list[Said]:
    """Queue every model on the newest frozen revision of every suite, under its default policy. Quotas and limits hold
    for each run; `again`: also where the same run is there."""
    tell_apart(models)
    said: list[Said] = []
    for suite in suites:
        revision = suite.latest_frozen
        if revision is None:
            said.append(Said(suite, "refused", "It has no frozen revision to run: freeze it first."))
        else:
            revision.suite = suite
            said += _queue_on(revision, models, actor, again)
    return said


def _queue_on(
    revision: SuiteRevision, models: Sequence[RegisteredModel], actor: User, again: bool
) -> list[Said]:
    suite = revision.suite
    queued: list[str] = []
    there: list[tuple[str, SuiteRun]] = []
    refused: dict[str, list[str]] = {}
    policy = default_policy(revision)
    for model in models:
        same = None if again else same_run(revision, model, policy, user=actor)
        if same is not None:
            there.append((model.label, same))
            continue
        try:
            queue_run(revision, model, policy, actor=actor)
        except PermissionDenied:
            refused.setdefault("You may not run it on this suite.", []).append(model.label)
        except ValidationError as error:
            refused.setdefault(" ".join(error.messages), []).append(model.label)
        except TooManyJobs as error:
            refused.setdefault(str(error), []).append(model.label)
        else:
            queued.append(model.label)
    said: list[Said] = []
    if queued:
        text = f"Queued {count(len(queued), 'run')}: {listing(queued, LISTED)}."
        said.append(Said(suite, "done", text, revision.get_absolute_url()))
    for label, run in there:
        text = f"{label} has {'run on it' if run.is_done else 'a run under way'} already."
        said.append(Said(suite, "there", text, run.get_absolute_url()))
    for reason, names in refused.items():
        said.append(Said(suite, "refused", f"{listing(names, LISTED)}: {reason}"))
    return said
