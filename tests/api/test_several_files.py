"""Several files in one request are all taken, or the request is refused; none is dropped silently."""

from __future__ import annotations

import pytest
from django import forms
from django.core.files.uploadedfile import SimpleUploadedFile
from django.http import QueryDict
from django.utils.datastructures import MultiValueDict
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser

from gym.api.requests import read
from suites.models import Suite
from tests.agents.site import GOOD, make_suite
from tests.api.test_every_operation import METHODS, views

TAKE_ALL = {("AgentCasesFile", "file")}


def file(name, text="x"):
    return SimpleUploadedFile(name, text.encode())


def file_fields():
    """Yield (body, field) for every file field of the API."""
    for _, view in views():
        if MultiPartParser in view.parser_classes:
            for method in METHODS:
                takes = getattr(getattr(getattr(view, method, None), "operation", None), "body", None)
                body = takes.get("multipart/form-data") if isinstance(takes, dict) else takes
                for name, field in body().fields.items() if body else ():
                    if isinstance(getattr(field, "child", field), serializers.FileField):
                        yield body, name


FILE_FIELDS = sorted(set(file_fields()), key=str)


def test_file_fields_are_found():
    assert len({body for body, _ in FILE_FIELDS}) >= 8
    assert {(body.__name__, name) for body, name in FILE_FIELDS} >= TAKE_ALL


@pytest.mark.parametrize(
    ("body", "name"), [pytest.param(*pair, id=f"{pair[0].__name__}.{pair[1]}") for pair in FILE_FIELDS]
)
def test_no_body_reads_one_of_two_files(body, name):
    sent = QueryDict(mutable=True)
    sent.setlist(name, [file("a.hocon"), file("b.hocon")])
    if (body.__name__, name) in TAKE_ALL:
        assert [one.name for one in read(body, sent)[name]] == ["a.hocon", "b.hocon"]
    else:
        with pytest.raises(serializers.ValidationError) as caught:
            read(body, sent)
        assert f"2 files were sent as “{name}”" in str(caught.value.detail[name])


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def test_all_files_of_an_agent_suite_are_imported(alice, people):
    suite = make_suite(people.alice)
    files = [file("one.hocon", GOOD), file("two.hocon", GOOD)]
    answer = alice.post(f"/api/v1/agent-suites/{suite.slug}/cases/", {"file": files})
    assert answer.status_code == 201
    assert [case["name"] for case in answer.json()["cases"]] == ["one", "two"]
    assert sorted(suite.cases.values_list("name", flat=True)) == ["hello", "one", "two"]


def test_of_two_files_with_one_name_neither_is_imported(alice, people):
    suite = make_suite(people.alice)
    files = [file("one.hocon", GOOD), file("one.hocon", GOOD)]
    answer = alice.post(f"/api/v1/agent-suites/{suite.slug}/cases/", {"file": files})
    assert answer.status_code == 400
    assert "Several files have the case name 'one'" in str(answer.json())
    assert suite.cases.count() == 1


def test_a_form_without_a_file_is_refused(alice, people):
    suite = make_suite(people.alice)
    answer = alice.post(f"/api/v1/agent-suites/{suite.slug}/cases/", {})
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "$.file")


def test_two_files_for_one_suite_are_refused(alice, db):
    before = Suite.objects.count()
    answer = alice.post("/api/v1/suites/", {"file": [file("a.json", "{}"), file("b.json", "{}")]})
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "$.file")
    assert "Send one file per request" in answer.json()["errors"][0]["message"]
    assert Suite.objects.count() == before


def test_a_field_sent_twice_is_refused(alice, db):
    fields = {"file": file("a.json", "{}"), "join_policy": ["space", "none"]}
    answer = alice.post("/api/v1/suites/", fields)
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, "$.join_policy")


def page_forms():
    def below(kind):
        for one in kind.__subclasses__():
            yield one
            yield from below(one)

    for form in below(forms.BaseForm):
        for name, field in getattr(form, "base_fields", {}).items():
            if isinstance(field, forms.FileField) and form.__module__.split(".")[0] in ("gym", "suites"):
                yield pytest.param(name, field, id=f"{form.__name__}.{name}")


@pytest.mark.parametrize(("name", "field"), list(page_forms()))
def test_no_form_of_a_page_reads_one_of_two_files(name, field):
    sent = MultiValueDict({name: [file("a.hocon"), file("b.hocon")]})
    given = field.widget.value_from_datadict({}, sent, name)
    if field.widget.attrs.get("multiple"):
        assert [one.name for one in field.clean(given)] == ["a.hocon", "b.hocon"]
    else:
        with pytest.raises(forms.ValidationError, match="2 files were sent; only one"):
            field.clean(given)
