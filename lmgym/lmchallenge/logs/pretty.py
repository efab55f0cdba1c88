"""Coloured text of a log: each token, or character, with its outcome.

`spans` is for pages, `ansi` for terminals. The reference colours wp by rank < 1 (bold green, which never occurs, since
ranks count from 1) and rank < 3 (green, so the third prediction is yellow); readings="corrected" uses rank 1 and rank
<= 3, as the reference's help states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.decoder import CorrectionEntry, Entry, LogLine, RankedEntry
from lmgym.lmchallenge.logs.interpolation import Mix, Tokens
from lmgym.lmchallenge.tokens import keeper

RED, GREEN, YELLOW, BLUE, CYAN, DEFAULT = 1, 2, 3, 4, 6, 9
Colour: TypeAlias = tuple[int, bool]

OUTCOMES: dict[str, Colour] = {
    "skipped": (BLUE, False),
    "missed": (RED, False),
    "first": (GREEN, True),
    "near": (GREEN, False),
    "far": (YELLOW, False),
    "typed": (RED, False),
    "accepted": (YELLOW, False),
    "saved": (GREEN, False),
    "still-wrong": (YELLOW, False),
    "corrected": (GREEN, False),
    "broken": (RED, False),
    "still-right": (DEFAULT, False),
}
LEGENDS = {
    "wp": ("first", "near", "far", "missed", "skipped"),
    "tc": ("accepted", "saved", "typed", "skipped"),
    "ic": ("corrected", "still-right", "still-wrong", "broken", "skipped"),
}
"""Outcomes of each game, in legend order."""
OUTCOME_WORDS = {
    "skipped": "not counted by the filter",
    "missed": "not predicted",
    "first": "predicted at rank 1",
    "near": "correct at rank 2 or 3",
    "far": "correct at rank 4 or later",
    "typed": "typed",
    "accepted": "accepted here",
    "saved": "saved by an accepted prediction",
    "still-wrong": "left wrong",
    "corrected": "wrong before, right after",
    "broken": "right before, wrong after",
    "still-right": "right before and after",
}
REFERENCE_WORDS = {"first": "", "near": "correct at rank 1 or 2", "far": "correct at rank 3 or later"}
"""Labels of wp for the reference's colours. `first` never occurs."""


@dataclass(frozen=True)
class Span:
    """A piece of text with its outcome (a key of OUTCOMES) and its entry in the log."""

    text: str
    outcome: str
    entry: Any
    rank: int | None = None


MOST_STARS = 1_000_000


def shown(entry: Entry, most: int = MOST_STARS) -> str:
    """Return the target, or an asterisk per hidden character; beyond `most` characters, `most` asterisks and the
    length.
    """
    hidden = entry.part
    if isinstance(hidden, str):
        return hidden
    return "*" * min(hidden, most) + (f"… {hidden:,} characters" if hidden > most else "")


def spans(
    line: LogLine,
    keep: str = "alphaemoji",
    mix: Mix | None = None,
    readings: str = "reference",
    most: int = MOST_STARS,
) -> list[Span]:
    """Split one line into spans; for tc, one per character. `most`: maximum number of asterisks for a hidden text.

    Raises LogError for ic without a mixture.
    """
    entries, keeps = line.entries, keeper(keep)
    if line.game == "wp":
        return [_predicted(entry, keeps, readings, most) for entry in entries]
    if line.game == "tc":
        return [span for entry in entries for span in _characters(entry, keeps, most)]
    ranks = ic_ranks(entries, mix)
    return [_corrected(entry, rank, keeps, most) for entry, rank in zip(entries, ranks, strict=True)]


def ic_ranks(entries: Sequence[CorrectionEntry], mix: Mix | None) -> list[int]:
    """Return the rank of each target under the mixture. Raises LogError without a mixture."""
    if mix is None:
        raise LogError("An ic log needs a mixture of its scores.", "Find one with ic-opt.")
    if not entries:
        return []
    tokens = Tokens.of([entry.candidates for entry in entries], [entry.score for entry in entries])
    return [int(rank) for rank in tokens.ranks(mix)]


def _skipped(entry: Entry, keeps: Callable[[str], bool]) -> bool:
    text = entry.text
    return text is not None and not keeps(text)


def _predicted(entry: RankedEntry, keeps: Callable[[str], bool], readings: str, most: int) -> Span:
    rank = entry.rank
    first, near = (0, 2) if readings == "reference" else (1, 3)
    if _skipped(entry, keeps):
        outcome = "skipped"
    elif rank is None:
        outcome = "missed"
    else:
        outcome = "first" if rank <= first else "near" if rank <= near else "far"
    return Span(shown(entry, most), outcome, entry, rank)


def _characters(entry: RankedEntry, keeps: Callable[[str], bool], most: int) -> Iterator[Span]:
    hidden = entry.text is None
    for at, char in enumerate(shown(entry, most)):
        if not hidden and not keeps(char):
            outcome = "skipped"
        elif entry.rank is None:
            outcome = "typed"
        else:
            outcome = "saved" if at else "accepted"
        yield Span(char, outcome, entry, entry.rank)


def _corrected(entry: CorrectionEntry, rank: int, keeps: Callable[[str], bool], most: int) -> Span:
    names = {
        (False, False): "still-wrong",
        (False, True): "corrected",
        (True, False): "broken",
        (True, True): "still-right",
    }
    outcome = "skipped" if _skipped(entry, keeps) else names[bool(entry.right_before), rank == 1]
    return Span(shown(entry, most), outcome, entry, rank)


