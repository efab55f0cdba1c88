"""Use cases for registered models: register, correct, approve, refuse, check, edit, delete."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from jsonschema import Draft202012Validator

from gym.accounts.mail import in_background, send_refused
from gym.accounts.models import AnyUser, User
from gym.addresses import at_free_slug, slug_from
from gym.jobs.selectors import workers
from gym.jobs.services import enqueue, request_cancel
from gym.notices.models import Notice
from gym.notices.services import notify
from gym.secrets import sealed
from gym.sharing.services import lock_object
from lmgym.models.backends import BACKENDS, BackendError, downloads, schema_for
from lmgym.models.backends.downloads import Download
from models_registry import permissions
from models_registry.hub_tokens import token_of
from models_registry.models import AGENT, UPLOADED, RegisteredModel
from models_registry.queues import queue_of_check
from models_registry.quotas import MODELS
from models_registry.selectors import references_for, refused_of, used_in
from models_registry.signals import start_token_settled

Status = RegisteredModel.Status
MAX_REASON = 2_000
PINNED: dict[str, Any] = {
    "facts": {},
    "fingerprint": "",
    "source_revision": "",
    "parameters": None,
    "vocabulary_size": None,
    "checked_at": None,
    "load_seconds": None,
}
"""Fields that a check writes, with their values before the first check."""


class InUse(ValidationError):
    """Raised if a model is in use. The message names the objects that use it and suggests what to do."""


def config_errors(backend: str, config: dict[str, Any]) -> list[tuple[str, str]]:
    """Validate a configuration, with its secrets, against the backend's JSON schema; return (JSON path,
    message) for each error. Messages do not repeat secrets."""
    spec = BACKENDS[backend]
    validator = Draft202012Validator(schema_for(spec, config))
    errors = sorted(validator.iter_errors(config), key=lambda error: [str(step) for step in error.path])
    return [
        (
            error.json_path,
            f"this secret is not valid ({error.validator})"
            if error.path and error.path[0] in spec.secret_names
            else error.message,
        )
        for error in errors
    ]


def config_problems(backend: str, config: dict[str, Any]) -> list[str]:
    """Return the errors of a backend's configuration, including secrets, as sentences."""
    if backend not in BACKENDS:
        return [f"Unknown backend {backend!r}; choose one of {', '.join(sorted(BACKENDS))}."]
    return [f"{path}: {message}" for path, message in config_errors(backend, config)]


def download_of(
    backend: str, config: dict[str, Any], *, actor: AnyUser, model: RegisteredModel | None = None
) -> Download:
    """Return the files that a model would download or read, before it is registered, corrected or approved. Free space
    is reported only if all workers run on this machine.

    The Hub is queried with the owner's own token if the owner entered this configuration, and
    never with the site's.

    Args:
        model: the model to correct or approve; None: a new one."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to register a model")
    config, _ = _split_config(backend, config)
    owner = actor if model is None else model.owner
    is_owners = owner == actor or (model is not None and config == model.config)
    try:
        token = token_of(owner, "the owner's Hugging Face token") if is_owners else None
    except BackendError as error:
        return Download("hub", unknown=str(error))
    download = downloads.download_of(
        backend,
        config,
        model_dir=settings.GYM_MODEL_DIR,
        hub_allowed=settings.GYM_HUB_ALLOWED,
        token=token,
    )
    elsewhere = any(worker.alive and worker.host != socket.gethostname()[:120] for worker in workers())
    return replace(download, free_bytes=None) if elsewhere else download


def register_model(
    *,
    actor: User,
    slug: str,
    name: str,
    backend: str,
    config: dict[str, Any],
    **card: Any,
) -> RegisteredModel:
    """Register a model. It replaces a refused model of the same owner and slug. Models that load files wait for
    approval unless staff register them; all others are checked right away.

    Secrets are passed in `config` but stored separately, encrypted."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to register a model")
    config, secrets = _split_config(backend, config)
    _require_reference(config, actor)
    with transaction.atomic():
        refused_of(actor).filter(slug=slug).delete()
        with MODELS.growing(actor, new=True):
            model = RegisteredModel(slug=slug, name=name, owner=actor, backend=backend, config=config, **card)
            model.secrets = sealed({}, secrets)
            _admit(model, actor)
    return model


def correct_model(model: RegisteredModel, *, actor: User, backend: str, config: dict[str, Any]) -> None:
    """Change the source and configuration of an unused model, which is then approved and checked like a new one. Stored
    secrets are kept if neither the backend nor the address of the server changes."""
    _require_manage(actor, model)
    _require_hosted(model)
    config, secrets = _split_config(backend, config)
    _require_reference(config, model.owner)
    with MODELS.growing(model.owner, actor=actor):
        lock_object(model)
        _require_unused(model, "Its source cannot be changed. Register a new model instead.")
        same_address = (backend, config.get("base_url")) == (model.backend, model.config.get("base_url"))
        model.secrets = sealed(model.secrets if same_address else {}, secrets)
        model.backend, model.config = backend, config
        for name, value in PINNED.items():
            setattr(model, name, value)
        _admit(model, actor)


