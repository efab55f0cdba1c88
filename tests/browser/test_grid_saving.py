"""Saving: small, frequent edits, and nothing is lost if the server is unreachable or another user was
faster."""

from __future__ import annotations

from tests.browser.grid_fake import watch


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


def test_steps_are_undone_and_redone(sheet):
    before = sheet.page.evaluate("document.querySelector('[role=grid] tbody').innerText")
    for step in range(12):
        sheet.click(step % 8, step // 8 % 3)
        sheet.type(f"word {step}")
        sheet.press("Enter")
    after = sheet.settle()["rows"]
    for _ in range(12):
        sheet.press("Control+z")
    assert sheet.page.evaluate("document.querySelector('[role=grid] tbody').innerText") == before
    for step in range(12):
        sheet.press("Control+y" if step % 2 else "Control+Shift+z")
    assert sheet.settle()["rows"] == after


def test_the_server_goes_away_and_comes_back_while_typing(sheet):
    sheet.suite.down = True
    write(sheet, 0, 1, "sings")
    sheet.saved("offline")
    assert sheet.page.locator("[data-save-status]").inner_text() == "Offline, kept locally"
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
    # A crashed tab is detected by its old `seen`, which is set here unless the tab signed off when it closed.
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
    sheet.page.get_by_role("button", name="Apply choices").click()
    sheet.settle()
    assert sheet.suite.cell(1, "match", 2) == "sings"


def test_a_structural_edit_that_was_not_done_is_kept_for_copying(sheet):
    rows = {"match": ["x", "y", "z"], "mismatch": ["x", "y", "z"]}
    sheet.suite.elsewhere({"op": "insert_items", "at": 4, "items": [{"number": 5, "rows": rows}]})
    sheet.click(7, 0)
    sheet.page.locator("[data-grid-menu=item] summary").click()
    sheet.page.get_by_role("button", name="Duplicate").click()
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    assert "It moved." in dialog.inner_text()
    assert "insert_items" in sheet.page.get_by_label("Your edits, to copy").input_value()
    dialog.get_by_role("button", name="Apply choices").click()
    assert sheet.settle()["items"] == [1, 2, 3, 4, 5]
    assert sheet.text(8, 0) == "x"
    sheet.press("Control+z")
    assert sheet.settle()["items"] == [1, 2, 3, 4, 5]  # an edit that was not applied is not an undo step


def test_somebody_elses_changes_come_in_quietly(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[4, "match", 2, "plays", "hums"]]})
    write(sheet, 0, 1, "sings")
    sheet.cell(6, 1).get_by_text("hums").wait_for()
    assert sheet.text(0, 1) == "sings"


def test_freezing_waits_for_the_save(sheet):
    write(sheet, 0, 1, "sings")
    sheet.page.get_by_role("link", name="Freeze").click()
    sheet.page.wait_for_url("**/freeze/")
    assert sheet.suite.cell(1, "match", 2) == "sings"


def test_every_waiting_cell_is_a_conflict_when_somebody_moved_the_regions(sheet):
    sheet.suite.elsewhere({"op": "insert_region", "at": 1, "name": "Pre", "texts": []})
    with sheet.suite.held("patch"):
        write(sheet, 0, 1, "sings")
        sheet.until(lambda: sheet.suite.patches)
        write(sheet, 1, 1, "sing")
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    shown = [
        [cell.strip() for cell in row.inner_text().split("\t")] for row in dialog.locator("tbody tr").all()
    ]
    assert shown == [
        ["Item 1, match, Verb", "plays", "plays", "sings"],
        ["Item 1, mismatch, Verb", "play", "play", "sing"],
    ]
    assert sheet.text(0, 2) == "plays"
    dialog.get_by_role(
        "button", name="Apply choices"
    ).click()  # nobody else changed the texts, so mine are preselected
    sheet.settle()
    assert [row["contents"][:3] for row in sheet.suite.doc["rows"]][:2] == [
        ["", "The woman 1", "sings"],
        ["", "The woman 1", "sing"],
    ]


def test_a_word_that_is_being_typed_when_the_regions_move_is_kept_whole(sheet):
    sheet.suite.elsewhere({"op": "insert_region", "at": 1, "name": "Pre", "texts": []})
    asked = sheet.suite.drafts
    with sheet.suite.held("draft"):
        write(sheet, 0, 1, "sings")
        sheet.click(1, 1)
        sheet.type("s")
        sheet.until(lambda: sheet.suite.drafts > asked)
        sheet.type("in")
    sheet.type("g")
    sheet.press("Enter")
    sheet.page.get_by_role("dialog").get_by_text("sing", exact=True).wait_for()


