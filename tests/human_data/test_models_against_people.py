"""Compare models with people on the site."""

from __future__ import annotations

from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.people import services
from gym.people.comparing import rows_in
from gym.people.models import HumanData
from tests.human_data.experiments import SLOPE, finished_run, import_file, make_revision
from tests.once import once_a_module


def make_world(people):
    """Human data of a suite, two runs on it, and a comparison of these."""
    revision = make_revision(people.alice)
    runs = [finished_run(revision, people.alice), finished_run(revision, people.alice, "other", seed=6)]
    data = import_file(revision, people.alice)
    return data, runs, compare(people, data, runs)


def compare(people, data, runs):
    comparison = services.start_comparison(data, runs, actor=people.alice)
    run_pending()
    comparison.refresh_from_db()
    assert comparison.is_done, comparison.job.error
    return comparison


built, people, world = once_a_module(make_world)


def test_the_slope_of_the_simulated_readers_is_recovered(world):
    slopes = {row.model: row for row in rows_in(world[2].result, "coefficients") if row.term == "surprisal"}
    assert slopes["reader"].low < SLOPE < slopes["reader"].high


def test_the_model_that_people_were_simulated_with_ranks_first(client, people, world):
    comparison = world[2]
    assert rows_in(comparison.result, "gains")[0].model == "reader"
    client.force_login(people.alice)
    page = client.get(comparison.get_absolute_url())
    assert page.status_code == 200
    assert "ms per bit" in " ".join(page.content.decode().split())


def test_downloads_of_a_comparison(client, people, world, settings):
    comparison = world[2]
    client.force_login(people.alice)
    slug, key = comparison.human_data.slug, comparison.key

    def text(what, form):
        response = client.get(reverse("human-data-models-download", args=[slug, key, what, form]))
        assert response.status_code == 200
        return b"".join(response.streaming_content if response.streaming else [response.content])

    assert text("gains", "csv").startswith(b"model,rank,")
    assert b"surprisal_1" in text("observations", "csv")
    assert text("effects", "parquet").startswith(b"PAR1")
    assert b"lmer" in text("lme4", "R")
    assert b'"gains"' in text("all", "json")
    settings.GYM_EXPORT_MAX_ROWS = 2 * comparison.human_data.n_observations - 1
    address = reverse("human-data-models-download", args=[slug, key, "observations", "csv"])
    assert client.get(address).status_code == 413
    assert client.get(f"/api/v1/human-data/{slug}/comparisons/{key}/observations/csv/").status_code == 413


def test_a_comparison_with_a_private_model_is_hidden_from_others(client, people, world):
    data, runs, comparison = world
    services.set_visibility(data, "public", actor=people.alice, confirmed=True)
    client.force_login(people.charlie)
    assert client.get(comparison.get_absolute_url()).status_code == 200
    runs[1].model.visibility = "private"
    runs[1].model.save()
    assert client.get(comparison.get_absolute_url()).status_code == 404
    runs[1].delete()  # what was private stays hidden
    assert client.get(comparison.get_absolute_url()).status_code == 404


def test_who_started_a_comparison_loses_it_when_a_model_is_made_private_but_not_when_a_run_is_deleted(
    client, people, world
):
    data, runs, _ = world
    services.set_visibility(data, "public", actor=people.alice, confirmed=True)
    comparison = services.start_comparison(data, runs, actor=people.charlie)
    client.force_login(people.charlie)
    runs[1].model.visibility = "private"
    runs[1].model.save()
    assert client.get(comparison.get_absolute_url()).status_code == 404
    runs[1].model.visibility = "public"
    runs[1].model.save()
    runs[1].delete()
    assert client.get(comparison.get_absolute_url()).status_code == 200


def test_changed_exclusions_are_applied_and_counted(client, people, world):
    data, runs, _ = world
    client.force_login(people.alice)
    client.post(
        data.get_absolute_url(),
        {"maximum": 330, "trimming": "none", "within": "all"},
    )
    run_pending("short")
    data.refresh_from_db()
    (dropped,) = data.result["dropped"]
    assert dropped["label"] == "above 330 ms"
    assert data.result["n"] == data.n_observations - dropped["n"] < data.n_observations
    assert "above 330 ms" in client.get(data.get_absolute_url()).content.decode()
    assert compare(people, data, runs).result["dropped"] == data.result["dropped"]


def test_wrong_exclusions_are_shown_again_with_the_error(client, people, world):
    data, *_ = world
    client.force_login(people.alice)
    typed = {"minimum": 500, "maximum": 330, "trimming": "none", "within": "all"}
    page = client.post(data.get_absolute_url(), typed)
    assert page.status_code == 400
    assert "Minimum (500) must be below maximum (330)." in page.content.decode()
    assert 'value="330"' in page.content.decode()


def test_pages_of_a_data_set(client, people, world):
    data, *_ = world
    client.force_login(people.alice)
    for address in (
        data.get_absolute_url(),
        reverse("human-data-item", args=[data.slug, 1]),
        reverse("human-data-models", args=[data.slug]),
        reverse("human-data-edit", args=[data.slug]),
        reverse("human-data-visibility", args=[data.slug]),
        reverse("human-data-people", args=[data.slug]),
        reverse("human-data-list"),
        reverse("human-data-download", args=[data.slug, "csv"]),
        reverse("human-data-download", args=[data.slug, "bib"]),
    ):
        assert client.get(address).status_code == 200, address


def test_the_suite_page_lists_people_with_the_models(client, people, world):
    data, *_ = world
    client.force_login(people.alice)
    page = " ".join(client.get(data.revision.get_absolute_url()).content.decode().split())
    assert "People: Readers" in page
    assert "Add human data" in page
    client.force_login(people.charlie)
    assert "Readers" not in client.get(data.revision.get_absolute_url()).content.decode()


def test_figures_are_files(client, people, world):
    comparison = world[2]
    client.force_login(people.alice)
    queries = {
        "people-means": f"data={comparison.human_data.slug}",
        "people-gains": f"comparison={comparison.key}",
        "people-effects": f"comparison={comparison.key}&effect=0",
    }
    for kind, query in queries.items():
        assert client.get(f"/figures/{kind}.svg?{query}").status_code == 200
    client.force_login(people.charlie)
    for kind, query in queries.items():
        assert client.get(f"/figures/{kind}.svg?{query}").status_code == 404


def test_public_data_are_a_ceiling_on_the_leaderboard(client, people, world):
    data, *_ = world
    assert "People" not in client.get("/leaderboard/").content.decode()
    services.set_visibility(data, "public", actor=people.alice, confirmed=True)
    page = client.get("/leaderboard/")
    (ceiling,) = page.context["ceilings"]
    assert ceiling.rate == data.result["scores"]["each"]["rate"]
    assert data.get_absolute_url() in page.content.decode()


def test_simulated_data_are_no_ceiling_and_say_so(client, people, world):
    data, *_ = world
    services.set_visibility(data, "public", actor=people.alice, confirmed=True)
    HumanData.objects.update(is_simulated=True)
    assert client.get("/leaderboard/").context["ceilings"] == []
    assert "Simulated people: Readers" in client.get(data.revision.get_absolute_url()).content.decode()
