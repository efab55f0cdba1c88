"""Forms for suites: creating, importing, copying, editing the card, uploading a version, freezing, errata."""

from __future__ import annotations

from itertools import groupby
from pathlib import PurePath
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from gym.accounts.models import AnyUser
from gym.addresses import SHORT_NAME_HELP, ShortNameField
from gym.sharing.forms import AddressedForm
from gym.sharing.models import Visibility
from gym.uploads import (
    MultipleFilesField,
    MultipleFilesInput,
    SingleFileField,
    files_of_folder,
    folder_field,
    read_upload,
)
from lmgym.files.bounded import Refused
from lmgym.suites.blueprints import BLUEPRINTS, guided
from lmgym.suites.formats import (
    MAX_BYTES,
    MAX_CELLS,
    MAX_CONDITIONS,
    MAX_REGIONS,
    MAX_SENTENCES,
    SuiteDocument,
    designs,
    next_version,
)
from lmgym.suites.formats.designs import Design
from lmgym.suites.intake import parse_upload
from lmgym.suites.intake.archives import ENDINGS, MAX_TOTAL, SourceFile, is_archive, unpacked
from lmgym.suites.intake.parsing import ParseResult
from lmgym.text import count
from lmgym.text.problems import FormatError
from suites.fields import LanguageField, join_field, metric_field
from suites.models import Suite, SuiteRevision
from suites.name_lists import parts_of
from suites.options import ImportOptions
from suites.presenters import DesignTable, design_table
from suites.selectors import document_of, fixed_address_reason, pairable, revisions_for


