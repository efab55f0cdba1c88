"""Supported tables: surprisals by region (our export, the SyntaxGym site's raw file) or by token (our export), the
output of an LM Zoo container's `get_surprisals` (`sentence_id token_id token surprisal`, tab-separated), and
outcomes only (`model,suite,item,correct`, and our export of outcomes)."""

from __future__ import annotations

from collections.abc import Collection

from lmgym.models.engine.token_rules import read_spec
from lmgym.runs.uploaded.column_names import roles
from lmgym.runs.uploaded.contents import (
    MAX_TOKENS,
    FileSentence,
    FileToken,
    OutcomePart,
    OutcomeRow,
    ScorePart,
    Uploaded,
)
from lmgym.runs.uploaded.table import Row, Table, once, read_table, truth, whole
from lmgym.runs.uploaded.values import stated_unit, value_column
from lmgym.suites.formats.documents import MAX_REGIONS
from lmgym.suites.formulas import NOT_EVALUABLE, OUTCOME_NAMES
from lmgym.text import tidy
from lmgym.text.problems import Report

REGION_NEEDED = ("item", "condition", "region_number")
REGION_COLUMNS = ("item", "condition", "model", "suite", "region_number", "content")
TOKEN_NEEDED = ("item", "condition", "token")
TOKEN_COLUMNS = (
    "item", "condition", "model", "suite", "token", "token_number", "token_id", "start", "end", "region_number",
)  # fmt: skip


def read_regions(text: str, unit: str, report: Report) -> Uploaded:
    """Read one part per model and suite. Raises `FormatError`."""
    table = read_table(text, roles(REGION_COLUMNS), REGION_NEEDED, report)
    column = value_column(table, unit, report, stated=stated_unit(table))
    parts: dict[tuple[str, str], dict[tuple[int, str], FileSentence]] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        sentence = _sentence(table, row, parts, report)
        region = whole(table, row, "region_number", "region number", report)
        value = column.bits(row, report)
        if sentence is None or region is None:
            continue
        if not 1 <= region <= MAX_REGIONS:
            report.problem(
                row.where, f"the region number is {region}", f"Write a number from 1 to {MAX_REGIONS}."
            )
            continue
        key = (id(sentence), region)

        def what(sentence: FileSentence = sentence, region: int = region) -> str:
            return f"item {sentence.item}, {sentence.condition}, region {region}"

        if once(seen, key, row, what, report):
            sentence.regions[region] = value
            if "content" in table.roles:
                sentence.contents[region] = tidy(table.text(row, "content"))
    report.raise_problems()
    return _uploaded("regions", parts, report)


def read_tokens(text: str, unit: str, report: Report) -> Uploaded:
    """Read one part per model and suite; tokens are ordered by their numbers. Raises `FormatError`."""
    table = read_table(text, roles(TOKEN_COLUMNS), TOKEN_NEEDED, report)
    column = value_column(table, unit, report, stated=stated_unit(table))
    parts: dict[tuple[str, str], dict[tuple[int, str], FileSentence]] = {}
    numbered: dict[int, dict[int, FileToken]] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        sentence = _sentence(table, row, parts, report)
        value = column.bits(row, report)
        if sentence is None:
            continue
        tokens = numbered.setdefault(id(sentence), {})
        number = len(tokens) + 1
        if "token_number" in table.roles:
            stated = whole(table, row, "token_number", "token number", report)
            if stated is None:
                continue
            number = stated

        def what(sentence: FileSentence = sentence, number: int = number) -> str:
            return f"item {sentence.item}, {sentence.condition}, token {number}"

        if once(seen, (id(sentence), number), row, what, report):
            tokens[number] = _token(table, row, value, report)
    for sentences in parts.values():
        for sentence in sentences.values():
            _put(sentence, numbered.get(id(sentence), {}), report)
    report.raise_problems()
    return _uploaded("tokens", parts, report)


def _sentence(
    table: Table,
    row: Row,
    parts: dict[tuple[str, str], dict[tuple[int, str], FileSentence]],
    report: Report,
) -> FileSentence | None:
    item = whole(table, row, "item", "item number", report)
    condition = table.text(row, "condition").strip()
    if not condition:
        report.problem(row.where, "the condition has no name", "Fill in the condition in every row.")
    if item is None or not condition:
        return None
    names = (table.text(row, "suite").strip()[:200], table.text(row, "model").strip()[:200])
    sentences = parts.setdefault(names, {})
    return sentences.setdefault((item, condition), FileSentence(row.where, item, condition))


def _token(table: Table, row: Row, value: float | None, report: Report) -> FileToken:
    span = None
    if table.text(row, "start").strip() and table.text(row, "end").strip():
        start = whole(table, row, "start", "start", report)
        end = whole(table, row, "end", "end", report)
        span = (start, end) if start is not None and end is not None else None
    region = None
    if "region_number" in table.roles:
        stated = table.text(row, "region_number").strip()
        number = whole(table, row, "region_number", "region number", report) if stated else 0
        region = None if number is None else number - 1
    token_id = table.text(row, "token_id").strip()
    known = int(token_id) if token_id.isascii() and token_id.isdigit() and len(token_id) < 10 else -1
    return FileToken(table.text(row, "token"), value, known, span, region)


def _put(sentence: FileSentence, tokens: dict[int, FileToken], report: Report) -> None:
    numbers = sorted(tokens)
    if len(numbers) > MAX_TOKENS:
        report.problem(sentence.where, f"a sentence has more than {MAX_TOKENS:,} tokens")
    elif numbers and (numbers[0] not in {0, 1} or numbers[-1] - numbers[0] + 1 != len(numbers)):
        message = f"item {sentence.item}, {sentence.condition}: the token numbers have gaps"
        report.problem(sentence.where, message, "Number the tokens of a sentence from 1 without gaps.")
    sentence.tokens = [tokens[number] for number in numbers]


