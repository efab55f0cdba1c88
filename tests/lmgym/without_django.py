"""pytest plugin that makes `import django` fail, as in an environment with only the library."""

import sys

assert "django" not in sys.modules
sys.modules["django"] = None  # type: ignore[assignment]  # Python's way to make an import fail