class DocumentForm(forms.Form):
    """Form for a suite document as a file or pasted text. `cleaned_data["document"]` is the SuiteDocument; `problems`
    are its errors with their locations; `ambiguous_file` is the file if it can be read once the user has answered
    questions about it, else None."""

    file = SingleFileField(
        required=False,
        label="Suite file",
        help_text="JSON (any SyntaxGym dialect), a table as CSV, TSV, .xlsx or .ods, or minimal pairs as JSONL. "
        "At most 5 MB.",
    )
    text = forms.CharField(
        required=False,
        label="or paste it here",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    metric = metric_field("From the file; for a table, the suite’s")
    join_policy = join_field(required=True)

    def __init__(self, *args: Any, newest: SuiteRevision | None = None, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.newest = newest
        self.problems: list[Any] = []
        self.ambiguous_file: SourceFile | None = None

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        data, name = self._input(cleaned)
        known = document_of(self.newest) if self.newest is not None else None
        parsed = parse_upload(data, name, known=known)
        try:
            if parsed.document is None:
                raise FormatError(parsed.problems)
            document = parsed.document
            if known is not None:
                document = next_version(document, known)
            cleaned["document"] = document
        except FormatError as error:
            if parsed.asks:
                self.ambiguous_file = SourceFile(name or "pasted cells", data)
            self.problems = list(error.problems)
            raise ValidationError(
                "This file cannot be read as a suite. Nothing was saved.", code="format"
            ) from error
        return cleaned

    def _input(self, cleaned: dict[str, Any]) -> tuple[bytes, str]:
        upload, text = cleaned.get("file"), cleaned.get("text") or ""
        if upload and text.strip():
            raise ValidationError("Choose either a file or pasted text, not both.")
        if upload:
            return read_upload(upload, MAX_BYTES), upload.name
        if text.strip():
            return text.encode("utf-8", "surrogatepass"), ""
        raise ValidationError("Choose a file, or paste a suite.")

    @property
    def document(self) -> SuiteDocument:
        document: SuiteDocument = self.cleaned_data["document"]
        return document


class ImportForm(forms.Form):
    """Form for importing suite files, archives of them or pasted text, with options that apply to all of
    them."""

    file = MultipleFilesField(
        required=False,
        label="Suite files",
        widget=MultipleFilesInput(attrs={"multiple": True}),
        help_text="One or several: JSON (any SyntaxGym dialect), sheets or minimal pairs (CSV, TSV, .xlsx, .ods, "
        "JSONL, Parquet), items of Ibex (.js); or a zip of them. Each becomes a suite. At most 200 files, 5 MB each, "
        "20 MB in total.",
    )
    folder = folder_field(
        ENDINGS, label="or a folder", help_text="All suite files in it and in its subfolders."
    )
    paths = forms.CharField(required=False, widget=forms.HiddenInput)
    folder_name = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)
    text = forms.CharField(
        required=False,
        label="or paste one suite here",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    title = forms.CharField(
        max_length=200, required=False, help_text="Shown in lists. Default: the name in the file."
    )
    tags = forms.CharField(required=False, help_text="Separated by commas, e.g. agreement, attraction")
    language = LanguageField(
        help_text="Language of the sentences: a name or BCP 47 tag. Default: from the file, or not stated."
    )
    visibility = forms.ChoiceField(choices=Visibility.choices, initial=Visibility.PRIVATE)
    metric = metric_field("From the file, else the sum")
    join_policy = join_field(required=True)
    again = forms.BooleanField(required=False, label="Import even if an identical suite exists")

    def clean_tags(self) -> list[str]:
        return split_tags(self.cleaned_data["tags"])

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if self.errors:
            return cleaned
        text, folder = cleaned["text"], cleaned["folder"]
        uploads = [(str(upload.name), upload) for upload in cleaned["file"]]
        uploads += files_of_folder(folder, cleaned["paths"], ENDINGS)
        if folder and not uploads:
            raise ValidationError(f"No file in this folder ends in {', '.join(ENDINGS)}.")
        if uploads and text.strip():
            raise ValidationError("Choose either files or pasted text, not both.")
        if not uploads and not text.strip():
            raise ValidationError("Choose a file, or paste a suite.")
        files = [source_file(name, upload) for name, upload in uploads]
        if not uploads:
            files = [SourceFile("", text.encode("utf-8", "surrogatepass"))]
        try:
            cleaned["files"] = unpacked(files)
        except Refused as error:
            raise ValidationError(str(error)) from error
        if len(cleaned["files"]) > 1:
            cleaned["collection"] = cleaned["folder_name"] or _name_of_archive(files)
            if cleaned.get("title"):
                self.add_error("title", "Leave the title empty for several files: each has its own name.")
        return cleaned

    def options(self) -> ImportOptions:
        return ImportOptions.of(self.cleaned_data)


def source_file(name: str, upload: Any) -> SourceFile:
    """Read an uploaded file into memory. Archives may be as large as all files together. Raises ValidationError."""
    limit = MAX_TOTAL if name.lower().endswith(".zip") else MAX_BYTES
    return SourceFile(name, read_upload(upload, limit))


def _name_of_archive(files: list[SourceFile]) -> str:
    """Return the name of the only file without its extension if it is an archive, else ""."""
    return PurePath(files[0].name).stem if len(files) == 1 and is_archive(files[0]) else ""


class SuiteForm(AddressedForm):
    tag_names = forms.CharField(
        required=False, label="Tags", help_text="Separated by commas, e.g. agreement, attraction"
    )

    slug = ShortNameField(
        max_length=80,
        help_text=f"{SHORT_NAME_HELP} Cannot be changed once a revision is frozen.",
    )
    language = LanguageField()

    class Meta:
        model = Suite
        fields = [
            "title",
            "description",
            "author",
            "language",
            "licence",
            "visibility",
            "reference",
            "bibtex",
            "comment",
            "without_modifier",
        ]
        widgets = {
            "description": forms.Textarea(attrs={"rows": 5}),
            "author": forms.Textarea(attrs={"rows": 3}),
            "reference": forms.Textarea(attrs={"rows": 2}),
            "bibtex": forms.Textarea(attrs={"rows": 5, "spellcheck": "false"}),
            "comment": forms.Textarea(attrs={"rows": 3}),
        }

    field_order = ["title", "slug", "description", "tag_names"]

    def __init__(self, *args: Any, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plain: Any = self.fields["without_modifier"]
        plain.queryset, plain.empty_label = pairable(user, self.instance), "Match by the name in the file"
        plain.label_from_instance = _named_with_owner
        plain.widget.attrs["data-search"] = "suites"
        if fixed_address_reason(self.instance):
            del self.fields["slug"]
        else:
            self.fields["slug"].initial = self.instance.slug
        if self.instance.pk:
            self.fields["tag_names"].initial = ", ".join(tag.name for tag in self.instance.tags.all())

    def clean_tag_names(self) -> list[str]:
        return split_tags(self.cleaned_data["tag_names"])

    def card(self) -> dict[str, Any]:
        """Return the keyword arguments for `services.edit_card`."""
        card = {name: self.cleaned_data[name] for name in self.Meta.fields}
        if "former_address_note" in self.fields:
            card["former_address_note"] = self.cleaned_data["former_address_note"]
        if "slug" in self.cleaned_data:
            card["slug"] = self.cleaned_data["slug"]
        plain = card["without_modifier"]
        return card | {"without_modifier": plain and plain.slug, "tags": self.cleaned_data["tag_names"]}


def _named_with_owner(suite: Suite) -> str:
    return f"{suite.title} ({suite.slug}), by {suite.owner.display_name}"


class ErrataForm(forms.Form):
    errata = forms.CharField(
        required=False,
        max_length=10_000,
        widget=forms.Textarea(attrs={"rows": 5}),
        help_text="e.g. Item 12: the contents of two conditions are swapped. Readers see it above the revision.",
    )


class FreezeForm(forms.Form):
    note = forms.CharField(
        required=False,
        max_length=2000,
        label="What changed",
        widget=forms.TextInput(attrs={"placeholder": "first version, fixed item 12 …"}),
    )


def split_tags(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


# ---- new suites ----


def named(text: str = "") -> forms.CharField:
    return forms.CharField(max_length=200, label="Name", help_text=text)


class NewSuiteForm(forms.Form):
    """Base of the forms that create one suite from a document."""

    def options(self) -> ImportOptions:
        """Return the options among the fields; the field `name` is the suite's title."""
        return ImportOptions.of(self.cleaned_data, title=self.cleaned_data.get("name", ""))


class GuidedForm(NewSuiteForm):
    """New suite from scratch: name, conditions (or factors that generate them), regions, and optionally the
    first items."""

    design: DesignTable | None = None
    """The generated design, after `crossed`."""

    name = named("Shown in lists; the address is derived from it.")
    language = LanguageField()
    factors = forms.CharField(
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 3, "spellcheck": "false"}),
        help_text="For a factorial design: one factor per line with its levels, the baseline first, e.g. "
        "number: sing, plural. All combinations of levels become conditions.",
    )
    conditions = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text="One per line, e.g. match, mismatch. Every item has one sentence in each. Empty: generated from the "
        "factors.",
    )
    regions = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 4, "dir": "auto"}),
        help_text="One per line, in the order of the sentence, e.g. Subject, Verb, Rest.",
    )
    first = forms.CharField(
        required=False,
        label="First items",
        strip=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "dir": "auto"}),
        help_text="One line per condition, regions separated by |, e.g. The woman | plays | all day. An empty line "
        "begins the next item.",
    )
    metric = metric_field()
    join_policy = join_field()

    def clean_factors(self) -> Design:
        try:
            return designs.read_lines(self.cleaned_data["factors"])
        except designs.DesignError as error:
            raise ValidationError(error.message) from error

    def clean_conditions(self) -> list[str]:
        """Return the typed names, in the order of the crossed factors, or generated names."""
        if not (design := self.cleaned_data.get("factors")):
            if not self.cleaned_data["conditions"].strip() and "factors" not in self.errors:
                raise ValidationError("Name the conditions, or factors to generate them from.")
            return parts_of(self.cleaned_data["conditions"], "condition", MAX_CONDITIONS)
        crossing = designs.cells(design)
        generated = "\n".join(map(designs.condition_name, crossing))
        names = parts_of(self.cleaned_data["conditions"].strip() or generated, "condition", MAX_CONDITIONS)
        if len(names) < len(crossing):
            raise ValidationError(
                f"{count(len(names), 'condition')}, but the factors generate {len(crossing)}. Name them in this order: "
                f"{', '.join(map(designs.condition_name, crossing))}."
            )
        self.cleaned_data["factors"] = designs.placed(design, dict(zip(crossing, names, strict=False)))
        return names

    def crossed(self) -> GuidedForm:
        """Return a new form with the conditions generated from the factors, to review and rename; or this form with
        errors if the factors are invalid."""
        self.full_clean()
        design = self.cleaned_data.get("factors")
        if not design:
            if not self.has_error("factors"):
                self.add_error("factors", "Name the factors first, e.g. number: sing, plural.")
            return self
        names = {cell: designs.condition_name(cell) for cell in designs.cells(design)}
        typed = {name: self.data.get(name, "") for name in self.fields}
        form = GuidedForm(initial=typed | {"conditions": "\n".join(names.values())})
        form.design = design_table(designs.placed(design, names), list(names.values()))
        return form

    def clean_regions(self) -> list[str]:
        return parts_of(self.cleaned_data["regions"], "region", MAX_REGIONS)

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        names, regions = cleaned.get("conditions"), cleaned.get("regions")
        if not names or not regions:
            return cleaned
        items = [[_parts(line) for line in item] for item in _blocks(cleaned.get("first") or "")]
        for number, item in enumerate(items, start=1):
            self._check_item(number, item, names, regions)
        if len(items) * len(names) > MAX_SENTENCES or len(items) * len(names) * len(regions) > MAX_CELLS:
            self.add_error(
                "first",
                f"{len(items):,} items are too many: a suite can have at most {MAX_SENTENCES:,} sentences (one for "
                f"each item and condition) and {MAX_CELLS:,} regions in all sentences together.",
            )
        cleaned["document"] = guided(
            cleaned.get("name", ""),
            names,
            regions,
            [dict(zip(names, item, strict=False)) for item in items],
            cleaned.get("factors", ()),
        )
        return cleaned

    def _check_item(self, number: int, item: list[list[str]], names: list[str], regions: list[str]) -> None:
        if len(item) > len(names):
            self.add_error(
                "first", f"Item {number}: {len(item)} lines, but {count(len(names), 'condition')}."
            )
        for place, row in enumerate(item, start=1):
            if len(row) > len(regions):
                wrong = f"Item {number}, line {place}: {len(row)} parts, but {count(len(regions), 'region')}."
                self.add_error("first", wrong)


