from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from tqdm import tqdm

from gym.runs.pages.forms import METRICS, TOKENS, WHITESPACE
from gym.runs.work.scoring import CachedScores
from gym.runs.work.services import NOTHING_NEEDED
from gym.site_command import SiteCommand
from lmgym.models.backends import Backend, BackendError
from lmgym.models.engine import ScoringPolicy
from lmgym.runs import report
from lmgym.runs.compute import RunResult, metric_of
from lmgym.runs.coverage import coverage_json
from lmgym.runs.provenance import coverage_of_run, provenance
from lmgym.runs.scoring import score_document
from lmgym.suites.formats import SuiteDocument
from lmgym.text.csv_writer import csv_text
from models_registry.models import RegisteredModel
from suites.management.files import read_file
from suites.models import JoinPolicy


class Command(SiteCommand):
    help = "Run a registered model on a suite file in the foreground and print the same numbers as the site."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("suite", type=Path, help="suite file: JSON, CSV or TSV")
        parser.add_argument("--model", required=True, metavar="SLUG", help="a registered model")
        parser.add_argument("--format", choices=["table", "json", "csv"], default="table")
        parser.add_argument(
            "--bos",
            metavar="auto|always|never|TOKEN",
            default="auto",
            help="start token: the model's own if it has one (auto), the model's own or an error (always), none "
            "(never), or a token of the vocabulary, e.g. '<|endoftext|>'",
        )
        parser.add_argument("--join", choices=JoinPolicy.values, default="space")
        parser.add_argument("--metric", choices=[name for name, _ in METRICS], help="default: the suite's")
        parser.add_argument("--whitespace", choices=[name for name, _ in WHITESPACE], default="none")
        parser.add_argument("--tokens", choices=[name for name, _ in TOKENS], default="all")
        parser.add_argument("--eos", action="store_true", help="also score the end of the sentence")
        parser.add_argument(
            "--policy",
            metavar="JSON",
            help='all of these settings as JSON, e.g. \'{"join": "natural", "bos": "never"}\'',
        )
        parser.add_argument("--no-cache", action="store_true", help="neither read nor write the score cache")
        parser.add_argument("--output", "-o", type=Path, help="default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        document = read_file(options["suite"])
        model = self._model(options["model"])
        policy = self._policy(document, options)
        if policy.tokens == "needed" and not document.predictions:
            raise CommandError(NOTHING_NEEDED)
        backend, result = self._run(document, model, policy, use_cache=not options["no_cache"])
        coverage = coverage_of_run(backend.facts, result.sentences)
        head = {
            "suite": {"name": document.name, "file": options["suite"].name, "sha256": document.sha256()},
            "model": {"slug": model.slug, "name": model.name},
            "policy": policy.to_dict(),
            "provenance": provenance(document.sha256(), model.backend, backend, result, policy, coverage),
            "coverage": coverage.as_json() if coverage else coverage_json(None, None, []),
        }
        text = _rendered(options["format"], document, result, head)
        if options["output"]:
            options["output"].write_text(text, encoding="utf-8")
        else:
            self.stdout.write(text, ending="")

    @staticmethod
    def _model(slug: str) -> RegisteredModel:
        model = RegisteredModel.objects.filter(slug=slug).first()
        if model is None:
            known = ", ".join(RegisteredModel.objects.values_list("slug", flat=True)) or "none yet"
            raise CommandError(f"Unknown model {slug!r}. Registered: {known}.")
        if not model.is_hosted:
            raise CommandError(model.not_hosted)
        if not model.is_ready:
            raise CommandError(
                f"{slug} is not ready: {(model.status_reason or model.get_status_display()).rstrip('.')}."
            )
        return model

    @staticmethod
    def _policy(document: SuiteDocument, options: dict[str, Any]) -> ScoringPolicy:
        choices: dict[str, Any] = {
            "bos": options["bos"],
            "join": options["join"],
            "eos": options["eos"],
            "whitespace": options["whitespace"],
            "tokens": options["tokens"],
            "metric": options["metric"] or metric_of(document),
        }
        if options["policy"]:
            try:
                choices.update(json.loads(options["policy"]))
            except (ValueError, TypeError) as error:
                raise CommandError(f"--policy is not a JSON object: {error}") from error
        try:
            return ScoringPolicy.from_dict(choices)
        except ValueError as error:
            raise CommandError(f"Invalid policy: {error}.") from error

    @staticmethod
    def _run(
        document: SuiteDocument, model: RegisteredModel, policy: ScoringPolicy, *, use_cache: bool
    ) -> tuple[Backend, RunResult]:
        from models_registry.warm import load_pinned

        try:
            backend = load_pinned(model)
            with tqdm(unit="sentence", file=sys.stderr, disable=None) as bar:

                def progress(done: int, total: int) -> None:
                    bar.total = total
                    bar.update(done - bar.n)

                store = CachedScores(backend, policy) if use_cache else None
                result = score_document(document, backend, policy, store=store, progress=progress)
        except BackendError as error:
            raise CommandError(str(error)) from error
        return backend, result


def _rendered(form: str, document: SuiteDocument, result: RunResult, head: dict[str, Any]) -> str:
    if form == "json":
        data = report.as_dict(document, result, head)
        return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    if form == "csv":
        kinds = head["provenance"]["score_kind"], head["policy"]["whitespace"]
        rows = report.region_rows(document, result, document.name, head["model"]["slug"], *kinds)
        return csv_text(report.region_header(result), rows)
    return report.as_text(document, result, head)
