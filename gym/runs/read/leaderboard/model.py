"""What a leaderboard is made of: the choices of its address, cells, means, columns, rows.

`?rule=all&suite=npi_orc&suite=number_prep&weights=npi_orc:2,number_prep:0.5&tag=agreement&model=gpt2&q=gpt&sort=-sg`
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from urllib.parse import urlencode

from django.http import QueryDict

from lmgym.runs.against_chance import ALPHA, NO_VERDICT, Verdict
from lmgym.runs.coverage import coverage_share, coverage_words
from lmgym.runs.missing_rates import MissingRate
from lmgym.runs.rules import EACH, Rule, RuleCounts, rule_of
from lmgym.stats import Spread
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision

MAX_WEIGHT = 1000.0
MAX_NAMES = 500


@dataclass(frozen=True)
class Options:
    """`weights`: suite slug -> weight, 1 where missing. `common`: only suites that all shown models have run. `layout`:
    what the page has in its rows, `models` or `suites`; empty = whichever are more."""

    rule: Rule = EACH
    tag: str = ""
    suites: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    q: str = ""
    sort: str = "-sg"
    weights: Mapping[str, float] = field(default_factory=dict)
    common: bool = False
    group: bool = False
    source: str = ""
    layout: str = ""

    def weight(self, slug: str) -> float:
        return self.weights.get(slug, 1.0)

    def query(self, **changes: object) -> str:
        """The address's query string, shortest form; `changes` replace fields."""
        return _query(replace(self, **changes))  # type: ignore[arg-type]

    @property
    def is_narrowed(self) -> bool:
        return bool(self.tag or self.suites or self.models or self.q or self.common or self.source)


def read_options(given: QueryDict) -> Options:
    """Never fails; nonsense is left out."""

    def text(name: str) -> str:
        return given.get(name, "").replace("\0", "").strip()[:200]

    def names(name: str) -> tuple[str, ...]:
        values = (part.strip() for value in given.getlist(name)[:MAX_NAMES] for part in value.split(","))
        return tuple(dict.fromkeys(value.replace("\0", "") for value in values if value))[:MAX_NAMES]

    return Options(
        rule=rule_of(text("rule")),
        tag=text("tag"),
        suites=names("suite"),
        models=names("model"),
        q=text("q"),
        sort=text("sort") or "-sg",
        weights=_weights(given),
        common=text("common") == "1",
        group=text("group") == "1",
        source=text("source") if text("source") in {"computed", "uploaded"} else "",
        layout=text("layout") if text("layout") in {"models", "suites"} else "",
    )


def _weights(given: QueryDict) -> dict[str, float]:
    """From `weights=a:2,b:0.5`, and from a form's fields `w.a=2`, of which 1 says nothing."""
    pairs = [part.rpartition(":") for part in given.get("weights", "").split(",")]
    found = {name.strip(): value for name, _, value in pairs if name.strip()}
    found |= {key[2:]: str(value) for key, value in given.items() if key.startswith("w.")}
    weights: dict[str, float] = {}
    for name, value in list(found.items())[:MAX_NAMES]:
        try:
            number = float(str(value).replace(",", "."))
        except ValueError:
            continue
        if math.isfinite(number) and 0 <= number <= MAX_WEIGHT and number != 1:
            weights[name] = number
    return weights


def _query(options: Options) -> str:
    pairs: list[tuple[str, str]] = []
    if options.rule is not EACH:
        pairs.append(("rule", options.rule.key))
    for name in ("tag", "q", "source"):
        if value := getattr(options, name):
            pairs.append((name, value))
    pairs += [("suite", ",".join(options.suites))] if options.suites else []
    pairs += [("model", ",".join(options.models))] if options.models else []
    if options.weights:
        pairs.append(("weights", ",".join(f"{name}:{value:g}" for name, value in options.weights.items())))
    pairs += [(name, "1") for name in ("common", "group") if getattr(options, name)]
    if options.layout:
        pairs.append(("layout", options.layout))
    if options.sort != "-sg":
        pairs.append(("sort", options.sort))
    return urlencode(pairs, safe=":,")


@dataclass(frozen=True, slots=True)
class Cell(RuleCounts):
    """One model on one revision under the rule. `spread` only in rows that stand for several seeds; `policy` says what
    the run has otherwise than the default policy (gym.runs.policies.departures), `whitespace` which correction its
    bits have. `n_words`, `n_unknown_words`: None = not counted (lmgym.runs.coverage). `verdict`: seeds have a range
    and no interval, and so none."""

    rate: float
    ci_low: float
    ci_high: float
    run: str
    uploaded: bool
    spread: Spread | None = None
    policy: str = ""
    whitespace: str = ""
    n_words: int | None = None
    n_unknown_words: int | None = None
    verdict: Verdict = NO_VERDICT

    @property
    def coverage(self) -> float | None:
        return coverage_share(self.n_words, self.n_unknown_words)

    @property
    def coverage_words(self) -> str:
        return coverage_words(self.n_words, self.n_unknown_words)

    @property
    def said_policy(self) -> str:
        """As exports say it; empty where it is not known."""
        return self.policy or ("" if self.uploaded else "default")


