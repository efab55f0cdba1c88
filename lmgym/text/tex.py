"""Escape text for LaTeX."""

from __future__ import annotations

import re

# "[" and "*" at the beginning of a row would be read as arguments of the \\ before it. The symbols are those that
# inputenc does not declare in a pdflatex document of 2020 or later.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$", "±": r"$\pm$", "–": "--", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "*": "{*}", "×": r"$\times$", "≤": r"$\leq$",
    "≥": r"$\geq$", "≠": r"$\neq$", "→": r"$\rightarrow$", "∅": r"$\emptyset$", "≈": r"$\approx$",
}  # fmt: skip


def escape(text: str) -> str:
    """Return text that LaTeX prints as it is. White space becomes one space: a blank line would end a
    caption."""
    return "".join(_LATEX.get(character, character) for character in re.sub(r"\s+", " ", text))


def with_option(tex: str) -> str:
    """Return an optional argument that may contain brackets."""
    return f"[{{{tex}}}]"
