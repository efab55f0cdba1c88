"""The notebook docs/library-notebook.ipynb runs from its first cell to its figure."""

from __future__ import annotations

import json

import pytest

from tests.lmgym.conftest import ROOT

NOTEBOOK = ROOT / "docs" / "library-notebook.ipynb"


def test_it_is_stored_without_outputs():
    cells = [cell for cell in json.loads(NOTEBOOK.read_bytes())["cells"] if cell["cell_type"] == "code"]
    assert cells
    assert not any(cell["outputs"] or cell["execution_count"] for cell in cells)


@pytest.mark.process
def test_every_cell_runs_with_a_progress_bar_and_the_last_one_draws(monkeypatch):
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": str(NOTEBOOK.parent)}}
    NotebookClient(notebook, kernel_name="python3", timeout=300, resources=folder).execute()
    bars = [output.text for cell in notebook.cells for output in cell.get("outputs", []) if "text" in output]
    assert "demo-ngram · agreement_orc" in "".join(bars)
    figures = [output["data"].get("image/svg+xml", "") for output in notebook.cells[-2].outputs]
    assert [figure.startswith("<svg") for figure in figures] == [True]
