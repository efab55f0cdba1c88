"""Models: list, register, read, change, correct, delete, check, approve; backends."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.api.base import ApiView, ListView, get_or_404, locked
from gym.api.errors import ApiProblem, FieldError, answers, invalid
from gym.api.operations import operation
from models_registry import permissions, services
from models_registry.api.serializers import (
    BackendSerializer,
    ModelChanges,
    ModelDetailSerializer,
    ModelSerializer,
    NewModel,
    RefusalBody,
)
from models_registry.backends import BACKENDS
from models_registry.filters import ModelFilter
from models_registry.models import RegisteredModel
from models_registry.selectors import visible_to


def model_of(request: Request, slug: str) -> RegisteredModel:
    return get_or_404(visible_to(request.user), slug=slug)


def editable(request: Request, slug: str) -> RegisteredModel:
    model = model_of(request, slug)
    if not permissions.can_edit(request.user, model):
        raise PermissionDenied("you may not edit this model")
    return model


def shown(request: Request, model: RegisteredModel) -> dict[str, Any]:
    return dict(ModelDetailSerializer(model, context={"request": request}).data)


def require_fitting(backend: str, config: dict[str, Any]) -> None:
    wrong = services.config_errors(backend, config) if backend in BACKENDS else ()
    if wrong:
        raise invalid(*(FieldError(f"$.config{path[1:]}", message) for path, message in wrong))


@answers(services.InUse)
def _in_use(error: services.InUse) -> ApiProblem:
    return ApiProblem(409, " ".join(error.messages), "in-use")


class ModelList(ListView):
    filterset_class = ModelFilter

    @operation("List models", answers=ModelSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Public models and your own."""
        return self.page(visible_to(request.user), ModelSerializer)

    @operation("Register a model", takes=NewModel, answers=ModelDetailSerializer, status=201)
    def post(self, request: Request) -> Response:
        """`config` is held against the JSON schema of the backend. A model that reads files waits for staff; others
        are checked at once: ask the model until its status is ready or broken. It is private unless `visibility` says
        otherwise."""
        body = self.body()
        require_fitting(body["backend"], body["config"])
        model = services.register_model(actor=request.user, **body)
        place = reverse("api-model", args=[model.slug], request=request)
        return Response(shown(request, model), status=201, headers={"Location": place})


class ModelDetail(ApiView):
    @operation("Read a model", answers=ModelDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Its card, its state, and what the check found. An agent (`backend` is `agent`) has its card here; what it is
        and which agents its server has is read, and checked, at `agents/`."""
        return Response(shown(request, model_of(request, slug)))

    @operation("Change a model", takes=ModelChanges, answers=ModelDetailSerializer, also=[409])
    def patch(self, request: Request, slug: str) -> Response:
        """Only the fields sent are changed. `backend` and `config` say what the model is: its owner corrects them as
        long as no results rest on it (else 409, `in-use`: register a new model), and it is checked and approved like a
        new one. A stored secret stays unless the `base_url` changes."""
        model = editable(request, slug)
        body = self.body()
        backend, config = body.pop("backend", model.backend), body.pop("config", None)
        if config is None and backend != model.backend:
            raise invalid(FieldError("$.config", "This is needed for another backend."))
        with locked(model):
            if config is not None:
                if not permissions.can_manage(request.user, model):
                    raise PermissionDenied("only its owner corrects a model")
                require_fitting(backend, config)
                services.correct_model(model, actor=request.user, backend=backend, config=config)
            services.edit_card(model, actor=request.user, **body)
        return Response(shown(request, model_of(request, slug)))

    @operation("Delete a model", status=204, also=[409])
    def delete(self, request: Request, slug: str) -> Response:
        """With its card and its secrets. One that results rest on stays (409, `in-use`). Agents are deleted at
        `agents/`."""
        services.delete_model(editable(request, slug), actor=request.user)
        return Response(status=204)


class ModelCheck(ApiView):
    @operation("Check a model again", answers=ModelDetailSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """Queued: ask the model until its status is ready or broken."""
        model = model_of(request, slug)
        services.check_model(model, actor=request.user)
        return _queued(request, model)


class ModelApprove(ApiView):
    @operation("Approve a model", answers=ModelDetailSerializer, status=202)
    def post(self, request: Request, slug: str) -> Response:
        """Staff lets a model be loaded; its check is queued."""
        model = model_of(request, slug)
        services.approve_model(model, actor=request.user)
        return _queued(request, model)


class ModelRefuse(ApiView):
    @operation("Refuse a model", takes=RefusalBody, answers=ModelDetailSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Staff does not let a waiting model be loaded. The reason is its `status_reason`."""
        model = model_of(request, slug)
        if not permissions.can_approve(request.user):
            raise PermissionDenied("only staff refuses models")
        services.refuse_model(model, self.body()["reason"], actor=request.user)
        return Response(shown(request, model))


def _queued(request: Request, model: RegisteredModel) -> Response:
    place = reverse("api-model", args=[model.slug], request=request)
    return Response(shown(request, model), status=202, headers={"Location": place, "Retry-After": "1"})


class BackendList(ListView):
    @operation("List backends", answers=BackendSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Kinds of models that can be registered."""
        return self.page(list(BACKENDS.values()), BackendSerializer)


class BackendDetail(ApiView):
    @operation("Read a backend", answers=BackendSerializer)
    def get(self, request: Request, kind: str) -> Response:
        """A kind of model and the JSON schema of its configuration."""
        if kind not in BACKENDS:
            raise Http404
        return Response(BackendSerializer(BACKENDS[kind]).data)
