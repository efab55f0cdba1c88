"""Results that were computed elsewhere: look at what a file comes to, keep it, take it back."""

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
from gym.api.base import ApiView, ListView, get_or_404, referred
from gym.api.errors import FieldError, invalid
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body
from gym.runs.api.serializers import PlanSerializer, UploadSerializer
from gym.runs.filters import UploadFilter
from gym.runs.models import ResultUpload
from gym.runs.read.selectors import known_runs
from gym.runs.work import uploads
from gym.runs.work.uploads import GivenFile, ModelChoice, Plan
from gym.sharing.models import PRIVATE_OR_PUBLIC, Visibility
from gym.uploads import read_upload
from lmgym.runs.uploaded import AUTO, KINDS, MAX_BYTES, UNITS
from lmgym.suites.formats import MAX_BYTES as MAX_SPEC_BYTES
from models_registry.selectors import uploadable_by
from suites.selectors import revisions_for
from suites.selectors import visible_to as visible_suites

FORM = "multipart/form-data"


class ResultsUpload(Body):
    """See docs/uploading-results.md for the files that are read."""

    file = serializers.FileField()
    spec = serializers.FileField(required=False, help_text="spec.json of LM Zoo files")
    kind = serializers.ChoiceField(["auto", *KINDS], default="auto")
    unit = serializers.ChoiceField(
        UNITS,
        default=AUTO,
        help_text="default: as the name of the column states, such as surprisal_nats; 400 where it states none",
    )
    suite = serializers.SlugField(
        max_length=80, required=False, help_text="default: the suites that the file names"
    )
    revision = serializers.IntegerField(
        required=False, min_value=1, max_value=2**31 - 1, help_text="default: the newest frozen one"
    )
    model = serializers.SlugField(max_length=80, required=False, help_text="one that this site does not run")
    name = serializers.CharField(
        max_length=200, required=False, help_text="of a new model; default: as the file calls it"
    )
    visibility = serializers.ChoiceField(
        PRIVATE_OR_PUBLIC,
        required=False,
        help_text="of a new model; default: private. Your model of the same name must have the same",
    )


def choice_of(request: Request, body: dict[str, Any]) -> ModelChoice:
    if "model" not in body:
        visibility = body.get("visibility", Visibility.PRIVATE)
        return ModelChoice(name=body.get("name", "").strip(), visibility=visibility)
    model = referred(uploadable_by(request.user), "model", slug=body["model"])
    if "name" in body:
        raise invalid(FieldError("$.name", "This is for a new model.", "Send either name or model."))
    if body.get("visibility", model.visibility) != model.visibility:
        message = f"{model.slug} is {model.visibility}, and its results are seen with it."
        raise invalid(FieldError("$.visibility", message, "Leave visibility out."))
    return ModelChoice(model=model)


def plan_of(request: SignedInApiRequest, body: dict[str, Any]) -> Plan:
    revision = None
    if "revision" in body and "suite" not in body:
        raise invalid(FieldError("$.revision", "Say which suite it is a revision of.", "Send suite too."))
    if "suite" in body:
        suite = referred(visible_suites(request.user), "suite", slug=body["suite"])
        number = body.get("revision")
        revision = (
            suite.latest_frozen
            if number is None
            else referred(revisions_for(request.user, suite), "revision", number=number)
        )
        if revision is None:
            raise invalid(
                FieldError("$.suite", "This suite has no frozen revision yet.", "Freeze its draft first.")
            )
    spec = body.get("spec")
    return uploads.plan_upload(
        GivenFile(body["file"].name, read_upload(body["file"], MAX_BYTES)),
        actor=request.user,
        revision=revision,
        spec=GivenFile(spec.name, read_upload(spec, MAX_SPEC_BYTES)) if spec else None,
        kind=body["kind"],
        unit=body["unit"],
    )


def told(request: Request) -> QuerySet[ResultUpload]:
    """With the runs that this user may be told of."""
    runs = Prefetch("runs", known_runs(request.user))
    return ResultUpload.objects.select_related("job").prefetch_related(runs)


def own(request: Request, key: str) -> ResultUpload:
    upload = get_or_404(told(request), key=key)
    if not uploads.may_see(request.user, upload):
        raise Http404
    return upload


class UploadPlan(ApiView):
    parser_classes = [MultiPartParser]

    @operation("Look at what a file of results comes to", takes={FORM: ResultsUpload}, answers=PlanSerializer)
    def post(self, request: SignedInApiRequest) -> Response:
        """Saves nothing: which suites it fits, the pass rates, what is missing, what is refused and why. Takes what
        `POST /uploads/` takes."""
        body = self.body()
        choice = choice_of(request, body)
        plan = plan_of(request, body)
        uploads.check_choice(plan, choice, actor=request.user)
        found = uploads.report_of(plan)
        data = {"report": found, "runs": plan.good}
        return Response(PlanSerializer(data, context={"report": found}).data)


class UploadList(ListView):
    filterset_class = UploadFilter
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [MultiPartParser]

    @operation("List your uploads", answers=UploadSerializer, many=True)
    def get(self, request: SignedInApiRequest) -> Response:
        """Files of results that you uploaded, newest first, and the runs they became."""
        rows = told(request).filter(owner=request.user)
        return self.page(rows.order_by("-created", "-pk"), UploadSerializer)

    @operation("Upload results", takes={FORM: ResultsUpload}, answers=UploadSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Each pair of model and suite in the file becomes a run, marked as uploaded. Of more than 300 pairs a job
        makes the runs: `state` is “queued” then, `progress` names the job, and `GET /uploads/{id}/` says how far it
        is."""
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

    @operation("Read an upload", answers=UploadSerializer)
    def get(self, request: Request, key: str) -> Response:
        """What became of a file. For who sent it."""
        return Response(UploadSerializer(own(request, key), context={"request": request}).data)

    @operation("Take an upload back", status=204, also=[409])
    def delete(self, request: SignedInApiRequest, key: str) -> Response:
        """With all its runs; a job that still makes some is stopped, and the models' cards stay. 409 when a published
        collection shows one of the runs."""
        uploads.delete_upload(own(request, key), actor=request.user)
        return Response(status=204)
