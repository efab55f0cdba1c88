"""Every page in three forms: nothing spills, nothing is blocked, everything has a name."""

from __future__ import annotations

import json

import pytest

from tests.browser.axe import violations
from tests.browser.conftest import fetch

PAGES = [
    "/",
    "/about/",
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


@pytest.fixture(scope="session")
def newest_run(site) -> str:
    return json.loads(fetch(f"{site}/api/v1/runs/"))["results"][0]["id"]


@pytest.fixture(autouse=True)
def _remember_run(newest_run):
    open_page.run = newest_run


def open_page(page, address):
    answer = page.goto(address.replace("RUN", open_page.run))
    assert answer.status < 500
    if answer.status >= 400:
        page.complaints.clear()  # Chromium logs the status itself
    return answer


@pytest.mark.parametrize("address", PAGES)
def test_a_page_fits_a_telephone(signed_in, address):
    signed_in.set_viewport_size({"width": 390, "height": 844})
    open_page(signed_in, address)
    assert signed_in.evaluate(SPILL) <= 0


@pytest.mark.parametrize("address", PAGES)
def test_a_page_has_names_for_everything(page, address):
    open_page(page, address)
    assert page.locator("h1").count() == 1
    assert page.title().strip()
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(HEADLESS) == []
    assert page.evaluate(DOUBLE_IDS) == []


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


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("address", PAGES)
def test_text_can_be_read_against_its_ground(page, address, theme):
    page.emulate_media(color_scheme=theme)
    open_page(page, address)
    assert page.evaluate(CONTRAST) == []


@pytest.mark.parametrize("address", PAGES)
def test_axe_finds_nothing(signed_in, address):
    found = {}
    for theme in ("light", "dark"):
        signed_in.emulate_media(color_scheme=theme, reduced_motion="reduce")
        open_page(signed_in, address)
        found |= {f"{theme} {name}": nodes for name, nodes in violations(signed_in).items()}
    assert found == {}
