"""Compare two records.

    python -m benchmarks.record.compare A B [benchmarks/record/expected.txt]

Differences are of six kinds: status (also addresses that one record lacks), permission (who gets in), number,
structure (fields of JSON and forms, links, headers, entries), text, and queries (more database queries than before). A
line of expected.txt is `kind<TAB>address<TAB>reason`; the address is the folder or file in the record, for all roles.
For structure, text and queries it may hold a wildcard (*). `renamed<TAB>old<TAB>new` is a field or column that has
another name in B; its values are compared all the same. `new<TAB>name<TAB>reason` is a field or header that B alone has
in some places, `gone<TAB>name<TAB>reason` one that A alone has. Exit status 1 if something was not expected.

Numbers of the transformer may differ by 0.0001 bits, all others not at all.
"""

from __future__ import annotations

import argparse
import csv
import difflib
import io
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

KINDS = ("status", "permission", "number", "structure", "text", "queries")
WILD = frozenset({"structure", "text", "queries"})
NUMBER = re.compile(r"(?<![\w.])[-−+]?\d+(?:,\d{3})*(?:\.\d+)?(?:e[-+]?\d+)?(?![\w])")
TRANSFORMER = re.compile(r"demo-gpt2|Demo GPT-2|run gpt2|run trailing")
OTHER_MODELS = re.compile(
    r"demo-ngram|Demo 5-gram|5-gram after|uniform|elsewhere|measured|Uploaded", re.IGNORECASE
)
TOLERANCE = 1e-4
REFUSED = {"401": "signed out", "403": "refused", "404": "hidden", "410": "hidden"}
SIZES = frozenset({"site/staff", "site/api/v1/staff/storage"})
"""Where sizes of the database are no numbers to compare."""
DRAWN = ("PDF ", "PNG ", "# ")  # sizes and elements of drawings
MANY = 10
"""The same difference at so many addresses is printed once."""
ROLES = ("nobody", "owner", "collaborator", "stranger", "staff")


@dataclass(frozen=True)
class Difference:
    kind: str
    address: str
    what: str


@dataclass
class Names:
    """What is called otherwise in B, by old name; what only B has, and what only A has."""

    renamed: list[tuple[str, str]] = field(default_factory=list)
    new: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)

    def allows(self, name: str, *, in_a: bool) -> bool:
        return name in (self.gone if in_a else self.new)


@dataclass(frozen=True)
class Expected:
    kind: str
    address: str
    reason: str

    def covers(self, found: Difference) -> bool:
        if self.kind != found.kind:
            return False
        if self.kind in WILD:
            return fnmatchcase(found.address, re.sub(r"([\[?])", r"[\1]", self.address))
        return found.address == self.address


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("a", type=Path)
    parser.add_argument("b", type=Path)
    parser.add_argument("expected", type=Path, nargs="?")
    parser.add_argument(
        "--all", action="store_true", help="every difference; else five of each kind and address"
    )
    arguments = parser.parse_args()
    for folder in (arguments.a, arguments.b):
        if not (folder / "steps").is_dir():
            parser.error(f"{folder} is no record")
    expected, names = read_expected(arguments.expected) if arguments.expected else ([], Names())
    found = compare(arguments.a, arguments.b, names)
    open_ones = report(found, expected, most=sys.maxsize if arguments.all else 5)
    sys.exit(1 if open_ones else 0)


def read_expected(path: Path) -> tuple[list[Expected], Names]:
    lines, names = [], Names()
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.split("\t")
        if len(parts) == 3 and parts[0] == "renamed":
            names.renamed.append((parts[1], parts[2]))
            continue
        if len(parts) == 3 and parts[0] in ("new", "gone"):
            getattr(names, parts[0]).add(parts[1])
            continue
        if len(parts) != 3 or parts[0] not in KINDS or not parts[2].strip():
            raise SystemExit(f"{path}, line {number}: kind<TAB>address<TAB>reason, kinds: {', '.join(KINDS)}")
        if parts[0] not in WILD and "*" in parts[1]:
            raise SystemExit(f"{path}, line {number}: no wildcard for {parts[0]}")
        lines.append(Expected(*parts))
    return lines, names


