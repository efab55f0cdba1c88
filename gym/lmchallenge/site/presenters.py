"""Games as pages show them: options, metrics with n and interval, parts, coloured lines, charts."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from typing import Any

from django.http import Http404, HttpRequest
from msgspec import UNSET

from gym.lib.charts.heatmap import heat_chart
from gym.lib.charts.xy import Point, xy_chart
from gym.lib.stats.intervals import wilson
from gym.lmchallenge.core import pretty
from gym.lmchallenge.core.alignment import Match
from gym.lmchallenge.core.errors import LmcError
from gym.lmchallenge.core.interpolation import Mix
from gym.lmchallenge.core.log_decoder import CorrectionEntry
from gym.lmchallenge.core.pretty import OUTCOME_WORDS, Span, spans
from gym.lmchallenge.core.stats import HITS
from gym.lmchallenge.core.version5 import pretty as version5_pretty
from gym.lmchallenge.core.version5 import stats as version5
from gym.lmchallenge.core.version5.log import Token
from gym.lmchallenge.core.version5.reranking import Mixture
from gym.lmchallenge.models import Game
from gym.lmchallenge.site import counting, storage
from gym.runs.pages.figures import Figure

LINES_PER_PAGE = 25
TOKENS_PER_PAGE = 500
"""Of logs of version 5, which have one on each line."""
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
    "completion.characters": "characters that were completed",
    "completion.tokens": "words that were completed",
    "entropy.mean": "entropy, nats per scored token",
    "entropy.bits": "bits per character of the tokens with a score",
    "entropy.hit": "tokens with a score",
    "base_accuracy": "right by the error score alone",
}
COUNTERPARTS = {
    "hit": "wp: predicted at all (hit)",
    **{f"hit{most}": f"wp: hit@{most}" for most in HITS},
    "mrr": "wp: mean reciprocal rank",
    "entropy.bits": "the same, beyond the reference",
    "accuracy": "ic: accuracy at the best of 55 mixtures",
    "base_accuracy": "ic: words that were typed right",
}
"""Figures of version 5 -> what corresponds to them in version 4."""
ORDER = {
    "wp": ("hit1", "hit3", "hit10", "hit20", "hit", "miss", "mrr"),
    "tc": ("pcpc", "kpc"),
    "ic": ("accuracy", "corrected_errors", "miscorrected", "improvement"),
}
OF = {"corrected_errors": "wrong", "improvement": "wrong", "miscorrected": "right"}
"""ic: rates of the words that were typed wrong, or right."""
LEGENDS = pretty.LEGENDS | version5_pretty.LEGENDS
NO_USER = "(no user)"
PARTITIONS = {"": "the whole log", "user": "by user", "line": "by line"}


@dataclass(frozen=True)
class Metric:
    """A metric of a game as a page shows it: the value with its number of observations and 95 % interval; of version 5
    what corresponds to it in version 4."""

    name: str
    label: str
    value: float | None
    n: int | None = None
    interval: Sequence[float] | None = None
    counterpart: str = ""


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
    if game.version == 5:
        return list(_figures_5(game.game, found["counts"]))
    whole = found["all"][0]
    return [_figure(name, whole, game.game, found) for name in ORDER[game.game]]


def _figures_5(game: str, counts: dict[str, Any]) -> Iterator[Metric]:
    """Rates of version 5 from its counts and sums: those of nothing, which the reference leaves out, are there."""
    tokens, entropy = counts["tokens"], counts["entropy"]
    if game == "wc":
        found = counts["prediction"]
        for name in ("hit1", "hit3", "hit10", "hit20", "hit"):
            yield _rate_5(name, found[name], tokens)
        yield _rate_5("mrr", found["srr"], tokens, is_share=False)
        done = counts["completion"]
        yield _rate_5("completion.characters", done["characters"], counts["characters"], is_share=False)
        yield _rate_5("completion.tokens", done["tokens"], tokens)
    elif game == "wr":
        found = counts["reranking"]
        yield _rate_5("accuracy", found["correct"], tokens)
        yield _rate_5("base_accuracy", found.get("base_correct", 0), tokens)
    else:
        total = entropy["sum"]
        bits = None if total is None else total / math.log(2)
        yield _rate_5("entropy.mean", total, entropy["tokens"], is_share=False)
        yield _rate_5("entropy.bits", bits, counts["characters_scored"], is_share=False)
        yield _rate_5("entropy.hit", entropy["tokens"], tokens)


def _rate_5(name: str, above: float | None, below: int, *, is_share: bool = True) -> Metric:
    """With a Wilson interval if it is a share of tokens. `above` is None for a sum that is not finite."""
    value = above / below if below and above is not None else None
    rate = wilson(int(above), below) if is_share and value is not None and above is not None else None
    interval = (rate.low, rate.high) if rate else None
    return Metric(name, LABELS[name], value, below, interval, COUNTERPARTS.get(name, ""))


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
    if game.version == 5:
        return {**result, "message": counting.ONLY_WHOLE}
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
    said = user_words if kind == "user" else str
    table = [(said(row[kind]), [row.get(name) for name in names]) for row in rows]
    return {**result, "header": names, "rows": table}


def user_words(name: str) -> str:
    """A user of a log, whose name is JSON, as people write it."""
    user = json.loads(name)
    return NO_USER if user is None else _encodable(user) if isinstance(user, str) else name


def whole(text: str | None, default: int) -> int:
    """A small number of the address."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 9 else default


