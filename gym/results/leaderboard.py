"""Models x suites from stored aggregates: no outcome is read, and the number of queries does not depend on sizes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gym.evaluations.statistics import Interval
from gym.results.models import RunScore
from gym.results.options import Options
from gym.results.stats import Spread, spread, weighted_mean
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to as visible_models
from suites.models import Suite, SuiteRevision
from suites.selectors import listed_for

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from gym.accounts.models import User

GROUP = "group:"
"""A model's tag `group:NAME` says: this is a seed or checkpoint of the model NAME."""
MAX_TAGS = 12


@dataclass(frozen=True, slots=True)
class Cell:
    """One model on one revision under the rule. `spread` only in rows that stand for several seeds."""

    run: str
    n: int
    passed: int
    judged: int
    ties: int
    too_close: int
    not_evaluable: int
    rate: float
    low: float
    high: float
    chance: float | None
    chance_p: float | None
    uploaded: bool
    spread: Spread | None = None

    @property
    def against(self) -> str:
        """above, at or below chance, as far as the interval says."""
        if self.chance is None:
            return ""
        return "above" if self.low > self.chance else "below" if self.high < self.chance else "at"


@dataclass(frozen=True)
class Mean:
    """Weighted mean over `n` of `of` suites, with its 95% interval; `spread` over seeds."""

    rate: float
    low: float
    high: float
    n: int
    of: int
    spread: Spread | None = None

    @property
    def is_complete(self) -> bool:
        return self.n == self.of


@dataclass(frozen=True)
class Column:
    revision: SuiteRevision
    tags: tuple[str, ...]
    weight: float
    chance: float | None = None

    @property
    def suite(self) -> Suite:
        return self.revision.suite


@dataclass(frozen=True)
class Row:
    """`models` has several members when the row stands for seeds of one model."""

    name: str
    models: tuple[RegisteredModel, ...]
    cells: tuple[Cell | None, ...]
    score: Mean | None
    tags: tuple[Mean | None, ...]

    @property
    def model(self) -> RegisteredModel:
        return self.models[0]

    @property
    def missing(self) -> int:
        return sum(cell is None for cell in self.cells)


@dataclass(frozen=True)
class Board:
    options: Options
    columns: tuple[Column, ...]
    tags: tuple[str, ...]
    rows: tuple[Row, ...]
    all_tags: tuple[tuple[str, int], ...] = ()
    all_suites: tuple[Suite, ...] = ()
    all_models: tuple[RegisteredModel, ...] = ()
    unknown: tuple[str, ...] = ()
    has_groups: bool = False

    @property
    def n_cells(self) -> int:
        return len(self.columns) * len(self.rows)

    @property
    def n_missing(self) -> int:
        return sum(row.missing for row in self.rows)

    @property
    def is_weighted(self) -> bool:
        return any(column.weight != 1 for column in self.columns)


def leaderboard(
    user: User | AnonymousUser,
    options: Options,
    revisions: Sequence[SuiteRevision] | None = None,
) -> Board:
    """`revisions`: these (a collection's) instead of the newest frozen ones of all suites listed for the user.
    They have to be visible to the user already."""
    offered = newest_revisions(listed_for(user)) if revisions is None else list(revisions)
    tags = {row.pk: tuple(tag.name for tag in row.suite.tags.all()) for row in offered}
    chosen = [row for row in offered if _wanted(row, tags[row.pk], options)]
    models = {model.pk: model for model in visible_models(user).select_related(None).defer("facts", "config")}
    found = _scores(chosen, models, options)
    shown = _shown_models(found, models, options)
    if options.common:
        chosen = [row for row in chosen if all((row.pk, model.pk) in found for model in shown)]
    chance = {revision: cell.chance for (revision, _), cell in found.items()}
    columns = tuple(
        Column(row, tags[row.pk], options.weight(row.suite.slug), chance.get(row.pk)) for row in chosen
    )
    column_tags = _tag_columns(columns)
    rows = [_row(model.name, (model,), columns, column_tags, found) for model in shown]
    if options.group:
        rows = _grouped(rows, columns, column_tags)
    return Board(
        options=options,
        columns=columns,
        tags=column_tags,
        rows=tuple(_sorted(rows, columns, column_tags, options.sort)),
        all_tags=_counted(tags.values()),
        all_suites=tuple(row.suite for row in offered),
        all_models=tuple(sorted(models.values(), key=lambda model: model.name.lower())),
        unknown=_unknown(options, offered, models.values()),
        has_groups=any(_group(model) for model in shown),
    )