def compare(a: Path, b: Path, names: Names) -> dict[Difference, list[str]]:
    """Differences, each with the roles that see it."""
    files = [(path, folder) for folder in (a, b) for path in folder.rglob("*.txt") if path.is_file()]
    places = sorted({str(path.relative_to(folder)) for path, folder in files})
    found: dict[Difference, list[str]] = {}
    for name in places:
        role = Path(name).stem if Path(name).stem in ROLES else ""
        address = str(Path(name).parent) if role else name
        for kind, what in compare_files(a / name, b / name, address, names):
            found.setdefault(Difference(kind, address, what), []).append(role)
    return found


def compare_files(a: Path, b: Path, address: str, names: Names) -> Iterator[tuple[str, str]]:
    if not a.exists() or not b.exists():
        yield "status", "only in the first record" if a.exists() else "only in the second record"
        return
    texts = a.read_text(encoding="utf-8"), b.read_text(encoding="utf-8")
    if texts[0] == texts[1]:
        return
    (head_a, body_a), (head_b, body_b) = _parts(texts[0]), _parts(texts[1])
    yield from _heads(head_a, head_b, names)
    if body_a == body_b or head_a.get("status") != head_b.get("status"):
        return
    is_transformer = _is_transformer(address, False)
    if not is_transformer and TRANSFORMER.search(body_a) and not OTHER_MODELS.search(body_a):
        is_transformer = True
    media = head_b.get("content-type", "")
    value_a, value_b = _value(body_a, media), _value(body_b, media)
    if value_a is not None and value_b is not None:
        for kind, what in _values(
            with_new_names(value_a, value_b, names), value_b, "$", is_transformer, names
        ):
            if kind != "number" or address not in SIZES:
                yield kind, what
        return
    section_a, section_b = _sections(body_a), _sections(body_b)
    for title in {**section_a, **section_b}:
        kind = "structure" if title in ("fields", "links") else "text"
        lines_a = [line for line in section_a.get(title, []) if not _is_size(line, address)]
        lines_b = [line for line in section_b.get(title, []) if not _is_size(line, address)]
        yield from _lines(lines_a, lines_b, kind, title, is_transformer)


def _parts(text: str) -> tuple[dict[str, str], str]:
    head, mark, body = text.partition("\n--\n")
    if not mark:
        return {}, text
    return dict(line.partition(": ")[::2] for line in head.splitlines()), body


def _heads(a: dict[str, str], b: dict[str, str], names: Names) -> Iterator[tuple[str, str]]:
    if a.get("status") != b.get("status"):
        access_a, access_b = _access(a), _access(b)
        kind = "status" if access_a == access_b else "permission"
        yield kind, f"{a.get('status')} {access_a} -> {b.get('status')} {access_b}"
    for name in {**a, **b}:
        one, other = a.get(name), b.get(name)
        if one == other or name == "status":
            continue
        if name == "queries":
            if one is None or other is None or int(other) > int(one):
                yield "queries", f"{one} -> {other}"
        elif name == "location":
            yield "status", f"leads to {other}, not to {one}"
        elif (one is not None and other is not None) or not names.allows(name, in_a=one is not None):
            yield "structure", f"header {name}: {one} -> {other}"


def _access(head: dict[str, str]) -> str:
    if head.get("location", "").startswith("/accounts/login/"):
        return "signed out"
    return REFUSED.get(head.get("status", ""), "let in")


def _is_size(line: str, address: str) -> bool:
    return address in SIZES and bool(re.search(r"\d [KMG]B\b", line))


