"""Checks for `lmgym doctor` and the button on the staff page.

Never called in the web process: the check for a GPU imports torch.
"""

from __future__ import annotations

from gym.doctor import exposure, machine, services, sign_in
from gym.doctor.levels import BAD, OK, WARN, Finding

__all__ = ["BAD", "OK", "WARN", "Finding", "findings"]


def findings() -> list[Finding]:
    """Run every check and return the results as (level, message); the level is OK, WARN or BAD."""
    results: list[Finding] = []
    for module in (machine, services, exposure, sign_in):
        try:
            results += module.check()
        except Exception as error:  # noqa: BLE001  whatever is wrong with the site is a finding
            name = module.__name__.rpartition(".")[2]
            results.append((BAD, f"the checks of {name} failed: {type(error).__name__}: {error}"))
    return results
