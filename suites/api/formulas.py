"""API that explains a prediction's formula."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.api.base import ApiView
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.records import RecordSerializer
from gym.api.requests import Body
from lmgym.suites.formats import MAX_CONDITIONS, MAX_REGIONS
from lmgym.suites.formulas import MAX_LENGTH, FormulaError, parse
from lmgym.suites.formulas.chance import ChanceLevel
from lmgym.suites.formulas.formula import Piece

MAX_ITEMS = 10_000


@extend_schema_field({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10_000}, {"const": "*"}]})
class RegionField(serializers.Field[Any, Any, Any, Any]):
    """A region number, or "*" for the whole sentence."""

    def to_internal_value(self, data: Any) -> Any:
        whole = isinstance(data, int) and not isinstance(data, bool) and 1 <= data <= 10_000
        if data != "*" and not whole:
            raise serializers.ValidationError('This must be a region number or "*".')
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class FormulaBody(Body):
    formula = serializers.CharField(max_length=MAX_LENGTH, trim_whitespace=False, allow_blank=True)


class ExplainBody(FormulaBody):
    regions = serializers.ListField(
        child=serializers.CharField(max_length=200), max_length=MAX_REGIONS, help_text="names, in order"
    )
    conditions = serializers.ListField(child=serializers.CharField(max_length=200), max_length=MAX_CONDITIONS)


class Value(Body):
    condition = serializers.CharField(max_length=200)
    region = RegionField()
    bits = serializers.ListField(
        child=serializers.FloatField(allow_null=True),
        min_length=1,
        max_length=MAX_ITEMS,
        help_text="surprisal of each item; null = no value",
    )


class PieceSerializer(RecordSerializer):
    region = RegionField(allow_null=True)

    class Meta:
        dataclass = Piece
        extra_kwargs = {"start": {"help_text": "offset in the formula, from 0"}}


class FormulaErrorSerializer(serializers.Serializer[Any]):
    message = serializers.CharField()
    position = serializers.IntegerField()
    length = serializers.IntegerField()
    hint = serializers.CharField()


class ChanceSerializer(RecordSerializer):
    class Meta:
        dataclass = ChanceLevel
        ref_name = "Chance"
        extra_kwargs = {
            "assumed_bits": {
                "help_text": "mean of the simulated surprisals, if a constant in the formula makes it relevant"
            },
            "assumed_regions": {
                "help_text": "number of regions that `*` sums in the simulation: the number of `regions`, "
                "or without them the smallest number that fits the formula"
            },
            "assumes_independence": {
                "help_text": "the formula joins comparisons; the level differs if they are correlated"
            },
        }


class ExplainedSerializer(serializers.Serializer[Any]):
    """An explained formula. `errors`: syntax errors and unknown names; if there are any, prose and chance
    level are empty."""

    ok = serializers.BooleanField()
    errors = FormulaErrorSerializer(many=True)  # type: ignore[assignment]  # a declared field
    prose = serializers.CharField()
    chance = ChanceSerializer(allow_null=True)
    warnings = serializers.ListField(child=serializers.CharField())
    pieces = PieceSerializer(many=True)


class FormulaView(ApiView):
    """Base of views that explain formulas or designs. Requires an account, since long formulas are costly;
    the scope `read` suffices, since nothing is changed."""

    permission_classes = [IsAuthenticated, TokenScope]
    token_scope = Scope.READ


class Explain(FormulaView):
    @operation("Explain a formula", body=ExplainBody, response=ExplainedSerializer)
    def post(self, request: Request) -> Response:
        """Return the formula in words and its chance level, checked against regions and conditions. Errors in the
        formula are part of a 200, with their positions."""
        body = self.body()
        regions = dict(enumerate(body["regions"], start=1))
        formula, errors = None, []
        try:
            formula = parse(body["formula"])
            errors = formula.check(regions, body["conditions"])
        except FormulaError as error:
            errors = [error]
        explanation = {
            "ok": not errors,
            "errors": errors,
            "prose": "" if errors or formula is None else formula.describe(regions),
            "chance": None
            if errors or formula is None
            else formula.chance_level(n_regions=len(regions) or None),
            "warnings": formula.warnings if formula else [],
            "pieces": formula.pieces(regions) if formula else [],
        }
        return self.respond(explanation)
