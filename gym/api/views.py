"""The REST API: read suites, models and runs; queue runs. Invisible things answer 404."""

from __future__ import annotations

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from rest_framework import generics, serializers, status
from rest_framework.decorators import api_view
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.api.serializers import (
    ModelSerializer,
    RunRequest,
    RunSerializer,
    SuiteDetailSerializer,
    SuiteSerializer,
)
from gym.evaluations import report, services
from gym.evaluations.limits import TooManyRuns
from gym.evaluations.selectors import listed_runs
from gym.evaluations.selectors import visible_to as visible_runs
from gym.jobs.errors import TooManyJobs
from models_registry.engine import ScoringPolicy
from models_registry.selectors import visible_to as visible_models
from suites.filters import SuiteFilter
from suites.selectors import document_of, listed_for, with_shape
from suites.selectors import visible_to as visible_suites


@api_view(["GET"])
def index(request: Request) -> Response:
    """Where things are."""
    return Response({name: reverse(f"api-{name}", request=request) for name in ("suites", "models", "runs")})


class SuiteList(generics.ListAPIView):
    serializer_class = SuiteSerializer
    filterset_class = SuiteFilter

    def get_queryset(self):
        suites = with_shape(listed_for(self.request.user)).select_related("owner")
        return SuiteFilter(self.request.GET, queryset=suites).qs


class SuiteDetail(generics.RetrieveAPIView):
    serializer_class = SuiteDetailSerializer
    lookup_field = "slug"

    def get_queryset(self):
        suites = with_shape(visible_suites(self.request.user))
        return suites.select_related("owner").prefetch_related("revisions")


class ModelList(generics.ListAPIView):
    serializer_class = ModelSerializer

    def get_queryset(self):
        return visible_models(self.request.user)


class ModelDetail(generics.RetrieveAPIView):
    serializer_class = ModelSerializer
    lookup_field = "slug"

    def get_queryset(self):
        return visible_models(self.request.user)


class RunList(generics.ListCreateAPIView):
    """GET: runs, newest first; filter by ?suite= and ?model=. POST: queue one (see RunRequest)."""

    serializer_class = RunSerializer
    token_scope = Scope.RUN

    def get_queryset(self):
        runs = listed_runs(self.request.user).prefetch_related("prediction_results__prediction")
        for name, field in (("suite", "revision__suite__slug"), ("model", "model__slug")):
            if wanted := self.request.query_params.get(name, "").replace(
                "\0", "\ufffd"
            ):  # not for PostgreSQL
                runs = runs.filter(**{field: wanted})
        return runs

    def create(self, request: Request, *args: object, **kwargs: object) -> Response:
        asked = RunRequest(data=request.data)
        asked.is_valid(raise_exception=True)
        given = asked.validated_data
        suite = get_object_or_404(visible_suites(request.user), slug=given["suite"])
        model = get_object_or_404(visible_models(request.user), slug=given["model"])
        if "revision" in given:
            revision = get_object_or_404(suite.revisions, number=given["revision"])
        else:
            revision = suite.latest_frozen
        if revision is None:
            raise serializers.ValidationError({"suite": ["This suite has no frozen revision yet."]})
        if not revision.is_frozen:
            raise serializers.ValidationError({"revision": ["This revision is a draft: freeze it first."]})
        try:
            policy = services.default_policy(revision).to_dict() | given["policy"]
            run = services.queue_run(revision, model, ScoringPolicy.from_dict(policy), actor=request.user)
        except TooManyRuns as error:
            raise serializers.ValidationError({"non_field_errors": error.messages}) from error
        except ValidationError as error:
            raise serializers.ValidationError({"model": error.messages}) from error
        except ValueError as error:
            raise serializers.ValidationError({"policy": [str(error)]}) from error
        except TooManyJobs as error:
            wait = getattr(error, "wait", 60)
            return Response(
                {"detail": str(error)},
                status=status.HTTP_429_TOO_MANY_REQUESTS,
                headers={"Retry-After": str(wait)} if wait else {},
            )
        return Response(RunSerializer(run).data, status=status.HTTP_201_CREATED)


class RunDetail(generics.RetrieveAPIView):
    serializer_class = RunSerializer
    lookup_field = "key"

    def get_queryset(self):
        return visible_runs(self.request.user).prefetch_related("prediction_results__prediction")


@api_view(["GET"])
def run_results(request: Request, key: str) -> Response:
    """Everything a finished run holds: predictions, items, regions, tokens."""
    run = get_object_or_404(visible_runs(request.user).filter(completed_at__isnull=False), key=key)
    return Response(report.as_dict(document_of(run.revision), report.result_of(run), report.run_head(run)))
