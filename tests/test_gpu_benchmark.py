"""`python -m benchmarks.gpu`: its steps, how their results are read, and that it continues after a failed
step."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchmarks.gpu import __main__ as command
from benchmarks.gpu import environment, report, steps
from benchmarks.gpu.site import Visitor, plain
from benchmarks.gpu.steps import Step

FACTS = {
    "gpu": "NVIDIA H100",
    "memory_gb": 80,
    "date": "2026-11-24",
    "device": "cuda:0",
    "cuda": "13.0",
    "python": "3.12.3",
    "commit": "abc",
    "cores": 16,
    "packages": {"torch": "2.13.0"},
}


def program(code: str, name: str = "step", part: str = "fast", seconds: int = 60, kind: str = "json") -> Step:
    """Return a step that runs some code with the step's folder as `work`."""
    return Step(part, name, ("tests.lmgym.models.engine.run_code", "{work}", code), seconds, kind)


WRITE = "(work / 'result.json').write_text('{\"tokens/s\": 7}')"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Function that runs the command with these steps, and returns its exit code and results."""
    monkeypatch.setattr(environment, "facts", lambda _device, _env: FACTS)

    def go(*chosen: Step, **options: str) -> tuple[int, dict[str, Any]]:
        monkeypatch.setattr(steps, "steps", lambda _device, _small: list(chosen))
        words = [str(word) for pair in options.items() for word in (f"--{pair[0]}", pair[1])]
        monkeypatch.setattr(sys, "argv", ["gpu", "--out", str(tmp_path / "out"), *words])
        code = command.main()
        return code, json.loads((tmp_path / "out" / "results.json").read_text())["steps"]

    return go


def test_after_a_step_that_failed_the_others_run_and_the_table_says_so(run: Any, tmp_path: Path) -> None:
    bad = program("print('the reason'); sys.exit(3)", "bad")
    code, found = run(bad, program(WRITE, "good"))
    assert code == 1
    assert [one["state"] for one in found.values()] == ["failed", "passed"]
    assert "the reason" in found["fast: bad"]["tail"]
    assert found["fast: good"]["values"] == {"tokens/s": 7}
    said = (tmp_path / "out" / "report.md").read_text()
    assert "| fast | bad | FAILED |" in said
    assert "| tokens/s | 7 |" in said
    assert "the reason" in said


def test_what_passed_on_the_same_gpu_is_not_run_again(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    failing = program("sys.exit(1)", "one")
    assert run(failing)[1]["fast: one"]["state"] == "failed"
    assert run(program(WRITE, "one"))[1]["fast: one"]["state"] == "passed", "what failed is tried again"
    code, found = run(failing)
    assert (code, found["fast: one"]["state"]) == (0, "passed"), "it was kept"
    monkeypatch.setattr(environment, "facts", lambda _device, _env: FACTS | {"gpu": "NVIDIA H200"})
    assert run(failing)[1]["fast: one"]["state"] == "failed", "another GPU counts for itself"


def test_a_step_without_time_is_left_for_the_next_call(run: Any) -> None:
    assert run(program(WRITE), seconds="15")[1]["fast: step"]["state"] == "later"


def test_a_step_that_takes_too_long_is_ended_with_all_it_started(run: Any, tmp_path: Path) -> None:
    child = "import subprocess, time; own = subprocess.Popen(['sleep', '600']); "
    code = child + f"open({str(tmp_path / 'pid')!r}, 'w').write(str(own.pid)); time.sleep(600)"
    code_of_command, found = run(program(code, seconds=2))
    assert (code_of_command, found["fast: step"]["state"]) == (1, "timeout")
    pid, deadline = (tmp_path / "pid").read_text(), time.monotonic() + 10
    while (ended := state(pid) in ("gone", "Z")) is False and time.monotonic() < deadline:
        time.sleep(0.05)
    assert ended


def state(pid: str) -> str:
    """Return the state of a process from /proc, such as Z (ended, but not waited for); "gone" if there is no
    such process."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return "gone"


def test_a_peer_that_is_not_installed_is_skipped_with_the_reason(run: Any) -> None:
    step = Step("fast", "vllm", ("nothing",), 60, "json", "no-such-package")
    assert run(step)[1]["fast: vllm"] == {
        "part": "fast",
        "state": "skipped",
        "why": "no-such-package is not installed",
    }


def test_outcomes_and_recorded_values_of_tests_become_a_table(tmp_path: Path) -> None:
    (tmp_path / "tests.xml").write_text(
        '<testsuites><testsuite><testcase name="test_a[gpt2-float32]" time="1.25"><properties>'
        '<property name="largest" value="2e-05"/></properties></testcase>'
        '<testcase name="test_b" time="0.5"><failure message="assert 1 &lt; 0">long</failure></testcase>'
        '<testcase name="test_c" time="0"><skipped message="needs a GPU"/></testcase></testsuite></testsuites>'
    )
    found = steps.read_tests(tmp_path)
    assert [row["outcome"] for row in found["tests"]] == ["passed", "failure", "skipped"]
    lines = report._shown(found)
    assert lines[0] == "| test | outcome | seconds | largest | why |"
    assert lines[2] == "| test_a[gpt2-float32] | passed | 1.2 | 2e-05 |  |"
    (tmp_path / "tests.xml").write_text("<testsuites/>")
    with pytest.raises(ValueError, match="no test ran"):
        steps.read_tests(tmp_path)


def test_every_shape_and_part_has_its_steps() -> None:
    for small in (False, True):
        found = steps.steps("cpu" if small else "cuda:0", small)
        assert list(dict.fromkeys(step.part for step in found)) == list(steps.PARTS)
        assert len({step.key for step in found}) == len(found)
        assert all(step.seconds <= 300 for step in found)
    named = [step.name for step in found if step.part == "correct"]
    assert named == [*steps.SHAPES, "TF32"]


def test_wheels_of_what_is_there_are_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[list[str]] = []
    monkeypatch.setattr(environment.subprocess, "run", lambda words, **_named: ran.append(words))
    assert environment.install(None, tmp_path) == "no folder of wheels was passed"
    for name in ("django_filter-26.2-py3-none-any.whl", "no_such_package-1-py3-none-any.whl"):
        (tmp_path / name).touch()
    assert environment.install(tmp_path, tmp_path / "into") == f"1 wheels installed into {tmp_path / 'into'}"
    assert "no_such_package" in ran[0][-1]
    assert not any("django_filter" in word for word in ran[0])


def test_what_the_site_needs_is_known_without_what_must_be_there() -> None:
    found = set(environment._closure(environment.required()))
    assert {"django", "asgiref", "djangorestframework", "msgspec", "pytest-django"} <= found
    assert not found & {"torch", "numpy", "transformers", "vl-convert-python", "sympy"}


def test_pages_are_read_as_a_visitor_sees_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert plain("<b>float32</b> on\n cuda:0 &amp; more") == "float32 on cuda:0 & more"
    page = (
        '<h2 id="workers"></h2><thead><tr><th scope="col">Worker</th><th scope="col">Device</th></tr></thead>'
        "<tbody><tr><th scope='row'>host</th><td>cuda:0 (NVIDIA H100)</td></tr></tbody>"
    )
    monkeypatch.setattr(Visitor, "get", lambda _self, _path: page)
    assert Visitor("").device_of_a_worker() == "cuda:0 (NVIDIA H100)"
