"""Checks of this machine: Python, packages, GPUs, disk, browser."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

from django.conf import settings

from gym.doctor.levels import BAD, OK, WARN, Finding
from gym.healthz import FREE_BYTES
from lmgym.text import count

NVIDIA = Path("/dev/nvidiactl")
"""Path that exists if NVIDIA's driver is loaded."""
LOW_BYTES = 2_000_000_000
UNREADABLE = "cannot be read by the user of this process"


def check() -> list[Finding]:
    return [*_python(), *_packages(), *_models(), *_gpus(), *_disk(), *_browser()]


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


def _models() -> list[Finding]:
    lines = []
    folder = settings.GYM_MODEL_DIR
    if folder.is_dir():
        readable = os.access(folder, os.R_OK | os.X_OK)
        lines.append(
            (OK, f"model directory {folder}") if readable else (BAD, f"model directory {folder} {UNREADABLE}")
        )
    elif folder.exists():
        lines.append((BAD, f"GYM_MODEL_DIR names {folder}, which is not a directory"))
    elif "GYM_MODEL_DIR" in os.environ:
        lines.append((BAD, f"GYM_MODEL_DIR names {folder}, which does not exist on this machine"))
    else:
        lines.append((OK, f"model directory {folder} (created when needed)"))
    if find_spec("huggingface_hub") is None:  # _packages reports that transformers is missing
        return lines
    from huggingface_hub import constants

    if constants.HF_HUB_OFFLINE or not settings.GYM_HUB_ALLOWED:
        lines.append((OK, "hub models: only those already downloaded (HF_HUB_OFFLINE or GYM_HUB_ALLOWED=0)"))
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
                    "NVIDIA_TF32_OVERRIDE=1: float32 models compute in TF32, no more precise than float16. Unset it.",
                )
            )
    elif lines:
        lines.append((WARN, f"GYM_DEVICE={device}: models run on the CPU, although there is a GPU"))
    elif not NVIDIA.exists():
        lines.append((OK, f"models run on {count(torch.get_num_threads(), 'CPU thread')}: no GPU found"))
    else:
        lines.append((WARN, f"models run on {count(torch.get_num_threads(), 'CPU thread')}: {_why_no_gpu()}"))
    return lines


def _why_no_gpu() -> str:
    import torch

    built = torch.version.cuda
    if built is None:
        return f"torch {torch.__version__} was built without CUDA and cannot use the NVIDIA GPU; install a CUDA build"
    if (shown := os.environ.get("CUDA_VISIBLE_DEVICES")) is not None:
        return f"CUDA_VISIBLE_DEVICES={shown} hides the NVIDIA GPU"
    return f"torch {torch.__version__} cannot use the NVIDIA GPU; its CUDA {built} may need a newer driver"


def _disk() -> list[Finding]:
    folder = settings.VAR_DIR
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        free = shutil.disk_usage(folder).free
    except OSError as error:
        return [(BAD, f"nothing can be stored in {folder} (GYM_VAR_DIR): {error.strerror or error}")]
    level = BAD if free < FREE_BYTES else WARN if free < LOW_BYTES else OK
    return [(level, f"{free / 1e9:.1f} GB free in {folder}" + ("" if level == OK else ": free some space"))]


def _browser() -> list[Finding]:
    if not (settings.BASE_DIR / "tests").is_dir():
        return []  # only a checkout has tests
    programs = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
    program = next((name for name in programs if shutil.which(name)), None)
    if program:
        return [(OK, f"{program} for browser tests")]
    return [(OK, "no Chromium; only browser tests need it (apt-get install chromium)")]
