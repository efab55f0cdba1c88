"""Submissions in the REST API: score a file in one call, read why, compare."""

from __future__ import annotations

from typing import Any

import django_filters
from django.core.exceptions import PermissionDenied
from django.http import Http404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.models import Scope
from gym.api.base import ApiView, ListView, get_or_404, locked
from gym.api.errors import FieldError, invalid
from gym.api.filters import Filters, WholeNumberFilter
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body, Query
from gym.propara.core.answer_files import read_answers
from gym.propara.core.report import evaluate
from gym.propara.core.stored_report import digest
from gym.propara.core.submission_files import MAX_BYTES, take_in
from gym.propara.models import AnswerSetVersion, Submission
from gym.propara.site import generation, permissions, selectors, services
from gym.propara.site.api.serializers import (
    ProParaSubmissionSerializer,
    process_detail,
)
from gym.propara.site.api.sets import FORM
from gym.propara.site.compare import compare_submissions
from gym.sharing.models import Visibility
from gym.uploads import read_upload
from models_registry.selectors import visible_to as visible_models

OBJECT = {"type": "object"}
MOST_DETAILS = 100
"""Processes of one answer; all about one process of a kept submission is at its own address."""
WAIT = {"Retry-After": "5"}


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
        default=False, help_text="score at once what had to be repaired; otherwise it waits for `agree`"
    )


class ProParaEvaluation(Body):
    file = serializers.FileField(help_text="predictions")
    answer_set = serializers.SlugField(max_length=80, required=False)
    version = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)
    answers = serializers.FileField(required=False, help_text="instead of an answer set")
    sentences = serializers.FileField(required=False, help_text="of the answers sent along")
    agree_to_repairs = serializers.BooleanField(default=False)
    details = serializers.BooleanField(
        default=False, help_text=f"grids, summaries and pairs of the first {MOST_DETAILS} processes"
    )


class ProParaGeneration(ProParaTarget):
    model = serializers.SlugField(max_length=80)
    visibility = serializers.ChoiceField(Visibility.choices, default=Visibility.PRIVATE)


def target(request: Request, body: dict[str, Any]) -> AnswerSetVersion:
    rows = selectors.versions_for(request.user).filter(answer_set__slug=body["answer_set"])
    if "version" in body:
        return get_or_404(rows, number=body["version"])
    version = rows.order_by("-number").first()
    if version is None:
        raise Http404
    return version


def seen(request: Request, key: str) -> Submission:
    return get_or_404(selectors.submission_at(request.user, key))


def steered(request: Request, key: str) -> Submission:
    submission = seen(request, key)
    if not permissions.can_steer(request.user, submission):
        raise PermissionDenied("this belongs to somebody else")
    return submission


def shown(request: Request, key: str) -> dict[str, Any]:
    return dict(ProParaSubmissionSerializer(seen(request, key)).data)


def scored(request: Request, key: str) -> Submission:
    submission = seen(request, key)
    if not submission.is_scored:
        raise Http404
    return submission


class SubmissionFilter(Filters):
    answer_set = django_filters.CharFilter("version__answer_set__slug", label="Answer set")
    version = WholeNumberFilter("version__number", min_value=1, max_value=2**31 - 1, label="Its version")
    state = django_filters.ChoiceFilter(choices=Submission.State.choices, label="State")
    source = django_filters.ChoiceFilter(choices=Submission.Source.choices, label="Source")
    owner = django_filters.CharFilter("owner__username", label="Who handed it in")

    class Meta:
        model = Submission
        fields: list[str] = []


