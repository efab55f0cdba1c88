"""Forms for agent servers, suites and cases."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.accounts.models import AnyUser
from gym.addresses import SHORT_NAME_HELP, ShortNameField
from gym.agents.inputs import cases_in, secret_problem
from gym.agents.models import AgentCase, AgentSchedule, AgentServer, AgentSuite
from gym.agents.selectors import judges_for, servers_usable_by
from gym.sharing.permissions import owns
from gym.uploads import MultipleFilesField, MultipleFilesInput, files_of_folder, folder_field
from lmgym.agents.archives import SUFFIXES, ArchiveError, name_of
from lmgym.agents.case_form import plain_lines
from lmgym.agents.cases import MAX_ITERATIONS
from lmgym.text import listing as listing_of
from models_registry.fields import choose_models
from models_registry.names import named_with_owner

MONO = {"rows": 4, "spellcheck": "false", "autocomplete": "off", "class": "mono"}
KEEP = (
    "Values need at least 4 characters; they are encrypted and never shown again. A line with only a name keeps the "
    "stored value."
)


def read_secrets(text: str, *, headers: bool) -> dict[str, str]:
    """Parse lines `NAME: value` (or NAME = value); a name without a value gets "". Raises ValidationError."""
    secrets: dict[str, str] = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, _, value = re.sub(r"\s*[:=]\s*", ":", line, count=1).partition(":")
        if problem := secret_problem(name, value, headers=headers):
            raise ValidationError(problem)
        secrets[name] = value
    return secrets


def changed_secrets(stored: dict[str, str], submitted: dict[str, str]) -> dict[str, str | None]:
    """Return the changes for `sealed`: the submitted secrets, and None for stored names that were removed
    from the form."""
    return {**{name: None for name in stored if name not in submitted}, **submitted}


class SecretLines(forms.CharField):
    """Named secrets, one per line."""

    def __init__(self, *, headers: bool, **more: Any) -> None:
        self.headers = headers
        super().__init__(required=False, widget=forms.Textarea(attrs=MONO), **more)

    def clean(self, value: Any) -> Any:
        return read_secrets(super().clean(value), headers=self.headers)


class ServerForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    instance: AgentServer
    kind = forms.ChoiceField(choices=AgentServer.Kind.choices, label="Kind")
    name = forms.CharField(max_length=200)
    slug = ShortNameField(
        max_length=80,
        required=False,
        help_text=f"{SHORT_NAME_HELP} If empty, it is derived from the name.",
    )
    visibility = forms.ChoiceField(choices=[("private", "private"), ("public", "public")], initial="private")
    description = forms.CharField(required=False, widget=forms.Textarea(attrs={"rows": 2}))
    secret_headers = SecretLines(
        headers=True,
        label="Secret headers",
        help_text="One per line, for example Authorization: Bearer …. " + KEEP,
    )

    class Meta:
        model = AgentServer
        fields = ["kind", "url", "chat_model"]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        help_texts = {
            "url": "For example https://agents.example.org:8080. For a chat endpoint, include its /v1.",
            "chat_model": "The endpoint's name for its model. If empty, the agent named in the case is used.",
        }
        for name, text in help_texts.items():
            self.fields[name].help_text = text
        if self.instance.pk:
            for name in ("kind", "name", "slug", "visibility", "description"):
                del self.fields[name]
            self.initial["secret_headers"] = "\n".join(self.instance.secret_names)


class SuiteForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    instance: AgentSuite
    variable_lines = SecretLines(
        headers=False,
        label="Variables",
        help_text="Values that cases use as ${NAME}, for example API_KEY: …. " + KEEP,
    )

    class Meta:
        model = AgentSuite
        fields = ["title", "slug", "visibility", "description", "judge", "judge_agent", "judge_votes"]
        field_classes = {"slug": ShortNameField}
        help_texts = {"slug": f"{SHORT_NAME_HELP} If empty, it is derived from the title."}
        widgets = {"description": forms.Textarea(attrs={"rows": 2})}

    def __init__(self, *args: Any, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        judge = self.fields["judge"]
        assert isinstance(judge, forms.ModelChoiceField)
        judges = judges_for(user)
        choose_models(judge, judges)
        judge.empty_label = "no judge: gist cannot be checked"
        judge.help_text = "A server whose agent answers pass or fail."
        agent = AgentPicker(
            empty="the server's own judge",
            label="Judge agent",
            help_text="The judging agent, if the server has several.",
        )
        agent.offer(servers_usable_by(user).filter(model__in=judges), self.instance.judge_agent)
        self.fields["judge_agent"] = agent
        self.fields["judge_votes"].widget.attrs |= {"min": 1, "max": 15}
        self.fields[
            "judge_votes"
        ].help_text = "Number of times the judge is asked about each answer; the majority decides."
        self.fields["slug"].required = False
        self.initial["variable_lines"] = "\n".join(self.instance.variable_names)
        if self.instance.pk and not owns(user, self.instance):
            for name in ("visibility", "variable_lines"):
                del self.fields[name]
            if self.instance.judge_id and not judges.filter(pk=self.instance.judge_id).exists():
                del self.fields["judge"]

    def clean_judge_votes(self) -> int:
        votes: int = self.cleaned_data["judge_votes"]
        if not 1 <= votes <= 15:
            raise ValidationError("The number of votes must be between 1 and 15.")
        return votes


class CaseForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    """Form for a case as text, which keeps the stored text's line breaks."""

    instance: AgentCase

    class Meta:
        model = AgentCase
        fields = ["name", "text"]
        widgets = {"text": forms.Textarea(attrs={**MONO, "rows": 22})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        text = self.fields["text"]
        assert isinstance(text, forms.CharField)
        text.strip = False
        text.label = "Test case (HOCON)"
        self.fields["name"].help_text = "A path, for example music/beatles."

    def clean_text(self) -> str:
        text = plain_lines(self.cleaned_data["text"])
        if "\0" in text:
            raise ValidationError("Text cannot contain the character U+0000.")
        before: str = self.instance.text
        if plain_lines(before) == text:
            return before
        windows = "\r\n" in before and "\n" not in before.replace("\r\n", "")
        return text.replace("\n", "\r\n") if windows else text

    def clean_name(self) -> str:
        try:
            return name_of(self.cleaned_data["name"].strip().strip("/"))
        except ArchiveError as error:
            raise ValidationError(str(error)) from None


class ImportForm(forms.Form):
    """Upload of files, a folder or a zip archive. `cleaned_data["cases"]` is {name: text}."""

    file = MultipleFilesField(
        label="Files",
        required=False,
        widget=MultipleFilesInput(attrs={"accept": ".hocon,.conf,.json,.zip", "multiple": True}),
        help_text="One or more .hocon, .conf or .json files, or a zip archive of them. Cases with the same name are "
        "replaced.",
    )
    folder = folder_field(
        SUFFIXES,
        label="Or a folder",
        help_text="Including its subfolders. Files that end in .hocon, .conf or .json are imported.",
    )
    paths = forms.CharField(required=False, widget=forms.HiddenInput)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        uploads = [(str(upload.name), upload) for upload in cleaned.get("file") or []]
        uploads += files_of_folder(cleaned.get("folder") or [], cleaned.get("paths", ""), SUFFIXES)
        if not uploads and not self.errors:
            raise ValidationError("Choose at least one .hocon, .conf, .json or .zip file.")
        try:
            cleaned["cases"] = cases_in(uploads)
        except ArchiveError as error:
            raise ValidationError(str(error)) from None
        return cleaned


def agent_names(servers: Iterable[AgentServer]) -> list[tuple[str, str]]:
    """Return all agents on the servers, sorted by name, as (agent, first server that lists it, with its owner)."""
    names = [
        (str(agent.get("agent_name", "")), named_with_owner(server.model))
        for server in servers
        for agent in server.agents
    ]
    return sorted({name: where for name, where in reversed(names) if name}.items())


class AgentPicker(forms.ChoiceField):
    """Choice of an agent. Each name is offered once, with the servers that list it."""

    def __init__(self, *, empty: str, **more: Any) -> None:
        self.empty = empty
        super().__init__(required=False, choices=[("", empty)], **more)

    def offer(self, servers: Iterable[AgentServer], kept: str = "") -> None:
        """Set the choices. `kept`: the earlier choice, offered even if no server lists it now."""
        where: dict[str, list[str]] = {}
        for server in servers:
            for name in dict.fromkeys(str(agent["agent_name"]) for agent in server.agents):
                where.setdefault(name, []).append(server.model.name)
        old = [] if not kept or kept in where else [(kept, f"{kept} (no longer listed)")]
        listed = [(name, f"{name} · {listing_of(where[name])}") for name in sorted(where)]
        self.choices = [("", self.empty), *old, *listed]


class ServerField(forms.ModelChoiceField):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    def label_from_instance(self, obj: Any) -> str:
        return named_with_owner(obj.model)


class ServersField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    def label_from_instance(self, obj: Any) -> str:
        return named_with_owner(obj.model)


OTHERS = "Servers that do not list all agents of these cases (but may still answer)"


class RunForm(forms.Form):
    server = ServersField(
        AgentServer.objects.none(),
        label="Servers",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one server."},
    )
    reading = forms.ChoiceField(
        choices=[("document", "documentation"), ("reference-compatible", "neuro-san 0.7.15")],
        label="Rules",
        required=False,
    )
    early_stop = forms.BooleanField(required=False, label="Stop as soon as the ratio is decided")
    parallel = forms.IntegerField(
        min_value=1, max_value=16, initial=4, required=False, label="Parallel iterations"
    )
    iterations = forms.IntegerField(
        min_value=1,
        max_value=MAX_ITERATIONS,
        required=False,
        label="Iterations of each case",
        help_text="If empty, the number set in each case. The required rate stays the same: with 30, 2/3 becomes "
        "20/30.",
    )

    def __init__(self, *args: Any, user: AnyUser, agents: Iterable[str] = (), **kwargs: Any) -> None:
        """Create the form. `agents`: the agents tested by the cases; servers that list all of them come first."""
        super().__init__(*args, **kwargs)
        field = self.fields["server"]
        assert isinstance(field, ServersField)
        field.queryset = servers_usable_by(user)
        tested = sorted(set(agents))
        # Evaluated once, because a select would evaluate it twice and the page also tests whether it is empty.
        servers = list(field.queryset)
        listing, others = [], []
        for server in servers:
            label = field.label_from_instance(server)
            missing = [agent for agent in tested if not server.answers_for(agent)]
            if missing:
                others.append((server.pk, f"{label}: does not list {listing_of(missing)}"))
            else:
                listing.append((server.pk, label))
        self.servers, self.lists_all = servers, bool(listing)
        field.choices = [*listing, *([(OTHERS, others)] if others else [])]
        field.initial = [pk for pk, _ in listing] if len(listing) == 1 else []

    def options(self) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            "reading": data["reading"] or "document",
            "early_stop": data["early_stop"],
            "parallel": data["parallel"] or 4,
            "iterations": data["iterations"],
        }


