"""Selecting suites from lists: a collection's picker, and long lists of checkboxes."""

from __future__ import annotations

from tests.browser.conftest import fetch


def test_a_collection_is_picked_with_tag_ticks_and_search_and_keys_alone(signed_in):
    page = signed_in
    page.goto("/collections/new/")
    page.locator("#id_title").fill("Picked with keys")
    page.get_by_label("Short name").fill("picked")
    page.evaluate("window.never = 'loaded anew'")
    page.get_by_label("Tag", exact=True).select_option("center-embedding")
    page.get_by_role("button", name="Search").press("Enter")
    page.get_by_role("button", name="Add all 2 with the tag center-embedding").press("Enter")
    page.get_by_text("2 chosen", exact=True).wait_for()
    page.get_by_label("Tag", exact=True).select_option("")
    search = page.get_by_label("Search titles, names, authors, tags")
    search.fill("garden")
    search.press("Enter")
    page.get_by_label("NP/Z garden path").press("Space")
    page.get_by_role("button", name="Add ticked suites").press("Enter")
    page.get_by_text("3 chosen", exact=True).wait_for()
    assert page.locator("#id_title").input_value() == "Picked with keys"
    assert page.evaluate("window.never") == "loaded anew"
    page.get_by_label("Position of NP/Z garden path").fill("1")
    page.get_by_role("button", name="Create collection").press("Enter")
    page.wait_for_url("**/collections/picked/")
    rows = page.locator("#entries tbody th").all_inner_texts()
    assert rows == ["NP/Z garden path", "Centre embedding", "Centre embedding, with a modifier"]


def test_a_long_list_is_searched_and_ticked_at_once(page, site):
    page.goto("/compare/?model=demo-gpt2&model=demo-ngram")
    page.locator("summary").filter(has_text="Choose models").press("Enter")
    page.get_by_role("link", name="Choose suites").press("Enter")
    search = page.get_by_label("Search suites")
    search.fill("Agreement VERB")
    listed = page.locator("#compare-suites > label:visible")
    assert listed.count() == 4
    search.press("Enter")  # does not submit the form
    tick = page.get_by_role("button", name="Tick all shown (4)")
    tick.press("Enter")
    assert page.get_by_role("button", name="Untick all shown").is_visible()
    page.get_by_role("button", name="Compare", exact=True).press("Enter")
    page.wait_for_url("**/compare/?**suite=**")
    assert page.locator("#compared tbody tr").count() == 4


def test_ticked_runs_are_compared(page, site):
    page.goto("/runs/?q=npi")
    boxes = page.locator("input[name=run]")
    boxes.nth(0).press("Space")
    boxes.nth(1).press("Space")
    page.get_by_role("button", name="Compare ticked runs").press("Enter")
    page.wait_for_url("**/compare/**suite=npi**")
    assert page.locator("#sides tbody tr").count() == 2
    assert "npi" in fetch(f"{site}/api/v1/runs/?q=npi&limit=1")


def test_a_long_select_is_searched_with_the_keyboard_alone(page):
    page.goto("/about/")  # any page with the site's scripts
    names = [f"Model {k} (m{k}), by {'bob' if k % 2 else 'alice'}" for k in range(12)]
    page.evaluate(
        """names => {
          const select = document.createElement("select");
          select.dataset.search = "models";
          select.setAttribute("aria-label", "Model");
          select.append(...names.map((name, k) => new Option(name, k)));
          document.querySelector("main").prepend(select);
        }""",
        names,
    )
    page.evaluate(
        "import(document.querySelector('script[type=module]').src.replace('main', 'filter') + '?again')"
    )
    search = page.get_by_role("searchbox", name="Search models")
    search.focus()
    page.keyboard.type("bob 11")
    select = page.get_by_label("Model", exact=True)
    assert select.locator("option").all_inner_texts() == [names[11]]
    assert select.input_value() == "11"
    search.fill("nobody")
    assert select.input_value() == "11"  # the selection is kept
    search.fill("")
    assert select.locator("option").count() == 12
