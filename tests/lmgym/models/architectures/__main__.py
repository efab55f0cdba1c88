"""Try all rows and write docs/architectures.md: `python -m tests.lmgym.models.architectures`."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

from tests.lmgym.models.architectures import page, trial
from tests.lmgym.models.architectures.rows import ABSENT, REFUSED, ROWS


def main() -> None:
    """Print each result, and write the page if all rows hold."""
    outcomes, bad = dict[tuple[str, str], trial.Outcome](), list[str]()
    for row in ROWS:
        if row.way in (REFUSED, ABSENT):
            continue
        begin = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder:
            outcome = trial.try_row(row, Path(folder) / "model")
        outcomes[row.key] = outcome
        print(f"{row.kind} {row.title}: {outcome} ({time.perf_counter() - begin:.1f} s)", flush=True)
        if outcome.difference > trial.BOUND_BITS or outcome.way != row.way:
            bad.append(row.title)
    if bad:
        raise SystemExit(
            f"The page is not written, because these rows differ from the registry: {', '.join(bad)}."
        )
    page.PATH.write_text(page.render(outcomes, time.strftime("%d %B %Y").lstrip("0")))


if __name__ == "__main__":
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    main()
