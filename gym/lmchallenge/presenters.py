"""Presentation of games: options, metrics with n and interval, parts, charts."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest

from gym.lmchallenge import counting
from gym.lmchallenge.models import Game
from lmgym.charts.figure import Figure
from lmgym.charts.heatmap import heat_chart
from lmgym.charts.xy import Point, xy_chart
from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.logs.alignment import Match
from lmgym.lmchallenge.logs.coloured import user_words
from lmgym.lmchallenge.logs.extra_metrics import CurvePoint
from lmgym.lmchallenge.logs.measures import COUNTERPART_GAMES, METRICS
from lmgym.lmchallenge.logs.stats import HITS, LAST_INDEX
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.play.games import GAME_WORDS
from lmgym.stats.intervals import wilson
from lmgym.text.number_format import grouped, score

LINES_PER_PAGE = 25
TOKENS_PER_PAGE = 500
"""Rows per page for a version 5 log, which has one token per row."""
LABELS = {
    "hit": "predicted",
    "hit1": "rank 1 (hit@1)",
    "hit3": "top 3 (hit@3)",
    "hit10": "top 10 (hit@10)",
    "hit20": "top 20 (hit@20)",
    "miss": "not predicted",
    "mrr": "mean reciprocal rank",
    "skip": "skipped",
    "pcpc": "characters predicted (pcpc)",
    "kpc": "keystrokes per character (kpc)",
    "accuracy": "right after correction (accuracy)",
    "corrected_errors": "errors corrected",
    "miscorrected": "correct words broken",
    "improvement": "improvement",
    "completion.characters": "characters completed",
    "completion.tokens": "words completed",
    "entropy.mean": "entropy, nats per scored token",
    "entropy.bits": "bits per character of the tokens with a score",
    "entropy.hit": "tokens with a score",
    "base_accuracy": "right without the model",
    "bits": "bits per character",
    "keystroke_savings": "keystrokes saved",
    **{f"idx{index}_hit3": f"hit@3 of word {index + 1} of a line" for index in range(LAST_INDEX)},
    f"idx{LAST_INDEX}_hit3": f"hit@3 of word {LAST_INDEX + 1} and later",
}
COUNTERPARTS = {
    "hit": "wp: predicted (hit)",
    **{f"hit{most}": f"wp: hit@{most}" for most in HITS},
    "mrr": "wp: mean reciprocal rank",
    "entropy.bits": "bits per character (not in the reference)",
    "accuracy": "ic: accuracy at the best of 55 mixtures",
    "base_accuracy": "ic: words typed right",
}
"""Metric of version 5 -> label of its counterpart in version 4."""
ORDER = {
    "wp": ("hit1", "hit3", "hit10", "hit20", "hit", "miss", "mrr"),
    "tc": ("pcpc", "kpc"),
    "ic": ("accuracy", "corrected_errors", "miscorrected", "improvement"),
}
OF = {"corrected_errors": "wrong", "improvement": "wrong", "miscorrected": "right"}
"""Denominator of ic rates: words that were typed wrong, or right."""
PARTITIONS = {"": "whole log", "user": "by user", "line": "by line"}


@dataclass(frozen=True)
class Metric:
    """A metric of a game: value, number of observations, 95% interval and, for version 5, counterpart in version 4."""

    name: str
    label: str
    value: float | None
    n: int | None = None
    low: float | None = None
    high: float | None = None
    counterpart: str = ""

    @property
    def explained(self) -> str:
        """Heading in "How scores are computed" that explains the metric."""
        return explained(self.name)


EXPLAINED = {
    "mrr": "mrr",
    "pcpc": "pcpc",
    "kpc": "kpc",
    **dict.fromkeys(("keystroke_savings", "keystroke_savings_auto_space"), "keystroke-savings"),
    **dict.fromkeys(("bpc", "bpc_scored", "bits"), "bits-per-character"),
    **dict.fromkeys(("completion.characters", "completion.tokens"), "completion"),
    **dict.fromkeys(("entropy.mean", "entropy.bits", "entropy.hit"), "entropy"),
    **dict.fromkeys(
        ("accuracy", "base_accuracy", "corrected_errors", "miscorrected", "improvement", "cross_validated"),
        "mixture",
    ),
    **dict.fromkeys(("words", "tokens", "skip", "skipped"), "lm-counts"),
}
"""Metric -> heading in "How scores are computed". All other metrics are hits."""


PLAIN = ("lines", "chars", "messages", "characters")


def explained(name: str) -> str:
    """Return the heading in "How scores are computed" that explains a metric; "" for a plain count."""
    return "" if name in PLAIN else EXPLAINED.get(name, "hit")


MAIN_EXPLAINED = {game: explained(metrics[0]) for game, metrics in METRICS.items()}
"""Game -> heading that explains its main metric, for lists."""


def metric_words(name: str) -> str:
    """Return the label of a metric, including any `hitN`."""
    if name in LABELS:
        return LABELS[name]
    most = name.removeprefix("hit")
    return f"top {most} (hit@{most})" if most.isdecimal() else name


def options(game: Game) -> list[tuple[str, Any]]:
    """Return (name, value) of the options that apply to this game."""
    values = game.options
    if not values:
        return []
    rows: list[tuple[str, Any]] = [
        ("training", "cleared for each user, learns each line" if values["train"] else "none"),
    ]
    if game.game == "tc":
        rows.append(("predictions considered", values["select_from"]))
    if game.game == "wc":
        rows.append(("predicts", "before each word" if values["next_word_only"] else "before each letter"))
    if game.game in ("ic", "wr"):
        rows += [
            ("vocabulary", f"{grouped(game.n_words)} words"),
            ("candidates", values["num_candidates"]),
            ("error probability", values["p_anykey"]),
            ("error characters", values["error_chars"]),
            ("seed", values["seed"]),
        ]
    if "readings" in values:
        rows.append(("readings", values["readings"]))
    return rows


def counterpart(game: Game) -> str:
    """Return the label of the comparable game in the other version; "" if there is none."""
    names = {name for games in COUNTERPART_GAMES if game.game in games for name in games} - {game.game}
    words = GAME_WORDS | GAME_WORDS_5
    return next((f"{words[name]} ({name})" for name in names), "")


def match_words(game: Game) -> str:
    """Describe how an uploaded log matches its corpus; return "" for other games."""
    if not game.is_uploaded or game.corpus is None:
        return ""
    match = game.report.get("corpus_match")
    return Match(**match).words if match else "This log was not compared with the corpus."


def figures(game: Game, statistics: dict[str, Any]) -> list[Metric]:
    """Return the reference's rates. Rates over tokens have n and a Wilson interval."""
    if not statistics:
        return []
    if game.version == 5:
        return list(_figures_5(game.game, statistics["counts"]))
    totals = statistics["all"][0]
    return [_figure(name, totals, game.game, statistics) for name in ORDER[game.game]]


