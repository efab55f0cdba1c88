"""Checkpoints of a Hub model: chosen by name and pattern among the branches and tags that the Hub lists."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from lmgym.models.backends import BackendError, downloads, hub_listing
from lmgym.models.backends.checkpoints import MAX_CHECKPOINTS, choose, step_in
from tests.lmgym.models.hub_server import hub_server, use_hub

PYTHIA = {
    name: f"{k:040x}" for k, name in enumerate(["main", "step0", "step1", "step512", "step1000", "step2000"])
}
OLMO = {
    name: f"{k:040x}"
    for k, name in enumerate(
        ["main", "stage1-step1000-tokens5B", "stage1-step2000-tokens9B", "stage2-step1000-tokens3B"]
    )
}


def revisions(text: str, refs: dict[str, str] = PYTHIA) -> list[str]:
    return [checkpoint.revision for checkpoint in choose(text, refs, "org/m")]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("step1000", ["step1000"]),
        ("step2000, step1000\nstep1000", ["step1000", "step2000"]),
        ("step*", ["step0", "step1", "step512", "step1000", "step2000"]),
        ("step*000", ["step1000", "step2000"]),
        ("step{1000..2000..1000}", ["step1000", "step2000"]),
        ("step{0..1}", ["step0", "step1"]),
        ("st*p*00*, step0", ["step0", "step1000", "step2000"]),
    ],
)
def test_names_patterns_and_ranges_in_order_of_steps(text: str, expected: list[str]) -> None:
    assert revisions(text) == expected


def test_each_checkpoint_has_the_step_of_its_name_and_the_commit_of_the_list() -> None:
    assert choose("stage1-step{1000..2000..1000}-tokens*", OLMO, "org/m") == [
        ("stage1-step1000-tokens5B", 1000, OLMO["stage1-step1000-tokens5B"]),
        ("stage1-step2000-tokens9B", 2000, OLMO["stage1-step2000-tokens9B"]),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "step1000, step3000",
            r"no branch or tag step3000\. Branches and tags with a step: 5, such as step0, step1, step512",
        ),
        ("step{1..9}", r"no branch or tag step2, step3, step4 and 5 more"),
        ("rev*", r"no branch or tag rev\*"),
        ("main", "main of org/m names no training step"),
        ("", "No checkpoint is named"),
        ("step{9..1}", r"range \{9\.\.1\} has no numbers"),
        ("step{1..9..0}", "has no numbers"),
        ("step{1..1000000000}", f"more than {MAX_CHECKPOINTS} numbers"),
        ("step{1-9}", "no valid range"),
        ("../step1", r"no branch or tag \.\./step1"),
        ("step?", r"'step\?' is not a branch, a tag or a pattern"),
    ],
)
def test_what_cannot_be_chosen_is_named(text: str, message: str) -> None:
    with pytest.raises(BackendError, match=message):
        revisions(text)


def test_two_revisions_of_one_step_are_refused() -> None:
    with pytest.raises(
        BackendError, match=r"stage1-step1000-tokens5B and stage2-step1000-tokens3B .* both name step 1000"
    ):
        revisions("*step*", OLMO)


def test_a_series_has_a_limit() -> None:
    refs = {f"step{k}": "0" * 40 for k in range(MAX_CHECKPOINTS + 1)}
    with pytest.raises(BackendError, match=f"These are {MAX_CHECKPOINTS + 1} checkpoints"):
        revisions("step*", refs)


@pytest.mark.parametrize(
    ("name", "step"),
    [("step1000", 1000), ("Step-5k", 5000), ("steps_2m", 2_000_000), ("checkpoint-500", 500), ("300", 300),
     ("run-1-2", None), ("main", None), ("fp16", None), ("seed-3-step40", 40)],
)  # fmt: skip
def test_the_step_in_a_name(name: str, step: int | None) -> None:
    assert step_in(name) == step


def test_the_hub_lists_branches_and_tags(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path)
        there.add("org/m", {"config.json": b"{}"})
        there.repos["org/m"].commit({"config.json": b"[]"}, "step1000")
        there.repos["org/m"].commit({"config.json": b"1"}, "step2000")
        there.repos["org/m"].tags = {"step2000"}
        assert hub_listing.refs("org/m", seconds=5) == there.repos["org/m"].refs
        there.fail("/refs", content=b'{"branches": 3}')
        with pytest.raises(BackendError, match="is invalid"):
            hub_listing.refs("org/m", seconds=5)
        with pytest.raises(BackendError, match="no public model"):
            hub_listing.refs("org/other", seconds=5)


def test_a_slow_hub_leaves_sizes_unknown_in_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with hub_server() as there:
        use_hub(monkeypatch, there.url, tmp_path)
        there.add("org/m", {"config.json": b"{}", "model.safetensors": b"x"})
        there.fail("/revision/", times=99, bytes_per_second=10)
        began = time.monotonic()
        configs = [{"repo": "org/m", "revision": "main"}] * 20
        found = downloads.downloads_of(configs, hub_allowed=True, token=None, seconds=0.5)
        assert time.monotonic() - began < 3
        assert {download.unknown for download in found} == {
            "The Hub took too long to list the model's files."
        }
