"""Uploading results of models that are not hosted here: on a suite's page and on the general one."""

from __future__ import annotations

import hashlib
import json
import math
import re

import pytest
from django.core.exceptions import PermissionDenied, ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.jobs.models import Job
from gym.runs.models import ResultUpload, SuiteRun
from gym.runs.work import services
from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
from lmgym.text.problems import FormatError
from models_registry.models import RegisteredModel
from models_registry.selectors import runnable_by
from tests.factories import make_model, make_revision, make_suite
from tests.lmgym.runs.uploaded.worlds import golden
from tests.runs.test_exports import content_of

FILES = ("lmzoo.tsv", "outcomes.csv")
"""A file with every token, read with a second file, and one with outcomes alone."""


def send(client, name, *, revision=None, **fields):
    address = (
        reverse("suite-results-upload", args=[revision.suite.slug, revision.number])
        if revision
        else reverse("results-upload")
    )
    data = {"visibility": "public", "kind": "auto", "unit": "bits", **fields}
    data["file"] = SimpleUploadedFile(name, golden(name) if "data" not in data else data.pop("data"))
    if name == "lmzoo.tsv":
        data["spec"] = SimpleUploadedFile("spec.json", golden("spec.json"))
    return client.post(address, data)


def keep(actor, name="outcomes.csv", data=None, revision=None, **choice) -> ResultUpload:
    plan = plan_upload(ResultFile(name, data or golden(name)), actor=actor, revision=revision)
    return save_upload(plan, ModelChoice(**choice), actor=actor)


@pytest.mark.parametrize("name", FILES)
def test_a_file_becomes_a_run_whose_pages_open_with_tokens_or_without(client, people, name):
    revision = make_revision(people.alice)
    client.force_login(people.charlie)
    response = send(client, name, revision=revision)
    upload = ResultUpload.objects.get()
    assert response.url == upload.get_absolute_url()
    assert client.get(response.url).status_code == 200
    run = upload.runs.get()
    assert (run.source, run.state, run.owner, run.job) == ("uploaded", "done", people.charlie, None)
    assert run.provenance["files"][0]["sha256"] == hashlib.sha256(golden(name)).hexdigest()
    result = run.prediction_results.get()
    assert (result.passed, result.n, result.outcomes) == (2, 3, [1, 0, 1])
    client.logout()
    page = client.get(run.get_absolute_url()).content.decode()
    for expected in ("uploaded by charlie", hashlib.sha256(golden(name)).hexdigest(), name, "66.7%"):
        assert expected in page
    assert "manage.py evaluate" not in page
    for form in ("json", "regions.csv", "tokens.csv", "outcomes.csv"):
        assert client.get(reverse("run-download", args=[run.key, form])).status_code == 200
    item = client.get(reverse("run-item", args=[run.key, 1]))
    assert "woman" in item.content.decode()
    chart = client.get(reverse("run-chart", args=[run.key])).status_code
    assert chart == (404 if name == "outcomes.csv" else 200)
    for address in ("leaderboard", "run-list", "home", "model-list"):
        assert "uploaded" in client.get(reverse(address)).content.decode(), address
    assert client.get(reverse("api-run", args=[run.key])).json()["source"] == "uploaded"
    assert client.get(reverse("api-run-results", args=[run.key])).status_code == 200
    assert Job.objects.count() == 0


def test_a_run_without_margins_or_tokens_says_so(client, people):
    revision = make_revision(people.alice)
    keep(people.alice, "outcomes.csv", revision=revision, visibility="public")
    run = SuiteRun.objects.get()
    page = client.get(run.get_absolute_url()).content.decode()
    assert "there are no margins" in page
    assert "Surprisal by region" not in page
    assert (
        "only outcomes, no surprisals" in client.get(reverse("run-item", args=[run.key, 2])).content.decode()
    )
    data = json.loads(client.get(reverse("run-download", args=[run.key, "json"])).content)
    assert data["source"] == "uploaded"
    assert data["predictions"][0]["outcomes"] == [True, False, True]
    outcomes = client.get(reverse("run-download", args=[run.key, "outcomes.csv"]))
    assert len(content_of(outcomes).splitlines()) == 4


