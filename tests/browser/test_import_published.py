"""The 17 published suites: from one zip to frozen suites with runs of three models in at most six clicks, and
a published results file for all of them in one step."""

from __future__ import annotations

import io
import zipfile

import pytest

pytestmark = pytest.mark.published
MODELS = 3


class Clicks:
    """A user of a page. Every click and every choice of a file is counted."""

    def __init__(self, page):
        self.page = page
        self.n = 0

    def on(self, found):
        found.click()
        self.n += 1

    def choose(self, file):
        self.page.locator("input[type=file]").first.set_input_files(file)
        self.n += 1


def packed(folder) -> dict[str, object]:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.glob("*.json")):
            archive.write(path, f"suites/{path.name}")
    return {"name": "published.zip", "mimeType": "application/zip", "buffer": out.getvalue()}


def test_seventeen_suites_are_frozen_and_run_in_six_clicks_and_get_published_results(signed_in, conformance):
    page = signed_in
    page.goto("/suites/")
    clicks = Clicks(page)
    clicks.on(page.get_by_role("link", name="Import suites"))
    clicks.choose(packed(conformance / "suites"))
    boxes = page.locator("input[name=models]")
    for place in range(MODELS):
        clicks.on(boxes.nth(place))
    clicks.on(page.get_by_role("button", name="Import", exact=True))
    page.wait_for_url("**/suites/import/*/")
    assert clicks.n <= 6
    assert page.get_by_text("17 files: 17 imported.").is_visible()
    assert page.get_by_text("r1 is frozen.").count() == 17
    assert page.get_by_text("Queued 3 runs").count() == 17

    result = conformance / "paper" / "syntaxgym_results_gpt-2-pretrained_.csv"
    page.goto("/runs/upload/")
    page.locator("input[type=file]").first.set_input_files(result)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_url("**/uploads/*/")
    assert page.locator("tbody tr").filter(has_text="gpt-2").count() == 17
