"""The People page on the running site, with the keyboard alone: alice invites bob, he accepts, and she
changes and revokes his role."""

from __future__ import annotations

import re

import pytest

from tests.browser.authoring import sign_in
from tests.browser.axe import violations_in_both_themes
from tests.lmgym.suites.documents import suite_bytes

SPILL = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def role_of_bob(page):
    return page.get_by_role("combobox", name="Role of bob")


def invite_bob(page, role: str) -> None:
    page.get_by_label("User name").focus()
    keys = page.keyboard
    keys.type("bob")
    keys.press("Tab")
    keys.type(role)
    keys.press("Tab")
    keys.press("Enter")
    page.get_by_text("Invited, not yet accepted").wait_for()


def accept(bob, address: str) -> None:
    bob.goto("/")
    title = address.rstrip("/").rpartition("/")[2]
    bob.get_by_role("button", name=f"Accept the invitation to {title}", exact=True).focus()
    bob.keyboard.press("Enter")
    bob.get_by_text(re.compile(rf"You can now (edit|view) {title}\.")).wait_for()


@pytest.fixture
def shared(signed_in, request, tmp_path):
    """Address of alice's private suite."""
    name = f"people_{request.node.name.split('[')[0].removeprefix('test_')[:30]}"
    path = tmp_path / f"{name}.json"
    path.write_bytes(suite_bytes(name=name))
    signed_in.goto("/suites/import/")
    signed_in.locator("#id_file").set_input_files(path)
    signed_in.get_by_role("button", name="Import").click()
    signed_in.wait_for_url(f"**/suites/{name}/")
    return f"/suites/{name}/"


@pytest.fixture
def bob(browser, site):
    """A page in bob's own browser."""
    context = browser.new_context(base_url=site)
    page = context.new_page()
    sign_in(page, "bob", "demo-bob")
    yield page
    context.close()


def test_bob_is_let_in_promoted_and_shut_out_by_keyboard(signed_in, shared, bob):
    page = signed_in
    assert bob.goto(shared).status == 404
    page.goto(f"{shared}people/")
    invite_bob(page, "Can view")
    assert bob.goto(shared).status == 404
    accept(bob, shared)
    page.reload()
    assert role_of_bob(page).input_value() == "view"
    assert bob.goto(shared).status == 200
    assert bob.goto(f"{shared}editor/").status == 403

    role_of_bob(page).focus()
    page.keyboard.type("Can edit")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.get_by_text("Saved.", exact=True).wait_for()
    assert role_of_bob(page).input_value() == "edit"
    assert bob.goto(f"{shared}editor/").status == 200
    bob.wait_for_selector("[data-ready=yes]")

    page.get_by_role("button", name="Remove bob").focus()
    page.keyboard.press("Enter")
    page.get_by_text("is no longer a collaborator").wait_for()
    assert role_of_bob(page).count() == 0
    assert bob.goto(shared).status == 404


def test_the_people_page_fits_a_telephone_and_axe_finds_nothing(signed_in, shared):
    page = signed_in
    page.goto(f"{shared}people/")
    invite_bob(page, "Can edit")
    page.goto(f"{shared}people/")
    assert violations_in_both_themes(page) == {}
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate(SPILL) <= 0
