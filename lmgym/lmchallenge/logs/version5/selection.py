"""`grep`: choose the tokens that statistics include, by adding a `select` flag to each row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias

import regex

from lmgym.lmchallenge.errors import LogError, OptionError
from lmgym.lmchallenge.tokens import has_emoji

Row: TypeAlias = dict[str, Any]
Predicate: TypeAlias = Callable[[Mapping[str, Any]], bool]
KEEPS = ("all", "message", "token")
_LETTER, _NO_LETTER, _BLANK = (regex.compile(text) for text in (r"\p{L}", r"[^\p{L}]", r"\s"))

TARGETS: dict[str, Callable[[str], bool]] = {
    "nospace": lambda text: _BLANK.search(text) is None,
    "alpha": lambda text: _LETTER.search(text) is not None,
    "alphaonly": lambda text: _NO_LETTER.search(text) is None,
    "alphaemoji": lambda text: _LETTER.search(text) is not None or has_emoji(text),
    "emoji": has_emoji,
}
"""Name -> predicate on targets, written `$name` in a pattern. Unlike the filters of version 4, the letter filters
accept tokens that begin with "@".
"""


def parse(pattern: str) -> Predicate:
    """Parse a pattern.

    `REGEX` (found in the target), `~REGEX` (not found), `$NAME` from TARGETS, or `$KEY=REGEX` with user, message, token
    or character, whose whole value must match. Raises OptionError.
    """
    try:
        if not pattern.startswith(("$", "~")):
            expression = regex.compile(pattern)
            return lambda row: expression.search(row["target"]) is not None
        if pattern.startswith("~"):
            missing = regex.compile(pattern[1:])
            return lambda row: missing.search(row["target"]) is None
        if (name := pattern[1:]) in TARGETS:
            return lambda row: TARGETS[name](row["target"])
        key, equals, of = name.partition("=")
        if key in ("user", "message", "token", "character") and equals and of:
            whole = regex.compile(of)
            return lambda row: whole.fullmatch(str(row[key])) is not None
    except regex.error as error:
        raise OptionError(f"{pattern!r} is not a regular expression: {error}.") from None
    raise OptionError(
        f"Unknown pattern {pattern!r}.",
        f"Patterns with $ are {', '.join(f'${name}' for name in TARGETS)} and $user=, $message=, $token=, "
        "$character= with a regular expression.",
    )


def select(rows: Iterable[tuple[int, Row]], patterns: Sequence[str], keep: str = "all") -> Iterator[Row]:
    """Yield rows with `select`: False if the row already has False or a pattern does not match, else True.

    `keep`: "all" rows, the rows of each "message" with a selected token, or only selected "token" rows.
    Raises OptionError and LogError.
    """
    predicates = [parse(pattern) for pattern in patterns]
    marked = (_marked(number, row, predicates) for number, row in rows)
    if keep == "token":
        yield from (row for row in marked if row["select"])
    elif keep == "message":
        for _, group in groupby(marked, lambda row: (row.get("user"), row.get("message"))):
            message = list(group)
            if any(row["select"] for row in message):
                yield from message
    else:
        yield from marked


def _marked(number: int, row: Row, predicates: Sequence[Predicate]) -> Row:
    try:
        fits = bool(row.get("select", True)) and all(fits(row) for fits in predicates)
    except KeyError as error:
        raise LogError(f"Line {number} of the log: the key {error} is missing.") from None
    except TypeError:
        raise LogError(f"Line {number} of the log: target is not a string.") from None
    return {**row, "select": fits}