def _split_config(backend: str, config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Split a configuration into its public part and its secrets (`writeOnly` properties of the schema). Raises
    ValidationError if it does not match the schema."""
    if problems := config_problems(backend, config):
        raise ValidationError(problems)
    names = BACKENDS[backend].secret_names
    shown = {key: value for key, value in config.items() if key not in names}
    return shown, {key: value for key, value in config.items() if key in names}


def _require_reference(config: dict[str, Any], owner: User) -> None:
    """Raise ValidationError if the configuration names a reference that the owner's model cannot be compared with."""
    slug = config.get("reference")
    if slug and not references_for(owner).filter(slug=slug).exists():
        raise ValidationError(
            f"There is no model {slug} to compare with. Name a causal model that you can see and that has passed its "
            "check, or none."
        )


def delete_model(model: RegisteredModel, *, actor: User) -> None:
    """Delete an unused model. Raises PermissionDenied, InUse, and ValidationError for an agent."""
    _require_manage(actor, model)
    if model.backend == AGENT:
        raise ValidationError(f"{model.name} is an agent: delete it on its own page.")
    with transaction.atomic():
        RegisteredModel.objects.select_for_update().get(pk=model.pk)
        _require_unused(model, "Delete these first, or make the model private.")
        model.delete()


def _require_unused(model: RegisteredModel, advice: str) -> None:
    if uses := used_in(model):
        raise InUse(f"{model.name} is used in {' and '.join(uses)}. {advice}")


def _admit(model: RegisteredModel, actor: User) -> None:
    """Save a new or corrected model, and queue its check unless it waits for staff. An earlier check is ignored (see
    actors.check_model)."""
    allowed = not BACKENDS[model.backend].needs_files or permissions.can_approve(actor)
    model.status, model.status_reason = (Status.UNCHECKED if allowed else Status.UNAPPROVED), ""
    model.check_job = None
    model.full_clean(exclude=["facts"])  # empty until the check
    model.save()
    if allowed:
        _queue_check(model, actor)


def register_uploaded_model(*, actor: User, name: str, slug: str = "", **card: Any) -> RegisteredModel:
    """Register a model that is not hosted here, for uploaded results. It is ready right away, since it is never loaded.
    If `slug` is empty, a free slug is derived from the name."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to register a model")
    model = RegisteredModel(name=name, owner=actor, backend=UPLOADED, status=Status.READY, **card)

    def save(free: str) -> RegisteredModel:
        model.slug = free
        model.full_clean(exclude=["facts", "config"], validate_unique=bool(slug))
        model.save()
        return model

    with MODELS.growing(actor, new=True):
        return save(slug) if slug else at_free_slug(_slug_of(name), save, RegisteredModel)


def _slug_of(name: str) -> str:
    base = slug_from(name, "model")
    return f"{base}-model" if base == "register" else base


def change_secrets(model: RegisteredModel, changes: Mapping[str, str | None], *, actor: User) -> None:
    """Replace or delete a model's secrets: "" keeps a stored secret, None deletes it."""
    if not permissions.can_manage(actor, model):
        raise PermissionDenied("only its owner and staff may change a model's secrets")
    names = BACKENDS[model.backend].secret_names if model.backend in BACKENDS else ()
    if set(changes) - set(names):
        raise ValidationError(f"{model.name} has no such secret.")
    with transaction.atomic():
        lock_object(model)
        model.secrets = sealed(model.secrets, changes)
        model.save(update_fields=["secrets"])


def approve_model(model: RegisteredModel, *, actor: User) -> bool:
    """Approve a model and queue its check. Returns False if a check is already active."""
    if not permissions.can_approve(actor):
        raise PermissionDenied("only staff may approve models")
    _require_hosted(model)
    if model.check_job is not None and model.check_job.is_active:
        return False
    with transaction.atomic():
        _notify_owner(model, "was approved and is being checked", actor)
        _queue_check(model, actor)
    return True


def _notify_owner(model: RegisteredModel, what: str, actor: User, *, by_mail: bool = True) -> None:
    """Notify the owner of a decision by staff. Call before locking the model."""
    if model.owner_id != actor.pk:
        text, about = f"Your model {model.name} {what}.", f"model {model.pk}"
        notify(model.owner, Notice.Kind.MODEL, text, model.get_absolute_url(), about=about, by_mail=by_mail)


def refuse_model(model: RegisteredModel, reason: str, *, actor: User) -> None:
    """Refuse a waiting model, with a reason that is shown to the owner on its page and, if the owner has an address,
    e-mailed. Staff may still approve it later."""
    if not permissions.can_approve(actor):
        raise PermissionDenied("only staff may refuse models")
    reason = reason.strip()
    if not reason:
        raise ValidationError({"reason": "Enter a reason to show to the owner."})
    if len(reason) > MAX_REASON:
        raise ValidationError({"reason": f"Enter at most {MAX_REASON} characters."})
    with transaction.atomic():
        _notify_owner(
            model, "was not approved; its page says why", actor, by_mail=False
        )  # send_refused mails the reason
        waiting = RegisteredModel.objects.filter(pk=model.pk, status=Status.UNAPPROVED)
        if not waiting.update(status=Status.REFUSED, status_reason=reason):
            raise ValidationError(f"{model.name} is not waiting for approval.")
        model.status, model.status_reason = Status.REFUSED, reason
        if model.owner.email:
            transaction.on_commit(
                lambda: in_background(send_refused, model.owner.email, model.name, model.slug, reason)
            )


def check_model(model: RegisteredModel, *, actor: User) -> None:
    """Queue another check, e.g. after missing files were added. Does nothing while a check is active."""
    if not permissions.can_edit(actor, model):
        raise PermissionDenied("you may not check this model")
    _require_hosted(model)
    if model.status in (Status.UNAPPROVED, Status.REFUSED) and not permissions.can_approve(actor):
        raise PermissionDenied("staff must approve this model before it can be checked")
    if model.check_job is not None and model.check_job.is_active:
        return
    _queue_check(model, actor)


def cancel_check(model: RegisteredModel, *, actor: User) -> None:
    """Stop a waiting or running check. Files that it has downloaded completely are kept for the next one."""
    if not permissions.can_edit(actor, model):
        raise PermissionDenied("you may not cancel the check of this model")
    if model.check_job is None:
        raise ValidationError(f"{model.name} is not being checked.")
    request_cancel(model.check_job, actor=actor)


def change_start_token(model: RegisteredModel, token: str | None, *, actor: User) -> None:
    """Set the model's start token to one that the check tried, or None for no start token. The check's own choice is
    not stored in the configuration, since a later check may choose another. Existing runs keep their token, by name."""
    _require_manage(actor, model)
    with transaction.atomic():
        lock_object(model)
        tried = [row["token"] for row in model.start_tokens.get("candidates", ())]
        if token not in tried:
            named = ", ".join("no start token" if token is None else token for token in tried)
            raise ValidationError(
                {
                    "start_token": f"Choose a token that the check tried: {named}. To use another token, name it "
                    "when you start a run."
                    if tried
                    else "The check tried no start tokens of this model, so there is none to choose."
                }
            )
        if model.check_job is not None and model.check_job.is_active:
            raise ValidationError(
                {"start_token": "The model is being checked. Choose a token when the check has finished."}
            )
        model.config.pop("bos_token", None)
        if token != model.start_tokens["token"]:
            model.config["bos_token"] = token or ""
        model.facts["bos"] = token
        model.save(update_fields=["config", "facts"])
        start_token_settled.send(sender=RegisteredModel, model=model)


CARD = (
    "name",
    "visibility",
    "tags",
    "description",
    "authorship",
    "licence",
    "corpus",
    "perplexity",
    "url",
    "bibtex",
)


def edit_card(model: RegisteredModel, *, actor: User, **changes: Any) -> None:
    """Change any of the CARD fields; only the owner and staff may change the visibility. Source and configuration are
    not changed here."""
    if not permissions.can_edit(actor, model):
        raise PermissionDenied("you may not edit this model")
    if changes.get("visibility", model.visibility) != model.visibility:
        _require_manage(actor, model)
    fields = [name for name in CARD if name in changes]
    for name in fields:
        setattr(model, name, changes[name])
    model.clean_fields(exclude=[field.name for field in model._meta.fields if field.name not in fields])
    if fields:
        with MODELS.growing(model.owner, actor=actor):
            model.save(update_fields=fields)  # a check may write other fields at the same time


def _require_manage(actor: User, model: RegisteredModel) -> None:
    if not permissions.can_manage(actor, model):
        raise PermissionDenied("only its owner and staff may share, correct or delete a model")


def _require_hosted(model: RegisteredModel) -> None:
    if not model.is_hosted:
        agent = f"Check it on its own page, or by API with POST agent-servers/{model.slug}/check/."
        hint = agent if model.backend == AGENT else "There is nothing to check or correct."
        raise ValidationError(f"{model.not_hosted} {hint}")


def _queue_check(model: RegisteredModel, actor: User) -> None:
    with transaction.atomic():
        model.status, model.status_reason = Status.UNCHECKED, ""
        model.check_job = enqueue(
            "check_model",
            {"model": model.pk, "repin": permissions.can_approve(actor)},
            owner=actor,
            queue=queue_of_check(model),
            title=f"Check {model.name}",
            total=1,
        )
        model.save(update_fields=["status", "status_reason", "check_job"])
