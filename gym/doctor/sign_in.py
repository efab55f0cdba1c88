"""Checks of sign-in through other services, and of two-factor authentication."""

from __future__ import annotations

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.providers.oauth2.client import OAuth2Error
from django.conf import settings
from requests import RequestException

from gym.accounts.external import directory, kinds
from gym.accounts.external.oidc import checked_configuration
from gym.doctor.levels import BAD, OK, WARN, Finding
from gym.reachability import is_local_only

BROAD_BITS = {4: 8, 6: 16}
"""Shortest prefix, by IP version, of a network that can be one proxy's."""


def check() -> list[Finding]:
    return [*_half_configured(), *_issuers(), *_directory(), *_proxy(), *_without_effect(), *_second_factor()]


def _half_configured() -> list[Finding]:
    lines: list[Finding] = []
    for kind in kinds.KINDS.values():
        missing = [
            name for name in kind.missing if name != "GYM_PROXY_ADDRESSES" or settings.GYM_PROXY_USER_HEADER
        ]
        if missing and len(kind.missing) < len(kind.needs):
            lines.append((BAD, f"sign-in with {kind.name} is off: {', '.join(missing)} is not set"))
        elif kind.is_on and kind.id == "github":
            lines.append((OK, "sign-in with GitHub is on"))
    return lines


def _issuers() -> list[Finding]:
    """Fetch the discovery document of each OpenID Connect issuer."""
    lines: list[Finding] = []
    for kind in ("oidc", "orcid"):
        if not kinds.is_on(kind):
            continue
        name = f"GYM_{kind.upper()}_ISSUER"
        issuer = getattr(settings, name)
        try:
            with get_adapter().get_requests_session() as session:
                answer = session.get(f"{issuer}/.well-known/openid-configuration")
                answer.raise_for_status()
                checked_configuration(answer.json(), issuer)
        except RequestException as error:
            lines.append((BAD, f"the issuer {issuer} ({name}) cannot be used: {_cause(error)}"))
        except OAuth2Error as error:
            lines.append((BAD, f"{error} ({name})"))
        else:
            lines.append((OK, f"sign-in with {kinds.label_of(kind)}: {issuer}"))
    return lines


def _cause(error: Exception) -> str:
    """Return the cause of an error of requests without the address, which its text repeats."""
    status = getattr(getattr(error, "response", None), "status_code", None)
    if status is not None:
        return f"it responds with {status} to requests for /.well-known/openid-configuration"
    reason = getattr(error.args[0], "reason", error.args[0]) if error.args else error
    return str(reason).partition("): ")[2] or type(error).__name__


def _directory() -> list[Finding]:
    if not kinds.is_on("ldap"):
        return []
    if not directory.is_installed():
        return [
            (BAD, 'GYM_LDAP_URL needs django-auth-ldap, which is not installed: pip install "lm-gym[ldap]"')
        ]
    if "%(user)s" not in settings.GYM_LDAP_USER_FILTER:
        return [(BAD, "GYM_LDAP_USER_FILTER must contain %(user)s, as in (uid=%(user)s)")]
    if problem := directory.problem():
        return [(BAD, f"the directory {settings.GYM_LDAP_URL} cannot be used: {problem}")]
    lines = [(OK, f"sign-in with the directory {settings.GYM_LDAP_URL}")]
    if settings.GYM_LDAP_URL.startswith("ldap://") and not settings.GYM_LDAP_START_TLS:
        lines.append(
            (WARN, "passwords travel unencrypted to the directory: use ldaps:// or GYM_LDAP_START_TLS=1")
        )
    return lines


def _proxy() -> list[Finding]:
    if not kinds.is_on("proxy"):
        return []
    lines: list[Finding] = []
    for name in ("GYM_PROXY_USER_HEADER", "GYM_PROXY_EMAIL_HEADER", "GYM_PROXY_GROUPS_HEADER"):
        if "_" in getattr(settings, name):
            lines.append((BAD, f"{name}: the web server drops headers with underscores; use hyphens"))
    broad = [str(net) for net in settings.GYM_PROXY_ADDRESSES if net.prefixlen < BROAD_BITS[net.version]]
    if broad:
        wrong = f"GYM_PROXY_ADDRESSES={', '.join(broad)} lets anybody there sign in as anybody"
        lines.append((BAD, f"{wrong}. List the proxy's own addresses."))
    trusted = ", ".join(map(str, settings.GYM_PROXY_ADDRESSES))
    return lines or [(OK, f"{settings.GYM_PROXY_USER_HEADER} signs people in on connections from {trusted}")]


def _without_effect() -> list[Finding]:
    """Report settings that depend on others which are off."""
    lines: list[Finding] = []
    has_groups = any(kind.is_on and kind.has_groups for kind in kinds.KINDS.values())
    for name in ("GYM_SIGN_IN_GROUPS", "GYM_STAFF_GROUPS", "GYM_GROUP_MAP"):
        if getattr(settings, name) and not has_groups:
            lines.append((WARN, f"{name} has no effect without OpenID Connect, LDAP or a proxy's header"))
    for kind in settings.GYM_SIGN_UP_FROM:
        if not kinds.is_on(kind):
            lines.append((WARN, f"GYM_SIGN_UP_FROM={kind} has no effect: this kind of sign-in is off"))
        elif not settings.GYM_SIGN_UP and not kinds.takes_new_people(kind):
            lines.append(
                (WARN, f"GYM_SIGN_UP_FROM={kind} has no effect with GYM_SIGN_IN_GROUPS: it has no groups")
            )
    return lines


def _second_factor() -> list[Finding]:
    if settings.GYM_REQUIRE_2FA == "off":
        return []
    local = is_local_only(settings.ALLOWED_HOSTS, settings.GYM_LISTENS_ON)
    if not settings.HTTPS and not local:
        return [(WARN, "passkeys need HTTPS (GYM_HTTPS=1); without it only authenticator apps work")]
    return [(OK, f"two-factor authentication: GYM_REQUIRE_2FA={settings.GYM_REQUIRE_2FA}")]
