"""Form for open questions about an uploaded file or a pasted sheet: questions (lmgym.suites.intake.questions) become
fields, and the cleaned fields become `ParseOptions`."""

from __future__ import annotations

from typing import Any

from django import forms
from django.http import QueryDict

from lmgym.suites.intake import ENCODINGS
from lmgym.suites.intake.parsing import ParseOptions, ParseResult
from lmgym.suites.intake.questions import Known, Question, answers_to, questions, read_pasted


class AnswersForm(forms.Form):
    """Form with one field per question. `known`: names of the suite that the file is for."""

    def __init__(
        self, *args: Any, parsed: ParseResult, before: ParseOptions, known: Known, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.parsed, self.before = parsed, before
        self.questions = questions(parsed, before, known)
        for question in self.questions:
            self.fields[question.name] = _field(question)

    @property
    def column_fields(self) -> list[Any]:
        """Form fields of columns, in the order of the preview."""
        return [self[question.name] for question in self.questions if question.is_about_column]

    @property
    def sheet_fields(self) -> list[Any]:
        """Form fields of questions about the whole sheet, such as where its text is cut."""
        return [self[question.name] for question in self.questions if question.is_about_sheet]

    @property
    def name_fields(self) -> list[Any]:
        return [self[question.name] for question in self.questions if question.is_about_name]

    @property
    def encoding_choices(self) -> list[dict[str, Any]]:
        """Encodings, each with sample lines of the file decoded with it."""
        return [
            {"value": key, "label": ENCODINGS[key], "lines": lines}
            for key, lines in self.parsed.encodings.items()
        ]

    def answers(self) -> ParseOptions:
        return answers_to(self.cleaned_data, self.before)


def _field(question: Question) -> forms.ChoiceField:
    widget: forms.Widget = forms.RadioSelect()
    if question.is_about_column:
        words = f"{question.label} {question.header} is"
        widget = forms.Select(attrs={"class": "form-select", "aria-label": words})
    elif question.is_about_name or question.name == "header":
        widget = forms.Select()
    return forms.ChoiceField(
        choices=list(question.choices.items()),
        label=question.label,
        initial=question.proposed or None,
        # other answers in the form may settle a question about the sheet; otherwise it is asked again
        required=not (question.is_about_sheet and question.proposed),
        help_text=f"{question.doubt[:1].upper()}{question.doubt[1:]}",
        widget=widget,
    )


def pasted_sheet(data: QueryDict) -> tuple[ParseResult, AnswersForm | None]:
    """Parse the pasted `text` for a suite with the sent names (`condition`, `region`).

    Returns the result and a form with the open questions, or None. Every request sends all answers given so
    far."""
    known = {"conditions": data.getlist("condition"), "regions": data.getlist("region")}
    parsed, last = read_pasted(
        data.get("text", ""), known, {name: str(value) for name, value in data.items()}
    )
    if last is None:
        return parsed, None
    answered = data if last.is_answered else None
    return parsed, AnswersForm(answered, parsed=last.result, before=last.before, known=known)
