"""`export_account`: everything that an account owns, without secrets, and its deletion in one step."""

from __future__ import annotations

import json
import zipfile
from hashlib import sha256

import pytest
from allauth.mfa.totp.internal.auth import TOTP
from allauth.socialaccount.models import SocialAccount
from django.core.management import CommandError, call_command

from gym.accounts.models import User
from gym.agents.models import AgentRun, AgentSuite
from gym.collections.models import Collection
from gym.lmchallenge.models import Corpus, Game
from gym.people.models import HumanData, PeopleComparison
from gym.propara.models import AnswerSet, Submission
from gym.runs.models import SuiteRun
from gym.secrets import sealed
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision
from tests.factories import make_revision
from tests.permissions.test_every_url import built, people, world  # noqa: F401  fixtures


@pytest.fixture
def exported(people, world, tmp_path):  # noqa: F811
    """Return a function that exports alice's account and returns {path: bytes}."""

    def export(*options: str) -> dict[str, bytes]:
        path = tmp_path / "alice.zip"
        call_command("export_account", "alice", "-o", str(path), *options)
        with zipfile.ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    return export


def test_every_object_of_the_account_is_in_the_zip(people, exported):  # noqa: F811
    files = exported()
    alice = people.alice
    keys = {
        "suites/": SuiteRevision.objects.filter(suite__owner=alice).count(),
        "models/": RegisteredModel.objects.filter(owner=alice).count(),
        "collections/": Collection.objects.filter(owner=alice).count(),
        "agents/suites/": AgentSuite.objects.filter(owner=alice).count(),
        "human-data/": 2 * HumanData.objects.filter(owner=alice).count(),
        "comparisons-with-people/": PeopleComparison.objects.filter(owner=alice).count(),
        "corpora/": Corpus.objects.filter(owner=alice).count(),
    }
    assert {folder: sum(name.startswith(folder) for name in files) for folder in keys} == keys
    assert all(keys.values())
    text = "\n".join(files)
    done = {
        SuiteRun: SuiteRun.objects.filter(owner=alice, completed_at__isnull=False),
        Submission: Submission.objects.filter(owner=alice),
        Game: Game.objects.filter(owner=alice, lines__gt=0),
        AgentRun: AgentRun.objects.filter(owner=alice, completed_at__isnull=False),
    }
    missing = [(kind.__name__, row.key) for kind, rows in done.items() for row in rows if row.key not in text]
    assert missing == []
    answers = AnswerSet.objects.filter(owner=alice).values_list("slug", flat=True)
    assert not [slug for slug in answers if f"propara/answers/{slug}-1.tsv" not in files]


def test_the_manifest_has_the_hash_of_every_other_file(exported):
    files = exported()
    manifest = json.loads(files.pop("manifest.json"))
    assert {entry["path"]: entry["sha256"] for entry in manifest["files"]} == {
        path: sha256(data).hexdigest() for path, data in files.items()
    }


def test_neither_secrets_nor_objects_of_others_are_in_it(people, exported):  # noqa: F811
    make_revision(people.bob, name="bobs-own")
    token = people.alice.api_tokens.get()
    secrets = sealed({}, {"api_key": "key-of-a-server"})
    RegisteredModel.objects.filter(owner=people.alice).update(secrets=secrets)
    data = b"".join(exported().values()).decode(errors="replace")
    private = [
        people.alice.password,
        token.digest,
        "key-of-a-server",
        *map(str, secrets.values()),
        "bobs-own",
    ]
    assert not [word for word in private if word in data]


def test_with_delete_the_account_is_gone_after_the_zip_is_written(exported):
    files = exported("--delete")
    assert json.loads(files["account.json"])["username"] == "alice"
    assert not User.objects.filter(username="alice").exists()
    assert not Suite.objects.filter(slug="drafted", owner__username="alice").exists()


def test_an_existing_file_is_not_replaced_and_the_account_stays(people, tmp_path):  # noqa: F811
    path = tmp_path / "kept"
    path.write_text("mine")
    with pytest.raises(CommandError, match="cannot be created: File exists"):
        call_command("export_account", "alice", "-o", str(path), "--delete")
    assert path.read_text() == "mine"
    assert User.objects.filter(username="alice").exists()


def test_a_failed_export_deletes_neither_account_nor_leaves_a_file(people, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.setattr("gym.pages.account_export.write_json", lambda document: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call_command("export_account", "alice", "-o", str(tmp_path / "a.zip"), "--delete")
    assert list(tmp_path.glob("*.zip")) == []
    assert User.objects.filter(username="alice").exists()


def test_ways_to_sign_in_are_in_the_zip_without_their_secrets(people, exported):  # noqa: F811
    alice = people.alice
    SocialAccount.objects.create(user=alice, provider="oidc", uid="a-17", extra_data={"name": "Alice"})
    TOTP.activate(alice, "JBSWY3DPEHPK3PXP")
    account = json.loads(exported()["account.json"])
    assert [(row["provider"], row["uid"]) for row in account["services"]] == [("oidc", "a-17")]
    assert [sorted(row) for row in account["second_factors"]] == [["created_at", "last_used_at", "type"]]
