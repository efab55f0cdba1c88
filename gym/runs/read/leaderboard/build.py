"""Build leaderboards (models × suites) from stored aggregates. Outcomes are read only for suites that share
material, and the number of queries is constant.

Rows can be grouped by seed; they are ranked, given unique labels and sorted. The table of the home page is built from
the suites that changed last, with the models that have run most of them.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from django.db.models import Case, Exists, OuterRef, QuerySet, TextField, When, prefetch_related_objects
from django.db.models.functions import Cast

from gym.accounts.models import AnyUser
from gym.runs.models import PredictionResult, RunScore, SuiteRun
from gym.runs.policies import policy_differences
from gym.runs.read.shared_items import groups_of, shares_of_runs
from lmgym.runs.against_chance import Verdict
from lmgym.runs.leaderboard.board import Board, Cell, Column, Row
from lmgym.runs.leaderboard.means import Material, mean_over
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.leaderboard.order import in_order, ranked
from lmgym.runs.leaderboard.seeds import grouped
from lmgym.runs.leaderboard.verdicts import Place, verdicts_of
from lmgym.runs.missing_rates import MissingRate
from lmgym.runs.rules import RULE_COUNTS, Rule
from models_registry.models import RegisteredModel
from models_registry.names import disambiguate, unambiguous
from models_registry.selectors import visible_to as visible_models
from models_registry.series import group_of
from suites.models import Prediction, Suite, SuiteRevision
from suites.selectors import listed_for

MAX_TAGS = 12

StoredBoard: TypeAlias = Board[SuiteRevision, RegisteredModel]
StoredColumn: TypeAlias = Column[SuiteRevision]
StoredRow: TypeAlias = Row[RegisteredModel]


def leaderboard(
    user: AnyUser,
    options: Options,
    revisions: Sequence[SuiteRevision] | None = None,
    collection: str = "",
    *,
    shows_means: bool = True,
) -> StoredBoard:
    """Build the leaderboard.

    Args:
        revisions: must be visible to the user; default: the newest frozen revisions of all suites listed for them.
        collection: name of the collection they belong to, if any.
        shows_means: False if intervals of means are not shown, so that shared material need not be looked up.
    """
    offered = newest_revisions(listed_for(user)) if revisions is None else list(revisions)
    tags = {row.pk: tuple(tag.name for tag in row.suite.tags.all()) for row in offered}
    chosen = [row for row in offered if _is_selected(row, tags[row.pk], options)]
    models = {model.pk: model for model in visible_models(user).select_related(None).defer("facts", "config")}
    run_set = (
        f"the collection “{collection}”" if collection else f"the tag “{options.tag}”" if options.tag else ""
    )
    together = [row for row in offered if collection or not options.tag or options.tag in tags[row.pk]]
    cells, lacking = _scores(chosen, models, options, together if run_set else None)
    shown = _shown_models(cells if options.common else {**cells, **lacking}, models, options)
    disambiguate(shown)
    dropped: tuple[MissingRate, ...] = ()
    if options.common:
        common = [row for row in chosen if all((row.pk, model.pk) in cells for model in shown)]
        dropped = _dropped([row for row in chosen if row not in common], shown, lacking)
        chosen = common
    chance = {revision: cell.chance for (revision, _), cell in cells.items()}
    places = [row.pk for row in chosen]
    columns = tuple(
        Column(row, key, tags[row.pk], options.weight(row.suite.slug), chance.get(row.pk))
        for row, key in zip(chosen, column_keys(chosen), strict=True)
    )
    column_tags = _tag_columns(columns)
    groups = groups_of(chosen) if shows_means else {}
    ids = [model.pk for model in shown]
    sharing = [
        cells[place].run
        for revision in places
        if revision in groups
        for model in ids
        if (place := (revision, model)) in cells
    ]
    shares = shares_of_runs(sharing, options.rule) if sharing else {}
    material = Material(groups, shares)
    tagged = [[k for k, column in enumerate(columns) if tag in column.tags] for tag in column_tags]
    rows = [_row(model, columns, places, tagged, cells, lacking, options.rule, material) for model in shown]
    if options.group:
        rows = grouped(rows, group_of)
    rows = ranked(rows, columns, whole=bool(run_set))
    return Board(
        options=options,
        columns=columns,
        tags=column_tags,
        rows=tuple(in_order(labelled(rows), columns, column_tags, options.sort)),
        all_tags=_counted(tags.values()),
        all_suites=tuple(row.suite for row in offered),
        all_models=tuple(sorted(models.values(), key=lambda model: (model.name.lower(), model.pk))),
        unknown=_unknown(options, offered, models.values()),
        has_groups=any(group_of(model) for model in shown),
        run_set=run_set,
        n_set=len(together),
        dropped=dropped,
        sharing=tuple(column.key for column in columns if column.revision.pk in groups),
    )


def newest_revisions(suites: QuerySet[Suite] | Sequence[Suite]) -> list[SuiteRevision]:
    """Return the newest frozen revision of each suite with suite and tags, by title. Leaves out suites without
    predictions. Does not query suites that were already fetched."""
    frozen = SuiteRevision.objects.filter(suite__in=suites, state=SuiteRevision.State.FROZEN)
    judged = frozen.annotate(judged=Exists(Prediction.objects.filter(revision=OuterRef("pk"))))
    light = judged.select_related("suite").only(
        "number", "name", "sha256", "state", "join_policy", "metric", "suite__slug", "suite__title",
        "suite__visibility", "suite__owner_id", "suite__without_modifier_id",
    )  # fmt: skip
    newest = {row.suite_id: row for row in light.order_by("number")}
    with_predictions = [row for row in newest.values() if row.judged]
    if not isinstance(suites, QuerySet):
        known = {suite.pk: suite for suite in suites}
        for row in with_predictions:
            row.suite = known[row.suite_id]
    prefetch_related_objects(with_predictions, "suite__tags")
    return sorted(with_predictions, key=lambda row: (row.suite.title.lower(), row.suite_id))


def _is_selected(revision: SuiteRevision, tags: Sequence[str], options: Options) -> bool:
    if options.suites and revision.suite.slug not in options.suites:
        return False
    return not options.tag or options.tag in tags


_FIELDS = (*RULE_COUNTS, "run__n_words", "run__n_unknown_words", "run__key", "run__source")
_RATE, _KEY, _SOURCE = (_FIELDS.index(name) for name in ("rate", "run__key", "run__source"))
_OTHER_POLICY = Case(
    When(run__standing=SuiteRun.Standing.OTHER, then=Cast("run__policy", TextField())),
    output_field=TextField(null=True),
)
"""The policy as JSON if it is not the default policy, else null, which keeps most rows small. As text, because a JSON
column is converted in every row, null or not."""


def _scores(
    revisions: Sequence[SuiteRevision],
    models: dict[int, RegisteredModel],
    options: Options,
    family: Sequence[SuiteRevision] | None,
) -> tuple[dict[Place, Cell], dict[Place, MissingRate]]:
    """Return two maps by (revision, model): the cells of the runs that count (gym.runs.policies), and the
    missing rates of runs that count but have no rate under the rule. `family`: see `verdicts_of`."""
    by_pk = {row.pk: row for row in revisions}
    together = None if family is None else [row.pk for row in family]
    rows = RunScore.objects.filter(
        rule=options.rule.key, run__revision__in={*by_pk, *(together or ())}, run__completed_at__isnull=False
    )
    ordered = rows.order_by("run__standing", "run__completed_at", "run_id")
    counting: dict[Place, tuple[Any, ...]] = {}
    last: dict[Place, tuple[Any, ...]] = {}
    for row in ordered.values_list(*_FIELDS, _OTHER_POLICY, "run__revision_id", "run__model_id"):
        place = revision, model = row[-2:]
        if model in models:
            counting[place] = row
            if revision in by_pk and options.source in ("", row[_SOURCE]):
                last[place] = row
    verdicts = verdicts_of(last, counting, together)
    cells = {
        place: _cell(row, verdicts[place], by_pk[place[0]])
        for place, row in last.items()
        if row[_RATE] is not None
    }
    return cells, _lacking({place: row for place, row in last.items() if row[_RATE] is None}, models, options)


def _cell(row: tuple[Any, ...], verdict: Verdict, revision: SuiteRevision) -> Cell:
    """Build the cell of a row of `_scores`. Its policy is None if it is the default policy."""
    *counts, n_words, n_unknown_words, run, source, policy, _, _ = row
    uploaded = source == SuiteRun.Source.UPLOADED
    if policy is None:
        differences, whitespace = "", "" if uploaded else "none"
    else:
        stated = json.loads(policy)
        differences, whitespace = policy_differences(stated, revision), str(stated.get("whitespace", ""))
    words = (n_words, n_unknown_words)
    # by position, in the order of the fields: keywords take twice as long, and there are tens of thousands of cells
    return Cell(*(*counts, run, uploaded, None, differences, whitespace, *words, verdict))


def _lacking(
    rows: dict[tuple[int, int], tuple[Any, ...]], models: dict[int, RegisteredModel], options: Options
) -> dict[tuple[int, int], MissingRate]:
    """Return the missing rates of these runs, each with the number of predictions that have results and the
    number expected. Makes no query without runs."""
    if not rows:
        return {}
    results = PredictionResult.objects.filter(run__key__in=[row[_KEY] for row in rows.values()])
    held = Counter(results.values_list("run__key", flat=True))
    expected = Counter(
        Prediction.objects.filter(revision__in={revision for revision, _ in rows}).values_list(
            "revision", flat=True
        )
    )
    return {
        (revision, model): MissingRate(
            models[model].slug, "", "", options.rule, row[_KEY], row[_SOURCE] == SuiteRun.Source.UPLOADED,
            held[row[_KEY]], expected[revision],
        )
        for (revision, model), row in rows.items()
    }  # fmt: skip


def _dropped(
    revisions: Sequence[SuiteRevision],
    models: Sequence[RegisteredModel],
    lacking: dict[tuple[int, int], MissingRate],
) -> tuple[MissingRate, ...]:
    return tuple(
        replace(lacking[row.pk, model.pk], label=model.label, suite=row.suite.slug)
        for row in revisions
        for model in models
        if (row.pk, model.pk) in lacking
    )


def _shown_models(
    places: Iterable[tuple[int, int]], models: dict[int, RegisteredModel], options: Options
) -> list[RegisteredModel]:
    """Return the models requested by name; without such a request, models with a result that match the search."""
    with_results = {model for _, model in places}
    words = options.q.lower().split()

    def is_shown(model: RegisteredModel) -> bool:
        if options.models:
            return model.slug in options.models
        text = f"{model.name} {model.slug} {' '.join(map(str, model.tags))}".lower()
        return model.pk in with_results and all(word in text for word in words)

    return sorted(filter(is_shown, models.values()), key=lambda model: (model.name.lower(), model.pk))


def _tag_columns(columns: Sequence[StoredColumn]) -> tuple[str, ...]:
    """Return the tags that divide the suites: on two or more of them, but not on all; the MAX_TAGS most frequent ones,
    sorted by name."""
    counted = _counted(column.tags for column in columns)
    useful = [(name, n) for name, n in counted if 2 <= n < len(columns)]
    most = sorted(useful, key=lambda pair: (-pair[1], pair[0]))[:MAX_TAGS]
    return tuple(sorted(name for name, _ in most))


def _counted(groups: Iterable[Sequence[str]]) -> tuple[tuple[str, int], ...]:
    counts: dict[str, int] = {}
    for tags in groups:
        for tag in tags:
            counts[tag] = counts.get(tag, 0) + 1
    return tuple(sorted(counts.items()))


def _row(
    model: RegisteredModel,
    columns: Sequence[StoredColumn],
    places: Sequence[int],
    tagged: Iterable[Sequence[int]],
    all_cells: dict[tuple[int, int], Cell],
    lacking: dict[tuple[int, int], MissingRate],
    rule: Rule,
    material: Material,
) -> StoredRow:
    """Build the row of a model. `places`: primary keys of the columns' revisions; `tagged`: for each tag, the
    indices of its columns."""
    pk = model.pk
    cells = tuple([all_cells.get((place, pk)) for place in places])
    gaps = tuple(
        replace(gap, label=model.label, suite=column.key)
        if (gap := lacking.get((place, pk)))
        else MissingRate(model.slug, model.label, column.key, rule)
        for column, place, cell in zip(columns, places, cells, strict=True)
        if cell is None
    )
    pairs = list(zip(columns, cells, strict=True))
    means = [mean_over([pairs[k] for k in indices], material) for indices in tagged]
    score = mean_over(pairs, material)
    return Row(model.name, (model,), cells, score, tuple(means), gaps)


def _unknown(
    options: Options, revisions: Iterable[SuiteRevision], models: Iterable[RegisteredModel]
) -> tuple[str, ...]:
    """Return names in the URL that match nothing this user can see."""
    suites, slugs = {row.suite.slug for row in revisions}, {model.slug for model in models}
    wrong = [name for name in (*options.suites, *options.weights) if name not in suites]
    return tuple(dict.fromkeys([*wrong, *(name for name in options.models if name not in slugs)]))


def column_keys(revisions: Sequence[SuiteRevision]) -> list[str]:
    """Return a key per revision: the suite's slug, or "slug r2" if the suite has several revisions."""
    counts = Counter(row.suite.slug for row in revisions)
    return [
        row.suite.slug if counts[row.suite.slug] == 1 else f"{row.suite.slug} r{row.number}"
        for row in revisions
    ]


