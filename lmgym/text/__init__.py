"""Decode files, normalise cells, guard cells against formula injection, and format text for messages."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

from lmgym.text.problems import Report

BLANKS = " \t\r\n\v\f"
"""Characters treated as whitespace in suites and model input. No-break, narrow and ideographic spaces are text."""

SIGNS = (
    r"!-/:-@\[-`{-~\u00a1-\u00a9\u00ab-\u00b1\u00b4\u00b6-\u00b8\u00bb\u00bf\u00d7\u00f7"
    r"\u2010-\u2027\u2030-\u205e\u3001-\u3003\u3008-\u301f\u3030\uff01-\uff0f\uff1a-\uff20"
)
"""Punctuation and symbols, for use inside a character class of a regular expression. All other characters that are
not blank (letters, digits, marks) belong to words."""

MOST_CHARACTERS = 200
"""Maximum length of a search text. Databases refuse patterns that are much longer."""
_BLANKS = re.compile(f"[{BLANKS}]+")
_RISKY = re.compile(r"'*[=+\-@\t\r＝＋－＠]")
# Tab, line feed and carriage return are blanks; all other control characters, including C1, are errors.
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
SURROGATE = re.compile(r"[\ud800-\udfff]")
_MAGIC = {
    b"PK\x03\x04": (
        "a ZIP archive or an Excel workbook",
        "Save the sheet as “CSV UTF-8”, or unpack the archive.",
    ),
    b"\xd0\xcf\x11\xe0": (
        "an old Excel workbook (.xls) or one with a password",
        "Save it as .xlsx without a password.",
    ),
    b"\x1f\x8b": ("gzip-compressed", "Unpack it first."),
    b"%PDF": ("a PDF", "Upload a JSON or CSV file."),
    b"\xff\xfe\x00\x00": ("UTF-32 text", "Save the file as UTF-8."),
    b"\x00\x00\xfe\xff": ("UTF-32 text", "Save the file as UTF-8."),
}


def decode(data: bytes, report: Report, limit: int) -> str:
    """Decode a file: UTF-8, with or without byte order mark, or UTF-16 with one.

    Raises:
        FormatError: the file is too large, empty, compressed, a PDF, or in another encoding; the message for an invalid
            byte gives its line and position.
    """
    if len(data) > limit:
        message = f"the file is {len(data):,} bytes; at most {limit:,} are allowed"
        report.problem("file", message, "Split it.")
    elif not data.strip():
        report.problem("file", "the file is empty")
    for magic, (what, hint) in _MAGIC.items():
        if data.startswith(magic):
            report.problem("file", f"the file is {what}", hint)
    report.raise_problems()
    return _decode_text(data, report)


def _decode_text(data: bytes, report: Report) -> str:
    encoding = "utf-8"
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        report.notice("file", "the byte order mark was removed")
    elif data.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
        report.notice("file", "the file is UTF-16; exports are UTF-8")
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        bad = data[error.start : error.start + 1].hex().upper()
        message = f"byte {error.start + 1} of the file (0x{bad}) is not {encoding.upper()}"
        hint = "The file is probably Latin-1 or Windows-1252: save it as UTF-8."
        report.problem(f"line {line}", message, hint if encoding == "utf-8" else "Save the file as UTF-8.")
        report.raise_problems()
        raise
    if encoding == "utf-8" and data.count(b"\0") * 4 > len(data):
        hint = "Save it as UTF-8."
        report.problem("file", "every other byte is zero: UTF-16 without a byte order mark", hint)
        report.raise_problems()
    if not text.strip():
        report.problem("file", "the file is empty")
        report.raise_problems()
    return text


def tidy(text: str) -> str:
    """Trim a text and collapse each run of spaces, tabs and line breaks to one space.

    No-break and ideographic spaces are text and are kept. Nothing else is changed, not even the Unicode form.
    """
    return _BLANKS.sub(" ", text).strip(" ")


def is_unspaced(character: str) -> bool:
    """Return whether a character belongs to a script without spaces between words (Chinese, kana, Thai, Lao, …)."""
    name = unicodedata.name(character, "")
    return name.startswith(
        ("CJK UNIFIED", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR", "IDEOGRAPHIC")
    )


def guard(cell: str) -> str:
    """Prefix `'` to a cell that a spreadsheet would read as a formula; `unguard` reverses exactly this."""
    return f"'{cell}" if _RISKY.match(cell) else cell


def unguard(cell: str) -> str:
    """Undo `guard`. Words such as `'s` and `'tis` are not changed."""
    return cell[1:] if cell.startswith("'") and _RISKY.match(cell, 1) else cell


def listing(values: Sequence[object], limit: int = 8) -> str:
    """Format a list for a message: "a, b, c and 4 more"."""
    shown = ", ".join(str(value) for value in values[:limit])
    n_more = len(values) - limit
    return f"{shown} and {n_more} more" if n_more > 0 else shown


def common_prefix(a: str, b: str) -> int:
    """Return the length of the common prefix of two texts."""
    return next((at for at, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))


def quoted(text: str) -> str:
    """Put text in quotation marks, with invisible characters as code points: “tea[U+00A0]leaves”."""
    shown = "".join(sign if sign.isprintable() else f"[U+{ord(sign):04X}]" for sign in text)
    return f"“{shown}”"


def count(number: int, singular: str, plural: str = "") -> str:
    """Format a number with a noun: "1 region", "3 regions"."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def number_runs(numbers: Iterable[int]) -> list[list[int]]:
    """Merge consecutive numbers: [[1, 5000], [7001, 7001]]."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][1] + 1 == number:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return runs


def number_ranges(numbers: Iterable[int], limit: int = 12) -> str:
    """List numbers as ranges: "1-3, 8". More than `limit` ranges end with their rest: "1, 3, 5 and 9 more"."""
    runs = number_runs(numbers)
    shown = [str(first) if first == last else f"{first}-{last}" for first, last in runs[:limit]]
    n_more = sum(last - first + 1 for first, last in runs[limit:])
    return ", ".join(shown) + (f" and {n_more} more" if n_more else "")


def numbered(noun: str, numbers: Sequence[int]) -> str:
    """Name things by number: "item 3", "items 1-3, 8"."""
    return f"{noun}{'' if len(numbers) == 1 else 's'} {number_ranges(numbers)}"
