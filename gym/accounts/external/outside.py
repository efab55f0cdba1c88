"""People whom the site's own machines vouch for: a directory that has checked their password, or a proxy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.providers.base import Provider, ProviderAccount
from django.http import HttpRequest


@dataclass(frozen=True)
class Person:
    """A person at another service, identified by a name that is never reassigned."""

    name: str
    email: str = ""
    first_name: str = ""
    last_name: str = ""
    groups: tuple[str, ...] = ()


class OutsideProvider(Provider):  # type: ignore[misc]  # allauth is untyped
    """allauth's view of a service without pages of its own. An address from there counts as confirmed."""

    uses_apps = False
    account_class = ProviderAccount

    def extract_uid(self, data: Person) -> str:
        return data.name

    def extract_extra_data(self, data: Person) -> dict[str, Any]:
        return {"username": data.name, "email": data.email, "groups": list(data.groups)}

    def extract_common_fields(self, data: Person) -> dict[str, Any]:
        return {"username": data.name, "first_name": data.first_name, "last_name": data.last_name}

    def extract_email_addresses(self, data: Person) -> list[EmailAddress]:
        return [EmailAddress(email=data.email, verified=True, primary=True)] if data.email else []


class LdapProvider(OutsideProvider):
    id = "ldap"
    name = "Directory"


class ProxyProvider(OutsideProvider):
    id = "proxy"
    name = "Proxy"


def login_of(
    request: HttpRequest, provider: type[OutsideProvider], person: Person, next_page: str
) -> SocialLogin:
    """Return the sign-in of a person, for `complete_social_login`."""
    login = provider(request).sociallogin_from_response(request, person)
    login.state = {"process": "login", "next": next_page}
    return login
