"""Signing in with the password of an LDAP directory: Debian's slapd on loopback, and lm-gym[ldap]."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from gym.accounts.models import User

PROGRAM = shutil.which("slapd") or "/usr/sbin/slapd"
MISSING = [
    name
    for name, there in (
        ("slapd (apt-get install slapd)", os.access(PROGRAM, os.X_OK)),
        ("django-auth-ldap (lm-gym[ldap])", find_spec("django_auth_ldap") is not None),
    )
    if not there
]
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}"),
]

LOGIN, SIGN_UP = "/accounts/login/", "/accounts/services/sign-up/"
CONFIGURATION = """
include /etc/ldap/schema/core.schema
include /etc/ldap/schema/cosine.schema
include /etc/ldap/schema/nis.schema
include /etc/ldap/schema/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/slapd.pid
database mdb
directory {folder}/data
suffix "dc=example,dc=org"
rootdn "cn=site,dc=example,dc=org"
rootpw "password of the site"
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="cn=site,dc=example,dc=org" read by * none
"""
PEOPLE = """
dn: dc=example,dc=org
objectClass: dcObject
objectClass: organization
o: Example
dc: example

dn: ou=people,dc=example,dc=org
objectClass: organizationalUnit
ou: people

dn: ou=groups,dc=example,dc=org
objectClass: organizationalUnit
ou: groups

dn: uid=anna,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: anna
cn: Anna Lind
givenName: Anna
sn: Lind
mail: anna@example.org
userPassword: sesame

dn: uid=alice,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: alice
cn: Another Alice
sn: Other
userPassword: elsewhere

dn: cn=lab,ou=groups,dc=example,dc=org
objectClass: groupOfNames
cn: lab
member: uid=anna,ou=people,dc=example,dc=org

dn: cn=gym-admins,ou=groups,dc=example,dc=org
objectClass: posixGroup
cn: gym-admins
gidNumber: 1
memberUid: anna
"""


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    folder: Path = tmp_path_factory.mktemp("ldap")
    (folder / "data").mkdir()
    (folder / "slapd.conf").write_text(CONFIGURATION.format(folder=folder))
    (folder / "people.ldif").write_text(PEOPLE)
    configuration = ["-f", str(folder / "slapd.conf")]
    subprocess.run([PROGRAM, "-T", "add", *configuration, "-l", str(folder / "people.ldif")], check=True)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = subprocess.Popen([PROGRAM, "-d", "0", *configuration, "-h", f"ldap://127.0.0.1:{port}"])
    try:
        for _ in range(100):
            with socket.socket() as client:
                if client.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"ldap://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def directory(address, settings, db):
    settings.GYM_LDAP_URL, settings.GYM_LDAP_START_TLS = address, False
    settings.GYM_LDAP_BIND_DN = "cn=site,dc=example,dc=org"
    settings.GYM_LDAP_BIND_PASSWORD = "password of the site"
    settings.GYM_LDAP_USERS = "ou=people,dc=example,dc=org"
    settings.GYM_LDAP_GROUPS = "ou=groups,dc=example,dc=org"
    settings.GYM_STAFF_GROUPS = ["gym-admins"]
    settings.GYM_SIGN_IN_GROUPS = ["lab"]
    return settings


def sign_in(client, username="anna", password="sesame", **more):
    return client.post(LOGIN, {"username": username, "password": password, **more})


def signed_in(client) -> str:
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key).username if key else ""


def test_a_person_of_the_directory_gets_one_account(client, directory):
    assert sign_in(client, next="/suites/").url == SIGN_UP
    assert client.post(SIGN_UP, {"username": "anna"}).url == "/suites/"
    client.post("/accounts/logout/")
    assert sign_in(client, "ANNA").url == "/"
    anna = User.objects.get()
    assert (signed_in(client), anna.email, anna.get_full_name(), anna.is_staff) == (
        "anna",
        "anna@example.org",
        "Anna Lind",
        True,
    )
    assert not anna.has_usable_password()


@pytest.mark.parametrize(
    ("username", "password"),
    [("anna", "wrong"), ("anna", ""), ("nobody", "x"), ("*", "sesame"), ("a)(", "x")],
)
def test_whoever_is_not_in_the_directory_stays_out(client, directory, username, password):
    assert sign_in(client, username, password).status_code == 200
    assert not client.session.get("socialaccount_sociallogin")


def test_groups_decide(client, directory):
    directory.GYM_SIGN_IN_GROUPS = ["another lab"]
    assert sign_in(client).status_code == 403


def test_the_local_account_of_that_name_is_another_one(client, people, directory):
    directory.GYM_SIGN_IN_GROUPS = []
    assert sign_in(client, "alice", "alice").url == "/"
    assert signed_in(client) == "alice"
    client.post("/accounts/logout/")
    assert sign_in(client, "alice", "elsewhere").url == SIGN_UP
    assert client.post(SIGN_UP, {"username": "alice"}).status_code == 400


def test_a_directory_that_is_down_is_told_from_a_wrong_password(client, people, directory):
    from gym.doctor import sign_in as doctor

    assert doctor._directory()[0][0] == doctor.OK
    directory.GYM_LDAP_BIND_PASSWORD = "wrong"
    assert "Invalid credentials" in doctor._directory()[0][1]
    directory.GYM_LDAP_URL = "ldap://127.0.0.1:1"
    assert "cannot be used: Can't contact LDAP server" in doctor._directory()[0][1]
    assert "directory does not answer" in sign_in(client).content.decode()
    assert sign_in(client, "alice", "alice").url == "/"
