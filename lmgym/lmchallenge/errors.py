"""Errors with a message (what is wrong and where) and a hint (what to do)."""

from __future__ import annotations

import os


def error_message(error: OSError | ValueError) -> str:
    """Describe an error in a sentence that names the file, without the error number."""
    if not isinstance(error, OSError) or not error.strerror:
        return f"{error}."
    if not error.filename:
        return f"{error.strerror}."
    words = {FileNotFoundError: "no such file", IsADirectoryError: "this is a folder, not a file"}
    return f"{os.fsdecode(error.filename)}: {words.get(type(error), error.strerror.lower())}."


class LmcError(Exception):
    """An error that the user can fix. `message`: what is wrong and where; `hint`: what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class CorpusError(LmcError):
    """A corpus or a vocabulary cannot be read, or a corpus cannot be converted."""


class LogError(LmcError):
    """A log cannot be read, evaluated or compared."""


class PackingError(LmcError):
    """A gzip file is truncated or damaged."""


class OptionError(LmcError):
    """Options are invalid."""


class PlayerError(LmcError):
    """A model did not start, failed, broke the protocol, did not reply in time or exited too early.

    `doubtful`: replies since the last checkpoint may belong to other requests.
    """

    def __init__(self, message: str, hint: str = "", *, doubtful: bool = False) -> None:
        super().__init__(message, hint)
        self.doubtful = doubtful