def _blocks(text: str) -> list[list[str]]:
    """Group lines separated by empty lines."""
    return [
        list(lines) for full, lines in groupby(text.splitlines(), key=lambda line: bool(line.strip())) if full
    ]


def _parts(line: str) -> list[str]:
    return line.split("|" if "|" in line else "\t")


class TemplateForm(NewSuiteForm):
    """New suite from a template: a standard design with English sentences."""

    name = named()
    language = LanguageField(initial="en")
    template = forms.ChoiceField(
        choices=[(blueprint.slug, blueprint.title) for blueprint in BLUEPRINTS.values()],
        widget=forms.RadioSelect,
        label="Template",
    )
    metric = metric_field()
    join_policy = join_field()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if "template" in cleaned and "name" in cleaned:
            cleaned["document"] = BLUEPRINTS[cleaned["template"]].document(cleaned["name"])
        return cleaned


class _SheetForm(NewSuiteForm):
    """Base of forms that parse a sheet or a file; `parsed` is the result with its problems."""

    parsed: ParseResult | None = None
    ambiguous_file: SourceFile | None = None

    def take(self, cleaned: dict[str, Any], file: SourceFile, *, pasted: bool = False) -> None:
        parsed = self.parsed = parse_upload(file.data, file.name, pasted=pasted)
        if parsed.asks:
            self.ambiguous_file = file
        if parsed.document is None:
            raise ValidationError("This cannot be read as a suite yet. Nothing was saved.", code="format")
        cleaned["document"] = parsed.document