def newest_revisions(suites: Any) -> list[SuiteRevision]:
    """The newest frozen revision of each of these suites, with suite and tags; by title."""
    frozen = SuiteRevision.objects.filter(suite__in=suites, state=SuiteRevision.State.FROZEN)
    light = frozen.select_related("suite").only(
        "number", "sha256", "state", "suite__slug", "suite__title", "suite__visibility", "suite__owner_id"
    )
    newest = {row.suite_id: row for row in light.order_by("number").prefetch_related("suite__tags")}
    return sorted(newest.values(), key=lambda row: row.suite.title.lower())


def _wanted(revision: SuiteRevision, tags: Sequence[str], options: Options) -> bool:
    if options.suites and revision.suite.slug not in options.suites:
        return False
    return not options.tag or options.tag in tags


_FIELDS = (
    "run__key", "n", "passed", "judged", "ties", "too_close", "not_evaluable", "rate", "low", "high", "chance",
    "chance_p", "run__source",
)  # fmt: skip


def _scores(
    revisions: Iterable[SuiteRevision], models: dict[int, RegisteredModel], options: Options
) -> dict[tuple[int, int], Cell]:
    """(revision, model) -> the newest finished run that has a rate under the rule."""
    rows = RunScore.objects.filter(
        rule=options.rule.key,
        run__revision__in=[row.pk for row in revisions],
        run__completed_at__isnull=False,
        rate__isnull=False,
    )
    if options.source:
        rows = rows.filter(run__source=options.source)
    ordered = rows.order_by("run__completed_at", "run_id")
    found: dict[tuple[int, int], Cell] = {}
    for revision, model, *values, source in ordered.values_list(
        "run__revision_id", "run__model_id", *_FIELDS
    ):
        if model in models:
            found[revision, model] = Cell(*values, uploaded=source == "uploaded")
    return found


def _shown_models(
    found: Iterable[tuple[int, int]], models: dict[int, RegisteredModel], options: Options
) -> list[RegisteredModel]:
    """Models with a result, or all that were asked for by name."""
    with_results = {model for _, model in found}
    words = options.q.lower().split()

    def wanted(model: RegisteredModel) -> bool:
        if options.models:
            return model.slug in options.models
        text = f"{model.name} {model.slug} {' '.join(map(str, model.tags))}".lower()
        return model.pk in with_results and all(word in text for word in words)

    return sorted(filter(wanted, models.values()), key=lambda model: model.name.lower())


def _tag_columns(columns: Sequence[Column]) -> tuple[str, ...]:
    """Tags that divide the suites: on two or more of them, but not on all."""
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
    name: str,
    models: tuple[RegisteredModel, ...],
    columns: Sequence[Column],
    tags: Sequence[str],
    found: dict[tuple[int, int], Cell],
) -> Row:
    cells = tuple(found.get((column.revision.pk, models[0].pk)) for column in columns)
    means = [
        mean_over([(c, cell) for c, cell in zip(columns, cells, strict=True) if t in c.tags]) for t in tags
    ]
    return Row(name, models, cells, mean_over(list(zip(columns, cells, strict=True))), tuple(means))


def mean_over(pairs: Sequence[tuple[Column, Cell | None]]) -> Mean | None:
    """Weighted mean of the cells that are there; suites of weight 0 do not count."""
    counting = [(column, cell) for column, cell in pairs if column.weight > 0]
    known = [(column.weight, cell) for column, cell in counting if cell is not None]
    mean = weighted_mean(
        [cell.rate for _, cell in known],
        [Interval(cell.low, cell.high) for _, cell in known],
        [weight for weight, _ in known],
    )
    if mean is None:
        return None
    return Mean(mean[0], mean[1].low, mean[1].high, len(known), len(counting))


