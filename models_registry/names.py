"""Labels for models that are shown together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from models_registry.models import RegisteredModel

GROUP = "group:"
"""The tag `group:NAME` marks a model as a seed or checkpoint of the model NAME."""


def unambiguous(names: Sequence[tuple[str, str]]) -> list[str]:
    """Convert (name, slug) pairs to labels. Ambiguous names are followed by the slug: "GPT-2 (gpt2-b)"."""
    counts = Counter(name for name, _ in set(names))
    return [name if counts[name] == 1 else f"{name} ({slug})" for name, slug in names]


def named_with_owner(model: RegisteredModel) -> str:
    """Return the label of a model in a list of choices."""
    return f"{model.name} ({model.slug}), by {model.owner.display_name}"


def disambiguate(models: Iterable[RegisteredModel]) -> None:
    """Set the `label` of each model so that all differ; a model may occur several times."""
    rows = list(models)
    for model, label in zip(rows, unambiguous([(model.name, model.slug) for model in rows]), strict=True):
        model.label = label
