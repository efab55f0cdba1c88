"""Read a log on the site: all lines or matches, in log order or worst first, as pages or as one HTML file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.core.exceptions import ValidationError
from django.http import Http404

from gym.lmchallenge import counting, storage
from gym.lmchallenge.models import Game, TextIndex
from gym.lmchallenge.presenters import page_of, page_size
from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.logs import coloured, decoder, pretty_html
from lmgym.lmchallenge.logs.coloured import ColouredLine
from lmgym.lmchallenge.logs.interpolation import Mix
from lmgym.lmchallenge.logs.table import Ints
from lmgym.lmchallenge.logs.text_index import ERROR, Index, outcomes_of, unpack
from lmgym.lmchallenge.logs.version5 import log as version5_log

ORDERS = {"log": "in the order of the log", "worst": "worst first"}
MOST_FOUND = 2_000
"""Maximum number of lines (version 5: rows) in an export of matches. Exports of a whole log are not limited."""
MOST_WORD = 200


@dataclass(frozen=True)
class TextSearch:
    """A search in a text. `outcome`: an outcome of the game, or "errors"; `line`: line to show word by word."""

    keep: str
    order: str = "log"
    outcome: str = ""
    word: str = ""
    user: str = ""
    page: int = 1
    line: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether the whole log is shown in log order, without a search."""
        return self.order == "log" and not (self.outcome or self.word or self.user)


@dataclass(frozen=True)
class Page:
    """A page of lines.

    detail     line shown word by word
    n_matches  number of matching lines (messages) out of `whole`; None without a search
    losses     loss by line number, for a search or a sorted log
    """

    lines: list[ColouredLine]
    number: int
    pages: int
    detail: ColouredLine | None = None
    n_matches: int | None = None
    whole: int = 0
    is_detail_elsewhere: bool = False
    losses: dict[int, float] = field(default_factory=dict)


def outcome_words(game: Game) -> dict[str, str]:
    """Return the searchable outcomes with their labels."""
    words = coloured.words_of(game.game)
    return {"": "any outcome", ERROR: "errors only"} | {name: words[name] for name in outcomes_of(game.game)}


def parse_search(game: Game, keep: str, values: Mapping[str, Any]) -> TextSearch:
    """Parse a search. Raises ValidationError naming the invalid field."""
    wrong = {}
    for name, known in (("order", ORDERS), ("outcome", outcome_words(game))):
        if values.get(name) and values[name] not in known:
            wrong[name] = [
                f"There is no {name} {values[name]!r}. Choose one of {', '.join(filter(None, known))}."
            ]
    if values.get("word") and not game.has_targets:
        wrong["word"] = ["The log has no words."]
    if wrong:
        raise ValidationError(wrong)
    names = ("order", "outcome", "word", "user", "page", "line")
    return TextSearch(keep, **{name: values[name] for name in names if values.get(name)})


