"""Games as pages show them: options, metrics with n and interval, parts, coloured lines, charts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest
from msgspec import UNSET

from gym.lib.charts.heatmap import heat_chart
from gym.lib.charts.xy import Point, xy_chart
from gym.lib.stats.intervals import wilson
from gym.lmchallenge.core.alignment import Match
from gym.lmchallenge.core.errors import LmcError
from gym.lmchallenge.core.interpolation import Mix
from gym.lmchallenge.core.log_decoder import CorrectionEntry
from gym.lmchallenge.core.pretty import OUTCOME_WORDS, Span, spans
from gym.lmchallenge.models import Game
from gym.lmchallenge.site import counting, storage
from gym.runs.pages.figures import Figure

LINES_PER_PAGE = 25
PREDICTIONS = 5
MOST_STARS = 200
"""Of one hidden text: a few bytes of a log may stand for any number of characters."""
LABELS = {
    "hit": "predicted at all",
    "hit1": "predicted first (hit@1)",
    "hit3": "among the first 3 (hit@3)",
    "hit10": "among the first 10 (hit@10)",
    "hit20": "among the first 20 (hit@20)",
    "miss": "not predicted",
    "mrr": "mean reciprocal rank",
    "skip": "skipped",
    "pcpc": "characters that were predicted (pcpc)",
    "kpc": "keystrokes per character (kpc)",
    "accuracy": "right after correction (accuracy)",
    "corrected_errors": "errors corrected",
    "miscorrected": "right words broken",
    "improvement": "improvement",
}
ORDER = {
    "wp": ("hit1", "hit3", "hit10", "hit20", "hit", "miss", "mrr"),
    "tc": ("pcpc", "kpc"),
    "ic": ("accuracy", "corrected_errors", "miscorrected", "improvement"),
}
OF = {"corrected_errors": "wrong", "improvement": "wrong", "miscorrected": "right"}
"""ic: rates of the words that were typed wrong, or right."""
OUTCOMES = {
    "wp": ("first", "near", "far", "missed", "skipped"),
    "tc": ("accepted", "saved", "typed", "skipped"),
    "ic": ("corrected", "still-right", "still-wrong", "broken", "skipped"),
}
PARTITIONS = {"": "the whole log", "user": "by user", "line": "by line"}


@dataclass(frozen=True)
class Metric:
    """A metric of a game as a page shows it: the value with its number of observations and 95 % interval."""

    name: str
    label: str
    value: float | None
    n: int | None = None
    interval: Sequence[float] | None = None


def options(game: Game) -> list[tuple[str, Any]]:
    """(name, value) of the options that matter to this game."""
    given = game.options
    if not given:
        return []
    rows: list[tuple[str, Any]] = [
        ("training", "clear at each user, learn each line" if given["train"] else "none"),
    ]
    if game.game == "tc":
        rows.append(("predictions looked at", given["select_from"]))
    if game.game == "ic":
        rows += [
            ("vocabulary", f"{game.n_words:,} words"),
            ("candidates", given["num_candidates"]),
            ("chance of an error", given["p_anykey"]),
            ("characters of errors", given["error_chars"]),
            ("seed", given["seed"]),
        ]
    rows.append(("reading", given["readings"]))
    return rows


def match_words(game: Game) -> str:
    """What was compared of an uploaded log and the corpus that it is filed under; "" for other games."""
    if not game.is_uploaded or game.corpus is None:
        return ""
    found = game.report.get("corpus_match")
    return (
        Match(**found).words
        if found
        else "This log was not compared with the corpus: it came in before that."
    )


def figures(game: Game, found: dict[str, Any]) -> list[Metric]:
    """The reference's rates; those of tokens with n and a Wilson interval."""
    if not found:
        return []
    whole = found["all"][0]
    return [_figure(name, whole, game.game, found) for name in ORDER[game.game]]


def _figure(name: str, whole: dict[str, Any], game: str, found: dict[str, Any]) -> Metric:
    value = whole.get(name)
    if game == "tc":
        return Metric(name, LABELS[name], value, whole["chars"], found.get("intervals", {}).get(name))
    n = found["counts"][OF[name]] if name in OF else _tokens(whole, game)
    if name in ("mrr", "improvement") or value is None or not n:
        return Metric(name, LABELS[name], value, n)
    rate = wilson(round(value * n), n)
    return Metric(name, LABELS[name], value, n, (rate.low, rate.high) if rate else None)


def _tokens(whole: dict[str, Any], game: str) -> int:
    """Counted tokens: `words` of ic has the skipped ones among them."""
    return round(whole["words"] * (1 - (whole["skip"] or 0))) if game == "ic" else int(whole["words"])


