"""Background jobs: score submissions again after a change of the evaluator or of the reference answers."""

from __future__ import annotations

from django.core.exceptions import ValidationError

from gym.accounts.models import User
from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import PermanentFailure
from gym.jobs.registry import handler
from gym.propara import permissions, services
from gym.propara.models import AnswerSetVersion
from lmgym.propara.errors import ProParaError
from lmgym.propara.groups import reason


@handler(services.RESCORE)
def rescore(context: JobContext) -> None:
    """One transaction for each submission, so that a later attempt goes on with those that are left."""
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
    """One transaction for each submission, so that a later attempt goes on with those that are left. The log says why
    one does not fit the version, or finds no room, but not which: it may be private."""
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
                why = reason(error)
                services.note_incompatible(row, version, why)
                context.log(f"A submission does not fit v{version.number}: {why}")
            except ValidationError as error:
                context.log(f"A submission was not scored: {' '.join(error.messages)}")
    with context.finish():
        pass
