"""Copy and paste, with the formats that Excel and Google Sheets write and read."""

from __future__ import annotations

import pytest

from tests.browser.axe import violations


def contents(sheet):
    return [row["contents"] for row in sheet.settle()["rows"]]


def test_a_block_is_pasted_in_one_step(sheet):
    sheet.click(0, 0)
    sheet.paste("A man\tsings\nA man\tsing\n")
    assert sheet.said() == "pasted 2 by 2"
    assert contents(sheet)[:2] == [["A man", "sings", "guitar"], ["A man", "sing", "guitar"]]
    assert len(sheet.suite.edits) == 1
    sheet.press("Control+z")
    assert contents(sheet)[0] == ["The woman 1", "plays", "guitar"]


def test_quotes_line_ends_and_no_break_spaces(sheet):
    sheet.click(0, 0)
    sheet.paste('"a\tb"\t"say ""so"""\r\n"two\nlines"\tno\u00a0break\r\n')
    assert contents(sheet)[0][:2] == ["a b", 'say "so"']
    assert contents(sheet)[1][:2] == ["two lines", "no\u00a0break"]


def test_a_sign_of_a_formula_is_text(sheet):
    sheet.click(0, 0)
    sheet.paste("=1+1\t-ly\n@x\t+y")
    assert contents(sheet)[0][:2] == ["=1+1", "-ly"]


def test_past_the_end_items_and_regions_are_added(sheet):
    sheet.click(7, 2)
    sheet.paste("x1\ty1\nx2\ty2\nx3\ty3\n")
    doc = sheet.settle()
    assert doc["items"] == [1, 2, 3, 4, 5]
    assert doc["regions"] == ["Subject", "Verb", "Rest", "Region 4"]
    assert [row["contents"][2:] for row in doc["rows"][7:]] == [["x1", "y1"], ["x2", "y2"], ["x3", "y3"]]
    assert "1 item added" in sheet.said()
    assert len(sheet.suite.edits) == 1
    sheet.press("Control+z")
    doc = sheet.settle()
    assert (doc["items"], len(doc["regions"])) == ([1, 2, 3, 4], 3)


def test_ragged_rows_leave_the_rest_alone_and_say_so(sheet):
    sheet.click(0, 0)
    sheet.paste("a\tb\tc\nd\n")
    assert contents(sheet)[1] == ["d", "play", "guitar"]
    assert "different length" in sheet.said()


def test_html_wins_and_merged_cells_are_taken_apart(sheet):
    sheet.click(0, 0)
    html = (
        "<meta charset='utf-8'><table><tr><td colspan=2>wide</td><td>x&nbsp;y</td></tr>"
        "<tr><td rowspan=2>tall</td><td>b<br>c</td><td>d</td></tr><tr><td>e</td><td>f</td></tr></table>"
    )
    sheet.paste("ignored", html)
    assert contents(sheet)[:3] == [["wide", "", "x\u00a0y"], ["tall", "b c", "d"], ["", "e", "f"]]
    assert "2 merged cells split" in sheet.said()


def test_no_break_spaces_of_a_cell_stay_when_it_is_copied_and_edited(sheet):
    sheet.click(0, 0)
    sheet.paste("oui\u00a0; non\u202f!\t\u00a0!")
    assert contents(sheet)[0][:2] == ["oui\u00a0; non\u202f!", "\u00a0!"]
    sheet.click(0, 0)
    sheet.press("F2")
    sheet.type("x")
    sheet.press("Enter")
    assert contents(sheet)[0][0] == "oui\u00a0; non\u202f!x"
    sheet.press("ArrowUp", "Shift+ArrowRight")
    given = sheet.copied()
    sheet.click(2, 0)
    sheet.paste("", given["html"])
    assert contents(sheet)[2][:2] == ["oui\u00a0; non\u202f!x", "\u00a0!"]


def test_no_break_spaces_that_programs_put_in_for_layout_are_no_text(sheet):
    sheet.click(0, 0)
    html = "<table><tr><td><span style='mso-spacerun:yes'>&nbsp;&nbsp;</span>two</td><td>&nbsp;</td></tr></table>"
    sheet.paste("ignored", html)
    assert contents(sheet)[0][:2] == ["two", ""]
    # The pasted HTML's styles are parsed but not applied.
    sheet.complaints[:] = [text for text in sheet.complaints if "inline style" not in text]


def test_one_text_fills_the_selection(sheet):
    sheet.click(0, 1)
    sheet.press("Shift+ArrowDown", "Shift+ArrowDown")
    sheet.paste("runs")
    assert [row[1] for row in contents(sheet)][:4] == ["runs", "runs", "runs", "play"]


def test_copy_writes_text_and_a_table_and_cut_empties(sheet):
    sheet.click(0, 0)
    sheet.type('say "so" <b>')
    sheet.press("Enter", "ArrowUp", "Shift+ArrowRight", "Shift+ArrowDown")
    given = sheet.copied()
    assert given["text"] == 'say "so" <b>\tplays\nThe woman 1\tplay'.replace(
        'say "so" <b>', '"say ""so"" <b>"'
    )
    assert "&lt;b&gt;" in given["html"]
    assert sheet.said() == "copied 2 by 2"
    assert sheet.copied("cut")["text"] == given["text"]
    assert contents(sheet)[0] == ["", "", "guitar"]
    sheet.click(2, 0)
    sheet.paste("", given["html"])
    assert contents(sheet)[2][:2] == ['say "so" <b>', "plays"]


