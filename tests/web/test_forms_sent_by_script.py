"""A form that a script sends (keep-files.js): the browser itself goes on, so that the next page has its messages."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.agents.site import GOOD, make_suite

BY_SCRIPT = {"X-Sent-By": "script"}


@pytest.fixture
def send(client, people):
    suite = make_suite(people.alice, cases={})
    client.force_login(people.alice)

    def post(text: str, **headers):
        file = SimpleUploadedFile("hello.hocon", text.encode())
        return client.post(reverse("agent-suite-import", args=[suite.slug]), {"file": file}, headers=headers)

    return post


def test_the_script_is_told_where_to_go_on_and_the_message_waits_there(client, send):
    answer = send(GOOD, **BY_SCRIPT)
    assert (answer.status_code, answer.content) == (204, b"")
    assert "1 case imported." in client.get(answer["X-Go-To"]).content.decode()


def test_a_refusal_is_the_page_of_the_form_and_other_senders_are_redirected(send):
    refused = send("agent: [", **BY_SCRIPT)
    assert refused.status_code == 400
    assert "data-form-answer" in refused.content.decode()
    assert send(GOOD).status_code == 302
