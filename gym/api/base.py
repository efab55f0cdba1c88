"""What the views of all rooms are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic, NoReturn, TypeVar

from django.contrib.contenttypes.models import ContentType
from django.core.exceptions import PermissionDenied
from django.db import models, transaction
from django.db.models import QuerySet
from django.http import Http404
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from django_filters import ChoiceFilter, NumberFilter
from django_filters.rest_framework import DjangoFilterBackend
from rest_framework.generics import GenericAPIView
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse
from rest_framework.serializers import BaseSerializer
from rest_framework.settings import api_settings
from rest_framework.views import APIView

from gym.api.errors import ApiProblem, FieldError, invalid
from gym.api.operations import Operation
from gym.api.paging import Pages
from gym.api.requests import read

Row = TypeVar("Row", bound=models.Model)


class ApiView(APIView):
    """One address. Methods are described by `@operation`."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    operation: Operation
    query: dict[str, Any]

    def body(self) -> dict[str, Any]:
        """The body, as the operation's `takes` says."""
        takes = self.operation.takes
        if isinstance(takes, dict):
            kind = (self.request.content_type or "").partition(";")[0].strip().lower()
            takes = takes.get(kind) or next(iter(takes.values()))
        return read(takes, self.request.data)

    def answer(self, found: Any, place: str = "", *args: Any, wait: int = 1) -> Response:
        """`found` as the operation's `answers` shows it, with its `status`. `place` and `args`: where it can be read;
        with 202 that is where to ask again after `wait` seconds."""
        known = self.operation
        headers = {"Location": reverse(place, args=args, request=self.request)} if place else {}
        if known.status == 202:
            headers["Retry-After"] = str(wait)
        data = known.answers(found, context={"request": self.request}).data
        return Response(data, status=known.status, headers=headers)

    def permission_denied(
        self, request: Request, message: str | None = None, code: str | None = None
    ) -> NoReturn:
        """Refused requests count against the limit, too."""
        self.check_throttles(request)
        super().permission_denied(request, message, code)

    def list_parameters(self, known: Operation) -> Iterable[str]:
        """Query parameters that are not the operation's own."""
        return ()

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(response, ["Accept", "Authorization", "Cookie"])
        return response


