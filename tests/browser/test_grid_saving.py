"""Saving: small, soon, and nothing is lost when the server is away or somebody else was faster."""

from __future__ import annotations

from tests.browser.grid_fake import big, watch


def write(sheet, row, column, text):
    sheet.click(row, column)
    sheet.type(text)
    sheet.press("Enter")


def test_an_edit_is_saved_within_a_second_as_a_small_patch(sheet):
    write(sheet, 0, 1, "sings")
    sheet.page.wait_for_timeout(1100)
    (patch,) = sheet.suite.patches
    assert patch["version"] == 7
    assert patch["edits"][0]["ops"] == [{"op": "set_cells", "cells": [[1, "match", 2, "plays", "sings"]]}]


def test_fifty_steps_are_undone_and_redone(sheet):
    before = sheet.page.evaluate("document.querySelector('[role=grid] tbody').innerText")
    for step in range(50):
        sheet.click(step % 8, step // 8 % 3)
        sheet.type(f"word {step}")
        sheet.press("Enter")
    after = sheet.settle()["rows"]
    for _ in range(50):
        sheet.press("Control+z")
    assert sheet.page.evaluate("document.querySelector('[role=grid] tbody').innerText") == before
    for step in range(50):
        sheet.press("Control+y" if step % 2 else "Control+Shift+z")
    assert sheet.settle()["rows"] == after


def test_the_server_goes_away_and_comes_back_while_typing(sheet):
    sheet.suite.down = True
    write(sheet, 0, 1, "sings")
    sheet.saved("offline")
    assert sheet.page.locator("[data-save-status]").inner_text() == "Offline, kept here"
    write(sheet, 1, 1, "sing")
    sheet.suite.down = False
    doc = sheet.settle()
    assert [row["contents"][1] for row in doc["rows"]][:2] == ["sings", "sing"]


def test_a_lost_answer_is_not_applied_twice(sheet):
    sheet.suite.lose_answer = True
    sheet.click(0, 0)
    sheet.page.locator("[data-grid-menu=item] summary").click()
    sheet.page.get_by_role("button", name="Duplicate").click()
    doc = sheet.settle()
    assert doc["items"] == [1, 5, 2, 3, 4]
    assert len(sheet.suite.patches) == 2


def test_what_was_not_sent_survives_a_reload(sheet):
    sheet.suite.down = True
    write(sheet, 0, 1, "sings")
    sheet.saved("offline")
    sheet.suite.down = False
    sheet.page.evaluate("window.stop()")
    sheet.open()
    assert sheet.text(0, 1) == "sings"
    assert sheet.suite.cell(1, "match", 2) == "sings"
    assert sheet.page.evaluate("Object.keys(localStorage).filter(k => k.startsWith('lmgym')).length") == 0


def test_what_a_closed_tab_left_goes_to_the_next_one(sheet):
    sheet.suite.down = True
    write(sheet, 0, 1, "sings")
    sheet.saved("offline")
    context = sheet.page.context
    sheet.page.close(run_before_unload=False)
    sheet.suite.down = False
    sheet.page = context.new_page()
    # A tab that crashed is known by its silence; this one said good-bye or is made silent here.
    sheet.page.goto(f"{sheet.url}/elsewhere/")
    silence = """Object.entries(localStorage).forEach(([key, value]) => {
      if (key.startsWith('lmgym')) localStorage.setItem(key, JSON.stringify({...JSON.parse(value), seen: 0})); })"""
    sheet.page.evaluate(silence)
    sheet.open()
    assert sheet.suite.cell(1, "match", 2) == "sings"


def test_leaving_with_unsaved_edits_asks_first(sheet):
    asked = []
    sheet.page.on("dialog", lambda dialog: asked.append(dialog.type))
    sheet.suite.down = True
    write(sheet, 0, 1, "sings")
    sheet.page.get_by_role("link", name="Suites").first.click()
    sheet.page.wait_for_url("**/suites/")
    assert asked == ["beforeunload"]


def test_leaving_when_all_is_saved_asks_nothing(sheet):
    asked = []
    sheet.page.on("dialog", lambda dialog: asked.append(dialog.type))
    write(sheet, 0, 1, "sings")
    sheet.settle()
    sheet.page.get_by_role("link", name="Suites").first.click()
    sheet.page.wait_for_url("**/suites/")
    assert asked == []


def test_two_people_change_one_cell_and_each_value_can_be_kept(sheet):
    bobs = [
        [1, "match", 2, "plays", "strums"],
        [2, "match", 2, "plays", "hums"],
        [3, "match", 3, "guitar", "lute"],
    ]
    sheet.suite.elsewhere({"op": "set_cells", "cells": bobs})
    write(sheet, 0, 1, "sings")
    write(sheet, 2, 1, "croons")
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    rows = dialog.locator("tbody tr")
    rows.nth(1).wait_for()
    shown = [cell.strip() for cell in rows.first.inner_text().split("\t")]
    assert shown == ["Item 1, match, Verb", "plays", "strums", "sings"]
    assert "bob" in dialog.inner_text()
    rows.first.get_by_label("sings").check()
    dialog.get_by_role("button", name="Take these").click()
    doc = sheet.settle()
    assert [sheet.suite.cell(*at) for at in ((1, "match", 2), (2, "match", 2), (3, "match", 3))] == [
        "sings",
        "hums",
        "lute",
    ]
    assert sheet.text(0, 1) == "sings"
    assert sheet.text(2, 1) == "hums"
    assert sheet.text(4, 2) == "lute"
    assert doc["regions"] == ["Subject", "Verb", "Rest"]


def test_a_conflict_put_off_waits_and_typing_goes_on(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[1, "match", 2, "plays", "strums"]]})
    write(sheet, 0, 1, "sings")
    sheet.page.get_by_role("dialog").wait_for()
    sheet.page.get_by_role("button", name="Decide later").click()
    write(sheet, 3, 1, "goes")
    sheet.page.wait_for_timeout(900)
    sheet.saved("conflict")
    assert sheet.suite.cell(2, "mismatch", 2) == "goes"
    sheet.page.reload()
    sheet.page.get_by_role("dialog").wait_for()
    sheet.page.get_by_role("button", name="All mine").click()
    sheet.page.get_by_role("button", name="Take these").click()
    sheet.settle()
    assert sheet.suite.cell(1, "match", 2) == "sings"