def test_the_real_clipboard_carries_a_range(make_sheet):
    sheet = make_sheet(context={"permissions": ["clipboard-read", "clipboard-write"]})
    sheet.click(0, 0)
    sheet.press("Shift+ArrowRight", "Control+c")
    sheet.click(4, 0)
    sheet.press("Control+v")
    assert contents(sheet)[4][:2] == ["The woman 1", "plays"]
    sheet.click(6, 0)
    sheet.press("Shift+F10")
    sheet.page.get_by_role("button", name="Paste").click()
    sheet.page.get_by_text("pasted 1 by 2").wait_for(state="attached")
    assert contents(sheet)[6][:2] == ["The woman 1", "plays"]


@pytest.mark.chromium_only  # Firefox does not refuse: it asks in its own popup
def test_where_the_browser_refuses_the_clipboard_paste_says_which_keys_to_press(sheet):
    sheet.click(0, 0)
    sheet.press("Shift+F10")
    sheet.page.get_by_role("button", name="Paste").click()
    sheet.page.locator("[data-message]", has_text="Press Ctrl+V (on a Mac ⌘V) to paste.").wait_for()
    assert sheet.active().startswith("Subject, item 1, match")


WIDE = "item\tcondition\tNP\tV\n1\ta\tThe cat\tsleeps\n1\tb\tThe cat\tsleep\n2\ta\tA dog\tbarks\n2\tb\tA dog\tbark\n"
LONG = """item_number,condition_name,region_number,region_name,content
1,a,1,NP,"The cat, a cat"
1,a,2,V,sleeps
1,b,1,NP,The cat
1,b,2,V,sleep
"""


def empty():
    return {
        "metric": "sum",
        "join": "space",
        "regions": ["Region 1", "Region 2", "Region 3"],
        "conditions": ["one"],
        "items": [1],
        "rows": [{"item": 1, "condition": "one", "contents": ["", "", ""]}],
        "predictions": [],
    }


def test_a_whole_wide_sheet_becomes_the_suite(make_sheet):
    sheet = make_sheet(empty())
    sheet.click(0, 0)
    sheet.paste(WIDE)
    doc = sheet.settle()
    assert (doc["regions"], doc["conditions"], doc["items"]) == (["NP", "V"], ["a", "b"], [1, 2])
    assert [row["contents"] for row in doc["rows"]][3] == ["A dog", "bark"]
    sheet.press("Control+z")
    assert sheet.settle() == empty()


def test_a_whole_long_sheet_with_commas_too(make_sheet):
    sheet = make_sheet(empty())
    sheet.click(0, 0)
    sheet.paste(LONG)
    doc = sheet.settle()
    assert (doc["regions"], doc["conditions"], doc["items"]) == (["NP", "V"], ["a", "b"], [1])
    assert doc["rows"][0]["contents"] == ["The cat, a cat", "sleeps"]


def test_a_sheet_with_headings_finds_its_places_in_a_filled_suite(sheet):
    sheet.click(3, 1)
    sheet.paste("item\tcondition\tVerb\n2\tmatch\truns\n9\tmatch\tsits\n")
    doc = sheet.settle()
    assert doc["items"] == [1, 2, 3, 4, 9]
    assert sheet.suite.cell(2, "match", 2) == "runs"
    assert sheet.suite.cell(9, "match", 2) == "sits"
    assert sheet.suite.cell(2, "match", 1) == "The woman 2"


GERMAN = "Nr.\tFassung\tSubjekt\tVerb\n1\tmatch\tDie Frau\tspielt\n\tplural\tDie Frauen\tspielen\n"


def test_a_sheet_under_other_words_asks_for_columns_and_names(sheet):
    sheet.click(0, 0)
    sheet.paste(GERMAN)
    dialog = sheet.page.get_by_role("dialog", name="Paste a sheet with headings")
    dialog.get_by_text("no condition column found").wait_for()
    found = violations(sheet.page)
    dialog.get_by_role("button", name="Apply answers").click()
    dialog.get_by_label("Condition “plural”").select_option("is mismatch")
    found |= violations(sheet.page)
    dialog.get_by_role("button", name="Apply answers").press("Enter")
    dialog.wait_for(state="hidden")
    assert sheet.settle()["conditions"] == ["match", "mismatch"]
    assert contents(sheet)[:2] == [["Die Frau", "spielt", "guitar"], ["Die Frauen", "spielen", "guitar"]]
    assert "merged cells" in sheet.page.locator("[data-message]").inner_text()
    assert len(sheet.suite.edits) == 1
    assert found == {}


def test_what_only_looks_like_headings_is_pasted_as_cells(sheet):
    sheet.click(0, 0)
    sheet.paste("a\tb\tc\n1\tx\ty\n")
    sheet.page.get_by_role("button", name="Paste as plain cells").click()
    assert contents(sheet)[:2] == [["a", "b", "c"], ["1", "x", "y"]]
    sheet.suite.down = True
    sheet.paste(GERMAN)
    sheet.page.locator("[data-message]", has_text="The sheet was not pasted").wait_for()
    sheet.suite.down = False


def test_a_bad_sheet_is_refused_by_row(make_sheet):
    sheet = make_sheet(empty())
    sheet.click(0, 0)
    sheet.paste("item\tcondition\tNP\n1\ta\tx\n1\ta\ty\n")
    dialog = sheet.page.get_by_role("dialog", name="Paste a sheet with headings")
    dialog.get_by_text("item 1 has the condition “a” twice").wait_for()
    dialog.get_by_role("button", name="Cancel").click()
    assert sheet.settle() == empty()


def test_too_many_rows_are_refused(sheet):
    sheet.click(0, 0)
    sheet.paste("x\n" * 20_001)
    assert "at most 20000" in sheet.page.locator("[data-message]").inner_text()
