"""Several files or one zip in one import, with one report."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.collections.models import Collection
from gym.runs.models import SuiteRun
from lmgym.suites.formats import read_suite
from lmgym.suites.intake.archives import MAX_FILES
from suites import services
from suites.models import ImportedFile, Suite, SuiteImport
from tests.factories import make_model, make_suite
from tests.lmgym.suites.documents import suite_bytes

pytestmark = pytest.mark.django_db


@pytest.fixture
def signed_in(client, people):
    client.force_login(people.alice)
    return client


def zipped(files: dict[str, bytes], name: str = "suites.zip") -> SimpleUploadedFile:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return SimpleUploadedFile(name, packed.getvalue())


def bring(client, *files, **fields):
    data = {"file": list(files), "visibility": "private", "join_policy": "space", **fields}
    return client.post(reverse("suite-import"), data, follow=True)


def states() -> dict[str, str]:
    return dict(ImportedFile.objects.values_list("name", "state"))


def test_a_zip_becomes_a_suite_per_file_and_one_bad_file_stops_no_other(signed_in):
    answer = bring(
        signed_in,
        zipped(
            {
                "set/a.json": suite_bytes(name="a"),
                "set/b.csv": b"item,condition,V\n1,x,go\n1,y,goes\n",
                "set/bad.json": b"{",
                "set/LICENSE": b"MIT",
                "__MACOSX/set/._a.json": b"x",
            }
        ),
        tags="agreement",
    )
    page = answer.content.decode()
    assert states() == {"set/a.json": "made", "set/b.csv": "made", "set/bad.json": "refused"}
    assert "3 files: 2 imported, 1 not read." in page
    assert "line 1" in page
    assert set(Suite.objects.values_list("slug", flat=True)) == {"a", "b"}
    assert Suite.objects.filter(tags__name="agreement").count() == 2


def test_several_files_and_a_zip_go_together(signed_in):
    bring(
        signed_in,
        SimpleUploadedFile("one.json", suite_bytes(name="one")),
        zipped({"two.json": suite_bytes(name="two", items=4)}),
    )
    assert states() == {"one.json": "made", "two.json": "made"}


def test_a_file_that_is_here_already_is_named_and_not_made_again(signed_in, people):
    there = make_suite(people.bob, name="published", items=3)
    mine = services.import_suite(read_suite(suite_bytes(name="mine", items=4)), actor=people.alice)
    secret = make_suite(people.bob, name="secret", items=5, visibility="private")
    files = {f"{k}.json": suite_bytes(name=name, items=k) for k, name in ((3, "x"), (4, "mine"), (5, "y"))}
    page = bring(signed_in, zipped(files)).content.decode()
    assert states() == {"3.json": "there", "4.json": "there", "5.json": "made"}
    assert there.get_absolute_url() in page
    assert mine.get_absolute_url() in page
    assert secret.get_absolute_url() not in page
    bring(signed_in, zipped(files), again="on")
    assert Suite.objects.filter(owner=people.alice).count() == 5


def test_a_single_file_that_is_here_already_is_offered_as_what_is_there(signed_in, people):
    there = make_suite(people.alice, name="published")
    page = bring(signed_in, SimpleUploadedFile("x.json", suite_bytes(name="x"))).content.decode()
    assert "Already exists" in page
    assert there.get_absolute_url() in page
    assert Suite.objects.count() == 1


def test_files_are_frozen_and_run_at_once_also_on_what_is_here(signed_in, people):
    models = [make_model(people.alice, slug=slug) for slug in ("m1", "m2")]
    there = make_suite(people.bob, name="there", items=3)
    files = zipped({"a.json": suite_bytes(name="a", items=4), "t.json": suite_bytes(name="t", items=3)})
    page = bring(signed_in, files, models=["m1", "m2"]).content.decode()
    assert Suite.objects.get(slug="a").latest_frozen.number == 1
    assert set(SuiteRun.objects.values_list("revision__suite__slug", "model__slug")) == {
        (slug, model.slug) for slug in ("a", there.slug) for model in models
    }
    assert page.count("Queued 2 runs: M1, M2.") == 2


def test_what_was_ticked_holds_also_for_a_file_that_had_to_be_asked_about(signed_in, people):
    make_model(people.alice, slug="m")
    sheet = SimpleUploadedFile("sheet.csv", b"Nr,Fassung,Verb\n1,x,go\n1,y,goes\n")
    page = bring(signed_in, sheet, models=["m"])
    assert "the models you ticked are run on it" in " ".join(page.content.decode().split())
    assert not SuiteRun.objects.exists()
    batch = SuiteImport.objects.get()
    [(_, form)] = page.context["rows"]
    answers = {name: form[name].value() for name in form.fields}
    report = signed_in.post(batch.get_absolute_url(), {"file": 0, **answers}, follow=True)
    assert "Queued 1 run" in report.content.decode()
    run = SuiteRun.objects.get()
    assert (run.model.slug, run.revision.is_frozen) == ("m", True)


def test_a_limit_that_is_reached_is_said_for_each_suite_and_keeps_what_was_done(signed_in, people, settings):
    settings.GYM_MAX_ACTIVE_JOBS_PER_USER = 1
    make_model(people.alice, slug="m1")
    files = zipped({f"{k}.json": suite_bytes(name=f"s{k}", items=k) for k in (3, 4)})
    page = bring(signed_in, files, models=["m1"]).content.decode()
    assert Suite.objects.count() == 2
    assert SuiteRun.objects.count() == 1
    assert page.count("Queued 1 run") == 1
    assert page.count("M1: ") == 1


def test_the_quota_of_suites_refuses_the_files_beyond_it(signed_in, settings):
    settings.GYM_QUOTA_SUITES = (1, 0)
    files = zipped({f"{k}.json": suite_bytes(name=f"s{k}", items=k) for k in (3, 4)})
    bring(signed_in, files)
    assert sorted(states().values()) == ["made", "refused"]


def test_too_many_files_and_too_many_bytes_are_refused_before_anything_is_saved(signed_in, monkeypatch):
    answer = bring(signed_in, zipped({f"{k}.json": b"{}" for k in range(MAX_FILES + 1)}))
    assert answer.status_code == 400
    assert "more than 200 suite files" in answer.content.decode()
    bomb = {f"{k}.json": b" " * 4_900_000 for k in range(5)}
    answer = bring(signed_in, zipped(bomb))
    assert answer.status_code == 400
    assert "20 MB" in answer.content.decode()
    assert not SuiteImport.objects.exists()


def test_a_file_of_an_archive_that_is_too_large_is_refused_by_itself(signed_in):
    bring(signed_in, zipped({"big.json": b" " * 5_000_001, "a.json": suite_bytes(name="a")}))
    assert states() == {"big.json": "refused", "a.json": "made"}


@pytest.mark.parametrize("data", [b"PK\x03\x04", b"PK\x03\x04" + b"x" * 500])
def test_a_damaged_archive_says_so(signed_in, data):
    answer = bring(signed_in, SimpleUploadedFile("broken.zip", data))
    assert answer.status_code == 400
    assert "not a zip archive" in answer.content.decode()


def test_an_archive_with_a_damaged_entry_says_so(signed_in):
    data = bytearray(zipped({"a.json": suite_bytes(name="a"), "b.json": suite_bytes(name="b")}).read())
    data[7], data[30] = 0x08, 0xFF  # the flag for UTF-8, and the first byte of the name
    answer = bring(signed_in, SimpleUploadedFile("broken.zip", bytes(data)))
    assert answer.status_code == 400
    assert "is damaged" in answer.content.decode()


def test_a_report_is_for_the_person_who_imported(signed_in, people):
    bring(signed_in, zipped({"a.json": suite_bytes(name="a"), "b.json": suite_bytes(name="b", items=4)}))
    address = SuiteImport.objects.get().get_absolute_url()
    assert signed_in.get(address).status_code == 200
    signed_in.force_login(people.bob)
    assert signed_in.get(address).status_code == 404


def test_a_title_for_several_files_is_refused(signed_in):
    answer = bring(signed_in, zipped({"a.json": b"{}", "b.json": b"{}"}), title="Mine")
    assert answer.status_code == 400
    assert "several files" in answer.content.decode()


# ---- one collection of a zip or a folder ----


def collect(client, page, title="Mine"):
    return client.post(page.redirect_chain[-1][0], {"title": title}, follow=True)


def entries(slug):
    rows = Collection.objects.get(slug=slug).entries.order_by("position")
    return [(entry.revision.suite.slug, entry.revision.number) for entry in rows]


def several(**names):
    return {f"set/{name}.json": suite_bytes(name=name, items=items) for name, items in names.items()}


def test_a_zip_becomes_one_collection_of_frozen_suites_named_after_it(signed_in):
    page = bring(signed_in, zipped(several(b=3, a=4), "Paradigms 2.zip"))
    assert page.context["offer"]["title"].value() == "Paradigms 2"
    made = collect(signed_in, page, "Paradigms 2")
    assert made.redirect_chain[-1][0] == "/collections/paradigms-2/"
    assert entries("paradigms-2") == [("b", 1), ("a", 1)]
    report = signed_in.get(page.redirect_chain[-1][0])
    assert report.context["offer"] is None
    assert report.content.decode().count("r1 was added to “Paradigms 2”.") == 2
    collect(signed_in, page)
    assert Collection.objects.count() == 1


def test_a_folder_is_one_collection_and_other_files_in_it_are_left_out(signed_in):
    files = [
        SimpleUploadedFile("a.json", suite_bytes(name="a")),
        SimpleUploadedFile("b.JSON", suite_bytes(name="b", items=4)),
        SimpleUploadedFile("README.md", b"x"),
    ]
    paths = '["x/a.json", "y/b.JSON", "README.md"]'
    page = bring(signed_in, folder=files, paths=paths, folder_name="blimp")
    assert states() == {"x/a.json": "made", "y/b.JSON": "made"}
    assert page.context["offer"]["title"].value() == "blimp"


def test_a_folder_without_suite_files_is_refused(signed_in):
    answer = bring(signed_in, folder=[SimpleUploadedFile("README.md", b"x")])
    assert answer.status_code == 400
    assert "No file in this folder ends in .json" in answer.content.decode()


def test_one_file_is_offered_no_collection(signed_in, people):
    make_suite(people.alice, name="published")
    page = bring(signed_in, SimpleUploadedFile("x.json", suite_bytes(name="x")))
    assert page.context["offer"] is None


def test_files_that_wait_for_answers_are_left_out_of_the_collection_and_counted(signed_in):
    files = several(a=3, b=4) | {"set/c.csv": b"Nr,Fassung,Verb\n1,x,go\n1,y,goes\n"}
    page = bring(signed_in, zipped(files))
    text = " ".join(page.content.decode().split())
    assert "1 file with open questions is not included: answer its questions first." in text
    collect(signed_in, page)
    assert entries("mine") == [("a", 1), ("b", 1)]


def test_a_draft_that_the_import_did_not_make_is_not_frozen_for_the_collection(signed_in, people):
    there = make_suite(people.alice, name="there", items=3)
    services.open_draft(there, actor=people.alice)
    page = bring(signed_in, zipped(several(x=3, y=4)))
    collect(signed_in, page)
    assert entries("mine") == [("there", 1), ("y", 1)]
    assert there.draft is not None


def test_a_later_draft_of_an_imported_suite_is_not_frozen_for_the_collection(signed_in, people):
    page = bring(signed_in, zipped(several(x=3, y=4)))
    suite = Suite.objects.get(slug="x")
    services.freeze(suite, actor=people.alice)
    services.open_draft(suite, actor=people.alice)
    collect(signed_in, page)
    assert entries("mine") == [("x", 1), ("y", 1)]
    assert Suite.objects.get(slug="x").draft is not None