def read_page(game: Game, query: TextSearch) -> Page:
    """Read a page. Raises Http404 for a missing page, ValidationError for a missing line, LmcError for a log without an
    index.
    """
    if query.line > game.lines:
        raise ValidationError({"line": [f"The last line of the log is {game.lines:,}."]})
    if query.is_plain:
        number = (query.line - 1) // page_size(game) + 1 if query.line else query.page
        number, pages, first, last = page_of(game, number)
        lines = list(_coloured(game, query.keep, np.arange(first, last + 1)))
        detail = next((line for line in reversed(lines) if line.number <= query.line), None)
        return Page(lines, number, pages, detail)
    index = index_for(game, query.keep)
    places = _places(index, query)
    rows = _rows(index, places)
    pages = max(1, -(-len(rows) // page_size(game)))
    number, elsewhere, detail = query.page, False, None
    if query.line:
        at = np.flatnonzero(rows == query.line)
        elsewhere = not len(at)
        number = 1 if elsewhere else int(at[0]) // page_size(game) + 1
        place = index.place_of(query.line)
        if place is not None:
            (detail, *_) = _coloured(game, query.keep, _rows(index, np.array([place]))[:MOST_FOUND])
    if not 1 <= number <= pages:
        raise Http404("There is no such page.")
    shown = rows[(number - 1) * page_size(game) : number * page_size(game)]
    losses = dict(zip(index.numbers[places].tolist(), index.loss[places].tolist(), strict=True))
    lines = list(_coloured(game, query.keep, shown))
    return Page(
        lines,
        number,
        pages,
        detail,
        len(places),
        len(index.numbers),
        elsewhere,
        {line.number: losses[line.number] for line in lines if losses.get(line.number, np.nan) >= 0},
    )


def _places(index: Index, query: TextSearch) -> Ints:
    return index.find_lines(
        outcome=query.outcome, word=query.word, user=query.user, worst_first=query.order == "worst"
    )


def _rows(index: Index, places: Ints) -> Ints:
    """Return the rows of these lines, in order."""
    sizes = index.rows[places]
    starts = np.repeat(index.numbers[places] - (np.cumsum(sizes) - sizes), sizes)
    rows: Ints = np.arange(len(starts), dtype=np.int64) + starts
    return rows


def _coloured(game: Game, keep: str, rows: Ints) -> Iterator[ColouredLine]:
    raw = storage.rows_at(game, rows.tolist())
    if game.version == 5:
        mixture = counting.mixture_of(game)
        tokens = [
            token for number, row in raw for token in version5_log.read([row], game.title, first=number)
        ]
        # Messages that are adjacent here but not in the log may have the same user and number.
        for run in np.split(np.arange(len(rows)), np.flatnonzero(np.diff(rows) != 1) + 1):
            yield from coloured.messages_of((tokens[at] for at in run.tolist()), mixture)
        return
    mix, base = _mix_of(game, keep), counting.rank_base_of(game)
    for number, row in raw:
        for _, line in decoder.read_lines([row], game.title, first=number):
            yield coloured.line_of(number, line, keep, mix, base=base)


def _mix_of(game: Game, keep: str) -> Mix | None:
    return counting.mix_of(game, keep) if game.game == "ic" else None


def index_for(game: Game, keep: str) -> Index:
    """Return a log's index. Raises LmcError if its statistics were computed before the site indexed logs."""
    if (row := TextIndex.objects.filter(game=game).first()) is None:
        raise LmcError(
            f"{game.title} was counted by an earlier version of this site, so its text cannot be searched.",
            "Show it in the order of the log, or count it again.",
        )
    return unpack(bytes(row.packed), keep)


def is_indexed(game: Game) -> bool:
    """Return whether the game's text can be searched."""
    return TextIndex.objects.filter(game=game).exists()


# --- export ---


def html_of(game: Game, query: TextSearch) -> Iterator[str]:
    """Export the coloured text as one file: the whole log, or the first MOST_FOUND matching rows. Raises LmcError
    before anything is written.
    """
    about = [f"{game.get_game_display()} ({game.game}), LM Challenge {game.version}"]
    if game.has_filters:
        about.append(f"Token filter: {query.keep}")
    if query.is_plain:
        return pretty_html.document(game.title, game.game, _whole(game, query.keep), about)
    index = index_for(game, query.keep)
    places = _places(index, query)
    rows = _rows(index, places)
    conditions = [ORDERS[query.order], outcome_words(game)[query.outcome] if query.outcome else ""]
    conditions += [f"with “{query.word}”" if query.word else "", f"by {query.user}" if query.user else ""]
    n = len(index.numbers)
    shown = ", ".join(filter(None, conditions))
    about.append(f"{len(places):,} of {n:,} line{'s' if n != 1 else ''}: {shown}")
    if len(rows) > MOST_FOUND:
        about.append(f"Only the first {MOST_FOUND:,} matching rows.")
    return pretty_html.document(game.title, game.game, _coloured(game, query.keep, rows[:MOST_FOUND]), about)


def _whole(game: Game, keep: str) -> Iterator[ColouredLine]:
    if game.version == 5:
        yield from coloured.messages_of(storage.decoded_tokens(game), counting.mixture_of(game))
        return
    mix, base = _mix_of(game, keep), counting.rank_base_of(game)
    for number, line in storage.decoded(game):
        yield coloured.line_of(number, line, keep, mix, base=base)