def more(found: dict[str, Any]) -> list[Metric]:
    """What the reference does not count."""
    rows = []
    extra = found.get("more", {})
    if bits := extra.get("bits_per_character"):
        label = f"bits per character ({bits['oov_policy']})"
        rows.append(Metric("bpc", label, bits["value"], bits["characters"], bits.get("interval")))
        label = f"bits per character of the {bits['scored']:,} tokens with a score"
        rows.append(Metric("bpc_scored", label, bits["scored_only"]))
    for key, label in (
        ("keystroke_savings", "keystrokes saved, over the whole text"),
        ("keystroke_savings_auto_space", "keystrokes saved, blanks after accepted words typed by themselves"),
    ):
        if saved := extra.get(key):
            rows.append(Metric(key, label, saved["value"], saved["n"], saved["interval"]))
    if held := extra.get("cross_validated"):
        label = f"accuracy, mixture chosen on other text ({len(held['folds'])} parts, by {held['cluster']})"
        rows.append(Metric("cross_validated", label, held["accuracy"], held["n"], held["interval"]))
    return rows


def parts(game: Game, found: dict[str, Any], keep: str, request: HttpRequest) -> dict[str, Any]:
    """The table below the figures: {"kind", "header", "rows", "message", "number", "pages"}."""
    kind = request.GET.get("partition", "")
    if kind not in PARTITIONS:
        raise Http404("There is no such partition.")
    result: dict[str, Any] = {"kind": kind, "kinds": PARTITIONS, "rows": [], "header": [], "message": ""}
    if not kind or not found:
        return result
    names = ["lines", "words", "chars", *ORDER[game.game], "skip"]
    if kind == "user":
        rows = found["user"]
        if isinstance(rows, str):
            return {**result, "message": rows}
    else:
        number, pages, first, last = page_of(game, whole(request.GET.get("page"), 1))
        try:
            rows = counting.by_line(game, keep, first, last)
        except LmcError as error:
            return {**result, "message": str(error)}
        result |= {"number": number, "pages": pages}
    names = [name for name in names if any(name in row for row in rows)]
    table = [(row[kind], [row.get(name) for name in names]) for row in rows]
    return {**result, "header": names, "rows": table}


