"""Read result files of any supported kind."""

from __future__ import annotations

from lmgym.runs.uploaded import evaluated, table_files
from lmgym.runs.uploaded.column_names import roles
from lmgym.runs.uploaded.contents import KINDS, MAX_BYTES, MAX_PARTS, Uploaded
from lmgym.runs.uploaded.table import Header, find_header, roles_of
from lmgym.runs.uploaded.units import AUTO
from lmgym.runs.uploaded.values import has_values
from lmgym.text import decode, listing
from lmgym.text.problems import Report

GUIDE = "See “Upload results” for examples."


def read_results(data: bytes, *, spec: bytes | None = None, kind: str = "auto", unit: str = AUTO) -> Uploaded:
    """Read a result file; `kind` is one of KINDS or "auto", `unit` one of UNITS.

    Raises only `FormatError`, whatever the bytes.
    """
    report = Report()
    text = decode(data, report, limit=MAX_BYTES)
    kind = _kind_of(text, report) if kind == "auto" else kind
    if kind == "evaluated":
        uploaded = evaluated.read_evaluated(text, unit, report)
    elif kind == "regions":
        uploaded = table_files.read_regions(text, unit, report)
    elif kind == "tokens":
        uploaded = table_files.read_tokens(text, unit, report)
    elif kind == "lmzoo":
        uploaded = table_files.read_lmzoo(text, spec, unit, report)
    else:
        uploaded = table_files.read_outcomes(text, report)
    if len(uploaded.parts) > MAX_PARTS:
        message = f"{len(uploaded.parts):,} pairs of model and suite; at most {MAX_PARTS:,} are read"
        report.problem("file", message, "Split the file.")
        report.raise_problems()
    return uploaded


def _kind_of(text: str, report: Report) -> str:
    """Detect the kind by the first character, or by the header's columns."""
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        return "evaluated"
    header = find_header(text, lambda titles: bool(_kind_of_table(titles)), report)
    kind = _kind_of_table(header.titles)
    if not kind:
        report.problem(f"line {header.skipped + 1}", *_why_no_kind(header))
        report.raise_problems()
    return kind


def _kind_of_table(titles: list[str]) -> str:
    """Return the kind of table with this header; empty if the header is not supported."""
    for kind, names, needed in (
        ("lmzoo", table_files.LMZOO_ROLES, tuple(table_files.LMZOO_ROLES)),
        ("tokens", roles(table_files.TOKEN_COLUMNS), table_files.TOKEN_NEEDED),
        ("regions", roles(table_files.REGION_COLUMNS), table_files.REGION_NEEDED),
    ):
        if set(needed) <= set(roles_of(titles, names)) and has_values(titles):
            return kind
    outcomes = set(table_files.OUTCOME_NEEDED) <= set(roles_of(titles, roles(table_files.OUTCOME_COLUMNS)))
    return "outcomes" if outcomes else ""


def _why_no_kind(header: Header) -> tuple[str, str]:
    """Return message and hint for a first line that is not a supported header."""
    if any(_is_number(title) for title in header.titles):
        message = "the table has no header"
        if len(header.titles) == 2:
            message = "the table has words and values but no sentence numbers"
        return (
            message,
            "Write a header and the columns sentence_id, token_id, token and surprisal, as LM Zoo does.",
        )
    titles = listing([f"“{title[:40]}”" for title in header.titles], 12) or "nothing"
    kinds = "; ".join(KINDS.values())
    return f"unsupported file: its first line has {titles}. Supported: {kinds}", GUIDE


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
