"""Submissions: upload and score, read reports, compare."""

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
from gym.api.base import ApiView, FormatFromUrl, ListView, ObjectView, get_or_404, referenced, renderers
from gym.api.errors import FieldError, invalid
from gym.api.filters import Filters, NameFilter, WholeNumberFilter
from gym.api.formats import CSV, NDJSON, CsvRenderer, FormatQuery, NdjsonRenderer, Table, is_table
from gym.api.operations import FILE, JSON, operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body, Several
from gym.jobs.api import results_unavailable
from gym.propara import exports, permissions, selectors, services
from gym.propara.api.sets import FORM
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
MOST_DETAILS = 100
"""Maximum number of processes with details in a response."""


class ProParaSubmissionSerializer(serializers.ModelSerializer[Submission]):
    id = serializers.CharField(source="key")
    answer_set = serializers.CharField(source="version.answer_set.slug")
    version = serializers.IntegerField(source="version.number")
    owner = serializers.CharField(source="owner.username", allow_null=True)
    link = serializers.CharField(help_text="link to the system; empty if there is none")
    repairs = serializers.ListField(
        child=serializers.DictField(), help_text="each with line, column, code and message"
    )
    repair_groups = serializers.SerializerMethodField(
        help_text="`repairs` grouped by kind: where, message, n, lines"
    )
    reference = serializers.DictField(allow_null=True, help_text="official scores; null without a score")
    corrected = serializers.SerializerMethodField(
        help_text="scores by the corrected metric, not comparable with `reference`"
    )
    same_file_as = serializers.CharField(
        allow_null=True,
        default=None,
        help_text="id of the earliest submission of the same file to any version of these reference answers",
    )
    rescored_from = serializers.CharField(
        source="rescored_from.key",
        allow_null=True,
        default=None,
        help_text="id of the submission to another version from which this submission was created",
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
        return [group.as_dict() for group in repair_groups(row.repairs)]

    def get_corrected(self, row: Submission) -> dict[str, Any] | None:
        corrected: dict[str, Any] | None = row.report.get("corrected")
        return corrected


class ProParaProcessSerializer(serializers.Serializer[Any]):
    """A process in a report."""

    process_id = serializers.IntegerField()
    f1 = serializers.FloatField(allow_null=True)
    scores = serializers.DictField(
        allow_null=True, child=serializers.ListField(), help_text="[precision, recall] by question"
    )
    corrected = serializers.DictField(
        child=serializers.ListField(), help_text="[precision, recall] by question"
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
        required=False, min_value=1, max_value=2**31 - 1, help_text="default: the newest version"
    )


class ProParaUpload(ProParaTarget, ProParaAbout):
    file = serializers.FileField(
        help_text="action file, state file, JSON grids, or answers to the prompt pack"
    )
    agree_to_repairs = serializers.BooleanField(
        default=False,
        help_text="score a file that needs repairs at once; default: the submission waits for `agree/`",
    )


class ProParaEvaluation(Body):
    file = serializers.FileField(help_text="predictions")
    answer_set = serializers.SlugField(max_length=80, required=False)
    version = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    answers = serializers.FileField(
        required=False, help_text="your own reference answers, instead of `answer_set`"
    )
    sentences = serializers.FileField(required=False, help_text="sentences that belong to `answers`")
    agree_to_repairs = serializers.BooleanField(default=False)
    details = serializers.BooleanField(
        default=False, help_text=f"include grids, summaries and pairs of the first {MOST_DETAILS} processes"
    )


def target(request: Request, body: dict[str, Any]) -> AnswerSetVersion:
    """Return the version named in the body; default: the newest."""
    number = body.get("version")
    rows = selectors.versions_for(request.user).filter(answer_set__slug=body["answer_set"])
    if number is None or not rows.exists():
        return referenced(rows.order_by("-number"), "answer_set", answer_set__slug=body["answer_set"])
    return referenced(rows, "version", number=number)


def scored(request: Request, key: str) -> Submission:
    """Return the submission. Raises a 409 error until it has scores."""
    submission = get_or_404(selectors.submission_at(request.user, key))
    _require_scored(submission)
    return submission


def _require_scored(submission: Submission) -> None:
    if submission.state == Submission.State.WAITING:
        raise results_unavailable(
            "This submission", None, "It is waiting for its owner to agree to the repairs."
        )
    if not submission.has_scores:
        raise results_unavailable("This submission", None)


class SubmissionView(ObjectView[Submission]):
    lookup_field = "key"

    def visible_rows(self, address: str) -> QuerySet[Submission]:
        rows = selectors.submission_at(self.request.user, address).select_related("rescored_from")
        return selectors.with_duplicate(rows, self.request.user)

    def can_change(self, submission: Submission) -> bool:
        return permissions.can_steer(self.request.user, submission)


class SubmissionFilter(Filters):
    answer_set = NameFilter("version__answer_set__slug", selectors.visible_to, label="Reference answers")
    version = WholeNumberFilter("version__number", min_value=1, max_value=2**31 - 1, label="Version")
    state = django_filters.ChoiceFilter(choices=Submission.State.choices, label="State")
    owner = django_filters.CharFilter("owner__username", label="User name of the submitter")
    file_sha256 = django_filters.CharFilter("file_sha256", label="Submissions of the same file")
    sort = django_filters.OrderingFilter(fields=[("created", "created"), ("system", "system")], label="Sort")

    class Meta:
        model = Submission
        fields: list[str] = []


class SubmissionList(ListView):
    parser_classes = [MultiPartParser]
    filterset_class = SubmissionFilter

    @operation("List submissions", response=ProParaSubmissionSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List public submissions and your own (for staff also private ones), newest first by default. For an order by
        score, use the leaderboard."""
        rows = selectors.known_submissions(request.user).defer(*selectors.HEAVY).order_by("-created", "-pk")
        return self.page(selectors.with_duplicate(rows.select_related("rescored_from"), request.user))

    @operation(
        "Upload and score", body={FORM: ProParaUpload}, response=ProParaSubmissionSerializer, status=201
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Score a file immediately. A file that needs repairs is `waiting`, with every change listed, unless
        `agree_to_repairs` is set. A file that cannot be repaired gets a 400 with all problems."""
        body = self.body()
        version = target(request, body)
        file = body["file"]
        about = services.About(
            body.get("system") or services.default_system(file.name),
            **{name: body[name] for name in ("description", "paper", "link", "visibility") if name in body},
        )
        data = read_upload(file, MAX_BYTES)
        agreed = body["agree_to_repairs"]
        made = services.submit(version, data, file.name, about, actor=request.user, agreed=agreed)
        submission = selectors.with_duplicate(selectors.submissions_for(request.user), request.user).get(
            pk=made.pk
        )
        return self.respond(submission, "api-propara-submission", made.key)


class Evaluate(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [MultiPartParser]

    @operation("Score without saving", body={FORM: ProParaEvaluation}, response=OBJECT)
    def post(self, request: Request) -> Response:
        """Score predictions against stored reference answers or `answers`, and save nothing. Without
        `agree_to_repairs`, a file that needs repairs gets `scored: false` and no report. With `details`, `processes`
        has the same content as `/submissions/{id}/processes/{process}/`."""
        body = self.body()
        answers, sentences = _answers_of(request, body)
        intake = parse_upload(read_upload(body["file"], MAX_BYTES), answers, body["file"].name)
        agreed = not intake.repairs or body["agree_to_repairs"]
        report = evaluate(answers, intake.text, sentences or None) if agreed else None
        detailed = report.processes[:MOST_DETAILS] if report and body["details"] else ()
        return Response(
            {
                "kind": intake.kind,
                "repairs": [repair._asdict() for repair in intake.repairs],
                "scored": agreed,
                "report": digest(report) if report else None,
                "processes": [process.details() for process in detailed],
            }
        )


def _answers_of(request: Request, body: dict[str, Any]) -> tuple[str, str]:
    """Return answers and sentences of a version or, if sent, from the body."""
    if ("answers" in body) == ("answer_set" in body):
        raise invalid(FieldError("$", "Send either `answer_set` or `answers`."))
    if "answers" not in body:
        if "sentences" in body:
            raise invalid(
                FieldError(
                    "sentences",
                    "Send sentences only with `answers`; stored reference answers have their own.",
                )
            )
        version = target(request, body)
        return version.answers, version.sentences
    files = [read_upload(body[name], MAX_BYTES) if name in body else b"" for name in ("answers", "sentences")]
    parsed = read_answers(*files)
    return parsed.text, parsed.sentences_text


class SubmissionDetail(SubmissionView):
    @operation("Read a submission", response=ProParaSubmissionSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return the submission with its scores, or with its state if it has none yet."""
        return self.read()

    @operation("Change a submission", body=ProParaAbout, response=ProParaSubmissionSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """Change system, visibility, description, paper or link. The file cannot be changed."""
        return self.change(_edit)

    @operation("Delete a submission", status=204)
    def delete(self, request: Request, key: str) -> Response:
        """Delete the submission with its file and scores."""
        return self.remove(services.delete_submission)


def _edit(submission: Submission, *, actor: User, **changes: str) -> None:
    about = {field.name: getattr(submission, field.name) for field in fields(services.About)}
    services.edit_submission(submission, services.About(**about | changes), actor=actor)


class Agree(SubmissionView):
    @operation("Agree to repairs", response=ProParaSubmissionSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Score the file as repaired. 400 if the submission is not waiting for agreement."""
        return self.act(services.agree)


class ProParaCompared(FormatQuery, Several):
    table = serializers.ChoiceField(
        ["differences", "processes"], default="differences", help_text="the table for CSV and NDJSON"
    )


class Compare(ApiView):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation("Compare submissions", query=ProParaCompared, response=OBJECT, media={CSV: FILE, NDJSON: FILE})
    def get(self, request: Request) -> Response:
        """Compare each `second` with `first`, paired by process; at most five submissions in total. Differences of F1,
        overall and by question, are second − first, with 95% interval, p, and Holm-corrected p (overall: over all
        systems; by question: over all systems and questions). `rows` are the processes, greatest difference first."""
        keys = list(dict.fromkeys([self.query["first"], *self.query["second"]]))
        submissions = [scored(request, key) for key in keys[: MAX_COMPARED + 1]]
        if wrong := not_comparable(submissions):
            raise invalid(FieldError("?second", wrong))
        result = compare_submissions(*submissions, sentences=first_sentences(submissions[0].version))
        if is_table(request):
            by_process = self.query["table"] == "processes"
            return Response(Table(*(result.processes_table if by_process else result.differences_table)()))
        return Response(result.as_dict())


# --- stored data of a submission ---


class Report(ApiView):
    @operation("Read a report", response=OBJECT)
    def get(self, request: Request, key: str) -> Response:
        """Return both metrics, intervals, warnings, mistakes, samples, history and provenance."""
        return Response(exports.full_report(scored(request, key)))


class Processes(ListView):
    renderer_classes = renderers(CsvRenderer, NdjsonRenderer)

    @operation(
        "List scores by process",
        query=FormatQuery,
        response=ProParaProcessSerializer,
        many=True,
        media={CSV: FILE, NDJSON: FILE},
    )
    def get(self, request: Request, key: str) -> Response:
        """List processes in the order of the answers. CSV and NDJSON are not paginated."""
        submission = scored(request, key)
        if is_table(request):
            return Response(Table(*exports.process_table(submission)))
        return self.page(submission.report["processes"], lambda rows: rows)


class Process(ApiView):
    @operation("Read one process", response=OBJECT)
    def get(self, request: Request, key: str, process_id: int) -> Response:
        """Return both grids and summaries, each pair with its parts and reason, and missed
        and spurious tuples."""
        return Response(process_of(scored(request, key), process_id).details())


class SubmissionFile(SubmissionView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Download a file of a submission",
        media={
            "text/plain": FILE,
            "text/tab-separated-values": FILE,
            "text/csv": FILE,
            "application/octet-stream": FILE,
            JSON: {"type": "object"},
        },
    )
    def get(self, request: Request, key: str, form: str) -> HttpResponse:
        """Download the submission. `form` is file (as uploaded), actions.tsv (as scored), json, processes.csv, or the
        reference's report.txt, metrics.json or diagnostics.txt."""
        submission = self.get_object()
        if form != "file":
            _require_scored(submission)
        return exports.response_of(submission, form)
