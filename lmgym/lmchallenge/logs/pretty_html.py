"""A coloured log as one self-contained HTML file: legend, lines, and predictions as tooltips."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape

from lmgym.lmchallenge.logs.coloured import ColouredLine, words_of

_STYLE = """
:root { color-scheme: light dark; --ink: #1c1c1a; --paper: #fdfdfb; --rule: #ddd; --quiet: #6b6b66;
  --good: #1a6b3c; --good-soft: #e3f1e7; --warn: #8a5a00; --warn-soft: #faefd7; --bad: #a3232b; --bad-soft: #fae4e4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e6e1; --paper: #171715; --rule: #3a3a37; --quiet: #9c9a94;
  --good: #7fce9b; --good-soft: #1d3325; --warn: #e6bd6a; --warn-soft: #3a2f17; --bad: #f09a9a; --bad-soft: #401f21; } }
body { margin: 0 auto; max-width: 64rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.9 Georgia, serif; }
h1 { font-size: 1.4rem; line-height: 1.3; margin: 0 0 .5rem; overflow-wrap: anywhere; }
p { font-family: sans-serif; font-size: .85rem; color: var(--quiet); margin: .25rem 0; overflow-wrap: anywhere; }
.legend { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin: 1rem 0; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: baseline; border-top: 1px solid var(--rule); padding: .2rem .4rem; }
th { font: .75rem sans-serif; color: var(--quiet); text-align: right; white-space: nowrap; width: 1%; }
td { overflow-wrap: anywhere; }
span { border-radius: 2px; padding: 0 1px; white-space: pre-wrap; text-underline-offset: .25em; }
.first, .corrected, .saved, .entropy-1 { background: var(--good-soft); color: var(--good); text-decoration: underline; }
.first, .corrected, .accepted, .entropy-5 { font-weight: bold; }
.near, .entropy-2 { background: var(--good-soft); text-decoration: underline dashed var(--good); }
.accepted { background: var(--good-soft); color: var(--good); text-decoration: underline double; }
.far, .still-wrong, .entropy-3 { background: var(--warn-soft); text-decoration: underline dotted var(--warn); }
.missed, .broken, .entropy-5 { background: var(--bad-soft); color: var(--bad); text-decoration: underline wavy; }
.typed { background: var(--bad-soft); }
.entropy-4 { background: var(--bad-soft); text-decoration: underline dashed var(--bad); }
.unknown { color: var(--quiet); text-decoration: line-through; }
.skipped { color: var(--quiet); }
"""


def document(
    title: str,
    game: str,
    lines: Iterable[ColouredLine],
    about: Sequence[str] = (),
    words: dict[str, str] | None = None,
) -> Iterator[str]:
    """Yield the file in chunks. `about`: sentences below the title. `words`: labels of the legend, default:
    `words_of(game)`.
    """
    paragraphs = "".join(f"<p>{escape(sentence)}</p>\n" for sentence in about)
    known = words or words_of(game)
    legend = "".join(f'<p><span class="{name}">text</span> {escape(known[name])}</p>' for name in known)
    yield (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
        f'content="width=device-width"><title>{escape(title)}</title><style>{_STYLE}</style></head>\n'
        f'<body><h1>{escape(title)}</h1>\n{paragraphs}<div class="legend">{legend}</div>\n<table>\n'
    )
    for line in lines:
        yield _row(line)
    yield "</table></body></html>\n"


def _row(line: ColouredLine) -> str:
    pieces = line.gap.join(
        f'{escape(piece.before)}<span class="{piece.outcome}" title="{escape(piece.words)}">{escape(piece.text)}</span>'
        for piece in line.pieces
    )
    return f"<tr><th>{line.number}</th><td>{pieces}</td></tr>\n"
