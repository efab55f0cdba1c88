"""Checks of this machine, for `lmgym doctor` and the button on the staff page.

Never called in the web process: the check for a GPU imports torch.
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.utils import DatabaseError

from gym import env, secrets
from gym.jobs.selectors import queue_summary, workers
from gym.reachability import is_local_only
from gym.site_command import database_problem
from lmgym.net.rules import parse_rule
from lmgym.text import count

OK, WARN, BAD = "ok  ", "note", "BAD "
NVIDIA = Path("/dev/nvidiactl")
"""Path that exists if NVIDIA's driver is loaded."""
PROXY_HELP = "docs/deploy.md, Behind a TLS proxy"
Finding = tuple[str, str]


def findings() -> list[Finding]:
    """Run every check and return the results as (level, message); the level is OK, WARN or BAD."""
    return [
        *_python(),
        *_packages(),
        *_database(),
        *_secrets(),
        *_queue(),
        *_models(),
        *_gpus(),
        *_outbound(),
        *_disk(),
        *_safety(),
        *_proxy(),
        *_browser(),
    ]


def _python() -> list[Finding]:
    good = sys.version_info >= (3, 11)
    return [
        (OK if good else BAD, f"Python {platform.python_version()}" + ("" if good else "; 3.11 is needed"))
    ]


def _packages() -> list[Finding]:
    needed = [
        "Django",
        "djangorestframework",
        "dramatiq",
        "torch",
        "transformers",
        "tokenizers",
        "safetensors",
        "scipy",
    ]
    lines = []
    for name in needed:
        try:
            lines.append((OK, f"{name} {version(name)}"))
        except PackageNotFoundError:
            lines.append((BAD, f'{name} is not installed: pip install "lm-gym[site,hf]"'))
    return lines


def _database() -> list[Finding]:
    if problem := database_problem():
        return [(BAD, problem)]
    vendor = connection.vendor
    lines = [(OK, f"{vendor} responds, all migrations are applied")]
    if vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA journal_mode")
            mode = cursor.fetchone()[0]
        if mode != "wal":
            lines.append(
                (WARN, f"SQLite journal is {mode}, not wal: is the file on a network disk? Move GYM_VAR_DIR.")
            )
    return lines


def _secrets() -> list[Finding]:
    """Check that all stored secrets can be decrypted, e.g. after restoring a backup without the key."""
    try:
        rows = list(secrets.stored())
    except DatabaseError as error:
        return [(BAD, f"stored secrets cannot be read: {error}")]
    lost = [row for row, readable in rows if not readable]
    if not lost:
        return [(OK, f"{count(len(rows), 'row')} with stored secrets, all readable")] if rows else []
    kinds = ", ".join(sorted({f"{row._meta.verbose_name} {row.pk}" for row in lost})[:5])
    return [
        (
            BAD,
            f"the secrets of {len(lost)} of {count(len(rows), 'row')} cannot be read ({kinds}): GYM_SECRETS_KEY (if "
            "unset, GYM_SECRET_KEY) has changed since they were stored. Set the old key, or enter the secrets again.",
        )
    ]


def _queue() -> list[Finding]:
    broker = settings.GYM_BROKER_URL.split("@")[-1] or "database://"
    lines = [(OK, f"broker {broker}")]
    try:
        alive = [worker for worker in workers() if worker.alive]
        stuck = [queue for queue in queue_summary() if queue.is_stuck]
    except DatabaseError as error:
        return [*lines, (BAD, f"the job tables cannot be read: {error}")]
    if alive:
        lines.append((OK, f"live workers: {len(alive)}"))
    else:
        lines.append((WARN, "no worker is alive: `make run` or `lmgym worker` starts one"))
    lines += [
        (BAD, f"no worker serves queue {queue.name} ({count(queue.queued, 'waiting job')})")
        for queue in stuck
    ]
    return lines


def _models() -> list[Finding]:
    lines = []
    folder = settings.GYM_MODEL_DIR
    lines.append(
        (OK, f"model directory {folder}")
        if folder.is_dir()
        else (WARN, f"model directory {folder} does not exist yet")
    )
    if find_spec("huggingface_hub") is None:  # _packages reports that transformers is missing
        return lines
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or not settings.GYM_HUB_ALLOWED:
        lines.append(
            (WARN, "Hub models: only those already downloaded (HF_HUB_OFFLINE or GYM_HUB_ALLOWED=0)")
        )
    return lines


