"""What a leaderboard's address says: rule, suites, weights, models, order. Reading never fails; nonsense is left out.

`?rule=all&suite=npi_orc&suite=number_prep&weights=npi_orc:2,number_prep:0.5&tag=agreement&model=gpt2&q=gpt&sort=-sg`
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from django.http import QueryDict

from gym.runs.core.rules import EACH, Rule, rule_of

MAX_WEIGHT = 1000.0
MAX_NAMES = 500


@dataclass(frozen=True)
class Options:
    """`weights`: suite slug -> weight, 1 where missing. `common`: only suites that all shown models have run."""

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

    def weight(self, slug: str) -> float:
        return self.weights.get(slug, 1.0)

    def query(self, **changes: object) -> str:
        """The address's query string, shortest form; `changes` replace fields."""
        return _query(replace(self, **changes))  # type: ignore[arg-type]

    @property
    def is_narrowed(self) -> bool:
        return bool(self.tag or self.suites or self.models or self.q or self.common or self.source)


def read_options(given: QueryDict) -> Options:
    def text(name: str) -> str:
        return given.get(name, "").replace("\0", "").strip()[:200]

    def names(name: str) -> tuple[str, ...]:
        values = (part.strip() for value in given.getlist(name)[:MAX_NAMES] for part in value.split(","))
        return tuple(dict.fromkeys(value.replace("\0", "") for value in values if value))[:MAX_NAMES]

    return Options(
        rule=rule_of(text("rule")),
        tag=text("tag"),
        suites=names("suite"),
        models=names("model"),
        q=text("q"),
        sort=text("sort") or "-sg",
        weights=_weights(given),
        common=text("common") == "1",
        group=text("group") == "1",
        source=text("source") if text("source") in {"computed", "uploaded"} else "",
    )


def _weights(given: QueryDict) -> dict[str, float]:
    """From `weights=a:2,b:0.5`, and from a form's fields `w.a=2`, of which 1 says nothing."""
    pairs = [part.rpartition(":") for part in given.get("weights", "").split(",")]
    found = {name.strip(): value for name, _, value in pairs if name.strip()}
    found |= {key[2:]: value for key, value in given.items() if key.startswith("w.")}
    weights: dict[str, float] = {}
    for name, value in list(found.items())[:MAX_NAMES]:
        try:
            number = float(str(value).replace(",", "."))
        except ValueError:
            continue
        if math.isfinite(number) and 0 <= number <= MAX_WEIGHT and number != 1:
            weights[name] = number
    return weights


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
    if options.sort != "-sg":
        pairs.append(("sort", options.sort))
    return urlencode(pairs, safe=":,")
