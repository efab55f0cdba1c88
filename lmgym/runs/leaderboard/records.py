"""Suites, means and cells of a leaderboard as exported: keys of JSON and API. The long table has the same names."""

from __future__ import annotations

from dataclasses import dataclass

from lmgym.runs.coverage import WordCounts
from lmgym.runs.rules import RuleCounts
from lmgym.text.columns import described


@dataclass(frozen=True)
class BoardSuite:
    """A column of the leaderboard."""

    key: str = described(
        "key in the rows’ `suites`: the slug, or “slug r2” if there are several revisions of the suite"
    )
    slug: str = described("slug of the suite")
    title: str = described("title of the suite")
    revision: int = described("number of the revision")
    sha256: str = described("digest of the revision’s content")
    tags: list[str] = described("tags of the suite")
    weight: float = described("weight in the SG score")
    chance: float | None = described("chance level under the rule", "0 to 1")


@dataclass(frozen=True)
class Seeds:
    """Spread over the seeds that a row groups; null if the row is one model."""

    seeds: int | None = described("number of seeds; null: the row is one model", "seeds")
    sd_between_seeds: float | None = described(
        "standard deviation between seeds; null: fewer than two", "0 to 1"
    )
    range_of_seeds: list[float] | None = described(
        "least and greatest value of the seeds; null: the row is one model", "0 to 1"
    )


@dataclass(frozen=True)
class BoardMean(Seeds):
    """Weighted mean over the suites with results."""

    rate: float = described("weighted mean of the pass rates", "0 to 1")
    low: float | None = described("lower limit of the 95% interval; null: several seeds", "0 to 1")
    high: float | None = described("upper limit of the 95% interval; null: several seeds", "0 to 1")
    suites_run: int = described("suites with a result", "suites")
    suites: int = described("suites that count", "suites")
    shared_items_factor: float | None = described(
        "factor by which the standard error is larger because suites share material; the interval includes it. "
        "1: none shared; null: not computed, the interval assumes independent items"
    )


@dataclass(frozen=True)
class BoardCell(Seeds, WordCounts, RuleCounts):
    """A model, or grouped seeds, on a suite."""

    rate: float = described("pass rate under the rule", "0 to 1")
    run: str | None = described("id of the run; null: several seeds")
    p_below: float | None = described("exact one-sided p of the lower tail")
    p_corrected: float | None = described("p, corrected for the `family` of the response; null: no family")
    p_below_corrected: float | None = described("p_below, corrected for the `family`; null: no family")
    against_chance: str = described("verdict, by the corrected p if there is a family, else by the exact p")
    source: str = described("computed or uploaded")
    policy: str = described("“default”, or the differences from it: bos=never, metric=mean; empty: unknown")
    score_kind: str = described("kind of the values; empty: uploaded")
    whitespace: str = described("whitespace correction of the values: none or trailing; empty: uploaded")
