"""One line that a model program answered, read; what is odd about it is counted."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

from gym.lmchallenge.errors import PlayerError
from gym.lmchallenge.oddities import Oddities
from gym.lmchallenge.player import Reply


def parsed(raw: bytes, context: str, oddities: Oddities) -> Reply:
    """Text and score in turn. Raises PlayerError, its message without a full stop."""
    try:
        fields = raw.decode("utf-8").split("\t")
    except UnicodeDecodeError as error:
        message = f"The reply is not UTF-8 (byte {error.start + 1} of {raw[:80]!r})"
        raise PlayerError(message) from None
    if len(fields) % 2 and fields != [""]:
        oddities.odd_fields += 1
    try:
        values = list(map(float, fields[1::2]))
    except ValueError:
        _no_number(fields, context)
    if not math.isfinite(sum(values)):
        oddities.not_finite += len(values) - sum(map(math.isfinite, values))
    return list(zip(fields[::2], values, strict=False))


def _no_number(fields: list[str], context: str) -> NoReturn:
    """Name the first score that is none."""
    for text, score in zip(fields[::2], fields[1::2], strict=False):  # noqa: B007 - both are told below
        try:
            float(score)
        except ValueError:
            break
    raise PlayerError(
        f"The score of {text!r} is {score!r}, which is no number (asked after {context[-40:]!r})",
        "A reply is text and score in turn, separated by tabs.",
    )


def respelled(reply: Reply, wanted: Mapping[str, Sequence[str]], oddities: Oddities) -> Reply:
    """Spellings of the wire turned back into those that were asked."""
    texts = [text for text, _ in reply]
    if texts != list(wanted):  # most models answer as asked
        seen = set(texts)
        oddities.repeated += len(reply) - len(seen)
        oddities.unasked += len(seen - wanted.keys())
        oddities.omitted += len(wanted.keys() - seen)
    return [(word, score) for text, score in reply for word in wanted.get(text, (text,))]
