"""What sets an item apart from the others: the pattern that most items share is taken for the design.

Per region, the *equality pattern* says which conditions have the same text and the *empty pattern* which have
none. Published suites follow their own patterns almost without exception, so the exceptions are worth a look.

Three quarters of the items make a pattern. In a region that a formula compares, more than half do: other words there
are part of the measured difference, and a slip in 3 of 8 items leaves no pattern of three quarters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from lmgym.suites.intake.columns import ends_sentence

from .findings import Cell, Design, Finding, Identical, Severity, items_phrase, quoted

Pattern: TypeAlias = tuple[int, ...]

MIN_ITEMS = 4
MAJORITY = 0.75
_MOST_SWAPPABLE = 12


def equality(cells: Sequence[str]) -> Pattern:
    """`("a", "b", "a")` -> `(0, 1, 0)`: every cell's first equal."""
    first: dict[str, int] = {}
    return tuple(first.setdefault(cell, index) for index, cell in enumerate(cells))


def emptiness(cells: Sequence[str]) -> Pattern:
    """1 where there is no text."""
    return tuple(int(not cell) for cell in cells)


def usual(patterns: Sequence[Pattern]) -> Pattern | None:
    """The pattern of at least three quarters of the items, if there are enough items to say so."""
    pattern, number = _commonest(patterns)
    return pattern if number >= MAJORITY * len(patterns) else None


def prevalent(patterns: Sequence[Pattern]) -> Pattern | None:
    """The pattern of more than half of the items, if there are enough items to say so."""
    pattern, number = _commonest(patterns)
    return pattern if 2 * number > len(patterns) else None


def _commonest(patterns: Sequence[Pattern]) -> tuple[Pattern | None, int]:
    if len(patterns) < MIN_ITEMS:
        return None, 0
    return Counter(patterns).most_common(1)[0]


@dataclass(frozen=True)
class Norm:
    """The design of one region (from 0); None where the items do not agree on one."""

    region: int
    equality: Pattern | None
    emptiness: Pattern | None

    def odd_empty(self, cells: Sequence[str]) -> bool:
        """Text where the others have none or the other way round, in some conditions but not in all."""
        found = emptiness(cells)
        if self.emptiness is None or found == self.emptiness:
            return False
        return len(set(found)) > 1 or len(set(self.emptiness)) > 1

    def odd_equality(self, cells: Sequence[str]) -> bool:
        """Other conditions share their text than in most items, though the same ones are empty."""
        if self.equality is None or (self.emptiness is not None and emptiness(cells) != self.emptiness):
            return False
        return equality(cells) != self.equality

    def fits(self, cells: Sequence[str]) -> bool:
        """Nothing odd at this region."""
        return not self.odd_empty(cells) and not self.odd_equality(cells)


def check_patterns(design: Design, identical: Identical) -> Iterator[Finding]:
    """Swapped conditions, odd empty regions, odd equalities; in that order of precedence for an item.

    `identical` holds sentences already reported as identical: what follows from that is not reported again.
    """
    norms = [
        Norm(
            region,
            usual([equality(design.row(item, region)) for item in design.items]),
            usual([emptiness(design.row(item, region)) for item in design.items]),
        )
        for region in range(len(design.doc.region_names))
    ]
    groups: dict[tuple[int, Pattern, Severity], list[int]] = defaultdict(list)
    for item in design.items:
        odd = [norm for norm in norms if not norm.fits(design.row(item, norm.region))]
        swap = _find_swap(design, norms, odd, item) if odd else None
        if swap is not None:
            yield swap
            continue
        for norm in odd:
            cells = design.row(item, norm.region)
            if norm.odd_empty(cells):
                yield _empty_finding(design, norm, item)
                continue
            severity = _severity(design, norm, item, identical)
            if severity is not None:
                groups[norm.region, equality(cells), severity].append(item)
    for (region, _, severity), items in groups.items():
        yield _equality_finding(design, norms[region], items, severity)
    yield from _confounds(design, norms, identical)