@dataclass(frozen=True)
class Mean:
    """Weighted mean over `n` of `of` suites, with its 95% interval; `spread` over seeds. `shared_items_factor`: by how
    much the standard error is greater than with independent items, because suites share material; the interval
    includes it. None: not computed, so the interval assumes independent items."""

    rate: float
    ci_low: float
    ci_high: float
    n: int
    of: int
    spread: Spread | None = None
    shared_items_factor: float | None = 1.0

    @property
    def is_complete(self) -> bool:
        return self.n == self.of


@dataclass(frozen=True)
class Column:
    """`key`: the suite's slug; with the revision where there are several revisions of one suite: "name r2"."""

    revision: SuiteRevision
    key: str
    tags: tuple[str, ...]
    weight: float
    chance: float | None = None

    @property
    def suite(self) -> Suite:
        return self.revision.suite

    @property
    def title(self) -> str:
        """The suite's, with the revision where the key has it."""
        return f"{self.suite.title}{self.key.removeprefix(self.suite.slug)}"


@dataclass(frozen=True)
class Row:
    """`models` has several members when the row stands for seeds of one model. `label` is the name, told apart from
    other rows of the same name. `gaps`: cells of each of the models that have no rate."""

    name: str
    models: tuple[RegisteredModel, ...]
    cells: tuple[Cell | None, ...]
    score: Mean | None
    tags: tuple[Mean | None, ...]
    gaps: tuple[MissingRate, ...] = ()
    label: str = ""
    rank: int | None = None
    """By SG score among the models that have run every suite of the tag or collection, or else every suite that any of
    them has; None = not among those."""

    @property
    def model(self) -> RegisteredModel:
        return self.models[0]

    @property
    def missing(self) -> int:
        return sum(cell is None for cell in self.cells)

    @property
    def is_masked(self) -> bool:
        return any(model.is_masked for model in self.models)


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
    run_set: str = ""
    """The suites whose results of one model are tested against chance together, whatever the table shows of them:
    "the collection “NAME”", "the tag “NAME”"; empty = each cell by itself."""
    n_set: int = 0
    """Suites of the tag or collection, or of the whole site, whatever the table shows of them."""
    dropped: tuple[MissingRate, ...] = ()
    """Why `common` leaves out suites that its models have run."""
    sharing: tuple[str, ...] = ()
    """Keys of suites of which items share material with another suite's."""

    @property
    def shared_factors(self) -> list[float | None]:
        """Of the scores that have an interval: see `Mean`."""
        scores = [row.score for row in self.rows]
        return [one.shared_items_factor for one in scores if one is not None and one.spread is None]

    @property
    def n_cells(self) -> int:
        return len(self.columns) * len(self.rows)

    @property
    def has_suites_in_rows(self) -> bool:
        """Whether tables for reading (page, heat map, LaTeX) have suites in rows and models in columns, being longer
        than they are wide."""
        if self.options.layout or not self.rows:
            return self.options.layout == "suites" and bool(self.rows)
        return len(self.columns) > len(self.rows)

    @property
    def n_missing(self) -> int:
        return sum(row.missing for row in self.rows)

    @cached_property
    def ranked(self) -> list[Row]:
        return [row for row in self.rows if row.rank is not None]

    @cached_property
    def unranked(self) -> list[Row]:
        """In the order of the table, where they stand below the others if it is by a mean."""
        return [row for row in self.rows if row.rank is None]

    @property
    def first_unranked(self) -> Row | None:
        """The row above which the table says that no ranks follow; None where ranked and unranked rows are mixed."""
        ranks = [row.rank is not None for row in self.rows]
        return self.unranked[0] if self.unranked and ranks == sorted(ranks, reverse=True) else None

    @property
    def is_weighted(self) -> bool:
        return any(column.weight != 1 for column in self.columns)

    @cached_property
    def other_policies(self) -> list[tuple[Row, Column, str]]:
        """Cells that are not of the default policy, and what they have otherwise."""
        return [
            (row, column, cell.policy)
            for row in self.rows
            for column, cell in zip(self.columns, row.cells, strict=True)
            if cell is not None and cell.policy
        ]

    @cached_property
    def gaps(self) -> list[MissingRate]:
        """Everything that has no rate here."""
        return [gap for row in self.rows for gap in row.gaps]

    @cached_property
    def lacking(self) -> list[MissingRate]:
        """What was run and has no rate under the rule."""
        return [gap for gap in self.gaps if gap.run]

    @cached_property
    def masked(self) -> list[Row]:
        """Rows whose bits are not surprisals."""
        return [row for row in self.rows if row.is_masked]

    @property
    def family(self) -> str:
        """What p is corrected for, for files; empty = it is not."""
        return f"one model on the {self.n_set} suites of {self.run_set}" if self.run_set else ""

    @property
    def tested(self) -> str:
        """How cells are compared with chance, as page and files say it."""
        corrected = (
            f"corrected by Holm for {self.family}, whatever the table shows"
            if self.run_set
            else ("of each cell by itself, not corrected: no tag or collection names a set of suites")
        )
        return f"Against chance: exact one-sided p < {ALPHA}, {corrected}."
