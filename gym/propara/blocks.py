"""The quick way into well-formed action files: one process at a time as text, and not all of a file in memory. Pure.

It takes what nearly every submission looks like: each process in one block of rows, six columns (a seventh may be there
if it is empty), plain numbers. Anything else raises Unusual, and the caller reads again with gym.propara.grid, which
knows every case and every message of the reference. So this module never reports an error.

Imports nothing: the command line loads it before anything else.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Protocol

    class Stream(Protocol):
        def read(self, size: int, /) -> str: ...


_CHUNK = 1 << 16
STEPS = {str(step): step for step in range(1, 1_001)}
NUMBERS = list(STEPS)
_DIGITS = 18
"""Of a process's number; Python refuses to read very long ones."""


class Unusual(Exception):
    """Not for the quick way; nothing is wrong with the file yet."""


def blocks(stream: Stream, seen: set[int] | None = None) -> Iterator[tuple[str, str]]:
    """The number of each process as written, and its rows; every row ends with a line feed. `seen` are the numbers that
    may not come again, and grow."""
    seen = set() if seen is None else seen
    text, at, window, last = "", 0, 1_024, False
    tab = -1  # the end of the first cell of the block
    while True:
        end = _end_of_block(text, at, tab, window) if tab >= 0 else 0
        following = text.find("\t", end)
        if not end or (following < 0 and not last):
            if last:
                break
            text, at, last = _more(stream, text[at:])
            tab = text.find("\t")
            continue
        process = text[at:tab]
        if not (process.isascii() and process.isdigit()) or len(process) > _DIGITS:
            raise Unusual
        if (number := int(process)) in seen:
            raise Unusual
        seen.add(number)
        window = 2 * (end - at) + 64
        yield process, text[at:end]
        at, tab = end, following
    if at < len(text) or not seen:
        raise Unusual


def _more(stream: Stream, rest: str) -> tuple[str, int, bool]:
    """A block that does not fit doubles what is read, so that it is not looked at again and again."""
    chunk = stream.read(max(_CHUNK, len(rest)))
    if not chunk and rest and not rest.endswith("\n"):
        rest += "\n"
    return rest + chunk, 0, not chunk


def _end_of_block(text: str, at: int, tab: int, window: int) -> int:
    """Where the first row of another process begins; 0 if a row is not complete."""
    process = text[at : tab + 1]
    prefix = "\n" + process
    known = at
    while True:
        found = text.rfind(prefix, known, known + window)
        end = text.find("\n", known if found < 0 else found + 1) + 1
        if not end or not text.startswith(process, end):
            return end
        known, window = end, 2 * window


def table(process: str, block: str) -> tuple[list[str], list[str], list[str], list[str], list[str]]:
    """Steps, participants, actions, locations before and after. All rows are split at once, which is several times
    quicker than one by one: what stands between two rows is made a cell of its own."""
    rows = block.count("\n")
    cells = _cells(process, block)
    if len(cells) != 6 * rows - 1 and block.count("\t\n") == rows:
        cells = _cells(process, block.replace("\t\n", "\n"))
    if len(cells) != 6 * rows - 1 or cells[5::6].count("\n") != rows - 1:
        raise Unusual
    return cells[0::6], cells[1::6], cells[2::6], cells[3::6], cells[4::6]


def _cells(process: str, block: str) -> list[str]:
    return block[len(process) + 1 : -1].replace(f"\n{process}\t", "\t\n\t").split("\t")
