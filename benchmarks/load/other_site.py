"""Another Django site as a scale: Django's own middleware and templates, a front page with 25 rows of two tables,
SQLite, and the web server, processes and threads of `lmgym web`. Nothing is cached.

    python -m benchmarks.load.other_site FOLDER PORT PROCESSES
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

THREADS = 8
ROWS = 25
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Articles</title></head><body>
<nav>{% for name in sections %}<a href="/{{ name|slugify }}/">{{ name }}</a> {% endfor %}
{% if user.is_authenticated %}{{ user.username }}{% else %}
<a href="/login/?next={{ request.path|urlencode }}">Sign in</a>{% endif %}</nav>
<main><h1>Articles</h1><p>{{ total }} articles, newest first.</p><table><tbody>{% for row in rows %}
<tr><th scope="row"><a href="/articles/{{ row.pk }}/">{{ row.title|capfirst }}</a></th>
<td>{{ row.author.name }}</td><td>{{ row.created|date:"j M Y" }}</td><td>{{ row.words|floatformat:0 }}</td>
<td>{{ row.text|truncatewords:20|linebreaksbr }}</td></tr>
{% endfor %}</tbody></table></main></body></html>"""


class OtherSite:
    """The site in processes of its own, on a free port."""

    def __init__(self, processes: int) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="other-site-")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        words = [self._folder.name, str(self.port), str(processes)]
        self._process = subprocess.Popen([sys.executable, "-m", "benchmarks.load.other_site", *words])
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, "the other site does not start"
            assert time.monotonic() < deadline, "the other site does not answer"
            time.sleep(0.1)

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/", timeout=2) as response:
                return bool(response.read().count(b"<tr>") == ROWS)
        except OSError:
            return False

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        self._folder.cleanup()


def application(folder: Path) -> Any:
    """Configure Django, create the tables with their rows, and return the WSGI application."""
    import django
    from django.conf import settings

    apps = ["admin", "auth", "contenttypes", "sessions", "messages"]
    processors = ["django.template.context_processors.request", "django.contrib.auth.context_processors.auth"]
    settings.configure(
        SECRET_KEY="for a benchmark",
        ALLOWED_HOSTS=["127.0.0.1"],
        ROOT_URLCONF=__name__,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": folder / "other.sqlite3"}},
        INSTALLED_APPS=[f"django.contrib.{name}" for name in apps],
        MIDDLEWARE=[
            "django.middleware.security.SecurityMiddleware",
            "django.middleware.gzip.GZipMiddleware",
            "django.contrib.sessions.middleware.SessionMiddleware",
            "django.middleware.common.CommonMiddleware",
            "django.middleware.csrf.CsrfViewMiddleware",
            "django.contrib.auth.middleware.AuthenticationMiddleware",
            "django.contrib.messages.middleware.MessageMiddleware",
            "django.middleware.clickjacking.XFrameOptionsMiddleware",
        ],
        TEMPLATES=[
            {
                "BACKEND": "django.template.backends.django.DjangoTemplates",
                "OPTIONS": {
                    "context_processors": processors,
                    "loaders": [("django.template.loaders.locmem.Loader", {"front.html": PAGE})],
                },
            }
        ],
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        USE_TZ=True,
    )
    django.setup()
    from django.core.wsgi import get_wsgi_application
    from django.db import connection, models
    from django.shortcuts import render
    from django.urls import path
    from django.utils import timezone

    class Author(models.Model):
        name = models.CharField(max_length=80)

        class Meta:
            app_label = "auth"

    class Article(models.Model):
        author = models.ForeignKey(Author, on_delete=models.CASCADE)
        title = models.CharField(max_length=200)
        text = models.TextField()
        words = models.FloatField()
        created = models.DateTimeField(db_index=True)

        class Meta:
            app_label = "auth"

    with connection.schema_editor() as editor:
        editor.create_model(Author)
        editor.create_model(Article)
    authors = Author.objects.bulk_create(Author(name=f"Author {k}") for k in range(20))
    Article.objects.bulk_create(
        Article(
            author=authors[k % 20],
            title=f"article number {k}",
            text="some words about it " * 30,
            words=120.0,
            created=timezone.now(),
        )
        for k in range(1000)
    )
    connection.close()  # before the processes fork

    def front(request: Any) -> Any:
        rows = Article.objects.select_related("author").order_by("-created", "-pk")[:ROWS]
        sections = ["Articles", "Authors", "Topics", "Archive", "About"]
        return render(
            request, "front.html", {"rows": rows, "total": Article.objects.count(), "sections": sections}
        )

    urlpatterns[:] = [path("", front)]
    return get_wsgi_application()


urlpatterns: list[Any] = []


def main() -> None:
    import logging
    import signal

    from waitress.server import create_server

    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of every burst
    folder, port, processes = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    site = application(folder)
    bound = socket.socket()
    bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    bound.bind(("127.0.0.1", port))
    children = []
    for _ in range(processes - 1):
        if not (pid := os.fork()):
            children = []
            break
        children.append(pid)

    def stop(number: int, frame: object) -> None:
        for child in children:
            os.kill(child, signal.SIGTERM)
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, stop)
    create_server(site, sockets=[bound], threads=THREADS, connection_limit=1000, asyncore_use_poll=True).run()


if __name__ == "__main__":
    main()