def _figures_5(game: str, counts: dict[str, Any]) -> Iterator[Metric]:
    """Compute rates of version 5 from counts and sums. Rates with denominator 0, which the reference omits, are
    included.
    """
    tokens, entropy = counts["tokens"], counts["entropy"]
    if game == "wc":
        sums = counts["prediction"]
        for name in ("hit1", "hit3", "hit10", "hit20", "hit"):
            yield _rate_5(name, sums[name], tokens)
        yield _rate_5("mrr", sums["srr"], tokens, is_share=False)
        done = counts["completion"]
        yield _rate_5("completion.characters", done["characters"], counts["characters"], is_share=False)
        yield _rate_5("completion.tokens", done["tokens"], tokens)
    elif game == "wr":
        sums = counts["reranking"]
        yield _rate_5("accuracy", sums["correct"], tokens)
        yield _rate_5("base_accuracy", sums.get("base_correct", 0), tokens)
    else:
        total = entropy["sum"]
        bits = None if total is None else total / math.log(2)
        yield _rate_5("entropy.mean", total, entropy["tokens"], is_share=False)
        yield _rate_5("entropy.bits", bits, counts["characters_scored"], is_share=False)
        yield _rate_5("entropy.hit", entropy["tokens"], tokens)


def _rate_5(name: str, above: float | None, below: int, *, is_share: bool = True) -> Metric:
    """Return a rate, with a Wilson interval if it is a share of tokens. `above` is None if a sum is not finite."""
    value = above / below if below and above is not None else None
    rate = wilson(int(above), below) if is_share and value is not None and above is not None else None
    low, high = (rate.low, rate.high) if rate else (None, None)
    return Metric(name, LABELS[name], value, below, low, high, COUNTERPARTS.get(name, ""))