class SubmissionList(ListView):
    parser_classes = [MultiPartParser]
    filterset_class = SubmissionFilter

    @operation("List submissions", answers=ProParaSubmissionSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Newest first: public ones, and all of yours."""
        rows = selectors.known_submissions(request.user).defer(*selectors.HEAVY).order_by("-created", "-pk")
        return self.page(rows, ProParaSubmissionSerializer)

    @operation(
        "Upload and score", takes={FORM: ProParaUpload}, answers=ProParaSubmissionSerializer, status=201
    )
    def post(self, request: Request) -> Response:
        """One call: the answer holds the scores. A file that had to be repaired is `waiting`, with every change listed,
        unless `agree_to_repairs`. A file that cannot be repaired is a 400 with everything that is wrong."""
        body = self.body()
        version = target(request, body)
        file = body["file"]
        about = services.About(
            body.get("system") or file.name.rpartition(".")[0][:200] or file.name[:200],
            **{name: body[name] for name in ("description", "paper", "link", "visibility") if name in body},
        )
        data = read_upload(file, MAX_BYTES)
        made = services.submit(
            version, data, file.name, about, actor=request.user, agreed=body["agree_to_repairs"]
        )
        place = reverse("api-propara-submission", args=[made.key], request=request)
        return Response(ProParaSubmissionSerializer(made).data, status=201, headers={"Location": place})


class Evaluate(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [MultiPartParser]

    @operation("Score without keeping", takes={FORM: ProParaEvaluation}, answers=OBJECT)
    def post(self, request: Request) -> Response:
        """Against a kept answer set, or against answers sent along. Saves nothing. `scored` is false, and there is no
        report, when the file had to be repaired and `agree_to_repairs` is not said. With `details`, `processes` has
        what `/submissions/{id}/processes/{process}/` has."""
        body = self.body()
        answers, sentences = _answers_of(request, body)
        intake = take_in(read_upload(body["file"], MAX_BYTES), answers, body["file"].name)
        agreed = not intake.repairs or body["agree_to_repairs"]
        report = evaluate(answers, intake.text, sentences or None) if agreed else None
        told = report.processes[:MOST_DETAILS] if report and body["details"] else ()
        return Response(
            {
                "kind": intake.kind,
                "repairs": [one.as_dict() for one in intake.repairs],
                "scored": agreed,
                "report": digest(report) if report else None,
                "processes": [process_detail(one) for one in told],
            }
        )


def _answers_of(request: Request, body: dict[str, Any]) -> tuple[str, str]:
    """Texts of answers and sentences: a version's, or those sent along."""
    if ("answers" in body) == ("answer_set" in body):
        raise invalid(FieldError("$", "Send either answer_set or answers."))
    if "answers" not in body:
        if "sentences" in body:
            raise invalid(FieldError("sentences", "An answer set has its own sentences."))
        version = target(request, body)
        return version.answers, version.sentences
    files = [read_upload(body[name], MAX_BYTES) if name in body else b"" for name in ("answers", "sentences")]
    read = read_answers(*files)
    return read.text, read.sentences_text


class Generate(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    token_scope = Scope.RUN

    @operation("Let a model answer", takes=ProParaGeneration, answers=ProParaSubmissionSerializer, status=202)
    def post(self, request: Request) -> Response:
        """Constrained choice by surprisal, by a job; follow `Location` until its state is `scored`."""
        body = self.body()
        version = target(request, body)
        model = get_or_404(visible_models(request.user), slug=body["model"])
        about = services.About(f"{model.name} (by surprisal)"[:200], visibility=body["visibility"])
        made = generation.queue_generation(version, model, about, actor=request.user)
        place = reverse("api-propara-submission", args=[made.key], request=request)
        return Response(
            ProParaSubmissionSerializer(made).data, status=202, headers={"Location": place, **WAIT}
        )


class SubmissionDetail(ApiView):
    @operation("Read a submission", answers=ProParaSubmissionSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Its scores, or what it waits for."""
        return Response(shown(request, key))

    @operation("Change a submission's card", takes=ProParaAbout, answers=ProParaSubmissionSerializer)
    def patch(self, request: Request, key: str) -> Response:
        """System, visibility, description, paper, link; never the file."""
        row = steered(request, key)
        body = self.body()
        names = ("system", "description", "paper", "link", "visibility")
        with locked(row):
            about = services.About(**({name: getattr(row, name) for name in names} | body))
            services.edit_submission(row, about, actor=request.user)
        return Response(shown(request, row.key))

    @operation("Delete a submission", status=204)
    def delete(self, request: Request, key: str) -> Response:
        """With its file and scores."""
        services.delete_submission(steered(request, key), actor=request.user)
        return Response(status=204)


class _Act(ApiView):
    def act(self, request: Request, key: str, use_case: Any) -> Response:
        row = steered(request, key)
        use_case(row, actor=request.user)
        return Response(shown(request, key))


class Agree(_Act):
    @operation("Agree to repairs", answers=ProParaSubmissionSerializer)
    def post(self, request: Request, key: str) -> Response:
        """Score the file as repaired. 400 when it does not wait for this."""
        return self.act(request, key, services.agree)


class Cancel(_Act):
    token_scope = Scope.RUN

    @operation("Stop a generation", answers=ProParaSubmissionSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """Processes that were answered are kept."""
        return self.act(request, key, generation.cancel_generation)


class Retry(_Act):
    token_scope = Scope.RUN

    @operation("Go on with a generation", answers=ProParaSubmissionSerializer, also=[409])
    def post(self, request: Request, key: str) -> Response:
        """From the first process that was not answered."""
        return self.act(request, key, generation.retry_generation)


class ProParaPair(Query):
    first = serializers.SlugField(max_length=24)
    second = serializers.SlugField(max_length=24)


class Compare(ApiView):
    @operation("Compare two submissions", query=ProParaPair, answers=OBJECT)
    def get(self, request: Request) -> Response:
        """Paired over the processes: difference of F1 (first less second), interval, p, wins and losses."""
        first, second = (scored(request, self.query[name]) for name in ("first", "second"))
        if first.version_id != second.version_id:
            raise invalid(FieldError("?second", "It was scored against other answers than the first."))
        if first.reference is None or second.reference is None:
            raise invalid(FieldError("?first", "One of the two has no score."))
        return Response(compare_submissions(first, second).as_dict())


class Rescore(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation(
        "Score everything again",
        answers={"type": "object", "properties": {"submissions": {"type": "integer"}}},
        status=202,
    )
    def post(self, request: Request) -> Response:
        """What another version of the evaluator scored, by a job; the old numbers stay in `history`. For staff."""
        job = services.queue_rescore(actor=request.user)
        headers = WAIT | ({"Location": reverse("api-job", args=[job.pk], request=request)} if job else {})
        return Response({"submissions": job.total if job else 0}, status=202, headers=headers)
