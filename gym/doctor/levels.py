"""Levels of the doctor's findings."""

OK, WARN, BAD = "ok  ", "note", "BAD "
Finding = tuple[str, str]
"""Level and message."""
