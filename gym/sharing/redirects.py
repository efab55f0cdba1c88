"""Redirects from former public addresses of suites, corpora and reference answers, on pages and in the API.

If the object is public, everybody is redirected to its current address; else only its owner, collaborators and staff.
All others get 410 and the authors' note, but not the new address. An address that was never public stays a 404."""

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
    """A kind of object whose former addresses redirect. `route` matches its addresses, `model` stores the
    former addresses, `noun` and `words` name it without and with an article, `home` and `title` are the URL name and
    label of its list, `below` is the plural noun of the rows below an object."""

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


def ask_before_leaving(request: HttpRequest, obj: Any, form: Any) -> HttpResponse | None:
    """Return the confirmation page for a valid form that hides a public object, unless `confirmed` is sent; else None.
    Context: obj, form, new_visibility, kind."""
    new_visibility = form.cleaned_data.get("visibility", obj.visibility)
    if (
        obj.visibility != Visibility.PUBLIC
        or new_visibility == Visibility.PUBLIC
        or "confirmed" in request.POST
    ):
        return None
    model = obj.former_addresses.model
    kind = next(kind for kind in KINDS if apps.get_model(kind.model) is model)
    context = {"obj": obj, "form": form, "new_visibility": new_visibility, "kind": kind}
    return render(request, "sharing/confirm_visibility.html", context)


def redirect_old_addresses(
    get_response: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Return middleware that redirects former addresses, or responds with 410 if the user may no longer see the object.
    Only requests that would get a 404 are looked up."""

    def answer(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        match = request.resolver_match
        if response.status_code != 404 or match is None:
            return response
        kind = next((kind for kind in KINDS if kind.route.match(match.route)), None)
        return (kind and _redirect_of(request, match, kind)) or response

    return answer


def _redirect_of(request: HttpRequest, match: ResolverMatch, kind: Kind) -> HttpResponse | None:
    slug = match.kwargs["slug"]
    model: Any = apps.get_model(kind.model)
    old = model.objects.filter(slug=slug).first()
    if old is None:
        return None
    obj = old.thing
    if obj is None:
        return _gone(request, match, kind, old)
    if obj.visibility == Visibility.PUBLIC or may_read(request.user, obj):
        if obj.slug == slug:
            return None  # the object exists; the missing page is below it
        place = reverse(match.view_name, kwargs=match.kwargs | {"slug": obj.slug})
        query = request.META.get("QUERY_STRING", "")
        return HttpResponseRedirect(f"{place}?{query}" if query else place, preserve_request=True)
    return _gone(request, match, kind, old)


def _gone(request: HttpRequest, match: ResolverMatch, kind: Kind, old: Any) -> HttpResponse:
    if match.route.startswith("api/v1/"):
        message = f"This {kind.noun} is no longer public."
        more = {"note": old.note} if old.note else {}
        return ApiProblem(410, message, "no-longer-public", more=more).plain_response()
    return render(request, "sharing/not_public.html", {"redirect": old, "kind": kind}, status=410)
