"""The kinds of sign-in, and which of them are configured."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings


@dataclass(frozen=True)
class Kind:
    """One kind of sign-in. It is on if every setting in `needs` has a value."""

    id: str
    name: str
    needs: tuple[str, ...]
    by_redirect: bool = False
    """The person is sent to the service's own page."""
    has_groups: bool = False
    """The service sends the groups of a person."""

    @property
    def label(self) -> str:
        return settings.GYM_OIDC_NAME if self.id == "oidc" else self.name

    @property
    def missing(self) -> list[str]:
        return [name for name in self.needs if not getattr(settings, name)]

    @property
    def is_on(self) -> bool:
        return not self.missing


KINDS = {
    kind.id: kind
    for kind in (
        Kind(
            "oidc",
            "OpenID Connect",
            ("GYM_OIDC_ISSUER", "GYM_OIDC_CLIENT_ID", "GYM_OIDC_CLIENT_SECRET"),
            by_redirect=True,
            has_groups=True,
        ),
        Kind("orcid", "ORCID", ("GYM_ORCID_CLIENT_ID", "GYM_ORCID_CLIENT_SECRET"), by_redirect=True),
        Kind("github", "GitHub", ("GYM_GITHUB_CLIENT_ID", "GYM_GITHUB_CLIENT_SECRET"), by_redirect=True),
        Kind("ldap", "Directory", ("GYM_LDAP_URL", "GYM_LDAP_USERS"), has_groups=True),
        Kind("proxy", "Proxy", ("GYM_PROXY_USER_HEADER", "GYM_PROXY_ADDRESSES"), has_groups=True),
    )
}


def is_on(kind: str) -> bool:
    return kind in KINDS and KINDS[kind].is_on


def any_on() -> bool:
    return any(kind.is_on for kind in KINDS.values())


def redirecting() -> list[Kind]:
    """Return the kinds that get a button on the sign-in page."""
    return [kind for kind in KINDS.values() if kind.by_redirect and kind.is_on]


def label_of(kind: str) -> str:
    """Return the name of a kind for people, even if it is no longer known."""
    return KINDS[kind].label if kind in KINDS else kind


def takes_new_people(kind: str) -> bool:
    """Return True if people without an account get one when they sign in this way. Services that report no groups
    cannot, where the site is for certain groups."""
    if settings.GYM_SIGN_IN_GROUPS and not KINDS[kind].has_groups:
        return False
    return bool(settings.GYM_SIGN_UP or kind in settings.GYM_SIGN_UP_FROM)
