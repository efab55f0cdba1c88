"""The management commands that read or write the site's database, ordered so that each has something to
do."""

from __future__ import annotations

from pathlib import Path

MODELS = 120
"""Number of uploaded models, so many that their runs are read in several batches."""


def commands(folder: Path) -> list[tuple[str, ...]]:
    suite, results = str(folder / "suite.json"), str(folder / "results.csv")
    return [
        ("import_suite", suite, "--freeze"),
        ("export_suite", "agreement", "--output", str(folder / "exported.json")),
        ("upload_results", results),
        ("store_scores",),
        ("store_people",),
        ("evaluate", suite, "--model", "uniform", "--output", str(folder / "evaluated.txt")),
        ("trim_scores", "--keep", "0"),
        ("demo", "--no-runs"),
    ]


NAMES = [words[0] for words in commands(Path())]
