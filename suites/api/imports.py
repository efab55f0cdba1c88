"""Several suites in one request, and the report of it."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.permissions import IsAuthenticated
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import ApiView, get_or_404
from gym.api.errors import FieldError, invalid
from gym.api.operations import operation
from gym.api.permissions import TokenScope
from gym.api.requests import Body
from gym.sharing.models import Visibility
from lmgym.files.bounded import Refused
from lmgym.suites.intake.archives import MAX_FILES, unpacked
from suites.api.request_bodies import language_field, metric_choice
from suites.forms import given_file
from suites.imports import import_files
from suites.models import ImportedFile, JoinPolicy, Suite, SuiteImport
from suites.options import ImportOptions


class SuiteFilesBody(Body):
    """Suite files and zip archives of them; each file becomes a suite."""

    file = serializers.ListField(
        child=serializers.FileField(),
        min_length=1,
        max_length=MAX_FILES,
        help_text="a suite file, or a zip of them; several parts of this name are all taken",
    )
    visibility = serializers.ChoiceField(Visibility.choices, default=Visibility.PRIVATE)
    tags = serializers.ListField(child=serializers.CharField(max_length=200), max_length=50, required=False)
    join_policy = serializers.ChoiceField(JoinPolicy.choices, default=JoinPolicy.SPACE)
    metric = metric_choice()
    language = language_field(default="")
    again = serializers.BooleanField(default=False, help_text="import even if an identical suite exists")


class _Place(serializers.Serializer[Any]):
    where = serializers.CharField()
    message = serializers.CharField()
    hint = serializers.CharField(allow_blank=True)


class ImportedFileSerializer(serializers.ModelSerializer[ImportedFile]):
    suite: serializers.SlugRelatedField[Suite] = serializers.SlugRelatedField(
        slug_field="slug",
        read_only=True,
        allow_null=True,
        help_text="the imported or identical suite",
    )
    text = serializers.CharField(source="report.text", default="")
    problems = serializers.ListField(child=_Place(), source="report.problems", default=list)

    class Meta:
        model = ImportedFile
        fields = ["name", "state", "suite", "text", "problems"]


class SuiteImportSerializer(serializers.ModelSerializer[SuiteImport]):
    id = serializers.CharField(source="key", read_only=True)
    files = ImportedFileSerializer(many=True, read_only=True)

    class Meta:
        model = SuiteImport
        fields = ["id", "created", "files"]


class SuiteImports(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]
    parser_classes = [MultiPartParser]

    @operation(
        "Import several suites",
        takes={"multipart/form-data": SuiteFilesBody},
        answers=SuiteImportSerializer,
        status=201,
    )
    def post(self, request: SignedInApiRequest) -> Response:
        """Each file is imported as a draft of yours, or its row has the reason. A file with the sentences, predictions
        and metrics of a suite in your lists is not imported; its row names that suite. At most 200 files and 20 MB,
        unpacked."""
        body: dict[str, Any] = self.body()
        try:
            files = unpacked([given_file(upload) for upload in body["file"]])
        except Refused as error:
            raise invalid(FieldError("$.file", str(error))) from error
        batch = import_files(files, ImportOptions.of(body), actor=request.user)
        place = reverse("api-suite-import", args=[batch.key], request=request)
        return Response(SuiteImportSerializer(batch).data, status=201, headers={"Location": place})


class SuiteImportReport(ApiView):
    permission_classes = [IsAuthenticated, TokenScope]

    @operation("Read the report of an import", answers=SuiteImportSerializer)
    def get(self, request: SignedInApiRequest, key: str) -> Response:
        """For the account that imported; kept for a week."""
        batch = get_or_404(SuiteImport.objects.filter(owner=request.user), key=key)
        return Response(SuiteImportSerializer(batch).data)
