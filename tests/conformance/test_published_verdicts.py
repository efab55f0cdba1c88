"""Verdicts against chance on the 17 published suites, with recorded outcomes of three models and generated
bits of a fourth: every page, file and API response has the same word, mark, p and interval."""

from __future__ import annotations

import numpy as np
import pytest

from gym.collections.services import create_collection, publish_collection
from gym.runs.models import SuiteRun
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from lmgym.suites.formats import read_suite
from lmgym.text.csv_writer import csv_text
from suites import services
from suites.models import SuiteRevision
from suites.options import SuiteOptions
from tests.people import make_people
from tests.runs import stated_verdicts as stated
from tests.runs.stated_verdicts import STANDING_OF

MODELS = ("1gram_bllip-lg", "gpt-2-pretrained_", "grnn_")


@pytest.fixture(scope="module")
def world(module_db, conformance):
    people = make_people()
    revisions = []
    for path in sorted((conformance / "suites").glob("*.json")):
        document = read_suite(path.read_bytes(), path.name)
        suite = services.import_suite(document, SuiteOptions(visibility="public"), actor=people.alice)
        revisions.append(services.freeze(suite, actor=people.alice))
    for name in MODELS:
        path = conformance / "paper" / f"syntaxgym_results_{name}.csv"
        keep(people.bob, path.name, path.read_bytes())
    keep(people.bob, "bits.csv", made_up_bits(revisions))
    for revision in revisions[:9]:
        services.set_tags(revision.suite, ["set"])
    collection = create_collection(
        actor=people.alice, slug="paper", title="Paper", description="", reference="", revisions=revisions[4:],
    )  # fmt: skip
    publish_collection(collection, actor=people.alice)
    runs = list(SuiteRun.objects.select_related("revision__suite", "model").order_by("pk"))
    for run in runs[::5]:
        run.n_words, run.n_unknown_words, run.unknown_words = 10, 4, ["dax", "wug", "blick", "fep"]
        run.save()
    return revisions, runs


def keep(actor, name: str, data: bytes) -> None:
    plan = plan_upload(ResultFile(name, data), actor=actor)
    assert plan.refused == []
    save_upload(plan, ModelChoice(visibility="public"), actor=actor)


def made_up_bits(revisions: list[SuiteRevision]) -> bytes:
    """Return a CSV of random bits for every region; on a third of the suites whole numbers, so that there are
    ties, and on a third the same number everywhere."""
    random = np.random.default_rng(0)
    header = (
        "suite", "model_name", "item_number", "condition_name", "region_number", "region_name", "content",
        "surprisal_bits",
    )  # fmt: skip
    rows = []
    for k, revision in enumerate(revisions):
        for sentence in revision.sentences.order_by("position"):
            place = revision.name, "made-up", sentence.item, sentence.condition
            for n, region in enumerate(zip(revision.region_names, sentence.contents, strict=True), start=1):
                bits = (3.0, float(random.integers(0, 2)), random.gamma(2.0))[k % 3]
                rows.append((*place, n, *region, bits))
    return csv_text(header, rows).encode()


CHOICES = (
    "", "&source=uploaded", "&common=1", "&q=gpt", "&layout=suites", "&suite=fgd_hierarchy,fgd_object,mvrr",
    "&weights=mvrr:3", "&sort=name",
)  # fmt: skip


@pytest.mark.long
def test_every_page_file_and_answer_gives_the_verdict_that_outcomes_give(client, db, world):
    revisions, runs = world
    assert (len(revisions), len(runs)) == (17, 68)
    expected = {of: one for run in runs for of, one in stated.expected_of(run).items()}
    sets = {
        "leaderboard of a tag": {row.pk for row in revisions[:9]},
        "leaderboard of a collection": {row.pk for row in revisions[4:]},
    }
    said = list(stated.everything(client, runs, tag="set", collection="paper", choices=CHOICES))
    wrong = stated.disagreements(said, expected, stated.families(runs, expected, sets))
    assert not wrong, "\n".join(wrong[:60])
    assert {one.standing for one in said} == set(STANDING_OF.values())
