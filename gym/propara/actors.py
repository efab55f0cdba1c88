"""Background work: generate answers process by process, score again after a change of the evaluator."""

from __future__ import annotations

from collections.abc import Sequence

from django.core.exceptions import ValidationError
from django.utils import timezone

from gym.accounts.models import User
from gym.jobs import rights
from gym.jobs.context import JobContext
from gym.jobs.errors import MissingResource, PermanentFailure
from gym.jobs.registry import handler
from gym.propara import permissions, services
from gym.propara.generation import GENERATE
from gym.propara.models import AnswerSetVersion, GeneratedProcess, Submission
from lmgym import __version__
from lmgym.models.backends import Backend, BackendError, NotOnThisMachine
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.propara.errors import ProParaError
from lmgym.propara.generate import PROMPT, GenerationError, answer_process
from lmgym.propara.grid import read_grids, read_sentences
from lmgym.propara.groups import reason
from models_registry import permissions as model_permissions


@handler(GENERATE)
def generate(context: JobContext) -> None:
    """Every process is committed as soon as it is answered; a later attempt goes on from there."""
    from models_registry.warm import load_pinned

    rows = Submission.objects.select_related("version__answer_set", "model")
    submission = rows.filter(pk=context.payload["submission"]).first()
    if submission is None:
        raise PermanentFailure("The submission was deleted.")
    answer_set, model = submission.version.answer_set, submission.model
    if model is None:
        raise PermanentFailure("The model was deleted.")
    rights.require(
        context,
        {
            f"the reference answers {answer_set.slug}": lambda person: permissions.can_submit(
                person, answer_set
            ),
            f"the model {model.slug}": lambda person: model_permissions.can_run(person, model),
        },
    )
    if not model.is_ready:
        raise PermanentFailure(f"{model.name} is not ready any more.")
    try:
        backend = load_pinned(model)
        _answer_all(context, submission, backend)
    except NotOnThisMachine as error:
        raise MissingResource(error.lacks(model.slug)) from error
    except BackendError as error:
        raise PermanentFailure(str(error)) from error
    _finish(context, submission, backend)


def _answer_all(context: JobContext, submission: Submission, backend: Backend) -> None:
    version = submission.version
    grids = read_grids(version.answers, "answers")
    sentences = read_sentences(version.sentences, "sentences")
    policy = ScoringPolicy.from_dict(submission.provenance["policy"])
    done = set(submission.generated.values_list("process_id", flat=True))

    def scorer(texts: Sequence[str]) -> Sequence[TokenScores | ScoringFailure]:
        context.check()
        return backend.score(texts, policy)

    for pid, grid in grids.items():
        context.progress(len(done), len(grids), "processes")
        context.yield_turn()
        if pid in done:
            continue
        try:
            answer = answer_process(pid, sentences[pid], list(grid.participants), scorer)
        except GenerationError as error:
            raise PermanentFailure(f"Process {pid}: {error}") from error
        with context.transaction(brings_forward=True):
            GeneratedProcess.objects.create(
                submission=submission,
                process_id=pid,
                text=answer.text,
                choices=[list(choice) for choice in answer.choices],
            )
        done.add(pid)


def _finish(context: JobContext, submission: Submission, backend: Backend) -> None:
    texts = dict(submission.generated.values_list("process_id", "text"))
    whole = "".join(texts[pid] for pid in submission.version.process_ids)
    facts = backend.facts
    with context.finish():
        row = Submission.objects.select_for_update(of=("self",)).get(pk=submission.pk)
        row.file = whole.encode()
        row.file_sha256 = services.sha256_of(row.file)
        row.samples = [{"text": whole, "failures": []}]
        row.provenance |= {
            "prompt": PROMPT,
            "fingerprint": facts.fingerprint,
            "dtype": facts.dtype,
            "device": facts.device,
            "versions": facts.versions,
            "score_kind": facts.score_kind,
            "gym": __version__,
            "generated_at": timezone.now().isoformat(),
        }
        services.score(row)


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
    keys = list(services.left_behind(version).order_by("pk").values_list("pk", flat=True))
    for done, pk in enumerate(keys):
        context.progress(done, len(keys), "submissions")
        context.check()
        with context.transaction(brings_forward=True):
            row = services.left_behind(version).filter(pk=pk).first()
            if row is None:
                continue
            try:
                services.score_on_version(row, version, actor=actor)
            except ProParaError as error:
                why = reason(error)
                services.note_misfit(row, version, why)
                context.log(f"A submission does not fit v{version.number}: {why}")
            except ValidationError as error:
                context.log(f"A submission was not scored: {' '.join(error.messages)}")
    with context.finish():
        pass
