"""docs/names.md: every name of a column of results, with its meaning and unit, made from the classes of
`lmgym.runs.tables`. `python -m lmgym.runs.names > docs/names.md` writes it again."""

from __future__ import annotations

from dataclasses import fields

from lmgym.runs import tables
from lmgym.text.columns import columns

TABLES: dict[str, tuple[type, ...]] = {
    "rates": (tables.Rate, tables.Policy),
    "outcomes": (tables.Outcome,),
    "regions": (tables.Region,),
    "tokens": (tables.Token,),
    "compare": (tables.Compared,),
    "scores": (tables.Score, tables.Policy),
}
"""Table -> classes of its columns, after those of the run."""
_TYPES = {"string": "text", "int64": "whole number", "float64": "number", "bool": "true or false"}
HEAD = """\
# Names of results

One name for each thing, everywhere: columns of `lmgym.Result` (`rates()`, `outcomes()`, `regions()`, `tokens()`,
`compare()`), of CSV and Parquet files, keys of JSON and of the API, attributes of the client. Surprisals and margins
are in bits. What has no value is empty, null or NaN, never 0. This page is made from `lmgym/runs/tables.py`; how the
numbers are computed stands in [results.md](results.md).
"""


def page() -> str:
    """The page as Markdown."""
    parts = [
        HEAD,
        _section("Every table", (tables.RunFacts,)),
        _section("Every file of a site", (tables.StoredRunFacts,)),
    ]
    parts += [_section(f"`{name}`", kinds) for name, kinds in TABLES.items()]
    return "\n".join(parts)


def _section(title: str, kinds: tuple[type, ...]) -> str:
    first = " ".join((kinds[0].__doc__ or "").split())
    lines = [f"## {title}", "", first, "", "| name | type | unit | meaning |", "|---|---|---|---|"]
    for kind in kinds:
        types = dict(columns(kind))
        lines += [
            f"| `{one.name}` | {_TYPES[types[one.name]]} | {one.metadata['unit'] or '–'} | {one.metadata['meaning']} |"
            for one in fields(kind)
        ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
