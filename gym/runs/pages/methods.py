"""Methods paragraphs of stored runs, with the BibTeX entries of their suites and models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from django.db.models import Count, prefetch_related_objects
from django.http import Http404, HttpRequest

from gym.runs.models import SuiteRun
from gym.runs.pages.export_views import citation
from gym.runs.pages.paper import studied
from gym.runs.read.comparison_selectors import OnAllSuites, OnASuite
from gym.runs.read.leaderboard.build import StoredBoard
from lmgym.runs.comparison import tests_in_words
from lmgym.runs.methods import AGAINST_CHANCE, Methods, References, methods
from lmgym.runs.rules import EACH, Rule
from lmgym.runs.studied import Studied
from lmgym.stats import Correction
from lmgym.text.bibtex import Entry, bibtex, entry_in, plain_key
from models_registry.models import RegisteredModel
from suites.models import Sentence, SuiteRevision
from suites.permissions import may_know_owner

Labelled = tuple[SuiteRun, str]
"""A run with the label of its model."""


def run_methods(request: HttpRequest, run: SuiteRun) -> Methods:
    return _methods(request, [(run, run.model.label)], EACH, AGAINST_CHANCE)


def compared_methods(
    request: HttpRequest, comparison: OnAllSuites | OnASuite, rule: Rule, correction: Correction
) -> Methods:
    """Describe a comparison on one or several suites."""
    if isinstance(comparison, OnASuite):
        sides = comparison.sides
    else:
        sides = [side for row in comparison.rows for side in row.sides if side is not None]
    several = f", {correction.label}-corrected" if len(comparison.pairs) > 1 else ""
    tests = (
        f"Newcombe’s intervals for paired rates with p values of {tests_in_words(comparison.pairs)} "
        f"(two-sided{several}) for differences between models"
    )
    return _methods(request, [(side.run, side.label) for side in sides], rule, tests)


def board_methods(
    request: HttpRequest, board: StoredBoard, collection: tuple[str, Entry] | None = None
) -> Methods:
    """Describe the runs of a leaderboard. `collection`: phrase and entry of the collection it belongs to."""
    keys = [cell.run for row in board.rows for cell in row.cells if cell]
    labels = {model.pk: model.label for row in board.rows for model in row.models}
    runs = SuiteRun.objects.filter(key__in=keys, model__in=labels).order_by("model__name", "pk")
    light = runs.select_related("revision__suite__owner", "model").defer("region_summary", "unknown_words")
    tests = "exact one-sided binomial tests against chance"
    tests += ", Holm-corrected over the suites of a model" if board.run_set else ""
    labelled = [(run, labels[run.model_id]) for run in light]
    return _methods(request, labelled, board.options.rule, tests, collection)


def _methods(
    request: HttpRequest,
    runs: Sequence[Labelled],
    rule: Rule,
    tests: str,
    collection: tuple[str, Entry] | None = None,
) -> Methods:
    """Write the paragraph for this reader. Raises 404 without a run."""
    return methods(*facts_and_references(request, runs, collection), rule, tests)


def facts_and_references(
    request: HttpRequest, runs: Sequence[Labelled], collection: tuple[str, Entry] | None = None
) -> tuple[list[Studied], References]:
    """Return runs as a paper names them, and entries of their suites and models. Raises 404 without a run."""
    if not runs:
        raise Http404("There are no runs to describe.")
    prefetch_related_objects([run for run, _ in runs], "revision__suite__owner")
    counts = _item_counts(runs)
    facts = [replace(studied(run, label), n_items=counts[run.revision_id]) for run, label in runs]
    revisions = {run.revision_id: (fact, run.revision) for fact, (run, _) in zip(facts, runs, strict=True)}
    models = {fact.model: (fact, run.model) for fact, (run, _) in zip(facts, runs, strict=True)}
    references = References(
        {fact.suite_name: _of_suite(request, revision) for fact, revision in revisions.values()},
        {label: [_of_model(model, fact)] for label, (fact, model) in models.items()},
        collection and (collection[0], [collection[1]]),
    )
    return facts, references


def _item_counts(runs: Sequence[Labelled]) -> dict[int, int]:
    rows = Sentence.objects.filter(revision__in={run.revision_id for run, _ in runs}).order_by()
    return dict(rows.values_list("revision").annotate(n=Count("item", distinct=True)))


def _of_suite(request: HttpRequest, revision: SuiteRevision) -> list[Entry]:
    """Return the entry of the revision, and that of the suite's paper if the reader may know the owner."""
    address = request.build_absolute_uri(revision.get_absolute_url())
    key = plain_key(f"{revision.suite.slug}-r{revision.number}")
    paper = entry_in(revision.suite.bibtex) if may_know_owner(request.user, revision.suite) else None
    return [Entry(key, citation(revision, address, request.user)), *([paper] if paper else [])]


def _of_model(model: RegisteredModel, run: Studied) -> Entry:
    """Return the BibTeX entry on the model's card, otherwise one with its name and version."""
    if paper := entry_in(model.bibtex):
        return paper
    key = plain_key(model.slug)
    commit, digest = (str(run.provenance.get(name) or "") for name in ("model_revision", "model_fingerprint"))
    version = f", commit {commit}" if commit else f", fingerprint {digest}" if digest else ""
    authors = [model.authorship] if model.authorship else []
    note = f"Language model{version}"
    return Entry(
        key, bibtex(key=key, title=model.name, authors=authors, year=None, address=model.url, note=note)
    )
