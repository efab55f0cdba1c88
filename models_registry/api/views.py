"""Models: list, register, read, change, delete, check, approve. Series: register, approve. Backends: list, read."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, ObjectView, locked
from gym.api.errors import ApiProblem, FieldError, invalid, problem_for
from gym.api.operations import operation
from lmgym.models.backends import BACKENDS
from models_registry import permissions, series, services
from models_registry.api.serializers import (
    BackendSerializer,
    ModelChanges,
    ModelDetailSerializer,
    ModelSerializer,
    NewModel,
    NewSeries,
    SeriesSerializer,
)
from models_registry.models import RegisteredModel
from models_registry.selectors import ModelFilter, visible_to


class ModelView(ObjectView[RegisteredModel]):
    denied_message = "you may not edit this model"

    def visible_rows(self, address: str) -> QuerySet[RegisteredModel]:
        return visible_to(self.request.user).filter(slug=address)

    def can_change(self, model: RegisteredModel) -> bool:
        return permissions.can_edit(self.request.user, model)


def require_fitting(backend: str, config: dict[str, Any]) -> None:
    wrong = services.config_errors(backend, config) if backend in BACKENDS else ()
    if wrong:
        raise invalid(*(FieldError(f"$.config{path[1:]}", message) for path, message in wrong))


@problem_for(services.InUse)
def _in_use(error: services.InUse) -> ApiProblem:
    return ApiProblem(409, " ".join(error.messages), "in-use")


class ModelList(ListView):
    filterset_class = ModelFilter

    @operation("List models", response=ModelSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List public models, your own, and models shared with you; for staff all models."""
        return self.page(visible_to(request.user))

    @operation("Register a model", body=NewModel, response=ModelDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Register a model. `config` is validated against the backend's JSON schema. A model that reads files waits for
        approval by staff, unless you are staff; others are checked at once: poll the model until its status is ready or
        broken. Private by default."""
        body = self.body()
        require_fitting(body["backend"], body["config"])
        model = services.register_model(actor=request.user, **body)
        return self.respond(model, "api-model", model.slug)


class SeriesList(ApiView):
    @operation(
        "Register a series of checkpoints", body=NewSeries, response=SeriesSerializer, status=201, waits=True
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Register each checkpoint as a model, or none of them: `SLUG-step1000` with the tags `group:SLUG` and
        `step:1000`. `revisions` is compared with the branches and tags that the Hub lists."""
        body = self.body()
        require_fitting(body["backend"], body["config"])
        return self.respond({"models": series.register_series(actor=request.user, **body)})


class ModelDetail(ModelView):
    @operation("Read a model", response=ModelDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return metadata, status and results of the check. The agents of an agent server (`backend` is
        `agent`) are at `agent-servers/`."""
        return self.read()

    @operation("Change a model", body=ModelChanges, response=ModelDetailSerializer, also=[409])
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """Change only the fields that are sent. The owner and staff may correct `backend` and `config` as
        long as the model has no results (else 409, `in-use`: register a new model); the model is then checked
        and approved like a new one. A stored secret is kept unless the `base_url` changes."""
        model = self.get_for_change()
        body = self.body()
        backend, config = body.pop("backend", model.backend), body.pop("config", None)
        if config is None and backend != model.backend:
            raise invalid(FieldError("$.config", "A new backend also needs a config."))
        start_token = body.pop("start_token", None)
        with locked(model):
            if config is not None:
                if not permissions.can_manage(request.user, model):
                    raise PermissionDenied("only its owner and staff may correct a model")
                require_fitting(backend, config)
                services.correct_model(model, actor=request.user, backend=backend, config=config)
            if start_token is not None:
                services.change_start_token(model, start_token or None, actor=request.user)
            services.edit_card(model, actor=request.user, **body)
        return self.refreshed(model)

    @operation("Delete a model", status=204, also=[409])
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the model and its secrets. A model with results cannot be deleted (409, `in-use`). Agents are deleted
        at `agent-servers/`."""
        return self.remove(services.delete_model)


class ModelCheck(ModelView):
    @operation("Check a model again", response=ModelDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Queue a check; poll the model until its status is ready or broken."""
        model = self.get_object()
        services.check_model(model, actor=request.user)
        return self.respond(model, "api-model", model.slug)


class ModelApprove(ModelView):
    @operation("Approve a model", response=ModelDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Allow loading the model and queue its check. Only staff may do this."""
        model = self.get_object()
        services.approve_model(model, actor=request.user)
        return self.respond(model, "api-model", model.slug)


class SeriesApprove(ModelView):
    @operation("Approve a series of checkpoints", response=SeriesSerializer, status=202)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Approve all checkpoints of the model's series that wait for approval, and queue their checks. Only staff may
        do this."""
        return self.respond({"models": series.approve_series(self.get_object(), actor=request.user)})


class BackendList(ListView):
    @operation("List backends", response=BackendSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List the kinds of models that can be registered."""
        return self.page(list(BACKENDS.values()))


class BackendDetail(ApiView):
    @operation("Read a backend", response=BackendSerializer)
    def get(self, request: Request, kind: str) -> Response:
        """Return a kind of model and the JSON schema of its configuration."""
        if kind not in BACKENDS:
            raise Http404
        return self.respond(BACKENDS[kind])
