"""The form that starts runs."""

from __future__ import annotations

from typing import Any

from django import forms

from models_registry.engine import ScoringPolicy
from models_registry.models import RegisteredModel
from models_registry.selectors import runnable_by
from suites.models import JoinPolicy, SuiteRevision

BOS = [
    ("auto", "put the start token first where the model has one"),
    ("always", "always; refuse models without one"),
    ("never", "never; the first token has no surprisal"),
]
WHITESPACE = [
    ("none", "no correction"),
    ("trailing", "count the end of a word with the word"),
]
TOKENS = [
    ("all", "all"),
    ("needed", "only those of regions that predictions look at"),
]
METRICS = [(name, name) for name in ("sum", "mean", "median", "range", "max", "min")]


class RunForm(forms.Form):
    """Models and policy for one revision. `revision` and `user` decide what is offered and preset."""

    models = forms.ModelMultipleChoiceField(
        queryset=RegisteredModel.objects.none(),
        to_field_name="slug",
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one model."},
    )
    bos = forms.ChoiceField(choices=BOS, initial="auto", label="Start of sentence")
    join = forms.ChoiceField(choices=JoinPolicy.choices, label="Regions joined by")
    metric = forms.ChoiceField(choices=METRICS, label="Region value")
    whitespace = forms.ChoiceField(
        choices=WHITESPACE,
        initial="none",
        required=False,
        label="Whitespace correction",
        help_text="Tokens that carry their leading blank also pay for the end of the word before. The correction moves "
        "that to the word itself (Oh & Schuler 2024; Pimentel & Meister 2024), in all bits and predictions of the run. "
        "For the region value sum, and for causal models.",
    )
    tokens = forms.ChoiceField(
        choices=TOKENS,
        initial="all",
        required=False,
        label="Tokens to compute",
        help_text="Pass rates are the same. A large model is done sooner with fewer tokens; the other regions then "
        "have no bits and no points in charts.",
    )
    eos = forms.BooleanField(
        required=False,
        label="Score the end of the sentence too",
        help_text="In a slot of its own, outside regions.",
    )

    def __init__(self, *args: Any, revision: SuiteRevision, user: Any, **kwargs: Any) -> None:
        from gym.runs.work.services import default_policy

        super().__init__(*args, **kwargs)
        offered = self.fields["models"]
        offered.queryset = runnable_by(user)
        offered.choices = [(model.slug, offered.label_from_instance(model)) for model in offered.queryset]
        self.has_models = bool(offered.choices)
        policy = default_policy(revision)
        self.fields["join"].initial = policy.join
        self.fields["metric"].initial = policy.metric

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        try:
            self.policy()
        except KeyError:
            return given  # a choice is missing, and its own error says so
        except ValueError as error:
            self.add_error("whitespace", f"{str(error)[0].upper()}{str(error)[1:]}.")
        return given

    def policy(self) -> ScoringPolicy:
        given = self.cleaned_data
        return ScoringPolicy(
            bos=given["bos"],
            eos=given["eos"],
            join=given["join"],
            metric=given["metric"],
            whitespace=given["whitespace"] or "none",
            tokens=given["tokens"] or "all",
        )
