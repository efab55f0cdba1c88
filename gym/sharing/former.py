"""Addresses of things that were public once, wherever an address of the site or the API begins with a thing that can
be unlisted.

Whoever may open the thing is led to its address of now; everybody else reads that it is not public any more (410), and
nothing about where it is. An address that never was public answers 404, as if nothing had ever been there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import ResolverMatch, reverse

from gym.api.errors import ApiProblem
from gym.sharing.models import Visibility
from gym.sharing.permissions import may_read


@dataclass(frozen=True)
class Kind:
    """`route` is how addresses of its things begin, `model` keeps the former ones, `home` is its list, called
    `title`; `below` is what hangs below them."""

    route: re.Pattern[str]
    model: str
    noun: str
    words: str
    home: str
    title: str
    below: str


KINDS = (
    Kind(
        re.compile(r"^(api/v1/)?(exports/)?(suites|compare)/<slug:slug>/"),
        "suites.FormerAddress", "suite", "a test suite", "suite-list", "Suites", "results",
    ),
    Kind(
        re.compile(r"^(api/v1/lmc|games)/corpora/<slug:slug>/"),
        "lmchallenge.FormerCorpusAddress", "corpus", "a corpus", "lmc-list", "LM Challenge", "games",
    ),
    Kind(
        re.compile(r"^(api/v1/propara/answer-sets|propara)/<slug:slug>/"),
        "propara.FormerSetAddress", "set of reference answers", "a set of reference answers",
        "propara-list", "ProPara", "submissions",
    ),
)  # fmt: skip


def ask_before_leaving(request: HttpRequest, thing: Any, form: Any) -> HttpResponse | None:
    """Of a valid form that would take a public thing away from where everybody can open it: the page that says what
    will be seen there and offers a note, until `confirmed` is sent. Context: thing, form, wanted, kind."""
    wanted = form.cleaned_data.get("visibility", thing.visibility)
    if thing.visibility != Visibility.PUBLIC or wanted == Visibility.PUBLIC or "confirmed" in request.POST:
        return None
    formers = thing.former_addresses.model
    kind = next(kind for kind in KINDS if apps.get_model(kind.model) is formers)
    context = {"thing": thing, "form": form, "wanted": wanted, "kind": kind}
    return render(request, "sharing/confirm_visibility.html", context)


def former_addresses(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Middleware: only what answers 404 is looked up."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        match = request.resolver_match
        if response.status_code != 404 or match is None:
            return response
        kind = next((kind for kind in KINDS if kind.route.match(match.route)), None)
        return (kind and _at(request, match, kind)) or response

    return answer


def _at(request: HttpRequest, match: ResolverMatch, kind: Kind) -> HttpResponse | None:
    slug = match.kwargs["slug"]
    model: Any = apps.get_model(kind.model)
    former = model.objects.filter(slug=slug).first()
    if former is None:
        return None
    thing = former.thing
    if thing is None:
        return _gone(request, match, kind, former)
    if thing.visibility == Visibility.PUBLIC or may_read(request.user, thing):
        if thing.slug == slug:
            return None  # they may open it; it is something below it that is not there
        place = reverse(match.view_name, kwargs=match.kwargs | {"slug": thing.slug})
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(f"{place}?{query}" if query else place, preserve_request=True)
    return _gone(request, match, kind, former)


def _gone(request: HttpRequest, match: ResolverMatch, kind: Kind, former: Any) -> HttpResponse:
    if match.route.startswith("api/v1/"):
        gone = f"This {kind.noun} is not public any more."
        more = {"note": former.note} if former.note else {}
        return ApiProblem(410, gone, "not-public-any-more", more=more).plain_response()
    return render(request, "sharing/not_public.html", {"former": former, "kind": kind}, status=410)
