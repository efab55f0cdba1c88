"""From a PCIbex results file of an experiment (40 people, 24 items, 4 conditions) to the ranking of models."""

from __future__ import annotations

import csv
import io
from collections import defaultdict

from lmgym.people.simulate import Experiment, pcibex_results, simulate
from lmgym.suites.formats import read_json

SUITE = "garden_path_npz"
READER = "demo-ngram"  # its tokens are words
EXPERIMENT = Experiment(n_participants=40, slope=12.0, sd_noise=60.0)


def results_file(page) -> bytes:
    """Simulate readers with the surprisals of the demo's 5-gram."""
    document = read_json(page.request.get(f"/suites/{SUITE}/r1/json/").body())
    table = page.request.get(f"/exports/tokens.csv?suite={SUITE}&model={READER}").text()
    surprisals: dict[tuple[int, str], list[float]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(table)):
        if row["region_number"]:
            surprisals[int(row["item"]), row["condition"]].append(float(row["surprisal"]))
    return pcibex_results(simulate(document, surprisals, EXPERIMENT, seed=1), document).encode()


def test_a_results_file_of_an_experiment_becomes_a_ranking_of_models(signed_in):
    page = signed_in
    file = {"name": "results.csv", "mimeType": "text/csv", "buffer": results_file(page)}
    page.goto(f"/suites/{SUITE}/")
    page.get_by_role("link", name="Add human data").click()
    page.locator("input[name=file]").set_input_files(file)
    page.get_by_role("button", name="Upload").click()
    page.get_by_role("heading", name="How the file is read").wait_for()
    page.get_by_role("button", name="Import").click()
    page.get_by_role("link", name="Models against people").click(timeout=60_000)
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="Ranking").wait_for(timeout=60_000)
    best = page.locator("#gains tbody tr").first
    assert "Demo 5-gram" in best.inner_text()
