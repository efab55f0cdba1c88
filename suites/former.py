"""Addresses of suites that were public once, wherever an address of the site or the API begins with a suite.

Whoever may open the suite is led to its address of now; everybody else reads that it is not public any more (410), and
nothing about where it is. An address that never was public answers 404, as if nothing had ever been there."""

from __future__ import annotations

import re
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import ResolverMatch, reverse

from gym.api.errors import ApiProblem
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_read
from suites.models import FormerAddress

_OF_A_SUITE = re.compile(r"^(?P<api>api/v1/)?(exports/)?(suites|compare)/<slug:slug>/")
GONE = "This suite is not public any more."


def former_addresses(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: only what answers 404 is looked up."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        found = _OF_A_SUITE.match(request.resolver_match.route) if request.resolver_match else None
        if response.status_code != 404 or found is None or request.resolver_match is None:
            return response
        return _at(request, request.resolver_match, is_api=bool(found["api"])) or response

    return answer


def _at(request: HttpRequest, match: ResolverMatch, *, is_api: bool) -> HttpResponse | None:
    slug = match.kwargs["slug"]
    former = FormerAddress.objects.filter(slug=slug).select_related("suite").first()
    if former is None:
        return None
    suite = former.suite
    if suite.visibility == Visibility.PUBLIC or may_read(request.user, suite):
        if suite.slug == slug:
            return None  # they may open it; it is something below it that is not there
        place = reverse(match.view_name, kwargs=match.kwargs | {"slug": suite.slug})
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(f"{place}?{query}" if query else place, preserve_request=True)
    if is_api:
        return ApiProblem(410, GONE, "not-public-any-more").plain_response()
    return render(request, "suites/not_public.html", {"former": former}, status=410)
