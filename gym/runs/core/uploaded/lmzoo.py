"""The output of an LM Zoo container's `get_surprisals`: `sentence_id token_id token surprisal`, tab-separated."""

from __future__ import annotations

from gym.lib.problems import Report
from gym.runs.core.uploaded.contents import MAX_TOKENS, FileSentence, FileToken, ScorePart, Uploaded
from gym.runs.core.uploaded.table import bits, once, read_table, whole
from models_registry.engine.token_rules import TokenRules, read_spec

ROLES = {
    "sentence": ("sentence_id",),
    "token_id": ("token_id",),
    "token": ("token",),
    "bits": ("surprisal", "surprisal_bits"),
}


def read_lmzoo(text: str, spec: bytes | None, factor: float, report: Report) -> Uploaded:
    """One part with numbered sentences. Raises `FormatError`."""
    table = read_table(text, ROLES, tuple(ROLES), report, raw=True)
    by_sentence: dict[int, FileSentence] = {}
    tokens: dict[int, dict[int, FileToken]] = {}
    seen: dict[object, str] = {}
    for row in table.rows:
        sentence = whole(table, row, "sentence", "sentence_id", report)
        number = whole(table, row, "token_id", "token_id", report)
        value = bits(table, row, "bits", factor, report)
        if sentence is None or number is None:
            continue
        what = f"token {number} of sentence {sentence}"
        if once(seen, (sentence, number), row, lambda what=what: what, report):  # type: ignore[misc]
            by_sentence.setdefault(sentence, FileSentence(row.where, sentence, ""))
            place = table.roles["token"]
            tokens.setdefault(sentence, {})[number] = FileToken(row.cells[place], value)
    for sentence, found in tokens.items():
        if len(found) > MAX_TOKENS:
            report.problem(by_sentence[sentence].where, f"a sentence has more than {MAX_TOKENS:,} tokens")
        by_sentence[sentence].tokens = [found[number] for number in sorted(found)]
    _from_one(by_sentence, report)
    if spec is None:
        message = (
            "no spec.json: the usual marks and special tokens are assumed, and a vocabulary with capitals"
        )
        report.notice("file", message)
    report.raise_problems()
    rules = read_spec(spec) if spec is not None else TokenRules()
    part = ScorePart("lmzoo", "", rules.name, list(by_sentence.values()), numbered=True, rules=rules)
    return Uploaded("lmzoo", (part,), tuple(report.notices))


def _from_one(sentences: dict[int, FileSentence], report: Report) -> None:
    """LM Zoo counts sentences from 1; a file that counts from 0 is understood."""
    if 0 not in sentences:
        return
    report.notice("file", "the sentences are counted from 0; LM Zoo counts from 1")
    for sentence in sentences.values():
        sentence.item += 1
