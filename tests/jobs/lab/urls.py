"""Pages that show how a web process handles requests."""

import os
import threading

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import path


def process(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"lab {os.getpid()}")


def hang(request: HttpRequest) -> HttpResponse:
    threading.Event().wait()
    raise AssertionError("nobody sets it")


def headers(request: HttpRequest) -> JsonResponse:
    return JsonResponse(dict(request.headers))


urlpatterns = [path("", process), path("hang", hang), path("headers", headers)]