# --- seeds and checkpoints ------------------------------------------------------------------------------------------
def _group(model: RegisteredModel) -> str:
    tags = (str(tag) for tag in model.tags)
    return next((tag[len(GROUP) :].strip() for tag in tags if tag.startswith(GROUP)), "")


def _grouped(rows: Sequence[Row], columns: Sequence[Column], tags: Sequence[str]) -> list[Row]:
    """Rows of the same group become one: means over seeds with their spread, as the ACL 2020 paper counts."""
    groups: dict[str, list[Row]] = {}
    single: list[Row] = []
    for row in rows:
        name = _group(row.model)
        (groups.setdefault(name, []) if name else single).append(row)
    return single + [_merged(name, members, len(columns), len(tags)) for name, members in groups.items()]


def _merged(name: str, rows: Sequence[Row], n_columns: int, n_tags: int) -> Row:
    return Row(
        name,
        tuple(row.model for row in rows),
        tuple(_merged_cell([row.cells[k] for row in rows]) for k in range(n_columns)),
        _merged_mean([row.score for row in rows]),
        tuple(_merged_mean([row.tags[k] for row in rows]) for k in range(n_tags)),
    )


def _merged_cell(cells: Sequence[Cell | None]) -> Cell | None:
    known = [cell for cell in cells if cell is not None]
    over = spread([cell.rate for cell in known])
    if over is None:
        return None
    sums = [
        sum(getattr(cell, name) for cell in known)
        for name in ("passed", "judged", "ties", "too_close", "not_evaluable")
    ]
    return Cell(
        known[0].run, known[0].n, *sums, over.mean, over.least, over.greatest, known[0].chance, None,
        any(cell.uploaded for cell in known), over,
    )  # fmt: skip


def _merged_mean(means: Sequence[Mean | None]) -> Mean | None:
    known = [mean for mean in means if mean is not None]
    over = spread([mean.rate for mean in known])
    if over is None:
        return None
    return Mean(over.mean, over.least, over.greatest, min(mean.n for mean in known), known[0].of, over)


# --- order ------------------------------------------------------------------------------------------------------------
def _sorted(rows: Sequence[Row], columns: Sequence[Column], tags: Sequence[str], sort: str) -> list[Row]:
    """By `sg`, `name`, `parameters`, `missing`, `suite:SLUG` or `tag:NAME`; `-` in front: greatest first."""
    key, down = sort.removeprefix("-"), sort.startswith("-")
    kind, _, name = key.partition(":")
    place = {
        "suite": {column.suite.slug: k for k, column in enumerate(columns)},
        "tag": {tag: k for k, tag in enumerate(tags)},
    }.get(kind, {}).get(name)

    def value(row: Row) -> float | None:
        if key == "parameters":
            return float(row.model.parameters) if row.model.parameters else None
        if key == "missing":
            return float(row.missing)
        if place is not None:
            seen = row.cells[place] if kind == "suite" else row.tags[place]
            return seen.rate if seen else None
        return row.score.rate if row.score else None

    by_name = sorted(rows, key=lambda row: row.name.lower(), reverse=down and key == "name")
    if key == "name":
        return by_name
    known = [(number, row) for row in by_name if (number := value(row)) is not None]
    known.sort(key=lambda pair: -pair[0] if down else pair[0])
    return [row for _, row in known] + [row for row in by_name if value(row) is None]


def _unknown(
    options: Options, revisions: Iterable[SuiteRevision], models: Iterable[RegisteredModel]
) -> tuple[str, ...]:
    """Names in the address that stand for nothing this user can see."""
    suites, slugs = {row.suite.slug for row in revisions}, {model.slug for model in models}
    wrong = [name for name in (*options.suites, *options.weights) if name not in suites]
    return tuple(dict.fromkeys([*wrong, *(name for name in options.models if name not in slugs)]))
