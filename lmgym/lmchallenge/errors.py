"""What can go wrong, in words that name the place and what to do."""

from __future__ import annotations

import os


def said(error: OSError | ValueError) -> str:
    """What is wrong, in a sentence that names the file, without Python's numbers."""
    if not isinstance(error, OSError) or not error.strerror:
        return f"{error}."
    if not error.filename:
        return f"{error.strerror}."
    words = {FileNotFoundError: "no such file", IsADirectoryError: "this is a folder, not a file"}
    return f"{os.fsdecode(error.filename)}: {words.get(type(error), error.strerror.lower())}."


class LmcError(Exception):
    """Anything a person can mend. `message` says what is wrong and where, `hint` what to do."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(f"{message} {hint}".strip())
        self.message = message
        self.hint = hint


class CorpusError(LmcError):
    """A corpus, or a vocabulary, that cannot be read."""


class LogError(LmcError):
    """A log that cannot be read or reckoned with."""


class PackingError(LmcError):
    """A gzip file that is cut off or damaged."""


class OptionError(LmcError):
    """Options that do not fit."""


class PlayerError(LmcError):
    """A model that did not start, broke the protocol, did not answer in time or ended too early. `doubtful`: replies
    since the last checkpoint may belong to other questions."""

    def __init__(self, message: str, hint: str = "", *, doubtful: bool = False) -> None:
        super().__init__(message, hint)
        self.doubtful = doubtful
