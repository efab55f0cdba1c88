"""Series of checkpoints: models of one owner with the tag `group:NAME`, each with the tag `step:N`.

A series from the Hub is reviewed, registered and approved in one step.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction

from gym.accounts.models import AnyUser, User
from lmgym.models.backends import BackendError, hub, hub_listing
from lmgym.models.backends.checkpoints import Checkpoint, choose
from lmgym.models.backends.downloads import ASK_SECONDS, Download, downloads_of
from models_registry import permissions
from models_registry.hub_tokens import token_of
from models_registry.models import RegisteredModel
from models_registry.names import GROUP
from models_registry.quotas import MODELS
from models_registry.selectors import visible_to
from models_registry.services import approve_model, config_problems, register_model

STEP = "step:"
"""Tag of a checkpoint: `step:1000` = after 1,000 training steps."""
REVIEW_SECONDS = 15.0
"""Time limit in seconds for fetching the file lists of a series, while a user waits for the page."""


# --- members ---


def tagged(model: RegisteredModel, prefix: str) -> str:
    """Return the rest of the model's first tag with this prefix; "" if there is none."""
    tags = (str(tag) for tag in model.tags)
    return next((tag[len(prefix) :].strip() for tag in tags if tag.startswith(prefix)), "")


def group_of(model: RegisteredModel) -> tuple[int, str] | None:
    """Return the model's group as (owner id, name), since other owners' groups may have the same name;
    None without a group."""
    name = tagged(model, GROUP)
    return (model.owner_id, name) if name else None


def step_of(model: RegisteredModel) -> float | None:
    """Return the training step in the model's tag (`step:2000`, `step:2k`), or None."""
    match = re.fullmatch(r"(\d{1,12}(?:\.\d{1,6})?)\s*([kKmM]?)", tagged(model, STEP))
    if match is None:
        return None
    return float(match[1]) * {"": 1.0, "k": 1e3, "m": 1e6}[match[2].lower()]


def members(user: AnyUser, model: RegisteredModel) -> list[tuple[float, RegisteredModel]]:
    """Return (training step, checkpoint) pairs of the model's series that this user may see, including the model, in
    order; empty if the model belongs to no series."""
    group = group_of(model)
    if group is None or step_of(model) is None:
        return []
    rows = visible_to(user).filter(owner=model.owner_id)
    found = [(step, row) for row in rows if group_of(row) == group and (step := step_of(row)) is not None]
    return sorted(found, key=lambda pair: (pair[0], pair[1].slug))


def waiting_members(user: AnyUser, model: RegisteredModel) -> list[RegisteredModel]:
    """Return the checkpoints of the model's series that wait for approval and that this user may see, in order."""
    return [row for _, row in members(user, model) if row.status == RegisteredModel.Status.UNAPPROVED]


# --- review ---


@dataclass(frozen=True)
class SeriesDownload:
    """Files of a series: (training step, files of this checkpoint) in order."""

    rows: Sequence[tuple[float, Download]]
    free_bytes: int | None

    @property
    def n_files(self) -> int:
        return sum(len(download.files) for _, download in self.rows)

    @property
    def total_bytes(self) -> int:
        """Bytes of the files whose sizes are known. Files that checkpoints share count once for each."""
        return sum(download.total_bytes or 0 for _, download in self.rows)

    @property
    def download_bytes(self) -> int:
        return sum(download.download_bytes or 0 for _, download in self.rows)

    @property
    def n_unknown(self) -> int:
        return sum(bool(download.unknown) for _, download in self.rows)

    @property
    def n_obstacles(self) -> int:
        return sum(bool(download.obstacle) for _, download in self.rows)

    @property
    def is_too_large(self) -> bool:
        return self.free_bytes is not None and self.download_bytes > self.free_bytes


def choose_checkpoints(
    backend: str, config: dict[str, Any], revisions: str, *, actor: AnyUser
) -> list[Checkpoint]:
    """Choose checkpoints among the branches and tags that the Hub lists. The Hub is queried without a token or, if it
    denies access, with the actor's own token, never with the site's.

    Raises:
        ValidationError: unknown checkpoint, unreachable Hub, or invalid configuration.
        PermissionDenied: the actor is not signed in.
    """
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to register a model")
    if problems := config_problems(backend, config):
        raise ValidationError(problems)
    if config.get("source") != "hub":
        raise ValidationError("Only models from the Hugging Face Hub can be registered as a series.")
    if "revision" in config:
        raise ValidationError("Name either one revision or a series of checkpoints.")
    if not settings.GYM_HUB_ALLOWED:
        raise ValidationError("This site does not download models from the Hugging Face Hub.")
    repo = config["repo"]
    try:
        hub.check_names(repo, "main")
        return choose(revisions, _refs(repo, actor), repo)
    except BackendError as error:
        raise ValidationError(str(error)) from error


