"""The form of a collection: its words, and a line per revision."""

from __future__ import annotations

import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.collections.models import Collection
from gym.collections.services import TAKEN, frozen_revision, why_not_found
from suites.models import SuiteRevision

_LINE = re.compile(r"^(?P<slug>[-\w]+)(?:\s+r?(?P<number>\d{1,9}))?$")


class CollectionForm(forms.ModelForm):
    """`cleaned_data["revisions"]` holds the SuiteRevisions, in the order of the lines."""

    suites = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 12, "class": "mono", "spellcheck": "false"}),
        label="Suites",
        help_text="One per line: the suite's short name, and the revision, e.g. npi_orc r2. Without a revision the "
        "newest frozen one is taken. What follows # is a comment.",
    )

    class Meta:
        model = Collection
        fields = ["title", "slug", "description", "reference"]
        labels = {"slug": "Short name"}
        help_texts = {"slug": "Part of the address, which stays."}
        widgets = {
            "description": forms.Textarea(attrs={"rows": 4}),
            "reference": forms.Textarea(attrs={"rows": 2}),
        }

    def __init__(self, *args: Any, user: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.user = user
        if self.instance.pk:
            del self.fields["slug"]

    def clean_slug(self) -> str:
        slug = str(self.cleaned_data["slug"])
        if slug in TAKEN:
            raise ValidationError("This name is taken by a page of the site.")
        return slug

    def clean_suites(self) -> str:
        text = str(self.cleaned_data["suites"])
        found, problems = self._read(text)
        if problems:
            raise ValidationError(problems)
        self.revisions = found
        return text

    def _read(self, text: str) -> tuple[list[SuiteRevision], list[str]]:
        found: dict[int, SuiteRevision] = {}
        problems = []
        for number, line in enumerate(text.splitlines()[:1000], start=1):
            said = line.partition("#")[0].strip()
            if not said:
                continue
            match = _LINE.match(said)
            if match is None:
                problems.append(
                    f"Line {number}: “{said[:80]}” is no short name with a revision, as npi_orc r2."
                )
                continue
            wanted = int(match["number"]) if match["number"] else None
            row = frozen_revision(self.user, match["slug"], wanted)
            if row is None:
                problems.append(f"Line {number}: {why_not_found(self.user, match['slug'][:80], wanted)}")
            else:
                found.setdefault(row.pk, row)
        return list(found.values()), problems[:20]


def as_lines(revisions: list[SuiteRevision]) -> str:
    """A line each, with title and owner as a comment."""
    return "".join(
        f"{row.suite.slug} r{row.number}  # {row.suite.title}, by {row.suite.owner.display_name}\n"
        for row in revisions
    )
