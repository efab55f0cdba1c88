"""Options of a leaderboard, and their shortest form as a query string.

`?rule=all&suite=npi_orc&suite=number_prep&weights=npi_orc:2,number_prep:0.5&tag=agreement&model=gpt2&q=gpt&sort=-sg`
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from lmgym.runs.rules import EACH, Rule

MAX_WEIGHT = 1000.0
MAX_NAMES = 500


@dataclass(frozen=True)
class Options:
    """Options of a leaderboard. `weights`: suite slug -> weight, 1 if missing. `common`: only suites that all
    shown models have run. `layout`: rows are `models` or `suites`; empty = whichever is more numerous."""

    rule: Rule = EACH
    tag: str = ""
    suites: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    q: str = ""
    sort: str = "-sg"
    weights: Mapping[str, float] = field(default_factory=dict)
    common: bool = False
    group: bool = False
    source: str = ""
    layout: str = ""

    def weight(self, slug: str) -> float:
        return self.weights.get(slug, 1.0)

    def query(self, **changes: object) -> str:
        """Return the query string in its shortest form; `changes` replace fields."""
        return _query(replace(self, **changes))  # type: ignore[arg-type]

    @property
    def is_narrowed(self) -> bool:
        return bool(self.tag or self.suites or self.models or self.q or self.common or self.source)


def _query(options: Options) -> str:
    pairs: list[tuple[str, str]] = []
    if options.rule is not EACH:
        pairs.append(("rule", options.rule.key))
    for name in ("tag", "q", "source"):
        if value := getattr(options, name):
            pairs.append((name, value))
    pairs += [("suite", ",".join(options.suites))] if options.suites else []
    pairs += [("model", ",".join(options.models))] if options.models else []
    if options.weights:
        pairs.append(("weights", ",".join(f"{name}:{value:g}" for name, value in options.weights.items())))
    pairs += [(name, "1") for name in ("common", "group") if getattr(options, name)]
    if options.layout:
        pairs.append(("layout", options.layout))
    if options.sort != "-sg":
        pairs.append(("sort", options.sort))
    return urlencode(pairs, safe=":,")
