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


def violations_in_both_themes(page: Any) -> dict[str, list[str]]:
    """In the dark theme only the contrast is looked at: nothing else depends on it."""
    found = {}
    for theme, rules in (("light", ()), ("dark", ("color-contrast",))):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found |= {f"{theme}, axe: {rule}": nodes for rule, nodes in violations(page, *rules).items()}
    return found


def violations(page: Any, *rules: str) -> dict[str, list[str]]:
    """Rule: what breaks it, with axe's reason. Without `rules` all are tried."""
    drawn(page)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found = Axe().run(page, options=options).response["violations"]
    return {
        one["id"]: [f"{node['html'][:160]} {node['failureSummary']}" for node in one["nodes"]]
        for one in found
    }
