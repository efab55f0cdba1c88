"""Use cases of registered models: register, correct, approve, check, delete."""

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
from gym.jobs.services import enqueue
from gym.notices.models import Notice
from gym.notices.services import notify
from gym.secrets import sealed
from gym.sharing.services import hold
from lmgym.models.backends import BACKENDS, downloads, schema_for
from lmgym.models.backends.downloads import Download
from models_registry import permissions
from models_registry.models import AGENT, UPLOADED, RegisteredModel
from models_registry.queues import queue_of_check
from models_registry.quotas import MODELS
from models_registry.selectors import refused_of, used_in
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
"""What a check writes down, before there was one."""


class InUse(ValidationError):
    """Something rests on this model; the message says what, and what to do."""


def config_errors(backend: str, config: dict[str, Any]) -> list[tuple[str, str]]:
    """(JSON path, message) of everything in which a configuration, with its secrets, differs from the backend's JSON
    schema. What is wrong with a secret is said without repeating it."""
    spec = BACKENDS[backend]
    validator = Draft202012Validator(schema_for(spec, config))
    errors = sorted(validator.iter_errors(config), key=lambda error: [str(step) for step in error.path])
    return [
        (
            error.json_path,
            f"this secret cannot be used ({error.validator})"
            if error.path and error.path[0] in spec.secret_names
            else error.message,
        )
        for error in errors
    ]


def config_problems(backend: str, config: dict[str, Any]) -> list[str]:
    """What is wrong with a backend's configuration, secrets included, in words; empty when nothing is."""
    if backend not in BACKENDS:
        return [f"There is no backend {backend!r}; choose one of {', '.join(sorted(BACKENDS))}."]
    return [f"{path}: {message}" for path, message in config_errors(backend, config)]


def download_of(backend: str, config: dict[str, Any], *, actor: AnyUser) -> Download:
    """What a model would download or read, before it is registered. Free space is known only where the workers share
    this machine."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to register a model")
    config, _ = _fitting(backend, config)
    found = downloads.download_of(
        backend, config, model_dir=settings.GYM_MODEL_DIR, hub_allowed=settings.GYM_HUB_ALLOWED
    )
    elsewhere = any(worker.alive and worker.host != socket.gethostname()[:120] for worker in workers())
    return replace(found, free_bytes=None) if elsewhere else found


def register_model(
    *,
    actor: User,
    slug: str,
    name: str,
    backend: str,
    config: dict[str, Any],
    **card: Any,
) -> RegisteredModel:
    """Register a model. Staff's are checked at once; other people's wait until staff approves loading them. It takes
    the place of a refused one of theirs with the same address.

    Secrets are given within `config`, and stored encrypted and not in `config`."""
    if not actor.is_authenticated:
        raise PermissionDenied("sign in to register a model")
    config, given = _fitting(backend, config)
    with transaction.atomic():
        refused_of(actor).filter(slug=slug).delete()
        with MODELS.growing(actor, new=True):
            model = RegisteredModel(slug=slug, name=name, owner=actor, backend=backend, config=config, **card)
            model.secrets = sealed({}, given)
            _admit(model, actor)
    return model


def correct_model(model: RegisteredModel, *, actor: User, backend: str, config: dict[str, Any]) -> None:
    """Change what a model is, as long as nothing rests on it. It is checked, and approved where that is needed, like a
    new one. Secrets that are not given stay while they are for the same address."""
    _require_manage(actor, model)
    _require_hosted(model)
    config, given = _fitting(backend, config)
    with MODELS.growing(model.owner, actor=actor):
        hold(model)
        _require_unused(model, "What it is stays as registered. Register a new model instead.")
        same_address = (backend, config.get("base_url")) == (model.backend, model.config.get("base_url"))
        model.secrets = sealed(model.secrets if same_address else {}, given)
        model.backend, model.config = backend, config
        for name, value in PINNED.items():
            setattr(model, name, value)
        _admit(model, actor)


def _fitting(backend: str, config: dict[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """The configuration that may be shown, and its secrets (the `writeOnly` properties of the schema), apart.
    ValidationError where they do not fit the schema."""
    if problems := config_problems(backend, config):
        raise ValidationError(problems)
    names = BACKENDS[backend].secret_names
    shown = {key: value for key, value in config.items() if key not in names}
    return shown, {key: value for key, value in config.items() if key in names}


def delete_model(model: RegisteredModel, *, actor: User) -> None:
    """A model with its card and its secrets, as long as nothing rests on it."""
    _require_manage(actor, model)
    if model.backend == AGENT:
        raise ValidationError(f"{model.name} is an agent: delete it on its own page.")
    with transaction.atomic():
        RegisteredModel.objects.select_for_update().get(pk=model.pk)
        _require_unused(model, "Delete these first, or make the model private.")
        model.delete()


def _require_unused(model: RegisteredModel, advice: str) -> None:
    if found := used_in(model):
        raise InUse(f"{model.name} is used in {' and '.join(found)}. {advice}")


def _admit(model: RegisteredModel, actor: User) -> None:
    """Save a new or corrected model: its check is queued, or it waits for staff. A check that was queued before has
    nothing to say any more, see actors.check_model."""
    allowed = not BACKENDS[model.backend].needs_files or permissions.can_approve(actor)
    model.status, model.status_reason = (Status.UNCHECKED if allowed else Status.UNAPPROVED), ""
    model.check_job = None
    model.full_clean(exclude=["facts"])  # nothing is known before the check
    model.save()
    if allowed:
        _queue_check(model, actor)


def register_uploaded_model(*, actor: User, name: str, slug: str = "", **card: Any) -> RegisteredModel:
    """A card for a model that is not hosted here, so that results computed elsewhere can belong to it.

    It is ready at once, since nothing is ever loaded. Without a slug it gets a free one, made of its name.
    """
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


def change_secrets(model: RegisteredModel, given: Mapping[str, str | None], *, actor: User) -> None:
    """Replace or forget a model's secrets; "" keeps what is stored, None forgets it."""
    if not permissions.can_manage(actor, model):
        raise PermissionDenied("only its owner keeps a model's secrets")
    names = BACKENDS[model.backend].secret_names if model.backend in BACKENDS else ()
    if set(given) - set(names):
        raise ValidationError(f"{model.name} has no such secret.")
    with transaction.atomic():
        hold(model)
        model.secrets = sealed(model.secrets, given)
        model.save(update_fields=["secrets"])


