"""What reading changed in the cells of a suite, counted."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

from gym.lib.problems import Report
from gym.lib.text import BLANKS, count, tidy


@dataclass(slots=True)
class CellStatistics:
    """Counts what `tidy` changed, for one notice about the whole suite instead of one per cell."""

    leading: int = 0
    trailing: int = 0
    inner: int = 0
    broken: int = 0
    not_nfc: int = 0

    def add(self, raw: str) -> str:
        """Count one cell's oddities; returns the tidy text."""
        if not raw.isascii() and not unicodedata.is_normalized("NFC", raw):
            self.not_nfc += 1
        text = tidy(raw)
        if text != raw:
            body = raw.strip(BLANKS)
            self.leading += bool(raw) and raw[0] in BLANKS
            self.trailing += bool(raw) and raw[-1] in BLANKS
            self.inner += "  " in body
            self.broken += any(mark in body for mark in "\t\r\n\v\f")
        return text

    def report(self, report: Report, where: str) -> None:
        """At most two notices: blanks, and text that is not in Unicode's composed form."""
        kinds = [
            (self.leading, "with a leading blank"),
            (self.trailing, "with a trailing blank"),
            (self.inner, "with repeated blanks inside"),
            (self.broken, "with a tab or line break inside"),
        ]
        found = [f"{count(number, 'region')} {what}" for number, what in kinds if number]
        if found:
            message = f"{', '.join(found)}: trimmed; the file's own text is kept for exports"
            report.notice(where, message)
        if self.not_nfc:
            message = f"{count(self.not_nfc, 'region')} not in Unicode's composed form (NFC), kept as given"
            report.notice(where, message)
