"""Options of new suites, shared by pages, API, command, imports and demo data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

from gym.sharing.models import Visibility


@dataclass(frozen=True, kw_only=True)
class SuiteOptions:
    """Options for creating a suite from a document. An empty title, language or metric is taken from the
    document."""

    title: str = ""
    visibility: str = Visibility.PRIVATE
    tags: tuple[str, ...] = ()
    language: str = ""
    join_policy: str = "space"
    metric: str = ""

    @classmethod
    def of(cls, values: Mapping[str, Any], **more: Any) -> Self:
        """Pick the options from a form's cleaned data or a request body; other keys are ignored."""
        names = {field.name for field in fields(cls)}
        options = {name: value for name, value in (*values.items(), *more.items()) if name in names}
        return cls(**options | {"tags": tuple(options.get("tags", ()))})


DEFAULT = SuiteOptions()


@dataclass(frozen=True, kw_only=True)
class ImportOptions(SuiteOptions):
    """Options of one import, for all of its files.

    again: import a file even if a suite has the same content.
    version: version of the draft that a file replaces, as the user saw it; another version means a conflict.
    freeze, models: freeze each suite once its file is imported, and run these models (slugs) on it.
    collection: proposed title of a collection of the suites; None: no collection is offered, or it exists.
    """

    again: bool = False
    version: str = ""
    freeze: bool = False
    models: tuple[str, ...] = ()
    collection: str | None = None
