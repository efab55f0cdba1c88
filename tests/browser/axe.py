"""Violations that axe-core finds on a page."""

from __future__ import annotations

from typing import Any

from axe_playwright_python.sync_playwright import Axe

SETTLED = """async () => {
  const frame = () => new Promise(done => requestAnimationFrame(done));
  for (let quiet = 0; quiet < 3; quiet = document.getAnimations().length ? 0 : quiet + 1) await frame();
}"""


def drawn(page: Any) -> None:
    """Wait until all animations have ended, because changed colours fade in."""
    page.evaluate(SETTLED)


def violations_in_both_themes(page: Any) -> dict[str, list[str]]:
    """Return all violations in the light theme, and those of contrast in the dark theme, which changes only
    colours.
    """
    found = {}
    for theme, rules in (("light", ()), ("dark", ("color-contrast",))):
        page.emulate_media(color_scheme=theme, reduced_motion="reduce")
        found |= {f"{theme}, axe: {rule}": nodes for rule, nodes in violations(page, *rules).items()}
    return found


def violations(page: Any, *rules: str) -> dict[str, list[str]]:
    """Return the violating elements with axe's reason, by rule. Without `rules`, all rules are checked."""
    drawn(page)
    options: dict[str, Any] = {"resultTypes": ["violations"]}
    if rules:
        options["runOnly"] = {"type": "rule", "values": list(rules)}
    found = Axe().run(page, options=options).response["violations"]
    return {
        one["id"]: [f"{node['html'][:160]} {node['failureSummary']}" for node in one["nodes"]]
        for one in found
    }
