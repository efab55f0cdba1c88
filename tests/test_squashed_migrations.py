"""Squashed migrations make new databases; databases of earlier versions go on from the migration they have reached."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

Key = tuple[str, str]


@pytest.fixture(autouse=True)
def _migrations_of_the_site(settings, db):
    """Enable the site's migrations, which pytest switches off (`--nomigrations`)."""
    settings.MIGRATION_MODULES = {}


@pytest.fixture
def has(monkeypatch):
    """Return a loader of the migrations for a database that has applied some of them."""

    def loader(applied: Iterable[Key]) -> MigrationLoader:
        found = dict.fromkeys(applied)
        monkeypatch.setattr(MigrationRecorder, "applied_migrations", lambda _: dict(found))
        return MigrationLoader(connection)

    return loader


def replaced() -> list[Key]:
    return [key for migration in MigrationLoader(None).disk_migrations.values() for key in migration.replaces]


def plan(loader: MigrationLoader) -> list[Key]:
    return list(
        dict.fromkeys(key for leaf in loader.graph.leaf_nodes() for key in loader.graph.forwards_plan(leaf))
    )


def test_squashed_migrations_end_with_the_same_models_as_those_they_replace(has):
    now = has([]).project_state().models
    begun = has(key for key in replaced() if key[1] == "0001_initial")  # so that none can be skipped
    assert not {key for key in plan(begun) if "squashed" in key[1]}
    was = begun.project_state().models
    assert [key for key in sorted({*was, *now}) if was.get(key) != now.get(key)] == []


def test_an_upgrade_can_begin_at_every_migration(has):
    order = plan(has(key for key in replaced() if key[1] == "0001_initial"))
    for count in range(len(order) + 1):
        loader = has(order[:count])
        loader.check_consistent_history(connection)
        todo = MigrationExecutor(connection).migration_plan(loader.graph.leaf_nodes())
        done = [
            *order[:count],
            *(
                key
                for migration, _ in todo
                for key in migration.replaces or [(migration.app_label, migration.name)]
            ),
        ]
        assert sorted(done) == sorted(order)
