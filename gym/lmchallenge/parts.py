"""A long log of wp or tc in several parts, each counted by a process of its own (fork, so that nothing is loaded anew).

The parts begin where lines do, and their sums are whole numbers, so what they come to does not depend on the cuts.
Where anything is odd, `counted` has no answer: the log is then read as a whole, which can name the line.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from itertools import pairwise, repeat
from typing import IO

from gym.lmchallenge.blocks import BYTES, Odd, typed_json
from gym.lmchallenge.errors import LmcError
from gym.lmchallenge.quick import Quick

SMALLEST = 1 << 20
"""Bytes of a part; below it a second process costs more than it does."""
MOST = 8


def counted(path: str, keep: str) -> Quick | None:
    """The whole log as one part; None if it is small, there is one core, it is a log of ic, or anything is odd."""
    with open(path, "rb") as stream:
        spans = _spans(stream)
    if len(spans) == 1:
        return None
    import msgspec.json  # noqa: F401  (before the fork, so that it is loaded once)

    children: list[tuple[int, int]] = []
    try:
        children.extend(_start(path, keep, span) for span in spans[1:])
        whole = _count(path, keep, spans[0])
        while children:
            _join(whole, *children.pop(0))
    except (Odd, LmcError, OSError, ValueError):
        return None
    finally:
        for child, pipe in children:
            with contextlib.suppress(OSError):
                os.kill(child, 9)
            os.close(pipe)
            os.waitpid(child, 0)
    return whole


def _spans(stream: IO[bytes]) -> list[tuple[int, int]]:
    """Where parts begin and end."""
    size = stream.seek(0, 2)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    wanted = min(cores, size // SMALLEST, MOST) if hasattr(os, "fork") else 1
    cuts = {0, size}
    for part in range(1, wanted):
        stream.seek(size * part // wanted)
        stream.readline()
        cuts.add(stream.tell())
    return list(pairwise(sorted(cuts))) or [(0, 0)]


def _count(path: str, keep: str, span: tuple[int, int]) -> Quick:
    quick = Quick(keep)
    with open(path, "rb") as stream:
        stream.seek(span[0])
        # Lines have no numbers here: where one had to be named, the log is read as a whole.
        if not quick.take(_lines(stream, span[1] - span[0]), path, typed_json, careful=False):
            raise Odd
    return quick


def _lines(stream: IO[bytes], size: int) -> Iterator[tuple[int, bytes]]:
    while size > 0 and (some := stream.readlines(min(size, BYTES))):
        size -= sum(map(len, some))
        if size + len(some[-1]) == 0:  # the line begins where the part ends: it is the next part's
            some.pop()
        yield from zip(repeat(0), some, strict=False)


def _start(path: str, keep: str, span: tuple[int, int]) -> tuple[int, int]:
    """A process that counts one part; its number, and where its answer will be read."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    try:
        os.close(reader)
        quick = _count(path, keep, span)
        with open(writer, "w") as pipe:
            json.dump([quick.game, *quick.state()], pipe)
    finally:
        os._exit(0)  # what is not complete cannot be read, and then the log is read as a whole


def _join(whole: Quick, child: int, pipe: int) -> None:
    with open(pipe) as stream:
        data = stream.read()
    os.waitpid(child, 0)
    game, *state = json.loads(data)
    if game != whole.game:
        raise Odd
    whole.join(state)
