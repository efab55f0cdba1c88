"""Models, or two revisions, on the same items: the numbers of the compare page."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, one
from gym.api.errors import Trouble, invalid
from gym.api.operations import operation
from gym.evaluations.report import OUTCOME_NAMES
from gym.results import comparisons
from gym.results.alike import Unlike
from gym.results.api import examples
from gym.results.api.paging import HeadedList
from gym.results.api.sent import (
    CompareItemsQuery,
    CompareModelsQuery,
    CompareSuiteQuery,
    names_of,
    not_there,
    numbers_of,
)
from gym.results.api.shown import ComparedItemsSerializer, ComparedModelsSerializer, ComparisonSerializer
from gym.results.board_tables import rule_json
from gym.results.compare import MAX_SIDES, ItemRow, Pair, Side, SuiteRow, Total, tests_in_words
from gym.results.comparisons import OnASuite
from gym.results.rules import RULES, Rule
from gym.results.stats import CORRECTIONS, Correction, Difference
from models_registry.models import RegisteredModel
from suites.models import Suite
from suites.selectors import visible_to as visible_suites


class Models(HeadedList):
    @operation(
        "Compare models on all suites",
        answers=ComparedModelsSerializer,
        query=CompareModelsQuery,
        example=examples.COMPARED,
        name="compare_models",
    )
    def get(self, request: Request) -> Response:
        """Two to five models on the newest revisions of the suites that are listed for you, or of those named, suite by
        suite; the baseline is the first model unless `base` names another. `totals` are over all pages. `unlike` says
        in what the runs differ besides the model."""
        models, _ = _models(request, self.query)
        if len(models) < 2:
            raise invalid(Trouble("?model", "This compares two to five models.", "Write a,b"))
        rule, correction = _choices(self.query)
        found = comparisons.on_all_suites(
            request.user,
            models,
            rule,
            correction,
            tag=self.query.get("tag", ""),
            suites=names_of(self.query, "suite"),
        )
        if found.unknown:
            raise not_there(("suite", name) for name in found.unknown)
        head = {
            "rule": rule_json(rule),
            "note": _note(rule, correction, found.pairs, "comparisons"),
            "correction": correction.label,
            "models": [{"model": model.slug, "name": model.name} for model in models],
            "totals": [_total(total) for total in found.totals],
            "missing": [gap.as_json() for gap in found.gaps],
        }
        most = max(1, 100 // (len(models) - 1))
        return self.headed(head, found.rows, lambda page: [_suite_row(row) for row in page], most=most)


class OnSuite(ApiView):
    @operation(
        "Compare models or revisions on a suite",
        answers=ComparisonSerializer,
        query=CompareSuiteQuery,
        example=examples.COMPARISON,
        name="compare_on_suite",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Every pair among the newest runs of these models on the revision, or on two revisions (`r=1,2`), whose items
        are matched by number; with `base` every other model against that one. At most five runs. `not_run` says what
        has no results, `unlike` in what the runs differ besides model and revision."""
        suite, found = _on_a_suite(request, slug, self.query)
        rule, correction = _choices(self.query)
        return Response(
            {
                "suite": suite.slug,
                "title": suite.title,
                "rule": rule_json(rule),
                "note": _note(rule, correction, found.pairs, "pairs"),
                "correction": correction.label,
                "sides": [_side(side) for side in found.sides],
                "unlike": _unlike(found.unlike),
                "not_run": found.not_run,
                "missing": [gap.as_json() for gap in found.gaps],
                "pairs": [_pair(pair, found.sides) for pair in found.pairs],
                "n_items": len(found.items),
                "n_differ": found.n_differ,
            }
        )


class Items(HeadedList):
    @operation(
        "Compare item by item",
        answers=ComparedItemsSerializer,
        query=CompareItemsQuery,
        example=examples.COMPARED_ITEMS,
        name="compare_items",
    )
    def get(self, request: Request, slug: str) -> Response:
        """What each item counts under each run and by how many bits its predictions hold; with `only=differ` the items
        that the runs do not agree on."""
        _, found = _on_a_suite(request, slug, self.query)
        rule, _ = _choices(self.query)
        rows = [row for row in found.items if row.differs] if "only" in self.query else found.items
        head = {
            "rule": rule_json(rule),
            "sides": [_side(side) for side in found.sides],
            "unlike": _unlike(found.unlike),
        }
        return self.headed(head, rows, lambda page: [_item(row) for row in page])