def page_of(game: Game, number: int) -> tuple[int, int, int, int]:
    """(page, pages, first line, last line)."""
    size = _page_size(game)
    pages = max(1, math.ceil(game.lines / size))
    if not 1 <= number <= pages:
        raise Http404("There is no such page.")
    first = (number - 1) * size + 1
    return number, pages, first, min(game.lines, first + size - 1)


def _page_size(game: Game) -> int:
    return TOKENS_PER_PAGE if game.version == 5 else LINES_PER_PAGE


# --- coloured text ---


@dataclass(frozen=True)
class Piece:
    """A token, or a stretch of characters with one outcome. `place` is the rank in words, `words` all there is to
    say. Of version 5: `meaning`, the outcome in words, and `before`, the blank before a token that does not touch the
    last."""

    text: str
    outcome: str
    rank: int | None
    score: float | None
    predictions: list[tuple[str, float | None]]
    typed: str = ""
    place: str = ""
    meaning: str = ""
    before: str = ""

    @property
    def words(self) -> str:
        says = [f"“{self.text}”: {self.meaning or OUTCOME_WORDS[self.outcome]}"]
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
        number = (wanted - 1) // _page_size(game) + 1
    number, pages, first, last = page_of(game, number)
    mix = counting.mix_of(game, keep) if game.game == "ic" else None
    if game.version == 5:
        lines = list(_messages(game, first, last))
    else:
        lines = list(_coloured(game, keep, mix, first, last))
    words = version5_pretty.words() if game.version == 5 else OUTCOME_WORDS
    return {
        "lines": lines,
        "told": next((line for line in reversed(lines) if line["number"] <= wanted), None),
        "number": number,
        "pages": pages,
        "mix": mix,
        "typed": game.game in ("ic", "wr"),
        "gap": "" if game.game == "tc" or game.version == 5 else " ",
        "legend": [(name, words[name]) for name in LEGENDS[game.game]],
    }


def _coloured(game: Game, keep: str, mix: Mix | None, first: int, last: int) -> Iterator[dict[str, Any]]:
    base = counting.rank_base_of(game)
    for at, line in storage.decoded(game, first, last):
        found = spans(line, keep, mix, "corrected", MOST_STARS)
        user = None if line.user is UNSET else line.user
        yield {"number": at, "user": user, "pieces": list(pieces(found, mix, base))}


def _messages(game: Game, first: int, last: int) -> Iterator[dict[str, Any]]:
    """The messages of a log of version 5, numbered by the lines of their first tokens."""
    chosen = counting.statistics_of(game, "all").get("mix")
    mixture = Mixture.of(chosen["alpha"], chosen["beta"]) if chosen else None
    words = version5_pretty.words()
    tokens = storage.decoded_tokens(game, first, last)
    for _, group in groupby(tokens, lambda one: (one[1].user, one[1].message)):
        members = list(group)
        gaps = version5_pretty.gaps(token for _, token in members)
        found = [
            piece
            for (_, token), gap in zip(members, gaps, strict=True)
            for piece in _pieces_5(token, mixture, words, " " if gap else "")
        ]
        yield {"number": members[0][0], "user": members[0][1].user, "pieces": found}


def _pieces_5(token: Token, mixture: Mixture | None, words: dict[str, str], before: str) -> Iterator[Piece]:
    rank, score, best, typed = None, None, [], ""
    if isinstance(token.completions, list):
        answers = token.completions[0] if token.completions else []
        rank = version5.rank_of(answers, token.target)
        best = [(_encodable(text), None) for text in answers[:PREDICTIONS]]
    elif isinstance(token.results, list) and mixture is not None:
        worth = [(_encodable(word), mixture.score(error, model)) for word, error, model in token.scores]
        best = sorted(worth, key=lambda pair: -pair[1])[:PREDICTIONS]
        typed = _encodable(str(token.verbatim or ""))
    elif isinstance(token.logp, float):
        score = token.logp
    for text, outcome in version5_pretty.outcomes(token, mixture):
        if text:
            place = "" if rank is None else str(rank)
            yield Piece(_encodable(text), outcome, rank, score, best, typed, place, words[outcome], before)
            before = ""


def _encodable(text: str) -> str:
    """Without half surrogate pairs, which no page takes."""
    return text.encode("utf-8", "replace").decode()


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
    text = _encodable("".join(span.text for span in run))
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