def _figure(name: str, totals: dict[str, Any], game: str, statistics: dict[str, Any]) -> Metric:
    value = totals.get(name)
    if game == "tc":
        return Metric(name, LABELS[name], value, totals["chars"], **statistics["intervals"][name])
    n = statistics["counts"][OF[name]] if name in OF else _tokens(totals, game)
    if name in ("mrr", "improvement") or value is None or not n:
        return Metric(name, LABELS[name], value, n)
    rate = wilson(round(value * n), n)
    return Metric(name, LABELS[name], value, n, *((rate.low, rate.high) if rate else ()))


def _tokens(totals: dict[str, Any], game: str) -> int:
    """Return the number of tokens that were not skipped. (`words` of ic includes the skipped ones.)"""
    return round(totals["words"] * (1 - (totals["skip"] or 0))) if game == "ic" else int(totals["words"])


def more(statistics: dict[str, Any]) -> list[Metric]:
    """Return the metrics that the reference lacks."""
    rows = []
    extra = statistics.get("more", {})
    if bits := extra.get("bits_per_character"):
        label = f"bits per character ({bits['oov_policy']})"
        rows.append(Metric("bpc", label, bits["value"], bits["characters"], bits["low"], bits["high"]))
        label = f"bits per character of the {grouped(bits['scored'])} tokens with a score"
        rows.append(Metric("bpc_scored", label, bits["scored_only"]))
    for key, label in (
        ("keystroke_savings", "keystrokes saved, whole text"),
        ("keystroke_savings_auto_space", "keystrokes saved, with automatic spaces"),
    ):
        if saved := extra.get(key):
            rows.append(Metric(key, label, saved["value"], saved["n"], saved["low"], saved["high"]))
    if held := extra.get("cross_validated"):
        label = f"accuracy, cross-validated ({len(held['folds'])} folds, by {held['cluster']})"
        rows.append(Metric("cross_validated", label, held["accuracy"], held["n"], held["low"], held["high"]))
    return rows


def parts(game: Game, statistics: dict[str, Any], keep: str, request: HttpRequest) -> dict[str, Any]:
    """Return the table of parts: {"kind", "kinds", "header" [(name, heading that explains it)], "rows", "message"}, by
    line also "number" and "pages".
    """
    kind = request.GET.get("partition", "")
    if kind not in PARTITIONS:
        raise Http404("There is no such partition.")
    result: dict[str, Any] = {"kind": kind, "kinds": PARTITIONS, "rows": [], "header": [], "message": ""}
    if not kind or not statistics:
        return result
    names = ["lines", "words", "chars", *ORDER.get(game.game, ()), "skip"]
    if game.version == 5:
        names = ["messages", "tokens", "characters", "skipped", *METRICS[game.game]]
    if kind == "user":
        rows = statistics["user"]
        if isinstance(rows, str):
            return {**result, "message": rows}
    else:
        number = whole(request.GET.get("page"), 1)
        number, pages, first, last = _page_of(counting.parts_of(game), LINES_PER_PAGE, number)
        try:
            rows = counting.by_line(game, keep, first, last)
        except LmcError as error:
            return {**result, "message": str(error)}
        result |= {"number": number, "pages": pages}
    names = [name for name in names if any(name in row for row in rows)]
    name_of = user_words if kind == "user" else str
    table = [(name_of(row[kind]), [_cell(row.get(name)) for name in names]) for row in rows]
    return {**result, "header": [(name, explained(name)) for name in names], "rows": table}


