"""Uploads of results computed elsewhere: preview, save, withdraw."""

from __future__ import annotations

from typing import Any

from django.db.models import Prefetch, QuerySet
from django.http import Http404
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, ListView, get_or_404, referenced
from gym.api.errors import FieldError, invalid
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body
from gym.runs.api.serializers import PlanSerializer, UploadSerializer
from gym.runs.filters import UploadFilter
from gym.runs.models import ResultUpload
from gym.runs.read.selectors import known_runs
from gym.runs.work import uploads
from gym.runs.work.uploads import ModelChoice, Plan, ResultFile
from gym.sharing.models import PRIVATE_OR_PUBLIC, Visibility
from gym.uploads import read_upload
from lmgym.runs.uploaded import AUTO, KINDS, MAX_BYTES, UNITS
from lmgym.suites.formats import MAX_BYTES as MAX_SPEC_BYTES
from models_registry.selectors import uploadable_by
from suites.selectors import revisions_for
from suites.selectors import visible_to as visible_suites

FORM = "multipart/form-data"


class ResultsUpload(Body):
    """Upload of a results file; docs/uploading-results.md lists the formats."""

    file = serializers.FileField()
    spec = serializers.FileField(required=False, help_text="spec.json of LM Zoo files")
    kind = serializers.ChoiceField(["auto", *KINDS], default="auto")
    unit = serializers.ChoiceField(
        UNITS,
        default=AUTO,
        help_text="default: the unit in the column's name, such as surprisal_nats; 400 if there is none",
    )
    suite = serializers.SlugField(
        max_length=80, required=False, help_text="default: the suites named in the file"
    )
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="default: the newest frozen revision"
    )
    model = serializers.SlugField(
        max_length=80, required=False, help_text="a model that this site does not run"
    )
    name = serializers.CharField(
        max_length=200, required=False, help_text="name of a new model; default: its name in the file"
    )
    visibility = serializers.ChoiceField(
        PRIVATE_OR_PUBLIC,
        required=False,
        help_text="visibility of a new model; default: private. Must equal that of your model with the same name",
    )


def choice_of(request: Request, body: dict[str, Any]) -> ModelChoice:
    if "model" not in body:
        visibility = body.get("visibility", Visibility.PRIVATE)
        return ModelChoice(name=body.get("name", "").strip(), visibility=visibility)
    model = referenced(uploadable_by(request.user), "model", slug=body["model"])
    if "name" in body:
        raise invalid(
            FieldError("$.name", "A name is allowed only for a new model.", "Send either name or model.")
        )
    if body.get("visibility", model.visibility) != model.visibility:
        message = f"{model.slug} is {model.visibility}, and so are its results."
        raise invalid(FieldError("$.visibility", message, "Leave visibility out."))
    return ModelChoice(model=model)


def plan_of(request: SignedInApiRequest, body: dict[str, Any]) -> Plan:
    revision = None
    if "revision" in body and "suite" not in body:
        raise invalid(FieldError("$.revision", "A revision requires its suite.", "Send suite as well."))
    if "suite" in body:
        suite = referenced(visible_suites(request.user), "suite", slug=body["suite"])
        number = body.get("revision")
        revision = (
            suite.latest_frozen
            if number is None
            else referenced(revisions_for(request.user, suite), "revision", number=number)
        )
        if revision is None:
            raise invalid(
                FieldError("$.suite", "This suite has no frozen revision yet.", "Freeze its draft first.")
            )
    spec = body.get("spec")
    return uploads.plan_upload(
        ResultFile(body["file"].name, read_upload(body["file"], MAX_BYTES)),
        actor=request.user,
        revision=revision,
        spec=ResultFile(spec.name, read_upload(spec, MAX_SPEC_BYTES)) if spec else None,
        kind=body["kind"],
        unit=body["unit"],
    )


def uploads_for(request: Request) -> QuerySet[ResultUpload]:
    """Return all uploads, and prefetch their runs whose addresses this user may know."""
    runs = Prefetch("runs", known_runs(request.user))
    return ResultUpload.objects.select_related("job").prefetch_related(runs)


def upload_or_404(request: Request, key: str) -> ResultUpload:
    upload = get_or_404(uploads_for(request), key=key)
    if not uploads.may_see(request.user, upload):
        raise Http404
    return upload


class UploadPlan(ApiView):
    parser_classes = [MultiPartParser]

    @operation("Preview an upload of results", body={FORM: ResultsUpload}, response=PlanSerializer)
    def post(self, request: SignedInApiRequest) -> Response:
        """Return the matched suites, pass rates, data that the file lacks, and refused runs of an upload without saving
        it."""
        body = self.body()
        choice = choice_of(request, body)
        plan = plan_of(request, body)
        uploads.check_choice(plan, choice, actor=request.user)
        report = uploads.report_of(plan)
        data = {"report": report, "runs": plan.good}
        return Response(PlanSerializer(data, context={"report": report}).data)


class UploadList(ListView):
    filterset_class = UploadFilter
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [MultiPartParser]

    @operation("List your uploads", response=UploadSerializer, many=True)
    def get(self, request: SignedInApiRequest) -> Response:
        """List your uploaded files of results, newest first, with their runs."""
        rows = uploads_for(request).filter(owner=request.user)
        return self.page(rows.order_by("-created", "-pk"), UploadSerializer)

    @operation("Upload results", body={FORM: ResultsUpload}, response=UploadSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Save a file of results. Each pair of model and suite in it becomes a run, marked as uploaded. For more than
        300 pairs a job creates the runs: `state` is “queued”, and `progress` of `GET /uploads/{id}/` follows the
        job."""
        body = self.body()
        choice = choice_of(request, body)
        plan = plan_of(request, body)
        upload = uploads.save_upload(plan, choice, actor=request.user)
        place = reverse("api-upload", args=[upload.key], request=request)
        return Response(
            UploadSerializer(upload, context={"request": request}).data,
            status=201,
            headers={"Location": place},
        )


class UploadDetail(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read an upload", response=UploadSerializer)
    def get(self, request: Request, key: str) -> Response:
        """Return the result of an upload. Only staff and the account that sent it can read it."""
        return Response(UploadSerializer(upload_or_404(request, key), context={"request": request}).data)

    @operation("Withdraw an upload", status=204, also=[409])
    def delete(self, request: SignedInApiRequest, key: str) -> Response:
        """Delete all the upload's runs, and stop a job that is still creating some; the models are kept. 409 if a
        published collection shows one of the runs."""
        uploads.delete_upload(upload_or_404(request, key), actor=request.user)
        return Response(status=204)
