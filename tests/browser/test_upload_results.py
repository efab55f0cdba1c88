"""Uploading results in the form: the chosen file stays chosen while the page asks for its unit."""

from __future__ import annotations


def test_the_file_stays_chosen_while_its_unit_is_asked_for(signed_in):
    page = signed_in
    run = page.request.get("/api/v1/runs/?model=demo-uniform").json()["results"][0]["id"]
    table = page.request.get(f"/runs/{run}/download/regions.csv").body()
    file = {"name": "r.csv", "mimeType": "text/csv", "buffer": table.replace(b"score_kind", b"kind")}
    page.goto("/runs/upload/")
    page.locator("input[name=file]").set_input_files(file)
    page.get_by_role("button", name="Upload", exact=True).click()
    page.get_by_text("the file does not state the unit of “surprisal”").wait_for()
    page.complaints.clear()  # Chromium logs the status 400 itself
    page.get_by_label("Unit of surprisals").select_option("bits")
    page.get_by_role("button", name="Upload", exact=True).click()
    page.wait_for_url("**/uploads/*/")
    assert page.locator("tbody tr").count() == 1
