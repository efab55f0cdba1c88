"""Where this site may go: the rules of GYM_NET_ALLOW for lmgym.net."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from lmgym.net import NetPolicy


def net_policy(**limits: Any) -> NetPolicy:
    """The rules of this site, with these limits instead of the usual ones."""
    return NetPolicy.allowing(*settings.GYM_NET_ALLOW, **limits)
