"""The heat map by keyboard, charts as files, and the compare page."""

from __future__ import annotations


def focused(page) -> str:
    return page.evaluate("document.activeElement.dataset.words ?? ''")


def test_the_heat_map_is_walked_by_keyboard_and_read_in_words(page):
    page.goto("/leaderboard/?layout=models")
    page.locator("#board tbody td[tabindex='0']").focus()
    assert focused(page).startswith("rank 1 of 5")
    for key in ("ArrowRight",) * 6 + ("ArrowDown",):
        page.keyboard.press(key)
    readout = page.locator("[data-heatmap-readout]")
    assert "Demo 5-gram, Centre embedding: 50.0%, 12 of 24 held" in readout.inner_text()
    page.keyboard.press("End")
    assert "Subordinate clauses" in readout.inner_text()
    page.keyboard.press("ArrowRight")  # the focus stays on the last cell
    assert "Subordinate clauses" in readout.inner_text()
    page.keyboard.press("Control+Home")
    assert focused(page).startswith("rank 1 of 5")
    assert page.locator("#board td[tabindex='0']").count() == 1


def test_enter_opens_the_run_behind_a_cell(page):
    page.goto("/leaderboard/?layout=models")
    cell = page.locator("#board tbody tr").first.locator("td").last
    cell.focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*/")


def test_the_heat_map_copies_to_a_spreadsheet(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/leaderboard/?layout=models")
    page.locator("summary", has_text="Copy table").click()
    page.get_by_role("button", name="As on this page").click()
    rows = [line.split("\t") for line in page.evaluate("navigator.clipboard.readText()").splitlines()]
    assert rows[1][0] == "Demo GPT-2"
    assert [float(cell) for cell in rows[1][1:3]] == [1.0, 1.0]  # rank and score
    assert len({len(row) for row in rows}) == 1
    assert rows[-1][0].startswith("Scoring rule: each prediction")


def test_a_table_for_a_paper_is_copied_from_its_menu(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.goto("/leaderboard/")
    page.locator("summary", has_text="Copy table").click()
    page.get_by_role("link", name="LaTeX for a paper").click()
    page.locator("summary", has_text="Copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()").startswith("% needs")
    assert not page.get_by_role("link", name="LaTeX for a paper").is_visible()


def test_more_suites_than_models_are_walked_in_rows(page):
    page.goto("/leaderboard/")
    page.locator("#board tbody td[tabindex='0']").focus()
    assert focused(page).startswith("rank 1 of 5")
    page.keyboard.press("ArrowDown")
    assert focused(page).startswith("mean 100.0%")
    page.keyboard.press("Control+End")
    assert focused(page).startswith("chance ")
    page.keyboard.press("ArrowLeft")
    assert "subordination, Demo uniform: 0.0%" in page.locator("[data-heatmap-readout]").inner_text()
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/*/")


def test_the_first_column_stays_in_sight_on_a_telephone(page):
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto("/leaderboard/")
    page.evaluate("document.querySelector('.board-box').scrollLeft = 10_000")
    box = page.locator("#board tbody th").nth(8).bounding_box()
    assert 0 <= box["x"] < 40
    last = page.locator("#board tbody tr").nth(8).locator("td").last.bounding_box()
    assert last["x"] + last["width"] <= 391


def test_what_a_spreadsheet_would_run_is_copied_as_text(page):
    page.goto("/leaderboard/")
    copied = page.evaluate(
        """async () => {
            const { tableText } = await import("/static/js/copy.js");
            const table = document.createElement("table");
            for (const text of ["=1+1", "@x", "-2+3", "'=1", "-2.5", "+1.20", "Plain -x"])
                table.insertRow().insertCell().textContent = text;
            return tableText(table);
        }"""
    )
    assert copied.split("\n") == ["'=1+1", "'@x", "'-2+3", "''=1", "-2.5", "+1.20", "Plain -x"]


def test_models_ticked_on_the_leaderboard_are_compared(page):
    page.goto("/leaderboard/")
    page.get_by_label("Compare Demo GPT-2").check()
    page.get_by_label("Compare Demo 5-gram").check()
    page.get_by_role("button", name="Compare ticked models").click()
    page.wait_for_url("**/compare/**")
    assert page.get_by_role("heading", level=1).inner_text() == "Demo GPT-2 and Demo 5-gram"
    page.get_by_role("link", name="Subject-verb agreement across an object relative clause").click()
    page.get_by_role("link", name="where they differ").click()
    page.locator("#compare-items tbody tr").first.wait_for()
    assert page.locator("#compare-items tbody tr").count() == 19
    page.get_by_role("link", name="Item 2", exact=True).click()
    page.locator("table.lens").nth(1).wait_for()
    assert page.locator("table.lens").count() == 2


def test_the_marks_of_a_chart_are_read_by_keyboard(page):
    page.goto("/suites/agreement_orc/")
    figure = page.locator("[data-figure]").first
    figure.locator(".chart-box").focus()
    page.keyboard.press("ArrowRight")
    first = figure.locator("[data-figure-readout]").inner_text()
    assert first.startswith("Demo GPT-2: 1.000 pass rate")
    page.keyboard.press("ArrowDown")
    assert figure.locator("[data-figure-readout]").inner_text().startswith("Demo 5-gram")
    assert figure.locator(".is-read").count() == 1


def test_the_numbers_of_a_chart_open_beside_it(page):
    page.goto("/runs/")
    page.locator("main table a[href^='/runs/']").first.click()
    numbers = page.locator(".result-margins .figure-data").first
    table = numbers.locator("table")
    assert not table.is_visible()
    numbers.locator("summary").focus()
    page.keyboard.press("Enter")
    assert table.is_visible()
    assert table.locator("thead th").all_inner_texts() == [
        "item",
        "outcome",
        "margin (bits)",
        "whitespace",
    ]
    assert table.locator("tbody tr").count() > 10


def test_comparing_models_is_drawn_and_taken_away(page):
    page.goto("/compare/?model=demo-gpt2&model=demo-ngram")
    figure = page.locator("[data-figure]")
    figure.locator(".chart-box").focus()
    page.keyboard.press("Home")
    said = figure.locator("[data-figure-readout]").inner_text()
    assert said.startswith("Centre embedding: −0.500 difference of pass rates")
    for form, start in (("SVG", b"<svg"), ("CSV", b"suite,revision,")):
        with page.expect_download() as waited:
            figure.get_by_role("link", name=f"Demo 5-gram − Demo GPT-2 as {form}").click()
        assert waited.value.path().read_bytes().startswith(start)


def test_a_dark_page_prints_dark_on_white_with_whole_charts_and_without_buttons(page):
    page.emulate_media(color_scheme="dark", media="print")
    page.goto("/suites/agreement_orc/")
    colour = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(colour) == "rgb(255, 255, 255)"
    ink = page.locator("svg.chart .c-text").first.evaluate("node => getComputedStyle(node).fill")
    assert sum(int(part) for part in ink.removeprefix("rgb(").removesuffix(")").split(",")) < 200
    assert not page.locator("summary", has_text="Copy table").first.is_visible()
    assert not page.locator(".figure-files").first.is_visible()
    for box in page.locator(".chart-box").all():
        assert box.evaluate("node => getComputedStyle(node).overflowX") == "visible"
