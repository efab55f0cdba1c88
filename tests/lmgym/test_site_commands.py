"""`lmgym serve`, `worker`, `doctor`, `init`, `manage`: started, or one sentence about what is missing."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

from lmgym.cli import main, site


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Command lines of the processes that would have replaced this one."""
    calls: list[list[str]] = []
    monkeypatch.setattr(os, "execve", lambda program, command, environment: calls.append(command))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    return calls


def installed(folder: Path) -> Path:
    (folder / "gym").mkdir(parents=True)
    (folder / "gym" / "settings.py").touch()
    (folder / "manage.py").touch()
    return folder / "manage.py"


@pytest.mark.parametrize("name", ["serve", "web", "worker", "doctor", "init"])
def test_a_checkout_runs_its_own_manage_py(started, name):
    main([name, "--port", "1"])
    root = Path(site.__file__).parents[2]
    assert started == [[sys.executable, str(root / "manage.py"), name, "--port", "1"]]


def test_manage_passes_everything_on(started):
    main(["manage", "migrate", "--plan"])
    assert started[0][2:] == ["migrate", "--plan"]


def test_the_wheels_site_comes_before_a_project_in_its_parent_folder(started, monkeypatch, tmp_path):
    monkeypatch.setattr(site, "PACKAGE", tmp_path / "lmgym")
    installed(tmp_path)
    inside = installed(tmp_path / "lmgym" / "_site")
    main(["doctor"])
    assert started[0][1] == str(inside)


def test_an_installation_without_the_site_says_so(started, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(site, "PACKAGE", tmp_path / "lmgym")
    assert main(["serve"]) == 2
    assert "lmgym serve: this installation has no site" in capsys.readouterr().err
    assert not started


def test_without_django_it_names_the_install_line(started, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert main(["serve"]) == 2
    assert 'pip install "lm-gym[site,hf]"' in capsys.readouterr().err
    assert not started
