"""Addresses of static files contain a hash of the content once they are collected."""

from __future__ import annotations

import re

import pytest
from django.core.files.base import ContentFile

from gym.middleware import StaticFiles
from gym.static_files import HashedFiles

FILES = {
    "css/page.css": 'a { background: url("../img/dot.svg") }',
    "img/dot.svg": "<svg/>",
    "js/main.js": 'import "./part.js";\n',
    "js/part.js": "export const part = 1;\n",
}


@pytest.fixture
def storage(settings, tmp_path, monkeypatch):
    settings.STATIC_ROOT, settings.WHITENOISE_AUTOREFRESH = tmp_path, False
    storage = HashedFiles(location=tmp_path)
    for name, text in FILES.items():
        storage.save(name, ContentFile(text.encode()))
    assert all(done is not False for _, _, done in storage.post_process({n: (storage, n) for n in FILES}))
    monkeypatch.setattr("whitenoise.middleware.staticfiles_storage", storage)
    return storage


def test_files_that_name_others_name_their_hashed_addresses(storage, tmp_path):
    for name, other in {"css/page.css": "img/dot", "js/main.js": "part"}.items():
        text = (tmp_path / storage.stored_name(name)).read_text()
        assert re.search(rf"{other}\.[0-9a-f]{{12}}\.", text)


def test_hashed_addresses_are_kept_for_ever_and_others_revalidated(storage):
    served = StaticFiles(lambda request: None).files

    def cache_control(address: str) -> str:
        return dict(served[address].get_response("GET", {}).headers)["Cache-Control"]

    assert cache_control(storage.url("css/page.css")) == "max-age=315360000, public, immutable"
    assert cache_control("/static/css/page.css") == "max-age=60, public"


def test_a_file_that_was_not_collected_keeps_its_address(storage):
    assert storage.stored_name("css/newer.css") == "css/newer.css"
