"""What axe-core finds on a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe


def violations(page: Any) -> dict[str, list[str]]:
    """Rule: what breaks it, with axe's reason. Colours that have just changed are the old ones until they are drawn."""
    page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
    found = Axe().run(page).response["violations"]
    return {
        one["id"]: [f"{node['html'][:160]} {node['failureSummary']}" for node in one["nodes"]]
        for one in found
    }
