"""`lmgym serve` prints where other machines open the site."""

from __future__ import annotations

import pytest

from gym.jobs.management.commands.serve import Announcement

LOCAL = ["127.0.0.1", "localhost", "[::1]"]


@pytest.mark.parametrize(
    ("host", "names", "behind_proxy", "line"),
    [
        ("127.0.0.1", ["gym.example.org"], False, ""),
        ("0.0.0.0", [*LOCAL, "192.168.1.20"], False, "On other machines: http://192.168.1.20:8000/"),
        ("192.168.1.20", LOCAL, False, "Other machines are refused: add this machine's name or address to "),
        ("0.0.0.0", ["*"], False, ""),
        ("0.0.0.0", ["gym.example.org"], True, ""),
    ],
)
def test_other_machines_get_an_address_that_the_site_accepts(settings, host, names, behind_proxy, line):
    settings.ALLOWED_HOSTS, settings.GYM_BEHIND_PROXY, settings.HTTPS = names, behind_proxy, False
    assert Announcement(host, 8000, "").for_others().startswith(line)
    assert bool(Announcement(host, 8000, "").for_others()) == bool(line)
