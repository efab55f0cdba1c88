"""Background jobs: rescore submissions after a change to the evaluator or the reference answers."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from gym.accounts.models import User
from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.handlers import handler
from gym.propara import permissions, services
from gym.propara.models import AnswerSetVersion
from lmgym.propara.errors import ProParaError
from lmgym.propara.groups import reason


@handler(services.RESCORE)
def rescore(context: JobContext) -> None:
    """Score outdated submissions, each in its own transaction, so that a later attempt continues with the others."""
    keys = list(services.outdated().order_by("pk").values_list("pk", flat=True))
    for done, pk in enumerate(keys):
        context.progress(done, len(keys), "submissions")
        context.check()
        with context.transaction(brings_forward=True):
            row = services.outdated().select_for_update(of=("self",)).filter(pk=pk).first()
            if row is not None:
                services.score(row)
    with context.finish():
        pass


@handler(services.SCORE_VERSION)
def score_version(context: JobContext) -> None:
    """Score earlier submissions on a version, each in its own transaction, so that a later attempt continues with the
    others. The log gives the reason if a submission is not scored, but not its name, which may be private."""
    rows = AnswerSetVersion.objects.select_related("answer_set__owner")
    version = rows.filter(pk=context.payload["version"]).first()
    if version is None:
        raise PermanentFailure("The reference answers were deleted.")
    answer_set = version.answer_set
    rights.require(
        context,
        {f"the reference answers {answer_set.slug}": lambda person: permissions.can_edit(person, answer_set)},
    )
    actor = answer_set.owner
    if context.owner_id is not None:
        actor = User.objects.filter(pk=context.owner_id).first() or actor
    keys = list(services.unscored_on(version).order_by("pk").values_list("pk", flat=True))
    for done, pk in enumerate(keys):
        context.progress(done, len(keys), "submissions")
        context.check()
        with context.transaction(brings_forward=True):
            row = services.unscored_on(version).filter(pk=pk).first()
            if row is None:
                continue
            try:
                services.score_on_version(row, version, actor=actor)
            except ProParaError as error:
                message = reason(error)
                services.note_incompatible(row, version, message)
                context.log(f"A submission does not fit version {version.number}: {message}")
            except ValidationError as error:
                context.log(f"A submission was not scored: {' '.join(error.messages)}")
    with context.finish():
        pass