class AddressDecides(DefaultContentNegotiation):
    """For addresses that say themselves in which format they answer: Accept is not asked."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class Filters(DjangoFilterBackend):
    """Filters of django-filter; a wrong value is a 400 that names the parameter."""

    def filter_queryset(self, request: Any, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        filterset = self.get_filterset(request, queryset, view)
        if filterset is None:
            return queryset
        choices = (ChoiceFilter, NumberFilter)
        empty = [
            name
            for name, one in filterset.filters.items()
            if isinstance(one, choices) and request.query_params.get(name) == ""
        ]
        if empty:
            raise invalid(*(FieldError(f"?{name}", "This is empty.") for name in empty))
        if not filterset.is_valid():
            raise invalid(
                *(
                    FieldError(f"?{name}", str(message))
                    for name, messages in filterset.errors.items()
                    for message in messages
                )
            )
        return filterset.qs


class ObjectView(ApiView, Generic[Row]):
    """One thing, found by its address and shown as the operation `answers`. A room says which things there are:

    class GameView(ObjectView[Game]):
        lookup_field = "key"
        def rows_at(self, address): return selectors.game_at(self.request.user, address)
        def may_change(self, game): return permissions.can_steer(self.request.user, game)

    class GameCancel(GameView):
        token_scope = Scope.RUN

        @operation("Stop a game", answers=GameDetailSerializer)
        def post(self, request, key): return self.act(playing.cancel_game)
    """

    lookup_field = "slug"
    not_yours = "this belongs to somebody else"

    def rows_at(self, address: str) -> QuerySet[Row]:
        """What this reader may see at the address: one row or none."""
        raise NotImplementedError

    def shown_at(self, address: str) -> QuerySet[Row]:
        """The same with what its serializer reads."""
        return self.rows_at(address)

    def may_change(self, row: Row) -> bool:
        """Whether this person may change what they see. By default the use cases say it."""
        return True

    def get_object(self) -> Row:
        return get_or_404(self.rows_at(self.kwargs[self.lookup_field]))

    def changeable(self) -> Row:
        """404 for what this person may not see, 403 for what they may only read."""
        row = self.get_object()
        if not self.may_change(row):
            raise PermissionDenied(self.not_yours)
        return row

    def address_of(self, row: Row) -> str:
        return str(getattr(row, self.lookup_field))

    def read(self) -> Response:
        return self.answer(get_or_404(self.shown_at(self.kwargs[self.lookup_field])))

    def again(self, row: Row, place: str = "") -> Response:
        """The row as it is now, found once more: a change may have given it another address. `place` names the
        address for `Location`."""
        address = self.address_of(row)
        return self.answer(get_or_404(self.shown_at(address)), place, *([address] if place else []))

    def change(self, use_case: Callable[..., Any]) -> Response:
        """By the fields of the body."""
        row = self.changeable()
        body = self.body()
        with locked(row):
            use_case(row, actor=self.request.user, **body)
        return self.again(row)

    def act(self, use_case: Callable[..., Any], place: str = "") -> Response:
        row = self.changeable()
        use_case(row, actor=self.request.user)
        return self.again(row, place)

    def remove(self, use_case: Callable[..., Any]) -> Response:
        use_case(self.changeable(), actor=self.request.user)
        return Response(status=204)


class ListView(ApiView, GenericAPIView[Any]):
    """A list: `filterset_class` filters and sorts, pages come by cursor.

    @operation("List suites", answers=SuiteSerializer, many=True)
    def get(self, request): return self.page(suites)
    """

    pagination_class = Pages
    filter_backends = [Filters]
    filterset_class: Any = None

    def list_parameters(self, known: Operation) -> Iterable[str]:
        if not known.many:
            return ()
        filters = self.filterset_class.base_filters if self.filterset_class else ()
        return (*filters, "cursor", "limit")

    def page(
        self, rows: Any, shown: type[BaseSerializer[Any]] | Callable[[list[Any]], Any] | None = None
    ) -> Response:
        """A page of a queryset (filtered) or of a sequence, shown as the operation `answers`, or by `shown`."""
        if isinstance(rows, QuerySet):
            rows = self.filter_queryset(rows)
        found = self.paginate_queryset(rows)
        assert found is not None
        kind: Any = shown or self.operation.answers
        if isinstance(kind, type) and issubclass(kind, BaseSerializer):
            data = kind(found, many=True, context=self.get_serializer_context()).data
        else:
            data = kind(found)
        pages: Any = self.paginator
        return self.get_paginated_response(pages.fitting(data))

    def get_queryset(self) -> Any:
        """For the OpenAPI generator alone, which asks for the model behind the filters."""
        model = self.filterset_class._meta.model if self.filterset_class else ContentType
        return model.objects.none()


def get_or_404(rows: QuerySet[Row], **which: Any) -> Row:
    """The row, or 404. Begin with `visible_to(user)`: what one may not see is not there."""
    row = rows.filter(**which).first()
    if row is None:
        raise Http404
    return row


def referred(rows: QuerySet[Row], field: str, **which: Any) -> Row:
    """The row that a field of the body names, or 400 with the field: what one may not see is not there."""
    row = rows.filter(**which).first()
    if row is None:
        raise invalid(not_referred(field, *which.values()))
    return row


def not_referred(field: str, *names: Any) -> FieldError:
    """`field`: name of a field of the body, with a place where it is a list: agents[2]."""
    name, is_one_of_several, _ = field.partition("[")
    what = (name.removesuffix("s") if is_one_of_several else name).replace("_", " ")
    named = " ".join(f"“{str(name)[:60]}”" for name in names)
    return FieldError(f"$.{field}", f"There is no {what} {named}, or not for you.")


# --- changes ---


def check_match(request: Request, etag: str | None, *, needed: bool = False) -> None:
    """412 when If-Match names another state than `etag`; 428 when it is `needed` and missing. None: there is nothing
    now, so every tag names what has gone; `*` takes that, too."""
    given = request.headers.get("If-Match")
    if given is None:
        if needed and etag is not None:
            raise ApiProblem(
                428,
                "This would replace what somebody may have changed. Send If-Match with the ETag of what you saw, "
                "or If-Match: * to replace whatever there is.",
                "if-match-needed",
                [FieldError("If-Match", "This header is missing.")],
            )
        return
    tags = parse_etags(given)
    if tags == ["*"]:
        return
    if etag is None:
        raise ApiProblem(
            412,
            "What you saw no longer exists: it was finished or deleted in the meantime. Get it again, or send this "
            "without If-Match.",
            "changed-meanwhile",
            [FieldError("If-Match", "There is nothing here now.")],
        )
    if etag not in [tag.removeprefix("W/") for tag in tags]:
        raise ApiProblem(
            412,
            "This was changed meanwhile. Get it again, look at the changes, and send yours with its new ETag.",
            "changed-meanwhile",
            [FieldError("If-Match", f"The tag is {etag} now.")],
            headers={"ETag": etag},
        )


@contextmanager
def locked(row: models.Model) -> Iterator[None]:
    """A transaction that holds this row as it is now: of two changes of different fields at once, both stay."""
    with transaction.atomic():
        row.refresh_from_db(from_queryset=type(row)._base_manager.select_for_update())
        yield


def renderers(*more: Any) -> list[Any]:
    """JSON first, then these."""
    return [*api_settings.DEFAULT_RENDERER_CLASSES, *more]
