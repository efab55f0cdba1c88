"""Check the device that workers, runs and `doctor` report on a site started without settings, as by `make
run`.

A step of `benchmarks.gpu`: python -m benchmarks.gpu.site --device cuda:0 --to FILE.
"""

from __future__ import annotations

import argparse
import http.cookiejar
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from html import unescape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
MODEL = "demo-gpt2"
START_SECONDS = 150
RUN_SECONDS = 130
SETTINGS = ("GYM_DEVICE", "GYM_MODEL_DIR", "GYM_DATABASE_URL", "GYM_BROKER_URL", "DJANGO_SETTINGS_MODULE")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.site")
    parser.add_argument("--device", default="cuda:0", help="the device that must be named everywhere")
    parser.add_argument("--to", type=Path, required=True, help="the JSON file to write")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        values = look(Path(folder), options.device)
    options.to.write_text(json.dumps(values, indent=1) + "\n")
    print(json.dumps(values, indent=1))
    sys.exit(int(not values["all name the device"]))


def look(folder: Path, device: str) -> dict[str, Any]:
    env = {name: value for name, value in os.environ.items() if name not in SETTINGS}
    env |= {"GYM_VAR_DIR": str(folder)}
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = (folder / "serve.log").open("wb")
    command = [sys.executable, "manage.py", "serve", "--demo", "--port", str(port)]
    serve = subprocess.Popen(command, env=env, cwd=ROOT, stdout=log, stderr=log)
    try:
        visitor = Visitor(f"http://127.0.0.1:{port}")
        values: dict[str, Any] = {
            "start, s": until(START_SECONDS, visitor.answers, "serve does not answer", folder)
        }
        visitor.sign_in("alice", "demo-alice")
        at_once = visitor.device_of_a_worker()
        seconds = until(RUN_SECONDS, lambda: visitor.done_run(), "no run of the demo is done", folder)
        run = visitor.done_run()
        doctor = subprocess.run(
            [sys.executable, "manage.py", "doctor"],
            env=env,
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        values |= {
            "first run done after, s": seconds,
            "queue page, before a model was loaded": at_once,
            "queue page": visitor.device_of_a_worker(),
            "run page": visitor.numbers_of(run),
            "doctor": "; ".join(re.findall(r"GPU .*|models run on .*", doctor.stdout))
            or doctor.stdout[-500:],
        }
        named = [values["queue page"], values["run page"], values["doctor"]]
        return values | {
            "all name the device": all(re.search(rf"\b{device}\b", said, re.I) for said in named)
        }
    finally:
        serve.terminate()
        try:
            serve.wait(30)
        except subprocess.TimeoutExpired:
            serve.kill()
        log.close()


def until(seconds: float, happened: Callable[[], Any], trouble: str, folder: Path) -> float:
    """Wait for an event, and return how many seconds it took."""
    started = time.monotonic()
    while not happened():
        if time.monotonic() - started > seconds:
            log_end = (folder / "serve.log").read_text(errors="replace")[-1500:]
            raise SystemExit(f"{trouble} after {seconds} s:\n{log_end}")
        time.sleep(0.5)
    return round(time.monotonic() - started, 1)


class Visitor:
    """A client with a cookie jar."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.cookies = http.cookiejar.CookieJar()
        self.browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path: str, form: dict[str, str] | None = None) -> str:
        body = None if form is None else urllib.parse.urlencode(form).encode()
        with self.browser.open(urllib.request.Request(self.address + path, body), timeout=30) as answer:
            text: str = answer.read().decode()
        return text

    def answers(self) -> bool:
        try:
            return bool(self.get("/healthz"))
        except OSError:
            return False

    def sign_in(self, name: str, password: str) -> None:
        page = self.get("/accounts/login/")
        (token,) = set(re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page))
        form = {"username": name, "password": password, "csrfmiddlewaretoken": token}
        self.get("/accounts/login/", form)

    def device_of_a_worker(self) -> str:
        """Return the column "Device" of the first worker on the queue page."""
        page = self.get("/queue/")
        table = page[page.index('id="workers"') :]
        titles = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table)
        row = re.search(r"<tbody><tr>(.*?)</tr>", table, re.S)
        cells = re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row[1], re.S) if row else []
        return plain(cells[titles.index("Device")]) if cells else "no worker"

    def done_run(self) -> str:
        """Return the page of a finished run of the demo's transformer; "" if there is none yet."""
        runs = json.loads(self.get(f"/api/v1/runs/?model={MODEL}&state=done"))["results"]
        return f"/runs/{runs[0]['id']}/" if runs else ""

    def numbers_of(self, run: str) -> str:
        """Return the device and the number format shown on the run's page."""
        page = self.get(run)
        match = re.search(r"<dt>Numbers</dt><dd>(.*?)</dd>", page, re.S)
        return plain(match[1]) if match else "nothing"


def plain(html: str) -> str:
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]*>", "", html))).strip()


if __name__ == "__main__":
    main()
