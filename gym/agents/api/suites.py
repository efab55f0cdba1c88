"""Suites of agent tests and their cases."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import Scope, User
from gym.accounts.requests import SignedInApiRequest
from gym.agents import pauses, permissions, schedules, selectors, services
from gym.agents.api.serializers import (
    AgentCaseDetailSerializer,
    AgentCaseSerializer,
    AgentCasesSerializer,
    AgentCheckSerializer,
    AgentMatrixSerializer,
    AgentScheduleSerializer,
    AgentSuiteDetailSerializer,
    AgentSuiteSerializer,
)
from gym.agents.api.servers import MOST_TEXT, checked_secrets, chosen, secrets
from gym.agents.forms import cases_in
from gym.agents.models import AgentCase, AgentSchedule, AgentSuite
from gym.agents.views import cases_file
from gym.api.base import AddressDecides, ListView, ObjectView, get_or_404, locked, referred
from gym.api.errors import ApiProblem, FieldError, answers, invalid
from gym.api.filters import Filters, WordsFilter
from gym.api.operations import BINARY, operation
from gym.api.parsers import JSONParser
from gym.api.requests import Body
from gym.sharing.models import PRIVATE_OR_PUBLIC
from lmgym.agents.archives import MAX_FILES, ArchiveError, name_of
from lmgym.agents.cases import MAX_ITERATIONS

JSON, FORM = "application/json", "multipart/form-data"


@answers(ArchiveError)
def _unreadable(error: ArchiveError) -> ApiProblem:
    return ApiProblem(400, str(error), "unreadable", [FieldError("$", str(error))])


class AgentSuiteCard(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, required=False)
    description = serializers.CharField(max_length=MOST_TEXT, allow_blank=True, required=False)
    judge = serializers.SlugField(
        max_length=80, allow_null=True, required=False, help_text="slug of a server; null: no judge"
    )
    judge_agent = serializers.CharField(max_length=200, allow_blank=True, required=False)
    judge_votes = serializers.IntegerField(min_value=1, max_value=15, required=False)
    variables = secrets("what ${NAME} in the cases stands for")


class NewAgentSuite(AgentSuiteCard):
    title = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=80, required=False, help_text="default: made of the title")


class AgentCasesBody(Body):
    cases = serializers.DictField(
        child=serializers.CharField(trim_whitespace=False),
        help_text="name -> text; those of a name are replaced",
    )


class AgentCasesFile(Body):
    file = serializers.ListField(
        child=serializers.FileField(),
        min_length=1,
        max_length=MAX_FILES,
        help_text="a .hocon file, or a zip archive of a folder of them; several parts of this name are all taken",
    )


class AgentCaseBody(Body):
    name = serializers.CharField(max_length=200, required=False, help_text="a path such as music/beatles")
    text = serializers.CharField(required=False, trim_whitespace=False)


class AgentTextBody(Body):
    text = serializers.CharField(trim_whitespace=False, allow_blank=True)


class SuiteView(ObjectView[AgentSuite]):
    not_yours = "you may not edit these tests"

    def rows_at(self, address: str) -> QuerySet[AgentSuite]:
        return selectors.visible_to(self.request.user).filter(slug=address)

    def shown_at(self, address: str) -> QuerySet[AgentSuite]:
        return selectors.listed(self.request.user).filter(slug=address)

    def may_change(self, suite: AgentSuite) -> bool:
        return permissions.can_edit(self.request.user, suite)


def save(suite: AgentSuite, *, actor: User, **body: Any) -> AgentSuite:
    variables = checked_secrets(body, "variables", headers=False)
    if "judge" in body:
        suite.judge = chosen(
            selectors.judges_for(actor), body.pop("judge"), "$.judge", "You may not use this judge."
        )
    for name, value in body.items():
        setattr(suite, name, value)
    return services.save_suite(suite, actor=actor, variables=variables)


class AgentSuiteFilter(Filters):
    q = WordsFilter("title", label="Words of the title")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of the owner")
    sort = django_filters.OrderingFilter(
        fields=[("title", "title"), ("created", "created"), ("updated", "updated")], label="Sort"
    )

    class Meta:
        model = AgentSuite
        fields: list[str] = []


class Suites(SuiteView, ListView):
    filterset_class = AgentSuiteFilter

    @operation("List suites of agent tests", answers=AgentSuiteSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Those you may see."""
        return self.page(selectors.visible_to(request.user).order_by("slug"))

    @operation(
        "Make a suite of agent tests", takes=NewAgentSuite, answers=AgentSuiteDetailSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Without cases: write or import them at `cases/`."""
        body = self.body()
        return self.again(save(AgentSuite(), actor=request.user, **body), "api-agent-suite")


class Suite(SuiteView):
    @operation("Read a suite of agent tests", answers=AgentSuiteDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Its card; its cases are at `cases/`, its newest results at `matrix/`."""
        return self.read()

    @operation("Change a suite of agent tests", takes=AgentSuiteCard, answers=AgentSuiteDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Only the fields sent are changed."""
        return self.change(save)

    @operation("Delete a suite of agent tests", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """With its runs; not while one of them is under way."""
        return self.remove(services.delete_suite)


class Matrix(SuiteView):
    @operation("Read the newest results of agent tests", answers=AgentMatrixSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Cases by servers: the newest result with its interval, and whether results disagree."""
        columns, rows = selectors.matrix(self.get_object(), request.user)
        slugs = [column.server.model.slug for column in columns]
        found = [
            {
                "case": row.case.name,
                "cells": [
                    {"server": slug, **vars(cell)} for slug, cell in zip(slugs, row.cells, strict=True)
                ],
            }
            for row in rows
        ]
        return self.answer({"servers": slugs, "rows": found})


class AgentScheduleBody(Body):
    server = serializers.SlugField(max_length=80, help_text="its slug")
    every = serializers.ChoiceField(AgentSchedule.Every.choices)
    iterations = serializers.IntegerField(
        required=False, min_value=1, max_value=MAX_ITERATIONS, help_text="of each case; default: its own"
    )


class Schedules(SuiteView, ListView):
    token_scope = Scope.RUN

    @operation("List schedules of agent tests", answers=AgentScheduleSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """All of a suite for those who edit it; else your own."""
        return self.page(schedules.visible_to(request.user, self.get_object()).order_by("pk"))

    @operation("Schedule agent tests", takes=AgentScheduleBody, answers=AgentScheduleSerializer, status=201)
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Every hour, every night, when the cases have changed, or when the server's version changes. You get a
        notification when the pass rate or a single case falls significantly, and when a case loses its verdict."""
        suite, body = self.get_object(), self.body()
        server = referred(
            selectors.servers_visible_to(request.user), "server", model__slug=body.pop("server")
        )
        made = schedules.add_schedule(suite, server, actor=request.user, **body)
        return self.answer(made)


class Schedule(SuiteView):
    token_scope = Scope.RUN

    @operation("Delete a schedule of agent tests", status=204)
    def delete(self, request: SignedInApiRequest, slug: str, pk: int) -> Response:
        """Its runs stay."""
        found = get_or_404(schedules.visible_to(request.user, self.get_object()), pk=pk)
        schedules.remove_schedule(found, actor=request.user)
        return Response(status=204)


class ResumeBody(Body):
    seen = serializers.CharField(
        trim_whitespace=False, help_text="the changes you reviewed: `unseen` of the schedule"
    )


class ScheduleResume(SuiteView):
    token_scope = Scope.RUN

    @operation("Resume a schedule of agent tests", takes=ResumeBody, answers=AgentScheduleSerializer)
    def post(self, request: SignedInApiRequest, slug: str, pk: int) -> Response:
        """A schedule that uses secrets pauses when somebody else changes a case (`unseen`). Its owner reviews the
        cases and sends `seen`. If a case changed in the meantime, the answer is 400 and the schedule stays paused."""
        found = get_or_404(schedules.visible_to(request.user, self.get_object()), pk=pk)
        pauses.resume(found, actor=request.user, seen=self.body()["seen"])
        found.refresh_from_db()
        return self.answer(found)


class Export(SuiteView):
    content_negotiation_class = AddressDecides

    @operation("Export a suite of agent tests", media={"application/zip": BINARY})
    def get(self, request: Request, slug: str) -> HttpResponse:
        """All cases as .hocon files in a zip archive, as they were given."""
        return cases_file(self.get_object())


class Check(SuiteView):
    @operation("Look at the text of a test case", takes=AgentTextBody, answers=AgentCheckSerializer)
    def post(self, request: Request, slug: str) -> Response:
        """Everything that is wrong with it or odd, with its line; nothing is saved."""
        suite = self.changeable()
        case = AgentCase(suite=suite, text=self.body()["text"].replace("\r\n", "\n"))
        read, problems = selectors.look(case, request.user)
        data = {"ok": read is not None, "agent": read.agent if read else "", "findings": problems}
        return self.answer(data)


class Cases(SuiteView, ListView):
    parser_classes = [JSONParser, MultiPartParser]

    @operation("List test cases", answers=AgentCaseSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """By name. The case itself has its text, and the export has all of them."""
        cases = self.get_object().cases.defer("text").order_by("name")
        return self.page(cases)

    @operation(
        "Import test cases",
        takes={JSON: AgentCasesBody, FORM: AgentCasesFile},
        answers=AgentCasesSerializer,
        status=201,
    )
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """All of them, or none, with every problem named. Cases of the same name are replaced."""
        suite = self.changeable()
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
        return self.answer({"cases": cases}, "api-agent-cases", slug)


class Case(SuiteView):
    @operation("Read a test case", answers=AgentCaseDetailSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Its text, what there is to say about it, and what came of it so far."""
        return self.shown(get_or_404(self.get_object().cases.all(), pk=pk))

    @operation("Change a test case", takes=AgentCaseBody, answers=AgentCaseDetailSerializer)
    def patch(self, request: SignedInApiRequest, slug: str, pk: int) -> Response:
        """Its name or its text. Runs keep the text they were made with."""
        case = get_or_404(self.changeable().cases.select_related("suite"), pk=pk)
        body = self.body()
        with locked(case):
            case.name = _named(body["name"]) if "name" in body else case.name
            case.text = body.get("text", case.text)
            services.save_case(case, actor=request.user)
        return self.shown(case)

    @operation("Delete a test case", status=204)
    def delete(self, request: SignedInApiRequest, slug: str, pk: int) -> Response:
        """Runs keep its text and its results."""
        case = get_or_404(self.changeable().cases.select_related("suite"), pk=pk)
        services.delete_case(case, actor=request.user)
        return Response(status=204)

    def shown(self, case: AgentCase) -> Response:
        history = selectors.history_of(case, self.request.user)
        _, problems = selectors.look(case, self.request.user)
        told = {"findings": problems, "flaky": selectors.flaky(history), "history": history}
        return self.answer({**vars(case), **told})


def _named(name: str) -> str:
    return name_of(name.strip().strip("/"))


def _place(message: str, texts: dict[str, str]) -> str:
    """The service's messages begin with the name of the case."""
    name = next((name for name in texts if message.startswith(f"{name}: ")), None)
    return "$.cases" if name is None else f"$.cases['{name}']"
