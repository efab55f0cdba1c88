"""Corpora in the REST API."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.reverse import reverse

from gym.api.base import AddressDecides, ApiView, ListView, get_or_404, locked
from gym.api.errors import ApiProblem, FieldError, answers
from gym.api.operations import TEXT, operation
from gym.api.requests import Body
from gym.lmchallenge.core.errors import LmcError
from gym.lmchallenge.models import Corpus
from gym.lmchallenge.site import permissions, selectors, services
from gym.lmchallenge.site.api.serializers import CorpusDetailSerializer, CorpusSerializer
from gym.lmchallenge.site.views import corpus_file
from gym.sharing.models import Visibility
from gym.uploads import read_upload

FORM = "multipart/form-data"


@answers(LmcError)
def _refused(error: LmcError) -> ApiProblem:
    """The message names file and line."""
    return ApiProblem(400, error.message, "unreadable", [FieldError("$", error.message, error.hint)])


class CorpusAbout(Body):
    title = serializers.CharField(max_length=200, required=False)
    visibility = serializers.ChoiceField(Visibility.choices, required=False)
    language = serializers.CharField(max_length=35, required=False, allow_blank=True)
    licence = serializers.CharField(max_length=60, required=False, allow_blank=True)
    description = serializers.CharField(max_length=20_000, required=False, allow_blank=True)


class NewCorpus(CorpusAbout):
    title = serializers.CharField(max_length=200)
    slug = serializers.SlugField(max_length=70, required=False, help_text="default: made from the title")
    file = serializers.FileField(help_text="plain text or JSON lines, packed with gzip or not")
    format = serializers.ChoiceField(["auto", "text", "json"], default="auto")


def corpus_of(request: Request, slug: str) -> Corpus:
    return get_or_404(selectors.visible_to(request.user), slug=slug)


def editable(request: Request, slug: str) -> Corpus:
    corpus = corpus_of(request, slug)
    if not permissions.can_edit(request.user, corpus):
        raise PermissionDenied("this belongs to somebody else")
    return corpus


def shown(request: Request, slug: str) -> dict[str, Any]:
    return dict(CorpusDetailSerializer(corpus_of(request, slug)).data)


class CorpusList(ListView):
    parser_classes = [MultiPartParser]

    @operation("List corpora", answers=CorpusSerializer, many=True)
    def get(self, request: Request) -> Response:
        """Texts to play on: public ones and your own."""
        return self.page(selectors.listed_for(request.user).order_by("slug"), CorpusSerializer)

    @operation("Upload a corpus", takes={FORM: NewCorpus}, answers=CorpusDetailSerializer, status=201)
    def post(self, request: Request) -> Response:
        """Kept as it comes. The first line that cannot be read is named; what is odd is in `warnings`."""
        body: dict[str, Any] = self.body()
        upload = body.pop("file")
        made = services.create_corpus(
            read_upload(upload, services.MAX_BYTES),
            actor=request.user,
            form=body.pop("format"),
            filename=upload.name,
            **body,
        )
        place = reverse("api-lmc-corpus", args=[made.slug], request=request)
        return Response(CorpusDetailSerializer(made).data, status=201, headers={"Location": place})


class CorpusToCheck(Body):
    file = serializers.FileField(help_text="plain text or JSON lines, packed with gzip or not")
    format = serializers.ChoiceField(["auto", "text", "json"], default="auto")


class CorpusCheck(ApiView):
    parser_classes = [MultiPartParser]

    @operation("Check a corpus", takes={FORM: CorpusToCheck}, answers={"type": "object"})
    def post(self, request: Request) -> Response:
        """Nothing is kept: counts, what is odd, and how the first lines are cut into tokens ([start, end])."""
        body = self.body()
        upload = body["file"]
        read = services.read_corpus(read_upload(upload, services.MAX_BYTES), body["format"], upload.name)
        return Response({"format": read.form, **read.found})


class CorpusDetail(ApiView):
    @operation("Read a corpus", answers=CorpusDetailSerializer)
    def get(self, request: Request, slug: str) -> Response:
        """Counts and warnings; the text is at `files/`."""
        return Response(shown(request, slug))

    @operation("Change a corpus' card", takes=CorpusAbout, answers=CorpusDetailSerializer)
    def patch(self, request: Request, slug: str) -> Response:
        """Title, visibility, language, licence, description; never the text."""
        corpus = editable(request, slug)
        body = self.body()
        with locked(corpus):
            services.edit_corpus(corpus, actor=request.user, **body)
        return Response(shown(request, corpus.slug))

    @operation("Delete a corpus", status=204)
    def delete(self, request: Request, slug: str) -> Response:
        """With your games on it; not while other people's rest on it."""
        services.delete_corpus(editable(request, slug), actor=request.user)
        return Response(status=204)


class CorpusFile(ApiView):
    content_negotiation_class = AddressDecides

    @operation(
        "Download a corpus",
        media={
            "application/x-ndjson": TEXT,
            "text/plain": TEXT,
            "text/tab-separated-values": TEXT,
        },
    )
    def get(self, request: Request, slug: str, form: str) -> Any:
        """`form` is corpus.txt, corpus.jsonl (one of them as it came), sorted.jsonl (by user and time, of JSON lines),
        vocabulary.txt or vocabulary.tsv (with counts)."""
        return corpus_file(corpus_of(request, slug), form)
