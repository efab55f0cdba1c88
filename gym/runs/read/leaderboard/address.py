"""Parse a leaderboard's options from its URL."""

from __future__ import annotations

import math

from django.http import QueryDict

from lmgym.runs.leaderboard.options import MAX_NAMES, MAX_WEIGHT, Options
from lmgym.runs.rules import rule_of


def read_options(query: QueryDict) -> Options:
    """Parse the options. Invalid values are ignored."""

    def text(name: str) -> str:
        return query.get(name, "").replace("\0", "").strip()[:200]

    def names(name: str) -> tuple[str, ...]:
        values = (part.strip() for value in query.getlist(name)[:MAX_NAMES] for part in value.split(","))
        return tuple(dict.fromkeys(value.replace("\0", "") for value in values if value))[:MAX_NAMES]

    return Options(
        rule=rule_of(text("rule")),
        tag=text("tag"),
        suites=names("suite"),
        models=names("model"),
        q=text("q"),
        sort=text("sort") or "-sg",
        weights=_weights(query),
        common=text("common") == "1",
        group=text("group") == "1",
        source=text("source") if text("source") in {"computed", "uploaded"} else "",
        layout=text("layout") if text("layout") in {"models", "suites"} else "",
    )


def _weights(query: QueryDict) -> dict[str, float]:
    """Parse weights from `weights=a:2,b:0.5`, and from form fields `w.a=2`, where 1 is the default. Weights of 1 and
    invalid ones are left out."""
    pairs = [part.rpartition(":") for part in query.get("weights", "").split(",")]
    texts = {name.strip(): value for name, _, value in pairs if name.strip()}
    texts |= {key[2:]: str(value) for key, value in query.items() if key.startswith("w.")}
    weights: dict[str, float] = {}
    for name, value in list(texts.items())[:MAX_NAMES]:
        try:
            number = float(str(value).replace(",", "."))
        except ValueError:
            continue
        if math.isfinite(number) and 0 <= number <= MAX_WEIGHT and number != 1:
            weights[name] = number
    return weights
