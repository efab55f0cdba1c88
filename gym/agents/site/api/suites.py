"""Suites of agent tests and their cases."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpResponse
from django.utils.text import slugify
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.agents.core.archives import ArchiveError, name_of
from gym.agents.models import AgentCase, AgentSuite
from gym.agents.site import permissions, selectors, services
from gym.agents.site.api.request_bodies import (
    AgentCaseBody,
    AgentCasesBody,
    AgentCasesFile,
    AgentSuiteCard,
    AgentTextBody,
    NewAgentSuite,
    checked_secrets,
    chosen,
)
from gym.agents.site.api.serializers import (
    AgentCaseDetailSerializer,
    AgentCaseSerializer,
    AgentCasesSerializer,
    AgentCheckSerializer,
    AgentMatrixSerializer,
    AgentSuiteDetailSerializer,
    AgentSuiteSerializer,
)
from gym.agents.site.forms import cases_in
from gym.agents.site.views import cases_file
from gym.api.base import AddressDecides, ApiView, ListView, get_or_404, locked
from gym.api.errors import ApiProblem, FieldError, answers, invalid
from gym.api.filters import Filters, WordsFilter
from gym.api.operations import BINARY, operation
from gym.api.parsers import JSONParser

JSON, FORM = "application/json", "multipart/form-data"


@answers(ArchiveError)
def _unreadable(error: ArchiveError) -> ApiProblem:
    return ApiProblem(400, str(error), "unreadable", [FieldError("$", str(error))])


def suite_of(request: Request, slug: str) -> AgentSuite:
    return get_or_404(selectors.visible_to(request.user), slug=slug)


def editable(request: Request, slug: str) -> AgentSuite:
    suite = suite_of(request, slug)
    if not permissions.can_edit(request.user, suite):
        raise PermissionDenied("you may not edit these tests")
    return suite


def shown(request: Request, slug: str) -> dict[str, Any]:
    suite = get_or_404(selectors.listed(request.user), slug=slug)
    return dict(AgentSuiteDetailSerializer(suite, context={"request": request}).data)


def saved(request: Request, suite: AgentSuite, body: dict[str, Any]) -> AgentSuite:
    variables = checked_secrets(body, "variables", headers=False)
    if "judge" in body:
        suite.judge = chosen(
            selectors.judges_for(request.user), body.pop("judge"), "$.judge", "You may not use this judge."
        )
    for name, value in body.items():
        setattr(suite, name, value)
    return services.save_suite(suite, actor=request.user, variables=variables)


class AgentSuiteFilter(Filters):
    q = WordsFilter("title", label="Words of the title")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of the owner")
    sort = django_filters.OrderingFilter(
        fields=[("title", "title"), ("created", "created"), ("updated", "updated")], label="Sort"
    )

    class Meta:
        model = AgentSuite
        fields: list[str] = []


class Suites(ListView):
    filterset_class = AgentSuiteFilter

    @operation("List suites of agent tests", answers=AgentSuiteSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Those you may see."""
        return self.page(selectors.visible_to(request.user).order_by("slug"), AgentSuiteSerializer)

    @operation(
        "Make a suite of agent tests", takes=NewAgentSuite, answers=AgentSuiteDetailSerializer, status=201
    )
    def post(self, request: Request) -> Response:
        """Without cases: write or import them at `cases/`."""
        body = self.body()
        slug = body.pop("slug", "") or slugify(body["title"])[:80] or "agent-tests"
        suite = saved(request, AgentSuite(slug=slug), body)
        place = reverse("api-agent-suite", args=[suite.slug], request=request)
        return Response(shown(request, suite.slug), status=201, headers={"Location": place})


