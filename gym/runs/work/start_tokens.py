"""Names of start tokens in runs' policies. "auto" means the model's own token. When that token changes, the
policies of earlier runs are changed to name the former token, and these runs no longer count as runs under
the default policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.dispatch import receiver

from gym.runs.models import SuiteRun
from gym.runs.policies import policy_standing
from lmgym.models.backends import ModelFacts
from lmgym.models.engine import ScoringPolicy
from models_registry.models import RegisteredModel
from models_registry.signals import start_token_settled

OWN = ("auto", "always")


def plain(policy: ScoringPolicy, model: RegisteredModel) -> ScoringPolicy:
    """Return the policy with "auto" in place of the model's own start token."""
    is_own = policy.named_bos is not None and policy.named_bos == model.facts.get("bos")
    return replace(policy, bos="auto") if is_own else policy


def _bos_of(bos: str, used: str | None, current: str | None) -> str:
    """Return the new `bos` of a run that used start token `used`, if the model's token is now `current`."""
    if bos in OWN:
        return bos if used == current else used or "never"
    return OWN[0] if bos == current else bos


def name_if_former(run: SuiteRun, facts: ModelFacts) -> None:
    """Name the start token in the run's policy if the model's token changed while the run waited or was
    computed. Call before the results are written. `facts`: facts of the model with which the run was
    computed."""
    settled = RegisteredModel.objects.only("facts").get(pk=run.model_id)
    if not settled.start_tokens:
        return
    used = facts.start_token(ScoringPolicy.from_dict(run.policy))
    bos = _bos_of(run.policy["bos"], used, settled.facts["bos"])
    if bos != run.policy["bos"]:
        run.policy = {**run.policy, "bos": bos}
        run.save(update_fields=["policy"])


@receiver(start_token_settled, dispatch_uid="gym.runs.work.start_tokens")
def name_former_tokens(model: RegisteredModel, **_: Any) -> None:
    """Name the former token in the policies of existing runs; use "auto" for runs with the model's current
    token."""
    runs = SuiteRun.objects.filter(
        model=model, source=SuiteRun.Source.COMPUTED, completed_at__isnull=False
    ).select_related("revision")
    for run in runs.only("policy", "provenance", "standing", "revision"):
        was = run.policy.get("bos")
        if was is None or "bos" not in run.provenance:
            continue
        bos = _bos_of(was, run.provenance["bos"], model.facts["bos"])
        if bos == was:
            continue
        run.policy = {**run.policy, "bos": bos}
        if run.standing != SuiteRun.Standing.PARTIAL:
            run.standing = policy_standing(run, is_whole=True)
        run.save(update_fields=["policy", "standing"])