def _confounds(design: Design, norms: list[Norm], identical: Identical) -> Iterator[Finding]:
    """Deviations from a bare majority, in compared regions without a pattern of three quarters.

    Only between conditions that have text there: `empty-reference` reports compared regions without any.
    """
    for region in (norm.region for norm in norms if norm.equality is None):
        rows = {item: design.row(item, region) for item in design.items}
        norm = Norm(
            region,
            prevalent([equality(row) for row in rows.values()]),
            prevalent([emptiness(row) for row in rows.values()]),
        )
        groups: dict[Pattern, list[int]] = defaultdict(list)
        for item, row in rows.items():
            if norm.odd_equality(row) and any(
                design.compares_at(one, other, region + 1)
                for one, other in _broken(design, norm, item, identical)
            ):
                groups[equality(row)].append(item)
        for items in groups.values():
            yield _equality_finding(design, norm, items, "warning")


def _find_swap(design: Design, norms: list[Norm], odd: list[Norm], item: int) -> Finding | None:
    """Two conditions whose contents, exchanged, make the item like the others."""
    if len(design.conditions) > _MOST_SWAPPABLE:
        return None
    rows = {norm.region: design.row(item, norm.region) for norm in norms}
    for scope in (norms, odd):  # whole sentences first, then only the regions that stand out
        regions = {norm.region for norm in scope}
        pairs = [
            (one, other)
            for one, other in combinations(range(len(design.conditions)), 2)
            if _fits_swapped(norms, rows, regions, one, other)
        ]
        if pairs:
            return _swap_finding(design, [norm.region for norm in odd], pairs, item, whole=scope is norms)
    return None


def _fits_swapped(
    norms: list[Norm], rows: dict[int, tuple[str, ...]], regions: set[int], one: int, other: int
) -> bool:
    for norm in norms:
        cells = list(rows[norm.region])
        if norm.region in regions:
            cells[one], cells[other] = cells[other], cells[one]
        if not norm.fits(cells):
            return False
    return True


def _swap_finding(
    design: Design, odd: list[int], pairs: list[tuple[int, int]], item: int, *, whole: bool
) -> Finding:
    named = [(design.conditions[one], design.conditions[other]) for one, other in pairs]
    (one, other), region = named[0], odd[0]
    texts = [design.table[item, condition].contents[region] for condition in (one, other)]
    what = "the sentences" if whole else "the contents"
    alternatives = [f"{a} and {b}" for a, b in named[1:3]]
    or_else = f" (or those of {', or of '.join(alternatives)})" if alternatives else ""
    message = (
        f"{what} of {one} and {other} look swapped{or_else}: "
        f"{design.region(region + 1)} has {quoted(texts[0])} in {one} and {quoted(texts[1])} in {other}, "
        f"unlike in the other items"
    )
    cells = tuple((item, condition, k + 1) for k in odd for condition in (one, other))
    hint = "Exchange them, and every item has the same pattern."
    return Finding("swapped-conditions", "error", f"item {item}", message, hint, cells)


def _empty_finding(design: Design, norm: Norm, item: int) -> Finding:
    cells = design.row(item, norm.region)
    expected = norm.emptiness or ()
    found = emptiness(cells)
    lacking = [c for c, now, then in zip(design.conditions, found, expected, strict=True) if now and not then]
    filled = [c for c, now, then in zip(design.conditions, found, expected, strict=True) if then and not now]
    parts = [f"empty in {', '.join(lacking)}"] if lacking else []
    if filled:
        text = design.table[item, filled[0]].contents[norm.region]
        parts.append(f"{quoted(text)} in {', '.join(filled)}, where other items have nothing")
    where = f"item {item}, {design.region(norm.region + 1)}"
    message = f"{' and '.join(parts)}, unlike in the other items"
    marked = tuple((item, condition, norm.region + 1) for condition in lacking + filled)
    hint = "Fill in the missing text." if lacking and not filled else "Compare it with the other items."
    return Finding("odd-empty-region", "warning", where, message, hint, marked)


def _severity(design: Design, norm: Norm, item: int, identical: Identical) -> Severity | None:
    """Warning where a formula compares what breaks the pattern, else info; None: known already."""
    broken = _broken(design, norm, item, identical)
    if not broken:
        return None
    compared = any(design.compares(one, other, norm.region + 1) for one, other in broken)
    return "warning" if compared else "info"


