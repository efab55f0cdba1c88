"""Build hook that adds the site to the wheel as lmgym/_site, from where lmgym/cli/site.py starts it.

An editable install runs the site from the repository instead.
"""

from __future__ import annotations

from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SITE = ("manage.py", "gym", "suites", "models_registry", "templates", "static", "docs", "deploy")


class SiteInside(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"] |= {name: f"lmgym/_site/{name}" for name in SITE}
