"""Languages by tag, English name and own name, and their direction."""

from __future__ import annotations

import pytest

from lmgym.suites.languages import LANGUAGES, is_right_to_left, name_of, tag_of


@pytest.mark.parametrize(
    ("typed", "tag"),
    [
        ("German", "de"),
        ("deutsch", "de"),
        ("DE", "de"),
        ("zh-hans", "zh-Hans"),
        ("German (de)", "de"),
        ("tlh", "tlh"),
        ("", ""),
        ("not stated", ""),
        ("Klingon", None),
        ("two words", None),
        ("?", None),
    ],
)
def test_a_language_is_found_by_name_or_tag(typed, tag):
    assert tag_of(typed) == tag


def test_names_of_languages_are_read_back():
    assert all(tag_of(name_of(tag)) == tag for tag in LANGUAGES)
    assert (name_of("de-CH"), name_of("tlh"), name_of("")) == ("German (de-CH)", "tlh", "not stated")


@pytest.mark.parametrize("tag", ["ar", "ar-EG", "he", "fa", "ur", "yi", "ckb", "ku-Arab", "pa-Arab-PK", "AR"])
def test_languages_from_the_right(tag):
    assert is_right_to_left(tag)


@pytest.mark.parametrize("tag", ["", "en", "ja", "ar-Latn", "ku", "tr", "und"])
def test_other_languages(tag):
    assert not is_right_to_left(tag)
