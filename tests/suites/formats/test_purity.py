"""The formats and the linter need no Django."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_importing_formats_and_lint_imports_no_django():
    code = "import sys, suites.formats, suites.lint; print(sorted({m.split('.')[0] for m in sys.modules}))"
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert "jsonschema" in done.stdout
    for package in ("django", "torch", "transformers", "requests"):
        assert f"'{package}'" not in done.stdout
