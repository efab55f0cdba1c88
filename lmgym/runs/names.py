"""docs/names.md: names, meanings and units of result columns, generated from the dataclasses that define them.

`python -m lmgym.runs.names > docs/names.md` regenerates it.
"""

from __future__ import annotations

from dataclasses import fields

from lmgym.agents.tables import TABLES as AGENT_TABLES
from lmgym.lmchallenge.logs.compare import GameComparison
from lmgym.lmchallenge.logs.extra_metrics import (
    BitsPerCharacter,
    CrossValidation,
    CurvePoint,
    KeystrokeSavings,
)
from lmgym.people.tables import TABLES as PEOPLE_TABLES
from lmgym.propara.bootstrap import Question
from lmgym.propara.tables import ProcessScores
from lmgym.runs import tables
from lmgym.runs.comparison import RateComparison
from lmgym.stats import Comparison
from lmgym.text.columns import columns

TABLES: dict[str, tuple[type, ...]] = {
    "rates": tables.RATES,
    "rates_by": (tables.GroupRate,),
    "outcomes": (tables.Outcome,),
    "regions": (tables.Region,),
    "tokens": (tables.Token,),
    "compare": (RateComparison,),
    "scores": tables.SCORES,
    "lmc compare": (GameComparison,),
    "lmc stats --more: bits_per_character": (BitsPerCharacter,),
    "lmc stats --more: keystroke_savings": (KeystrokeSavings,),
    "lmc stats --more: learning_curve": (CurvePoint,),
    "lmc stats --more: cross_validated": (CrossValidation,),
    "propara compare": (Question, Comparison),
    "propara processes": (ProcessScores,),
    **PEOPLE_TABLES,
}
"""Classes that define the columns of each table, which come after those of the suite, run and prediction."""
_TYPES = {"string": "text", "int64": "whole number", "float64": "number", "bool": "true or false"}
HEAD = """\
# Names of results

Each result has one name everywhere: as a column of `lmgym.Result` (`rates()`, `rates_by()`, `outcomes()`, `regions()`,
`tokens()`, `compare()`) and of CSV and Parquet files, as a key of JSON and of the API, and as an attribute in the
client. Surprisals and margins are in bits. A missing value is empty, null or NaN, never 0. This page is generated from
the dataclasses that `lmgym/runs/names.py` lists. How the numbers are computed: [statistics.md](statistics.md).

The JSON file of a run is one object: `unit` (bits) and `complete` (false with `tokens=needed`); `predictions`, each
with the columns of `rates` and its `description`, `outcomes` (whether each item passes) and `details` (each item with
`outcome`, `margin` and `too_close`); `groups`, the rows of `rates_by`, if there are any; and `items`, each with its
`conditions`, each of these with `text`, `surprisal` (of the sentence), `special_surprisal` (of start and end tokens),
`failure` (why it has no values), `regions` and `tokens`. The JSON file of a chart has `title`, `note`, `rule`,
`columns` and `rows`.
"""


def page() -> str:
    """Render the page as Markdown."""
    parts = [
        HEAD,
        _section("Every table", (tables.RunFacts,)),
        _section("Every file from a site", (tables.StoredRunFacts,)),
    ]
    parts += [_section(f"`{name}`", kinds) for name, kinds in TABLES.items()]
    parts += [_section(title, kinds) for title, kinds in AGENT_TABLES.items()]
    return "\n".join(parts)


def _section(title: str, kinds: tuple[type, ...]) -> str:
    introduction = " ".join((kinds[0].__doc__ or "").split())
    lines = [f"## {title}", "", introduction, "", "| name | type | unit | meaning |", "|---|---|---|---|"]
    for kind in kinds:
        types = dict(columns(kind))
        lines += [
            f"| `{column.name}` | {_TYPES[types[column.name]]} | {column.metadata['unit'] or '–'} | "
            f"{column.metadata['meaning']} |"
            for column in fields(kind)
        ]
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