class Suite(ApiView):
    @operation("Read a suite of agent tests", answers=AgentSuiteDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Its card; its cases are at `cases/`, its newest results at `matrix/`."""
        return Response(shown(request, slug))

    @operation("Change a suite of agent tests", takes=AgentSuiteCard, answers=AgentSuiteDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Only the fields sent are changed."""
        suite = editable(request, slug)
        body = self.body()
        with locked(suite):
            saved(request, suite, body)
        return Response(shown(request, slug))

    @operation("Delete a suite of agent tests", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """With its runs; not while one of them is under way."""
        services.delete_suite(editable(request, slug), actor=request.user)
        return Response(status=204)


class Verdicts(ApiView):
    @operation("Forget the verdicts of a judge", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """What it said before is asked anew from the next run on. Results stay."""
        services.forget_verdicts(editable(request, slug), actor=request.user)
        return Response(status=204)


class Matrix(ApiView):
    @operation("Read the newest results of agent tests", answers=AgentMatrixSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Cases by agents: the newest result with its interval, and whether results disagree."""
        columns, rows = selectors.matrix(suite_of(request, slug), request.user)
        slugs = [column.server.model.slug for column in columns]
        found = [
            {
                "case": row.case.name,
                "cells": [{"agent": slug, **vars(cell)} for slug, cell in zip(slugs, row.cells, strict=True)],
            }
            for row in rows
        ]
        return Response(AgentMatrixSerializer({"agents": slugs, "rows": found}).data)


class Export(ApiView):
    content_negotiation_class = AddressDecides

    @operation("Export a suite of agent tests", media={"application/zip": BINARY})
    def get(self, request: Request, slug: str) -> HttpResponse:
        """All cases as .hocon files in a zip archive, as they were given."""
        return cases_file(suite_of(request, slug))


class Check(ApiView):
    @operation("Look at the text of a test case", takes=AgentTextBody, answers=AgentCheckSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Everything that is wrong with it or odd, with its line; nothing is saved."""
        suite = editable(request, slug)
        read, problems = AgentCase(suite=suite, text=self.body()["text"].replace("\r\n", "\n")).look()
        data = {"ok": read is not None, "agent": read.agent if read else "", "findings": problems}
        return Response(AgentCheckSerializer(data).data)


class Cases(ListView):
    parser_classes = [JSONParser, MultiPartParser]

    @operation("List test cases", answers=AgentCaseSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """By name. The case itself has its text, and the export has all of them."""
        cases = suite_of(request, slug).cases.defer("text").order_by("name")
        return self.page(cases, AgentCaseSerializer)

    @operation(
        "Import test cases",
        takes={JSON: AgentCasesBody, FORM: AgentCasesFile},
        answers=AgentCasesSerializer,
        status=201,
    )
    def post(self, request: Request, slug: str) -> Response:
        """All of them, or none, with every problem named. Cases of the same name are replaced."""
        suite = editable(request, slug)
        body = self.body()
        if "file" in body:
            texts = cases_in([(str(file.name), file) for file in body["file"]])
        else:
            texts = {_named(name): text for name, text in body["cases"].items()}
        try:
            cases = services.import_cases(suite, texts, actor=request.user)
        except ValidationError as error:
            raise invalid(
                *(FieldError(_place(message, texts), message) for message in error.messages)
            ) from error
        place = reverse("api-agent-cases", args=[slug], request=request)
        return Response(AgentCasesSerializer({"cases": cases}).data, status=201, headers={"Location": place})


class Case(ApiView):
    @operation("Read a test case", answers=AgentCaseDetailSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Its text, what there is to say about it, and what came of it so far."""
        return Response(self.shown(request, get_or_404(suite_of(request, slug).cases.all(), pk=pk)))

    @operation("Change a test case", takes=AgentCaseBody, answers=AgentCaseDetailSerializer)
    def patch(self, request: Request, slug: str, pk: int) -> Response:
        """Its name or its text. Runs keep the text they were made with."""
        case = get_or_404(editable(request, slug).cases.select_related("suite"), pk=pk)
        body = self.body()
        with locked(case):
            case.name = _named(body["name"]) if "name" in body else case.name
            case.text = body.get("text", case.text)
            services.save_case(case, actor=request.user)
        return Response(self.shown(request, case))

    @operation("Delete a test case", status=204)
    def delete(self, request: Request, slug: str, pk: int) -> Response:
        """Runs keep its text and its results."""
        services.delete_case(
            get_or_404(editable(request, slug).cases.select_related("suite"), pk=pk), actor=request.user
        )
        return Response(status=204)

    def shown(self, request: Request, case: AgentCase) -> dict[str, Any]:
        history = selectors.history_of(case, request.user)
        _, problems = case.look()
        data: dict[str, Any] = {
            name: getattr(case, name) for name in (*AgentCaseSerializer.Meta.fields, "text")
        }
        data |= {"findings": problems, "flaky": selectors.flaky(history), "history": history}
        return dict(AgentCaseDetailSerializer(data).data)


def _named(name: str) -> str:
    return name_of(name.strip().strip("/"))


def _place(message: str, texts: dict[str, str]) -> str:
    """The service's messages begin with the name of the case."""
    name = next((name for name in texts if message.startswith(f"{name}: ")), None)
    return "$.cases" if name is None else f"$.cases['{name}']"
