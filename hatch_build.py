"""Build hook that adds the site to the wheel as lmgym/_site, from where lmgym/cli/site.py starts it.

An editable install runs the site from the repository instead.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SITE = ("manage.py", "gym", "suites", "models_registry", "templates", "static", "docs", "deploy")


class SiteInside(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable":
            build_data["force_include"] |= {path: f"lmgym/_site/{path}" for path in self._files()}

    def _files(self) -> list[str]:
        """List the site's files. `force_include` of a folder adds files that git ignores, such as deploy/.env."""
        root = Path(self.root)
        paths = [path for name in SITE for path in (root / name, *(root / name).rglob("*")) if path.is_file()]
        names = sorted(path.relative_to(root).as_posix() for path in paths)
        return [name for name in names if not self.build_config.path_is_excluded(name)]