def labelled(rows: Sequence[StoredRow]) -> list[StoredRow]:
    labels = unambiguous([(row.name, row.model.slug) for row in rows])
    return [replace(row, label=label) for row, label in zip(rows, labels, strict=True)]


@dataclass(frozen=True)
class HomeTable:
    """Suites × models, cut to page size; `n_suites` and `n_models` are the totals."""

    columns: tuple[StoredColumn, ...]
    models: tuple[StoredRow, ...]
    n_suites: int
    n_models: int

    @property
    def is_cut(self) -> bool:
        return len(self.columns) < self.n_suites or len(self.models) < self.n_models

    @property
    def other_policies(self) -> bool:
        """Whether any cell has a non-default policy."""
        return any(cell is not None and cell.policy for _, cells in self.rows() for cell in cells)

    def rows(self) -> list[tuple[StoredColumn, list[Cell | None]]]:
        return [(column, [row.cells[k] for row in self.models]) for k, column in enumerate(self.columns)]


def home_table(user: AnyUser, rule: Rule, *, most_suites: int, most_models: int) -> HomeTable:
    """Build a table of the most recently changed suites and the models that have run most of them."""
    judged = Prediction.objects.filter(revision=OuterRef("pk"))
    frozen = SuiteRevision.objects.filter(Exists(judged), suite=OuterRef("pk"), state="frozen")
    suites = listed_for(user).filter(Exists(frozen))
    newest = list(suites.order_by("-updated", "-pk")[:most_suites])
    board = _board(user, rule, newest)
    most_run = sorted(board.rows, key=lambda row: (row.missing, row.name.lower()))[:most_models]
    return HomeTable(
        board.columns,
        tuple(sorted(most_run, key=lambda row: row.name.lower())),
        suites.count() if len(newest) == most_suites else len(board.columns),
        len(board.rows),
    )


@dataclass(frozen=True)
class FieldScores:
    """Scores of all models on one suite: the best model and its cell, the mean rate, and the number of
    models."""

    best: Cell
    model: RegisteredModel
    mean: float
    n: int


def field_scores(user: AnyUser, suites: Sequence[Suite], rule: Rule) -> dict[int, FieldScores]:
    """Return scores by suite id, over the newest frozen revisions; leaves out suites on which no model has a rate."""
    board = _board(user, rule, suites)
    scores = {}
    for k, column in enumerate(board.columns):
        cells = [(cell, row.model) for row in board.rows if (cell := row.cells[k])]
        if cells:
            best, model = max(cells, key=lambda pair: pair[0].rate)
            mean = sum(cell.rate for cell, _ in cells) / len(cells)
            scores[column.revision.suite_id] = FieldScores(best, model, mean, len(cells))
    return scores


def _board(user: AnyUser, rule: Rule, suites: Sequence[Suite]) -> StoredBoard:
    """Build the leaderboard of these suites, which must be visible to the user."""
    return leaderboard(user, Options(rule=rule), newest_revisions(suites), shows_means=False)
