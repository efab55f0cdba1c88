"""Read minimal pairs in the JSONL format of BLiMP: one object per line with `sentence_good` and `sentence_bad`."""

from __future__ import annotations

import json
from typing import Any

from lmgym.files.bounded import Refused, check
from lmgym.suites.formats.assemble import RawRegion, RawSentence, assemble
from lmgym.suites.formats.documents import (
    LIMITS,
    MAX_BYTES,
    MAX_CELL_CHARACTERS,
    MAX_NAME_CHARACTERS,
    MAX_SENTENCES,
    PredictionDoc,
    SuiteDocument,
)
from lmgym.text import count, decode
from lmgym.text.json_text import load
from lmgym.text.problems import FormatError, Report

GOOD, BAD = "sentence_good", "sentence_bad"
FORMULA = "(*;%good%) < (*;%bad%)"
_ITEM_KEYS = frozenset({"item_number", "conditions"})


def is_jsonl(text: str) -> bool:
    """Return whether the first line is an object with a good sentence."""
    first = text.lstrip().split("\n", 1)[0].strip()
    if not first.startswith("{") or GOOD not in first:
        return False
    try:
        pair = json.loads(first)
    except (ValueError, RecursionError):
        return True  # probably a broken pair: its reader reports the error
    return isinstance(pair, dict) and GOOD in pair


def read_jsonl(data: bytes, name: str = "") -> SuiteDocument:
    """Read minimal pairs. Each line is an item with the conditions `good` and `bad` and one region, the sentence.

    Other keys of a line are kept with its item.

    Raises:
        FormatError: problems name the line.
    """
    report = Report()
    pairs = _pairs(decode(data, report, MAX_BYTES), report)
    report.raise_problems()
    raws: list[RawSentence] = []
    unknown: dict[str, dict[str, Any]] = {}
    for item, (line, pair) in enumerate(pairs, start=1):
        where = f"line {line}"
        for condition, key in (("good", GOOD), ("bad", BAD)):
            raws.append(RawSentence(where, where, item, condition, [RawRegion(where, 1, pair[key])]))
        kept = {key: value for key, value in pair.items() if key not in (GOOD, BAD)}
        if kept:
            unknown[str(item)] = {(f"pair_{key}" if key in _ITEM_KEYS else key): v for key, v in kept.items()}
    assembled = assemble(raws, ["Sentence"], report)
    report.raise_problems()
    report.notice(
        "file",
        f"{count(len(pairs), 'minimal pair')}; a pair passes if its good sentence has the lower total surprisal",
    )
    return SuiteDocument(
        name=_name(name, [pair for _, pair in pairs]),
        metric="sum",
        meta={},
        region_names=assembled.region_names,
        conditions=assembled.conditions,
        sentences=assembled.sentences,
        predictions=(PredictionDoc(FORMULA, "The good sentence is more likely"),),
        extra={"items": unknown} if unknown else {},
        notices=tuple(report.notices),
    )


def _pairs(text: str, report: Report) -> list[tuple[int, dict[str, Any]]]:
    pairs: list[tuple[int, dict[str, Any]]] = []
    try:
        check(text, LIMITS)
    except Refused as error:
        report.refuse(error)
    for line, source in enumerate(text.split("\n"), start=1):
        if not source.strip():
            continue
        try:
            pair = load(source, Report(), LIMITS)
        except FormatError as error:
            report.problem(f"line {line}", error.problems[0].message, "Every line must be one JSON object.")
            continue
        lacking = [
            key for key in (GOOD, BAD) if not isinstance(pair, dict) or not isinstance(pair.get(key), str)
        ]
        if lacking:
            report.problem(
                f"line {line}",
                f"lacks the text “{lacking[0]}”",
                "Every line must have a good and a bad sentence.",
            )
        elif max(len(pair[GOOD]), len(pair[BAD])) > MAX_CELL_CHARACTERS:
            report.problem(f"line {line}", f"a sentence has more than {MAX_CELL_CHARACTERS:,} characters")
        else:
            pairs.append((line, pair))
            if 2 * len(pairs) > MAX_SENTENCES:
                report.problem("file", f"more than {MAX_SENTENCES:,} sentences", "Split the suite.")
                break
    return pairs


def _name(name: str, pairs: list[dict[str, Any]]) -> str:
    """Return BLiMP's name of the paradigm (UID) if all lines share it, else the given name."""
    first = pairs[0].get("UID") if pairs else None
    is_shared = isinstance(first, str) and first.strip() and all(pair.get("UID") == first for pair in pairs)
    title = str(first) if is_shared else name
    return title.strip()[:MAX_NAME_CHARACTERS].strip() or "Minimal pairs"
