"""Play a corpus: order of lines, users, batches and training, and resuming after a break."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from lmgym.lmchallenge.corpus import Line, same_time, same_user
from lmgym.lmchallenge.errors import LmcError, PlayerError
from lmgym.lmchallenge.play.games import Entry, Game, Play
from lmgym.lmchallenge.play.player import Player, Reply, Request


@dataclass(frozen=True)
class Played:
    """A played line: its number and its log row."""

    number: int
    row: dict[str, Any]


@dataclass
class _Learning:
    """Training state for the current user."""

    counted: int = 0  # characters learnt, as the reference counts them
    learnt: int = 0
    waiting: list[str] = field(default_factory=list)  # current batch
    replay: list[str] = field(default_factory=list)  # lines to learn again after skipping


def play(
    lines: Iterable[Line],
    game: Game,
    player: Player,
    *,
    train: bool = False,
    readings: str = "reference",
    skip: int = 0,
) -> Iterator[Played]:
    """Play every line and yield each as soon as its replies are known to be valid. If replies are still
    unchecked at the end of the corpus, the player is closed, which checks its remaining output.

    With `train`, the model is cleared at the start of each group of one user's lines (a returning user is a new group),
    and learns each line after all lines with the same timestamp have been played. The reference adds the length of the
    batch's last line to trainingChars once for every line of the batch; readings="corrected" adds the characters
    actually learnt.

    The first `skip` lines are not played. They are learnt again, and their random numbers are drawn again, so that the
    remaining lines are played as if there had been no break.

    Raises PlayerError, naming the line; lines yielded before remain valid. Lines whose replies may belong to other
    requests are never yielded.
    """
    held: list[Played] = []
    blocks = _played_blocks(lines, game, player, train, readings, skip)
    failure: Exception | None = None
    block: list[Played] | None = []
    while failure is None and block is not None:
        try:
            block = next(blocks, None)
            held += block or []
            if block is None and held:
                player.close()
            if block is not None and player.check():
                continue
        except Exception as error:  # noqa: BLE001 - raised again after the valid lines
            failure = _verified(error, held, player)
            if isinstance(failure, PlayerError) and failure.doubtful:
                raise _without(held, failure) from failure
        yield from held
        held = []
    if failure is not None:
        raise failure


def _verified(error: Exception, held: list[Played], player: Player) -> Exception:
    """Return the error to raise. If it does not come from the player, held lines are checked. Invalid ones are dropped,
    and the failed check is returned instead, unless the game was cancelled.
    """
    if not held or isinstance(error, PlayerError):
        return error
    try:
        player.check(now=True)
    except PlayerError as amiss:
        if isinstance(error, LmcError):
            return amiss
        held.clear()
    return error


def _without(held: list[Played], failure: PlayerError) -> PlayerError:
    """Return the failure with the invalidated lines in its hint."""
    if not held:
        return failure
    lines = f"line {held[0].number}" if len(held) == 1 else f"lines {held[0].number} to {held[-1].number}"
    hint = f"{failure.hint} Left out: {lines}, whose replies may not match their requests.".strip()
    return PlayerError(failure.message, hint, doubtful=True)


def _played_blocks(
    lines: Iterable[Line], game: Game, player: Player, train: bool, readings: str, skip: int
) -> Iterator[list[Played]]:
    """Yield the lines played together, block by block."""
    learning = _Learning()
    before: Line | None = None
    for block in _blocks(lines, train, player.together, skip):
        first = block[0]
        where = f"Line {first.number} of the corpus"
        playing = first.number > skip
        try:
            if train:
                _between(learning, before, first, player, skip)
                if before is None or not same_user(before, first):
                    learning = _Learning()
            if playing:
                results = _side_by_side([game.play(line.text) for line in block], player)
            else:
                for line in block:
                    game.skip(line.text)
        except PlayerError as error:
            raise PlayerError(f"{where}: {error.message}", error.hint, doubtful=error.doubtful) from error
        if playing:
            yield [
                _played(line, game.key, result, learning, train, readings)
                for line, result in zip(block, results, strict=True)
            ]
        if train:
            learning.waiting.extend(line.text for line in block)
        before = block[-1]
    # The reference trains on the last batch as well; a model that fails there fails the run.
    if train and before is not None and before.number > skip:
        try:
            _learn(learning, player, skipping=False)
        except PlayerError as error:
            message = f"After the last line: {error.message}"
            raise PlayerError(message, error.hint, doubtful=error.doubtful) from error


def learnt_before(lines: Iterable[Line]) -> Iterator[int]:
    """Yield, for each line of a game with training, the number of characters learnt from its user until then."""
    learnt = waiting = 0
    before: Line | None = None
    for line in lines:
        if before is None or not same_user(before, line):
            learnt = waiting = 0
        elif not same_time(before, line):
            learnt, waiting = learnt + waiting, 0
        yield learnt
        waiting += len(line.text)
        before = line


def _played(
    line: Line, key: str, result: list[Entry], learning: _Learning, train: bool, readings: str
) -> Played:
    row = {**line.row, key: result}
    if train:
        row["trainingChars"] = learning.counted if readings == "reference" else learning.learnt
    return Played(line.number, row)


def _between(learning: _Learning, before: Line | None, first: Line, player: Player, skip: int) -> None:
    """Train and clear between two blocks: clear at a new user, train at a new batch. At the first line after a break,
    restore the model's state.
    """
    playing = first.number > skip
    if before is None or not same_user(before, first):
        if before is not None and before.number > skip:
            _learn(learning, player, skipping=False)  # has no effect, but the reference does it
        if playing:
            player.clear()
        return
    if playing and before.number == skip:
        player.clear()
        for text in learning.replay:
            player.train(text)
        learning.replay = []
    if not same_time(before, first):
        _learn(learning, player, skipping=not playing)


def _learn(learning: _Learning, player: Player, *, skipping: bool) -> None:
    """Train the player on the finished batch, or queue it for replay while `skipping`."""
    batch, learning.waiting = learning.waiting, []
    for text in batch:
        if skipping:
            learning.replay.append(text)
        else:
            player.train(text)
        learning.learnt += len(text)
    learning.counted += len(batch) * len(batch[-1]) if batch else 0


def _blocks(lines: Iterable[Line], train: bool, together: int, skip: int) -> Iterator[list[Line]]:
    """Yield blocks of lines that may be played together: with training, only lines of one batch."""
    block: list[Line] = []
    source = iter(lines)
    while True:
        try:
            line = next(source, None)
        except LmcError:
            # Play the lines before the invalid one first.
            if block:
                yield block
            raise
        if line is None:
            break
        if block and train and not (same_user(block[-1], line) and same_time(block[-1], line)):
            yield block
            block = []
        block.append(line)
        if len(block) >= together or line.number == skip:
            yield block
            block = []
    if block:
        yield block


def _side_by_side(plays: list[Play], player: Player) -> list[list[Entry]]:
    """Run generators in lockstep, with one batch of calls for the next requests of all of them."""
    results: list[list[Entry]] = [[] for _ in plays]
    pending: dict[int, list[Request]] = {}

    def step(at: int, replies: list[Reply] | None) -> None:
        try:
            pending[at] = next(plays[at]) if replies is None else plays[at].send(replies)
        except StopIteration as end:
            pending.pop(at, None)
            results[at] = end.value

    for at in range(len(plays)):
        step(at, None)
    while pending:
        order = list(pending)
        replies = iter(player.predict([request for at in order for request in pending[at]]))
        for at in order:
            step(at, [next(replies) for _ in pending[at]])
    return results