# -- terminals -----------------------------------------------------------------------------------------------


def ansi(
    logs: Sequence[Iterable[LogLine]],
    *,
    keep: str,
    mixes: Sequence[Mix | None],
    readings: str,
) -> Iterator[str]:
    """Yield lines with colour codes. If there are several logs, the last is compared with the best of the others, token
    by token, up to the length of the shortest.

    Raises LogError if their texts differ.
    """
    for number, lines in enumerate(zip(*logs, strict=False), 1):
        if len({line.game for line in lines}) > 1:
            raise LogError(f"Line {number}: the logs are of different games.")
        gap = "" if lines[0].game == "tc" else " "
        if len(lines) == 1:
            line_spans = spans(lines[0], keep, mixes[0], readings)
            pieces = [(span.text, OUTCOMES[span.outcome]) for span in line_spans]
        else:
            pieces = _difference(lines, keep, mixes, number)
        yield coded([(text + gap, colour) for text, colour in pieces])


def coded(pieces: list[tuple[str, Colour]]) -> str:
    """Join texts, coloured with ANSI escape codes."""
    out: list[str] = []
    current: Colour = (DEFAULT, False)
    for text, colour in [*pieces, ("", (DEFAULT, False))]:
        if current[1] != colour[1]:
            out.append(f"\x1b[{int(colour[1])};{30 + colour[0]}m")
        elif current[0] != colour[0]:
            out.append(f"\x1b[{30 + colour[0]}m")
        out.append(text)
        current = colour
    return "".join(out)


CHANGES: dict[str, int] = {
    "better": GREEN,
    "worse": RED,
    "same": DEFAULT,
    "both": CYAN,
    "both-wrong": YELLOW,
    "skipped": BLUE,
}
"""Colours for changes from the best baseline. Some changes are also bold, see CHANGE_WORDS."""
CHANGE_WORDS: dict[str, dict[tuple[str, bool], str]] = {
    "wp": {
        ("better", True): "better, newly in the top 1 or top 3",
        ("better", False): "better rank",
        ("same", False): "same rank",
        ("worse", False): "worse rank",
        ("worse", True): "worse, no longer in the top 1 or top 3",
        ("skipped", False): "not counted by the filter",
    },
    "tc": {
        ("better", False): "newly accepted",
        ("both", False): "accepted in both",
        ("same", False): "typed in both",
        ("worse", False): "no longer accepted",
        ("skipped", False): "not counted by the filter",
    },
    "ic": {
        ("better", False): "error, newly corrected",
        ("better", True): "typed right, no longer broken",
        ("same", False): "right in both",
        ("both-wrong", False): "left wrong in both",
        ("both-wrong", True): "typed right, broken in both",
        ("worse", False): "error, no longer corrected",
        ("worse", True): "typed right, newly broken",
        ("skipped", False): "not counted by the filter",
    },
}
"""Legend labels by game: (change, is bold) -> label."""
Change: TypeAlias = tuple[str, bool]


def changes(
    lines: Sequence[LogLine],
    keep: str,
    mixes: Sequence[Mix | None],
    where: str,
    most: int = MOST_STARS,
) -> list[tuple[str, Change, list[Span]]]:
    """Return (text, change, spans in all logs) for each token of the last line, compared with the best of the others.
    Raises LogError if the texts differ.
    """
    columns = [spans(line, keep, mix, most=most) for line, mix in zip(lines, mixes, strict=True)]
    judge, result = _CHANGES[lines[0].game], []
    for now, *before in zip(columns[-1], *columns[:-1], strict=False):
        if any(span.text != now.text for span in before):
            raise LogError(
                f"{where}: the logs have different texts ({now.text!r} and {before[0].text!r}).",
                "Compare runs on the same corpus.",
            )
        change = ("skipped", False) if now.outcome == "skipped" else judge(now, before)
        result.append((now.text, change, [*before, now]))
    return result


def _difference(
    lines: Sequence[LogLine], keep: str, mixes: Sequence[Mix | None], number: int
) -> list[tuple[str, Colour]]:
    line_changes = changes(lines, keep, mixes, f"Line {number}")
    return [(text, (CHANGES[name], bold)) for text, (name, bold), _ in line_changes]


def _wp_change(now: Span, before: list[Span]) -> Change:
    rank: Any = 1e10 if now.rank is None else now.rank
    best = min(1e10 if span.rank is None else span.rank for span in before)
    bold = any((rank <= limit) != (best <= limit) for limit in (1, 3))
    if best < rank:
        return "worse", bold
    return ("better", bold) if rank < best else ("same", False)


def _tc_change(now: Span, before: list[Span]) -> Change:
    was = any(span.rank is not None for span in before)
    if now.rank is not None:
        return ("both" if was else "better"), False
    return ("worse" if was else "same"), False


def _ic_change(now: Span, before: list[Span]) -> Change:
    was, stays = min(span.rank or 0 for span in before) == 1, bool(now.entry.right_before)
    if now.rank == 1:
        return ("same", False) if was else ("better", stays)
    return ("worse" if was else "both-wrong"), stays


_CHANGES: dict[str, Callable[[Span, list[Span]], Change]] = {
    "wp": _wp_change,
    "tc": _tc_change,
    "ic": _ic_change,
}
