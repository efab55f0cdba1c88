"""Times on pages: how long ago, in the largest whole unit."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from gym.templatetags.gym import when

NOW = datetime(2026, 3, 31, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "just now"),
        (59, "just now"),
        (60, "1 minute ago"),
        (3_599, "59 minutes ago"),
        (3_600, "1 hour ago"),
        (86_400 * 2 - 1, "1 day ago"),
        (86_400 * 6.5, "6 days ago"),
        (86_400 * 7, "1 week ago"),
        (86_400 * 29.9, "4 weeks ago"),
        (86_400 * 30, "1 Mar 2026"),
    ],
)
def test_a_time_is_said_in_its_largest_unit_and_as_a_date_after_30_days(monkeypatch, seconds, text):
    monkeypatch.setattr("django.utils.timezone.now", lambda: NOW)
    shown = when(NOW - timedelta(seconds=seconds))
    assert shown.partition(">")[2].removesuffix("</time>").replace("\xa0", " ") == text
