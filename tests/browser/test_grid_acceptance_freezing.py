"""Freezing from the editor: a note, a run of a model, and the changes since the previous revision."""

from __future__ import annotations

from tests.browser.authoring import add_prediction, begin, exported, stored

FIRST = ["The woman | plays | all day", "The woman | play | all day"]


def test_freeze_with_a_note_run_at_once_and_see_what_changed(signed_in):
    page = signed_in
    sheet = begin(page, ["match", "mismatch"], ["Subject", "Verb", "Rest"], FIRST)
    add_prediction(page, "(2;%mismatch%) > (2;%match%)")
    page.get_by_role("link", name="Freeze").click()
    page.wait_for_url("**/freeze/")
    page.get_by_text("No earlier revision to compare with.").wait_for()
    page.get_by_role("textbox", name="What changed").fill("the pilot")
    page.get_by_label("Demo GPT-2").check()
    page.get_by_role("button", name="Freeze r1").click()
    page.wait_for_url("**/r1/")
    page.get_by_text("1 run queued.").wait_for()
    assert page.get_by_text("the pilot").first.is_visible()
    page.locator("main a[href^='/runs/']:not([href*='/upload/'], [href*='/start/'])").first.click()
    page.wait_for_url("**/runs/*/")
    page.get_by_text("of 1").first.wait_for(timeout=60_000)

    sheet.open()
    sheet.click(0, 1)
    sheet.type("sings")
    sheet.press("Enter")
    sheet.click(-1, 2)
    sheet.type("Ending")
    sheet.press("Enter")
    add_prediction(page, "(3;%mismatch%) > (3;%match%)")
    stored(sheet)
    page.get_by_role("link", name="Freeze").click()
    page.wait_for_url("**/freeze/")
    changes = page.get_by_role("region", name="Changes since r1")
    assert [mark.inner_text() for mark in changes.locator("table del, table ins").all()] == ["plays", "sings"]
    assert "(3;%mismatch%) > (3;%match%)" in changes.locator("ins.formula-source").inner_text()
    assert "Ending" in changes.inner_text()
    page.get_by_role("button", name="Freeze r2").click()
    page.wait_for_url("**/r2/")
    assert exported(sheet, 2)["region_meta"]["3"] == "Ending"
    assert exported(sheet, 1)["region_meta"]["3"] == "Rest"