class ScheduleForm(forms.Form):
    """Form for a schedule of runs."""

    prefix = "schedule"
    server = ServerField(AgentServer.objects.none(), label="Server", empty_label=None)
    every = forms.ChoiceField(choices=AgentSchedule.Every.choices, label="Run", initial="night")
    iterations = forms.IntegerField(
        min_value=1, max_value=MAX_ITERATIONS, required=False, label="Iterations of each case",
        help_text="If empty, the number set in each case. More iterations detect smaller regressions.",
    )  # fmt: skip

    def __init__(
        self, *args: Any, user: AnyUser, servers: Iterable[AgentServer] | None = None, **kwargs: Any
    ) -> None:
        """Create the form. `servers`: the servers that the user may use, if already known."""
        super().__init__(*args, **kwargs)
        field = self.fields["server"]
        assert isinstance(field, ServerField)
        field.queryset = servers_usable_by(user)
        offered = field.queryset if servers is None else servers
        field.choices = [(server.pk, field.label_from_instance(server)) for server in offered]


class NamerForm(forms.Form):
    """Form for choosing the agent that names failures."""

    server = ServerField(AgentServer.objects.none(), label="Server", empty_label=None)
    agent = AgentPicker(empty="the embedded namer, or the endpoint's model", label="Agent on the server")

    def __init__(self, *args: Any, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field, agent = self.fields["server"], self.fields["agent"]
        assert isinstance(field, ServerField)
        assert isinstance(agent, AgentPicker)
        field.queryset = servers_usable_by(user)
        servers = list(field.queryset)  # evaluated once
        field.choices = [(server.pk, field.label_from_instance(server)) for server in servers]
        agent.offer(servers)
