"""LM Challenge on the running site: upload, play, read the coloured text with mouse and keyboard, compare."""

from __future__ import annotations

import pytest

from tests.browser.axe import violations_in_both_themes
from tests.browser.looking import SPILL, look


def play(page, player: str) -> None:
    page.get_by_role("link", name="Play", exact=True).first.click()
    page.locator(f"input[name=player][value='{player}']").check()
    page.get_by_role("button", name="Play", exact=True).click()
    page.get_by_role("heading", name="Additional metrics").wait_for(timeout=60_000)


@pytest.fixture
def corpus(signed_in, tmp_path):
    """Address of a corpus that alice saved after checking its tokens."""
    page = signed_in
    path = tmp_path / "texts.txt"
    path.write_text("The woman plays.\nThe women play.\nThe king laughs today.\n", encoding="utf-8")
    page.goto("/games/corpora/new/")
    page.locator("input[type=file]").set_input_files(path)
    page.get_by_role("button", name="Check only").click()
    page.get_by_text("Nothing has been saved.").wait_for()
    assert page.locator(".lm-token").count() == 13
    page.get_by_label("Title").fill("Small talk")
    page.get_by_role("button", name="Save corpus").click()
    page.get_by_role("heading", name="Small talk").wait_for()
    return page.url


def test_a_corpus_without_a_title_is_told_so_at_the_title(signed_in):
    page = signed_in
    page.goto("/games/corpora/new/")
    file = {"name": "t.txt", "mimeType": "text/plain", "buffer": b"Hello there.\n"}
    page.locator("input[type=file]").set_input_files(file)
    page.get_by_role("button", name="Save corpus").click()
    page.get_by_text("This field is required.").wait_for()
    title = page.get_by_label("Title")
    assert title.get_attribute("aria-invalid") == "true"
    page.wait_for_function("document.activeElement.name === 'title'")
    assert page.locator("input[type=file]").evaluate("input => input.files.length") == 1
    page.complaints.clear()  # the browser reports the status 400


def test_upload_play_read_compare(signed_in, corpus):
    page = signed_in
    for player in ("model:demo-ngram", "model:demo-gpt2"):
        page.goto(corpus)
        play(page, player)
    page.get_by_role("link", name="Text", exact=True).click()
    page.wait_for_url("**/text/")  # the page whose scripts are used below
    page.locator("[data-words]").nth(1).hover()
    assert "“woman”" in page.locator("[data-lm-readout]").inner_text()
    page.locator("[data-words]").first.focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert "“women”" in page.locator("[data-lm-readout]").inner_text()
    page.get_by_role("link", name="Line 3, word by word").click()
    page.get_by_role("heading", name="Line 3").wait_for()
    page.get_by_role("link", name="Metrics", exact=True).click()
    page.get_by_role("button", name="Compare").click()
    page.get_by_role("heading", name="(hit@3), difference from").wait_for()
    assert violations_in_both_themes(page) == {}
    page.get_by_role("link", name="changes in the text").click()
    page.get_by_role("heading", name="Changes in the text").wait_for()
    assert page.locator(".lm-text [class*=lm-change-]").count() == 13
    assert violations_in_both_themes(page) == {}
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(SPILL) <= 0


def test_the_form_has_the_fields_of_the_ticked_games_only(signed_in):
    page = signed_in
    page.goto("/games/corpora/demo-sentences/play/")
    predictions, looked_at = (
        page.get_by_label("All predictions in the log"),
        page.get_by_label("Predictions considered"),
    )
    vocabulary, whole = (
        page.get_by_text("Error characters"),
        page.get_by_label("Predict whole words only"),
    )
    assert [field.is_visible() for field in (predictions, looked_at, vocabulary, whole)] == [
        True,
        False,
        False,
        False,
    ]
    page.get_by_label("next word (wp)").uncheck()
    page.get_by_label("text completion (tc)").check()
    page.get_by_text("Games of LM Challenge 5").click()
    page.get_by_label("word reranking (wr)").check()
    assert [field.is_visible() for field in (predictions, looked_at, vocabulary, whole)] == [
        False,
        True,
        True,
        False,
    ]


def test_pages_fit_a_telephone_and_axe_finds_nothing(signed_in):
    page = signed_in
    rows = page.locator("section[aria-labelledby=games] tbody th a", has_text="5-gram, ")
    for _ in range(60):  # the demo's games start after its runs
        page.goto("/games/")
        if rows.count() == 2:
            break
        page.wait_for_timeout(500)
    games = [link.get_attribute("href") for link in rows.all()]
    keys = [game.strip("/").rpartition("/")[2] for game in games]
    demo = "/games/corpora/demo-sentences/"
    addresses = [demo, f"{demo}play/", "/games/upload/", "/games/compare/"]
    addresses.append(f"/games/compare/?game={keys[0]}&game={keys[1]}")
    for game in games:
        addresses += [game, f"{game}text/?line=2", f"{game}text/?order=worst", f"{game}?partition=line"]
    assert len(addresses) == 13
    for address in addresses:
        look(page, address)
