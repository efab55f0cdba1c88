"""Large well-formed files in several parts, each scored by a process of its own (fork, so that nothing is loaded anew).

The answers are cut where a process ends, the predictions before the same process; a cut that does not fit raises
Unusual in one of the parts, as everything unusual does. The scores come back part by part and are added up in the order
of the file, so the numbers are those of one process to the last bit. A sum of floats depends on its order, so a part
keeps the eight numbers of each of its processes until they are wanted: 72 bytes, with the process's own number.

Imports little: the command line loads it before anything else.
"""

from __future__ import annotations

import os
from itertools import pairwise

from gym.propara.blocks import Unusual
from gym.propara.quick import scores

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import BinaryIO

    from gym.propara.quick import Pair

    Span = tuple[int, int]
    """Where a part begins and ends, in bytes."""

SMALLEST = 1 << 17
"""Bytes of a part; below it a second process costs more than it does."""
_MOST = 8
_LOOK = 1 << 16


def scores_in_parts(answers: str, predictions: str) -> Iterator[Sequence[Pair]]:
    """As gym.propara.quick.scores, of two paths; in one part where the files are small or there is one core."""
    with open(answers, "rb") as gold, open(predictions, "rb") as ours:
        spans = _spans(gold, ours, _wanted(gold))
        children: list[tuple[int, int]] = []
        seen: set[int] = set()
        try:
            children.extend(_start(answers, predictions, span) for span in spans[1:])
            yield from _score(gold, ours, spans[0], seen)
            while children:
                found, numbers = _finish(*children.pop(0))
                if not seen.isdisjoint(numbers):
                    raise Unusual
                seen.update(numbers)
                yield from found
        finally:
            for child, pipe in children:
                os.kill(child, 9)
                os.close(pipe)
                os.waitpid(child, 0)


class _Part:
    """A span of a file as text with line feeds alone, as a file opened as text gives it."""

    def __init__(self, file: BinaryIO, span: Span) -> None:
        self._file = file
        self._left = span[1] - span[0]
        file.seek(span[0])

    def read(self, size: int) -> str:
        """At least `size` bytes up to the end of a line, so that no character is cut."""
        data = self._file.read(min(size, self._left))
        if data and not data.endswith(b"\n"):
            data += self._file.readline()
        self._left = max(0, self._left - len(data))
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data.decode("utf-8")


def _score(
    gold: BinaryIO, ours: BinaryIO, spans: tuple[Span, Span], seen: set[int]
) -> Iterator[Sequence[Pair]]:
    return scores(_Part(gold, spans[0]), _Part(ours, spans[1]), seen)


def _wanted(gold: BinaryIO) -> int:
    """How many parts: as many as there are cores for, none too small."""
    size = gold.seek(0, 2)
    if size < 2 * SMALLEST or not hasattr(os, "fork"):
        return 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(cores, size // SMALLEST, _MOST)


def _spans(gold: BinaryIO, ours: BinaryIO, parts: int) -> list[tuple[Span, Span]]:
    """Of the answers and the predictions for each part; fewer parts where a file cannot be cut."""
    sizes = gold.seek(0, 2), ours.seek(0, 2)
    cuts = [(0, 0)]
    for part in range(1, parts):
        cut = _cut(gold, ours, sizes[0] * part // parts, sizes[1] * part // parts)
        if cut and cut[0] > cuts[-1][0] and cut[1] > cuts[-1][1]:
            cuts.append(cut)
    cuts.append(sizes)
    return [((start[0], end[0]), (start[1], end[1])) for start, end in pairwise(cuts)]


def _cut(gold: BinaryIO, ours: BinaryIO, near: int, likely: int) -> Span | None:
    """Where one process begins in both files, near the given places; None where that is not seen."""
    gold.seek(near)
    text = gold.read(_LOOK)
    at = text.find(b"\n") + 1
    end = text.find(b"\t", at) + 1
    if not at or not end:
        return None
    before = b"\n" + text[at:end]
    last = text.rfind(before, 0, -1)
    at = text.find(b"\n", last + 1) + 1
    end = text.find(b"\t", at) + 1
    if not at or not end:
        return None
    start = max(0, likely - _LOOK)
    ours.seek(start)
    found = ours.read(3 * _LOOK).find(b"\n" + text[at:end])
    return (near + at, start + found + 1) if found >= 0 else None


def _start(answers: str, predictions: str, spans: tuple[Span, Span]) -> tuple[int, int]:
    """A process that scores one part; its number, and where its answer will be read."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    try:
        from array import array

        os.close(reader)
        seen: set[int] = set()
        numbers = array("d")
        with open(answers, "rb") as gold, open(predictions, "rb") as ours:
            for inputs, outputs, conversions, moves in _score(gold, ours, spans, seen):
                numbers.extend((*inputs, *outputs, *conversions, *moves))
        with open(writer, "wb") as pipe:
            pipe.write(len(seen).to_bytes(8, "little"))
            pipe.write(array("q", seen))
            pipe.write(numbers)
    finally:
        os._exit(0)  # what is not complete cannot be read, and then the files are read in one part


def _finish(child: int, pipe: int) -> tuple[Iterator[Sequence[Pair]], Sequence[int]]:
    """The scores of a part and the numbers of its processes. Raises Unusual where it could not be scored."""
    from array import array

    with open(pipe, "rb") as stream:
        n = int.from_bytes(stream.read(8), "little")
        seen, numbers = array("q"), array("d")
        seen.frombytes(stream.read(8 * n))
        data = stream.read()
    os.waitpid(child, 0)
    if not n or len(data) != 64 * n:
        raise Unusual
    numbers.frombytes(data)
    flat = iter(numbers)
    pairs = zip(flat, flat, strict=True)
    return zip(pairs, pairs, pairs, pairs, strict=True), seen
