"""Answer sets and their versions in the REST API."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import AddressDecides, ApiView, ListView, ObjectView, get_or_404
from gym.api.errors import ApiProblem, FieldError, answers
from gym.api.operations import TEXT, operation
from gym.api.requests import Body
from gym.jobs.models import Job
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
MAX_GROUPS = 20
"""Kinds of problems in `detail` and `problem_groups`."""


@answers(ProParaError)
def _unreadable(error: ProParaError) -> ApiProblem:
    """400 with all problems of a file: each in `errors`, grouped by kind in `problem_groups` and `detail`."""
    problems = problems_of(error)
    groups = problem_groups(error.problems)
    if more := groups[MAX_GROUPS:]:
        message = f"And {count(len(more), 'more kind')} of problems."
        groups = [*groups[:MAX_GROUPS], Group(message, "", sum(one.n for one in more), ())]
    detail = " ".join([f"{count(len(problems), 'problem')} in the file.", *map(str, groups)])
    errors = [FieldError(one["where"], one["message"], one["hint"]) for one in problems]
    shown = {"problem_groups": [one.as_dict() for one in groups]}
    return ApiProblem(400, detail, "unreadable", errors, more=shown)


def queued_scoring(request: Request, job: Job | None) -> Response:
    """202 with the job, or 200 if there is nothing to score."""
    if job is None:
        return Response({"submissions": 0})
    headers = {"Location": reverse("api-job", args=[job.pk], request=request), "Retry-After": "5"}
    return Response({"submissions": job.total}, status=202, headers=headers)


class AnswerSetVersionSerializer(serializers.ModelSerializer[AnswerSetVersion]):
    n_processes = serializers.IntegerField(read_only=True)
    process_ids = serializers.ListField(child=serializers.IntegerField())
    events = serializers.DictField(child=serializers.IntegerField(), help_text="steps by action")
    notices = serializers.ListField(child=serializers.CharField(), help_text="what is unusual, but accepted")

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
    versions = serializers.SerializerMethodField(help_text="numbers, the newest first")

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
    slug = serializers.SlugField(max_length=70, required=False, help_text="default: made from the title")
    answers = serializers.FileField(help_text="action file of six columns")
    sentences = serializers.FileField(required=False, help_text="process, number, sentence")


class NewAnswerVersion(Body):
    answers = serializers.FileField()
    sentences = serializers.FileField(required=False)
    note = serializers.CharField(max_length=300, required=False, allow_blank=True)


def files_of(body: dict[str, Any]) -> tuple[bytes, bytes]:
    """Remove answers and sentences from the body and return their bytes."""
    files = [body.pop("answers"), body.pop("sentences", None)]
    first, second = (read_upload(file, MAX_BYTES) if file else b"" for file in files)
    return first, second


class SetView(ObjectView[AnswerSet]):
    def rows_at(self, address: str) -> QuerySet[AnswerSet]:
        return selectors.visible_to(self.request.user).filter(slug=address).prefetch_related("versions")

    def may_change(self, answer_set: AnswerSet) -> bool:
        return permissions.can_edit(self.request.user, answer_set)


def version_of(request: Request, slug: str, number: int) -> AnswerSetVersion:
    return get_or_404(selectors.versions_for(request.user), answer_set__slug=slug, number=number)


class SetList(ListView):
    parser_classes = [MultiPartParser]

    @operation("List reference answers", answers=AnswerSetSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Public ones and your own."""
        rows = selectors.listed_for(request.user).prefetch_related("versions").order_by("slug")
        return self.page(rows)

    @operation(
        "Create reference answers", takes={FORM: NewAnswerSet}, answers=AnswerSetSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """The files become version 1. A 400 lists all their problems."""
        body = self.body()
        made = services.create_answer_set(*files_of(body), actor=request.user, **body)
        return self.answer(made, "api-propara-set", made.slug)


class SetDetail(SetView):
    @operation("Read reference answers", answers=AnswerSetSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Its metadata and versions."""
        return self.read()

    @operation("Change reference answers", takes=ChangedAnswerSet, answers=AnswerSetSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Title, visibility, description, licence, reference. Answers change by a new version."""
        return self.change(services.edit_answer_set)

    @operation("Delete reference answers", status=204, query=DeletionQuery)
    def delete(self, request: Request, slug: str) -> Response:
        """With its versions and your submissions; refused while other people's submissions depend on it."""
        return self.remove(partial(services.delete_answer_set, note=self.query["note"]))


class VersionList(SetView, ListView):
    parser_classes = [MultiPartParser]

    @operation("List versions of reference answers", answers=AnswerSetVersionSerializer, many=True)
    def get(self, request: Request, slug: str) -> Response:
        """The newest first."""
        rows = self.get_object().versions.defer("answers", "sentences").order_by("-number")
        return self.page(rows)

    @operation(
        "Add a version", takes={FORM: NewAnswerVersion}, answers=AnswerSetVersionSerializer, status=201
    )
    def post(self, request: SignedInApiRequest, slug: str) -> Response:
        """Submissions stay with the version they were scored on; `score-earlier/` scores them on this one, too."""
        answer_set = self.changeable()
        body = self.body()
        made = services.add_version(
            answer_set, *files_of(body), actor=request.user, note=body.get("note", "")
        )
        return self.answer(made, "api-propara-version", slug, made.number)


class VersionDetail(ApiView):
    @operation("Read a version", answers=AnswerSetVersionSerializer)
    def get(self, request: Request, slug: str, number: int) -> Response:
        """Its hashes, counts and processes; the files are at `files/`."""
        return self.answer(version_of(request, slug, number))


class VersionFile(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Download a file of a version",
        answers={"type": "object", "description": "answers as JSON grids"},
        media={
            "text/tab-separated-values": TEXT,
            "application/x-ndjson": TEXT,
        },
    )
    def get(self, request: Request, slug: str, number: int, form: str) -> HttpResponse:
        """`form` is answers.tsv, sentences.tsv, template.tsv, answers.json or prompts.jsonl (a prompt for each
        process with the JSON schema of the answer)."""
        return version_file(version_of(request, slug, number), form)


class ScoreEarlier(SetView):
    @operation(
        "Score earlier submissions on a version",
        answers={"type": "object", "properties": {"submissions": {"type": "integer"}}},
        status=202,
        also=[200],
    )
    def post(self, request: SignedInApiRequest, slug: str, number: int) -> Response:
        """Queue scoring of submissions to other versions, each as a new submission to this one; the earlier ones keep
        their numbers. Requires the right to edit the reference answers. 200 if there is nothing to score."""
        self.changeable()
        job = services.queue_scoring_on(version_of(request, slug, number), actor=request.user)
        return queued_scoring(request, job)