def test_a_report_counts_the_sentences_that_it_does_not_list(client, people):
    revision = make_revision(people.alice, items=30)
    rows = [
        f"agreement,lm,{row.item},{row.condition},{n},r,{content},1"
        for row in revision.sentences.all()
        for n, content in enumerate(row.contents, start=1)
    ]
    head = "suite,model_name,item_number,condition_name,region_number,region_name,content,surprisal_bits"
    upload = keep(
        people.alice, "regions.csv", "\n".join([head, *rows]).encode(), revision, visibility="public"
    )
    run = upload.runs.get()
    run.sentence_scores.update(failure="does not fit")
    SuiteRun.objects.filter(pk=run.pk).update(n_unscored=60)
    client.force_login(people.alice)
    page = client.get(upload.get_absolute_url()).content.decode()
    assert page.count("does not fit") == 50
    assert "… and 10 more" in page


def test_the_general_page_matches_every_suite_the_file_names(client, people):
    for name in ("agreement", "npi"):
        make_suite(people.alice, name=name)
    rows = "".join(
        f"{model},{suite},{item},{item != 1}\n"
        for model in ("seed-1", "seed-2")
        for suite in ("agreement", "npi", "elsewhere")
        for item in range(3)
    )
    client.force_login(people.bob)
    response = send(client, "many.csv", data=f"model,suite,item,correct\n{rows}".encode())
    assert SuiteRun.objects.count() == 4
    assert set(RegisteredModel.objects.values_list("name", "backend", "status")) == {
        ("seed-1", "uploaded", "ready"),
        ("seed-2", "uploaded", "ready"),
    }
    page = client.get(response.url).content.decode()
    assert "4 runs" in page
    assert "your lists have no suite with this name" in page


def test_checking_only_saves_nothing_and_says_what_would_come(client, people):
    revision = make_revision(people.alice)
    client.force_login(people.alice)
    response = send(client, "lmzoo.tsv", revision=revision, check="1")
    assert response.status_code == 200
    page = response.content.decode()
    assert "Nothing is saved yet" in page
    assert "6 / 6" in page
    assert (SuiteRun.objects.count(), ResultUpload.objects.count()) == (0, 0)
    assert not RegisteredModel.objects.exists()


def test_a_file_with_mistakes_is_answered_with_their_places(client, people):
    revision = make_revision(people.alice)
    client.force_login(people.alice)
    bad = golden("regions.csv").replace(b",5.25", b",nan")
    response = send(client, "regions.csv", revision=revision, data=bad)
    assert response.status_code == 400
    assert "line 2" in response.content.decode()
    response = send(client, "o.csv", data=golden("outcomes.csv").replace(b"agreement", b"nothing"))
    assert response.status_code == 400
    assert "your lists have no suite with this name" in response.content.decode()


def test_sentences_that_cannot_be_read_are_listed_in_the_report(client, people):
    revision = make_revision(people.alice)
    client.force_login(people.alice)
    bad = golden("lmzoo.tsv").replace("1\t2\tĠwoman".encode(), "1\t2\tĠwomen".encode())
    page = client.get(send(client, "lmzoo.tsv", revision=revision, data=bad).url).content.decode()
    assert "1 of 6 sentences" in page
    assert "does not match at “woman plays all day.”" in page
    assert "5 / 6" in page
    run_page = client.get(SuiteRun.objects.get().get_absolute_url()).content.decode()
    assert "1 of 6 sentences could not be scored" in run_page


def test_an_uploaded_model_is_never_run_or_checked(client, people):
    revision = make_revision(people.alice)
    keep(people.alice, revision=revision, visibility="public")
    model = RegisteredModel.objects.get()
    assert model not in runnable_by(people.alice)
    with pytest.raises(ValidationError, match="not hosted here"):
        services.queue_run(revision, model, actor=people.alice)
    client.force_login(people.alice)
    client.post(reverse("model-check", args=[model.slug]))
    model.refresh_from_db()
    assert (model.status, Job.objects.count()) == ("ready", 0)
    assert "Not hosted here" in client.get(model.get_absolute_url()).content.decode()


