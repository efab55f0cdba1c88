"""Published human data are imported by the site for suites of their stimuli. The files are not part of the repository;
without their folder these tests skip."""

from __future__ import annotations

import pytest

from gym.people.storage import load
from suites.options import SuiteOptions
from suites.services import freeze, import_suite
from tests.human_data.experiments import import_file
from tests.lmgym.people.published import HUMAN, garden_paths, needs_human_files, stories

pytestmark = [pytest.mark.published, pytest.mark.django_db, needs_human_files]


def imported(client, people, document, path, **answers):
    """Import a file for a suite of the document; return the data set and the text of its page."""
    suite = import_suite(document, SuiteOptions(visibility="public", language="en"), actor=people.alice)
    revision = freeze(suite, actor=people.alice)
    data = import_file(
        revision, people.alice, (HUMAN / path).read_bytes(), path.rpartition("/")[2], **answers
    )
    client.force_login(people.alice)
    return data, client.get(data.get_absolute_url()).content.decode()


def test_plausibility_norming_of_sap(client, people):
    data, page = imported(
        client, people, garden_paths(), "sap/plausibility_norming.pcibex.csv", items="sentence", others="out"
    )
    assert (data.n_participants, data.n_observations, data.scale) == (64, 755, [1, 7])
    observations, _ = load(data)
    ratings = {
        name: observations.value[observations.condition == k].mean()
        for k, name in enumerate(observations.conditions)
    }
    assert ratings == pytest.approx({"NPS_UAMB": 6.048, "NPZ_UAMB": 5.244, "MVRR_UAMB": 5.609}, abs=0.001)
    assert "64 participants" in page


def test_natural_stories(client, people):
    data, page = imported(client, people, stories(), "naturalstories/processed_wordinfo.tsv", measure="E")
    assert (data.n_observations, data.n_items, data.are_means) == (10_256, 10, True)
    assert [lag["lag"] for lag in data.result["lags"]] == [-2, -1, 0, 1, 2]
    assert "Profile of lags" in page
