"""Find items that deviate from the pattern of most items, which is taken as the design.

For each region, the *equality pattern* records which conditions share their text, and the *empty pattern* which have no
text. Published suites follow their own patterns almost without exception, so exceptions deserve attention.

A pattern needs three quarters of the items, but only more than half in a region that a formula compares: differing
words there enter the measured difference, and mistakes in 3 of 8 items leave no pattern of three quarters.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from lmgym.suites.columns import ends_sentence

from .findings import Cell, Design, Finding, Identical, Severity, items_phrase, quoted

Pattern: TypeAlias = tuple[int, ...]

MIN_ITEMS = 4
MAJORITY = 0.75
_MOST_SWAPPABLE = 12


def equality(cells: Sequence[str]) -> Pattern:
    """Map each cell to the index of the first equal cell: ("a", "b", "a") -> (0, 1, 0)."""
    first: dict[str, int] = {}
    return tuple(first.setdefault(cell, index) for index, cell in enumerate(cells))


def emptiness(cells: Sequence[str]) -> Pattern:
    """Map each cell to 1 if it is empty, else 0."""
    return tuple(int(not cell) for cell in cells)


def usual(patterns: Sequence[Pattern]) -> Pattern | None:
    """Return the pattern of at least three quarters of the items; None if there is none or there are too few
    items."""
    pattern, number = _commonest(patterns)
    return pattern if number >= MAJORITY * len(patterns) else None


def prevalent(patterns: Sequence[Pattern]) -> Pattern | None:
    """Return the pattern of more than half of the items; None if there is none or there are too few items."""
    pattern, number = _commonest(patterns)
    return pattern if 2 * number > len(patterns) else None


def _commonest(patterns: Sequence[Pattern]) -> tuple[Pattern | None, int]:
    if len(patterns) < MIN_ITEMS:
        return None, 0
    return Counter(patterns).most_common(1)[0]


@dataclass(frozen=True)
class Norm:
    """Patterns of one region (index from 0); None where most items have no common pattern."""

    region: int
    equality: Pattern | None
    emptiness: Pattern | None

    def odd_empty(self, cells: Sequence[str]) -> bool:
        """Return whether the set of empty conditions is not that of most items. All empty instead of none, or the
        reverse, is not odd.
        """
        pattern = emptiness(cells)
        if self.emptiness is None or pattern == self.emptiness:
            return False
        return len(set(pattern)) > 1 or len(set(self.emptiness)) > 1

    def odd_equality(self, cells: Sequence[str]) -> bool:
        """Return whether the equality pattern is not that of most items, although the empty pattern is."""
        if self.equality is None or (self.emptiness is not None and emptiness(cells) != self.emptiness):
            return False
        return equality(cells) != self.equality

    def fits(self, cells: Sequence[str]) -> bool:
        """Return whether an item follows both patterns."""
        return not self.odd_empty(cells) and not self.odd_equality(cells)


def check_patterns(design: Design, identical: Identical) -> Iterator[Finding]:
    """Report swapped conditions, odd empty regions and odd equalities, in that order of precedence for an item.

    Args:
        identical: sentences already reported as identical; their consequences are not reported again.
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
    """Report deviations from a bare majority in compared regions without a pattern of three quarters.

    Only conditions with text are considered: `empty-reference` reports compared regions without text.
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
    """Look for two conditions that, once exchanged, make the item like the others."""
    if len(design.conditions) > _MOST_SWAPPABLE:
        return None
    rows = {norm.region: design.row(item, norm.region) for norm in norms}
    for scope in (norms, odd):  # whole sentences first, then only the deviating regions
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
    names = [(design.conditions[one], design.conditions[other]) for one, other in pairs]
    (one, other), region = names[0], odd[0]
    texts = [design.table[item, condition].contents[region] for condition in (one, other)]
    what = "the sentences" if whole else "the contents"
    alternatives = [f"{a} and {b}" for a, b in names[1:3]]
    or_else = f" (or those of {', or of '.join(alternatives)})" if alternatives else ""
    message = (
        f"{what} of {one} and {other} look swapped{or_else}: "
        f"{design.region(region + 1)} has {quoted(texts[0])} in {one} and {quoted(texts[1])} in {other}, "
        f"unlike in the other items"
    )
    cells = tuple((item, condition, k + 1) for k in odd for condition in (one, other))
    hint = "Swap them, so that all items have the same pattern."
    return Finding("swapped-conditions", "error", f"item {item}", message, hint, cells)


def _empty_finding(design: Design, norm: Norm, item: int) -> Finding:
    cells = design.row(item, norm.region)
    expected = norm.emptiness or ()
    pattern = emptiness(cells)
    pairs = list(zip(design.conditions, pattern, expected, strict=True))
    lacking = [c for c, is_empty, usually_empty in pairs if is_empty and not usually_empty]
    filled = [c for c, is_empty, usually_empty in pairs if usually_empty and not is_empty]
    parts = [f"empty in {', '.join(lacking)}, unlike in the other items"] if lacking else []
    if filled:
        text = design.table[item, filled[0]].contents[norm.region]
        parts.append(f"{quoted(text)} in {', '.join(filled)}, where the other items have nothing")
    where = f"item {item}, {design.region(norm.region + 1)}"
    message = "; ".join(parts)
    marked = tuple((item, condition, norm.region + 1) for condition in lacking + filled)
    hint = "Fill in the missing text." if lacking and not filled else "Compare it with the other items."
    return Finding("odd-empty-region", "warning", where, message, hint, marked)


def _severity(design: Design, norm: Norm, item: int, identical: Identical) -> Severity | None:
    """Return "warning" if a formula compares the deviating conditions, else "info"; None if already reported."""
    broken = _broken(design, norm, item, identical)
    if not broken:
        return None
    compared = any(design.compares(one, other, norm.region + 1) for one, other in broken)
    return "warning" if compared else "info"


def _broken(design: Design, norm: Norm, item: int, identical: Identical) -> list[tuple[str, str]]:
    """List pairs of conditions that share their text in the item but not in the pattern, or vice versa."""
    expected = norm.equality or ()
    pattern = equality(design.row(item, norm.region))
    broken = [
        (design.conditions[a], design.conditions[b])
        for a, b in combinations(range(len(pattern)), 2)
        if (pattern[a] == pattern[b]) != (expected[a] == expected[b])
    ]
    # Identical sentences are already reported, and so are the consequences for their conditions.
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
    hint = "Make all items alike, unless the difference is intended."
    if severity == "info":
        hint = "No formula compares the differing conditions here: ignore this if it is intended."
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
        "" if len(shared) == len(blocks) else ", the rest differ"
    )


def check_marks(design: Design) -> Iterator[Finding]:
    """Report items whose capital letter or final punctuation differs from the other items."""
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
        differing = [
            k
            for k, (mark, usual_mark) in enumerate(zip(pattern, expected, strict=True))
            if mark != usual_mark
        ]
        names = [design.conditions[k] for k in differing]
        whole = len(differing) == len(design.conditions)
        present = bool(pattern[differing[0]])
        if whole:
            clause = f"all sentences {verb}" if present else f"no sentence {verb}s"
        else:
            one = len(names) == 1
            does = (f"{verb}s" if one else verb) if present else f"{'does' if one else 'do'} not {verb}"
            clause = f"the {'sentence' if one else 'sentences'} of {', '.join(names)} {does}"
        severity: Severity = "info" if whole else "warning"
        message = f"{clause} {what}, unlike in the other items"
        yield Finding(code, severity, items_phrase(items), message, "Make all items alike.")


def _begins_upper(text: str) -> bool:
    first = next((character for character in text if character.isalpha()), "")
    # Letters of scripts without case (Chinese, Hebrew, Hindi …) are never lower case and pass.
    return first == "" or not first.islower()