def whole(text: str | None, default: int) -> int:
    """A small number of the address."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else default


def page_of(game: Game, number: int) -> tuple[int, int, int, int]:
    """(page, pages, first line, last line)."""
    pages = max(1, math.ceil(game.lines / LINES_PER_PAGE))
    if not 1 <= number <= pages:
        raise Http404("There is no such page.")
    first = (number - 1) * LINES_PER_PAGE + 1
    return number, pages, first, min(game.lines, first + LINES_PER_PAGE - 1)


# --- coloured text ---


@dataclass(frozen=True)
class Piece:
    """A token, or a stretch of characters with one outcome. `place` is the rank in words, `words` all there is to
    say."""

    text: str
    outcome: str
    rank: int | None
    score: float | None
    predictions: list[tuple[str, float | None]]
    typed: str = ""
    place: str = ""

    @property
    def words(self) -> str:
        says = [f"“{self.text}”: {OUTCOME_WORDS[self.outcome]}"]
        if self.typed and self.typed != self.text:
            says.append(f"typed “{self.typed}”")
        if self.place:
            says.append(f"rank {self.place}")
        if self.score is not None:
            says.append(f"score {self.score:.3g}")
        listed = "  ".join(
            f"{text} {score:.3g}" if score is not None else text for text, score in self.predictions
        )
        return ", ".join(says) + (f". Best: {listed}" if listed else ".")


def text_page(game: Game, keep: str, number: int, wanted: int) -> dict[str, Any]:
    """One page of coloured lines; `wanted` is a line to be told token by token. Colours of wp mean what they say: rank
    1, and up to 3 (the reference's `pretty` counts ranks from 0 there)."""
    if wanted:
        if not 1 <= wanted <= game.lines:
            raise Http404("There is no such line.")
        number = (wanted - 1) // LINES_PER_PAGE + 1
    number, pages, first, last = page_of(game, number)
    mix = counting.mix_of(game, keep) if game.game == "ic" else None
    base = counting.rank_base_of(game)
    lines = []
    for at, line in storage.decoded(game, first, last):
        found = spans(line, keep, mix, "corrected", MOST_STARS)
        user = None if line.user is UNSET else line.user
        lines.append({"number": at, "user": user, "pieces": list(pieces(found, mix, base))})
    return {
        "lines": lines,
        "told": next((line for line in lines if line["number"] == wanted), None),
        "number": number,
        "pages": pages,
        "mix": mix,
        "gap": "" if game.game == "tc" else " ",
        "legend": [(name, OUTCOME_WORDS[name]) for name in OUTCOMES[game.game]],
    }


def pieces(found: Iterable[Span], mix: Mix | None, base: int | None = 1) -> Iterator[Piece]:
    """Spans for a page; characters of one entry with one outcome become one piece. `base`: the number of the first
    prediction in the log, None if that is not known."""
    run: list[Span] = []
    for span in found:
        if run and not (run[-1].entry is span.entry and run[-1].outcome == span.outcome and _is_tc(span)):
            yield _piece(run, mix, base)
            run = []
        run.append(span)
    if run:
        yield _piece(run, mix, base)


def _is_tc(span: Span) -> bool:
    return span.outcome in ("typed", "accepted", "saved") or (
        span.outcome == "skipped" and len(span.text) == 1 and len(span.entry.text or "") > 1
    )


def _piece(run: list[Span], mix: Mix | None, base: int | None) -> Piece:
    last = run[-1]
    entry = last.entry
    text = "".join(span.text for span in run).encode("utf-8", "replace").decode()
    place = _place(last.rank, base)
    if mix is None:
        return Piece(text, last.outcome, last.rank, entry.score, _best(entry.predicted()), place=place)
    typed = "" if entry.verbatim is UNSET else str(entry.verbatim)
    return Piece(text, last.outcome, last.rank, None, _mixed(entry, mix), typed, place)


def _place(rank: int | None, base: int | None) -> str:
    """A rank counted from 1, with what the log says where that is another number."""
    if rank is None:
        return ""
    if base is None:
        return f"{rank} in the log"
    return str(rank) if base else f"{rank + 1} ({rank} in the log)"


def _number(value: Any) -> float | None:
    """A score that can be shown: foreign logs hold anything."""
    try:
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
    except OverflowError:
        return None


def _best(predictions: Any) -> list[tuple[str, float | None]]:
    """Texts with their scores, best first; what has another shape is shown as it stands."""
    found: list[tuple[str, float | None]] = []
    for one in predictions if isinstance(predictions, list) else []:
        parts = one if isinstance(one, list) else [one]
        found.append((str(parts[0]) if parts else "", _number(parts[1]) if len(parts) > 1 else None))
    found.sort(key=lambda pair: (pair[1] is None, -(pair[1] or 0)))
    return found[:PREDICTIONS]


def _mixed(entry: CorrectionEntry, mix: Mix) -> list[tuple[str, float | None]]:
    """The best candidates of ic by their mixed scores."""
    given = [score for *_, score in entry.candidates if score is not None]
    floor = mix.oov_penalty + min(given, default=0.0)
    worth = [
        (str(names[0]), (1 - mix.alpha) * error + mix.alpha * (floor if score is None else score))
        for *names, error, score in entry.candidates
        if names
    ]
    return [(text, value) for text, value in sorted(worth, key=lambda pair: -pair[1])[:PREDICTIONS]]


# --- charts ---


CURVE_LABELS = {"learnt": "characters learnt before", "trainingChars": "trainingChars of the log"}


def search_figure(game: Game, found: list[dict[str, Any]], query: dict[str, str]) -> Figure:
    """A figure of input correction by mixture. `query` names game, filter, target, alpha and oov_penalty."""
    target = query["target"].replace("_", " ")
    alphas = list(dict.fromkeys(one["alpha"] for one in found))
    by_penalty: dict[float, list[float | None]] = {}
    for one in found:
        by_penalty.setdefault(one["oov_penalty"], []).append(one["value"])
    title = f"{game.title}: {target} by mixture"
    draw = partial(
        heat_chart,
        [f"{penalty:g}".replace("-", "−") for penalty in by_penalty],
        [f"{alpha:g}" for alpha in alphas],
        list(by_penalty.values()),
        title,
        said=f"{target.capitalize()}, tokens of the filter {query['filter']}",
        axes=("OOV penalty", "alpha"),
        write="{:.3f}".format,
        unit="",
        missing="no value",
    )
    rows = [(one["oov_penalty"], one["alpha"], one["value"]) for one in found]
    return Figure("lmc-search", title, draw, ("oov_penalty", "alpha", query["target"]), rows, query)


def learning_figure(game: Game, curve: dict[str, Any] | None, keep: str) -> Figure | None:
    """The headline figure by what was learnt before; None for a game without training."""
    points = [one for one in (curve or {}).get("points", []) if one["value"] is not None]
    if curve is None or not points:
        return None
    marks = [_point(one) for one in points]
    has_intervals = any(mark.low is not None for mark in marks)
    title = f"{game.title}: learning curve"
    draw = partial(
        xy_chart,
        [("", marks)],
        title,
        x_label=f"{CURVE_LABELS[curve.get('by', 'trainingChars')]}, middle of a bin",
        y_label=curve["metric"],
        joined=True,
        note="Whiskers: 95% interval." if has_intervals else "",
    )
    header = (
        "from_characters", "to_characters", "lines", "n", curve["metric"], "ci_low_95", "ci_high_95",
    )  # fmt: skip
    rows = [
        (one["from"], one["to"], one["lines"], one["n"], one["value"], *(one["interval"] or (None, None)))
        for one in points
    ]
    return Figure("lmc-learning", title, draw, header, rows, {"game": game.key, "filter": keep})


def _point(one: dict[str, Any]) -> Point:
    low, high = one["interval"] or (None, None)
    label = f"{one['from']:,.0f} to {one['to']:,.0f} characters, n = {one['n']:,}"
    return Point((one["from"] + one["to"]) / 2, one["value"], label, low, high)
