"""Start tokens of runs by name. A policy that says "auto" means the model's own token; when that changes, the runs that
had the former one say its name from then on, and are no longer runs under the default policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.dispatch import receiver

from gym.runs.models import SuiteRun
from gym.runs.policies import standing_of
from models_registry.backends import ModelFacts
from models_registry.engine import ScoringPolicy
from models_registry.models import RegisteredModel
from models_registry.signals import start_token_settled

OWN = ("auto", "always")


def plain(policy: ScoringPolicy, model: RegisteredModel) -> ScoringPolicy:
    """The same policy, "auto" where it names the model's own start token."""
    is_own = policy.named_bos is not None and policy.named_bos == model.facts.get("bos")
    return replace(policy, bos="auto") if is_own else policy


def name_if_former(run: SuiteRun, facts: ModelFacts) -> None:
    """Name the start token of a run whose model got another one while it was computed. Call before its results are
    written."""
    settled = RegisteredModel.objects.only("facts").get(pk=run.model_id)
    if run.policy["bos"] in OWN and settled.start_tokens and settled.facts["bos"] != facts.bos:
        run.policy = {**run.policy, "bos": facts.bos or "never"}
        run.save(update_fields=["policy"])


@receiver(start_token_settled, dispatch_uid="gym.runs.work.start_tokens")
def name_former_tokens(model: RegisteredModel, **_: Any) -> None:
    """Kept runs keep the token they had, by name; those whose token is the model's own now say "auto"."""
    token = model.facts["bos"]
    runs = SuiteRun.objects.filter(
        model=model, source=SuiteRun.Source.COMPUTED, completed_at__isnull=False
    ).select_related("revision")
    for run in runs.only("policy", "provenance", "standing", "revision"):
        bos, had = run.policy.get("bos"), run.provenance.get("bos")
        if bos is None or "bos" not in run.provenance:
            continue
        if bos in OWN and had != token:
            named = had or "never"
        elif bos not in OWN and bos == token:
            named = "auto"
        else:
            continue
        run.policy = {**run.policy, "bos": named}
        if run.standing != SuiteRun.Standing.PARTIAL:
            run.standing = standing_of(run, is_whole=True)
        run.save(update_fields=["policy", "standing"])
