"""The first start of a site: an administrator whose password is shown once."""

from __future__ import annotations

import io
import re

import pytest
from django.core.management import CommandError, call_command

from gym.accounts.models import User
from gym.jobs.management.commands import init

pytestmark = pytest.mark.django_db


def initialise(**options: bool) -> str:
    out = io.StringIO()
    call_command("init", stdout=out, **options)
    return out.getvalue()


def test_a_new_site_gets_an_administrator_who_can_sign_in_with_the_printed_password(client):
    password = re.search(r"Account admin, password (\S+) ", initialise()).group(1)
    assert client.login(username="admin", password=password)
    assert User.objects.get().is_superuser


def test_a_site_with_an_administrator_gets_no_other():
    User.objects.create_superuser("carol")
    assert initialise() == ""
    assert User.objects.count() == 1


def test_the_account_of_a_person_called_admin_is_left_alone():
    User.objects.create_user("admin", password="mine")
    assert "the name admin is taken" in initialise()
    assert not User.objects.get().is_superuser


def test_a_demo_that_fails_is_reported_and_leaves_a_site_with_an_administrator(monkeypatch):
    def fail(**options: bool) -> None:
        raise OSError("disk full")

    monkeypatch.setattr("gym.management.commands.demo.load_demo", fail)
    with pytest.raises(CommandError, match="The demo data could not be created: disk full") as failed:
        initialise(demo=True)
    assert failed.value.returncode == init.NO_DEMO
    assert User.objects.filter(is_superuser=True).exists()
