"""The page that asks about a file shows how the file is read with the current answers, before anything is saved."""

from __future__ import annotations

from dataclasses import replace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from gym.accounts import throttle
from suites.models import ImportedFile, Suite, SuiteImport
from suites.selectors import document_of
from tests.factories import make_suite

pytestmark = pytest.mark.django_db
SLASHES = "item,condition,text\n1,a,The owl/hoots.\n1,b,The owl/hoot.\n"
PAIRS = "nr,one,other\n7,The owl hoots.,The owl hoot.\n9,The owls hoot.,The owls hoots.\n"
ROLES = {"header": "yes", "columns.A": "item", "columns.B": "condition_text", "columns.C": "condition_text"}
OLD = "Nr;Fassung;Satz\n1;a;*Die Tür/klemmt.\n1;b;Die Türen/klemmen.\n".encode("windows-1252")


@pytest.fixture
def signed_in(client, people):
    client.force_login(people.alice)
    return client


def waiting(client, data):
    """Upload a file that raises questions; return the address of its import."""
    upload = SimpleUploadedFile("owls.csv", data if isinstance(data, bytes) else data.encode())
    client.post(reverse("suite-new"), {"by": "file", "file": upload})
    return SuiteImport.objects.get().get_absolute_url()


def read(client, address, **answers):
    answer = client.post(f"{address}reading/", {"file": 0, **answers})
    assert answer.status_code == 200
    return answer


def test_the_first_sentences_follow_the_answers_and_nothing_is_saved(signed_in):
    address = waiting(signed_in, SLASHES)
    page = read(signed_in, address, cut="/").content.decode()
    assert "Cut at “/”: 2 regions." in page
    assert "<bdi>Region 2</bdi>" in page
    page = read(signed_in, address, cut="none").content.decode()
    assert "The owl/hoots." in page
    assert "<bdi>Region 2</bdi>" not in page
    file = ImportedFile.objects.get()
    assert (file.state, file.answers, Suite.objects.count()) == ("asks", {}, 0)


def test_no_better_text_is_asked_for_when_the_columns_are_regions(signed_in):
    address = waiting(signed_in, PAIRS)
    regions = ROLES | {"columns.A": "condition", "columns.B": "text", "columns.C": "text"}
    page = read(signed_in, address, **regions).content.decode()
    assert "Once every question has an answer" not in page
    client_answer = signed_in.post(address, {"file": 0, **regions})
    assert "This field is required" not in client_answer.content.decode()


def test_an_open_question_comes_before_the_reading(signed_in):
    address = waiting(signed_in, PAIRS)
    page = read(signed_in, address, **ROLES).content.decode()
    assert "Once every question has an answer" in page
    assert "Owls" not in page
    page = read(signed_in, address, **ROLES, prediction="one").content.decode()
    assert "(*;%one%) &lt; (*;%other%)" in page


def test_answers_that_make_no_suite_show_the_problem(signed_in):
    address = waiting(signed_in, PAIRS)
    page = read(signed_in, address, **(ROLES | {"columns.C": "skip"}), prediction="one").content.decode()
    assert "Only one column has the role" in page


def test_questions_that_answers_raise_are_asked_in_place_with_the_proposed_answers(signed_in):
    address = waiting(signed_in, OLD)
    answer = read(signed_in, address, encoding="windows-1252")
    follow_up = answer.context["reading"].follow_up
    proposed = {name: follow_up[name].value() for name in follow_up.fields}
    assert proposed == {
        "header": "yes",
        "columns.A": "item",
        "columns.B": "condition",
        "columns.C": "text",
        "marks": "remove",
        "cut": "/",
    }
    assert "<bdi>Region 2</bdi>" in answer.content.decode()
    changed = proposed | {"cut": "none"}
    follow_up = read(signed_in, address, encoding="windows-1252", **changed).context["reading"].follow_up
    assert follow_up["cut"].value() == "none"


def test_all_rounds_of_answers_are_applied_in_one_step(signed_in):
    address = waiting(signed_in, OLD)
    follow_up = read(signed_in, address, encoding="windows-1252").context["reading"].follow_up
    answers = {name: follow_up[name].value() for name in follow_up.fields} | {"marks": "keep"}
    signed_in.post(address, {"file": 0, "encoding": "windows-1252", **answers})
    sentences = document_of(Suite.objects.get().draft).sentences
    assert [row.contents for row in sentences] == [("*Die Tür", "klemmt."), ("Die Türen", "klemmen.")]


def test_names_are_those_of_the_suite_that_the_file_is_for(signed_in, people):
    suite = make_suite(people.alice, name="agreement", formulas=())
    text = "item\tcondition\tSubject\tVrb\tRest\n1\tmatch\tA\tb\tc\n1\tmismatch\tA\td\tc\n"
    fields = {"text": text, "join_policy": "space", "version": ""}
    address = signed_in.post(reverse("suite-upload", args=[suite.slug]), fields).url
    page = read(signed_in, address, **{"regions.Vrb": "=Verb"}).content.decode()
    assert "<bdi>Verb</bdi>" in page
    assert suite.draft is None


def test_the_page_of_a_file_that_was_answered_meanwhile_is_reloaded(signed_in):
    address = waiting(signed_in, SLASHES)
    signed_in.post(address, {"file": 0, "cut": "/"})
    for file in ("0", "7", "x", ""):
        assert read(signed_in, address, file=file, cut="/")["HX-Refresh"] == "true"


def test_readings_of_an_account_are_limited(signed_in, monkeypatch):
    address = waiting(signed_in, SLASHES)
    limit = replace(throttle.live_readings(), tries=1)
    monkeypatch.setattr(throttle, "live_readings", lambda: limit)
    read(signed_in, address, cut="/")
    answer = signed_in.post(f"{address}reading/", {"file": 0, "cut": "/"})
    assert (answer.status_code, answer["Retry-After"]) == (429, "60")
