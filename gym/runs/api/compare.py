"""Comparisons of models, or of two revisions of a suite, on the same items."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, get_or_404
from gym.api.errors import FieldError, invalid, not_there
from gym.api.operations import operation
from gym.runs.api.comparison_serializers import (
    ComparedItemSerializer,
    ComparedItemsHead,
    ComparedItemsSerializer,
    ComparedModelsHead,
    ComparedModelsSerializer,
    ComparedSuiteSerializer,
    ComparisonSerializer,
)
from gym.runs.api.query_parameters import (
    CompareItemsQuery,
    CompareModelsQuery,
    CompareOnSuiteQuery,
    HeadedList,
    names_of,
    numbers_of,
)
from gym.runs.read import comparison_selectors as selectors
from gym.runs.read.comparison import RunSide
from gym.runs.read.comparison_selectors import OnASuite
from lmgym.runs.comparison import MAX_SIDES, Pair, tests_in_words
from lmgym.runs.rules import RULES, Rule
from lmgym.stats import CORRECTIONS, Correction
from lmgym.text import count
from models_registry.models import RegisteredModel
from suites.models import Suite
from suites.selectors import visible_to as visible_suites


class Models(HeadedList):
    @operation(
        "Compare models on all suites",
        response=ComparedModelsSerializer,
        query=CompareModelsQuery,
        name="compare_models",
    )
    def get(self, request: Request) -> Response:
        """Compare two to five models, suite by suite, on the newest revisions of the suites listed for you,
        or of the named suites. The baseline is the first model unless `base` names another. `totals` cover
        all pages; `unlike` lists settings in which the runs differ."""
        models, _ = _models(request, self.query)
        if len(models) < 2:
            raise invalid(FieldError("?model", "Name two to five models.", "Write a,b"))
        rule, correction = _choices(self.query)
        comparison = selectors.on_all_suites(
            request.user,
            models,
            rule,
            correction,
            tag=self.query.get("tag", ""),
            suites=names_of(self.query, "suite"),
        )
        if comparison.unknown:
            raise not_there(("suite", name) for name in comparison.unknown)
        head = {
            "rule": rule,
            "note": _note(rule, correction, comparison.pairs, "comparison"),
            "correction": correction.label,
            "models": models,
            "totals": comparison.totals,
            "missing": comparison.gaps,
        }
        most = max(1, 100 // (len(models) - 1))
        return self.headed(ComparedModelsHead(head).data, comparison.rows, ComparedSuiteSerializer, most=most)


class OnSuite(ApiView):
    @operation(
        "Compare models or revisions on a suite",
        response=ComparisonSerializer,
        query=CompareOnSuiteQuery,
        name="compare_on_suite",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Compare every pair among the newest runs of these models on the revision, or each with `base`. With two
        revisions (`r=1,2`), a pair is one model on both or two models on one; items are matched by number and
        predictions by formula, and `not_compared` lists unmatched predictions. At most five runs. `not_run` lists
        missing results, `unlike` settings in which the runs differ."""
        suite, comparison = _on_a_suite(request, slug, self.query)
        rule, correction = _choices(self.query)
        data = {
            "suite": suite,
            "rule": rule,
            "note": f"{_note(rule, correction, comparison.pairs, 'pair')} {comparison.not_compared_in_words}".strip(),
            "correction": correction.label,
            "comparison": comparison,
        }
        return Response(ComparisonSerializer(data, context={"sides": comparison.sides}).data)


class Items(HeadedList):
    @operation(
        "Compare item by item",
        response=ComparedItemsSerializer,
        query=CompareItemsQuery,
        name="compare_items",
    )
    def get(self, request: Request, slug: str) -> Response:
        """Return the value and margin (bits) of each item in each run; with `only=differ`, only items on which runs
        disagree."""
        _, comparison = _on_a_suite(request, slug, self.query)
        rule, _ = _choices(self.query)
        rows = [row for row in comparison.items if row.differs] if "only" in self.query else comparison.items
        head = {
            "rule": rule,
            "sides": comparison.sides,
            "unlike": comparison.unlike,
            "not_compared": comparison.not_compared,
        }
        return self.headed(ComparedItemsHead(head).data, rows, ComparedItemSerializer)


def _models(request: Request, query: dict[str, Any]) -> tuple[list[RegisteredModel], RegisteredModel | None]:
    """Look up the models, the baseline first; return them and the baseline, if one is named."""
    names = names_of(query, "model")
    if len(names) > MAX_SIDES:
        raise invalid(FieldError("?model", f"{len(names)} models; at most {MAX_SIDES}."))
    base = query.get("base")
    if base and base not in names:
        raise invalid(FieldError("?base", f"“{base}” is not one of the models.", "Name it in ?model, too."))
    models = selectors.models_named(request.user, sorted(names, key=lambda name: name != base))
    missing = [name for name in names if name not in {model.slug for model in models}]
    if missing:
        raise not_there(("model", name) for name in missing)
    return models, models[0] if base else None


def _choices(query: dict[str, Any]) -> tuple[Rule, Correction]:
    return RULES[query["rule"]], CORRECTIONS[query["correction"]]


def _on_a_suite(request: Request, slug: str, query: dict[str, Any]) -> tuple[Suite, OnASuite]:
    suite = get_or_404(visible_suites(request.user), slug=slug)
    (models, baseline), numbers = _models(request, query), numbers_of(query)
    revisions = selectors.chosen_revisions(suite, numbers)
    if missing := set(numbers) - {row.number for row in revisions}:
        raise not_there(("r", str(number)) for number in sorted(missing))
    if not revisions:
        raise invalid(FieldError("?r", "This suite has no frozen revision and no results."))
    points = query.get("bound")
    comparison = selectors.on_a_suite(
        request.user,
        revisions,
        models,
        *_choices(query),
        baseline=baseline,
        bound=None if points is None else points / 100,
    )
    if comparison.left_out:
        n = len(comparison.sides) + len(comparison.left_out)
        hint = f"Leave out {'; '.join(comparison.left_out)}."
        raise invalid(FieldError("?model", f"{n} runs; at most {MAX_SIDES} can be compared.", hint))
    return suite, comparison


def _note(rule: Rule, correction: Correction, pairs: list[Pair[RunSide]], one: str) -> str:
    return (
        f"Scoring rule: {rule.label} ({rule.counts}; as {rule.used_by}). Differences: second − first, rates 0..1; "
        f"95% intervals: Newcombe, paired. p: {tests_in_words(pairs)}, two-sided; "
        f"{correction.label}-corrected for {count(len(pairs), one)}. Ties count as failed."
    )
