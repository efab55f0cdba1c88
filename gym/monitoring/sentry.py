"""Reports of errors to Sentry (GYM_SENTRY_DSN), without bodies, cookies, variables or secrets."""

from __future__ import annotations

from typing import Any

from gym.accounts.redaction import redacted
from gym.env import EnvError
from lmgym import __version__

_OFF = {"mode": "off"}
NO_PERSONAL_DATA: Any = {
    "user_info": False,
    "cookies": _OFF,
    "http_headers": {"request": _OFF},
    "http_bodies": [],
    "url_query_params": _OFF,
    "database_query_data": False,
    "queues": False,
    "stack_frame_variables": False,
}


def start(dsn: str) -> None:
    """Report errors of this process to `dsn`. Raises EnvError if the package is missing or the DSN is malformed;
    the error does not repeat the DSN."""
    try:
        import sentry_sdk
        from sentry_sdk.integrations.django import DjangoIntegration
        from sentry_sdk.integrations.logging import ignore_logger
        from sentry_sdk.utils import BadDsn
    except ImportError:
        raise EnvError('GYM_SENTRY_DSN needs the package sentry-sdk: pip install "lm-gym[sentry]"') from None
    try:
        sentry_sdk.init(
            dsn=dsn,
            release=__version__,
            data_collection=NO_PERSONAL_DATA,  # the successor of send_default_pii=False
            auto_enabling_integrations=False,  # they import optional packages, such as torch, into web processes
            integrations=[DjangoIntegration()],
            trace_propagation_targets=[],  # no headers in requests to other servers
            before_send=lambda event, hint: _without_secrets(event),
        )
    except BadDsn:
        raise EnvError(
            "GYM_SENTRY_DSN is not a DSN; copy it from the project's settings, as in https://key@host/1"
        ) from None
    ignore_logger("django.security.DisallowedHost")


def _without_secrets(value: Any) -> Any:
    """Apply `redacted` to all strings of an event."""
    if isinstance(value, dict):
        return {name: _without_secrets(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_without_secrets(item) for item in value]
    return redacted(value) if isinstance(value, str) else value
