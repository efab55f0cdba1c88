"""Queries for registered models."""

from __future__ import annotations

import django_filters
from django.db.models import CASCADE, Case, Count, F, OuterRef, Q, QuerySet, Subquery, When

from gym.accounts.models import AnyUser, User
from gym.api.filters import Filters, WordsFilter
from gym.sharing.filters import MineFilter
from gym.sharing.models import Role, Visibility
from gym.sharing.selectors import worked_on_by
from models_registry.models import AGENT, UPLOADED, RegisteredModel


def visible_to(user: AnyUser) -> QuerySet[RegisteredModel]:
    models = RegisteredModel.objects.select_related("owner", "check_job")
    if not user.is_authenticated:
        return models.filter(visibility=Visibility.PUBLIC)
    if user.is_staff:
        return models
    return models.filter(Q(visibility=Visibility.PUBLIC) | worked_on_by(user, RegisteredModel))


def refused_of(owner: User) -> QuerySet[RegisteredModel]:
    """Return this owner's models that staff refused. They have no results, so the owner may reuse their addresses."""
    return RegisteredModel.objects.filter(owner=owner, status=RegisteredModel.Status.REFUSED)


def used_in(model: RegisteredModel) -> list[str]:
    """Count the objects that refer to a model: ["3 suite runs", "1 game"]. Objects deleted with it are left out."""
    counts = []
    for relation in model._meta.related_objects:
        if relation.on_delete is CASCADE:
            continue
        if n := relation.related_model._default_manager.filter(**{relation.field.name: model}).count():
            names = relation.related_model._meta
            counts.append(f"{n} {names.verbose_name if n == 1 else names.verbose_name_plural}")
    return counts


def runnable_by(user: AnyUser) -> QuerySet[RegisteredModel]:
    """Return the models with which this user can start a run now."""
    if not user.is_authenticated:
        return RegisteredModel.objects.none()
    return visible_to(user).filter(status=RegisteredModel.Status.READY).exclude(backend__in=[UPLOADED, AGENT])


def references_for(owner: AnyUser) -> QuerySet[RegisteredModel]:
    """Return the models that this owner may name as the reference of a completion server."""
    return visible_to(owner).filter(backend="causal", status=RegisteredModel.Status.READY)


def strongest_first(models: QuerySet[RegisteredModel]) -> QuerySet[RegisteredModel]:
    """Order models by likely strength: causal ones by size; then others, whose parameters are not comparable, by number
    of finished runs; baselines last."""
    kind = Case(When(backend="causal", then=0), When(backend="uniform", then=2), default=1)
    size = Case(When(backend="causal", then=F("parameters")))
    finished = RegisteredModel.objects.filter(pk=OuterRef("pk"), runs__completed_at__isnull=False).values(
        "pk"
    )
    runs = Subquery(finished.annotate(number=Count("runs")).values("number"))
    of_unknown = Case(When(backend="causal", parameters__isnull=False, then=0), default=runs)
    return models.order_by(kind, size.desc(nulls_last=True), of_unknown.desc(nulls_last=True), "name")


def uploadable_by(user: AnyUser) -> QuerySet[RegisteredModel]:
    """Return the models registered for uploaded results to which this user may upload."""
    if not user.is_authenticated:
        return RegisteredModel.objects.none()
    models = visible_to(user).filter(backend=UPLOADED)
    return models if user.is_staff else models.filter(worked_on_by(user, RegisteredModel, roles=[Role.EDIT]))


class ModelFilter(Filters):
    """Search, filters and sort order of models, for the page and the API."""

    q = WordsFilter(
        *("name", "slug", "description", "authorship", "corpus"),
        label="Words that occur in name, slug, description, authors or corpus",
    )
    backend = django_filters.CharFilter(field_name="backend", label="Kind of backend")
    status = django_filters.ChoiceFilter(choices=RegisteredModel.Status.choices, label="Status")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of the owner")
    mine = MineFilter(RegisteredModel)
    sort = django_filters.OrderingFilter(
        fields=[("name", "name"), ("slug", "slug"), ("created", "created"), ("status", "status")],
        label="Sort",
    )

    class Meta:
        model = RegisteredModel
        fields: list[str] = []
