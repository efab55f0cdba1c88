"""One model against the field: what its page shows beside its card."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, one
from gym.api.operations import operation
from gym.evaluations.statistics import Interval
from gym.results.api import examples
from gym.results.api.sent import RuleQuery
from gym.results.api.shown import ProfileSerializer
from gym.results.board_tables import mean_json, note, rule_json
from gym.results.cells import Board
from gym.results.leaderboard import leaderboard
from gym.results.options import Options
from gym.results.profile import (
    Change,
    SuiteAgainstField,
    against_field,
    checkpoints,
    robust_pairs,
    row_of,
    strengths_and_weaknesses,
    tag_rows,
)
from gym.results.rules import RULES
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to


class Profile(ApiView):
    path_examples = {"slug": "demo-gpt2"}

    @operation("Read a model's profile", answers=ProfileSerializer, query=RuleQuery, example=examples.PROFILE)
    def get(self, request: Request, slug: str) -> Response:
        """Means by tag and suite beside those of the other models, suites without and with a modifier, checkpoints of
        the same model in order, and all models' scores with their sizes: the numbers behind the page's charts."""
        model = one(visible_to(request.user), slug=slug)
        board = leaderboard(request.user, Options(rule=RULES[self.query["rule"]]))
        return Response(_profile(board, model))


def _profile(board: Board, model: RegisteredModel) -> dict[str, Any]:
    own = row_of(board, model)
    ranked = against_field(board, model)
    strengths, weaknesses = strengths_and_weaknesses(ranked)
    return {
        "model": model.slug,
        "name": model.name,
        "rule": rule_json(board.options.rule),
        "note": note(board),
        "score": mean_json(own.score) if own else None,
        "missing": [gap.as_json() for gap in own.gaps] if own else [],
        "tags": [
            {"tag": row.tag, "mean": mean_json(row.mean), "others_mean": row.field, "others": row.n}
            for row in tag_rows(board, model)
        ],
        "suites": [_against(row) for row in ranked],
        "strengths": [row.revision.suite.slug for row in strengths],
        "weaknesses": [row.revision.suite.slug for row in weaknesses],
        "pairs": [
            {
                "plain": pair.plain.key,
                "modified": pair.modified.key,
                **_change(pair.change),
                "items_without": pair.before.n,
                "items_with": pair.after.n,
            }
            for pair in robust_pairs(board, [model])
        ],
        "checkpoints": [
            {"step": step, "model": row.model.slug, "name": row.name, "score": mean_json(row.score)}
            for step, row in checkpoints(board, model)
        ],
        "field": [
            {
                "model": row.model.slug,
                "name": row.name,
                "parameters": row.model.parameters,
                "perplexity": row.model.perplexity,
                "score": mean_json(row.score),
            }
            for row in board.rows
        ],
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "without": change.without,
        "without_interval": _limits(change.without_interval),
        "with_modifier": change.with_modifier,
        "with_interval": _limits(change.with_interval),
        "difference": change.difference,
        "difference_interval": _limits(change.difference_interval),
    }


def _limits(interval: Interval) -> list[float]:
    return [interval.low, interval.high]


def _against(row: SuiteAgainstField) -> dict[str, Any]:
    return {
        "suite": row.revision.suite.slug,
        "revision": row.revision.number,
        "run": row.cell.run,
        "rate": row.rate,
        "interval": [row.cell.low, row.cell.high],
        "n_items": row.cell.n,
        "chance": row.cell.chance,
        "policy": row.cell.said_policy,
        "others_mean": row.field,
        "others": row.n,
        "difference": row.difference,
        "rank": row.rank,
    }
