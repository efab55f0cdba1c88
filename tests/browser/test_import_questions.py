"""Importing with open questions: the file is shown as it is read while one answers, and a folder becomes a
collection."""

from __future__ import annotations

from tests.browser.axe import violations_in_both_themes

GERMAN = "Nr;Fassung;Satz\n1;a;*Die Tür/klemmt.\n1;b;Die Türen/klemmen.\n"


def bring(page, name, data):
    page.goto("/suites/import/")
    page.locator("#id_file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": data})
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url("**/suites/import/*/")


def test_the_reading_follows_each_answer_and_asks_in_place_without_losing_the_focus(signed_in):
    page = signed_in
    bring(page, "doors.csv", GERMAN.encode("windows-1252"))
    reading = page.locator(".reading")
    reading.get_by_text("Cut at “/”: 2 regions.").wait_for()
    assert violations_in_both_themes(page) == {}
    page.locator("input[name=encoding][value=windows-1251]").check()
    reading.get_by_text("Die Tьren", exact=True).wait_for()
    page.locator("input[name=encoding][value=windows-1252]").check()
    reading.get_by_text("Die Türen", exact=True).wait_for()
    cut = page.locator("input[name=cut][value=none]")
    cut.check()
    reading.get_by_role("cell", name="Die Türen/klemmen.").last.wait_for()
    reading.get_by_text("Cut at “/”: 2 regions.").wait_for(state="detached")
    assert page.evaluate("document.activeElement.name") == "cut"
    assert page.locator("#announcer").inner_text() == "Read as 1 item × 2 conditions × 1 region."
    page.get_by_role("button", name="Apply answers").click()
    page.wait_for_url("**/suites/doors/editor/")


def test_a_folder_is_kept_when_a_field_is_refused_and_becomes_a_collection_with_its_name(signed_in, tmp_path):
    page = signed_in
    folder = tmp_path / "paradigms"
    (folder / "more").mkdir(parents=True)
    (folder / "README.md").write_text("x")
    for name, verb in (("one", "hoot"), ("more/two", "nap")):
        (folder / f"{name}.csv").write_text(f"item,condition,Verb\n1,x,{verb}s\n1,y,{verb}\n")
    page.goto("/suites/import/")
    page.locator("#id_folder").set_input_files(folder)
    assert page.get_by_text("2 of 3 files are suite files.").is_visible()
    page.get_by_label("Title").fill("One")
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("Leave the title empty for several files").wait_for()
    page.complaints.clear()  # the 400 from the server
    page.get_by_label("Title").fill("")
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url("**/suites/import/*/")
    assert page.get_by_role("heading", name="more/two.csv").is_visible()
    page.get_by_role("button", name="Create collection").click()
    page.wait_for_url("**/collections/paradigms/")
    assert page.get_by_text("Collection of 2 suites created.").is_visible()
