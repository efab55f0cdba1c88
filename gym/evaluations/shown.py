"""What result pages show, made of a run's rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.paginator import Paginator

from gym.evaluations.charts import Series, region_chart
from gym.evaluations.models import PredictionResult, SentenceScore, SuiteRun
from suites.models import SuiteRevision
from suites.regions import join
from suites.shown import ShownPrediction, critical_regions, shown_prediction

ITEMS_PER_PAGE = 200
FILTERS = {
    "held": lambda code, close: code == 1,
    "failed": lambda code, close: code != 1,
    "ties": lambda code, close: code == 2,
    "close": lambda code, close: close,
    "missing": lambda code, close: code == 3,
}
"""Item filters of the run page: name -> whether an outcome is like that."""


@dataclass(frozen=True)
class ShownResult:
    """A prediction with its result: `shown` renders the formula, `result` has the counts."""

    shown: ShownPrediction
    result: PredictionResult


@dataclass(frozen=True)
class ItemRow:
    """One item of the run page: outcome code, margin and "too close to call" per prediction."""

    item: int
    cells: list[tuple[int, float | None, bool]]


@dataclass(frozen=True)
class ShownToken:
    text: str
    token: str
    token_id: int
    start: int
    end: int
    bits: float | None
    straddles: bool
    special: bool
    pending: bool = False


@dataclass(frozen=True)
class ShownRegion:
    number: int
    name: str
    content: str
    bits: float | None
    critical: bool
    tokens: list[ShownToken]
    pending: bool = False
    corrected: float | None = None


@dataclass(frozen=True)
class ShownSentence:
    condition: str
    score: SentenceScore
    regions: list[ShownRegion]
    specials: list[ShownToken]


def result_context(run: SuiteRun, only: str, page: str | None) -> dict[str, Any]:
    revision = run.revision
    results = list(run.prediction_results.select_related("prediction"))
    items = results[0].items if results else revision.item_numbers
    rows = [
        ItemRow(
            item,
            [(result.outcomes[place], result.margins[place], result.is_close(place)) for result in results],
        )
        for place, item in enumerate(items)
    ]
    wanted = FILTERS.get(only)
    counts = {
        name: sum(any(like(code, close) for code, _, close in row.cells) for row in rows)
        for name, like in FILTERS.items()
    }
    if wanted:
        rows = [row for row in rows if any(wanted(code, close) for code, _, close in row.cells)]
    return {
        "results": [
            ShownResult(shown_prediction(result.prediction, revision.regions), result) for result in results
        ],
        "items": Paginator(rows, ITEMS_PER_PAGE).get_page(page),
        "n_items": len(items),
        "only": only if wanted else "",
        "counts": counts,
        "unit": unit_of(run),
        "summary": run.region_summary,
        "critical": critical_regions(revision),
        "failures": run.sentence_scores.exclude(failure="").select_related("sentence")[:50],
        "command": "" if run.is_uploaded else reproduce_command(run),
        "has_margins": any(margin is not None for row in rows for _, margin, _ in row.cells),
        "has_tokens": has_tokens(run),
    }


def unit_of(run: SuiteRun) -> str:
    """What the run's bits are: surprisal, or the pseudo-log-likelihood of a masked model."""
    return str(run.provenance.get("score_kind") or "surprisal")


def has_tokens(run: SuiteRun) -> bool:
    """Computed runs have tokens; uploaded ones have them when the file did."""
    if not run.is_uploaded:
        return True
    return run.sentence_scores.exclude(tokens=[]).exists()


def bare_sentences(revision: SuiteRevision, item: int) -> list[SentenceScore]:
    """The sentences of an item for a run that has outcomes alone: text without any bits."""
    blank: list[float | None] = [None] * len(revision.region_names)
    return [
        SentenceScore(
            sentence=row, text=join(row.contents, revision.join_policy).text, regions=blank, tokens=[]
        )
        for row in revision.sentences.filter(item=item).order_by("position")
    ]


def reproduce_command(run: SuiteRun) -> str:
    """The command line that computes the same numbers from the downloaded suite."""
    flags = {name: run.policy[name] for name in ("bos", "join", "metric") if name in run.policy}
    words = [f"--{name} {value}" for name, value in flags.items()]
    if run.policy.get("whitespace", "none") != "none":
        words.append(f"--whitespace {run.policy['whitespace']}")
    if run.policy.get("eos"):
        words.append("--eos")
    return (
        f"python manage.py evaluate {run.revision.suite.slug}-r{run.revision.number}.json "
        f"--model {run.model.slug} {' '.join(words)}"
    )


def chart(run: SuiteRun, *, standalone: bool = False) -> Any:
    series = [
        Series(
            name=row["condition"],
            means=[cell["mean"] for cell in row["regions"]],
            lows=[cell["low"] for cell in row["regions"]],
            highs=[cell["high"] for cell in row["regions"]],
            n=max((cell["n"] for cell in row["regions"]), default=0),
        )
        for row in run.region_summary
    ]
    title = f"{run.model.name} on {run.revision.suite.title}: mean surprisal by region"
    return region_chart(
        list(run.revision.region_names), series, critical_regions(run.revision), title, standalone=standalone
    )


def shown_sentence(score: SentenceScore, revision: SuiteRevision, critical: set[int]) -> ShownSentence:
    by_region: dict[int, list[ShownToken]] = {}
    waiting = set(score.pending)
    for number, (token, token_id, start, end, bits, region, straddles) in enumerate(score.tokens):
        shown = ShownToken(
            text=score.text[start:end],
            token=token,
            token_id=token_id,
            start=start,
            end=end,
            bits=bits,
            straddles=bool(straddles),
            special=region < 0,
            pending=number in waiting,
        )
        by_region.setdefault(region, []).append(shown)
    contents = score.sentence.contents
    return ShownSentence(
        condition=score.sentence.condition,
        score=score,
        regions=[
            ShownRegion(
                number,
                name,
                contents[number - 1],
                score.regions[number - 1],
                number in critical,
                by_region.get(number - 1, []),
                any(token.pending for token in by_region.get(number - 1, [])),
                score.corrected[number - 1] if score.corrected else None,
            )
            for number, name in revision.regions.items()
        ],
        specials=by_region.get(-1, []),
    )
