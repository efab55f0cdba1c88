"""Fixture that sends e-mails synchronously, in the test's own thread."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _mail_at_once(monkeypatch):
    monkeypatch.setattr("gym.accounts.mail.in_background", lambda send, *arguments: send(*arguments))
