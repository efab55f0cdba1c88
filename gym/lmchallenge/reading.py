"""Reading a log on the site: its lines in the order of the log or worst first, all or those that are looked for, a page
at a time, or as one HTML file."""

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
"""Lines of an exported search; rows of version 5. A whole log is exported whole."""
MOST_WORD = 200


@dataclass(frozen=True)
class Asked:
    """What is looked for. `outcome`: one of the game's, or "errors"; `line`: to be shown word by word."""

    keep: str
    order: str = "log"
    outcome: str = ""
    word: str = ""
    user: str = ""
    page: int = 1
    line: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether it is the log as it stands."""
        return self.order == "log" and not (self.outcome or self.word or self.user)


@dataclass(frozen=True)
class Page:
    """`lines` of the page `number` of `pages`; `told`: the line that was asked for; `found` of `whole` lines (messages)
    fit, None where nothing was looked for. `losses` by number, where lines were ordered or looked for."""

    lines: list[ColouredLine]
    number: int
    pages: int
    told: ColouredLine | None = None
    found: int | None = None
    whole: int = 0
    is_told_elsewhere: bool = False
    losses: dict[int, float] = field(default_factory=dict)


def outcome_words(game: Game) -> dict[str, str]:
    """What can be looked for, in words."""
    words = coloured.words_of(game.game)
    return {"": "any outcome", ERROR: "errors only"} | {name: words[name] for name in outcomes_of(game.game)}


def asked_of(game: Game, keep: str, given: Mapping[str, Any]) -> Asked:
    """Raises ValidationError naming what cannot be looked for."""
    wrong = {}
    for name, known in (("order", ORDERS), ("outcome", outcome_words(game))):
        if given.get(name) and given[name] not in known:
            wrong[name] = [
                f"There is no {name} {given[name]!r}. Choose one of {', '.join(filter(None, known))}."
            ]
    if given.get("word") and not game.has_targets:
        wrong["word"] = ["The log has no words."]
    if wrong:
        raise ValidationError(wrong)
    names = ("order", "outcome", "word", "user", "page", "line")
    return Asked(keep, **{name: given[name] for name in names if given.get(name)})


def read_page(game: Game, asked: Asked) -> Page:
    """Raises Http404 for a page that is not there, ValidationError for a line, LmcError for a log that has no index."""
    if asked.line > game.lines:
        raise ValidationError({"line": [f"The log has {game.lines:,} lines."]})
    if asked.is_plain:
        number = (asked.line - 1) // page_size(game) + 1 if asked.line else asked.page
        number, pages, first, last = page_of(game, number)
        lines = list(_coloured(game, asked.keep, np.arange(first, last + 1)))
        told = next((line for line in reversed(lines) if line.number <= asked.line), None)
        return Page(lines, number, pages, told)
    index = index_for(game, asked.keep)
    places = _places(index, asked)
    rows = _rows(index, places)
    pages = max(1, -(-len(rows) // page_size(game)))
    number, elsewhere, told = asked.page, False, None
    if asked.line:
        at = np.flatnonzero(rows == asked.line)
        elsewhere = not len(at)
        number = 1 if elsewhere else int(at[0]) // page_size(game) + 1
        place = index.place_of(asked.line)
        if place is not None:
            (told, *_) = _coloured(game, asked.keep, _rows(index, np.array([place]))[:MOST_FOUND])
    if not 1 <= number <= pages:
        raise Http404("There is no such page.")
    shown = rows[(number - 1) * page_size(game) : number * page_size(game)]
    losses = dict(zip(index.numbers[places].tolist(), index.loss[places].tolist(), strict=True))
    lines = list(_coloured(game, asked.keep, shown))
    return Page(
        lines,
        number,
        pages,
        told,
        len(places),
        len(index.numbers),
        elsewhere,
        {line.number: losses[line.number] for line in lines if losses.get(line.number, np.nan) >= 0},
    )


def _places(index: Index, asked: Asked) -> Ints:
    return index.found(
        outcome=asked.outcome, word=asked.word, user=asked.user, worst_first=asked.order == "worst"
    )


def _rows(index: Index, places: Ints) -> Ints:
    """The rows of these lines, line by line."""
    sizes = index.rows[places]
    starts = np.repeat(index.numbers[places] - (np.cumsum(sizes) - sizes), sizes)
    rows: Ints = np.arange(len(starts), dtype=np.int64) + starts
    return rows


def _coloured(game: Game, keep: str, rows: Ints) -> Iterator[ColouredLine]:
    raw = storage.rows_at(game, rows.tolist())
    if game.version == 5:
        mixture = counting.mixture_of(game)
        tokens = [one for number, row in raw for one in version5_log.read([row], game.title, first=number)]
        # Messages that follow each other here, not in the log, may have one user and number.
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
    """Raises LmcError for a log that was counted before logs were indexed."""
    if (row := TextIndex.objects.filter(game=game).first()) is None:
        raise LmcError(
            f"{game.title} was counted by an earlier version of this site, which kept nothing to search its text by.",
            "Read it in its own order, or count it again.",
        )
    return unpack(bytes(row.packed), keep)


def is_indexed(game: Game) -> bool:
    """Whether its text can be searched. Earlier versions of the site made fewer charts, too."""
    return TextIndex.objects.filter(game=game).exists()


# --- export ---


def html_of(game: Game, asked: Asked) -> Iterator[str]:
    """The text, coloured, as one file: the whole log, or the first MOST_FOUND of what is looked for. Raises LmcError
    before anything is written."""
    about = [f"{game.get_game_display()} ({game.game}), LM Challenge {game.version}"]
    if game.has_filters:
        about.append(f"Token filter: {asked.keep}")
    if asked.is_plain:
        return pretty_html.document(game.title, game.game, _whole(game, asked.keep), about)
    index = index_for(game, asked.keep)
    places = _places(index, asked)
    rows = _rows(index, places)
    said = [ORDERS[asked.order], outcome_words(game)[asked.outcome] if asked.outcome else ""]
    said += [f"with “{asked.word}”" if asked.word else "", f"by {asked.user}" if asked.user else ""]
    about.append(f"{len(places):,} of {len(index.numbers):,} lines: {', '.join(filter(None, said))}")
    if len(rows) > MOST_FOUND:
        about.append(f"The first {MOST_FOUND:,} rows of the log that fit.")
    return pretty_html.document(game.title, game.game, _coloured(game, asked.keep, rows[:MOST_FOUND]), about)


def _whole(game: Game, keep: str) -> Iterator[ColouredLine]:
    if game.version == 5:
        yield from coloured.messages_of(storage.decoded_tokens(game), counting.mixture_of(game))
        return
    mix, base = _mix_of(game, keep), counting.rank_base_of(game)
    for number, line in storage.decoded(game):
        yield coloured.line_of(number, line, keep, mix, base=base)
