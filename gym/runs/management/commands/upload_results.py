from __future__ import annotations

import math
import sys
from argparse import ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.exceptions import PermissionDenied, ValidationError
from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from gym.accounts.models import User
from gym.runs.work import uploads
from gym.runs.work.uploads import ModelChoice, Plan, PlannedRun, ResultFile
from gym.sharing.models import PRIVATE_OR_PUBLIC
from gym.site_command import SiteCommand
from lmgym.runs.uploaded import AUTO, KINDS, MAX_BYTES, UNITS
from lmgym.text import count, listing
from lmgym.text.problems import FormatError, Notice
from models_registry.models import UPLOADED, RegisteredModel
from suites.management.files import actor_named
from suites.models import Suite, SuiteRevision

PLACES = 3
"""Maximum number of places named per notice; the others are counted."""


class Command(SiteCommand):
    help = (
        "Store results computed elsewhere as uploaded runs. Files with problems are reported, and "
        "the others are stored."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
        parser.add_argument(
            "--suite", metavar="SLUG", default="", help="default: the suites named in the file"
        )
        parser.add_argument(
            "--revision", type=int, metavar="N", help="revision of --suite; default: the newest frozen one"
        )
        parser.add_argument(
            "--model",
            metavar="SLUG",
            default="",
            help="model of the results, created if new; default: the models named in the file",
        )
        parser.add_argument(
            "--group",
            metavar="NAME",
            default="",
            help="name of the model of which these are seeds or checkpoints",
        )
        parser.add_argument(
            "--perplexity", type=_perplexity, metavar="NUMBER", help="perplexity of every model in the files"
        )
        parser.add_argument("--kind", choices=["auto", *KINDS], default="auto")
        parser.add_argument(
            "--unit", choices=UNITS, default=AUTO, help="default: the unit in the column's name"
        )
        parser.add_argument("--spec", type=Path, metavar="JSON", help="spec.json of an LM Zoo model")
        parser.add_argument(
            "--visibility",
            choices=dict(PRIVATE_OR_PUBLIC),
            default="private",
            help="visibility of new models",
        )
        parser.add_argument("--owner", default="", help="uploading account; default: the first superuser")
        parser.add_argument("--check", action="store_true", help="preview only; nothing is stored")

    def handle(self, *args: Any, **options: Any) -> None:
        self.notices: dict[str, list[str]] = {}
        self.left_out: dict[str, dict[str, None]] = {}
        actor = actor_named(options["owner"])
        revision = _revision(options["suite"], options["revision"])
        spec = _read_file(options["spec"]) if options["spec"] else None
        _choice(options)
        troubles = []
        for path in options["files"]:
            try:
                self._process(path, actor, revision, spec, options)
            except FormatError as error:
                problems = "\n".join(f"  {problem}" for problem in error.problems)
                troubles.append(f"{path} cannot be used:\n{problems}")
            except ValidationError as error:
                troubles.append(f"{path}: {' '.join(error.messages)}")
            except PermissionDenied as error:
                troubles.append(f"{path}: {error}")
            except CommandError as error:
                troubles.append(str(error))
        self._report_notices()
        if troubles:
            kept = len(options["files"]) - len(troubles)
            if kept and not options["check"]:
                were = "was" if kept == 1 else "were"
                troubles.append(
                    f"{count(kept, 'file')} of {len(options['files'])} {were} stored; upload only the others again."
                )
            raise CommandError("\n".join(troubles))

    def _process(
        self,
        path: Path,
        actor: User,
        revision: SuiteRevision | None,
        spec: ResultFile | None,
        options: dict[str, Any],
    ) -> None:
        plan = uploads.plan_upload(
            _read_file(path),
            actor=actor,
            revision=revision,
            spec=spec,
            kind=options["kind"],
            unit=options["unit"],
        )
        choice = _choice(options)
        if options["check"]:
            uploads.check_choice(plan, choice, actor=actor)
        else:
            with tqdm(
                total=len(plan.good), desc=path.name, unit="run", file=sys.stderr, leave=False, disable=None
            ) as bar:
                uploads.save_in_steps(
                    plan, choice, actor=actor, progress=lambda done: bar.update(done - bar.n)
                )
        self._report(path, plan, choice)

    def _report(self, path: Path, plan: Plan, choice: ModelChoice) -> None:
        for run in plan.good:
            applied = run.applied
            assert applied is not None
            rates = ", ".join(f"{row.passed} of {row.n}" for row in applied.result.predictions)
            name = _name(run, choice)
            self.stdout.write(f"{run.revision.suite.slug} r{run.revision.number} · {name}: {rates or 'read'}")
            place = f"{path.name}, {name} on {run.revision.suite.slug}"
            for row in applied.failures:
                self._note(f"{place}, item {row.item}, {row.condition}", row.failure)
            for notice in applied.notices:
                self._note(_at(place, notice.where), _marked(notice))
        for run in plan.refused:
            place = f"{path.name}, {_name(run, choice)} on {run.revision.suite.slug}"
            for problem in run.problems:
                self._note(_at(place, problem.where), f"refused: {problem.message}. {problem.hint}".strip())
        for name, reason in plan.unmatched:
            self.left_out.setdefault(reason, {})[f"“{name}”"] = None
        for notice in plan.notices:
            self._note(_at(path.name, notice.where), _marked(notice))
        models = {_name(run, choice) for run in plan.good}
        suites = {run.revision.suite_id for run in plan.good}
        self.stdout.write(
            f"{path}: {count(len(plan.good), 'run')} of {count(len(models), 'model')} on {count(len(suites), 'suite')}"
        )

    def _note(self, place: str, message: str) -> None:
        self.notices.setdefault(message, []).append(place)

    def _report_notices(self) -> None:
        """Print each notice once, with its count and first places if it occurred several times; then the suites left
        out, by reason.
        """
        for message, places in self.notices.items():
            often = f" ({len(places):,} times: {listing(places, PLACES)})" if len(places) > 1 else ""
            self.stderr.write(f"{message}{often}" if often else f"{places[0]}: {message}")
        for reason, names in self.left_out.items():
            self.stderr.write(f"Left out {count(len(names), 'suite')}, {', '.join(names)}: {reason}")


def _marked(notice: Notice) -> str:
    return f"warning: {notice.message}" if notice.is_warning else notice.message


def _at(place: str, where: str) -> str:
    return place if where == "file" else f"{place}, {where}"


def _name(run: PlannedRun, choice: ModelChoice) -> str:
    """Return the slug of the run's model, or the name for a model that is yet to be created."""
    model = run.model or choice.model
    return model.slug if model is not None else choice.slug or run.part.model or "the new model"


def _perplexity(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 1 <= value < math.inf:
        raise ArgumentTypeError(f"“{text}” is not a perplexity: enter a number of at least 1, such as 106.09")
    return value


def _revision(slug: str, number: int | None) -> SuiteRevision | None:
    if not slug:
        return None
    suite = Suite.objects.filter(slug=slug).first()
    if suite is None:
        raise CommandError(f"Unknown suite {slug!r}.")
    revision = suite.latest_frozen if number is None else suite.revisions.filter(number=number).first()
    if revision is None or not revision.is_frozen:
        raise CommandError(f"{slug} has no frozen revision{'' if number is None else f' {number}'}.")
    return revision


def _choice(options: dict[str, Any]) -> ModelChoice:
    """Build the ModelChoice for one file. It is built again for each file, because an earlier file may have
    created the model."""
    slug, group = options["model"], options["group"].strip()
    if "," in group:
        raise CommandError("--group takes a single name, without commas.")
    model = RegisteredModel.objects.filter(slug=slug).first() if slug else None
    if model is not None and model.backend != UPLOADED:
        raise CommandError(f"{slug} is hosted here: its results are computed, not uploaded.")
    return ModelChoice(
        model=model,
        name="" if model else slug,
        slug="" if model else slug,
        visibility=options["visibility"],
        group=group,
        perplexity=options["perplexity"],
    )


def _read_file(path: Path) -> ResultFile:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise CommandError(f"{path}: larger than {MAX_BYTES / 1_000_000:g} MB")
        return ResultFile(path.name, path.read_bytes())
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from error
