"""Bulk actions on the suites ticked in a list: freeze, run, tag, publish, collect, share, download."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from gym.accounts.models import User
from gym.accounts.requests import SignedInRequest
from gym.collections.bulk import collect_each, new_collection
from gym.collections.models import Collection
from gym.collections.services import changeable_by
from gym.downloads import file_download
from gym.runs.work.bulk import queue_each
from gym.sharing.views import CollaboratorForm
from lmgym.suites.formats.files import FORMS
from models_registry.fields import SomeModelsField
from models_registry.selectors import runnable_by
from suites.bulk import MAX_SUITES, BulkResult, freeze_each, publish_each, share_each, tag_each
from suites.exports import suites_zip
from suites.forms import split_tags
from suites.models import Suite
from suites.selectors import visible_to, with_shape

BULK_ACTIONS = {
    "freeze": "Freeze",
    "run": "Run",
    "tag": "Tag",
    "publish": "Make public",
    "collect": "Add to a collection",
    "share": "Share",
    "download": "Download",
}


class _FreezeForm(forms.Form):
    note = forms.CharField(
        required=False, max_length=2000, label="What changed", help_text="Saved with each suite."
    )

    def do(self, suites: list[Suite], actor: User) -> list[BulkResult]:
        return freeze_each(suites, self.cleaned_data["note"], actor=actor)


class _TagForm(forms.Form):
    add = forms.CharField(required=False, label="Add tags", help_text="Separated by commas.")
    remove = forms.CharField(required=False, label="Remove tags", help_text="Separated by commas.")

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not any(split_tags(cleaned.get(name, "")) for name in ("add", "remove")):
            raise forms.ValidationError("Enter a tag to add or remove.")
        return cleaned

    def do(self, suites: list[Suite], actor: User) -> list[BulkResult]:
        add, remove = (split_tags(self.cleaned_data[name]) for name in ("add", "remove"))
        return tag_each(suites, add, remove, actor=actor)


class _RunForm(forms.Form):
    models = SomeModelsField(error_messages={"required": "Choose at least one model."})
    freeze = forms.BooleanField(required=False, label="Freeze drafts first")
    again = forms.BooleanField(
        required=False,
        label="Run again even if the same run exists",
        help_text="The numbers would not change.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["models"]
        field.queryset = runnable_by(user)
        field.choices = [(model.slug, field.label_from_instance(model)) for model in field.queryset]

    def do(self, suites: list[Suite], actor: User) -> list[BulkResult]:
        cleaned = self.cleaned_data
        drafts = [suite for suite in suites if suite.draft] if cleaned["freeze"] else []
        frozen = freeze_each(drafts, actor=actor)
        return frozen + queue_each(suites, list(cleaned["models"]), actor=actor, again=cleaned["again"])


class _PublishForm(forms.Form):
    def do(self, suites: list[Suite], actor: User) -> list[BulkResult]:
        return publish_each(suites, actor=actor)


class _CollectForm(forms.Form):
    collection = forms.ModelChoiceField(
        Collection.objects.none(), required=False, empty_label="New collection"
    )
    title = forms.CharField(required=False, max_length=200, label="Title of the new collection")
    freeze = forms.BooleanField(
        required=False,
        label="Freeze drafts first",
        help_text="A collection contains frozen revisions. The newest one of each suite is added.",
    )

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["collection"]
        field.queryset = changeable_by(user)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if not self.errors and cleaned["collection"] is None and not cleaned["title"]:
            self.add_error("title", "Choose a collection above, or enter the title of a new one.")
        return cleaned

    def do(self, suites: list[Suite], actor: User) -> list[BulkResult]:
        cleaned = self.cleaned_data
        collection = cleaned["collection"] or new_collection(cleaned["title"], actor=actor)
        drafts = [suite for suite in suites if suite.draft] if cleaned["freeze"] else []
        frozen = freeze_each(drafts, actor=actor)
        return frozen + collect_each(suites, collection, actor=actor)


class _ShareForm(CollaboratorForm):
    def clean_username(self) -> str:
        username = str(self.cleaned_data["username"]).strip()
        if not get_user_model().objects.filter(username=username, is_active=True).exists():
            raise forms.ValidationError(f"There is no account called {username}.")
        return username

    def do(self, suites: list[Suite], actor: User) -> list[BulkResult]:
        cleaned = self.cleaned_data
        return share_each(suites, cleaned["username"], cleaned["role"], actor=actor)


class _DownloadForm(forms.Form):
    form = forms.ChoiceField(choices=[(key, one.label) for key, one in FORMS.items()], label="Form")


@login_required
@require_http_methods(["GET", "HEAD", "POST"])
def several_suites(request: SignedInRequest) -> HttpResponseBase:
    """Carry out an action on several suites; GET asks for confirmation. Parameters: `suite` (one or more slugs), `do`.
    Context: suites, do, title, form; after POST also report [(Suite, [BulkResult])], n_refused."""
    query = request.POST if request.method == "POST" else request.GET
    do = query.get("do", "")
    do = do if do in BULK_ACTIONS else "run"
    slugs = list(dict.fromkeys(slug.replace("\0", "")[:80] for slug in query.getlist("suite")))
    if not slugs or len(slugs) > MAX_SUITES:
        messages.error(
            request,
            f"Tick at most {MAX_SUITES} suites."
            if slugs
            else "Tick the suites first, then choose an action.",
        )
        return redirect("suite-list")
    suites = list(with_shape(visible_to(request.user).filter(slug__in=slugs), request.user).order_by("title"))
    form = _form(do, request)
    context: dict[str, Any] = {"suites": suites, "do": do, "title": BULK_ACTIONS[do], "form": form}
    if request.method != "POST":
        return render(request, "suites/bulk.html", context)
    if not form.is_valid():
        return render(request, "suites/bulk.html", context, status=400)
    if isinstance(form, _DownloadForm):
        return _download(request, suites, form.cleaned_data["form"])
    try:
        results = form.do(suites, request.user)
    except ValidationError as error:  # includes OverQuota
        form.add_error(None, error.messages)
        return render(request, "suites/bulk.html", context, status=400)
    context["report"] = [(suite, [row for row in results if row.suite.pk == suite.pk]) for suite in suites]
    context["n_refused"] = sum(row.kind == "refused" for row in results)
    return render(request, "suites/bulk_report.html", context)


def _form(do: str, request: SignedInRequest) -> Any:
    data = request.POST if request.method == "POST" else None
    if do == "run":
        return _RunForm(data, user=request.user)
    if do == "collect":
        return _CollectForm(data, user=request.user)
    forms_by_action = {
        "freeze": _FreezeForm,
        "tag": _TagForm,
        "publish": _PublishForm,
        "share": _ShareForm,
        "download": _DownloadForm,
    }
    return forms_by_action[do](data)


def _download(request: HttpRequest, suites: list[Suite], form: str) -> HttpResponseBase:
    file = suites_zip(suites, form, request.user, request.build_absolute_uri("/"))
    return file_download(file, f"{len(suites)}-suites-{form}.zip", "application/zip")
