"""Request bodies for suites, and errors of their documents."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from django.core.exceptions import ValidationError
from rest_framework import serializers

from gym.api.errors import ApiProblem, FieldError, invalid, problem_for
from gym.api.requests import Body, Names, Query
from gym.sharing.api import FormerNoteBody
from gym.sharing.models import Visibility
from gym.uploads import read_upload
from lmgym.suites.authors import Author, write_authors
from lmgym.suites.blueprints import BLUEPRINTS, guided
from lmgym.suites.editing import EditError, clean_name
from lmgym.suites.formats import (
    MAX_BYTES,
    MAX_CONDITIONS,
    MAX_NAME_CHARACTERS,
    MAX_REGIONS,
    SuiteDocument,
)
from lmgym.suites.formats.designs import DesignError, cells, condition_name, read_factors, with_factors
from lmgym.suites.formulas import FormulaError
from lmgym.suites.intake import ENCODINGS, parse_upload
from lmgym.suites.intake.parsing import CHOICES, MATCHED, NO_PREDICTION, ROLES, ParseOptions, ParseResult
from lmgym.suites.regions import METRICS
from lmgym.text.problems import FormatError
from suites.drafts import BadEdits
from suites.models import FrozenRevision, JoinPolicy, Suite
from suites.name_lists import parts_of
from suites.services import NothingToFreeze
from suites.signals import InUse

_LANGUAGE: Any = Suite._meta.get_field("language")
_MOST = 100_000


def language_field(**options: Any) -> serializers.RegexField:
    return serializers.RegexField(
        _LANGUAGE.validators[0].regex.pattern,
        max_length=35,
        allow_blank=True,
        help_text="language tag (BCP 47), e.g. en or zh-Hans; empty: not stated. Default for a new suite: the file's",
        **options,
    )


class AuthorBody(Body):
    name = serializers.RegexField(
        r"^(?!.*\s(?:and|&)\s)[^()\n;]+$",
        max_length=200,
        help_text="name of one person, without brackets, semicolons, “and” or “&”",
    )
    affiliation = serializers.RegexField(r"^[^()\n]+$", max_length=500, allow_blank=True, default="")


class CardBody(Body):
    """Metadata of a suite."""

    title = serializers.CharField(max_length=200, required=False)
    slug = serializers.SlugField(
        max_length=80,
        required=False,
        help_text="last part of the address; fixed once a revision is frozen, and while the suite is unlisted",
    )
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=200), max_length=50, required=False)
    author = serializers.CharField(
        max_length=_MOST,
        allow_blank=True,
        required=False,
        help_text="authors of the stimuli, for citations: one per line, affiliation in brackets",
    )
    authors = AuthorBody(many=True, required=False, help_text="`author` as a list; do not send both")
    language = language_field(required=False)
    licence = serializers.CharField(max_length=60, allow_blank=True, required=False)
    reference = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    bibtex = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    description = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    comment = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    without_modifier = serializers.SlugField(
        max_length=80,
        allow_null=True,
        required=False,
        help_text="slug of the suite without the modifier; null: found by the name in the file",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        attrs = super().validate(attrs)
        if "authors" not in attrs:
            return attrs
        if "author" in attrs:
            raise serializers.ValidationError({"authors": "Send author or authors, not both."})
        authors = [Author(one["name"].strip(), one["affiliation"].strip()) for one in attrs.pop("authors")]
        return attrs | {"author": write_authors(authors)}


class FactorBody(Body):
    """A factor of a design. If no factor has `conditions`, levels are assigned to conditions named after them
    (match_sing)."""

    name = serializers.CharField(max_length=200)
    levels = serializers.ListField(
        child=serializers.CharField(max_length=200), help_text="in order; the first one is the baseline"
    )
    conditions = serializers.DictField(
        child=serializers.CharField(max_length=200), required=False, help_text="condition: its level"
    )


class ChangedCard(CardBody, FormerNoteBody):
    """New metadata of a suite."""


class AnswersBody(Body):
    """Answers to open questions about a table."""

    encoding = serializers.ChoiceField(
        list(ENCODINGS), required=False, help_text="encoding of a text that is not UTF-8"
    )
    sheet = serializers.CharField(max_length=200, required=False, help_text="sheet of a workbook")
    header = serializers.RegexField(
        r"^(yes|no|[1-9][0-9]{0,6})$",
        required=False,
        help_text="row that names the columns: its number, yes (default: it is found) or no (none does)",
    )
    columns = Names(
        child=serializers.ChoiceField(list(ROLES)),
        required=False,
        help_text="letter -> role of the column (data: kept with the items, not scored); other columns are ignored",
    )
    layout = serializers.ChoiceField(
        CHOICES["layout"],
        required=False,
        help_text="every two rows of a list of sentences are a pair, with the good (or bad) sentence first; groups: "
        "without an item column, an item begins when a condition is repeated; single: without a condition column, "
        "every row is an item in the only condition",
    )
    prediction = serializers.CharField(
        max_length=MAX_NAME_CHARACTERS,
        required=False,
        help_text=f"condition that should have the lower total surprisal; {MATCHED}: each target after its own "
        f"context; {NO_PREDICTION}: no prediction",
    )
    cut = serializers.ChoiceField(
        CHOICES["cut"], required=False, help_text="what separates regions in a single column of text"
    )
    fillers = serializers.ChoiceField(
        CHOICES["fillers"],
        required=False,
        help_text="items that have different conditions from most: leave them out, or keep them; a number: which of "
        "several experiments is read",
    )
    empty = serializers.ChoiceField(
        CHOICES["empty"],
        required=False,
        help_text="cells without text (empty or ∅): take them as empty texts, leave their items out, or keep the signs",
    )
    incomplete = serializers.ChoiceField(
        CHOICES["incomplete"],
        required=False,
        help_text="rows without a condition: fill in the one above (merged cells), or leave them out (remarks)",
    )
    marks = serializers.ChoiceField(
        CHOICES["marks"],
        required=False,
        help_text="marks of judgements (*) and of words (*word*, _word_, [word]): remove or keep them, or remove them "
        "and cut sentences at the marked words",
    )
    markup = serializers.ChoiceField(
        CHOICES["markup"], required=False, help_text="HTML in texts: remove or keep it"
    )
    conditions = Names(
        required=False, help_text="name in the table -> name in the suite; empty: leave it out"
    )
    regions = Names(required=False, help_text="like `conditions`, for regions")


def answers_in(body: dict[str, Any]) -> ParseOptions:
    return ParseOptions(**{name: body[name] for name, _ in AnswersBody().fields.items() if name in body})


SUITE_METRICS = (*METRICS, "all")


def metric_choice() -> serializers.ChoiceField:
    return serializers.ChoiceField(
        SUITE_METRICS,
        required=False,
        help_text="how the bits of a region's tokens become its value; default: the document's metric",
    )


class DocumentBody(AnswersBody):
    """A suite as a JSON `document`, or as the `text` of a file in any supported format."""

    document = serializers.DictField(required=False, help_text="a suite in JSON, any SyntaxGym dialect")
    text = serializers.CharField(
        required=False,
        trim_whitespace=False,
        max_length=MAX_BYTES,
        help_text="JSON, long CSV, a wide table as TSV or CSV, minimal pairs as JSONL, or cells of a sheet",
    )
    filename = serializers.CharField(
        required=False, max_length=200, help_text="its extension hints at the format of `text`"
    )
    join_policy = serializers.ChoiceField(JoinPolicy.choices, required=False)
    metric = metric_choice()


class DocumentFile(AnswersBody):
    """A suite as a file in any supported format."""

    file = serializers.FileField()
    join_policy = serializers.ChoiceField(JoinPolicy.choices, required=False)
    metric = metric_choice()


def again_field(what: str) -> serializers.BooleanField:
    return serializers.BooleanField(default=False, help_text=f"create {what} even if an identical one exists")


class NewSuite(DocumentBody, CardBody):
    """A new suite: a document, a text, a `template`, or `region_names` and `factors`, whose crossing gives the
    conditions; optionally with metadata. `factors` sent with a document replace those of its meta block."""

    template = serializers.ChoiceField(sorted(BLUEPRINTS), required=False)
    again = again_field("a suite")
    factors = FactorBody(many=True, required=False)
    region_names = serializers.ListField(
        child=serializers.CharField(max_length=200),
        min_length=1,
        max_length=MAX_REGIONS,
        required=False,
        help_text="in order; with `factors`",
    )


class NewSuiteFile(DocumentFile, CardBody):
    again = again_field("a suite")


class NoteBody(Body):
    note = serializers.CharField(
        max_length=2000, allow_blank=True, default="", help_text="what changed in this revision"
    )


class IgnoreBody(Body):
    code = serializers.CharField(max_length=60)
    where = serializers.CharField(max_length=10_000)
    reason = serializers.CharField(max_length=1000, allow_blank=True, help_text="empty: restore the finding")


class Edit(Body):
    id = serializers.CharField(
        max_length=64, trim_whitespace=False, help_text="chosen by you, such as a UUID"
    )
    ops = serializers.ListField(child=serializers.DictField(), help_text="see docs/grid.md")


class EditsBody(Body):
    version = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="version of the draft that the edits are based on"
    )
    edits = Edit(many=True)


class RevisionQuery(Query):
    revision = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="default: the draft, else the newest revision",
    )


def document_in(body: dict[str, Any]) -> SuiteDocument:
    """Read the document of a body. Raises an ApiProblem with every problem and its location."""
    ways = [
        name
        for name in ("document", "text", "file", "template", "region_names")
        if body.get(name) is not None
    ]
    if len(ways) != 1:
        raise invalid(
            FieldError("$", "Send one of document, text, file, template, or region_names with factors.")
        )
    document = _from_regions(body) if ways == ["region_names"] else _given_document(body, ways[0])
    if body.get("factors") is None:
        return document
    with _design_errors():
        return with_factors(document, body["factors"])


def _from_regions(body: dict[str, Any]) -> SuiteDocument:
    """Build a document with one empty item in the conditions that the factors generate."""
    with _design_errors():
        crossing = cells(read_factors(body.get("factors", [])))
        if not crossing:
            raise invalid(FieldError("$.factors", "Send factors to generate the conditions."))
        names = parts_of("\n".join(map(condition_name, crossing)), "condition", MAX_CONDITIONS)
    try:
        regions = [clean_name(name, "region") for name in body["region_names"]]
    except EditError as error:
        raise invalid(FieldError("$.region_names", error.message)) from error
    return guided(body.get("title", ""), names, regions, [])


@contextmanager
def _design_errors() -> Iterator[None]:
    try:
        yield
    except DesignError as error:
        raise invalid(FieldError(f"$.factors{error.where}", error.message)) from error
    except ValidationError as error:
        raise invalid(FieldError("$.factors", " ".join(error.messages))) from error


def _given_document(body: dict[str, Any], way: str) -> SuiteDocument:
    if way == "template":
        document = BLUEPRINTS[body["template"]].document(body.get("title", ""))
        return document
    if way == "document":
        data, name = json.dumps(body["document"], ensure_ascii=False).encode(), "document.json"
    elif way == "text":
        data, name = body["text"].encode(), body.get("filename", "")
    else:
        data, name = read_upload(body["file"], MAX_BYTES), body["file"].name
    reading = parse_upload(data, name, answers_in(body))
    if reading.document is None:
        root = "$.document" if way == "document" else ""
        raise unreadable(FormatError(reading.problems), root, reading)
    if reading.document.name == "" and body.get("title"):
        return replace(reading.document, name=body["title"])
    return reading.document


@problem_for(FormatError)
def _unreadable(error: FormatError) -> ApiProblem:
    return unreadable(error)


def unreadable(error: FormatError, root: str = "", reading: ParseResult | None = None) -> ApiProblem:
    """Return a 400 for a document that cannot be read.

    Args:
        root: path of the document in the body, prefixed to the paths in the problems.
        reading: its open questions are returned as `asks` (names of AnswersBody fields), with the proposed `columns`
            if they are among them, and `choices`: by field, the possible values with their labels.
    """
    wrong = [
        FieldError(
            f"{root}{problem.where[1:]}" if root and problem.where.startswith("$") else problem.where,
            problem.message,
            problem.hint,
        )
        for problem in error.problems
    ]
    more: dict[str, Any] = {"asks": list(reading.asks)} if reading and reading.asks else {}
    if reading and "columns" in reading.asks:
        more["columns"] = reading.proposed_columns
    choices = {
        choice.option: dict(choice.answers)
        for choice in (reading.choices if reading else ())
        if reading and choice.option in reading.asks
    }
    if choices:
        more["choices"] = choices
    return ApiProblem(400, "The document cannot be read. Nothing was saved.", "unreadable", wrong, more=more)


@problem_for(FormulaError)
def _bad_formula(error: FormulaError) -> ApiProblem:
    field_error = FieldError("$.formula", f"Column {error.position + 1}: {error.message}", error.hint)
    more = {"position": error.position, "length": error.length}
    return ApiProblem(400, str(error), "bad-formula", [field_error], more=more)


@problem_for(BadEdits)
def _no_edits(error: BadEdits) -> ApiProblem:
    return invalid(FieldError("$.edits", f"{error}."))


@problem_for(FrozenRevision)
def _frozen(error: FrozenRevision) -> ApiProblem:
    return ApiProblem(409, f"{error}.", "frozen")


@problem_for(InUse)
def _kept(error: InUse) -> ApiProblem:
    return ApiProblem(409, " ".join(error.messages), "in-use")


@problem_for(NothingToFreeze)
def _nothing(error: NothingToFreeze) -> ApiProblem:
    return ApiProblem(409, " ".join(error.messages), "no-draft")