def _broken(design: Design, norm: Norm, item: int, identical: Identical) -> list[tuple[str, str]]:
    """Pairs of conditions that share their text here and not in the pattern, or the other way round."""
    expected = norm.equality or ()
    found = equality(design.row(item, norm.region))
    broken = [
        (design.conditions[a], design.conditions[b])
        for a, b in combinations(range(len(found)), 2)
        if (found[a] == found[b]) != (expected[a] == expected[b])
    ]
    # Sentences that are the same as a whole are known already, and so is what follows for their conditions.
    same = [pair for pair in broken if len({identical.get((item, name), name) for name in pair}) == 1]
    known = {name for pair in same for name in pair}
    return [pair for pair in broken if known.isdisjoint(pair)]


def _equality_finding(design: Design, norm: Norm, items: list[int], severity: Severity) -> Finding:
    item, region = items[0], norm.region
    blocks: dict[str, list[str]] = defaultdict(list)
    for condition, text in zip(design.conditions, design.row(item, region), strict=True):
        blocks[text].append(condition)
    ordered = sorted(blocks.items(), key=lambda block: len(block[1]))
    spelled = " but ".join(f"{quoted(text)} in {', '.join(names)}" for text, names in ordered[:3])
    example = f"item {item} has " if len(items) > 1 else ""
    pattern = norm.equality or ()
    alike = sum(equality(design.row(one, region)) == pattern for one in design.items)
    others = "the other" if alike + len(items) == len(design.items) else f"{alike} of {len(design.items)}"
    message = f"{example}{spelled}; in {others} items {_design_in_words(design, pattern)}"
    hint = "Make it like the other items, unless it is meant."
    if severity == "info":
        hint = "No formula compares what differs here; nothing to do if it is meant."
    cells: tuple[Cell, ...] = tuple(
        (i, condition, region + 1) for i in items for condition in design.conditions
    )
    where = f"{items_phrase(items)}, {design.region(region + 1)}"
    return Finding("odd-equality-pattern", severity, where, message, hint, cells)


def _design_in_words(design: Design, pattern: Pattern) -> str:
    blocks: dict[int, list[str]] = defaultdict(list)
    for condition, label in zip(design.conditions, pattern, strict=True):
        blocks[label].append(condition)
    if len(blocks) == 1:
        return "all conditions have the same text"
    shared = [" and ".join(names) for names in blocks.values() if len(names) > 1]
    if not shared:
        return "every condition has its own text"
    return f"{'; '.join(shared)} share their text" + (
        "" if len(shared) == len(blocks) else ", the rest differs"
    )


def check_marks(design: Design) -> Iterator[Finding]:
    """Items whose sentences begin or end otherwise than the others': capital letter, final punctuation."""
    yield from _odd_marks(design, "final-punctuation", ends_sentence, "end", "with a full stop, ? or !")
    yield from _odd_marks(design, "initial-capital", _begins_upper, "begin", "with a capital letter")


def _odd_marks(
    design: Design, code: str, has: Callable[[str], bool], verb: str, what: str
) -> Iterator[Finding]:
    patterns = {
        item: tuple(int(has(design.table[item, condition].text)) for condition in design.conditions)
        for item in design.items
    }
    expected = usual(list(patterns.values()))
    if expected is None:
        return
    odd: dict[Pattern, list[int]] = defaultdict(list)
    for item, pattern in patterns.items():
        if pattern != expected:
            odd[pattern].append(item)
    for pattern, items in odd.items():
        differing = [k for k, (now, then) in enumerate(zip(pattern, expected, strict=True)) if now != then]
        names = [design.conditions[k] for k in differing]
        whole = len(differing) == len(design.conditions)
        present = bool(pattern[differing[0]])
        if whole:
            does = f"all sentences {verb if present else f'do not {verb}'}"
        else:
            does = f"the sentence of {', '.join(names)} {f'{verb}s' if present else f'does not {verb}'}"
        severity: Severity = "info" if whole else "warning"
        message = f"{does} {what}, unlike in the other items"
        yield Finding(code, severity, items_phrase(items), message, "Make all items alike.")


def _begins_upper(text: str) -> bool:
    first = next((character for character in text if character.isalpha()), "")
    # Scripts without case (Chinese, Hebrew, Hindi …) have no lower-case form and count as fine.
    return first == "" or not first.islower()
