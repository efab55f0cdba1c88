"""Finished runs with chosen outcomes, without scoring."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.utils import timezone

from gym.runs.models import PredictionResult, SuiteRun
from gym.runs.policies import policy_standing
from gym.runs.read.scores import store_scores
from lmgym.stats.intervals import wilson
from lmgym.suites.formulas import parse
from models_registry.models import RegisteredModel
from suites.models import SuiteRevision


def finished_run(
    revision: SuiteRevision,
    model: RegisteredModel,
    *outcomes: Sequence[int],
    source: str = "computed",
    policy: dict[str, Any] | None = None,
) -> SuiteRun:
    """Make a finished run: one list of outcome codes per prediction (uploads may have only the first ones). Margins
    are +1 and −1 bits, 0 for ties, None for missing. `policy`: differences from the default."""
    run = SuiteRun(
        revision=revision, model=model, owner=model.owner, source=source, completed_at=timezone.now(),
        policy={"metric": "sum", **(policy or {})},
    )  # fmt: skip
    predictions = list(revision.predictions.order_by("position"))
    run.standing = policy_standing(run, is_whole=len(outcomes) == len(predictions))
    run.save()
    items = revision.item_numbers
    for prediction, codes in zip(predictions, outcomes, strict=source == "computed"):
        passed = sum(code == 1 for code in codes)
        interval = wilson(passed, len(codes))
        chance = parse(prediction.formula).chance_level().value
        margins = [{0: -1.0, 1: 1.0, 2: 0.0}.get(code) for code in codes]
        known = [margin for margin in margins if margin is not None]
        PredictionResult.objects.create(
            run=run, prediction=prediction, position=prediction.position, n=len(codes), passed=passed,
            ties=sum(code == 2 for code in codes), not_evaluable=sum(code == 3 for code in codes),
            low=interval.low, high=interval.high, chance=chance, items=items, outcomes=list(codes),
            margins=margins, mean_margin=sum(known) / len(known) if known else None,
        )  # fmt: skip
    store_scores(run)
    return run
