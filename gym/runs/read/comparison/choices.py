"""What the address of a comparison asks for, and what of it cannot be had: nothing is left out unsaid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from django.http import HttpRequest

from gym.lib.stats import Correction, correction_of
from gym.runs.read.comparison import selectors
from gym.runs.read.comparison.model import MAX_SIDES
from gym.runs.read.leaderboard.options import Options, read_options
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision

MAX_REVISIONS = 2


@dataclass(frozen=True)
class Choices:
    """`models`: those that may be seen, the baseline first if one is named. `baseline`: as named, or None."""

    options: Options
    correction: Correction
    names: Sequence[str]
    models: list[RegisteredModel]
    baseline: RegisteredModel | None
    numbers: Sequence[str]

    @property
    def left_out(self) -> Sequence[str]:
        """Models beyond MAX_SIDES."""
        return self.names[MAX_SIDES:]

    @cached_property
    def unknown(self) -> list[str]:
        found = {model.slug for model in self.models}
        return [name for name in self.names[:MAX_SIDES] if name not in found]

    def revisions_of(self, suite: Suite) -> tuple[list[SuiteRevision], list[str]]:
        """Those of `r=`, the newest frozen one without; and what of `r=` is no frozen revision or too much."""
        wanted = self.numbers[:MAX_REVISIONS]
        numbers = [int(text) for text in wanted if text.isascii() and text.isdecimal() and len(text) < 9]
        revisions = selectors.chosen_revisions(suite, numbers)
        found = {row.number for row in revisions}
        wrong = [
            text for text in wanted if not text.isascii() or not text.isdecimal() or int(text) not in found
        ]
        return revisions, [*wrong, *self.numbers[MAX_REVISIONS:]]

    def query(self) -> dict[str, str | list[str]]:
        """The names of the address, for addresses of charts; suite and revisions are theirs to add."""
        asked: dict[str, str | list[str]] = {"model": ",".join(model.slug for model in self.models)}
        if self.baseline:
            asked["base"] = self.baseline.slug
        if self.options.rule.key != "each":
            asked["rule"] = self.options.rule.key
        if self.options.tag:
            asked["tag"] = self.options.tag
        if self.options.suites:
            asked["suite"] = ",".join(self.options.suites)
        return asked | {"correction": self.correction.key}


def read_choices(request: HttpRequest) -> Choices:
    """`?model=a&model=b&base=b&r=1,2`, and what Options has: rule, suite, tag. A baseline need not be named twice."""
    options = read_options(request.GET)
    named = request.GET.get("base", "").replace("\0", "")[:80]
    names = tuple(dict.fromkeys([named, *options.models] if named else options.models))
    models = selectors.models_named(request.user, names)
    return Choices(
        options=options,
        correction=correction_of(request.GET.get("correction", "")),
        names=names,
        models=models,
        baseline=next((model for model in models if model.slug == named), None),
        numbers=_numbers(request),
    )


def _numbers(request: HttpRequest) -> tuple[str, ...]:
    values: Any = request.GET.getlist("r")[:20]
    return tuple(
        dict.fromkeys(
            text.strip()[:20] for value in values for text in value[:200].split(",") if text.strip()
        )
    )
