"""Storage on the staff page: every byte is counted once, and incomplete counts are marked."""

from __future__ import annotations

import secrets

import pytest
from django.core.cache import cache

from gym.runs.models import ScoreCache
from gym.staff import storage
from tests.factories import make_model, make_revision


@pytest.fixture(autouse=True)
def _nothing_remembered():
    cache.clear()
    yield
    cache.clear()


def test_models_within_the_data_directory_count_once(db, settings, tmp_path):
    settings.VAR_DIR, settings.GYM_MODEL_DIR = tmp_path, tmp_path / "models"
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "weights").write_bytes(b"x" * 1000)
    (tmp_path / "log").write_bytes(b"x" * 10)
    assert storage.measure().folders == [("Model directory", 1000), ("Data directory, without models", 10)]


def test_models_elsewhere_count_by_themselves(db, settings, tmp_path):
    settings.VAR_DIR, settings.GYM_MODEL_DIR = tmp_path / "var", tmp_path / "models"
    for folder in (settings.VAR_DIR, settings.GYM_MODEL_DIR):
        folder.mkdir()
        (folder / "file").write_bytes(b"x" * 5)
    assert storage.measure().folders == [("Model directory", 5), ("Data directory", 5)]


def test_a_folder_with_too_many_files_says_at_least(client, people, settings, tmp_path, monkeypatch):
    settings.VAR_DIR, settings.GYM_MODEL_DIR = tmp_path, tmp_path / "none"
    for number in range(5):
        (tmp_path / str(number)).write_bytes(b"x" * 100)
    assert storage.size_of(tmp_path, most=5) == (500, False)
    assert storage.size_of(tmp_path, most=4) == (400, True)
    whole = storage.size_of
    monkeypatch.setattr(storage, "size_of", lambda path, skip: whole(path, skip, most=4))
    client.force_login(people.staff)
    assert "at least 400" in client.get("/staff/").content.decode()


def test_links_are_not_followed(tmp_path):
    (tmp_path / "file").write_bytes(b"x" * 7)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    (tmp_path / "around").symlink_to(tmp_path)
    assert storage.size_of(tmp_path) == (7, False)


def test_tables_and_database_are_in_bytes(people):
    before = dict(storage.measure().tables)
    ScoreCache.objects.bulk_create(
        ScoreCache(scorer="x", text_sha256=str(n), scores={"bits": secrets.token_hex(2000)})
        for n in range(100)
    )
    found = storage.measure()
    after = dict(found.tables)
    assert after["Scored sentences"] - before["Scored sentences"] > 250_000
    assert found.database >= sum(after.values()) - after["Everything else"] > 0
    assert found.cached == 100


def test_they_are_looked_up_every_few_minutes_only(people, django_assert_num_queries):
    storage.storage()
    make_model(people.alice)
    make_revision(people.alice)
    with django_assert_num_queries(0):
        storage.storage()
