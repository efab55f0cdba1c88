"""The statistics of wp and tc without numpy, which takes longer to load than many logs take to count.

The same names and numbers as `stats` (the tests compare them); `ic` is left to that.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import accumulate, groupby, pairwise
from typing import Any

from gym.lmchallenge.blocks import Block, Decode, Numbered, blocks, plain_json
from gym.lmchallenge.errors import LogError, OptionError
from gym.lmchallenge.logs import Checker, no_user
from gym.lmchallenge.sums import SUMS, Lines, TextSums, Verdicts, WordSums
from gym.lmchallenge.tokens import FILTERS

NAN_RANKS = "{} ranks are 0, which comes of scores that are NaN: counted as not predicted."


class Part:
    """What consecutive lines come to."""

    def __init__(self, sums: WordSums | TextSums) -> None:
        self.lines, self.sums = Lines(), sums

    def statistics(self) -> dict[str, Any]:
        """As the reference names them."""
        return self.lines.statistics() | self.sums.statistics()


class Quick:
    """The statistics of one log, counted as its lines come; with `partition` those of its users or lines."""

    def __init__(self, keep: str, partition: str = "all") -> None:
        if keep not in FILTERS:
            raise OptionError(f"There is no filter {keep!r}.", f"Choose one of {', '.join(FILTERS)}.")
        self.partition = partition
        self.parts: list[Part] = []
        self.game = ""
        self._verdicts = Verdicts(keep)
        self._user: str | None = None
        self._lacking: int | None = None

    def take(
        self, lines: Iterable[Numbered], source: str, decode: Decode = plain_json, *, careful: bool = True
    ) -> bool:
        """Numbered lines; False if this is a log of ic. Raises LogError, or blocks.Odd where it should not be
        careful."""
        checker = Checker(source)
        for block in blocks(lines, checker, decode, careful=careful):
            self.game = checker.game or ""
            if self._lacking is None and not all(block.has_user):
                self._lacking = block.numbers[block.has_user.index(False)]
            for user, own in self._cut(block):
                self._part(user).lines.add(own.users, own.learnt)
                self.parts[-1].sums.add(own.sizes, own.texts, own.ranks)
        if not self.parts and checker.game != "ic":
            raise LogError("The log is empty.", "There is nothing to count.")
        return checker.game != "ic"

    def _cut(self, block: Block) -> Iterator[tuple[str | None, Block]]:
        """Runs of lines of one part, with the user if that is what tells parts apart."""
        if self.partition == "all":
            yield None, block
            return
        sizes = (
            [len(list(run)) for _, run in groupby(block.users)]
            if self.partition == "user"
            else [1] * len(block.users)
        )
        entries = [0, *accumulate(block.sizes)]
        for start, stop in pairwise([0, *accumulate(sizes)]):
            lines, own = slice(start, stop), slice(entries[start], entries[stop])
            part = Block(
                block.numbers[lines],
                block.users[lines],
                block.has_user[lines],
                block.learnt[lines],
                block.sizes[lines],
                block.texts[own],
                block.ranks[own],
            )
            yield block.users[start], part

    def _part(self, user: str | None) -> Part:
        if not self.parts or self.partition == "line" or user != self._user:
            self.parts.append(Part(SUMS[self.game](self._verdicts)))
            self._user = user
        return self.parts[-1]

    def state(self) -> list[Any]:
        """Of a log that is one part, as JSON has it, for `join`."""
        (part,) = self.parts
        return [part.lines.state(), part.sums.state()]

    def join(self, state: list[Any]) -> None:
        """Add what follows in the same log."""
        (part,) = self.parts
        part.lines.join(state[0])
        part.sums.join(state[1])

    @property
    def notices(self) -> list[str]:
        """What a person should know."""
        not_numbers = sum(part.sums.not_numbers for part in self.parts)
        return [NAN_RANKS.format(not_numbers)] if not_numbers else []

    def statistics(self) -> list[dict[str, Any]]:
        """One dictionary per part, in the order of the log."""
        if self.partition == "user" and self._lacking is not None:
            raise no_user(self._lacking)
        return [part.statistics() for part in self.parts]
