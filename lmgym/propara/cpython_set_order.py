"""Iteration order of a set of strings in CPython with PYTHONHASHSEED=0.

The reference joins names and locations from sets and compares the joined text, so the order affects scores. Python
randomises it for each run unless PYTHONHASHSEED is set. This module always uses the order of PYTHONHASHSEED=0 in Python
3.11 or newer: SipHash-1-3 with an all-zero key over CPython's representation of the text (1, 2 or 4 bytes per
character), and the hash table of Objects/setobject.c. tests/lmgym/propara/test_set_order.py compares it with CPython.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

Entry = tuple[int, str]
Table = list[Entry | None]

_WORD = (1 << 64) - 1
_SMALLEST = 8
_LINEAR_PROBES = 9
_PERTURB_SHIFT = 5


def set_order(items: Iterable[str]) -> list[str]:
    """Return `list(set(items))` in CPython's order."""
    unique = dict.fromkeys(items)
    return _keys(_filled(unique)) if len(unique) > 1 else list(unique)


def difference_order(items: Iterable[str], others: Iterable[str]) -> list[str]:
    """Return `list(set(items) - set(others))`. Removed elements can affect the order of the remaining ones."""
    known, table = set(others), _filled(dict.fromkeys(items))
    keys = _keys(table)
    if len(keys) >> 2 > len(known):  # CPython copies the set and discards elements
        size = _size_for(2 * len(keys)) if 5 * len(keys) >= 3 * (_SMALLEST - 1) else _SMALLEST
        return [
            key for key in _keys(table if size == len(table) else _moved(table, size)) if key not in known
        ]
    return _keys(_filled([key for key in keys if key not in known]))


def _filled(keys: Iterable[str]) -> Table:
    """Build the hash table of a set to which distinct keys were added in order."""
    table: Table = [None] * _SMALLEST
    for used, key in enumerate(keys, 1):
        _put(table, (_hash(key), key))
        if 5 * used >= 3 * (len(table) - 1):
            table = _moved(table, _size_for(4 * used if used <= 50_000 else 2 * used))
    return table


def _keys(table: Table) -> list[str]:
    return [entry[1] for entry in table if entry]


def _size_for(least: int) -> int:
    size = _SMALLEST
    while size <= least:
        size *= 2
    return size


def _moved(table: Table, size: int) -> Table:
    new: Table = [None] * size
    for entry in table:
        if entry:
            _put(new, entry)
    return new


def _put(table: Table, entry: Entry) -> None:
    """Insert at the first free slot, found by linear probing and then a jump."""
    mask = len(table) - 1
    perturb = entry[0]
    at = perturb & mask
    while True:
        row = _LINEAR_PROBES if at + _LINEAR_PROBES <= mask else 0
        for slot in range(at, at + row + 1):
            if table[slot] is None:
                table[slot] = entry
                return
        perturb >>= _PERTURB_SHIFT
        at = (5 * at + 1 + perturb) & mask


@lru_cache(16_384)
def _hash(text: str) -> int:
    """Return the hash as an unsigned 64-bit number. CPython reserves -1 for errors."""
    return min(_siphash(_bytes(text)), _WORD - 1) if text else 0


def _bytes(text: str) -> bytes:
    widest = max(text)
    if widest < "\u0100":
        return text.encode("latin-1")
    return text.encode("utf-16-le" if widest < "\U00010000" else "utf-32-le", "surrogatepass")


def _siphash(data: bytes) -> int:
    """Compute SipHash-1-3 (Aumasson and Bernstein 2012)."""
    state = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)
    whole = len(data) & ~7
    for at in range(0, whole, 8):
        state = _block(state, int.from_bytes(data[at : at + 8], "little"))
    last = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    a, b, c, d = _block(state, last)
    state = a, b, c ^ 0xFF, d
    for _ in range(3):
        state = _round(*state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _block(state: tuple[int, int, int, int], word: int) -> tuple[int, int, int, int]:
    a, b, c, d = state
    a, b, c, d = _round(a, b, c, d ^ word)
    return a ^ word, b, c, d


def _round(a: int, b: int, c: int, d: int) -> tuple[int, int, int, int]:
    a = a + b & _WORD
    b = (b << 13 | b >> 51) & _WORD ^ a
    a = (a << 32 | a >> 32) & _WORD
    c = c + d & _WORD
    d = (d << 16 | d >> 48) & _WORD ^ c
    a = a + d & _WORD
    d = (d << 21 | d >> 43) & _WORD ^ a
    c = c + b & _WORD
    b = (b << 17 | b >> 47) & _WORD ^ c
    c = (c << 32 | c >> 32) & _WORD
    return a, b, c, d