def _refs(repo: str, actor: User) -> dict[str, str]:
    try:
        return hub_listing.refs(repo, seconds=ASK_SECONDS)
    except hub_listing.AccessDenied:
        if (token := _own_token(actor)) is None:
            raise
        return hub_listing.refs(repo, seconds=ASK_SECONDS, token=token)


def _own_token(actor: User) -> hub_listing.HubToken | None:
    try:
        return token_of(actor, "your Hugging Face token")
    except BackendError as error:
        raise ValidationError(str(error)) from error


def download_of_series(
    config: dict[str, Any], checkpoints: Sequence[Checkpoint], *, actor: User
) -> SeriesDownload:
    """Return the files that a series would download, before it is registered."""
    token = _own_token(actor)
    configs = [config | {"revision": checkpoint.revision} for checkpoint in checkpoints]
    downloads = downloads_of(
        configs, hub_allowed=settings.GYM_HUB_ALLOWED, token=token, seconds=REVIEW_SECONDS
    )
    return _summary([float(checkpoint.step) for checkpoint in checkpoints], downloads)


def download_of_members(models: Sequence[RegisteredModel]) -> SeriesDownload:
    """Return the files that one owner's registered checkpoints would download, before they are approved."""
    try:
        token = token_of(models[0].owner, "the owner's Hugging Face token") if models else None
    except BackendError:
        token = None  # the check gives the reason
    configs = [model.config for model in models]
    downloads = downloads_of(
        configs, hub_allowed=settings.GYM_HUB_ALLOWED, token=token, seconds=REVIEW_SECONDS
    )
    return _summary([step_of(model) or 0.0 for model in models], downloads)


def _summary(steps: Sequence[float], downloads: Sequence[Download]) -> SeriesDownload:
    free = downloads[0].free_bytes if downloads else None
    return SeriesDownload(list(zip(steps, downloads, strict=True)), free)


# --- use cases ---


def register_series(
    *,
    actor: User,
    slug: str,
    name: str,
    backend: str,
    config: dict[str, Any],
    revisions: str,
    tags: Sequence[str] = (),
    **card: Any,
) -> list[RegisteredModel]:
    """Register one model for each checkpoint, in order, or none: SLUG-step1000 with the tags group:SLUG and step:1000.

    Args:
        revisions: names and patterns, see `lmgym.models.backends.checkpoints.choose`.
        tags: tags for all of them. A tag `group:NAME` replaces group:SLUG.

    Raises:
        ValidationError: see `choose_checkpoints`; or an address is taken, or the quota is exhausted.
        PermissionDenied: the actor is not signed in.
    """
    checkpoints = choose_checkpoints(backend, config, revisions, actor=actor)
    kept = [tag for tag in tags if not tag.startswith(STEP)]
    if not any(tag.startswith(GROUP) for tag in kept):
        kept.append(f"{GROUP}{slug}")
    with transaction.atomic():
        MODELS.require_quota(actor, len(checkpoints))
        return [
            _register_one(
                checkpoint,
                actor=actor,
                slug=f"{slug}-step{checkpoint.step}",
                name=f"{name}, step {checkpoint.step:,}",
                backend=backend,
                config=config | {"revision": checkpoint.revision},
                tags=[*kept, f"{STEP}{checkpoint.step}"],
                **card,
            )
            for checkpoint in checkpoints
        ]


def _register_one(checkpoint: Checkpoint, *, slug: str, **more: Any) -> RegisteredModel:
    try:
        return register_model(slug=slug, **more)
    except ValidationError as error:
        reasons = " ".join(error.messages)
        raise ValidationError(
            f"Nothing was registered, because checkpoint {checkpoint.revision} was refused as {slug}. {reasons}"
        ) from error


def approve_series(model: RegisteredModel, *, actor: User) -> list[RegisteredModel]:
    """Approve all waiting checkpoints of the model's series and queue their checks."""
    if not permissions.can_approve(actor):
        raise PermissionDenied("only staff may approve models")
    waiting = waiting_members(actor, model)
    if not waiting:
        raise ValidationError(f"No checkpoint in the series of {model.name} is waiting for approval.")
    with transaction.atomic():
        for member in waiting:
            approve_model(member, actor=actor)
    return waiting