def test_results_cannot_be_laid_at_the_door_of_hosted_or_other_peoples_models(people):
    revision = make_revision(people.alice)
    plan = plan_upload(ResultFile("o.csv", golden("outcomes.csv")), actor=people.bob, revision=revision)
    hosted = make_model(people.bob)
    hers = make_model(people.alice, slug="hers", backend="uploaded")
    for model in (hosted, hers):
        with pytest.raises(PermissionDenied):
            save_upload(plan, ModelChoice(model=model), actor=people.bob)
    assert SuiteRun.objects.count() == 0


def test_drafts_and_invisible_suites_take_no_results(people):
    draft = make_suite(people.alice, frozen=False).draft
    private = make_revision(people.alice, name="secret", visibility="private")
    data = golden("outcomes.csv")
    with pytest.raises(ValidationError, match="Freeze"):
        plan_upload(ResultFile("o.csv", data), actor=people.alice, revision=draft)
    for actor in (people.charlie, people.nobody):
        with pytest.raises(PermissionDenied):
            plan_upload(ResultFile("o.csv", data), actor=actor, revision=private)
    with pytest.raises(FormatError, match="your lists have no suite"):
        plan_upload(ResultFile("o.csv", data.replace(b"agreement", b"secret")), actor=people.charlie)


def test_the_name_of_an_unlisted_suite_does_not_give_its_address_away(people):
    make_revision(people.alice, name="hidden", visibility="unlisted")
    data = golden("outcomes.csv").replace(b"agreement", b"hidden")
    with pytest.raises(FormatError, match="your lists have no suite"):
        plan_upload(ResultFile("o.csv", data), actor=people.charlie)


def test_two_suites_of_one_name_are_not_guessed_between(people):
    for _ in range(2):
        make_suite(people.alice, name="Same Name")
    data = golden("outcomes.csv").replace(b"agreement", b"Same Name")
    with pytest.raises(FormatError, match="several suites have this name"):
        plan_upload(ResultFile("o.csv", data), actor=people.bob)


def test_of_two_suites_with_a_name_the_one_that_fits_is_meant(people):
    make_suite(people.alice, name="npi", items=5)
    fitting = make_suite(people.alice, name="npi", items=3)
    data = golden("outcomes.csv").replace(b"agreement", b"npi")
    [run] = plan_upload(ResultFile("o.csv", data), actor=people.bob).runs
    assert run.revision.suite == fitting


def test_a_suite_whose_address_was_taken_is_found_by_its_name_for_its_owner(people):
    make_suite(people.alice, name="agreement")
    make_suite(people.bob, name="agreement")  # agreement-2
    found = {}
    for person in (people.bob, people.alice, people.charlie):
        upload = keep(person)
        found[person] = upload.runs.get().revision.suite.slug
        assert "it also fits" in str(upload.report["notices"])
    assert found == {people.bob: "agreement-2", people.alice: "agreement", people.charlie: "agreement"}


def test_a_file_about_another_suite_is_not_taken_for_the_pages(client, people):
    renamed = make_revision(people.alice, name="renamed")
    client.force_login(people.alice)
    response = send(client, "outcomes.csv", revision=renamed)
    assert response.status_code == 400
    assert "nothing in it shows that this is renamed" in response.content.decode()
    for name in ("regions.csv", "evaluated.json"):
        page = client.get(send(client, name, revision=renamed).url).content.decode()
        assert "The file calls the suite “agreement”" in page
    assert SuiteRun.objects.count() == 2


def test_a_second_upload_of_one_name_joins_the_model(people):
    revision = make_revision(people.alice)
    for _ in range(2):
        keep(people.bob, revision=revision)
    assert RegisteredModel.objects.count() == 1
    keep(people.charlie, revision=revision)
    assert set(RegisteredModel.objects.values_list("slug", flat=True)) == {"elsewhere-lm", "elsewhere-lm-2"}


def test_results_can_be_taken_back_by_their_uploader_alone(client, people):
    upload = keep(people.alice, revision=make_revision(people.alice), visibility="public")
    address = reverse("upload-delete", args=[upload.key])
    client.force_login(people.charlie)
    assert client.post(address).status_code == 404
    client.force_login(people.alice)
    client.post(address)
    assert (SuiteRun.objects.count(), ResultUpload.objects.count()) == (0, 0)


