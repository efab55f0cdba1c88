"""Sphinx configuration of the documentation site: README.md and the pages of docs/, as they stand in the repository.

`make docs` builds it into build/docs. The source folder is the repository, so relative links between pages, to the
changelog and to data in the code work as they do in a checkout. The navigation is the list of pages in docs/README.md.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Any

from pygments.lexers.special import TextLexer

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from gym.help.notebooks import as_markdown  # noqa: E402
from lmgym import __version__  # noqa: E402

project = "LM Gym"
author = copyright = "the LM Gym contributors"
release = version = __version__

extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".ipynb": "markdown"}
root_doc = "README"
INDEX = "docs/README"
OTHERS = ("CHANGELOG", "CONTRIBUTING", "SECURITY")
LINKED = ("gym/propara/data/README", "benchmarks/attacks/README")
"""Pages that are in the search but not in the navigation: pages of docs/ link to them."""
include_patterns = ["docs/*", *(f"{name}.md" for name in (root_doc, *OTHERS, *LINKED))]
nitpicky = True

myst_heading_anchors = 4  # GitHub's ids of headings, as links in docs/ use them
myst_enable_extensions = ["attrs_inline"]  # for the pictures of both themes
highlight_language = "none"  # blocks without a language are data or output

html_theme = "furo"
html_title = f"LM Gym {release}"
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}

_ENTRY = re.compile(r"\[([^\]]+)\]\(([\w-]+)\.(?:md|ipynb)\)")
_PICTURE = re.compile(
    r'<picture>\s*<source [^>]*srcset="([^"]+)">\s*<img alt="([^"]*)" src="([^"]+)">\s*</picture>'
)


def navigation() -> dict[str, list[tuple[str, str]]]:
    """Return (title, document) of each page that docs/README.md lists, by section."""
    _, *parts = re.split(r"^## (.+)$", (ROOT / f"{INDEX}.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {
        section: [(title[0].upper() + title[1:], f"docs/{name}") for title, name in _ENTRY.findall(text)]
        for section, text in zip(parts[::2], parts[1::2], strict=True)
    }


def toctree(caption: str, entries: list[tuple[str, str]]) -> str:
    lines = "\n".join(f"{title} <{name}>" if title else name for title, name in entries)
    return f"\n\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{lines}\n```\n"


def read(app: Any, name: str, source: list[str]) -> None:
    """Adapt the text of a page: notebooks, pictures for light and dark mode, and the navigation on the front page."""
    if Path(app.env.doc2path(name)).suffix == ".ipynb":
        source[0] = as_markdown(source[0])
    source[0] = _PICTURE.sub(r"![\2](\3){.only-light}\n![\2](\1){.only-dark}", source[0])
    if name == root_doc:
        trees = navigation() | {"Project": [("All pages", INDEX), *(("", other) for other in OTHERS)]}
        source[0] += "".join(toctree(*tree) for tree in trees.items())
    if name in LINKED:
        source[0] = f"---\norphan: true\n---\n\n{source[0]}"


def add_index(app: Any, error: Exception | None) -> None:
    """Serve the front page as index.html, too."""
    if error is None:
        shutil.copyfile(Path(app.outdir) / f"{root_doc}.html", Path(app.outdir) / "index.html")


def setup(app: Any) -> None:
    app.add_lexer("hocon", TextLexer)  # Pygments has none
    app.connect("source-read", read)
    app.connect("build-finished", add_index)