def test_a_structural_edit_that_no_longer_fits_is_kept_for_copying(sheet):
    rows = {"match": ["x", "y", "z"], "mismatch": ["x", "y", "z"]}
    sheet.suite.elsewhere({"op": "insert_items", "at": 4, "items": [{"number": 5, "rows": rows}]})
    sheet.click(7, 0)
    sheet.page.locator("[data-grid-menu=item] summary").click()
    sheet.page.get_by_role("button", name="Duplicate").click()
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    assert "no longer fits" in dialog.inner_text()
    assert sheet.page.get_by_label("Kept for copying").input_value() != ""
    dialog.get_by_role("button", name="Take these").click()
    assert sheet.settle()["items"] == [1, 2, 3, 4, 5]
    assert sheet.text(8, 0) == "x"


def test_somebody_elses_changes_come_in_quietly(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[4, "match", 2, "plays", "hums"]]})
    write(sheet, 0, 1, "sings")
    sheet.cell(6, 1).get_by_text("hums").wait_for()
    assert sheet.text(0, 1) == "sings"


def test_two_tabs_edit_the_same_suite(make_sheet):
    one = make_sheet()
    page = one.page.context.new_page()
    two = watch(page, one.suite, one.url)
    two.open()
    write(one, 0, 1, "sings")
    one.settle()
    write(two, 0, 1, "croons")
    page.get_by_role("dialog").wait_for()
    assert "sings" in page.get_by_role("dialog").inner_text()
    page.get_by_role("button", name="All mine").click()
    page.get_by_role("button", name="Take these").click()
    two.settle()
    assert one.suite.cell(1, "match", 2) == "croons"
    assert not two.complaints


def test_many_pages_are_loaded(make_sheet):
    sheet = make_sheet(big(400, 4, 3))
    assert sheet.page.get_by_role("grid").get_attribute("aria-rowcount") == "1601"
    sheet.click(0, 0)
    sheet.press("Control+End")
    assert sheet.value() == "word 400 2"


def test_freezing_waits_for_the_save(sheet):
    write(sheet, 0, 1, "sings")
    sheet.page.get_by_role("link", name="Freeze").click()
    sheet.page.wait_for_url("**/freeze/")
    assert sheet.suite.cell(1, "match", 2) == "sings"


def test_edits_made_before_somebody_elses_were_known_go_with_their_own_version(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[4, "match", 2, "plays", "hums"]]})
    sheet.suite.slow_patch = 0.7
    write(sheet, 0, 1, "sings")
    sheet.page.wait_for_timeout(800)  # the first PATCH is on its way
    write(sheet, 1, 1, "sing")
    sheet.cell(6, 1).get_by_text("hums").wait_for()
    sheet.settle()
    first, second = sheet.suite.patches
    assert (first["version"], second["version"]) == (7, 7)
    assert second["edits"][0] == first["edits"][0]
    assert len(second["edits"]) == 2
    sheet.suite.slow_patch = 0
    write(sheet, 2, 1, "dances")
    sheet.settle()
    assert sheet.suite.patches[-1]["version"] == sheet.suite.version - 1
    assert len(sheet.suite.patches[-1]["edits"]) == 1


def test_a_conflict_that_is_told_again_is_shown_once(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[1, "match", 2, "plays", "strums"]]})
    sheet.suite.slow_patch = 0.7
    write(sheet, 0, 1, "sings")
    sheet.page.wait_for_timeout(800)  # the first PATCH is on its way
    write(sheet, 1, 1, "sing")
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    assert len(sheet.suite.patches) == 2
    assert dialog.locator("tbody tr").count() == 1