def _cell(value: float | None) -> str:
    """Format a count or a rate."""
    return grouped(value) if isinstance(value, int) else score(value)


def users_of(game: Game, keep: str) -> list[str]:
    """Return the users by which the text can be filtered; empty if the game has no statistics by user."""
    users = counting.statistics_of(game, keep).get("user", [])
    if isinstance(users, str):
        return []
    return list(dict.fromkeys(user_words(row["user"]) for row in users))


def whole(text: str | None, default: int) -> int:
    """Parse a whole number of at most 8 digits from the query; return `default` if it is not one."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else default


def page_of(game: Game, number: int) -> tuple[int, int, int, int]:
    """Return (page, number of pages, first line, last line)."""
    return _page_of(game.lines, page_size(game), number)


def _page_of(lines: int, size: int, number: int) -> tuple[int, int, int, int]:
    pages = max(1, math.ceil(lines / size))
    if not 1 <= number <= pages:
        raise Http404("There is no such page.")
    first = (number - 1) * size + 1
    return number, pages, first, min(lines, first + size - 1)


def page_size(game: Game) -> int:
    return TOKENS_PER_PAGE if game.version == 5 else LINES_PER_PAGE


# --- charts ---


CURVE_LABELS = {"learnt": "characters learnt before the line", "trainingChars": "trainingChars of the log"}


def mixture_figure(game: Game, keep: str) -> Figure:
    """Draw a heat map of input correction accuracy by mixture."""
    search = counting.statistics_of(game, keep)["search"]
    alphas = list(dict.fromkeys(row["alpha"] for row in search))
    by_penalty: dict[float, list[float | None]] = {}
    for row in search:
        by_penalty.setdefault(row["oov_penalty"], []).append(row["value"])
    title = f"{game.title}: accuracy by mixture"
    draw = partial(
        heat_chart,
        [f"{penalty:g}".replace("-", "−") for penalty in by_penalty],
        [f"{alpha:g}" for alpha in alphas],
        list(by_penalty.values()),
        title,
        description=f"Accuracy, tokens of the filter {keep}",
        axes=("OOV penalty", "alpha"),
        write="{:.3f}".format,
        unit="",
        missing="no value",
    )
    rows = [(row["oov_penalty"], row["alpha"], row["value"]) for row in search]
    query: dict[str, str | list[str]] = {"game": game.key, "filter": keep}
    return Figure("lmc-search", title, draw, ("oov_penalty", "alpha", "accuracy"), rows, query)


def learning_figure(game: Game, curve: dict[str, Any] | None, keep: str) -> Figure | None:
    """Draw the learning curve; return None for a game without training."""
    points = [point for point in (curve or {}).get("points", []) if point["value"] is not None]
    if curve is None or not points:
        return None
    marks = [_point(point) for point in points]
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
    names = [column.name for column in fields(CurvePoint)]
    header = tuple(curve["metric"] if name == "value" else name for name in names)
    rows = [tuple(point[name] for name in names) for point in points]
    return Figure(
        "lmc-learning", title, draw, header, rows, {"game": game.key, "filter": keep}, has_narrow=True
    )


def _point(point: dict[str, Any]) -> Point:
    start, end = point["from_characters"], point["to_characters"]
    label = f"{grouped(start)} to {grouped(end)} characters, n = {grouped(point['n'])}"
    return Point((start + end) / 2, point["value"], label, point["low"], point["high"])
