"""What the API takes about suites."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from rest_framework import serializers

from gym.api.errors import ApiProblem, FieldError, answers, invalid
from gym.api.requests import Body, Names, Query
from gym.lib.problems import FormatError
from gym.sharing.api import FormerNoteBody
from gym.sharing.models import Visibility
from gym.uploads import read_upload
from suites.blueprints import BLUEPRINTS
from suites.drafts import BadEdits
from suites.formats import MAX_BYTES, SuiteDocument
from suites.formulas import FormulaError
from suites.intake import ENCODINGS, take_in
from suites.models import FrozenRevision, JoinPolicy, Suite
from suites.readings import ROLES, Answers
from suites.services import NothingToFreeze
from suites.signals import InUse

_LANGUAGE = Suite._meta.get_field("language")
_MOST = 100_000


class CardBody(Body):
    """What a suite says about itself."""

    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    tags = serializers.ListField(child=serializers.CharField(max_length=200), max_length=50, required=False)
    author = serializers.CharField(
        max_length=_MOST, allow_blank=True, required=False, help_text="who made the stimuli, for citations"
    )
    language = serializers.RegexField(
        _LANGUAGE.validators[0].regex.pattern,
        max_length=35,
        required=False,
        help_text="BCP 47, e.g. en, zh-Hans",
    )
    licence = serializers.CharField(max_length=60, allow_blank=True, required=False)
    reference = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    bibtex = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    description = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    comment = serializers.CharField(max_length=_MOST, allow_blank=True, required=False)
    without_modifier = serializers.SlugField(
        max_length=80,
        allow_null=True,
        required=False,
        help_text="slug of the suite without this one's modifier; null: found by the name in the file",
    )


class ChangedCard(CardBody, FormerNoteBody):
    """What a suite says about itself from now on."""


class AnswersBody(Body):
    """What a table does not say about itself, as the page after an upload asks it."""

    encoding = serializers.ChoiceField(
        list(ENCODINGS), required=False, help_text="of a text that is no UTF-8"
    )
    sheet = serializers.CharField(max_length=200, required=False, help_text="of a workbook")
    header = serializers.ChoiceField(
        ["yes", "no"], required=False, help_text="whether the first row names the columns"
    )
    columns = Names(
        child=serializers.ChoiceField(list(ROLES)),
        required=False,
        help_text="letter -> what the column is; others are not read",
    )
    conditions = Names(
        required=False, help_text="name in the table -> name in the suite, or an empty text to leave it out"
    )
    regions = Names(required=False, help_text="the same for regions")


def answers_in(body: dict[str, Any]) -> Answers:
    return Answers(**{name: body[name] for name in AnswersBody().fields if name in body})


class DocumentBody(AnswersBody):
    """A suite: as a JSON `document`, or as the `text` of a file in any format that the import page reads."""

    document = serializers.DictField(required=False, help_text="a suite in JSON, any SyntaxGym dialect")
    text = serializers.CharField(
        required=False,
        trim_whitespace=False,
        max_length=MAX_BYTES,
        help_text="JSON, long CSV, a wide table as TSV or CSV, minimal pairs as JSONL, or cells of a sheet",
    )
    filename = serializers.CharField(required=False, max_length=200, help_text="tells the format of `text`")
    join_policy = serializers.ChoiceField(JoinPolicy.choices, required=False)


class DocumentFile(AnswersBody):
    """The same with a file."""

    file = serializers.FileField()
    join_policy = serializers.ChoiceField(JoinPolicy.choices, required=False)


class NewSuite(DocumentBody, CardBody):
    """A new suite: a document or text, or the name of a design in `template`; and, if one likes, its card."""

    template = serializers.ChoiceField(sorted(BLUEPRINTS), required=False)


class NewSuiteFile(DocumentFile, CardBody):
    pass


class CopyBody(Body):
    title = serializers.CharField(max_length=200)
    revision = serializers.IntegerField(
        required=False, min_value=1, help_text="default: the newest frozen one"
    )
    visibility = serializers.ChoiceField(Visibility.choices, default=Visibility.PRIVATE)


class NoteBody(Body):
    note = serializers.CharField(max_length=2000, allow_blank=True, default="", help_text="what changed")


class ErrataBody(Body):
    errata = serializers.CharField(max_length=10_000, allow_blank=True)


class IgnoreBody(Body):
    code = serializers.CharField(max_length=60)
    where = serializers.CharField(max_length=10_000)
    reason = serializers.CharField(max_length=1000, allow_blank=True, help_text="empty: look at it again")


class Edit(Body):
    id = serializers.CharField(max_length=64, trim_whitespace=False, help_text="yours, e.g. a UUID")
    ops = serializers.ListField(child=serializers.DictField(), help_text="see docs/grid.md")


class EditsBody(Body):
    version = serializers.IntegerField(
        min_value=0, max_value=2**31 - 1, help_text="of the draft that the edits were made on"
    )
    edits = Edit(many=True)


class RevisionQuery(Query):
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="default: the draft, else the newest one"
    )


def document_in(body: dict[str, Any]) -> SuiteDocument:
    """The document of a body. Raises an ApiProblem that names every problem and its place."""
    ways = [name for name in ("document", "text", "file", "template") if body.get(name) is not None]
    if len(ways) != 1:
        raise invalid(FieldError("$", "Give one of document, text, file and template."))
    [way] = ways
    if way == "template":
        document = BLUEPRINTS[body["template"]].document(body.get("title", ""))
        return document
    if way == "document":
        data, name = json.dumps(body["document"], ensure_ascii=False).encode(), "document.json"
    elif way == "text":
        data, name = body["text"].encode(), body.get("filename", "")
    else:
        data, name = read_upload(body["file"], MAX_BYTES), body["file"].name
    reading = take_in(data, name, answers_in(body))
    if reading.document is None:
        root = "$.document" if way == "document" else ""
        raise unreadable(FormatError(reading.problems), root, asks=list(reading.asks))
    if reading.document.name == "" and body.get("title"):
        return replace(reading.document, name=body["title"])
    return reading.document


@answers(FormatError)
def _unreadable(error: FormatError) -> ApiProblem:
    return unreadable(error)


def unreadable(error: FormatError, root: str = "", asks: Sequence[str] = ()) -> ApiProblem:
    """`root`: the path of the document in the body, in front of its own paths. `asks`: fields of AnswersBody that would
    help."""
    wrong = [
        FieldError(
            f"{root}{problem.where[1:]}" if root and problem.where.startswith("$") else problem.where,
            problem.message,
            problem.hint,
        )
        for problem in error.problems
    ]
    more = {"asks": list(asks)} if asks else {}
    return ApiProblem(400, "This cannot be read; nothing was saved.", "unreadable", wrong, more=more)


@answers(FormulaError)
def _bad_formula(error: FormulaError) -> ApiProblem:
    field_error = FieldError("$.formula", f"Column {error.position + 1}: {error.message}", error.hint)
    more = {"position": error.position, "length": error.length}
    return ApiProblem(400, str(error), "bad-formula", [field_error], more=more)


@answers(BadEdits)
def _no_edits(error: BadEdits) -> ApiProblem:
    return invalid(FieldError("$.edits", f"{error}."))


@answers(FrozenRevision)
def _frozen(error: FrozenRevision) -> ApiProblem:
    return ApiProblem(409, f"{error}.", "frozen")


@answers(InUse)
def _kept(error: InUse) -> ApiProblem:
    return ApiProblem(409, " ".join(error.messages), "kept")


@answers(NothingToFreeze)
def _nothing(error: NothingToFreeze) -> ApiProblem:
    return ApiProblem(409, " ".join(error.messages), "no-draft")
