"""What models are called where several are shown side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models_registry.models import RegisteredModel

GROUP = "group:"
"""A model's tag `group:NAME` says: this is a seed or checkpoint of the model NAME."""


def told_apart(names: Sequence[tuple[str, str]]) -> list[str]:
    """(name, slug) -> the name; with the slug where others are called the same: "GPT-2 (gpt2-b)"."""
    often = Counter(name for name, _ in set(names))
    return [name if often[name] == 1 else f"{name} ({slug})" for name, slug in names]


def named_with_owner(model: RegisteredModel) -> str:
    """A model as a choice among others."""
    return f"{model.name} ({model.slug}), by {model.owner.display_name}"


def tell_apart(models: Iterable[RegisteredModel]) -> None:
    """Gives each its `label` beside the others; the same model may come several times."""
    found = list(models)
    for model, label in zip(found, told_apart([(one.name, one.slug) for one in found]), strict=True):
        model.label = label
