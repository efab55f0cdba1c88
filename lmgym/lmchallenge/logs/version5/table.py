"""A version 5 log as the columns of `logs.table`, so that it is measured and compared like a version 4 log. Each
message is a line; the filter is the selection of `grep`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from msgspec import UNSET

from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs.table import Lines, Table, typed_hash
from lmgym.lmchallenge.logs.version5.log import Token
from lmgym.lmchallenge.logs.version5.reranking import Mixture, firsts
from lmgym.lmchallenge.logs.version5.stats import Counts, rank_of, typed_until_completed


def read_table(
    tokens: Iterable[tuple[int, Token]],
    game: str,
    mixture: Mixture | Callable[[], Mixture | None] | None = None,
) -> Table:
    """Build a table.

    Args:
        game: wc, we, ce or wr.
        mixture: for wr, the mixture, or a function that finds it once all tokens are read; default: the best one.

    Returns:
        For wr, `before`: the target has the best error score; `correct`: it ranks first with the mixture.

    Raises:
        LogError: the log is empty, or a result is malformed.
    """
    lines = Lines()
    line, chars, rank, completed = array("q"), array("q"), array("q"), array("q")
    typed_words = array("q")
    score, selected = array("d"), array("b")
    counts = Counts()
    current: Any = object()
    for number, token in tokens:
        if (token.user, token.message) != current:
            current = (token.user, token.message)
            lines.add(number, token.user, None)
        line.append(len(lines) - 1)
        chars.append(len(token.target))
        selected.append(bool(token.select))
        score.append(float("nan") if token.logp is UNSET or token.logp is None else token.logp)
        answers = token.completions if isinstance(token.completions, list) else []
        rank.append((rank_of(answers[0], token.target) if answers else None) or 0)
        typed = typed_until_completed(answers, token.target)
        completed.append(0 if typed is None else len(token.target) - typed)
        typed_words.append(typed_hash(token.verbatim))
        if isinstance(token.results, list) and token.select:
            counts.add_results(token)
    if not len(line):
        raise LogError("The log is empty.", "There is nothing to count.")
    kept = np.array(selected, dtype=np.bool_)
    before, after = np.zeros(len(kept), dtype=np.bool_), np.zeros(len(kept), dtype=np.bool_)
    found_mixture = mixture() if callable(mixture) else mixture
    if counts.lengths and (chosen := found_mixture or counts.mixture) is not None:
        before[kept], after[kept] = firsts(counts.error, counts.model, counts.lengths, chosen)
    return Table(
        game,
        ("all",),
        "all",
        lines,
        (),
        0,
        line=np.array(line, dtype=np.int64),
        chars=np.array(chars, dtype=np.int64),
        counted=kept[:, None],
        rank=np.array(rank, dtype=np.int64),
        score=np.array(score, dtype=np.float64),
        before=before,
        blank=np.broadcast_to(np.False_, len(kept)),
        correct=np.packbits(after[:, None], axis=1),
        completed=np.array(completed, dtype=np.int64),
        typed=np.array(typed_words, dtype=np.int64),
    )
