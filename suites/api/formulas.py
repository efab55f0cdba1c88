"""Formulas: read one, say what it means, try it on values."""

from __future__ import annotations

from typing import Any

import numpy as np
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope
from gym.api.base import ApiView
from gym.api.errors import Trouble, invalid
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body
from suites.editor_views import error_shown, reading_shown
from suites.formats import MAX_CONDITIONS, MAX_REGIONS
from suites.formulas import MAX_LENGTH, READINGS, FormulaError, parse

OUTCOMES = ("failed", "held", "tie", "not evaluable")
MAX_ITEMS = 10_000
MAX_VALUES = 1_000


@extend_schema_field({"anyOf": [{"type": "integer", "minimum": 1, "maximum": 10_000}, {"const": "*"}]})
class RegionField(serializers.Field):
    """A region number, or "*" for the whole sentence."""

    def to_internal_value(self, data: Any) -> Any:
        whole = isinstance(data, int) and not isinstance(data, bool) and 1 <= data <= 10_000
        if data != "*" and not whole:
            raise serializers.ValidationError('This must be the number of a region, or "*".')
        return data

    def to_representation(self, value: Any) -> Any:
        return value


class FormulaBody(Body):
    formula = serializers.CharField(max_length=MAX_LENGTH, trim_whitespace=False)
    reading = serializers.ChoiceField(
        READINGS, default="import", help_text="what a chain without brackets means, see docs/formulas.md"
    )


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


class EvaluateBody(FormulaBody):
    values = Value(many=True, max_length=MAX_VALUES)


class PieceSerializer(serializers.Serializer):
    kind = serializers.ChoiceField(["ref", "op", "bracket", "number", "blank"])
    text = serializers.CharField()
    condition = serializers.CharField(allow_null=True)
    region = RegionField(allow_null=True)
    start = serializers.IntegerField(help_text="place in the formula, from 0")
    label = serializers.CharField()


class ReferenceSerializer(serializers.Serializer):
    condition = serializers.CharField()
    region = RegionField()


class ParsedSerializer(serializers.Serializer):
    canonical = serializers.CharField(help_text="the same with all brackets written")
    references = ReferenceSerializer(many=True)
    warnings = serializers.ListField(child=serializers.CharField())
    pieces = PieceSerializer(many=True)


class FormulaErrorSerializer(serializers.Serializer):
    message = serializers.CharField()
    position = serializers.IntegerField()
    length = serializers.IntegerField()
    hint = serializers.CharField()


class ChanceSerializer(serializers.Serializer):
    value = serializers.FloatField()
    exact = serializers.BooleanField()
    standard_error = serializers.FloatField()


class ExplainedSerializer(serializers.Serializer):
    """`errors`: names that the suite lacks; then there is neither prose nor a chance level."""

    ok = serializers.BooleanField()
    errors = FormulaErrorSerializer(many=True)
    prose = serializers.CharField()
    chance = ChanceSerializer(allow_null=True)
    warnings = serializers.ListField(child=serializers.CharField())
    pieces = PieceSerializer(many=True)


class JudgedSerializer(serializers.Serializer):
    outcome = serializers.ChoiceField(OUTCOMES)
    margin = serializers.FloatField(allow_null=True, help_text="bits by which it held (+) or failed (-)")


class EvaluatedSerializer(serializers.Serializer):
    items = JudgedSerializer(many=True)


FORMULA = "(2;%mismatch%) > (2;%match%)"
PIECES = [
    {"kind": "ref", "text": "(2;%mismatch%)", "condition": "mismatch", "region": 2, "start": 0, "label": ""},
    {"kind": "blank", "text": " ", "condition": None, "region": None, "start": 14, "label": ""},
]


class FormulaView(ApiView):
    """Takes an account, because a long formula is work; changes nothing, so a token that may read will do."""

    permission_classes = [IsAuthenticated, TokenScope]
    token_scope = Scope.READ


class Parse(FormulaView):
    @operation(
        "Read a formula",
        takes=FormulaBody,
        sends={"formula": FORMULA},
        answers=ParsedSerializer,
        example={
            "canonical": FORMULA,
            "references": [{"condition": "match", "region": 2}, {"condition": "mismatch", "region": 2}],
            "warnings": [],
            "pieces": PIECES,
        },
    )
    def post(self, request: Request) -> Response:
        """Its pieces, as they stand in the text, and what it refers to."""
        given = self.given()
        formula = parse(given["formula"], given["reading"])
        references = sorted(formula.references, key=str)
        return Response(
            {
                "canonical": formula.canonical(),
                "references": [
                    {"condition": condition, "region": region} for condition, region in references
                ],
                "warnings": list(formula.warnings),
                "pieces": reading_shown(formula, {}, True)["pieces"],
            }
        )


class Explain(FormulaView):
    @operation(
        "Say what a formula means",
        takes=ExplainBody,
        sends={"formula": FORMULA, "regions": ["Subject", "Verb"], "conditions": ["match", "mismatch"]},
        answers=ExplainedSerializer,
        example={
            "ok": True,
            "errors": [],
            "prose": "Verb is more surprising in mismatch than in match.",
            "chance": {"value": 0.5, "exact": True, "standard_error": 0.0},
            "warnings": [],
            "pieces": PIECES,
        },
    )
    def post(self, request: Request) -> Response:
        """In words, and how often it would be true by chance, held against regions and conditions."""
        given = self.given()
        regions = dict(enumerate(given["regions"], start=1))
        formula = parse(given["formula"], given["reading"])
        errors = [error_shown(error) for error in formula.check(regions, given["conditions"])]
        return Response({"ok": not errors, "errors": errors, **reading_shown(formula, regions, bool(errors))})


class Evaluate(FormulaView):
    @operation(
        "Evaluate a formula",
        takes=EvaluateBody,
        sends={
            "formula": FORMULA,
            "values": [
                {"condition": "match", "region": 2, "bits": [7.25, 9.5]},
                {"condition": "mismatch", "region": 2, "bits": [11.0, 9.5]},
            ],
        },
        answers=EvaluatedSerializer,
        example={"items": [{"outcome": "held", "margin": 3.75}, {"outcome": "tie", "margin": 0.0}]},
    )
    def post(self, request: Request) -> Response:
        """On surprisals in bits, for as many items at once as there are values; a tie is not a pass."""
        given = self.given()
        formula = parse(given["formula"], given["reading"])
        values, n = {}, None
        for place, row in enumerate(given["values"]):
            n = len(row["bits"]) if n is None else n
            where = f"$.values[{place}]"
            if len(row["bits"]) != n:
                raise invalid(Trouble(f"{where}.bits", f"{len(row['bits'])} values, but the first has {n}."))
            key = (row["condition"], row["region"])
            if key in values:
                raise invalid(Trouble(where, "This condition and region were given before."))
            values[key] = np.array([np.nan if one is None else one for one in row["bits"]], dtype=float)
        try:
            judged = formula.evaluate_items(values)
        except FormulaError as error:
            raise invalid(Trouble("$.values", str(error))) from error
        return Response(
            {
                "items": [
                    {"outcome": OUTCOMES[int(code)], "margin": float(bits) if np.isfinite(bits) else None}
                    for code, bits in zip(judged.outcome, judged.margin, strict=True)
                ]
            }
        )
