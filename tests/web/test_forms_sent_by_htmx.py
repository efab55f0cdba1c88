"""After a form sent by htmx the browser follows the redirect, so that the next page shows its messages."""

from __future__ import annotations

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse

from tests.agents.site import GOOD, make_suite

BY_HTMX = {"HX-Request": "true"}


@pytest.fixture
def send(client, people):
    suite = make_suite(people.alice, cases={})
    client.force_login(people.alice)

    def post(text: str, **headers):
        file = SimpleUploadedFile("hello.hocon", text.encode())
        return client.post(reverse("agent-suite-import", args=[suite.slug]), {"file": file}, headers=headers)

    return post


def test_a_redirect_is_left_to_the_browser_and_its_message_waits_there(client, send):
    answer = send(GOOD, **BY_HTMX)
    assert (answer.status_code, answer.content) == (200, b"")
    assert "1 case imported." in client.get(answer["HX-Redirect"]).content.decode()


def test_a_refusal_is_the_page_of_the_form_and_other_senders_are_redirected(send):
    refused = send("agent: [", **BY_HTMX)
    assert refused.status_code == 400
    assert 'id="upload"' in refused.content.decode()
    assert send(GOOD).status_code == 302
