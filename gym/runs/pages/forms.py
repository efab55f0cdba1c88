"""Forms to start runs and to upload results."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.runs.policies import default_policy
from gym.runs.work.uploads import ModelChoice, ResultFile
from gym.sharing.models import PRIVATE_OR_PUBLIC, Visibility
from gym.uploads import SingleFileField, read_upload
from lmgym.models.engine import ScoringPolicy
from lmgym.models.engine.policy import MAX_BOS, bos_problem
from lmgym.runs.uploaded import AUTO, KINDS, MAX_BYTES
from lmgym.suites.formats import MAX_BYTES as MAX_SPEC_BYTES
from models_registry.fields import RegisteredModelField, SomeModelsField
from models_registry.selectors import runnable_by, uploadable_by
from suites.models import JoinPolicy, SuiteRevision

NAMED = "named"
BOS = [
    ("auto", "the model’s own, if it has one"),
    ("always", "always; refuse models without one"),
    ("never", "never; the first token has no surprisal"),
    (NAMED, "another token, entered below"),
]
WHITESPACE = [
    ("none", "no correction"),
    ("trailing", "count the end of a word as part of the word"),
]
TOKENS = [
    ("all", "all"),
    ("needed", "only those of regions that predictions refer to"),
]
METRICS = [(name, name) for name in ("sum", "mean", "median", "range", "max", "min")]


class RunForm(forms.Form):
    """Form for queueing runs: models and policy for one revision. `revision` and `user` determine choices and
    initial values."""

    models = SomeModelsField(error_messages={"required": "Choose at least one model."})
    bos = forms.ChoiceField(choices=BOS, initial="auto", label="Start of sentence")
    bos_token = forms.CharField(
        required=False,
        strip=False,
        max_length=MAX_BOS,
        label="Other start token",
        help_text="Any token of the model’s vocabulary, exactly as spelled there, e.g. <|endoftext|>. Also works for "
        "models without a start token.",
        widget=forms.TextInput(attrs={"spellcheck": "false", "autocomplete": "off", "autocapitalize": "off"}),
    )
    join = forms.ChoiceField(choices=JoinPolicy.choices, label="Regions joined by")
    metric = forms.ChoiceField(choices=METRICS, label="Region value")
    whitespace = forms.ChoiceField(
        choices=WHITESPACE,
        initial="none",
        required=False,
        label="Whitespace correction",
        help_text="Tokens with a leading space also include the end of the previous word. The correction moves "
        "it to the word itself (Oh & Schuler 2024; Pimentel & Meister 2024), in all bits and predictions of the run. "
        "Only for causal models, and only if the value of a region is the sum.",
    )
    tokens = forms.ChoiceField(
        choices=TOKENS,
        initial="all",
        required=False,
        label="Tokens to compute",
        help_text="Pass rates do not change. A large model finishes sooner with fewer tokens; the other regions then "
        "have no bits and no points in charts.",
    )
    eos = forms.BooleanField(
        required=False,
        label="Also score the end of the sentence",
        help_text="As a token outside regions.",
    )

    again = forms.BooleanField(
        required=False,
        label="Run again even if the same run exists",
        help_text="The numbers will be the same.",
    )

    def __init__(self, *args: Any, revision: SuiteRevision, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        offered = self.fields["models"]
        assert isinstance(offered, SomeModelsField)
        offered.queryset = runnable_by(user)
        offered.choices = [(model.slug, offered.label_from_instance(model)) for model in offered.queryset]
        self.has_models = bool(offered.choices)
        policy = default_policy(revision)
        self.fields["join"].initial = policy.join
        self.fields["metric"].initial = policy.metric

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or self.cleaned_data
        named, token = data.get("bos") == NAMED, data.get("bos_token", "")
        if "bos" in data and named != bool(token):
            choose, enter = (
                "Choose “another token” to use it.",
                "Enter the token, or choose another option above.",
            )
            self.add_error("bos_token", choose if token else enter)
            return data
        if named and (problem := bos_problem(token)):
            self.add_error("bos_token", f"{problem}.")
            return data
        try:
            self.policy()
        except KeyError:
            return data  # the missing choice has its own error
        except ValueError as error:
            self.add_error("whitespace", f"{str(error)[0].upper()}{str(error)[1:]}.")
        return data

    def policy(self) -> ScoringPolicy:
        data = self.cleaned_data
        return ScoringPolicy(
            bos=data["bos_token"] if data["bos"] == NAMED else data["bos"],
            eos=data["eos"],
            join=data["join"],
            metric=data["metric"],
            whitespace=data["whitespace"] or "none",
            tokens=data["tokens"] or "all",
        )


UNIT_CHOICES = [
    (AUTO, "as the file states"),
    ("bits", "bits (log₂), as in LM Zoo and on this site"),
    ("nats", "nats (natural logarithm)"),
    ("log10", "powers of ten (log₁₀)"),
]


class ResultsForm(forms.Form):
    """Form for uploading a results file and choosing its model. `source()` returns arguments of
    `plan_upload`, `choice()` the ModelChoice."""

    file = SingleFileField(
        label="File of results",
        help_text="Evaluated suite (JSON), CSV of surprisals or of outcomes, or LM Zoo TSV. At most 20 MB.",
    )
    model = RegisteredModelField(
        required=False,
        empty_label="a new model, or my model with the same name",
        help_text="The model of these results. Models that this site runs are not listed.",
    )
    name = forms.CharField(
        required=False,
        max_length=200,
        label="Name of the new model",
        help_text="Leave empty to use the name in the file. A file with several models creates one model for each.",
    )
    visibility = forms.ChoiceField(
        choices=PRIVATE_OR_PUBLIC,
        initial=Visibility.PRIVATE,
        label="Visibility of a new model and its results",
        help_text="Public models appear in everyone’s leaderboard, marked as uploaded.",
    )
    kind = forms.ChoiceField(choices=[("auto", "detect automatically"), *KINDS.items()], label="Kind of file")
    unit = forms.ChoiceField(
        choices=UNIT_CHOICES,
        label="Unit of surprisals",
        help_text="A column name such as surprisal_nats states the unit; surprisal or logprob does not.",
    )
    spec = SingleFileField(
        required=False,
        label="LM Zoo spec.json",
        help_text="For LM Zoo files: describes the tokenizer. Without it, the usual conventions are assumed.",
    )

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["model"]
        assert isinstance(field, RegisteredModelField)
        field.queryset = uploadable_by(user)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for field, limit in (("file", MAX_BYTES), ("spec", MAX_SPEC_BYTES)):
            upload = cleaned.get(field)
            if upload:
                try:
                    cleaned[f"{field}_content"] = ResultFile(upload.name, read_upload(upload, limit))
                except ValidationError as error:
                    self.add_error(field, error)
        if cleaned.get("model") and cleaned.get("name"):
            self.add_error("name", "Choose a model or enter a name for a new one, not both.")
        return cleaned

    def source(self) -> dict[str, Any]:
        data = self.cleaned_data
        return {
            "file": data["file_content"],
            "spec": data.get("spec_content"),
            "kind": data["kind"],
            "unit": data["unit"],
        }

    def choice(self) -> ModelChoice:
        data = self.cleaned_data
        return ModelChoice(model=data["model"], name=data["name"].strip(), visibility=data["visibility"])