def _models(request: Request, given: dict[str, Any]) -> tuple[list[RegisteredModel], RegisteredModel | None]:
    """The baseline, if one is named, before the others, and once more by itself."""
    names = names_of(given, "model")
    if len(names) > MAX_SIDES:
        raise invalid(Trouble("?model", f"These are {len(names)} models; at most {MAX_SIDES}."))
    base = given.get("base")
    if base and base not in names:
        raise invalid(Trouble("?base", f"“{base}” is none of the models.", "Name it in ?model, too."))
    models = comparisons.models_named(request.user, sorted(names, key=lambda name: name != base))
    missing = [name for name in names if name not in {model.slug for model in models}]
    if missing:
        raise not_there(("model", name) for name in missing)
    return models, models[0] if base else None


def _choices(given: dict[str, Any]) -> tuple[Rule, Correction]:
    return RULES[given["rule"]], CORRECTIONS[given["correction"]]


def _on_a_suite(request: Request, slug: str, given: dict[str, Any]) -> tuple[Suite, OnASuite]:
    suite = one(visible_suites(request.user), slug=slug)
    (models, baseline), numbers = _models(request, given), numbers_of(given)
    revisions = comparisons.chosen_revisions(suite, numbers)
    if missing := set(numbers) - {row.number for row in revisions}:
        raise not_there(("r", str(number)) for number in sorted(missing))
    if not revisions:
        raise invalid(Trouble("?r", "This suite has no frozen revision, and so no results."))
    found = comparisons.on_a_suite(request.user, revisions, models, *_choices(given), baseline=baseline)
    if found.left_out:
        n = len(found.sides) + len(found.left_out)
        hint = f"Without {'; '.join(found.left_out)} it fits."
        raise invalid(Trouble("?model", f"These are {n} runs; at most {MAX_SIDES} are compared.", hint))
    return suite, found


def _note(rule: Rule, correction: Correction, pairs: list[Pair], many: str) -> str:
    return (
        f"Scoring rule: {rule.label} ({rule.counts}; as {rule.used_by}). Differences: second less first, rates 0..1; "
        f"95% intervals by paired bootstrap of items. p: {tests_in_words(pairs)}, two-sided; corrected for "
        f"{len(pairs)} {many} by the method of {correction.label}, which keeps {correction.keeps} below p. "
        "Ties count as failed."
    )


def _unlike(rows: list[Unlike]) -> list[dict[str, Any]]:
    return [{"fact": row.key, "values": list(row.values)} for row in rows]


def _total(total: Total) -> dict[str, Any]:
    return {
        "model": total.model.slug,
        "name": total.model.name,
        "difference": _difference(total.difference),
        "suites_both": total.n_suites,
    }


def _difference(found: Difference) -> dict[str, Any]:
    interval = None if found.low is None else [found.low, found.high]
    return {"n": found.n, "mean": found.mean, "interval": interval, "effect": found.effect}


def _test(pair: Pair) -> dict[str, Any]:
    test = pair.test
    return {
        "method": pair.method.key,
        "only_first": test.only_first,
        "only_second": test.only_second,
        "p": test.p,
        "p_corrected": pair.p_corrected,
    }


def _suite_row(row: SuiteRow) -> dict[str, Any]:
    return {
        "suite": row.revision.suite.slug,
        "title": row.revision.suite.title,
        "revision": row.revision.number,
        "sha256": row.revision.sha256,
        "rates": [_rate(side) if side else None for side in row.sides],
        "against_baseline": [
            {"difference": _difference(pair.rate), "test": _test(pair)} if pair else None
            for pair in row.pairs
        ],
        "unlike": _unlike(row.unlike),
    }


def _rate(side: Side) -> dict[str, Any]:
    limits = side.scored
    return {
        "run": side.run.key,
        "rate": side.rate,
        "interval": None if limits.low is None else [limits.low, limits.high],
        "n_items": limits.n,
    }


def _side(side: Side) -> dict[str, Any]:
    return {
        "model": side.run.model.slug,
        "name": side.run.model.name,
        "label": side.label,
        "revision": side.run.revision.number,
        **_rate(side),
        "score_kind": side.run.score_kind,
        "policy": side.run.policy,
    }


def _pair(pair: Pair, sides: list[Side]) -> dict[str, Any]:
    return {
        "first": sides.index(pair.first),
        "second": sides.index(pair.second),
        "rate": _difference(pair.rate),
        "test": _test(pair),
        "margin": _difference(pair.margin) if pair.margin is not None else None,
    }


def _item(row: ItemRow) -> dict[str, Any]:
    return {
        "item": row.item,
        "differs": row.differs,
        "sides": [
            {
                "outcomes": [OUTCOME_NAMES[code] for code in cell[0]],
                "counts": cell[1],
                "margin_bits": cell[2],
            }
            if cell
            else None
            for cell in row.cells
        ],
    }
