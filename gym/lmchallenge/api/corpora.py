"""Corpora in the REST API."""

from __future__ import annotations

from functools import partial
from typing import Any

from django.db.models import QuerySet
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from gym.accounts.requests import SignedInApiRequest
from gym.api.base import FormatFromUrl, ListView, ObjectView, referenced
from gym.api.errors import ApiProblem, FieldError, problem_for
from gym.api.operations import FILE, operation
from gym.api.requests import Body
from gym.lmchallenge import permissions, selectors, services
from gym.lmchallenge.models import Corpus
from gym.lmchallenge.views import corpus_file
from gym.sharing.api import DeletionQuery, FormerNoteBody
from gym.sharing.models import Visibility
from gym.uploads import read_upload
from lmgym.lmchallenge.errors import LmcError

FORM = "multipart/form-data"


@problem_for(LmcError)
def _refused(error: LmcError) -> ApiProblem:
    """Convert the error, whose message names the file and, if there is one, the line, to an API problem."""
    return ApiProblem(400, error.message, "unreadable", [FieldError("$", error.message, error.hint)])


class CorpusSerializer(serializers.ModelSerializer[Corpus]):
    owner = serializers.CharField(source="owner.username")
    format = serializers.CharField(source="form", help_text="text or json")

    class Meta:
        model = Corpus
        fields = [
            "slug", "title", "owner", "visibility", "language", "licence", "description", "format", "sha256",
            "size", "lines", "characters", "tokens", "users", "created", "updated",
        ]  # fmt: skip
        read_only_fields = fields


class CorpusDetailSerializer(CorpusSerializer):
    warnings = serializers.ListField(child=serializers.DictField(), help_text="code, line, count, message")

    class Meta(CorpusSerializer.Meta):
        fields = [*CorpusSerializer.Meta.fields, "warnings"]
        read_only_fields = fields


class CorpusAbout(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    language = serializers.CharField(max_length=35, required=False, allow_blank=True)
    licence = serializers.CharField(max_length=60, required=False, allow_blank=True)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True)


class ChangedCorpus(CorpusAbout, FormerNoteBody):
    pass


class CorpusToCheck(Body):
    file = serializers.FileField(
        required=False, help_text="plain text or JSON lines, optionally compressed with gzip"
    )
    text = serializers.CharField(
        required=False, trim_whitespace=False, help_text="the corpus as text, instead of `file`"
    )
    format = serializers.ChoiceField(["auto", "text", "json"], default="auto")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("file" in attrs) == ("text" in attrs):
            raise serializers.ValidationError({"file": ["Send either file or text."]})
        return attrs


class NewCorpus(CorpusToCheck, CorpusAbout):
    title = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=70, required=False, help_text="default: derived from the title")


def read_body(body: dict[str, Any]) -> services.ReadCorpus:
    """Read the corpus in a request body, and remove its fields from the body."""
    form, upload = body.pop("format"), body.pop("file", None)
    if upload is None:
        return services.read_corpus(body.pop("text").encode("utf-8", "replace"), form, "the text")
    return services.read_corpus(read_upload(upload, services.MAX_BYTES), form, upload.name)


def corpus_of(request: Request, slug: str) -> Corpus:
    return referenced(selectors.visible_to(request.user), "corpus", slug=slug)


class CorpusView(ObjectView[Corpus]):
    def visible_rows(self, address: str) -> QuerySet[Corpus]:
        return selectors.visible_to(self.request.user).filter(slug=address)

    def can_change(self, corpus: Corpus) -> bool:
        return permissions.can_edit(self.request.user, corpus)


class CorpusList(ListView):
    parser_classes = [MultiPartParser]

    @operation("List corpora", response=CorpusSerializer, many=True)
    def get(self, request: Request) -> Response:
        """List public corpora, your own, and corpora shared with you; for staff also private ones."""
        return self.page(selectors.listed_for(request.user).order_by("slug"))

    @operation("Upload a corpus", body={FORM: NewCorpus}, response=CorpusDetailSerializer, status=201)
    def post(self, request: SignedInApiRequest) -> Response:
        """Store the text unchanged. An unreadable line is a 400 that names the first one. `warnings` lists features
        that affect games."""
        body: dict[str, Any] = self.body()
        made = services.create_corpus(read_body(body), actor=request.user, **body)
        return self.respond(made, "api-lmc-corpus", made.slug)


class CorpusDetail(CorpusView):
    @operation("Read a corpus", response=CorpusDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Return metadata, counts and warnings. The text is at `files/`."""
        return self.read()

    @operation("Change a corpus", body=ChangedCorpus, response=CorpusDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Change title, visibility, language, licence or description. The text cannot be changed."""
        return self.change(services.edit_corpus)

    @operation("Delete a corpus", status=204, query=DeletionQuery)
    def delete(self, request: Request, slug: str) -> Response:
        """Delete the corpus and its owner's games on it. Only the owner and staff may do this, and not while other
        people's games use it."""
        return self.remove(partial(services.delete_corpus, note=self.query["note"]))


class CorpusFile(CorpusView):
    content_negotiation_class = FormatFromUrl

    @operation(
        "Download a corpus",
        media={
            "application/x-ndjson": FILE,
            "text/plain": FILE,
        },
    )
    def get(self, request: Request, slug: str, form: str) -> Any:
        """Download the corpus. `form` is corpus.txt or corpus.jsonl: the file as uploaded, or converted to the other
        format."""
        return corpus_file(self.get_object(), form)
