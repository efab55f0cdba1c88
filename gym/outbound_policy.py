"""The site's rules for outbound requests: GYM_NET_ALLOW as a lmgym.net.NetPolicy."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from lmgym.net import NetPolicy


def net_policy(**limits: Any) -> NetPolicy:
    """Return the site's policy with these limits, such as timeouts and sizes."""
    return NetPolicy.allowing(*settings.GYM_NET_ALLOW, **limits)
