"""Forms for human data: upload, questions about the file, details, exclusions, publication, and models to compare."""

from __future__ import annotations

from typing import Any

from django import forms

from gym.people.models import HumanData
from gym.people.services import CARD, MAX_BYTES, MAX_MODELS, parse_exclusions
from gym.runs.models import SuiteRun
from gym.uploads import SingleFileField, read_upload
from lmgym.people.exclusions import Exclusions
from lmgym.people.intake import ROLE_GROUPS
from models_registry.names import disambiguate
from suites.answer_forms import QuestionsForm

ACCEPTED = ".csv,.tsv,.txt,.json,.jsonl,.xlsx,.xlsm,.ods,.gz"


class UploadForm(forms.Form):
    file = SingleFileField(
        label="Results file",
        help_text="PCIbex, Ibex, jsPsych or Gorilla results, or a table with one row per observation (CSV, TSV, .xlsx, "
        f".ods). At most {MAX_BYTES // 1_000_000} MB; large files may be compressed with gzip.",
    )
    title = forms.CharField(
        max_length=200, required=False, label="Name", help_text="Empty: the name of the file."
    )

    def clean_file(self) -> Any:
        upload = self.cleaned_data["file"]
        self.filename = upload.name
        return read_upload(upload, MAX_BYTES)


class PeopleQuestionsForm(QuestionsForm):
    """Form for the questions about a file. `reading`: as stored with the import."""

    role_groups = ROLE_GROUPS

    def __init__(self, *args: Any, reading: dict[str, Any], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.reading = reading

    @property
    def _order(self) -> list[int]:
        """Places of the columns in the preview: those that are read come first, as results files have many others."""
        about_columns = [question for question in self.questions if question.is_about_column]
        return sorted(range(len(about_columns)), key=lambda place: about_columns[place].proposed == "skip")

    @property
    def column_fields(self) -> list[Any]:
        fields = super().column_fields
        return [fields[place] for place in self._order]

    @property
    def first_rows(self) -> list[tuple[bool, list[str]]]:
        headings, order = self.reading["headings"], self._order
        rows = [(True, headings)] if any(headings) else []
        rows += [(False, row) for row in self.reading["preview"]]
        return [(is_heading, [row[place] for place in order]) for is_heading, row in rows]

    @property
    def encoding_choices(self) -> list[dict[str, Any]]:
        encoding = next(question for question in self.questions if question.name == "encoding")
        return [{"value": key, "label": label, "lines": []} for key, label in encoding.choices.items()]

    @property
    def sheet_fields(self) -> list[Any]:
        return [
            self[question.name]
            for question in self.questions
            if not question.is_about_column
            and not question.is_about_name
            and question.name not in ("encoding", "sheet")
        ]


class CardForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    instance: HumanData

    class Meta:
        model = HumanData
        fields = CARD
        widgets = {
            "description": forms.Textarea(attrs={"rows": 4}),
            "author": forms.Textarea(attrs={"rows": 2}),
            "reference": forms.Textarea(attrs={"rows": 2}),
            "bibtex": forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        }


class PublishForm(forms.Form):
    consent = forms.BooleanField(
        label="Participants agreed that their answers are published.",
        error_messages={"required": "Confirm the participants’ consent."},
    )
    anonymity = forms.BooleanField(
        label="Nobody can be identified from these data.",
        error_messages={"required": "Confirm that nobody can be identified."},
    )


class ExclusionsForm(forms.Form):
    """Fields of `Exclusions`; shares are entered as percentages."""

    minimum = forms.FloatField(required=False, label="Drop values below")
    maximum = forms.FloatField(required=False, label="Drop values above")
    trimming = forms.ChoiceField(
        choices=[
            ("none", "no trimming"),
            ("sd", "standard deviations from the mean"),
            ("mad", "MADs from the median"),
        ],
        label="Trim by",
    )
    cutoff = forms.FloatField(required=False, min_value=0.1, max_value=100, label="Cutoff")
    within = forms.ChoiceField(
        choices=[
            ("participant", "each participant"),
            ("condition", "each condition"),
            ("participant and condition", "each participant and condition"),
            ("all", "all values"),
        ],
        label="Computed within",
    )
    minimum_accuracy = forms.FloatField(
        required=False, min_value=0, max_value=100, label="Drop participants with accuracy below (%)"
    )
    practice_trials = forms.IntegerField(
        required=False, min_value=0, max_value=1000, label="Drop each participant’s first trials"
    )
    maximum_dropped = forms.FloatField(
        required=False,
        min_value=0,
        max_value=100,
        label="Drop participants who lost more than (%)",
        help_text="Of their observations, by the settings above.",
    )
    log = forms.BooleanField(required=False, label="Fit logarithms of reading times")

    def __init__(self, data: Any = None, *, data_set: HumanData) -> None:
        super().__init__(data, initial=_shown(data_set.exclusions))
        for name in ("minimum", "maximum"):
            self.fields[name].label = f"{self.fields[name].label} ({data_set.unit})"
        if data_set.are_means:
            for name in ("minimum_accuracy", "practice_trials", "maximum_dropped"):
                del self.fields[name]
            within: Any = self.fields["within"]
            within.choices = [choice for choice in within.choices if "participant" not in choice[0]]
        if not data_set.has_reading_times:
            del self.fields["log"]

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        if not self.errors:
            self.exclusions()
        return cleaned

    def exclusions(self) -> Exclusions:
        values = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        for name in ("minimum_accuracy", "maximum_dropped"):
            if name in values:
                values[name] /= 100
        return parse_exclusions(values)


def _shown(stored: dict[str, Any]) -> dict[str, Any]:
    shown = dict(stored)
    for name in ("minimum_accuracy", "maximum_dropped"):
        if shown.get(name) is not None:
            shown[name] = round(100 * shown[name], 6)
    return shown


class ModelsForm(forms.Form):
    """Runs to compare with people."""

    models = forms.MultipleChoiceField(
        widget=forms.CheckboxSelectMultiple, label="Models", error_messages={"required": "Choose a model."}
    )
    spill_over = forms.TypedChoiceField(
        coerce=int,
        choices=[
            (0, "none: only of the word or region itself"),
            (1, "of the previous one"),
            (2, "of the two previous ones"),
        ],
        initial=1,
        label="Spill-over: surprisals that are predictors as well",
    )
    slopes = forms.BooleanField(
        required=False,
        label="Random slopes of surprisal, by participant and by item",
        help_text="Slower. Intervals are too narrow without them if people differ in how much surprisal slows them "
        "down. Gains are of fits with random intercepts only.",
    )
    regions = forms.TypedMultipleChoiceField(
        coerce=int,
        required=False,
        widget=forms.CheckboxSelectMultiple,
        label="Regions",
        help_text="None ticked: all regions.",
    )

    def __init__(self, *args: Any, data_set: HumanData, runs: list[SuiteRun], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        disambiguate(run.model for run in runs)
        self.runs = {run.model.slug: run for run in runs}
        models: Any = self.fields["models"]
        models.choices = [(slug, run.model.label) for slug, run in self.runs.items()]
        models.initial = list(self.runs)[:MAX_MODELS]
        regions: Any = self.fields["regions"]
        regions.choices = [(number, f"{number} {name}") for number, name in data_set.revision.regions.items()]
        if not data_set.has_reading_times:
            del self.fields["spill_over"], self.fields["slopes"], self.fields["regions"]

    def chosen(self) -> list[SuiteRun]:
        return [self.runs[slug] for slug in self.cleaned_data["models"]]
