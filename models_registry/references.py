"""Compare the model of a completion server with a model of this site that has the same weights.

The comparison is part of the server's check and never makes it fail: its result, or why there is none, is a note.
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any, NamedTuple

from django.conf import settings
from django.db import DatabaseError
from django.db.models import QuerySet

from lmgym.models.backends import BACKENDS, Backend, BackendError
from lmgym.models.backends.base import describe_exception
from lmgym.models.backends.reference import compare_with_reference, plain_name
from models_registry.models import RegisteredModel
from models_registry.selectors import references_for
from models_registry.warm import loaded_model

logger = logging.getLogger(__name__)


class Compared(NamedTuple):
    """Result of a comparison (empty if there is none), and a note for the model's page or ""."""

    result: dict[str, Any]
    note: str


def compare(model: RegisteredModel, backend: Backend) -> Compared:
    """Compare a loaded server with its reference; without one, name models that may have the same weights."""
    if "reference" not in BACKENDS[model.backend].schema.get("properties", {}):
        return Compared({}, "")
    references = references_for(model.owner)
    slug = model.config.get("reference")
    if not slug:
        return Compared({}, _offer(model, references))
    try:
        reference = references.filter(slug=slug).first()
        if reference is None:
            raise BackendError("it is not ready, or the owner of this model cannot see it.")
        with loaded_model(reference) as loaded:
            compared = compare_with_reference(backend, loaded)
    except DatabaseError:
        raise  # not the model's fault: the check is retried
    except BackendError as error:
        return Compared({}, _not_compared(slug, str(error)))
    except Exception as error:
        logger.exception("the comparison of %s with %s raised an exception", model.slug, slug)
        return Compared({}, _not_compared(slug, describe_exception(error, Path(settings.GYM_MODEL_DIR))))
    return Compared({"model": slug, **compared.to_dict()}, compared.note(slug))


def _not_compared(slug: str, reason: str) -> str:
    return f"The values were not compared with the reference {slug}: {reason}"


def _offer(model: RegisteredModel, references: QuerySet[RegisteredModel]) -> str:
    """Name the models whose name, slug, file or repository is the server's name of the model."""
    served = plain_name(model.config["model"])
    same = [
        reference.slug
        for reference in references
        if served
        in {
            plain_name(name)
            for name in (reference.slug, reference.name, *map(reference.config.get, ("repo", "path")))
            if name
        }
    ]
    if not same:
        return ""
    return (
        f"The values were not compared with a reference. Judging by the name, {' or '.join(same)} may have the same "
        "weights. If so, choose that model as the reference under “Correct or delete”."
    )