def _gpus() -> list[Finding]:
    """List GPUs and the one in use, and warn about settings that change numbers or leave a GPU idle."""
    if find_spec("torch") is None:  # _packages reports that torch is missing
        return []
    import torch

    from lmgym.models.backends import BackendError
    from lmgym.models.backends.loading import describe_device

    device = settings.GYM_DEVICE
    lines = []
    for number in range(torch.cuda.device_count()):
        about = torch.cuda.get_device_properties(number)
        lines.append((OK, f"GPU cuda:{number}: {about.name}, {about.total_memory / 1e9:.0f} GB"))
    try:
        place = describe_device(device)
    except BackendError as error:
        return [*lines, (BAD, f"GYM_DEVICE={device}: {error}")]
    if place.startswith("cuda"):
        lines.append(
            (
                OK,
                f"models run on {place} (GYM_DEVICE={device}), except those whose configuration names another device",
            )
        )
        if os.environ.get("NVIDIA_TF32_OVERRIDE") == "1":
            lines.append(
                (
                    BAD,
                    "NVIDIA_TF32_OVERRIDE=1: float32 models compute in TF32, as inaccurate as float16. Unset it.",
                )
            )
    elif lines:
        lines.append((WARN, f"GYM_DEVICE={device}: models run on the CPU, although there is a GPU"))
    else:
        lines.append((WARN, f"models run on {count(torch.get_num_threads(), 'CPU thread')}: {_why_no_gpu()}"))
    return lines


def _why_no_gpu() -> str:
    import torch

    if not NVIDIA.exists():
        return "no GPU found"
    built = torch.version.cuda
    if built is None:
        return f"torch {torch.__version__} was built without CUDA and cannot use the NVIDIA GPU; install a CUDA build"
    if (shown := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return f"CUDA_VISIBLE_DEVICES={shown} hides the NVIDIA GPU"
    return f"torch {torch.__version__} cannot use the NVIDIA GPU; its CUDA {built} may need a newer driver"


def _outbound() -> list[Finding]:
    lines = []
    for entry in settings.GYM_NET_ALLOW:
        try:
            parse_rule(entry)
        except ValueError as error:
            lines.append((BAD, f"GYM_NET_ALLOW: {error}"))
    allowed = ", ".join(settings.GYM_NET_ALLOW) or "nowhere"
    lines.append((OK, f"requests may go to: {allowed}"))
    missing = [name for name, argv in settings.GYM_LMZOO_COMMANDS.items() if shutil.which(argv[0]) is None]
    lines += [
        (BAD, f"GYM_LMZOO_COMMANDS: the program for {name} is not installed on this machine")
        for name in missing
    ]
    return lines


def _disk() -> list[Finding]:
    settings.VAR_DIR.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(settings.VAR_DIR).free / 1e9
    return [(OK if free > 2 else WARN, f"{free:.0f} GB free in {settings.VAR_DIR}")]


def _is_local() -> bool:
    """Return True if only this machine can reach the site."""
    return is_local_only(settings.ALLOWED_HOSTS, settings.GYM_LISTENS_ON)


def _proxy() -> list[Finding]:
    """Check the settings for a proxy that terminates TLS; inconsistent ones make sign-in fail."""
    behind, https = settings.GYM_BEHIND_PROXY, settings.HTTPS
    if _is_local() and not https:
        return []
    if https and not behind:
        wrong = "GYM_HTTPS=1 without GYM_BEHIND_PROXY=1: behind a proxy every page redirects to itself"
        return [(BAD, f"{wrong}. Set both ({PROXY_HELP}).")]
    if behind and not https:
        wrong = "GYM_BEHIND_PROXY=1 without GYM_HTTPS=1: passwords and cookies may travel unencrypted"
        return [(WARN, f"{wrong}. Set both if the proxy terminates TLS ({PROXY_HELP}).")]
    if behind:
        return [
            (OK, "TLS is terminated by a proxy, which must send Host, X-Forwarded-Proto and X-Forwarded-For")
        ]
    if env.text("GYM_HTTPS"):
        return [(WARN, "others can reach this site without TLS (GYM_HTTPS=0): passwords travel unencrypted")]
    wrong = "others can reach this site, but the proxy settings are missing: sign-in fails behind a proxy with TLS"
    return [
        (BAD, f"{wrong}. Set GYM_BEHIND_PROXY=1 and GYM_HTTPS=1, or GYM_HTTPS=0 without TLS ({PROXY_HELP}).")
    ]


def _safety() -> list[Finding]:
    lines = []
    local = _is_local()
    if settings.DEBUG and not local:
        lines.append((BAD, "others can reach this site and GYM_DEBUG is on"))
    if "console" in settings.EMAIL_BACKEND and not local:
        lines.append((WARN, "e-mails (forgotten passwords) go to the console; set GYM_EMAIL_URL"))
    return lines or [(OK, "the secret key and debug settings are safe for this site")]


def _browser() -> list[Finding]:
    programs = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next((name for name in programs if shutil.which(name)), None)
    if program:
        return [(OK, f"{program} for browser tests")]
    return [(WARN, "no Chromium: browser tests will skip (apt-get install chromium)")]
