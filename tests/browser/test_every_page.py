"""Every page at phone width and in both themes: nothing overflows, nothing is blocked, every control has a
name."""

from __future__ import annotations

import json

import pytest

from tests.browser.authoring import sign_in
from tests.browser.conftest import fetch, watched_page
from tests.browser.looking import look

PAGES = [
    "/",
    "/about/",
    "/help/",
    "/help/tutorial/",
    "/help/tutorial-agents/",
    "/help/formulas/",
    "/help/suite-format/",
    "/help/glossary/",
    "/help/api/",
    "/queue/",
    "/suites/",
    "/suites/import/",
    "/suites/new/",
    "/suites/new/?by=template",
    "/suites/new/?by=paste",
    "/suites/agreement_orc/",
    "/suites/agreement_orc/copy/",
    "/suites/agreement_orc/diff/1/1/",
    "/suites/agreement_orc/r1/items/",
    "/suites/agreement_orc/edit/",
    "/suites/agreement_orc/history/",
    "/models/",
    "/models/register/",
    "/models/demo-gpt2/",
    "/agents/",
    "/agents/new/",
    "/agents/runs/",
    "/agents/servers/new/",
    "/agents/servers/demo-agents/",
    "/agents/demo-conversations/",
    "/agents/demo-conversations/cases/new/form/",
    "/human-data/",
    "/human-data/simulated-reading-times-slope-12-ms-per-bit/",
    "/human-data/simulated-reading-times-slope-12-ms-per-bit/items/1/",
    "/human-data/simulated-reading-times-slope-12-ms-per-bit/models/",
    "/human-data/new/garden_path_npz/r1/",
    "/leaderboard/",
    "/compare/",
    "/compare/?model=demo-gpt2&model=demo-uniform",
    "/compare/?model=demo-gpt2&model=demo-ngram&model=demo-uniform&base=demo-ngram&model=nobody",
    "/compare/?model=demo-gpt2&model=demo-ngram&suite=agreement_orc&r=9&base=demo-ngram",
    "/collections/",
    "/collections/new/",
    "/compare/?model=demo-gpt2&model=demo-ngram&suite=agreement_orc",
    "/compare/?model=demo-gpt2&model=demo-ngram&suite=agreement_orc&item=2",
    "/runs/",
    "/runs/upload/",
    "/runs/RUN/",
    "/runs/RUN/items/1/",
    "/notifications/",
    "/accounts/profile/",
    "/accounts/profile/edit/",
    "/accounts/password/",
    "/accounts/tokens/",
    "/accounts/hub-token/",
    "/accounts/delete/",
    "/games/",
    "/games/corpora/new/",
    "/propara/",
    "/propara/new/",
    "/propara/compare/",
    "/propara/everyday-processes/",
    "/propara/everyday-processes/v1/submit/",
    "/propara/everyday-processes/v1/processes/1/",
    "/nothing-here/",
]
SIGNED_OUT = [
    "/",
    "/suites/",
    "/suites/agreement_orc/",
    "/models/demo-gpt2/",
    "/runs/RUN/",
    "/queue/",
    "/collections/",
    "/agents/",
    "/agents/demo-conversations/",
    "/games/",
    "/propara/",
    "/propara/everyday-processes/",
    "/accounts/login/",
    "/accounts/sign-up/",
    "/accounts/password/reset/",
    "/accounts/password/reset/x/y/",
    "/nothing-here/",
]
"""Pages that look different for signed-out visitors, or exist only for them."""


@pytest.fixture(scope="module")
def newest_run(site) -> str:
    return json.loads(fetch(f"{site}/api/v1/runs/"))["results"][0]["id"]


@pytest.fixture(scope="module")
def alices_session(browser, site):
    """Cookies of alice's session, shared by all pages."""
    with watched_page(browser, site) as page:
        sign_in(page, "alice", "demo-alice")
        return page.context.storage_state()


@pytest.fixture
def alices_page(browser, site, alices_session):
    with watched_page(browser, site, storage_state=alices_session, reduced_motion="reduce") as page:
        yield page


@pytest.mark.parametrize("address", PAGES)
def test_a_page_fits_a_telephone_has_names_for_everything_and_can_be_read(alices_page, newest_run, address):
    look(alices_page, address.replace("RUN", newest_run))


@pytest.mark.parametrize("address", SIGNED_OUT)
def test_so_does_a_page_for_strangers(browser, site, newest_run, address):
    with watched_page(browser, site, reduced_motion="reduce") as page:
        look(page, address.replace("RUN", newest_run))
