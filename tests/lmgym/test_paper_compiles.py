"""A paper with a figure, tables and the methods paragraph of a two-model study, compiled by LaTeX."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

import lmgym
from lmgym.text.paper_tables import LONG, Estimate, PaperTable
from tests.lmgym.suites.documents import suite_bytes

pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(
        shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-science)"
    ),
]

PAPER = r"""\documentclass{article}
\usepackage[T1]{fontenc}
\usepackage{booktabs,siunitx,longtable,graphicx,hyperref}
\begin{document}
\input{methods}
See Tables~\ref{tab:predictions}, \ref{tab:suites}, \ref{tab:regions} and Figure~\ref{fig:regions}.
\begin{figure}\includegraphics{regions.pdf}\caption{Regions.}\label{fig:regions}\end{figure}
\input{predictions}\input{suites}\input{regions}\input{nasty}
\bibliographystyle{plain}\bibliography{references}
\end{document}
"""
NASTY = r"100% a_b & #c $d {e} ~f ^g \h [i] <j> “k” × ≤ → –"


class Words:
    """Model whose bits are proportional to the length of words."""

    def __init__(self, bits: float) -> None:
        self.bits = bits

    def score(self, texts: list[str]) -> list[list[tuple[str, float]]]:
        return [[(word, len(word) * self.bits) for word in text.split()] for text in texts]


def latex(folder: Path, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace", check=False)
    assert done.returncode == 0, done.stdout[-3000:]
    return done.stdout


def test_a_paper_with_figure_tables_and_methods_compiles(tmp_path: Path) -> None:
    suites = [tmp_path / "a.json", tmp_path / "b.json"]
    suites[0].write_bytes(suite_bytes(name=NASTY, items=5))
    suites[1].write_bytes(suite_bytes(name="second", formulas=("(1;%match%) > 0", "(*;%match%) > 0")))
    result = lmgym.evaluate(suites, {NASTY: Words(1.0), "plain": Words(2.5)})
    for name in ("predictions", "suites"):
        result.table(name).save(tmp_path / f"{name}.tex")
    result.table("regions", suite="second").save(tmp_path / "regions.tex")
    rows = tuple((NASTY, *[Estimate("−1.25", "−2.0", "0.5")] * 9) for _ in range(LONG))
    nasty = [PaperTable(NASTY, (NASTY,) * 10, rows[:n], NASTY, label=f"n{n}") for n in (2, LONG)]
    (tmp_path / "nasty.tex").write_text("".join(table.latex() for table in nasty), encoding="utf-8")
    for name in ("methods.tex", "references.bib"):
        result.methods().save(tmp_path / name)
    result.plot("regions", suite="second", model="plain").save(tmp_path / "regions.pdf")
    (tmp_path / "paper.tex").write_text(PAPER, encoding="utf-8")
    pdflatex = ("pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex")
    latex(tmp_path, *pdflatex)
    latex(tmp_path, "bibtex", "paper")
    latex(tmp_path, *pdflatex)
    log = latex(tmp_path, *pdflatex)
    assert not re.search(r"undefined|multiply defined|not set up", log)
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000
