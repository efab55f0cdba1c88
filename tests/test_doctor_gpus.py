"""What `lmgym doctor` reports about GPUs."""

from __future__ import annotations

import sys
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest
import torch

from gym import doctor
from gym.doctor import BAD, OK, WARN, machine


class H100:
    name, total_memory = "NVIDIA H100 80GB HBM3", 85_000_000_000


@pytest.fixture
def gpus(monkeypatch, settings):
    """`gpus(count)` simulates a machine with this many GPUs."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.delenv("NVIDIA_TF32_OVERRIDE", raising=False)
    settings.GYM_DEVICE = "auto"

    def make(count: int) -> None:
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "get_device_name", lambda _device: H100.name)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda _device: H100)

    make(1)
    return make


def test_a_gpu_is_named_and_used_without_a_setting(db, gpus):
    assert machine._gpus() == [
        (OK, "GPU cuda:0: NVIDIA H100 80GB HBM3, 85 GB"),
        (
            OK,
            "models run on cuda:0 (NVIDIA H100 80GB HBM3) (GYM_DEVICE=auto), except those whose configuration names "
            "another device",
        ),
    ]
    assert set(machine._gpus()) <= set(doctor.findings())


def test_a_device_that_is_not_there_is_wrong(gpus, settings):
    settings.GYM_DEVICE = "cuda:3"
    level, said = machine._gpus()[-1]
    assert (level, said) == (
        BAD,
        'GYM_DEVICE=cuda:3: This machine has no device cuda:3. Use "auto" or "cpu".',
    )


def test_an_idle_gpu_is_mentioned(gpus, settings):
    settings.GYM_DEVICE = "cpu"
    assert machine._gpus()[-1] == (
        WARN,
        "GYM_DEVICE=cpu: models run on the CPU, although there is a GPU",
    )


def test_forced_tf32_is_wrong(gpus, monkeypatch):
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")
    assert machine._gpus()[-1][0] == BAD
    assert "TF32" in machine._gpus()[-1][1]
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "0")
    assert BAD not in dict(machine._gpus())


@pytest.mark.parametrize(
    ("there", "cuda", "visible", "why"),
    [
        (False, None, None, ": no GPU found"),
        (True, None, None, "was built without CUDA"),
        (True, "13.0", "", "CUDA_VISIBLE_DEVICES= hides the NVIDIA GPU"),
        (True, "13.0", None, "its CUDA 13.0 may need a newer driver"),
    ],
)
def test_why_there_is_no_gpu(gpus, monkeypatch, tmp_path, there, cuda, visible, why):
    gpus(0)
    (tmp_path / "nvidiactl").touch()
    monkeypatch.setattr(machine, "NVIDIA", tmp_path / "nvidiactl" if there else Path("/nowhere"))
    monkeypatch.setattr(torch.version, "cuda", cuda)
    if visible is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    ((level, said),) = machine._gpus()
    assert level == (WARN if there else OK), "a machine without a GPU needs no change"
    assert why in said


def test_without_torch_and_the_hub_it_names_the_install_line(db, monkeypatch):
    absent = ("torch", "transformers", "huggingface_hub")

    def version(name: str) -> str:
        if name in absent:
            raise PackageNotFoundError(name)
        return "1.0"

    monkeypatch.setattr(machine, "version", version)
    monkeypatch.setattr(machine, "find_spec", lambda name: None)
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    assert (BAD, 'torch is not installed: pip install "lm-gym[site,hf]"') in doctor.findings()
