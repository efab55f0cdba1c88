"""The playground's page: type, see what a model predicts, take a prediction."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from gym.accounts.errors import TooManyJobs
from gym.lmchallenge.site import guessing
from gym.lmchallenge.site.choices import playable
from models_registry.models import RegisteredModel
from models_registry.selectors import runnable_by


class GuessForm(forms.Form):
    model = forms.ModelChoiceField(
        queryset=RegisteredModel.objects.none(), to_field_name="slug", label="Model", empty_label=None
    )
    text = forms.CharField(
        required=False,
        strip=False,
        max_length=guessing.MAX_CHARACTERS,
        label="Text",
        widget=forms.Textarea(attrs={"rows": 4, "autofocus": True}),
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["model"].queryset = playable(runnable_by(user))


@login_required
def playground(request: HttpRequest) -> HttpResponse:
    """Context: form, guess (models.Guess, answered or still waited for). htmx gets the answer alone."""
    data = request.POST.copy() if request.method == "POST" else None
    if data is not None and data.get("take"):
        data["text"] = f"{data.get('text', '')}{data['take']}"
    form = GuessForm(data, user=request.user)
    context: dict[str, Any] = {"form": form}
    if data is not None and form.is_valid():
        try:
            made = guessing.queue_guess(
                form.cleaned_data["text"], form.cleaned_data["model"], actor=request.user
            )
            context["guess"] = guessing.wait_for(made)
        except ValidationError as error:
            form.add_error(None, error)
        except TooManyJobs as error:
            form.add_error(None, str(error))
    bad = data is not None and "guess" not in context
    name = "_guesses" if request.headers.get("HX-Request") else "playground"
    return render(request, f"lmchallenge/{name}.html", context, status=400 if bad else 200)