def with_new_names(a: Any, b: Any, names: Names) -> Any:
    """`a` with the names that `b` has: a field that only `a` has takes its new name if only `b` has that."""
    a, b = _rows(a), _rows(b)
    if isinstance(a, dict) and isinstance(b, dict):
        called = {old: new for old, new in names.renamed if old in a and old not in b}
        called = {old: new for old, new in called.items() if new in b and new not in a}
        a = {called.get(key, key): value for key, value in a.items()}
        return {key: with_new_names(value, b[key], names) if key in b else value for key, value in a.items()}
    if isinstance(a, list) and isinstance(b, list):
        if len(a) == len(b):
            return [with_new_names(one, other, names) for one, other in zip(a, b, strict=True)]
        return [with_new_names(one, b[0], names) for one in a] if b else a
    if isinstance(a, str) and isinstance(b, str) and (a, b) in names.renamed:  # in a list of columns
        return b
    return a


def _value(body: str, media: str) -> Any:
    """JSON; a table or lines of JSON as a list of rows; None of other texts."""
    if media.startswith("text/csv"):
        return list(csv.DictReader(io.StringIO(body)))
    try:
        return json.loads(body)
    except ValueError:
        pass
    try:
        return [json.loads(line) for line in body.splitlines() if not line.startswith("# ")]
    except ValueError:
        return None


def _rows(value: Any) -> Any:
    """{"columns": [...], "rows": [[...]]} as rows with names."""
    if (
        isinstance(value, dict)
        and isinstance(value.get("columns"), list)
        and isinstance(value.get("rows"), list)
    ):
        names = [column["name"] if isinstance(column, dict) else column for column in value["columns"]]
        if all(isinstance(name, str) for name in names):
            rows = [
                dict(zip(names, row, strict=False)) if isinstance(row, list) else row for row in value["rows"]
            ]
            return value | {"rows": rows}
    return value


def _sections(body: str) -> dict[str, list[str]]:
    sections: dict[str, list[str]] = {"": []}
    title = ""
    for line in body.splitlines():
        if line in ("== text", "== fields", "== links"):
            title = line[3:]
            sections[title] = []
        else:
            sections[title].append(line)
    return sections


def _is_transformer(text: str, before: bool) -> bool:
    """Whether the numbers beside this text come from the transformer."""
    if TRANSFORMER.search(text):
        return True
    return before and not OTHER_MODELS.search(text)


def _values(a: Any, b: Any, where: str, is_transformer: bool, names: Names) -> Iterator[tuple[str, str]]:
    a, b = _rows(a), _rows(b)
    if isinstance(a, dict) and isinstance(b, dict):
        words = " ".join(value for value in a.values() if isinstance(value, str))
        is_transformer = _is_transformer(words, is_transformer)
        for key in {**a, **b}:
            if key not in a or key not in b:
                if names.allows(key, in_a=key in a):
                    continue
                yield "structure", f"{_general(where)}.{key}: only in the {'first' if key in a else 'second'}"
            else:
                yield from _values(a[key], b[key], f"{where}.{key}", is_transformer, names)
    elif isinstance(a, list) and isinstance(b, list):
        if len(a) != len(b):
            yield "structure", f"{where}: {len(a)} -> {len(b)} entries"
        for k, one, other in _pairs(a, b):
            yield from _values(one, other, f"{where}[{k}]", is_transformer, names)
    elif a != b:
        if _is_number(a) and _is_number(b):
            if not (is_transformer and abs(a - b) <= TOLERANCE):
                yield "number", f"{where}: {a} -> {b}"
        elif isinstance(a, str) and isinstance(b, str):
            yield from _texts(a, b, f"{where}: ", "text", is_transformer)
        elif _is_number(a) or _is_number(b):
            yield "number", f"{where}: {a!r} -> {b!r}"
        else:
            yield "structure", f"{where}: {_short(a)} -> {_short(b)}"


