"""Import of the six published outcome files on the available published suites.

Neither files nor suites are part of the repository; without the conformance folder these tests skip.
"""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from gym.runs.read.leaderboard.build import leaderboard
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.rules import FIRST
from lmgym.suites.formats import read_suite
from suites import services
from suites.options import SuiteOptions
from tests.factories import make_suite
from tests.people import People, make_people

FILES = (
    "1gram_bllip-lg", "gpt-2-pretrained_", "gpt-2-xl-pretrained_", "grnn_", "rnng_bllip-lg", "vanilla_bllip-lg"
)  # fmt: skip
GPT_2 = {  # Hu et al. 2020, as reprinted with the later metric
    "center_embed": 0.9286, "cleft": 1.0, "cleft_modifier": 0.925, "fgd_object": 0.9583, "fgd_hierarchy": 0.625
}  # fmt: skip
LEFT_OUT = {"fgd-embed3", "fgd-embed4", "nn-nv-rpl"}
"""Suites that the paper's data contain but its means leave out."""


@pytest.fixture(scope="module")
def built(module_db, conformance) -> tuple[People, set[str]]:
    """The people and the names of all available published suites, which are frozen suites of alice."""
    people = make_people()
    for path in sorted((conformance / "suites").glob("*.json")):
        suite = services.import_suite(
            read_suite(path.read_bytes(), path.name), SuiteOptions(visibility="public"), actor=people.alice
        )
        services.freeze(suite, actor=people.alice)
    return people, {path.stem for path in (conformance / "suites").glob("*.json")}


@pytest.fixture
def people(built, db) -> People:
    return built[0]


@pytest.fixture
def published(built, db) -> set[str]:
    return built[1]


def items_of(path: Path) -> dict[str, int]:
    """Return the number of items by suite."""
    with path.open(newline="") as file:
        return Counter(row["suite"] for row in csv.DictReader(file))


def by_hand(path: Path) -> dict[str, dict[str, float]]:
    """Return {model: {suite: share of True}}, computed without our code."""
    counts: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            counts[row["model"]][row["suite"]].append(row["correct"] == "True")
    return {
        model: {suite: sum(values) / len(values) for suite, values in suites.items()}
        for model, suites in counts.items()
    }


def test_the_published_files_give_the_accuracies_that_counting_gives(people, conformance, published):
    expected: dict[str, dict[str, float]] = {}
    for name in FILES:
        path = conformance / "paper" / f"syntaxgym_results_{name}.csv"
        expected |= by_hand(path)
        plan = plan_upload(ResultFile(path.name, path.read_bytes()), actor=people.bob)
        assert plan.refused == []
        assert len(plan.unmatched) == 34 - len(published)
        save_upload(plan, ModelChoice(visibility="public"), actor=people.bob)
    assert len(expected) == 10  # two of the six files have three seeds each
    board = leaderboard(people.nobody, Options(rule=FIRST))  # the paper's scoring rule
    slugs = [column.suite.slug for column in board.columns]
    assert set(slugs) == published
    assert {row.name for row in board.rows} == set(expected)
    for row in board.rows:
        by_suite = expected[row.name]
        for slug, cell in zip(slugs, row.cells, strict=True):
            assert cell is not None
            assert cell.rate == pytest.approx(by_suite[slug], abs=1e-12)
            assert cell.uploaded
        mean = sum(by_suite[suite] for suite in published) / len(published)
        assert row.score is not None
        assert row.score.rate == pytest.approx(mean, abs=1e-12)
    gpt_2 = next(row for row in board.rows if row.name == "gpt-2-pretrained__0")
    for slug, cell in zip(slugs, gpt_2.cells, strict=True):
        if slug in GPT_2:
            assert cell is not None
            assert cell.rate == pytest.approx(GPT_2[slug], abs=5e-5)


def paper(conformance: Path, name: str) -> Path:
    return conformance / "paper" / f"syntaxgym_results_{name}.csv"


@pytest.mark.parametrize(
    ("name", "mean"), [("gpt-2-xl-pretrained_", 0.8424), ("gpt-2-pretrained_", 0.7842), ("grnn_", 0.5514)]
)
def test_with_all_suites_the_board_shows_the_published_means(people, conformance, published, name, mean):
    """Missing suites are replaced by suites of the same name and number of items; outcomes depend on nothing
    else.
    """
    path = paper(conformance, name)
    for suite, items in items_of(path).items():
        if suite not in published:
            make_suite(people.alice, name=suite, items=items)
    plan = plan_upload(ResultFile(path.name, path.read_bytes()), actor=people.bob)
    assert (plan.refused, plan.unmatched, len(plan.good)) == ([], [], 34)
    save_upload(plan, ModelChoice(visibility="public"), actor=people.bob)
    counted = tuple(suite for suite in items_of(path) if suite not in LEFT_OUT)
    [row] = leaderboard(people.nobody, Options(rule=FIRST, suites=counted)).rows
    assert row.score is not None
    assert row.score.rate == pytest.approx(mean, abs=5e-5)


def test_items_of_the_published_files_are_counted_from_0(people, conformance, published):
    path = conformance / "paper" / "syntaxgym_results_gpt-2-pretrained_.csv"
    plan = plan_upload(ResultFile(path.name, path.read_bytes()), actor=people.bob)
    assert {run.applied.shift for run in plan.good} == {1}
    hierarchy = next(run for run in plan.good if run.revision.suite.slug == "fgd_hierarchy")
    assert hierarchy.applied.missing


@pytest.mark.parametrize(
    ("name", "published"),
    [
        ("gpt-2-pretrained_", 0.784),
        ("gpt-2-xl-pretrained_", 0.842),
        ("grnn_", 0.551),
        ("rnng_bllip-lg", 0.583),
        ("vanilla_bllip-lg", 0.375),
    ],
)
def test_means_over_the_papers_suites_equal_the_published_means(conformance, name, published):
    """The published means are over the 31 suites that the paper counts (without LEFT_OUT), and averaged over
    seeds. The paper has no mean for the 1-gram model.
    """
    models = by_hand(conformance / "paper" / f"syntaxgym_results_{name}.csv")
    means = [
        sum(rate for suite, rate in rates.items() if suite not in LEFT_OUT) / (len(rates) - len(LEFT_OUT))
        for rates in models.values()
    ]
    assert sum(means) / len(means) == pytest.approx(published, abs=6e-4)
