"""Convert a Jupyter notebook of docs/ to Markdown."""

from __future__ import annotations

import json


def as_markdown(notebook: str) -> str:
    """Return the text cells, and the code cells as fenced blocks. Notebooks in docs/ have no outputs."""
    cells = json.loads(notebook)["cells"]
    return "\n\n".join(_cell(cell["cell_type"], "".join(cell["source"])) for cell in cells)


def _cell(kind: str, source: str) -> str:
    return f"```python\n{source}\n```" if kind == "code" else source