def test_a_cell_whose_region_is_gone_is_kept_for_copying(sheet):
    sheet.suite.elsewhere({"op": "delete_region", "region": 2})
    write(sheet, 0, 1, "sings")
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    assert "Item 1, match, Verb no longer exists; you wrote “sings”." in dialog.inner_text()
    assert "sings" in sheet.page.get_by_label("Your edits, to copy").input_value()
    assert [sheet.suite.cell(1, "match", 2), sheet.text(0, 1)] == ["guitar", "guitar"]


def test_a_text_that_is_being_typed_does_not_land_in_the_cell_that_took_its_place(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[4, "match", 2, "plays", "hums"]]})
    with sheet.suite.held("patch"):
        write(sheet, 0, 1, "sings")
        sheet.click(2, 1)
        sheet.type("dan")
        sheet.until(lambda: sheet.suite.patches)  # after the response, the page reloads the draft
        sheet.suite.elsewhere({"op": "move_region", "region": 3, "to": 1})
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    assert "Item 2, match, Verb" in dialog.inner_text()
    assert dialog.get_by_label("dan", exact=True).count() == 1
    assert sheet.suite.cell(2, "match", 2) == "The woman 2"


def test_a_text_that_came_in_while_one_types_there_is_not_overwritten_silently(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[1, "mismatch", 2, "play", "strum"]]})
    with sheet.suite.held("patch"):
        write(sheet, 0, 1, "sings")
        sheet.click(1, 1)
        sheet.type("si")
    sheet.until(
        lambda: "changes by another editor were loaded" in sheet.said()
    )  # "strum" has arrived in the cell being edited
    sheet.type("ng")
    sheet.press("Enter")
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    row = [cell.strip() for cell in dialog.locator("tbody tr").first.inner_text().split("\t")]
    assert row == ["Item 1, mismatch, Verb", "play", "strum", "sing"]
    assert sheet.suite.cell(1, "mismatch", 2) == "strum"


def test_two_people_who_write_in_different_cells_meet_no_conflict(make_sheet):
    one = make_sheet()
    two = watch(one.page.context.new_page(), one.suite, one.url)
    two.open()
    for step in range(3):
        write(one, 2 * step, 1, f"sings {step}")
        write(two, 2 * step + 1, 1, f"sing {step}")
    one.settle()
    two.settle()
    verbs = [row["contents"][1] for row in one.suite.doc["rows"]][:6]
    assert verbs == ["sings 0", "sing 0", "sings 1", "sing 1", "sings 2", "sing 2"]
    assert one.page.get_by_role("dialog").count() == two.page.get_by_role("dialog").count() == 0
    two.cell(0, 1).get_by_text("sings 0").wait_for()


def test_a_cell_typed_twice_is_one_conflict_with_the_last_text(sheet):
    sheet.suite.elsewhere({"op": "set_cells", "cells": [[1, "match", 2, "plays", "strums"]]})
    with sheet.suite.held("patch"):  # the second text exists before the conflict is reported
        write(sheet, 0, 1, "sings")
        write(sheet, 0, 1, "sang")
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    rows = dialog.locator("tbody tr")
    assert rows.count() == 1
    assert [cell.strip() for cell in rows.first.inner_text().split("\t")][1:] == ["plays", "strums", "sang"]


def test_two_scorings_are_shown_in_words_and_one_is_chosen(sheet):
    sheet.suite.elsewhere({"op": "set_scoring", "metric": "mean", "join": "none"})
    sheet.page.get_by_label("Value of a region").select_option("max")
    dialog = sheet.page.get_by_role("dialog")
    dialog.wait_for()
    row = [cell.strip() for cell in dialog.locator("tbody tr").inner_text().split("\t")]
    assert row[0] == "Scoring"
    assert [text.split(";")[0] for text in row[1:]] == [
        "sum of its tokens",
        "mean of its tokens",
        "highest of its tokens",
    ]
    dialog.get_by_role("button", name="All mine").click()
    dialog.get_by_role("button", name="Apply choices").click()
    doc = sheet.settle()
    assert (doc["metric"], doc["join"]) == ("max", "space")
    assert sheet.page.get_by_label("Value of a region").input_value() == "max"
