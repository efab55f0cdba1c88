"""Reference answers and their versions."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, FormatFromUrl, ListView, ObjectView, get_or_404
from gym.api.errors import ApiProblem, FieldError, problem_for
from gym.api.operations import FILE, JSON, operation
from gym.api.requests import Body
from gym.propara import permissions, selectors, services
from gym.propara.models import AnswerSet, AnswerSetVersion
from gym.propara.views import problems_of, version_file
from gym.sharing.api import DeletionQuery, FormerNoteBody
from gym.sharing.models import Visibility
from gym.uploads import read_upload
from lmgym.propara.errors import ProParaError
from lmgym.propara.groups import Group, problem_groups
from lmgym.propara.uploads import MAX_BYTES
from lmgym.text import count

FORM = "multipart/form-data"
MOST_GROUPS = 20
"""Maximum number of kinds in `detail` and `problem_groups`."""


@problem_for(ProParaError)
def _unreadable(error: ProParaError) -> ApiProblem:
    """Build a 400 response with all problems of a file: individually in `errors`, by kind in `problem_groups` and
    `detail`."""
    problems = problems_of(error)
    groups = problem_groups(error.problems)
    if more := groups[MOST_GROUPS:]:
        message = f"{count(len(more), 'more kind')} of problem."
        groups = [*groups[:MOST_GROUPS], Group(message, "", sum(group.n for group in more), ())]
    detail = " ".join([f"{count(len(problems), 'problem')} in the file.", *map(str, groups)])
    errors = [FieldError(row["where"], row["message"], row["hint"]) for row in problems]
    grouped = {"problem_groups": [group.as_dict() for group in groups]}
    return ApiProblem(400, detail, "unreadable", errors, more=grouped)


class AnswerSetVersionSerializer(serializers.ModelSerializer[AnswerSetVersion]):
    n_processes = serializers.IntegerField(read_only=True)
    process_ids = serializers.ListField(child=serializers.IntegerField())
    events = serializers.DictField(child=serializers.IntegerField(), help_text="number of steps by action")
    notices = serializers.ListField(
        child=serializers.CharField(), help_text="unusual features of the files that were accepted"
    )

    class Meta:
        model = AnswerSetVersion
        fields = [
            "number",
            "note",
            "sha256",
            "sentences_sha256",
            "n_processes",
            "n_participants",
            "n_steps",
            "process_ids",
            "events",
            "notices",
            "created",
        ]
        read_only_fields = fields


class AnswerSetSerializer(serializers.ModelSerializer[AnswerSet]):
    owner = serializers.CharField(source="owner.username")
    versions = serializers.SerializerMethodField(help_text="version numbers, newest first")

    class Meta:
        model = AnswerSet
        fields = [
            "slug",
            "title",
            "owner",
            "visibility",
            "description",
            "licence",
            "reference",
            "versions",
            "created",
            "updated",
        ]
        read_only_fields = fields

    def get_versions(self, row: AnswerSet) -> list[int]:
        return [version.number for version in row.versions.all()]


class AnswerSetAbout(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True)
    licence = serializers.CharField(max_length=60, required=False, allow_blank=True)
    reference = serializers.CharField(max_length=20_000, required=False, allow_blank=True)


class ChangedAnswerSet(AnswerSetAbout, FormerNoteBody):
    pass


class NewAnswerSet(AnswerSetAbout):
    title = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=70, required=False, help_text="default: derived from the title")
    answers = serializers.FileField(help_text="action file: tab-separated, with six columns")
    sentences = serializers.FileField(
        required=False, help_text="tab-separated file with three columns: process, number, sentence"
    )


class NewAnswerVersion(Body):
    answers = serializers.FileField()
    sentences = serializers.FileField(required=False)
    note = serializers.CharField(max_length=300, required=False, allow_blank=True)


def files_of(body: dict[str, Any]) -> tuple[bytes, bytes]:
    """Read answers and sentences, and remove them from the body."""
    files = [body.pop("answers"), body.pop("sentences", None)]
    first, second = (read_upload(file, MAX_BYTES) if file else b"" for file in files)
    return first, second


class SetView(ObjectView[AnswerSet]):
    def visible_rows(self, address: str) -> QuerySet[AnswerSet]:
        return selectors.visible_to(self.request.user).filter(slug=address).prefetch_related("versions")

    def can_change(self, answer_set: AnswerSet) -> bool:
        return permissions.can_edit(self.request.user, answer_set)


def version_of(request: Request, slug: str, number: int) -> AnswerSetVersion:
    return get_or_404(selectors.versions_for(request.user), answer_set__slug=slug, number=number)


class SetList(ListView):
    parser_classes = [MultiPartParser]

    @operation("List reference answers", response=AnswerSetSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List public reference answers, your own, and sets shared with you; for staff also private ones."""
        rows = selectors.listed_for(request.user).prefetch_related("versions").order_by("slug")
        return self.page(rows)

    @operation(
        "Create reference answers", body={FORM: NewAnswerSet}, response=AnswerSetSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Create reference answers; the files become version 1. A 400 lists all their problems."""
        body = self.body()
        made = services.create_answer_set(*files_of(body), actor=request.user, **body)
        return self.respond(made, "api-propara-set", made.slug)


class SetDetail(SetView):
    @operation("Read reference answers", response=AnswerSetSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return metadata and version numbers."""
        return self.read()

    @operation("Change reference answers", body=ChangedAnswerSet, response=AnswerSetSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Change title, visibility, description, licence or reference. To change the answers, add a version."""
        return self.change(services.edit_answer_set)

    @operation("Delete reference answers", status=204, query=DeletionQuery)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the reference answers with all versions and their owner's submissions. Only the owner and staff may do
        this. Refused while other people's saved submissions use them."""
        return self.remove(partial(services.delete_answer_set, note=self.query["note"]))


class VersionList(SetView, ListView):
    parser_classes = [MultiPartParser]

    @operation(
        "Add a version", body={FORM: NewAnswerVersion}, response=AnswerSetVersionSerializer, status=201
    )
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Add a version; earlier submissions keep their version and scores."""
        answer_set = self.get_for_change()
        body = self.body()
        made = services.add_version(
            answer_set, *files_of(body), actor=request.user, note=body.get("note", "")
        )
        return self.respond(made, "api-propara-version", slug, made.number)


class VersionDetail(ApiView):
    @operation("Read a version", response=AnswerSetVersionSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Return hashes, counts and processes. The files are at `files/`."""
        return self.respond(version_of(request, slug, number))


class VersionFile(ApiView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Download a file of a version",
        media={
            "text/tab-separated-values": FILE,
            "application/x-ndjson": FILE,
            JSON: {"type": "object"},
        },
    )
    def get(self, request: Request, slug: str, number: int, form: str) -> HttpResponse:
        """Download a file. `form` is answers.tsv, sentences.tsv, template.tsv, answers.json or prompts.jsonl (a prompt
        for each process with the JSON schema of the answer)."""
        return version_file(version_of(request, slug, number), form)
