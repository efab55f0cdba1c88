"""What axe-core finds on a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

SETTLED = """async () => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  for (let quiet = 0; quiet < 3; quiet = document.getAnimations().length ? 0 : quiet + 1) await frame();
}"""


def drawn(page: Any) -> None:
    """Wait until nothing moves: colours that have just changed are the old ones until they are drawn, and fade."""
    page.evaluate(SETTLED)


def violations(page: Any) -> dict[str, list[str]]:
    """Rule: what breaks it, with axe's reason."""
    drawn(page)
    found = Axe().run(page).response["violations"]
    return {
        one["id"]: [f"{node['html'][:160]} {node['failureSummary']}" for node in one["nodes"]]
        for one in found
    }
