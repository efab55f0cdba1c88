"""Models: list, register, read, change, correct, delete, check, approve; backends."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, ObjectView, locked
from gym.api.errors import ApiProblem, FieldError, answers, invalid
from gym.api.operations import operation
from lmgym.models.backends import BACKENDS
from models_registry import permissions, services
from models_registry.api.serializers import (
    BackendSerializer,
    ModelChanges,
    ModelDetailSerializer,
    ModelSerializer,
    NewModel,
)
from models_registry.models import RegisteredModel
from models_registry.selectors import ModelFilter, visible_to


class ModelView(ObjectView[RegisteredModel]):
    not_yours = "you may not edit this model"

    def rows_at(self, address: str) -> QuerySet[RegisteredModel]:
        return visible_to(self.request.user).filter(slug=address)

    def may_change(self, model: RegisteredModel) -> bool:
        return permissions.can_edit(self.request.user, model)


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
        return self.page(visible_to(request.user))

    @operation("Register a model", takes=NewModel, answers=ModelDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """`config` is held against the JSON schema of the backend. A model that reads files waits for staff; others
        are checked at once: ask the model until its status is ready or broken. It is private unless `visibility` says
        otherwise."""
        body = self.body()
        require_fitting(body["backend"], body["config"])
        model = services.register_model(actor=request.user, **body)
        return self.answer(model, "api-model", model.slug)


class ModelDetail(ModelView):
    @operation("Read a model", answers=ModelDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Its card, its state, and what the check found. An agent (`backend` is `agent`) has its card here; what it is
        and which agents its server has is read, and checked, at `agent-servers/`."""
        return self.read()

    @operation("Change a model", takes=ModelChanges, answers=ModelDetailSerializer, also=[409])
    def patch(self, request: SignedInApiRequest, slug: str) -> Response:
        """Only the fields sent are changed. `backend` and `config` say what the model is: its owner corrects them as
        long as no results rest on it (else 409, `in-use`: register a new model), and it is checked and approved like a
        new one. A stored secret stays unless the `base_url` changes."""
        model = self.changeable()
        body = self.body()
        backend, config = body.pop("backend", model.backend), body.pop("config", None)
        if config is None and backend != model.backend:
            raise invalid(FieldError("$.config", "This is needed for another backend."))
        start_token = body.pop("start_token", None)
        with locked(model):
            if config is not None:
                if not permissions.can_manage(request.user, model):
                    raise PermissionDenied("only its owner corrects a model")
                require_fitting(backend, config)
                services.correct_model(model, actor=request.user, backend=backend, config=config)
            if start_token is not None:
                services.change_start_token(model, start_token or None, actor=request.user)
            services.edit_card(model, actor=request.user, **body)
        return self.again(model)

    @operation("Delete a model", status=204, also=[409])
    def delete(self, request: Request, slug: str) -> Response:
        """With its card and its secrets. One that results rest on stays (409, `in-use`). Agents are deleted at
        `agent-servers/`."""
        return self.remove(services.delete_model)


class ModelCheck(ModelView):
    @operation("Check a model again", answers=ModelDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Queued: ask the model until its status is ready or broken."""
        model = self.get_object()
        services.check_model(model, actor=request.user)
        return self.answer(model, "api-model", model.slug)


class ModelApprove(ModelView):
    @operation("Approve a model", answers=ModelDetailSerializer, status=202)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Staff lets a model be loaded; its check is queued."""
        model = self.get_object()
        services.approve_model(model, actor=request.user)
        return self.answer(model, "api-model", model.slug)


class BackendList(ListView):
    @operation("List backends", answers=BackendSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Kinds of models that can be registered."""
        return self.page(list(BACKENDS.values()))


class BackendDetail(ApiView):
    @operation("Read a backend", answers=BackendSerializer)
    def get(self, request: Request, kind: str) -> Response:
        """A kind of model and the JSON schema of its configuration."""
        if kind not in BACKENDS:
            raise Http404
        return self.answer(BACKENDS[kind])
