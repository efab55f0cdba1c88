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

from gym.accounts.models import User
from gym.accounts.requests import SignedInApiRequest
from gym.agents import permissions, selectors, services
from gym.agents.api.serializers import (
    AgentCaseDetailSerializer,
    AgentCaseSerializer,
    AgentCasesSerializer,
    AgentSuiteDetailSerializer,
    AgentSuiteSerializer,
)
from gym.agents.api.servers import MOST_TEXT, checked_secrets, chosen, secrets
from gym.agents.inputs import cases_in
from gym.agents.models import AgentCase, AgentSuite
from gym.agents.views import cases_file
from gym.api.base import FormatFromUrl, ListView, ObjectView, get_or_404, locked
from gym.api.errors import ApiProblem, FieldError, invalid, problem_for
from gym.api.filters import Filters, WordsFilter
from gym.api.operations import FILE, operation
from gym.api.parsers import JSONParser
from gym.api.requests import Body
from gym.sharing.models import PRIVATE_OR_PUBLIC
from lmgym.agents.archives import MAX_FILES, ArchiveError, name_of

JSON, FORM = "application/json", "multipart/form-data"


@problem_for(ArchiveError)
def _unreadable(error: ArchiveError) -> ApiProblem:
    return ApiProblem(400, str(error), "unreadable", [FieldError("$", str(error))])


class AgentSuiteCard(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, required=False)
    description = serializers.CharField(max_length=MOST_TEXT, allow_blank=True, required=False)
    judge = serializers.SlugField(
        max_length=80,
        allow_null=True,
        required=False,
        help_text="slug of the agent server or chat endpoint that judges; null: no judge",
    )
    judge_agent = serializers.CharField(max_length=200, allow_blank=True, required=False)
    judge_votes = serializers.IntegerField(min_value=1, max_value=15, required=False)
    variables = secrets("values of ${NAME} in the cases")


class NewAgentSuite(AgentSuiteCard):
    title = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=80, required=False, help_text="default: derived from the title")


class AgentCasesBody(Body):
    cases = serializers.DictField(
        child=serializers.CharField(trim_whitespace=False),
        help_text="name -> text; cases with the same name are replaced",
    )


class AgentCasesFile(Body):
    file = serializers.ListField(
        child=serializers.FileField(),
        min_length=1,
        max_length=MAX_FILES,
        help_text="a .hocon, .conf or .json file, or a zip archive of such files; may be repeated",
    )


class AgentCaseBody(Body):
    name = serializers.CharField(max_length=200, required=False, help_text="a path, such as music/beatles")
    text = serializers.CharField(required=False, trim_whitespace=False)


class SuiteView(ObjectView[AgentSuite]):
    denied_message = "this suite belongs to another user, and you are not one of its editors"

    def visible_rows(self, address: str) -> QuerySet[AgentSuite]:
        return selectors.visible_to(self.request.user).filter(slug=address)

    def detail_rows(self, address: str) -> QuerySet[AgentSuite]:
        return selectors.listed(self.request.user).filter(slug=address)

    def can_change(self, suite: AgentSuite) -> bool:
        return permissions.can_edit(self.request.user, suite)


def save(suite: AgentSuite, *, actor: User, **body: Any) -> AgentSuite:
    variables = checked_secrets(body, "variables", headers=False)
    if "judge" in body:
        suite.judge = chosen(
            selectors.judges_for(actor),
            body.pop("judge"),
            "$.judge",
            "There is no ready server with this slug that you may use as a judge.",
        )
    for name, value in body.items():
        setattr(suite, name, value)
    return services.save_suite(suite, actor=actor, variables=variables)


class AgentSuiteFilter(Filters):
    q = WordsFilter("title", label="Words in the title")
    owner = django_filters.CharFilter(field_name="owner__username", label="User name of the owner")
    sort = django_filters.OrderingFilter(
        fields=[("title", "title"), ("created", "created"), ("updated", "updated")], label="Sort"
    )

    class Meta:
        model = AgentSuite
        fields: list[str] = []


