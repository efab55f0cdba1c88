"""Requirements on every page: it fits a phone, every control has a name, and it is legible in both themes."""

from __future__ import annotations

from tests.browser.axe import violations_in_both_themes

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

STRUCTURE = {"without a name": NAMELESS, "tables without headings": HEADLESS, "ids used twice": DOUBLE_IDS}


def look(page, address: str) -> None:
    """Load a page once at phone width, then widen it for axe in both themes."""
    page.set_viewport_size({"width": 390, "height": 844})
    answer = page.goto(address)
    assert answer.status < 500
    if answer.status >= 400:
        page.complaints.clear()  # Chromium logs the status itself
    assert page.evaluate(SPILL) <= 0
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.locator("h1").count() == 1
    assert page.title().strip()
    wrong = violations_in_both_themes(page)
    wrong |= {what: page.evaluate(script) for what, script in STRUCTURE.items()}
    assert {what: places for what, places in wrong.items() if places} == {}
