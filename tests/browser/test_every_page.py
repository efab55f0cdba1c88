"""Every page, on a telephone and in both themes: nothing spills, nothing is blocked, everything has a name."""

from __future__ import annotations

import json

import pytest

from tests.browser.authoring import sign_in
from tests.browser.axe import drawn, violations_in_both_themes
from tests.browser.conftest import fetch, watched_page

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
    "/accounts/login/",
    "/accounts/sign-up/",
    "/accounts/password/reset/",
    "/accounts/password/reset/x/y/",
    "/notifications/",
    "/accounts/profile/",
    "/accounts/profile/edit/",
    "/accounts/password/",
    "/accounts/tokens/",
    "/accounts/delete/",
    "/games/",
    "/games/corpora/new/",
    "/propara/",
    "/propara/new/",
    "/propara/compare/",
    "/propara/everyday-processes/",
    "/propara/everyday-processes/v1/submit/",
    "/propara/everyday-processes/v1/generate/",
    "/propara/everyday-processes/v1/processes/1/",
    "/nothing-here/",
]

NAMELESS = """
[...document.querySelectorAll('a, button, input:not([type=hidden]), select, textarea, svg[role=img], img')]
  .filter(e => e.checkVisibility())
  .filter(e => !(e.innerText || '').trim() && !e.getAttribute('aria-label') && !e.getAttribute('aria-labelledby')
    && !(e.labels && e.labels.length) && !e.getAttribute('title') && !e.querySelector('title')
    && !(e.alt || '').trim() && !(e.textContent || '').trim())
  .map(e => e.outerHTML.slice(0, 120))
"""
HEADLESS = """
[...document.querySelectorAll('table')].filter(t => !t.querySelector('th')).map(t => t.outerHTML.slice(0, 120))
"""
DOUBLE_IDS = """
[...document.querySelectorAll('[id]')].map(e => e.id).filter((id, k, all) => all.indexOf(id) !== k)
"""
SPILL = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


CONTRAST = """
() => {
  const parse = c => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 && m[3] === 0 ? null : m; };
  const lum = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, k) => sum + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = e => { for (; e; e = e.parentElement) {
    const c = getComputedStyle(e).backgroundColor; if (!c.startsWith('rgb')) return null;
    const p = parse(c); if (p && (p.length < 4 || p[3] === 1)) return p; if (p) return null; }
    return null; };
  const bad = [];
  for (const e of document.querySelectorAll('main *, header *, footer *')) {
    const text = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!text || !e.checkVisibility() || e.closest('svg, .visually-hidden, [disabled]')) continue;
    const style = getComputedStyle(e);
    if (!style.color.startsWith('rgb')) continue;
    const back = ground(e), front = parse(style.color);
    if (!back || !front) continue;
    const [a, b] = [lum(back), lum(front)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5))
      bad.push(`${ratio.toFixed(2)} ${e.className || e.tagName}: ${e.textContent.trim().slice(0, 30)}`);
  }
  return [...new Set(bad)];
}
"""
STRUCTURE = {"without a name": NAMELESS, "tables without headings": HEADLESS, "ids used twice": DOUBLE_IDS}
THEMES = ("light", "dark")


@pytest.fixture(scope="module")
def newest_run(site) -> str:
    return json.loads(fetch(f"{site}/api/v1/runs/"))["results"][0]["id"]


@pytest.fixture(scope="module")
def alices_session(browser, site):
    """The cookies of alice, who signs in once for all pages."""
    with watched_page(browser, site) as page:
        sign_in(page, "alice", "demo-alice")
        return page.context.storage_state()


@pytest.fixture
def alices_page(browser, site, alices_session):
    with watched_page(browser, site, storage_state=alices_session, reduced_motion="reduce") as page:
        yield page


def load(page, address: str) -> None:
    answer = page.goto(address)
    assert answer.status < 500
    if answer.status >= 400:
        page.complaints.clear()  # Chromium logs the status itself


@pytest.mark.parametrize("address", PAGES)
def test_a_page_fits_a_telephone_has_names_for_everything_and_can_be_read(
    page, alices_page, newest_run, address
):
    """Three loads: signed in on a telephone, signed in for axe in both themes, and signed out in both themes."""
    address = address.replace("RUN", newest_run)
    alices_page.set_viewport_size({"width": 390, "height": 844})
    load(alices_page, address)
    assert alices_page.evaluate(SPILL) <= 0

    alices_page.set_viewport_size({"width": 1280, "height": 900})
    load(alices_page, address)
    wrong = violations_in_both_themes(alices_page)

    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    load(page, address)
    assert page.locator("h1").count() == 1
    assert page.title().strip()
    wrong |= {what: page.evaluate(script) for what, script in STRUCTURE.items()}
    for theme in THEMES:
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        drawn(page)
        wrong[f"{theme}, too little contrast"] = page.evaluate(CONTRAST)
    assert {what: places for what, places in wrong.items() if places} == {}
