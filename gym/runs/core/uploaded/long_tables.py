"""Long tables of surprisals: a row per region (our download, the SyntaxGym site's raw file) or per token (ours)."""

from __future__ import annotations

from gym.lib.problems import Report
from gym.lib.text import tidy
from gym.runs.core.uploaded.contents import MAX_TOKENS, FileSentence, FileToken, ScorePart, Uploaded
from gym.runs.core.uploaded.table import Row, Table, bits, once, read_table, whole
from suites.formats.documents import MAX_REGIONS

_VALUES = (
    "surprisal_bits",
    "surprisal",
    "metric_value",
    "bits",
    "sum_surprisal",
    "region_surprisal",
    "value",
)
_COMMON = {
    "item": ("item_number", "item", "item_no", "item_id"),
    "condition": ("condition_name", "condition", "cond"),
    "model": ("model_name", "model"),
    "suite": ("suite", "suite_name", "test_suite"),
    "bits": _VALUES,
}
REGION_ROLES = _COMMON | {
    "region": ("region_number", "region_no", "region_id"),
    "content": ("content", "region_content", "text"),
}
TOKEN_ROLES = _COMMON | {
    "token": ("token",),
    "number": ("token_number", "token_id_in_sentence", "token_index", "token_no"),
    "id": ("token_id",),
    "start": ("start_character", "start"),
    "end": ("end_character", "end"),
    "region": ("region_number",),
}


def read_regions(text: str, factor: float, report: Report) -> Uploaded:
    """One part per model and suite. Raises `FormatError`."""
    table = read_table(text, REGION_ROLES, ("item", "condition", "region", "bits"), report)
    parts: dict[tuple[str, str], dict[tuple[int, str], FileSentence]] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        sentence = _sentence(table, row, parts, report)
        region = whole(table, row, "region", "region number", report)
        value = bits(table, row, "bits", factor, report)
        if sentence is None or region is None:
            continue
        if not 1 <= region <= MAX_REGIONS:
            report.problem(row.where, f"the region number is {region}", "Regions are counted from 1.")
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


def read_tokens(text: str, factor: float, report: Report) -> Uploaded:
    """One part per model and suite; tokens in the order of their numbers. Raises `FormatError`."""
    table = read_table(text, TOKEN_ROLES, ("item", "condition", "token", "bits"), report)
    parts: dict[tuple[str, str], dict[tuple[int, str], FileSentence]] = {}
    numbered: dict[int, dict[int, FileToken]] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        sentence = _sentence(table, row, parts, report)
        value = bits(table, row, "bits", factor, report)
        if sentence is None:
            continue
        tokens = numbered.setdefault(id(sentence), {})
        number = len(tokens) + 1
        if "number" in table.roles:
            given = whole(table, row, "number", "token number", report)
            if given is None:
                continue
            number = given

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
    if "region" in table.roles:
        given = table.text(row, "region").strip()
        number = whole(table, row, "region", "region number", report) if given else 0
        region = None if number is None else number - 1
    token_id = table.text(row, "id").strip()
    known = int(token_id) if token_id.isascii() and token_id.isdigit() and len(token_id) < 10 else -1
    return FileToken(table.text(row, "token"), value, known, span, region)


def _put(sentence: FileSentence, tokens: dict[int, FileToken], report: Report) -> None:
    numbers = sorted(tokens)
    if len(numbers) > MAX_TOKENS:
        report.problem(sentence.where, f"a sentence has more than {MAX_TOKENS:,} tokens")
    elif numbers and (numbers[0] not in {0, 1} or numbers[-1] - numbers[0] + 1 != len(numbers)):
        message = f"item {sentence.item}, {sentence.condition}: the token numbers have gaps"
        report.problem(sentence.where, message, "Number the tokens of a sentence from 1 and leave none out.")
    sentence.tokens = [tokens[number] for number in numbers]


def _uploaded(
    kind: str, parts: dict[tuple[str, str], dict[tuple[int, str], FileSentence]], report: Report
) -> Uploaded:
    found = [
        ScorePart(kind, suite, model, list(sentences.values())) for (suite, model), sentences in parts.items()
    ]
    return Uploaded(kind, tuple(found), tuple(report.notices))
