"""`read_results`: whatever the file of results is."""

from __future__ import annotations

from gym.lib.problems import Report
from gym.lib.text import decode
from gym.runs.core.uploaded import evaluated, table_files
from gym.runs.core.uploaded.contents import KINDS, MAX_BYTES, MAX_PARTS, UNITS, Uploaded
from gym.runs.core.uploaded.table import header_of, roles_of


def read_results(
    data: bytes, *, spec: bytes | None = None, kind: str = "auto", unit: str = "bits"
) -> Uploaded:
    """Read a file of results; `kind` is one of KINDS or "auto", `unit` one of UNITS.

    Raises `FormatError` and nothing else, whatever the bytes.
    """
    report = Report()
    text = decode(data, report, limit=MAX_BYTES)
    factor = UNITS[unit]
    kind = _kind_of(text, report) if kind == "auto" else kind
    if kind == "evaluated":
        uploaded = evaluated.read_evaluated(text, factor, report)
    elif kind == "regions":
        uploaded = table_files.read_regions(text, factor, report)
    elif kind == "tokens":
        uploaded = table_files.read_tokens(text, factor, report)
    elif kind == "lmzoo":
        uploaded = table_files.read_lmzoo(text, spec, factor, report)
    else:
        uploaded = table_files.read_outcomes(text, report)
    if len(uploaded.parts) > MAX_PARTS:
        message = f"{len(uploaded.parts):,} pairs of model and suite; at most {MAX_PARTS:,} are read"
        report.problem("file", message, "Split the file.")
        report.raise_problems()
    return uploaded


def _kind_of(text: str, report: Report) -> str:
    """By the first character and the header's columns."""
    if text.lstrip("\ufeff \t\r\n")[:1] in ("{", "["):
        return "evaluated"
    header = header_of(text, report)
    for kind, roles, needed in (
        ("lmzoo", table_files.LMZOO_ROLES, set(table_files.LMZOO_ROLES)),
        ("tokens", table_files.TOKEN_ROLES, {"item", "condition", "token", "bits"}),
        ("regions", table_files.REGION_ROLES, {"item", "condition", "region", "bits"}),
        ("outcomes", table_files.OUTCOME_ROLES, {"item", "correct"}),
    ):
        if needed <= set(roles_of(header, roles)):
            return kind
    titles = ", ".join(f"“{title[:40]}”" for title in header[:12]) or "nothing"
    message = (
        f"this is none of the files that are read: {'; '.join(KINDS.values())}. Its first line has {titles}"
    )
    report.problem("line 1", message, "See “Uploading results” for what each of them looks like.")
    report.raise_problems()
    raise AssertionError
