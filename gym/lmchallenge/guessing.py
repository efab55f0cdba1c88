"""The playground: what would a model predict here? A quick job, and a short wait."""

from __future__ import annotations

from datetime import timedelta

from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.utils import timezone

from gym.accounts import daily_sentences
from gym.accounts.models import User
from gym.jobs import rights
from gym.jobs import services as jobs
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import WAIT_SECONDS, wait_for_job
from gym.lmchallenge.counting import finite
from gym.lmchallenge.models import Guess
from lmgym.lmchallenge.backend_players import PLAYABLE, player_for_backend
from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.player import Request
from lmgym.models.backends import BackendError
from models_registry import permissions
from models_registry.models import RegisteredModel

GUESS, QUEUE = "lmc_guess", "preview"
MAX_CHARACTERS = 2_000
PREDICTIONS = 10
KEEP = timedelta(hours=1)


def queue_guess(text: str, model: RegisteredModel, *, actor: User) -> Guess:
    """Ask what follows `text`. What this person asked before and nobody answered yet is cancelled."""
    if not permissions.can_run(actor, model):
        raise PermissionDenied("you may not run this model")
    if model.backend not in PLAYABLE or not model.is_ready:
        raise ValidationError(f"{model.name} cannot play, or is not ready.")
    if len(text) > MAX_CHARACTERS:
        raise ValidationError(f"{len(text):,} characters; at most {MAX_CHARACTERS:,} are read here.")
    with transaction.atomic():
        daily_sentences.charge(actor, 1)
        mine = Guess.objects.filter(owner=actor)
        for job in Job.objects.filter(lmc_guess__in=mine, state__in=ACTIVE_STATES):
            jobs.stop(job, actor=actor)
        Guess.objects.filter(created__lt=timezone.now() - KEEP).delete()
        guess = Guess.objects.create(owner=actor, model=model, text=text)
        guess.job = jobs.enqueue(
            GUESS, {"guess": guess.pk}, owner=actor, queue=QUEUE, title=f"What follows, with {model.name}"
        )
        guess.save(update_fields=["job"])
    return guess


def wait_for(guess: Guess, seconds: float = WAIT_SECONDS) -> Guess:
    """The guess as it is when its job has ended, or as it is now where nobody may wait any longer."""
    wait_for_job(guess.job_id, seconds)
    return Guess.objects.select_related("model", "job").get(pk=guess.pk)


@handler(GUESS, seconds=600)
def answer(context: JobContext) -> None:
    from models_registry.warm import loaded_model

    guess = Guess.objects.select_related("model").filter(pk=context.payload["guess"]).first()
    if guess is None:
        raise PermanentFailure("The question was deleted.")
    model = guess.model
    rights.require(
        context,
        {f"the model {model.slug}": lambda person: permissions.can_run(person, model)},
    )
    try:
        with loaded_model(model) as backend:
            player = player_for_backend(backend, {"predictions": PREDICTIONS})
            (reply,) = player.predict([Request(guess.text)])
    except (BackendError, LmcError) as error:
        raise PermanentFailure(str(error)) from error
    ranked = sorted(reply, key=lambda pair: -pair[1])[:PREDICTIONS]
    with context.finish():
        Guess.objects.filter(pk=guess.pk).update(predictions=finite([list(pair) for pair in ranked]))
