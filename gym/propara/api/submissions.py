"""Submissions in the REST API: score a file in one call, read its report, processes and files, compare."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import django_filters
from django.db.models import QuerySet
from django.http import HttpResponse
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.models import User
from gym.accounts.requests import SignedInApiRequest
from gym.api.base import AddressDecides, ApiView, ListView, ObjectView, get_or_404, referred, renderers
from gym.api.errors import FieldError, invalid
from gym.api.filters import Filters, WholeNumberFilter
from gym.api.formats import CSV, NDJSON, CsvRenderer, FormatQuery, NdjsonRenderer, Table, is_table
from gym.api.operations import BINARY, TEXT, operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body, Several
from gym.jobs.api import no_results
from gym.propara import exports, permissions, selectors, services
from gym.propara.api.sets import FORM, queued_scoring
from gym.propara.comparison_views import MAX_COMPARED, not_comparable
from gym.propara.models import AnswerSetVersion, Submission
from gym.propara.presenters import compare_submissions
from gym.propara.submission_views import process_of
from gym.propara.views import first_sentences
from gym.sharing.models import Visibility
from gym.uploads import read_upload
from lmgym.propara.digest import digest
from lmgym.propara.groups import repair_groups
from lmgym.propara.report import evaluate
from lmgym.propara.uploads import MAX_BYTES, parse_upload, read_answers

OBJECT = {"type": "object"}
MAX_DETAILS = 100
"""Processes in a response with details. Those of a saved submission are at `processes/{process_id}/`."""


class ProParaSubmissionSerializer(serializers.ModelSerializer[Submission]):
    id = serializers.CharField(source="key")
    answer_set = serializers.CharField(source="version.answer_set.slug")
    version = serializers.IntegerField(source="version.number")
    owner = serializers.CharField(source="owner.username", allow_null=True)
    link = serializers.CharField(help_text="to the system, or empty")
    repairs = serializers.ListField(child=serializers.DictField(), help_text="line, column, code, message")
    repair_groups = serializers.SerializerMethodField(
        help_text="repairs grouped by kind: where, message, n, lines"
    )
    reference = serializers.DictField(allow_null=True, help_text="the official scores; null without a score")
    corrected = serializers.SerializerMethodField(help_text="another metric: compare it only with itself")
    same_file_as = serializers.CharField(
        allow_null=True,
        default=None,
        help_text="id of an earlier submission of the same file to these answers",
    )
    rescored_from = serializers.CharField(
        source="rescored_from.key",
        allow_null=True,
        default=None,
        help_text="id of the submission to another version from which this one was made",
    )

    class Meta:
        model = Submission
        fields = [
            "id",
            "answer_set",
            "version",
            "system",
            "description",
            "paper",
            "link",
            "owner",
            "visibility",
            "state",
            "kind",
            "filename",
            "file_sha256",
            "repairs",
            "repair_groups",
            "agreed_at",
            "n_samples",
            "evaluator",
            "scored_at",
            "reference",
            "corrected",
            "same_file_as",
            "rescored_from",
            "created",
        ]
        read_only_fields = fields

    def get_repair_groups(self, row: Submission) -> list[dict[str, Any]]:
        return [one.as_dict() for one in repair_groups(row.repairs)]

    def get_corrected(self, row: Submission) -> dict[str, Any] | None:
        corrected: dict[str, Any] | None = row.report.get("corrected")
        return corrected


class ProParaProcessSerializer(serializers.Serializer[Any]):
    """One process of a report."""

    process_id = serializers.IntegerField()
    f1 = serializers.FloatField(allow_null=True)
    scores = serializers.DictField(
        allow_null=True, child=serializers.ListField(), help_text="question: [precision, recall]"
    )
    corrected = serializers.DictField(
        child=serializers.ListField(), help_text="question: [precision, recall]"
    )
    corrected_f1 = serializers.FloatField()
    error = serializers.CharField(allow_blank=True)
    mistakes = serializers.DictField(child=serializers.IntegerField())
    n_warnings = serializers.IntegerField()


class ProParaAbout(Body):
    system = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True)
    paper = serializers.CharField(max_length=300, required=False, allow_blank=True)
    link = serializers.URLField(max_length=200, required=False, allow_blank=True)


class ProParaTarget(Body):
    answer_set = serializers.SlugField(max_length=80)
    version = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="default: the newest"
    )


class ProParaUpload(ProParaTarget, ProParaAbout):
    file = serializers.FileField(
        help_text="action file, state file, JSON grids, or answers to the prompt pack"
    )
    agree_to_repairs = serializers.BooleanField(
        default=False, help_text="score a repaired file at once; otherwise it waits for `agree`"
    )
    check_first = serializers.BooleanField(
        default=False,
        help_text="score it visible to you only (`checked`); it expires after a day unless you `save` it",
    )


class ProParaEvaluation(Body):
    file = serializers.FileField(help_text="predictions")
    answer_set = serializers.SlugField(max_length=80, required=False)
    version = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    answers = serializers.FileField(required=False, help_text="instead of an answer_set")
    sentences = serializers.FileField(required=False, help_text="sentences for `answers`")
    agree_to_repairs = serializers.BooleanField(default=False)
    details = serializers.BooleanField(
        default=False, help_text=f"grids, summaries and pairs of the first {MAX_DETAILS} processes"
    )


def target(request: Request, body: dict[str, Any]) -> AnswerSetVersion:
    """Return the version named in the body; without a number, the newest."""
    number = body.get("version")
    rows = selectors.versions_for(request.user).filter(answer_set__slug=body["answer_set"])
    if number is None or not rows.exists():
        return referred(rows.order_by("-number"), "answer_set", answer_set__slug=body["answer_set"])
    return referred(rows, "version", number=number)


def scored(request: Request, key: str) -> Submission:
    """Return a visible submission with scores; 409 without."""
    submission = get_or_404(selectors.submission_at(request.user, key))
    _require_scored(submission)
    return submission


def _require_scored(submission: Submission) -> None:
    if submission.state == Submission.State.WAITING:
        raise no_results("This submission", None, "Agree to its repairs first.")
    if not submission.has_scores:
        raise no_results("This submission", None)


class SubmissionView(ObjectView[Submission]):
    lookup_field = "key"

    def rows_at(self, address: str) -> QuerySet[Submission]:
        rows = selectors.submission_at(self.request.user, address).select_related("rescored_from")
        return selectors.with_duplicate(rows, self.request.user)

    def may_change(self, submission: Submission) -> bool:
        return permissions.can_steer(self.request.user, submission)


class SubmissionFilter(Filters):
    answer_set = django_filters.CharFilter("version__answer_set__slug", label="Reference answers")
    version = WholeNumberFilter("version__number", min_value=1, max_value=2**31 - 1, label="Version")
    state = django_filters.ChoiceFilter(choices=Submission.State.choices, label="State")
    owner = django_filters.CharFilter("owner__username", label="Submitter")
    file_sha256 = django_filters.CharFilter("file_sha256", label="Submissions of the same file")
    sort = django_filters.OrderingFilter(fields=[("created", "created"), ("system", "system")], label="Sort")

    class Meta:
        model = Submission
        fields: list[str] = []


class SubmissionList(ListView):
    parser_classes = [MultiPartParser]
    filterset_class = SubmissionFilter

    @operation("List submissions", answers=ProParaSubmissionSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Public ones and all of yours, newest first by default. For an order by score, read a leaderboard."""
        rows = selectors.known_submissions(request.user).defer(*selectors.HEAVY).order_by("-created", "-pk")
        return self.page(selectors.with_duplicate(rows.select_related("rescored_from"), request.user))

    @operation(
        "Upload and score", takes={FORM: ProParaUpload}, answers=ProParaSubmissionSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """The response has the scores. A file that needed repairs is `waiting`, with every change listed, unless
        `agree_to_repairs`. A file that cannot be repaired is a 400 with all its problems."""
        body = self.body()
        version = target(request, body)
        file = body["file"]
        about = services.About(
            body.get("system") or services.default_system(file.name),
            **{name: body[name] for name in ("description", "paper", "link", "visibility") if name in body},
        )
        data = read_upload(file, MAX_BYTES)
        if body["check_first"]:
            made = services.check_first(version, data, file.name, about, actor=request.user)
        else:
            agreed = body["agree_to_repairs"]
            made = services.submit(version, data, file.name, about, actor=request.user, agreed=agreed)
        shown = selectors.with_duplicate(selectors.submissions_for(request.user), request.user).get(
            pk=made.pk
        )
        return self.answer(shown, "api-propara-submission", made.key)


class Evaluate(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [MultiPartParser]

    @operation("Score without keeping", takes={FORM: ProParaEvaluation}, answers=OBJECT)
    def post(self, request: Request) -> Response:
        """Score a file on an answer set, or on `answers` of the request; nothing is saved. `scored` is false, without a
        report, if the file needed repairs and `agree_to_repairs` is not set. With `details`, `processes` has the values
        of `/submissions/{id}/processes/{process}/`."""
        body = self.body()
        answers, sentences = _answers_of(request, body)
        upload = parse_upload(read_upload(body["file"], MAX_BYTES), answers, body["file"].name)
        agreed = not upload.repairs or body["agree_to_repairs"]
        report = evaluate(answers, upload.text, sentences or None) if agreed else None
        detailed = report.processes[:MAX_DETAILS] if report and body["details"] else ()
        return Response(
            {
                "kind": upload.kind,
                "repairs": [one._asdict() for one in upload.repairs],
                "scored": agreed,
                "report": digest(report) if report else None,
                "processes": [one.details() for one in detailed],
            }
        )


def _answers_of(request: Request, body: dict[str, Any]) -> tuple[str, str]:
    """Return texts of answers and sentences: of a version, or from the request."""
    if ("answers" in body) == ("answer_set" in body):
        raise invalid(FieldError("$", "Send either answer_set or answers."))
    if "answers" not in body:
        if "sentences" in body:
            raise invalid(FieldError("sentences", "Send sentences only with answers."))
        version = target(request, body)
        return version.answers, version.sentences
    files = [read_upload(body[name], MAX_BYTES) if name in body else b"" for name in ("answers", "sentences")]
    parsed = read_answers(*files)
    return parsed.text, parsed.sentences_text


class SubmissionDetail(SubmissionView):
    @operation("Read a submission", answers=ProParaSubmissionSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Its scores, or the repairs to agree to."""
        return self.read()

    @operation("Change a submission's metadata", takes=ProParaAbout, answers=ProParaSubmissionSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """System, visibility, description, paper or link, but not the file."""
        return self.change(_edit)

    @operation("Delete a submission", status=204)
    def delete(self, request: Request, key: str) -> Response:
        """With its file and scores."""
        return self.remove(services.delete_submission)


def _edit(submission: Submission, *, actor: User, **changes: str) -> None:
    about = {field.name: getattr(submission, field.name) for field in fields(services.About)}
    services.edit_submission(submission, services.About(**about | changes), actor=actor)


class Agree(SubmissionView):
    @operation("Agree to repairs", answers=ProParaSubmissionSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Score the file as repaired. 400 if it is not waiting."""
        return self.act(services.agree)


class Save(SubmissionView):
    @operation("Save a checked submission", answers=ProParaSubmissionSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Save a submission scored with `check_first`; this agrees to its repairs. 400 if it is already saved."""
        return self.act(services.save_checked)


class ProParaOtherVersion(Body):
    version = serializers.IntegerField(
        required=False,
        min_value=1,
        max_value=2**31 - 1,
        help_text="version of the same answers; default: the newest",
    )


class ScoreOn(SubmissionView):
    @operation(
        "Score a submission on another version",
        takes=ProParaOtherVersion,
        answers=ProParaSubmissionSerializer,
        status=201,
    )
    def post(self, request: SignedInApiRequest, key: str) -> Response:
        """Score its file as a new submission to that version; this one keeps its numbers. 400 with all problems if the
        file does not fit."""
        submission = self.changeable()
        number = self.body().get("version")
        rows = selectors.versions_for(request.user).filter(answer_set=submission.version.answer_set_id)
        version = referred(rows, "version", number=number) if number else rows.order_by("-number")[0]
        made = services.score_on_version(submission, version, actor=request.user)
        return self.answer(made, "api-propara-submission", made.key)


class ProParaCompared(FormatQuery, Several):
    table = serializers.ChoiceField(
        ["differences", "processes"], default="differences", help_text="table for CSV and NDJSON"
    )


class Compare(ApiView):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation("Compare submissions", query=ProParaCompared, answers=OBJECT, media={CSV: TEXT, NDJSON: TEXT})
    def get(self, request: Request) -> Response:
        """Compare each `second` with the first, paired over the processes; at most five in all. `comparisons` has rows
        of differences in F1, second − first, overall and by question, with 95% interval, p, and p corrected by Holm
        over all systems (overall) or all systems and questions. `rows` has the processes, the greatest difference
        first."""
        keys = list(dict.fromkeys([self.query["first"], *self.query["second"]]))
        rows = [scored(request, key) for key in keys[: MAX_COMPARED + 1]]
        if wrong := not_comparable(rows):
            raise invalid(FieldError("?second", wrong))
        result = compare_submissions(*rows, sentences=first_sentences(rows[0].version))
        if is_table(request):
            by_process = self.query["table"] == "processes"
            return Response(Table(*(result.processes_table if by_process else result.differences_table)()))
        return Response(result.as_dict())


class Rescore(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation(
        "Score everything again",
        answers={"type": "object", "properties": {"submissions": {"type": "integer"}}},
        status=202,
        also=[200],
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Queue scoring of everything that another version of the evaluator scored; `history` keeps the old numbers.
        For staff. 200 if there is nothing to score."""
        job = services.queue_rescore(actor=request.user)
        return queued_scoring(request, job)


# --- results of a submission ---


class Report(ApiView):
    @operation("Read a report", answers=OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """Everything stored: both metrics, intervals, warnings, mistakes, samples and history."""
        return Response(exports.full_report(scored(request, key)))


class Processes(ListView):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation(
        "List scores by process",
        query=FormatQuery,
        answers=ProParaProcessSerializer,
        many=True,
        media={CSV: TEXT, NDJSON: TEXT},
    )
    def get(self, request: Request, key: str) -> Response:
        """In the order of the answers. CSV and NDJSON are not paginated."""
        submission = scored(request, key)
        if is_table(request):
            return Response(Table(*exports.process_table(submission)))
        return self.page(submission.report["processes"], lambda rows: rows)


class Process(ApiView):
    @operation("Read one process", answers=OBJECT)
    def get(self, request: Request, key: str, process_id: int) -> Response:
        """Both grids, both summaries, each pair with its parts and the reason, and missed and spurious items."""
        return Response(process_of(scored(request, key), process_id).details())


class SubmissionFile(SubmissionView):
    content_negotiation_class = AddressDecides

    @operation(
        "Download a file of a submission",
        answers=OBJECT,
        media={
            "text/plain": TEXT,
            "text/tab-separated-values": TEXT,
            "text/csv": TEXT,
            "application/octet-stream": BINARY,
        },
    )
    def get(self, request: Request, key: str, form: str) -> HttpResponse:
        """`form` is file (as uploaded), actions.tsv (as scored), json, processes.csv, or one of the reference's files
        report.txt, metrics.json and diagnostics.txt."""
        submission = self.get_object()
        if form != "file":
            _require_scored(submission)
        return exports.response_of(submission, form)
