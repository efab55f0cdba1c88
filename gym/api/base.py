"""Base classes for API views (single objects, lists, anything else), and helpers for lookups and changes."""

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

from gym.api.errors import ApiProblem, FieldError, invalid, not_there
from gym.api.filters import NameFilter
from gym.api.operations import Operation
from gym.api.paging import Pages
from gym.api.requests import read

Row = TypeVar("Row", bound=models.Model)


class ApiView(APIView):
    """Base class for API views. `@operation` describes each method."""

    http_method_names = ["get", "post", "put", "patch", "delete", "head"]
    operation: Operation
    query: dict[str, Any]

    def body(self) -> dict[str, Any]:
        """Validate the request's body against the operation's `body`. Call after checking existence and permission, so
        that strangers get 404, not 400."""
        body = self.operation.body
        if isinstance(body, dict):
            kind = (self.request.content_type or "").partition(";")[0].strip().lower()
            body = body.get(kind) or next(iter(body.values()))
        return read(body, self.request.data)

    def respond(self, result: Any, place: str = "", *args: Any, wait: int = 1) -> Response:
        """Respond with `result`, serialised by the operation's `response`, and with its `status`.

        Args:
            place, args: URL name and arguments for `Location`.
            wait: with status 202, seconds until the next request, for `Retry-After`.
        """
        described = self.operation
        headers = {"Location": reverse(place, args=args, request=self.request)} if place else {}
        if described.status == 202:
            headers["Retry-After"] = str(wait)
        data = described.response(result, context={"request": self.request}).data
        return Response(data, status=described.status, headers=headers)

    def permission_denied(
        self, request: Request, message: str | None = None, code: str | None = None
    ) -> NoReturn:
        """Count refused requests against the rate limit as well."""
        self.check_throttles(request)
        super().permission_denied(request, message, code)

    def list_parameters(self, described: Operation) -> Iterable[str]:
        """Return the query parameters for filters and paging."""
        return ()

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        response = super().finalize_response(request, response, *args, **kwargs)
        patch_vary_headers(response, ["Accept", "Authorization", "Cookie"])
        return response


class FormatFromUrl(DefaultContentNegotiation):
    """Content negotiation for URLs that name the format; Accept is ignored."""

    def select_renderer(self, request: Request, renderers: Any, format_suffix: Any = None) -> Any:
        return renderers[0], renderers[0].media_type


class Filters(DjangoFilterBackend):
    """Filter backend based on django-filter. An invalid value gives a 400 that names the parameter,
    an unknown or hidden name a 404."""

    def filter_queryset(self, request: Any, queryset: QuerySet[Any], view: Any) -> QuerySet[Any]:
        filterset = self.get_filterset(request, queryset, view)
        if filterset is None:
            return queryset
        choices = (ChoiceFilter, NumberFilter)
        empty = [
            name
            for name, filter_ in filterset.filters.items()
            if isinstance(filter_, choices) and request.query_params.get(name) == ""
        ]
        if empty:
            raise invalid(*(FieldError(f"?{name}", "The value is empty.") for name in empty))
        if not filterset.is_valid():
            raise invalid(
                *(
                    FieldError(f"?{name}", str(message))
                    for name, messages in filterset.errors.items()
                    for message in messages
                )
            )
        unknown, hints = [], {}
        for name, filter_ in filterset.filters.items():
            value = filterset.form.cleaned_data[name]
            if isinstance(filter_, NameFilter) and value and not filter_.is_known(value, request.user):
                unknown.append((name, value))
                hints[name] = renamed(filter_.visible(request.user), value)
        if unknown:
            raise not_there(unknown, hints)
        return filterset.qs


class ObjectView(ApiView, Generic[Row]):
    """A view of one object, found by its address.

    class GameView(ObjectView[Game]):
        lookup_field = "key"
        def visible_rows(self, address): return selectors.game_at(self.request.user, address)
        def can_change(self, game): return permissions.can_steer(self.request.user, game)

    class GameCancel(GameView):
        token_scope = Scope.RUN

        @operation("Cancel a game", response=GameDetailSerializer)
        def post(self, request, key): return self.act(playing.cancel_game)
    """

    lookup_field = "slug"
    denied_message = "this belongs to another account"

    def visible_rows(self, address: str) -> QuerySet[Row]:
        """Return a queryset of the row at this address, empty if the user may not see it."""
        raise NotImplementedError

    def detail_rows(self, address: str) -> QuerySet[Row]:
        """Return `visible_rows` with the related rows that the serializer reads."""
        return self.visible_rows(address)

    def can_change(self, row: Row) -> bool:
        """Return True if the user may change the row. Override if the service does not check this itself."""
        return True

    def get_object(self) -> Row:
        return get_or_404(self.visible_rows(self.kwargs[self.lookup_field]))

    def get_for_change(self) -> Row:
        """Return the object; 404 if the user may not see it, 403 if they may only read it."""
        row = self.get_object()
        if not self.can_change(row):
            raise PermissionDenied(self.denied_message)
        return row

    def address_of(self, row: Row) -> str:
        return str(getattr(row, self.lookup_field))

    def read(self) -> Response:
        return self.respond(get_or_404(self.detail_rows(self.kwargs[self.lookup_field])))

    def refreshed(self, row: Row, place: str = "") -> Response:
        """Respond with the row, reloaded because a change may have moved it. `place`: URL name for `Location`."""
        address = self.address_of(row)
        return self.respond(get_or_404(self.detail_rows(address)), place, *([address] if place else []))

    def change(self, use_case: Callable[..., Any]) -> Response:
        """Call a service with the fields of the body."""
        row = self.get_for_change()
        body = self.body()
        with locked(row):
            use_case(row, actor=self.request.user, **body)
        return self.refreshed(row)

    def act(self, use_case: Callable[..., Any], place: str = "") -> Response:
        row = self.get_for_change()
        use_case(row, actor=self.request.user)
        return self.refreshed(row, place)

    def remove(self, use_case: Callable[..., Any]) -> Response:
        use_case(self.get_for_change(), actor=self.request.user)
        return Response(status=204)


