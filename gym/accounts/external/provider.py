"""The providers that allauth finds."""

from allauth.socialaccount.providers.github.provider import GitHubProvider

from gym.accounts.external.oidc import OidcProvider
from gym.accounts.external.outside import LdapProvider, ProxyProvider

provider_classes = [OidcProvider, GitHubProvider, LdapProvider, ProxyProvider]
