"""Sign-in through other services, on top of django-allauth: OpenID Connect, ORCID, GitHub, LDAP, and a header set by a
proxy. Every service leads to a `SocialLogin`, and from there on to the same rules (`adapters.py`)."""