def approve_model(model: RegisteredModel, *, actor: User) -> bool:
    """Staff lets a waiting model be loaded. Whether a check was queued: not while one is under way."""
    if not permissions.can_approve(actor):
        raise PermissionDenied("only staff approves models")
    _require_hosted(model)
    if model.check_job is not None and model.check_job.is_active:
        return False
    with transaction.atomic():
        _tell_owner(model, "was approved and is checked now", actor)
        _queue_check(model, actor)
    return True


def _tell_owner(model: RegisteredModel, what: str, actor: User, *, by_mail: bool = True) -> None:
    """What staff decided. Call it before the model is locked."""
    if model.owner_id != actor.pk:
        text, about = f"Your model {model.name} {what}.", f"model {model.pk}"
        notify(model.owner, Notice.Kind.MODEL, text, model.get_absolute_url(), about=about, by_mail=by_mail)


def refuse_model(model: RegisteredModel, reason: str, *, actor: User) -> None:
    """Staff does not let a waiting model be loaded, and says why; its owner reads it on the model's page, and in an
    e-mail where there is an address. Staff may approve it later all the same."""
    if not permissions.can_approve(actor):
        raise PermissionDenied("only staff refuses models")
    reason = reason.strip()
    if not reason:
        raise ValidationError({"reason": "Say why: its owner reads it."})
    if len(reason) > MAX_REASON:
        raise ValidationError({"reason": f"At most {MAX_REASON} characters."})
    with transaction.atomic():
        _tell_owner(
            model, "was not approved; its page says why", actor, by_mail=False
        )  # a mail has the reason
        waiting = RegisteredModel.objects.filter(pk=model.pk, status=Status.UNAPPROVED)
        if not waiting.update(status=Status.REFUSED, status_reason=reason):
            raise ValidationError(f"{model.name} does not wait for staff.")
        model.status, model.status_reason = Status.REFUSED, reason
        if model.owner.email:
            transaction.on_commit(
                lambda: in_background(send_refused, model.owner.email, model.name, model.slug, reason)
            )


def check_model(model: RegisteredModel, *, actor: User) -> None:
    """Queue the check again, e.g. after files were put in place."""
    if not permissions.can_edit(actor, model):
        raise PermissionDenied("you may not check this model")
    _require_hosted(model)
    if model.status in (Status.UNAPPROVED, Status.REFUSED) and not permissions.can_approve(actor):
        raise PermissionDenied("staff has not approved this model yet")
    if model.check_job is not None and model.check_job.is_active:
        return
    _queue_check(model, actor)


def change_start_token(model: RegisteredModel, token: str | None, *, actor: User) -> None:
    """Make one of the start tokens that the check tried the model's own; None: it has none. The check's own choice is
    not written down: a later check may find another. Runs that are there keep the token they had, by name."""
    _require_manage(actor, model)
    with transaction.atomic():
        hold(model)
        tried = [one["token"] for one in model.start_tokens.get("candidates", ())]
        if token not in tried:
            named = ", ".join("no start token" if one is None else one for one in tried)
            raise ValidationError(
                {
                    "start_token": f"Choose one that the check tried: {named}. A run can use any other by name."
                    if tried
                    else "The check tried no start tokens of this model, so there is none to choose."
                }
            )
        if model.check_job is not None and model.check_job.is_active:
            raise ValidationError(
                {"start_token": "The model is being checked. Choose again when the check has finished."}
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
    """Change what a model's people say about it: any of CARD. What it is stays as registered."""
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
            model.save(update_fields=fields)  # never what a check writes meanwhile


def _require_manage(actor: User, model: RegisteredModel) -> None:
    if not permissions.can_manage(actor, model):
        raise PermissionDenied("only its owner says who sees a model, corrects and deletes it")


def _require_hosted(model: RegisteredModel) -> None:
    if not model.is_hosted:
        agent = f"Check it on its own page, or at agent-servers/{model.slug}/check/."
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