def test_a_private_models_results_stay_private(client, people):
    keep(people.alice, revision=make_revision(people.alice))
    run = SuiteRun.objects.get()
    assert client.get(run.get_absolute_url()).status_code == 404
    client.force_login(people.alice)
    assert client.get(run.get_absolute_url()).status_code == 200


def test_hostile_names_are_shown_as_text(client, people):
    evil = "<script>alert(1)</script>"
    data = golden("outcomes.csv").decode().replace("elsewhere-lm", evil).encode()
    upload = keep(people.alice, f"{evil}.csv", data, make_revision(people.alice), visibility="public")
    client.force_login(people.alice)
    for address in (upload.get_absolute_url(), upload.runs.get().get_absolute_url(), reverse("leaderboard")):
        assert evil not in client.get(address).content.decode()


@pytest.mark.parametrize(("first", "second"), [("public", "private"), ("private", "public")])
def test_results_do_not_join_a_model_that_others_see_differently(client, people, first, second):
    revision = make_revision(people.alice)
    keep(people.charlie, revision=revision, visibility=first)
    with pytest.raises(ValidationError, match="join a model of yours with a different visibility"):
        keep(people.charlie, revision=revision, visibility=second)
    client.force_login(people.charlie)
    for extra in ({}, {"check": "1"}):
        response = send(client, "outcomes.csv", revision=revision, visibility=second, **extra)
        assert response.status_code == 400
        assert "with a different visibility" in response.content.decode()
    assert SuiteRun.objects.count() == 1
    assert RegisteredModel.objects.get(owner=people.charlie).visibility == first
    keep(people.charlie, revision=revision, visibility=first)
    assert SuiteRun.objects.count() == 2
    assert RegisteredModel.objects.filter(owner=people.charlie).count() == 1


NO_UNIT = golden("regions.csv").replace(b"surprisal_bits", b"surprisal")


def test_a_unit_that_the_file_does_not_state_is_asked_for(client, people):
    revision = make_revision(people.alice)
    client.force_login(people.alice)
    response = send(client, "regions.csv", data=NO_UNIT, revision=revision, unit="auto")
    page = " ".join(response.content.decode().split())
    assert (response.status_code, SuiteRun.objects.count()) == (400, 0)
    assert "the file does not state the unit of “surprisal”" in page
    assert re.search(r"<details class=.disclosure. open>\s*<summary>About the file", page)
    send(client, "regions.csv", data=NO_UNIT, revision=revision, unit="nats")
    summary = SuiteRun.objects.get().sentence_scores.order_by("pk").first()
    assert summary.regions[0] == pytest.approx(5.25 / math.log(2))
    assert "in nats: converted to surprisals in bits" in str(SuiteRun.objects.get().provenance["notices"])


def test_a_doubtful_unit_is_warned_of_in_the_preview_and_on_the_run(client, people):
    revision = make_revision(people.alice)
    client.force_login(people.alice)
    data = golden("regions.csv").replace(b".25", b"98.25")
    warning = "these are probably not surprisals in bits"
    preview = send(client, "regions.csv", data=data, revision=revision, unit="auto", check="1")
    assert warning in preview.content.decode()
    response = send(client, "regions.csv", data=data, revision=revision, unit="auto")
    run = SuiteRun.objects.get()
    assert warning in run.provenance["warnings"][0]
    for address in (response.url, run.get_absolute_url()):
        assert warning in client.get(address).content.decode()


def test_the_api_asks_for_the_unit_and_answers_warnings(client, people):
    make_revision(people.alice)
    client.force_login(people.alice)

    def plan(data: bytes, **fields: str):
        file = SimpleUploadedFile("regions.csv", data)
        return client.post(reverse("api-upload-plan"), {"file": file, **fields})

    refused = plan(NO_UNIT)
    assert refused.status_code == 400
    assert "the file does not state the unit of “surprisal”" in refused.json()["errors"][0]["message"]
    [run] = plan(NO_UNIT, unit="bits").json()["runs"]
    assert run["warnings"] == []
    [run] = plan(NO_UNIT.replace(b".25", b"98.25"), unit="bits").json()["runs"]
    assert "probably not surprisals in bits" in run["warnings"][0]
