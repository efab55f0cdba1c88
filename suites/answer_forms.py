"""Form for open questions about an uploaded file or a pasted sheet: questions (lmgym.suites.intake.questions) become
fields, and the cleaned fields become `ParseOptions`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from django import forms
from django.http import QueryDict

from lmgym.suites.intake import ENCODINGS
from lmgym.suites.intake.parsing import (
    CONDITION_TEXT,
    CONTEXT_TEXT,
    ROLE_GROUPS,
    TARGET_TEXT,
    ParseOptions,
    ParseResult,
)
from lmgym.suites.intake.questions import Known, Question, answers_to, questions, read_pasted
from lmgym.suites.intake.sheets import shape
from lmgym.text import count
from suites.imports import SECONDS

COMPARED = {CONDITION_TEXT, CONTEXT_TEXT, TARGET_TEXT}
"""Roles of columns whose texts a prediction compares."""


class QuestionsForm(forms.Form):
    """Form with one field per question. `role_groups`: roles of a column in the groups of its menu."""

    role_groups: Mapping[str, Sequence[str]] = ROLE_GROUPS

    def __init__(self, *args: Any, questions: Sequence[Question], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.questions = questions
        for question in questions:
            self.fields[question.name] = _field(question, self.role_groups)

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


class AnswersForm(QuestionsForm):
    """Form for the open questions about a suite file. `known`: names of the suite that the file is for. `asked`: the
    questions; default: those that `parsed` leaves open."""

    def __init__(
        self,
        *args: Any,
        parsed: ParseResult,
        before: ParseOptions,
        known: Known,
        asked: Sequence[Question] | None = None,
        **kwargs: Any,
    ) -> None:
        open_questions = questions(parsed, before, known) if asked is None else asked
        super().__init__(*args, questions=open_questions, **kwargs)
        self.parsed, self.before, self.known = parsed, before, known
        if self.is_bound and "prediction" in self.fields:  # which of several texts is better
            roles = {self.data.get(field.html_name, "") for field in self.column_fields}
            self.fields["prediction"].required = not roles or bool(roles & COMPARED)

    @property
    def first_rows(self) -> list[tuple[bool, list[str]]]:
        """First rows of the file, each with whether it names the columns."""
        parsed = self.parsed
        heading = parsed.header_row if parsed.has_header else 0
        return [
            (number == heading, row) for number, row in zip(parsed.preview_rows, parsed.preview, strict=False)
        ]

    @property
    def encoding_choices(self) -> list[dict[str, Any]]:
        """Encodings, each with sample lines of the file decoded with it."""
        return [
            {"value": key, "label": ENCODINGS[key], "lines": lines}
            for key, lines in self.parsed.encodings.items()
        ]

    def answers(self) -> ParseOptions:
        return answers_to(self.cleaned_data, self.before)


def _field(question: Question, role_groups: Mapping[str, Sequence[str]]) -> forms.ChoiceField:
    widget: forms.Widget = forms.RadioSelect()
    if question.is_about_column:
        words = f"{question.label} {question.header} is"
        widget = forms.Select(attrs={"class": "form-select", "aria-label": words})
    elif question.is_about_name or question.name == "header":
        widget = forms.Select()
    return forms.ChoiceField(
        choices=_grouped(question.choices, role_groups)
        if question.is_about_column
        else list(question.choices.items()),
        label=question.label,
        initial=question.proposed or None,
        # other answers in the form may settle a question about the sheet; otherwise it is asked again
        required=not (question.is_about_sheet and question.proposed),
        help_text=f"{question.doubt[:1].upper()}{question.doubt[1:]}",
        widget=widget,
    )


def _grouped(
    roles: Mapping[str, str], groups: Mapping[str, Sequence[str]]
) -> list[tuple[str, list[tuple[str, str]]]]:
    return [(group, [(role, roles[role]) for role in members]) for group, members in groups.items()]


MAX_ROUNDS = 6
"""Maximum rounds of questions that one form answers; the file is parsed once in each, within SECONDS."""


@dataclass(frozen=True)
class AnsweredReading:
    """Result of parsing a file with the answers in a form.

    parsed: the result; None if a question of the form has no valid answer.
    answers: the answers of all rounds.
    follow_up: form with the questions that these answers raise, or None.
    """

    parsed: ParseResult | None
    answers: ParseOptions
    follow_up: AnswersForm | None = None

    @property
    def summary(self) -> str:
        """The result in a few words, for screen readers."""
        if self.parsed is None:
            return "A question has no answer yet."
        if self.parsed.document is None:
            return f"Not read yet: {count(len(self.parsed.problems), 'problem')}."
        return f"Read as {shape(self.parsed.document)}."


def read_with_answers(
    first: AnswersForm, parse: Callable[[ParseOptions], ParseResult], *, assume_proposed: bool = False
) -> AnsweredReading:
    """Parse a file with the answers in a bound form, in rounds: answers may raise questions, whose answers are in the
    same data if the page has shown them. `assume_proposed`: take the proposed answer where there is none."""
    if not first.is_valid():
        return AnsweredReading(None, first.before)
    start = time.thread_time()
    answers = first.answers()
    parsed = parse(answers)
    follow_up: dict[str, Question] = {}
    for _ in range(MAX_ROUNDS):
        if not parsed.asks or time.thread_time() - start > SECONDS:
            break
        asked = questions(parsed, answers, first.known)
        new = {question.name: question for question in asked if question.name not in first.fields}
        values = {name: first.data.get(name, "") for name in (*first.fields, *new)}
        if assume_proposed:
            values |= {name: question.proposed for name, question in new.items() if not values[name]}
        follow_up |= {
            name: replace(question, proposed=values[name] or question.proposed)
            for name, question in new.items()
        }
        form = AnswersForm(values, parsed=parsed, before=answers, known=first.known, asked=asked)
        if not form.is_valid():
            break
        given = {name: value for name, value in asdict(form.answers()).items() if value}
        more = ParseOptions(**asdict(answers) | given)
        if more == answers:
            break
        answers = more
        parsed = parse(answers)
    shown = (
        AnswersForm(
            parsed=parsed,
            before=answers,
            known=first.known,
            asked=list(follow_up.values()),
            auto_id=first.auto_id,
        )
        if follow_up
        else None
    )
    return AnsweredReading(parsed, answers, shown)


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
