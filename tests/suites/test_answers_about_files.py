"""Between upload and draft: open questions about a file are asked once, the file is stored, and no script is
needed."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from lmgym.suites.formats import write_wide_tsv
from suites import imports
from suites.imports import STALE
from suites.models import ImportedFile, Suite, SuiteImport
from suites.selectors import document_of
from tests.factories import make_suite

pytestmark = pytest.mark.django_db
GERMAN = "Nr.;Fassung;Nomen;Verb\n1;Einzahl;die Tür;klemmt\n1;Mehrzahl;die Türen;klemmen\n"
HEADLESS = "1\tmatch\tThe cat\tsleeps\n1\tmismatch\tThe cat\tsleep\n"


@pytest.fixture
def signed_in(client, people):
    client.force_login(people.alice)
    return client


def file(name, data):
    return SimpleUploadedFile(name, data if isinstance(data, bytes) else data.encode())


def new(client, by="file", **fields):
    answer = client.post(reverse("suite-new"), {"by": by, **fields})
    assert answer.status_code == 302, answer.content.decode()[:2000]
    return answer.url


def say(client, address, **fields):
    return client.post(address, {"file": 0, **fields})


def initial(client, address) -> dict[str, str]:
    [(_, form)] = client.get(address).context["rows"]
    return {name: form[name].value() for name in form.fields}


def test_columns_under_other_words_are_asked_with_a_guess_that_needs_one_click(signed_in):
    address = new(signed_in, file=file("türen.csv", GERMAN))
    assert not Suite.objects.exists()
    proposed = initial(signed_in, address)
    assert proposed == {
        "header": "yes",
        "columns.A": "item",
        "columns.B": "condition",
        "columns.C": "text",
        "columns.D": "text",
    }
    answer = say(signed_in, address, **proposed)
    suite = Suite.objects.get()
    assert answer.url == reverse("suite-editor", args=[suite.slug])
    doc = document_of(suite.draft)
    assert (doc.conditions, doc.region_names) == (("Einzahl", "Mehrzahl"), ("Nomen", "Verb"))
    assert doc.sentences[1].contents == ("die Türen", "klemmen")
    assert bytes(ImportedFile.objects.get().data) == b""


def test_data_beside_the_sentence_is_proposed_as_item_data_with_the_reason(signed_in):
    text = "item,condition,list,sentence,answer\n1,a,1,The cat sleeps.,yes\n1,b,2,The cat sleep.,no\n"
    address = new(signed_in, file=file("wide.csv", text))
    assert not Suite.objects.exists()
    proposed = initial(signed_in, address)
    assert [proposed[f"columns.{letter}"] for letter in "CDE"] == ["data", "text", "data"]
    page = " ".join(signed_in.get(address).content.decode().split())
    assert '<span class="sub">Numbers</span>' in page
    say(signed_in, address, **proposed)
    draft = Suite.objects.get().draft
    assert draft.region_names == ["sentence"]
    assert document_of(draft).sentences[0].extra == {"data": {"list": "1", "answer": "yes"}}


def test_a_column_can_be_left_out(signed_in):
    address = new(signed_in, file=file("x.csv", GERMAN))
    say(signed_in, address, **(initial(signed_in, address) | {"columns.C": "skip"}))
    assert document_of(Suite.objects.get().draft).region_names == ("Verb",)


def test_a_sheet_without_a_header_is_noticed(signed_in):
    address = new(signed_in, by="paste", text=HEADLESS, name="No head")
    proposed = initial(signed_in, address)
    assert proposed["header"] == "no"
    say(signed_in, address, **proposed)
    doc = document_of(Suite.objects.get().draft)
    assert doc.region_names == ("Region 1", "Region 2")
    assert len(doc.sentences) == 2
    assert Suite.objects.get().title == "No head"


def test_windows_1252_is_offered_with_its_umlauts_and_then_the_columns_are_asked(signed_in):
    address = new(signed_in, file=file("türen.csv", GERMAN.encode("windows-1252")))
    page = signed_in.get(address).content.decode()
    assert "1;Einzahl;die Tür;klemmt" in page
    assert "die Tьr" in page  # the same bytes as Cyrillic
    assert initial(signed_in, address) == {"encoding": "windows-1252"}
    say(signed_in, address, encoding="windows-1252")
    say(signed_in, address, **initial(signed_in, address))
    assert document_of(Suite.objects.get().draft).sentences[0].contents == ("die Tür", "klemmt")


def test_an_answer_that_makes_no_suite_is_shown_with_its_problems_and_can_be_changed(signed_in):
    address = new(signed_in, file=file("x.csv", GERMAN))
    proposed = initial(signed_in, address)
    page = signed_in.post(
        address, {"file": 0, **proposed, "columns.A": "condition"}, follow=True
    ).content.decode()
    assert "No item-number column found" in page
    assert initial(signed_in, address)["columns.A"] == "condition"
    say(signed_in, address, **proposed)
    assert Suite.objects.count() == 1


def test_a_nonsense_answer_is_a_400(signed_in):
    address = new(signed_in, file=file("x.csv", GERMAN))
    assert say(signed_in, address, header="maybe").status_code == 400
    assert say(signed_in, address, file=7).status_code == 302
    assert not Suite.objects.exists()


@pytest.fixture
def suite(people):
    return make_suite(people.alice, name="agreement", formulas=())


SHEET = "item\tcondition\tSubject\tVrb\tRest\n1\tmatch\tA\tb\tc\n1\twrong\tA\td\tc\n1\todd\tA\te\tc\n"


def upload(client, suite, text):
    answer = client.post(
        reverse("suite-upload", args=[suite.slug]), {"text": text, "join_policy": "space", "version": ""}
    )
    assert answer.status_code == 302, answer.content.decode()[:2000]
    return answer.url


def test_names_that_the_suite_lacks_are_mapped_added_or_left_out(signed_in, suite):
    address = upload(signed_in, suite, SHEET)
    assert initial(signed_in, address) == {
        "conditions.wrong": "+",
        "conditions.odd": "+",
        "regions.Vrb": "=Verb",
    }
    say(
        signed_in, address, **{"conditions.wrong": "=mismatch", "conditions.odd": "-", "regions.Vrb": "=Verb"}
    )
    doc = document_of(suite.draft)
    assert doc.conditions == ("match", "mismatch")
    assert doc.region_names == ("Subject", "Verb", "Rest")
    assert doc.sentences[1].contents == ("A", "d", "c")


def test_names_can_be_added_and_those_of_the_suite_keep_their_numbers(signed_in, suite):
    text = "item\tcondition\tVerb\tSubject\tComma\tRest\n1\tmatch\tb\tA\t,\tc\n1\tnew\tb\tA\t,\tc\n"
    address = upload(signed_in, suite, text)
    say(signed_in, address, **{"conditions.new": "+", "regions.Comma": "+"})
    doc = document_of(suite.draft)
    assert doc.conditions == ("match", "new")
    assert [name for name in doc.region_names if name != "Comma"] == ["Subject", "Verb", "Rest"]


def test_a_sheet_whose_names_the_suite_knows_asks_nothing(signed_in, suite):
    text = write_wide_tsv(document_of(suite.latest_frozen))
    assert upload(signed_in, suite, text) == "/suites/agreement/r2/"
    assert not SuiteImport.objects.exists()


def test_a_draft_that_changed_meanwhile_is_not_replaced(signed_in, suite):
    from lmgym.suites.formats import read_suite
    from suites import services
    from tests.lmgym.suites.documents import suite_bytes

    address = upload(signed_in, suite, SHEET)
    services.replace_draft(suite, read_suite(suite_bytes(items=5)), actor=suite.owner)
    page = signed_in.post(address, {"file": 0, **initial(signed_in, address)}, follow=True).content.decode()
    assert STALE in page
    assert len(document_of(suite.draft).items) == 5


def test_a_kept_file_counts_against_the_quota(signed_in, settings):
    settings.GYM_QUOTA_SUITES = (0, 1000)
    answer = signed_in.post(
        reverse("suite-new"), {"by": "file", "file": file("x.csv", GERMAN * 20)}, follow=True
    )
    assert "Not imported" in answer.content.decode()


def test_answers_are_for_the_person_who_imported(signed_in, people):
    address = new(signed_in, file=file("x.csv", GERMAN))
    signed_in.force_login(people.bob)
    assert say(signed_in, address, header="yes").status_code == 404


def test_looking_at_the_report_parses_nothing(signed_in, monkeypatch):
    address = new(signed_in, file=file("x.csv", GERMAN))
    monkeypatch.setattr("suites.imports.parse_upload", None)
    assert initial(signed_in, address)["columns.A"] == "item"


PAIRS = "nr,one,other,note\n7,The owl hoots.,The owl hoot.,x\n9,The owls hoot.,The owls hoots.,y\n"


def test_pairs_are_offered_as_conditions_and_the_better_one_is_chosen_by_the_user(signed_in):
    address = new(signed_in, file=file("pairs.csv", PAIRS))
    proposed = initial(signed_in, address)
    assert proposed["columns.B"] == "condition_text"
    assert proposed["prediction"] is None
    page = " ".join(signed_in.get(address).content.decode().split())
    assert "text in condition “other”" in page
    assert "“one” should have the lower surprisal" in page
    del proposed["prediction"]
    assert say(signed_in, address, **proposed).status_code == 400
    say(signed_in, address, **proposed, prediction="one")
    document = document_of(Suite.objects.get().draft)
    assert [one.formula for one in document.predictions] == ["(*;%one%) < (*;%other%)"]
    assert document.items == (7, 9)
    assert document.extra["items"]["9"] == {"note": "y"}


def test_questions_about_the_whole_sheet_show_its_first_rows_and_come_in_turn(signed_in):
    text = "Owls\n\nitem\tcondition\ttext\n1\ta\tThe owl/hoots.\n1\tb\t*The owl/hoot.\n"
    address = new(signed_in, file=file("owls.tsv", text))
    assert initial(signed_in, address) == {"marks": "remove", "cut": "/"}
    assert "The owl/hoots." in signed_in.get(address).content.decode()
    answer = say(signed_in, address, marks="remove", cut="/")
    document = document_of(Suite.objects.get().draft)
    assert document.sentences[1].contents == ("The owl", "hoot.")
    page = signed_in.get(answer.url).content.decode()
    assert "Row 3 names the columns." in page
    assert "Cut at “/”: 2 regions." in page


def test_the_row_with_the_headings_can_be_chosen(signed_in):
    text = "Nr\tForm\tA\nx\ty\tVerb\n1\tsg\thoots\n1\tpl\thoot\n"
    address = new(signed_in, file=file("owls.tsv", text))
    proposed = initial(signed_in, address)
    say(signed_in, address, **(proposed | {"header": "2"}))
    assert document_of(Suite.objects.get().draft).region_names == ("Verb",)


def test_items_of_ibex_become_a_draft_and_a_broken_script_says_why(signed_in):
    items = 'var items = [[["a", 1], "DashedSentence", {s: "The owl hoots."}]];'
    assert new(signed_in, file=file("items.js", items)).startswith("/suites/")
    assert document_of(Suite.objects.get().draft).sentences[0].contents == ("The", "owl", "hoots.")
    answer = signed_in.post(reverse("suite-new"), {"by": "file", "file": file("items.js", "alert(1)")})
    assert answer.status_code == 400
    assert "a script without a list of items" in answer.content.decode()


def test_answers_hold_for_the_other_files_of_an_import_with_the_same_headings(signed_in):
    other = PAIRS.replace("owl", "cat")
    files = [file("a.csv", PAIRS), file("b.csv", other), file("c.csv", PAIRS.replace("one", "first"))]
    answer = signed_in.post(
        reverse("suite-import"), {"file": files, "visibility": "private", "join_policy": "space"}
    )
    rows = signed_in.get(answer.url).context["rows"]
    values = {name: rows[0][1][name].value() for name in rows[0][1].fields}
    say(signed_in, answer.url, **(values | {"prediction": "other"}))
    assert [row.state for row in ImportedFile.objects.order_by("position")] == ["made", "made", "asks"]
    drafts = [document_of(suite.draft) for suite in Suite.objects.order_by("pk")]
    assert [draft.predictions[0].formula for draft in drafts] == ["(*;%other%) < (*;%one%)"] * 2


def test_the_next_file_with_the_same_headings_has_the_last_answers_filled_in(signed_in, people):
    address = new(signed_in, file=file("a.csv", PAIRS))
    say(signed_in, address, **(initial(signed_in, address) | {"prediction": "other", "columns.D": "skip"}))
    address = new(signed_in, file=file("b.csv", PAIRS.replace("owl", "cat")))
    proposed = initial(signed_in, address)
    assert (proposed["prediction"], proposed["columns.D"]) == ("other", "skip")
    signed_in.force_login(people.bob)
    address = new(signed_in, file=file("b.csv", PAIRS))
    assert initial(signed_in, address)["prediction"] is None


def test_two_clicks_import_a_file_once(signed_in, people, monkeypatch):
    address = new(signed_in, file=file("türen.csv", GERMAN))
    proposed, parse, clicks = initial(signed_in, address), imports._parse, []

    def parse_while_another_click_arrives(batch, source, answers):
        if answers.columns and len(clicks) < 2:  # the view previews the file first
            clicks.append(source)
            if len(clicks) == 2:
                imports.answer(ImportedFile.objects.get(), answers, actor=people.alice)
        return parse(batch, source, answers)

    monkeypatch.setattr(imports, "_parse", parse_while_another_click_arrives)
    answer = signed_in.post(address, {"file": 0, **proposed}, follow=True)
    assert "This file has no open questions." in answer.content.decode()
    assert Suite.objects.count() == 1