class PasteForm(_SheetForm):
    """New suite from cells copied from a spreadsheet."""

    text = forms.CharField(
        strip=False,
        label="Cells from your sheet",
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "false", "wrap": "off"}),
        help_text="Copy the whole table with its header row and paste it here: wide (item, condition, one column per "
        "region) or long (one row per region).",
    )
    name = named()
    language = LanguageField()
    metric = metric_field()
    join_policy = join_field()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        if cleaned.get("text", "").strip():
            data = cleaned["text"].encode("utf-8", "surrogatepass")
            self.take(cleaned, SourceFile(f"{cleaned.get('name', '')}.tsv", data), pasted=True)
        return cleaned


class FileForm(_SheetForm):
    """New suite from a file in any supported format."""

    file = SingleFileField(
        label="Suite file",
        help_text="JSON (any SyntaxGym dialect), a sheet or minimal pairs (CSV, TSV, .xlsx, .ods, JSONL, Parquet), or "
        "items of Ibex (.js). At most 5 MB.",
    )
    name = forms.CharField(max_length=200, required=False, help_text="Default: the name in the file.")
    language = LanguageField(
        help_text="Language of the sentences: a name or BCP 47 tag. Default: from the file, or not stated."
    )
    metric = metric_field("From the file, else the sum")
    join_policy = join_field()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        upload = cleaned.get("file")
        if upload is not None:
            self.take(cleaned, SourceFile(str(upload.name), read_upload(upload, MAX_BYTES)))
        return cleaned


class ChooseSuiteForm(forms.Form):
    """Form for choosing the suite to copy. `suites`: the choices."""

    suite = forms.ModelChoiceField(queryset=Suite.objects.none(), empty_label="Choose a suite")
    name = forms.CharField(max_length=200, required=False, help_text="Default: the suite's name with “copy”.")

    def __init__(self, *args: Any, suites: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["suite"]
        field.queryset, field.label_from_instance = suites, _named_with_owner
        field.widget.attrs["data-search"] = "suites"


class CopyForm(forms.Form):
    """Form for copying one revision of a suite."""

    name = named("The copy is a draft that belongs to you and has its own address.")
    revision = forms.ModelChoiceField(queryset=SuiteRevision.objects.none(), empty_label=None)
    visibility = forms.ChoiceField(choices=Visibility.choices, initial=Visibility.PRIVATE)

    def __init__(self, *args: Any, suite: Suite, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        revisions = revisions_for(user, suite).order_by("-number")
        field: Any = self.fields["revision"]
        field.queryset = revisions
        field.label_from_instance = lambda row: f"r{row.number} ({row.get_state_display()})"
        field.initial = suite.latest_frozen or revisions.first()
