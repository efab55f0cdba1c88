"""API that explains a factorial design: its effects, and the conditions it lacks."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from gym.api.errors import FieldError, invalid
from gym.api.operations import operation
from gym.api.records import RecordSerializer
from gym.api.requests import Body
from lmgym.suites.effects import Effect, effects
from lmgym.suites.formats import MAX_CONDITIONS, MAX_REGIONS
from lmgym.suites.formats.designs import (
    Design,
    DesignError,
    condition_name,
    empty_cells,
    named_after_levels,
    outside,
    read_factors,
    read_lines,
    written,
)
from suites.api.formulas import FormulaView, RegionField
from suites.api.request_bodies import FactorBody
from suites.api.serializers import FactorSerializer

MOST = 20_000


class DesignBody(Body):
    """Factors as a list, or as text `lines` such as `number: sing, plural`."""

    factors = FactorBody(many=True, required=False)
    lines = serializers.CharField(required=False, max_length=MOST, allow_blank=True)
    conditions = serializers.ListField(child=serializers.CharField(max_length=200), max_length=MAX_CONDITIONS)
    regions = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MAX_REGIONS,
        help_text="names, in order",
    )
    region = RegionField(
        required=False,
        help_text='region whose effects are explained: a number, or "*" (whole sentence; default)',
    )


class EmptyCellSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(help_text="name that such a condition would have")
    levels = serializers.ListField(child=serializers.CharField())


class EffectSerializer(RecordSerializer):
    kind = serializers.ChoiceField(["main", "simple", "interaction"])

    class Meta:
        dataclass = Effect
        extra_kwargs = {"greater": {"help_text": "null, with a reason, if conditions are missing"}}


class DesignErrorSerializer(serializers.Serializer[Any]):
    where = serializers.CharField(help_text="path in the body, e.g. $.factors[0].levels")
    message = serializers.CharField()


class DesignSerializer(serializers.Serializer[Any]):
    """An explained design. `errors`: problems of the factors; if there are any, the lists are empty."""

    ok = serializers.BooleanField()
    errors = DesignErrorSerializer(many=True)  # type: ignore[assignment]  # a declared field
    factors = FactorSerializer(many=True)
    outside = serializers.ListField(child=serializers.CharField(), help_text="conditions without levels")
    missing = EmptyCellSerializer(many=True, help_text="combinations of levels without a condition")
    effects = EffectSerializer(many=True)


class ExplainDesign(FormulaView):
    @operation("Explain a factorial design", body=DesignBody, response=DesignSerializer)
    def post(self, request: Request) -> Response:
        """Return main effects, interactions and simple effects at a region, in words and as formulas; conditions
        outside the design; and combinations of levels without a condition. Errors in the factors are part of a 200."""
        body = self.body()
        region, names = body.get("region", "*"), body["regions"]
        if region != "*" and region > len(names):
            raise invalid(FieldError("$.region", f"There is no region {region}."))
        design: Design = ()
        errors = []
        try:
            design = _design(body)
        except DesignError as error:
            where = "$.lines" if "lines" in body else f"$.factors{error.where}"
            errors = [{"where": where, "message": error.message}]
        return self.respond(
            {
                "ok": not errors,
                "errors": errors,
                "factors": written(design),
                "outside": outside(design, body["conditions"]),
                "missing": [{"name": condition_name(cell), "levels": cell} for cell in empty_cells(design)],
                "effects": effects(design, names, region),
            }
        )


def _design(body: dict[str, Any]) -> Design:
    if ("factors" in body) == ("lines" in body):
        raise invalid(FieldError("$", "Send either factors or lines."))
    if "lines" in body:
        return named_after_levels(read_lines(body["lines"]), body["conditions"])
    return read_factors(body["factors"], body["conditions"])