def _uploaded(
    kind: str, parts: dict[tuple[str, str], dict[tuple[int, str], FileSentence]], report: Report
) -> Uploaded:
    score_parts = [
        ScorePart(kind, suite, model, list(sentences.values())) for (suite, model), sentences in parts.items()
    ]
    return Uploaded(kind, tuple(score_parts), tuple(report.notices))


LMZOO_ROLES = {
    "sentence": ("sentence_id",),
    "token_id": ("token_id",),
    "token": ("token",),
}


def read_lmzoo(text: str, spec: bytes | None, unit: str, report: Report) -> Uploaded:
    """Read one part with numbered sentences. Raises `FormatError`."""
    table = read_table(text, LMZOO_ROLES, tuple(LMZOO_ROLES), report, raw=True)
    column = value_column(table, unit, report, defined="bits")
    by_sentence: dict[int, FileSentence] = {}
    tokens: dict[int, dict[int, FileToken]] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        sentence = whole(table, row, "sentence", "sentence_id", report)
        number = whole(table, row, "token_id", "token_id", report)
        value = column.bits(row, report)
        if sentence is None or number is None:
            continue
        what = f"token {number} of sentence {sentence}"
        if once(seen, (sentence, number), row, lambda what=what: what, report):  # type: ignore[misc]
            by_sentence.setdefault(sentence, FileSentence(row.where, sentence, ""))
            place = table.roles["token"]
            tokens.setdefault(sentence, {})[number] = FileToken(row.cells[place], value)
    for sentence, sentence_tokens in tokens.items():
        if len(sentence_tokens) > MAX_TOKENS:
            report.problem(by_sentence[sentence].where, f"a sentence has more than {MAX_TOKENS:,} tokens")
        by_sentence[sentence].tokens = [sentence_tokens[number] for number in sorted(sentence_tokens)]
    _from_one(by_sentence, report)
    if spec is None:
        message = (
            "no spec.json: the usual markers and special tokens are assumed, and a case-sensitive vocabulary"
        )
        report.notice("file", message)
    report.raise_problems()
    rules = read_spec(spec) if spec is not None else None
    name = rules.name if rules else ""
    part = ScorePart("lmzoo", "", name, list(by_sentence.values()), numbered=True, rules=rules)
    return Uploaded("lmzoo", (part,), tuple(report.notices))


def _from_one(sentences: dict[int, FileSentence], report: Report) -> None:
    """Number sentences from 1, as LM Zoo does; a file that counts from 0 is shifted."""
    if 0 not in sentences:
        return
    report.notice("file", "sentences are numbered from 0; LM Zoo numbers from 1")
    for sentence in sentences.values():
        sentence.item += 1


OUTCOME_NEEDED = ("item", "passed")
OUTCOME_COLUMNS = ("item", "passed", "model", "suite", "prediction", "prediction_number", "outcome")


def read_outcomes(text: str, report: Report) -> Uploaded:
    """Read one part per model and suite, in the file's order. Raises `FormatError`."""
    table = read_table(text, roles(OUTCOME_COLUMNS), OUTCOME_NEEDED, report)
    parts: dict[tuple[str, str], OutcomePart] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        item = whole(table, row, "item", "item number", report)
        passed = truth(table, row, "passed", report)
        if item is None or passed is None:
            continue
        suite, model, prediction = (
            table.text(row, role).strip()[:200] for role in ("suite", "model", "prediction")
        )
        known = False if table.text(row, "outcome").strip() == OUTCOME_NAMES[NOT_EVALUABLE] else passed
        stated = "prediction_number" in table.roles and table.text(row, "prediction_number").strip()
        number = whole(table, row, "prediction_number", "prediction number", report) if stated else None
        key = (suite, model, prediction, number, item)
        what = f"item {item}" + (f" of {suite}" if suite else "") + (f" for {model}" if model else "")
        if not once(seen, key, row, lambda what=what: what, report):  # type: ignore[misc]
            continue
        part = parts.setdefault((suite, model), OutcomePart(suite, model, []))
        part.rows.append(OutcomeRow(row.where, item, known, prediction, number))
    report.raise_problems()
    return Uploaded("outcomes", tuple(parts.values()), tuple(report.notices))


def numbering(found: Collection[int], items: Collection[int], report: Report) -> int | None:
    """Find the shift from the file's item numbers to the suite's: 0 or 1; None, with a problem reported, if neither
    fits.

    Published result files number items from 0, suites from 1.
    """
    file_items, suite_items = set(found), set(items)
    for shift in (0, 1):
        if {number + shift for number in file_items} == suite_items:
            return shift
    fits = [shift for shift in (0, 1) if {number + shift for number in file_items} <= suite_items]
    if len(fits) == 2:
        message = f"the file has {len(file_items)} of the suite's {len(suite_items)} items, numbered from 0 or from 1"
        report.problem("file", message, "List every item to make the numbering unambiguous.")
    elif fits:
        missing = sorted(suite_items - {number + fits[0] for number in file_items})
        report.problem("file", f"items without an outcome: {_some(missing)}", "List every item of the suite.")
    else:
        unknown = sorted(file_items - suite_items)
        message = f"items that the suite lacks: {_some(unknown)}; it has {_some(sorted(suite_items))}"
        report.problem("file", message, "Is this the right suite, in the right version?")
    return None


def _some(numbers: list[int]) -> str:
    if len(numbers) > 2 and numbers == list(range(numbers[0], numbers[-1] + 1)):
        return f"{numbers[0]} to {numbers[-1]}"
    shown = ", ".join(map(str, numbers[:12]))
    return f"{shown} and {len(numbers) - 12} more" if len(numbers) > 12 else shown
