from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from gym.accounts.models import User
from gym.evaluations import uploads
from gym.evaluations.uploaded import KINDS, MAX_BYTES, UNITS
from gym.evaluations.uploads import GivenFile, ModelChoice, Plan
from models_registry.models import UPLOADED, RegisteredModel
from suites.formats import SuiteFormatError
from suites.management.files import actor_named
from suites.models import Suite, SuiteRevision


class Command(BaseCommand):
    help = "Keep results that were computed elsewhere as uploaded runs. Every file is read before anything is saved."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument("--suite", metavar="SLUG", default="", help="default: the suites the file names")
        parser.add_argument(
            "--revision", type=int, metavar="N", help="of --suite; default: the newest frozen one"
        )
        parser.add_argument(
            "--model", metavar="SLUG", default="", help="made when it is new; default: the file's names"
        )
        parser.add_argument("--kind", choices=["auto", *KINDS], default="auto")
        parser.add_argument("--unit", choices=list(UNITS), default="bits")
        parser.add_argument("--spec", type=Path, metavar="JSON", help="spec.json of an LM Zoo model")
        parser.add_argument(
            "--visibility", choices=RegisteredModel.Visibility.values, default="private", help="of new models"
        )
        parser.add_argument("--owner", default="", help="account that uploads; default: the first superuser")
        parser.add_argument("--check", action="store_true", help="say what the files come to, save nothing")

    def handle(self, *args: Any, **options: Any) -> None:
        actor = actor_named(options["owner"])
        revision = _revision(options["suite"], options["revision"])
        spec = _given(options["spec"]) if options["spec"] else None
        choice = _choice(options["model"], options["visibility"])
        plans = [
            (path, _planned(path, actor, revision=revision, spec=spec, options=options))
            for path in options["files"]
        ]
        for path, plan in plans:
            if not options["check"]:
                try:
                    uploads.save_upload(plan, choice, actor=actor)
                except ValidationError as error:
                    raise CommandError(f"{path}: {' '.join(error.messages)}") from error
                except PermissionDenied as error:
                    raise CommandError(f"{path}: {error}") from error
                choice = _choice(options["model"], options["visibility"])
            self._say(path, plan)

    def _say(self, path: Path, plan: Plan) -> None:
        for run in plan.good:
            applied = run.applied
            assert applied is not None
            rates = ", ".join(f"{row.passed} of {row.total}" for row in applied.result.predictions)
            name = run.part.model or "the model"
            self.stdout.write(f"{run.revision.suite.slug} r{run.revision.number} · {name}: {rates or 'read'}")
            for row in applied.failures:
                self.stderr.write(f"{path}: item {row.item}, {row.condition}: {row.failure}")
            for notice in applied.notices:
                self.stderr.write(f"{path}: {notice}")
        for run in plan.refused:
            for problem in run.problems:
                self.stderr.write(f"{path}: {run.part.model} on {run.revision.suite.slug}: {problem}")
        for name, reason in plan.unmatched:
            self.stderr.write(f"{path}: left out “{name}”: {reason}")
        for notice in plan.uploaded.notices:
            self.stderr.write(f"{path}: {notice}")


def _revision(slug: str, number: int | None) -> SuiteRevision | None:
    if not slug:
        return None
    suite = Suite.objects.filter(slug=slug).first()
    if suite is None:
        raise CommandError(f"There is no suite {slug!r}.")
    revision = suite.latest_frozen if number is None else suite.revisions.filter(number=number).first()
    if revision is None or not revision.is_frozen:
        raise CommandError(
            f"{slug} has no such frozen revision: results belong to something that cannot change."
        )
    return revision


def _choice(slug: str, visibility: str) -> ModelChoice:
    model = RegisteredModel.objects.filter(slug=slug).first() if slug else None
    if model is not None and model.backend != UPLOADED:
        raise CommandError(f"{slug} is hosted here: its results are computed, not uploaded.")
    return ModelChoice(
        model=model, name="" if model else slug, slug="" if model else slug, visibility=visibility
    )


def _given(path: Path) -> GivenFile:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CommandError(f"{path}: larger than {MAX_BYTES / 1_000_000:g} MB")
        return GivenFile(path.name, path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error


def _planned(
    path: Path,
    actor: User,
    *,
    revision: SuiteRevision | None,
    spec: GivenFile | None,
    options: dict[str, Any],
) -> Plan:
    try:
        return uploads.plan_upload(
            _given(path),
            actor=actor,
            revision=revision,
            spec=spec,
            kind=options["kind"],
            unit=options["unit"],
        )
    except SuiteFormatError as error:
        problems = "\n".join(f"  {problem}" for problem in error.problems)
        raise CommandError(f"{path} cannot be used:\n{problems}") from error
    except PermissionDenied as error:
        raise CommandError(f"{path}: {error}") from error
