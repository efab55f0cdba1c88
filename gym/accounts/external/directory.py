"""Passwords checked by an LDAP directory (lm-gym[ldap]). django-auth-ldap searches for the entry and binds as it; which
account the person gets is decided as for every other service."""

from __future__ import annotations

import logging
from functools import cache
from importlib.util import find_spec
from typing import Any

from django.conf import settings
from django.http import HttpRequest

from gym.accounts.external import kinds
from gym.accounts.external.outside import Person
from gym.accounts.models import User

logger = logging.getLogger(__name__)
SECONDS = 5
NAMES = ("uid", "sAMAccountName")
"""Attributes with the name of an entry, which identifies the person. The typed name is another one if the filter also
finds people by their address."""


class Unreachable(Exception):
    """The directory does not answer, or refuses the site itself."""


def is_installed() -> bool:
    return find_spec("django_auth_ldap") is not None


def is_on() -> bool:
    return kinds.is_on("ldap") and is_installed()


def person(request: HttpRequest, username: str, password: str) -> Person | None:
    """Return the person with this name and password; None if the directory knows no such person. Raises Unreachable."""
    if not (username and password):  # servers take an empty password for an anonymous bind, which succeeds
        return None
    backend = _backend_class()()
    backend.settings = _settings()
    found: Any = backend.authenticate(request, username=username, password=password)
    if found is None:
        return None
    entry = found.ldap_user

    def first(*names: str) -> str:
        return next((str(entry.attrs[name][0]) for name in names if entry.attrs.get(name)), "")

    name = first(*NAMES) or username
    return Person(
        name=name.casefold(),
        email=first("mail"),
        first_name=first("givenName"),
        last_name=first("sn"),
        groups=_groups(entry.connection, entry.dn, name) if settings.GYM_LDAP_GROUPS else (),
    )


def problem() -> str:
    """Bind as the site and look for the folders of people and groups. Return what is wrong; empty if nothing is."""
    import ldap

    try:
        connection = ldap.initialize(settings.GYM_LDAP_URL)
        for option, value in _options().items():
            connection.set_option(option, value)
        if _starts_tls():
            connection.start_tls_s()
        connection.simple_bind_s(settings.GYM_LDAP_BIND_DN, settings.GYM_LDAP_BIND_PASSWORD)
        for folder in filter(None, (settings.GYM_LDAP_USERS, settings.GYM_LDAP_GROUPS)):
            connection.search_s(folder, ldap.SCOPE_BASE)
    except ldap.LDAPError as error:
        return _words(error)
    return ""


def _groups(connection: Any, dn: str, name: str) -> tuple[str, ...]:
    """Return the names (cn) of groups of any usual class: groupOfNames, groupOfUniqueNames, posixGroup. Raises
    Unreachable."""
    import ldap
    from ldap.filter import filter_format

    members = filter_format("(|(member=%s)(uniqueMember=%s)(memberUid=%s))", [dn, dn, name])
    try:
        rows = connection.search_s(settings.GYM_LDAP_GROUPS, ldap.SCOPE_SUBTREE, members, ["cn"])
    except ldap.LDAPError as error:
        raise Unreachable(_words(error)) from error
    return tuple(sorted(cn.decode() for dn, row in rows if dn for cn in row.get("cn", [])))


@cache
def _backend_class() -> Any:
    """Return a backend that touches no rows: it authenticates an unsaved user. Errors of the directory, which
    django-auth-ldap would take for a wrong password, are raised as Unreachable."""
    from django_auth_ldap.backend import LDAPBackend, ldap_error

    class Directory(LDAPBackend):  # type: ignore[misc]  # an optional package
        def get_or_build_user(self, username: str, ldap_user: Any) -> tuple[User, bool]:
            return User(username=username), False

    def unreachable(exception: Exception, **more: Any) -> None:
        raise Unreachable(_words(exception)) from exception

    ldap_error.connect(unreachable, sender=Directory, weak=False)
    return Directory


def _settings() -> Any:
    import ldap
    from django_auth_ldap.config import LDAPSearch, LDAPSettings

    chosen = LDAPSettings(prefix="GYM_NO_LDAP_")  # the defaults, whatever AUTH_LDAP_ settings there are
    chosen.SERVER_URI = settings.GYM_LDAP_URL
    chosen.BIND_DN = settings.GYM_LDAP_BIND_DN
    chosen.BIND_PASSWORD = settings.GYM_LDAP_BIND_PASSWORD
    chosen.START_TLS = _starts_tls()
    chosen.CONNECTION_OPTIONS = _options()
    chosen.USER_SEARCH = LDAPSearch(
        settings.GYM_LDAP_USERS, ldap.SCOPE_SUBTREE, settings.GYM_LDAP_USER_FILTER
    )
    chosen.ALWAYS_UPDATE_USER = False
    return chosen


def _options() -> dict[int, int]:
    import ldap

    return {ldap.OPT_NETWORK_TIMEOUT: SECONDS, ldap.OPT_TIMEOUT: SECONDS, ldap.OPT_REFERRALS: 0}


def _starts_tls() -> bool:
    return settings.GYM_LDAP_START_TLS and settings.GYM_LDAP_URL.startswith("ldap://")


def _words(error: Exception) -> str:
    """Return the description of an LDAP error, which comes as a dictionary."""
    details = error.args[0] if error.args and isinstance(error.args[0], dict) else {}
    words = [str(details[name]) for name in ("desc", "info") if details.get(name)]
    return ": ".join(words) or type(error).__name__