def _pairs(a: list[Any], b: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Entries that say the same in words; others by their place, where as many stand there."""
    common = {key for entry in a if isinstance(entry, dict) for key in entry}
    common &= {key for entry in b if isinstance(entry, dict) for key in entry}
    bare = [[_words(entry, common) for entry in entries] for entries in (a, b)]
    for _, a1, a2, b1, b2 in difflib.SequenceMatcher(None, *bare, autojunk=False).get_opcodes():
        if a2 - a1 == b2 - b1:
            yield from zip(range(a1, a2), a[a1:a2], b[b1:b2], strict=True)


def _words(entry: Any, keys: set[str]) -> str:
    if isinstance(entry, dict):
        entry = {key: value for key, value in entry.items() if key in keys and isinstance(value, str)}
    return NUMBER.sub("#", json.dumps(entry, sort_keys=True))


def _general(where: str) -> str:
    return re.sub(r"\[\d+\]", "[]", where)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _lines(
    a: list[str], b: list[str], kind: str, title: str, is_transformer: bool
) -> Iterator[tuple[str, str]]:
    """Lines that are alike but for their numbers belong together."""
    bare_a, bare_b = ([NUMBER.sub("#", line) for line in lines] for lines in (a, b))
    before = f"{title}: " if title else ""
    for what, a1, a2, b1, b2 in difflib.SequenceMatcher(None, bare_a, bare_b, autojunk=False).get_opcodes():
        if what == "equal":
            for one, other in zip(a[a1:a2], b[b1:b2], strict=True):
                if one != other:
                    yield from _texts(one, other, before, kind, is_transformer)
        else:
            yield from ((kind, f"{before}- {_short(line)}") for line in a[a1:a2])
            yield from ((kind, f"{before}+ {_short(line)}") for line in b[b1:b2])


def _texts(one: str, other: str, before: str, kind: str, is_transformer: bool) -> Iterator[tuple[str, str]]:
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        yield kind, f"{before}{_short(one)} -> {_short(other)}"
        return
    if one.startswith(DRAWN):
        yield "structure", f"{before}{_short(one)} -> {_short(other)}"
        return
    pairs = list(zip(NUMBER.findall(one), NUMBER.findall(other), strict=True))
    if _is_transformer(one, is_transformer) and all(
        abs(_float(x) - _float(y)) <= TOLERANCE for x, y in pairs
    ):
        return
    yield "structure" if kind == "structure" else "number", f"{before}{_short(one)} -> {_short(other)}"


def _float(text: str) -> float:
    return float(text.replace(",", "").replace("−", "-"))


def _short(value: Any) -> str:
    text = str(value)
    return text if len(text) <= 160 else f"{text[:157]}…"


def report(found: dict[Difference, list[str]], expected: list[Expected], *, most: int) -> int:
    """Print what was not expected; returns how many that are."""
    used: Counter[Expected] = Counter()
    known: Counter[str] = Counter()
    open_ones: dict[str, dict[str, list[str]]] = {kind: {} for kind in KINDS}
    places: dict[tuple[str, str], list[str]] = {}
    for difference, roles in found.items():
        if cover := next((entry for entry in expected if entry.covers(difference)), None):
            used[cover] += 1
            known[difference.kind] += 1
        else:
            who = "" if not any(roles) or len(roles) == len(ROLES) else f"  [{', '.join(roles)}]"
            open_ones[difference.kind].setdefault(difference.address, []).append(f"{difference.what}{who}")
            places.setdefault((difference.kind, difference.what), []).append(difference.address)
    for kind in KINDS:
        often = {what for (its, what), where in places.items() if its == kind and len(where) >= MANY}
        for what in sorted(often):
            where = places[kind, what]
            print(f"{kind}\tat {len(where)} addresses, such as {where[0]}\n    {what}")
        for address, lines in open_ones[kind].items():
            rest = [line for line in lines if line.split("  [")[0] not in often]
            if rest:
                print(f"{kind}\t{address}")
                print("".join(f"    {line}\n" for line in rest[:most]), end="")
            if len(rest) > most:
                print(f"    … and {len(rest) - most} more")
    for entry in expected:
        if not used[entry]:
            print(f"expected, but not there: {entry.kind}\t{entry.address}")
    counts = {kind: sum(map(len, open_ones[kind].values())) for kind in KINDS}
    print("kind: not expected (addresses), expected")
    for kind in KINDS:
        print(f"{kind}: {counts[kind]} ({len(open_ones[kind])}), {known[kind]}")
    return sum(counts.values())


if __name__ == "__main__":
    main()
