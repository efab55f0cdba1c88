"""A site in its own folder: two models, a suite of 152 rows, `manage.py serve`, and a signed-in user."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

ROOT = Path(__file__).resolve().parents[2]
CONDITIONS = ("sing_match", "sing_mismatch", "plur_match", "plur_mismatch")
REGIONS = ("Subject", "Complementizer", "Embedded", "Verb", "Rest")
FORMULA = "((4;%sing_mismatch%) > (4;%sing_match%)) & ((4;%plur_mismatch%) > (4;%plur_match%))"
NOUNS = (
    "author",
    "farmer",
    "pilot",
    "senator",
    "teacher",
    "manager",
    "surgeon",
    "guard",
    "officer",
    "customer",
)
VERBS = (("is", "are"), ("laughs", "laugh"), ("knows", "know"), ("swims", "swim"))
N_ITEMS = 38


def document() -> dict[str, Any]:
    """Return a suite of 38 items in 4 conditions: 152 rows of about 10 words."""
    items = []
    for number in range(1, N_ITEMS + 1):
        noun, other = NOUNS[number % 10], NOUNS[(number * 3 + number // 10 + 1) % 10]
        singular, many = VERBS[number % 4]
        rows = []
        for condition in CONDITIONS:
            subject, verbs = (
                (noun, (singular, many)) if condition.startswith("sing") else (f"{noun}s", (many, singular))
            )
            verb = verbs[condition.endswith("mismatch")]
            contents = (
                f"The {subject}",
                "that",
                f"the {other} often saw",
                verb,
                f"near the house number {number}.",
            )
            regions = [{"region_number": k, "content": text} for k, text in enumerate(contents, start=1)]
            rows.append({"condition_name": condition, "regions": regions})
        items.append({"item_number": number, "conditions": rows})
    return {
        "meta": {"name": "edit_benchmark", "metric": "sum"},
        "region_meta": {str(k): name for k, name in enumerate(REGIONS, start=1)},
        "predictions": [{"type": "formula", "formula": FORMULA}],
        "items": items,
    }


def texts() -> list[str]:
    return [
        " ".join(region["content"] for region in row["regions"])
        for item in document()["items"]
        for row in item["conditions"]
    ]


def make_gpt2_small(folder: Path) -> None:
    """Create a model of 124 million random parameters (fixed seed); train a tokenizer of 50,257 entries."""
    from benchmarks.engine.shapes import build
    from benchmarks.engine.workload import tokenizer

    build("gpt2").save_pretrained(folder)
    tokenizer(texts()).save_pretrained(folder)


def prepare() -> None:
    """Create demo accounts and models, the big model and the suite, and check the models. Runs in the site's
    environment.
    """
    import django

    django.setup()
    from django.conf import settings

    from gym.accounts.models import User
    from gym.demo.loader import demo_user, load_demo
    from lmgym.suites.formats import read_suite
    from models_registry.actors import inspect
    from models_registry.models import RegisteredModel
    from suites import services

    list(load_demo(queue_runs=False))
    make_gpt2_small(settings.GYM_MODEL_DIR / "gpt2-small-shape")
    RegisteredModel.objects.create(
        slug="gpt2-small-shape",
        name="GPT-2 small shape",
        owner=demo_user(),
        visibility="public",
        backend="causal",
        config={"source": "directory", "path": "gpt2-small-shape"},
    )
    for model in RegisteredModel.objects.filter(slug__in=["demo-gpt2", "gpt2-small-shape"]):
        inspection = inspect(model)
        if inspection["status_reason"]:
            raise SystemExit(inspection["status_reason"])
        RegisteredModel.objects.filter(pk=model.pk).update(**inspection)
    services.import_suite(
        read_suite(json.dumps(document()).encode()), actor=User.objects.get(username="alice")
    )


class Site:
    def __init__(self, folder: Path) -> None:
        self.port = _free_port()
        self.env = os.environ | {
            "DJANGO_SETTINGS_MODULE": "gym.settings",
            "PYTHONPATH": str(ROOT),
            "GYM_VAR_DIR": str(folder),
            "GYM_DATABASE_URL": "",
            "GYM_BROKER_URL": "",
            "GYM_LOG_LEVEL": "WARNING",
            "HF_HUB_OFFLINE": "1",
            "TOKENIZERS_PARALLELISM": "false",
        }
        self._run("manage.py", "migrate", "-v", "0")
        self._run("-c", "from benchmarks.edit.site import prepare; prepare()")
        self.log = (folder / "serve.log").open("ab")
        words = ["manage.py", "serve", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [sys.executable, *words], env=self.env, cwd=ROOT, stdout=self.log, stderr=self.log
        )

    def _run(self, *words: str) -> None:
        subprocess.run([sys.executable, *words], env=self.env, cwd=ROOT, check=True)

    def wait(self, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while True:
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                if time.monotonic() > end or self.process.poll() is not None:
                    raise SystemExit(f"The site did not start: see {self.log.name}") from None
                time.sleep(0.1)

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)
        self.log.close()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Person:
    """A signed-in client that behaves like a browser: a persistent connection, cookies, a CSRF token."""

    def __init__(self, port: int, name: str, password: str) -> None:
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.cookies: dict[str, str] = {}
        _, page = self.send("GET", "/accounts/login/")
        match = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)
        assert match, "the sign-in page has no form"
        form = {"username": name, "password": password, "csrfmiddlewaretoken": match[1]}
        status, page = self.send(
            "POST", "/accounts/login/", urlencode(form), "application/x-www-form-urlencoded"
        )
        assert status == 302, f"signing in answered {status}"

    def send(self, method: str, path: str, body: str = "", kind: str = "application/json") -> tuple[int, str]:
        headers = {"Cookie": "; ".join(f"{key}={value}" for key, value in self.cookies.items())}
        if method != "GET":
            headers |= {"Content-Type": kind, "X-CSRFToken": self.cookies.get("csrftoken", "")}
        self.connection.request(method, path, body.encode() or None, headers)
        response = self.connection.getresponse()
        for cookie in response.headers.get_all("Set-Cookie") or []:
            key, _, value = cookie.split(";")[0].partition("=")
            self.cookies[key] = value
        return response.status, response.read().decode()

    def ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        status, text = self.send(method, path, "" if body is None else json.dumps(body))
        try:
            return status, json.loads(text)
        except ValueError:
            raise SystemExit(f"{method} {path} answered {status}: {text[:300]}") from None
