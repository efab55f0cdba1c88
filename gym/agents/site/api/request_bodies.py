"""What the API takes about agents, their tests and runs."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers

from gym.agents.core.archives import MAX_FILES
from gym.agents.core.cases import READINGS
from gym.agents.models import AgentServer
from gym.agents.site.forms import secret_problem
from gym.agents.site.services import MAX_CASES
from gym.api.errors import FieldError, invalid
from gym.api.requests import Body
from gym.secrets import MAX_LENGTH
from gym.sharing.models import PRIVATE_OR_PUBLIC, Visibility

_MOST = 20_000
MAX_AGENTS = 50


def secrets(what: str) -> serializers.DictField:
    return serializers.DictField(
        child=serializers.CharField(max_length=MAX_LENGTH, allow_null=True, trim_whitespace=False),
        required=False,
        help_text=f"{what}: name -> value, encrypted, never shown again; null takes one away, others stay",
    )


class AgentAddress(Body):
    url = serializers.CharField(max_length=500, allow_blank=True, required=False)
    chat_model = serializers.CharField(
        max_length=200, allow_blank=True, required=False, help_text="name the endpoint knows its model by"
    )
    secret_headers = secrets("headers of every request to it")


class NewAgent(AgentAddress):
    kind = serializers.ChoiceField(AgentServer.Kind.choices)
    name = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=80, required=False, help_text="default: made of the name")
    wraps = serializers.SlugField(max_length=80, required=False, help_text="of kind model: who answers")
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, default=Visibility.PRIVATE)
    description = serializers.CharField(max_length=_MOST, allow_blank=True, default="")


class AgentSuiteCard(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(PRIVATE_OR_PUBLIC, required=False)
    description = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    judge = serializers.SlugField(
        max_length=80, allow_null=True, required=False, help_text="an agent or a model; null: nobody"
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


class _RunOptions(Body):
    suite = serializers.SlugField(max_length=80)
    cases = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MAX_CASES,
        required=False,
        help_text="names; default: all",
    )
    reading = serializers.ChoiceField(READINGS, required=False)
    early_stop = serializers.BooleanField(required=False)
    parallel = serializers.IntegerField(required=False, min_value=1, max_value=16)


class AgentRunBody(_RunOptions):
    agent = serializers.SlugField(max_length=80)


class AgentRunsBody(_RunOptions):
    agents = serializers.ListField(
        child=serializers.SlugField(max_length=80), min_length=1, max_length=MAX_AGENTS
    )


def checked_secrets(body: dict[str, Any], field: str, *, headers: bool) -> dict[str, str | None]:
    """The named secrets of a body; every name or value that cannot be used is named, and no value is repeated."""
    found: dict[str, str | None] = body.pop(field, {})
    field_errors = [
        FieldError(f"$.{field}", problem)
        for name, value in found.items()
        if (problem := secret_problem(name, value or "", headers=headers))
    ]
    if field_errors:
        raise invalid(*field_errors)
    return found


def chosen(rows: Any, slug: str | None, where: str, message: str) -> Any:
    """The row of this name among those that may be chosen, or None for none."""
    if slug is None:
        return None
    row = rows.filter(slug=slug).first()
    if row is None:
        raise invalid(FieldError(where, message))
    return row
