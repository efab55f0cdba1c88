"""One model against the field: what its page shows beside its card."""

from __future__ import annotations

from typing import Any

from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.base import ApiView, get_or_404
from gym.api.operations import operation
from gym.runs.api.comparison_serializers import ProfileSerializer
from gym.runs.api.query_parameters import RuleQuery
from gym.runs.core.rules import RULES
from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.read.leaderboard.export import note
from gym.runs.read.leaderboard.model import Board
from gym.runs.read.leaderboard.options import Options
from gym.runs.read.model_profile import (
    against_field,
    checkpoints,
    robust_pairs,
    row_of,
    strengths_and_weaknesses,
    tag_rows,
)
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to


class Profile(ApiView):
    @operation("Read a model's profile", answers=ProfileSerializer, query=RuleQuery)
    def get(self, request: Request, slug: str) -> Response:
        """Means by tag and suite beside those of the other models, suites without and with a modifier, checkpoints of
        the same model in order, and all models' scores with their sizes: the numbers behind the page's charts."""
        model = get_or_404(visible_to(request.user), slug=slug)
        board = leaderboard(request.user, Options(rule=RULES[self.query["rule"]]))
        return Response(ProfileSerializer(_profile(board, model)).data)


def _profile(board: Board, model: RegisteredModel) -> dict[str, Any]:
    own = row_of(board, model)
    ranked = against_field(board, model)
    strengths, weaknesses = strengths_and_weaknesses(ranked)
    return {
        "model": model,
        "rule": board.options.rule,
        "note": note(board),
        "score": own.score if own else None,
        "missing": own.gaps if own else (),
        "tags": tag_rows(board, model),
        "suites": ranked,
        "strengths": [row.revision.suite.slug for row in strengths],
        "weaknesses": [row.revision.suite.slug for row in weaknesses],
        "pairs": robust_pairs(board, [model]),
        "checkpoints": [{"step": step, "row": row} for step, row in checkpoints(board, model)],
        "field": board.rows,
    }