class Suites(SuiteView, ListView):
    filterset_class = AgentSuiteFilter

    @operation("List suites of agent tests", response=AgentSuiteSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List suites visible to you."""
        return self.page(selectors.visible_to(request.user).order_by("slug"))

    @operation(
        "Create a suite of agent tests", body=NewAgentSuite, response=AgentSuiteDetailSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Create a suite without cases; import them at `cases/`."""
        body = self.body()
        return self.refreshed(save(AgentSuite(), actor=request.user, **body), "api-agent-suite")


class Suite(SuiteView):
    @operation("Read a suite of agent tests", response=AgentSuiteDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return the suite's metadata. Its cases are at `cases/`."""
        return self.read()

    @operation("Change a suite of agent tests", body=AgentSuiteCard, response=AgentSuiteDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Change only the fields that are sent."""
        return self.change(save)

    @operation("Delete a suite of agent tests", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the suite and its runs. Refused while a run is unfinished."""
        return self.remove(services.delete_suite)


class Export(SuiteView):
    content_negotiation_class = FormatFromUrl

    @operation("Export a suite of agent tests", media={"application/zip": FILE})
    def get(self, request: Request, slug: str) -> HttpResponse:
        """Download all cases, unchanged, as .hocon files in a zip archive."""
        return cases_file(self.get_object())


class Cases(SuiteView, ListView):
    parser_classes = [JSONParser, MultiPartParser]

    @operation("List test cases", response=AgentCaseSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """List the cases by name, without their texts, which are in the export."""
        cases = self.get_object().cases.defer("text").order_by("name")
        return self.page(cases)

    @operation(
        "Import test cases",
        body={JSON: AgentCasesBody, FORM: AgentCasesFile},
        response=AgentCasesSerializer,
        status=201,
    )
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Import all cases, or none if any case has a problem; all problems are listed. Cases with the same name are
        replaced."""
        suite = self.get_for_change()
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
        return self.respond({"cases": cases}, "api-agent-cases", slug)


class Case(SuiteView):
    @operation("Read a test case", response=AgentCaseDetailSerializer)
    def get(self, request: Request, slug: str, pk: int) -> Response:
        """Return a case's text, findings and history."""
        return self.respond_with(get_or_404(self.get_object().cases.all(), pk=pk))

    @operation("Change a test case", body=AgentCaseBody, response=AgentCaseDetailSerializer)
    def patch(self, request: SignedInApiRequest, slug: str, pk: int) -> Response:
        """Change name or text. Earlier runs keep their text."""
        case = get_or_404(self.get_for_change().cases.select_related("suite"), pk=pk)
        body = self.body()
        with locked(case):
            case.name = _named(body["name"]) if "name" in body else case.name
            case.text = body.get("text", case.text)
            services.save_case(case, actor=request.user)
        return self.respond_with(case)

    @operation("Delete a test case", status=204)
    def delete(self, request: SignedInApiRequest, slug: str, pk: int) -> Response:
        """Delete the case; runs keep its text and results."""
        case = get_or_404(self.get_for_change().cases.select_related("suite"), pk=pk)
        services.delete_case(case, actor=request.user)
        return Response(status=204)

    def respond_with(self, case: AgentCase) -> Response:
        history = selectors.history_of(case, self.request.user)
        _, problems = selectors.parse_for_user(case, self.request.user)
        details = {"findings": problems, "flaky": selectors.flaky(history), "history": history}
        return self.respond({**vars(case), **details})


def _named(name: str) -> str:
    return name_of(name.strip().strip("/"))


def _place(message: str, texts: dict[str, str]) -> str:
    """Return the JSON path for a service's message, which begins with the name of the case."""
    name = next((name for name in texts if message.startswith(f"{name}: ")), None)
    return "$.cases" if name is None else f"$.cases['{name}']"
