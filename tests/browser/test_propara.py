"""ProPara on the running site: upload, accept repairs, score, drill down, compare; with the mouse, then with
the keyboard."""

from __future__ import annotations

import re

import pytest

from tests.browser.looking import look
from tests.lmgym.propara.worlds import shipped

SET = "/propara/everyday-processes/"


@pytest.fixture
def untidy(tmp_path):
    """The demo's `hasty` submission with a header, a blank line and a lower-case action."""
    path = tmp_path / "mine.tsv"
    text = shipped("hasty").replace("\tMOVE\t", "\tmove\t", 1)
    path.write_text("process\tstep\tparticipant\taction\tbefore\tafter\n" + text + "\n", encoding="utf-8")
    return path


def test_upload_repair_score_drill_down_compare(signed_in, untidy):
    page = signed_in
    page.goto(SET)
    page.locator("input[type=file]").set_input_files(untidy)
    page.get_by_label("System", exact=True).fill("By mouse")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/propara/submissions/*/")
    assert page.get_by_text("The header row was removed.").is_visible()
    assert page.get_by_text("“move” became “MOVE”.").is_visible()
    assert not page.get_by_text("Overall").is_visible()
    page.get_by_role("button", name="Agree and score").click()
    page.get_by_text("Overall").first.wait_for()
    page.get_by_role("link", name=re.compile("missed destroy")).click()
    page.wait_for_url("**only=missed-destroy*")
    page.locator("main table tbody th a").first.click()
    page.wait_for_url(re.compile(r"/processes/\d+/"))
    assert page.locator(".pp-grid .pp-wrong").count() > 0
    assert page.get_by_text("Missed destruction of").first.is_visible()
    page.get_by_role("link", name="By mouse").first.click()
    page.get_by_label("Compare with").select_option(index=0)
    page.locator("#scores-head ~ form").get_by_role("button", name="Compare").click()
    page.wait_for_url("**/propara/compare/?first=*")
    same = "Hasty: with 14 processes, the difference from By mouse is not significant."
    assert page.locator(".pp-verdict").inner_text() == same
    page.locator("main table[data-sortable] tbody th a").first.click()
    page.get_by_role("heading", name=re.compile("^2: ")).wait_for()
    assert page.locator(".pp-grid .pp-layer", has_text="2").count() > 0


def test_the_same_way_with_the_keyboard_alone(signed_in, untidy):
    page = signed_in

    def press(name: str, role: str = "link") -> None:
        target = page.get_by_role(role, name=re.compile(name)).first
        target.focus()
        page.keyboard.press("Enter")

    page.goto(SET)
    page.locator("input[type=file]").set_input_files(untidy)
    page.get_by_label("System", exact=True).focus()
    page.keyboard.type("By keyboard")
    page.keyboard.press("Enter")
    page.wait_for_url("**/propara/submissions/*/")
    press("Agree and score", "button")
    page.get_by_text("Overall").first.wait_for()
    row = page.locator("#processes ~ .table-box tbody th a").first
    row.focus()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/processes/\d+/"))
    first = page.url
    press("^Next$")
    page.wait_for_url(lambda address: "/processes/" in address and address != first)
    page.locator(".pp-grid").wait_for()


def test_a_refused_file_stays_chosen_and_what_was_typed_stays_typed(signed_in, tmp_path):
    path = tmp_path / "bad.tsv"
    path.write_text("1\t1\twater; hot water\tVANISH\ttap\tkettle\n", encoding="utf-8")
    page = signed_in
    page.goto(SET)
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_label("System", exact=True).fill("Typed before")
    page.get_by_role("button", name="Check first").click()
    page.get_by_text("“VANISH” is not an action.").wait_for()
    page.complaints.clear()  # Chromium logs the 400 as an error
    assert page.get_by_text("bad.tsv, line 1, column 4").is_visible()
    assert page.locator("input[type=file]").evaluate("(input) => input.files[0].name") == "bad.tsv"
    assert page.get_by_label("System", exact=True).input_value() == "Typed before"
    page.locator("input[type=file]").set_input_files(
        {"name": "good.tsv", "mimeType": "", "buffer": shipped("hasty").encode()}
    )
    page.get_by_role("button", name="Check first").click()
    page.wait_for_url("**/propara/submissions/*/")
    assert page.get_by_text("Checked, not saved").is_visible()
    page.get_by_role("button", name="Save result").click()
    page.get_by_text("Saved.", exact=True).wait_for()


def addresses(page) -> list[str]:
    page.goto(SET)
    keys = [
        link.get_attribute("href").split("/")[3] for link in page.locator("#leaderboard tbody th a").all()[:2]
    ]
    one = f"/propara/submissions/{keys[1]}/"
    two = f"?first={keys[0]}&second={keys[1]}"
    return [
        one, f"{one}processes/1/", f"/propara/compare/{two}", f"/propara/compare/processes/1/{two}",
    ]  # fmt: skip


def test_the_chart_of_the_leaderboard_is_whole_also_with_long_names(signed_in):
    page = signed_in
    page.goto(f"{SET}v1/submit/")
    page.locator("input[type=file]").set_input_files(
        {"name": "long.tsv", "mimeType": "", "buffer": shipped("hasty").encode()}
    )
    page.get_by_label("System", exact=True).fill("A model of 20,000 words (by surprisal)")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.wait_for_url("**/propara/submissions/*/")
    for width in (1280, 1000):
        page.set_viewport_size({"width": width, "height": 800})
        page.goto(SET)
        box = page.locator(".chart-box").first
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth"), width


def test_pages_fit_a_telephone_and_axe_finds_nothing(signed_in):
    for address in addresses(signed_in):
        look(signed_in, address)
