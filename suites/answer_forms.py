"""What is asked about a file between its upload and its draft, as a form: `Reading.asks` becomes fields, and the fields
become `Answers`. The API takes the same names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from django import forms

from lmgym.suites.intake import ENCODINGS
from lmgym.suites.intake.readings import ROLES, Answers, Reading
from lmgym.text.near_names import nearest_name

ADD, LEAVE_OUT = "+", "-"
YES_NO = [("yes", "The first row names the columns"), ("no", "There is no such row: every row is data")]
MOST_COLUMNS = 220


class AnswersForm(forms.Form):
    """Fields for what the reading asks and for what was answered before. `known`: names of the suite the file is for,
    under "conditions" and "regions"."""

    def __init__(
        self, *args: Any, reading: Reading, before: Answers, known: dict[str, Sequence[str]], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.reading, self.before, self.known = reading, before, known
        asked = {*reading.asks, *(name for name, value in asdict(before).items() if value)}
        if "encoding" in asked and reading.encodings:
            self._choice(
                "encoding", "Encoding", [(k, ENCODINGS[k]) for k in reading.encodings], before.encoding
            )
        if "sheet" in asked and reading.sheets:
            self._choice("sheet", "Sheet with the suite", [(k, k) for k in reading.sheets], before.sheet)
        if asked & {"columns", "header"} and reading.columns:
            self._columns()
        for what in ("conditions", "regions"):
            for name in reading.unknown.get(what, ()):
                self._name(what, name)

    def _choice(self, name: str, label: str, choices: list[tuple[str, str]], initial: str) -> None:
        self.fields[name] = forms.ChoiceField(
            choices=choices, label=label, initial=initial or choices[0][0], widget=forms.RadioSelect
        )

    def _columns(self) -> None:
        reading = self.reading
        has = self.before.header or ("yes" if reading.has_header else "no")
        self._choice("header", "Header", YES_NO, has)
        for column in reading.columns[:MOST_COLUMNS]:
            usual = self.before.columns.get(column.letter, column.role)
            self.fields[f"columns.{column.letter}"] = forms.ChoiceField(
                choices=list(ROLES.items()),
                label=f"Column {column.letter}",
                initial=usual,
                help_text=f"{column.doubt[:1].upper()}{column.doubt[1:]}",
                widget=forms.Select(
                    attrs={"class": "form-select", "aria-label": f"Column {column.letter} {column.header} is"}
                ),
            )

    def _name(self, what: str, name: str) -> None:
        there = list(self.known.get(what, ()))
        near = nearest_name(name, there)
        noun = what[:-1]
        self.fields[f"{what}.{name}"] = forms.ChoiceField(
            choices=[
                *((f"={one}", f"is {one}") for one in there),
                (ADD, f"is a new {noun}: add it"),
                (LEAVE_OUT, "leave it out"),
            ],
            label=f"{noun.capitalize()} “{name}”",
            initial=f"={near}" if near else ADD,
        )

    @property
    def column_fields(self) -> list[Any]:
        """One for each column of the preview."""
        return [self[name] for name in self.fields if name.startswith("columns.")]

    @property
    def name_fields(self) -> list[Any]:
        return [self[name] for name in self.fields if name.startswith(("conditions.", "regions."))]

    @property
    def encoding_choices(self) -> list[dict[str, Any]]:
        """Each encoding with lines of the file as they read in it."""
        return [
            {"value": key, "label": ENCODINGS[key], "lines": lines}
            for key, lines in self.reading.encodings.items()
        ]

    def answers(self) -> Answers:
        given = self.cleaned_data
        return Answers(
            encoding=given.get("encoding", ""),
            sheet=given.get("sheet", ""),
            header=given.get("header", ""),
            columns=self._under("columns"),
            conditions={**self.before.conditions, **self._names("conditions")},
            regions={**self.before.regions, **self._names("regions")},
        )

    def _under(self, what: str) -> dict[str, str]:
        start = f"{what}."
        return {
            name.removeprefix(start): value
            for name, value in self.cleaned_data.items()
            if name.startswith(start)
        }

    def _names(self, what: str) -> dict[str, str]:
        return {
            name: name if value == ADD else "" if value == LEAVE_OUT else value[1:]
            for name, value in self._under(what).items()
        }