class ListView(ApiView, GenericAPIView[Any]):
    """A list, filtered and sorted by `filterset_class`, in cursor pages.

    @operation("List suites", response=SuiteSerializer, many=True)
    def get(self, request): return self.page(suites)
    """

    pagination_class = Pages
    filter_backends = [Filters]
    filterset_class: Any = None

    def list_parameters(self, described: Operation) -> Iterable[str]:
        if not described.many:
            return ()
        filters = self.filterset_class.base_filters if self.filterset_class else ()
        return (*filters, "cursor", "limit")

    def page(
        self, rows: Any, serialize: type[BaseSerializer[Any]] | Callable[[list[Any]], Any] | None = None
    ) -> Response:
        """Respond with a page of a queryset, filtered, or of a sequence.

        Args:
            serialize: serializer class, or function from rows to JSON; default: the operation's `response`.
        """
        if isinstance(rows, QuerySet):
            rows = self.filter_queryset(rows)
        page = self.paginate_queryset(rows)
        assert page is not None
        serialize_page: Any = serialize or self.operation.response
        if isinstance(serialize_page, type) and issubclass(serialize_page, BaseSerializer):
            data = serialize_page(page, many=True, context=self.get_serializer_context()).data
        else:
            data = serialize_page(page)
        pages: Any = self.paginator
        return self.get_paginated_response(pages.fitting(data))

    def get_queryset(self) -> Any:
        """Return an empty queryset, from which the OpenAPI generator learns the filters' model."""
        model = self.filterset_class._meta.model if self.filterset_class else ContentType
        return model.objects.none()


def get_or_404(rows: QuerySet[Row], **which: Any) -> Row:
    """Return the first row, or raise 404. Pass `visible_to(user)`, so that strangers get 404 for hidden rows, too."""
    row = rows.filter(**which).first()
    if row is None:
        raise Http404
    return row


def referenced(rows: QuerySet[Row], field: str, **which: Any) -> Row:
    """Return the row that a field of the body names, or raise 400 with that field. Pass `visible_to(user)`."""
    row = rows.filter(**which).first()
    if row is None:
        raise invalid(missing_reference(field, *which.values(), hint=renamed(rows, which.get("slug", ""))))
    return row


def renamed(rows: QuerySet[Any], slug: str) -> str:
    """Return a hint if this is the former address of an object that is public now; else an empty text."""
    if not hasattr(rows.model, "former_addresses"):
        return ""
    row = rows.filter(former_addresses__slug=slug, visibility="public").first()
    return f"It is now called “{row.slug}”." if row else ""


def missing_reference(field: str, *names: Any, hint: str = "") -> FieldError:
    """Describe a reference to a row that does not exist or is hidden. `field` may name an element: agents[2]."""
    name, is_one_of_several, _ = field.partition("[")
    what = (name.removesuffix("s") if is_one_of_several else name).replace("_", " ")
    named = " ".join(f"“{str(name)[:60]}”" for name in names)
    return FieldError(f"$.{field}", f"There is no {what} {named}, or you may not see it.", hint)


# --- changes ---


def check_match(request: Request, etag: str | None, *, needed: bool = False) -> None:
    """Compare If-Match with the current state.

    Args:
        etag: tag of the current state. None if nothing is stored, which makes every tag except `*` outdated.
        needed: the header is required if a stored state would be replaced.

    Raises:
        ApiProblem: 412 if the tag is outdated, 428 if it is needed and missing.
    """
    header = request.headers.get("If-Match")
    if header is None:
        if needed and etag is not None:
            raise ApiProblem(
                428,
                "This would replace a draft that others may have changed. Send If-Match with the ETag you read, or "
                "If-Match: * to replace any state.",
                "if-match-needed",
                [FieldError("If-Match", "This header is missing.")],
            )
        return
    tags = parse_etags(header)
    if tags == ["*"]:
        return
    if etag is None:
        raise ApiProblem(
            412,
            "This draft no longer exists: it was frozen or discarded. Open a new draft, or send the request without "
            "If-Match.",
            "changed-meanwhile",
            [FieldError("If-Match", "There is no draft with this tag.")],
        )
    if etag not in [tag.removeprefix("W/") for tag in tags]:
        raise ApiProblem(
            412,
            "Another request changed the draft. Read it again and send your change with the new ETag.",
            "changed-meanwhile",
            [FieldError("If-Match", f"The current tag is {etag}.")],
            headers={"ETag": etag},
        )


@contextmanager
def locked(row: models.Model) -> Iterator[None]:
    """Open a transaction with the row locked and reloaded, so that concurrent changes to different fields are all
    kept."""
    with transaction.atomic():
        row.refresh_from_db(from_queryset=type(row)._base_manager.select_for_update())
        yield


def renderers(*more: Any) -> list[Any]:
    """Return the JSON renderer followed by the `more` renderers."""
    return [*api_settings.DEFAULT_RENDERER_CLASSES, *more]
