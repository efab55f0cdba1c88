"""Results computed elsewhere: read files and fit them to a suite. Pure: no Django, no torch.

`read_results` takes the bytes of one file (and of an LM Zoo spec) and returns parts, each for one model on one
suite; `fit_part` fits a part to a suite document and computes outcomes. Both raise `FormatError` with the problems
found. Files: docs/uploading-results.md.
"""

from __future__ import annotations

from .contents import KINDS, MAX_BYTES, OutcomePart, Part, ScorePart, Uploaded, has_text
from .fit import FittedPart, fit_part
from .reader import read_results
from .units import AUTO, UNITS

__all__ = [
    "AUTO",
    "KINDS",
    "MAX_BYTES",
    "UNITS",
    "FittedPart",
    "OutcomePart",
    "Part",
    "ScorePart",
    "Uploaded",
    "fit_part",
    "has_text",
    "read_results",
]
