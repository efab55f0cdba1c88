"""When a suite gets a secret address, former addresses of its runs lead only people with a role on the suite
to the new ones.
"""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.jobs.testing import run_pending
from gym.runs.models import DeletedRun, FormerRunKey
from gym.runs.work import services
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from suites import services as suites
from tests.factories import make_model, make_revision

PATHS = [
    "/runs/{key}/",
    "/runs/{key}/progress/",
    "/runs/{key}/items/1/",
    "/runs/{key}/chart.svg",
    "/runs/{key}/download/json/",
    "/runs/{key}/download/outcomes.csv/",
    "/exports/runs/{key}/evaluated.json",
    "/exports/outcomes.csv?run={key}",
    "/figures/run-regions.svg?run={key}",
    "/figures/run-margins.svg?run={key}&prediction=0",
    "/figures/run-item.svg?run={key}&item=1",
    "/api/v1/runs/{key}/",
    "/api/v1/runs/{key}/results/",
    "/api/v1/runs/{key}/results/predictions/",
    "/api/v1/runs/{key}/results/items/",
    "/api/v1/runs/{key}/results/regions/",
    "/api/v1/runs/{key}/results/tokens/",
    "/api/v1/runs/{key}/evaluated/",
]


@pytest.fixture
def make_run(people):
    """Function that creates a finished run by charlie (by dora, if private) on alice's suite, which bob may
    edit and dora view.
    """

    def make(visibility: str = "unlisted"):
        revision = make_revision(people.alice, name="blind", visibility=visibility, collaborator=people.bob)
        revision.suite.collaborations.create(user=people.dora, role="view")
        asker = people.dora if visibility == "private" else people.charlie
        run = services.queue_run(revision, make_model(people.alice), actor=asker)
        run_pending()
        run.refresh_from_db()
        assert run.is_done
        return run

    return make


def renew(run, people) -> str:
    """Give the run's suite a new secret address; return the run's former key."""
    before = run.key
    suite = run.revision.suite
    if suite.visibility == "unlisted":
        suites.new_secret_address(suite, actor=people.alice)
    else:
        suites.set_visibility(suite, "unlisted", actor=people.alice)
    run.refresh_from_db()
    assert run.key != before
    return before


@pytest.mark.parametrize("visibility", ["unlisted", "public"])
def test_the_job_of_a_stranger_says_nothing_of_the_suite_any_more(client, people, make_run, visibility):
    run = make_run(visibility)
    suite = run.revision.suite
    assert suite.title in run.job.title
    renew(run, people)
    client.force_login(people.charlie)
    run.job.refresh_from_db()
    assert "Run of a suite whose address was renewed" in run.job.title
    assert suite.title not in run.job.title + run.job.log


def test_jobs_of_people_with_a_role_still_name_the_suite(people, make_run):
    run = make_run()
    mine = services.queue_run(run.revision, run.model, actor=people.dora)
    renew(run, people)
    mine.job.refresh_from_db()
    assert run.revision.suite.title in mine.job.title


def opened(client, path: str, key: str):
    response = client.get(path.format(key=key), follow=True)
    if response.streaming:
        response.getvalue()
    return response


def test_old_addresses_open_only_for_people_with_a_role(client, people, make_run):
    run = make_run()
    old = renew(run, people)
    for who in (None, people.charlie):
        if who:
            client.force_login(who)
        for path in PATHS:
            response = opened(client, path, old)
            assert response.status_code == 404, (path, who)
            assert run.revision.suite.slug not in response.content.decode(), (path, who)
            assert opened(client, path, run.key).status_code in {200, 286}, (path, who)
    roles = {people.dora: PATHS, people.bob: PATHS[:1], people.alice: PATHS[:1], people.staff: PATHS[:1]}
    for who, paths in roles.items():
        client.force_login(who)
        for path in paths:
            assert opened(client, path, old).status_code in {200, 286}, (path, who)


def test_the_page_leads_its_people_to_the_new_address(client, people, make_run):
    run = make_run()
    old = renew(run, people)
    renew(run, people)
    client.force_login(people.dora)
    assert client.get(f"/runs/{old}/?only=failed").url == f"/runs/{run.key}/?only=failed"
    assert client.get(f"/api/v1/runs/{old}/").json()["id"] == run.key


@pytest.mark.parametrize("visibility", ["public", "private"])
def test_becoming_unlisted_closes_them_too(client, people, make_run, visibility):
    run = make_run(visibility)
    old = renew(run, people)
    client.force_login(people.charlie)
    assert client.get(f"/runs/{old}/").status_code == 404
    assert client.get(f"/runs/{run.key}/").status_code == 200
    client.force_login(people.bob)
    assert client.get(f"/runs/{old}/").url == f"/runs/{run.key}/"


def test_public_again_every_address_it_had_leads_to_the_run(client, people, make_run):
    run = make_run("public")
    old = renew(run, people)
    suites.set_visibility(run.revision.suite, "public", actor=people.alice)
    assert client.get(f"/runs/{old}/").url == f"/runs/{run.key}/"
    services.delete_run(run, actor=people.staff)
    assert [client.get(f"/runs/{key}/").status_code for key in (old, run.key)] == [410, 410]
    assert not FormerRunKey.objects.exists()


def test_nothing_is_left_of_a_deleted_run_that_was_not_public(people, make_run):
    run = make_run()
    renew(run, people)
    services.delete_run(run, actor=people.charlie)
    assert not DeletedRun.objects.exists()


def test_what_a_stranger_made_himself_does_not_tell_the_new_address(client, people, make_run):
    run = make_run()
    upload = upload_of(people, run)
    uploaded = upload.runs.get()
    client.force_login(people.charlie)
    pages = [reverse("home"), reverse("run-list") + "?mine", upload.get_absolute_url()]
    pages += ["/api/v1/runs/", "/api/v1/uploads/"]
    pages += [f"/api/v1/uploads/{upload.key}/"]

    def shown() -> str:
        return "".join(client.get(page).content.decode() for page in pages)

    before = shown()
    assert run.key in before
    assert uploaded.key in before
    renew(run, people)
    uploaded.refresh_from_db()
    after = shown()
    for word in (run.key, uploaded.key, run.revision.suite.slug):
        assert word not in after
    page = " ".join(client.get(upload.get_absolute_url()).content.decode().split())
    assert "1 run on suites that you can no longer see is not listed" in page
    client.force_login(people.staff)
    assert uploaded.key in client.get(upload.get_absolute_url()).content.decode()


def upload_of(people, run):
    table = "model,suite,item,correct\n" + "".join(f"lstm,blind,{item},True\n" for item in range(3))
    file = ResultFile("outcomes.csv", table.encode())
    plan = plan_upload(file, actor=people.charlie, revision=run.revision)
    return save_upload(plan, ModelChoice(name="lstm"), actor=people.charlie)


def test_a_run_is_started_only_by_who_names_the_suite(client, people, make_run):
    run = make_run()
    client.force_login(people.charlie)
    given = {"models": [run.model.slug], "bos": "auto", "join": "space", "metric": "sum"}
    number = run.revision.number
    for guessed in (str(run.revision.pk), str(run.revision.suite_id)):
        assert client.post(reverse("run-start", args=[guessed, number]), given).status_code == 404
    address = reverse("run-start", args=[run.revision.suite.slug, number])
    assert client.post(address, given).status_code == 302
