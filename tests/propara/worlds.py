"""Factories of answer sets and submissions."""

from __future__ import annotations

from typing import Any

from gym.accounts.models import User
from gym.propara import services
from gym.propara.models import AnswerSet, AnswerSetVersion, Submission
from tests.lmgym.propara.worlds import LIGHT, shipped, tsv

SENTENCES = "".join(
    f"7\t{number}\t{text}\n"
    for number, text in enumerate(
        ["Gas gathers in a star.", "It becomes light.", "The light flies into space.", "It falls on soil."], 1
    )
)
LATE = tsv(
    "7 1 gas NONE star star",
    "7 2 gas NONE star star",
    "7 3 gas DESTROY star -",
    "7 4 gas NONE - -",
    "7 1 light;~rays NONE - -",
    "7 2 light;~rays NONE - -",
    "7 3 light;~rays CREATE - star",
    "7 4 light;~rays MOVE star ocean",
)
"""All events one step late, and one wrong location."""


def make_set(owner: User, *, slug: str = "light", visibility: str = "public", **more: Any) -> AnswerSet:
    answers = more.pop("answers", LIGHT)
    sentences = more.pop("sentences", SENTENCES)
    return services.create_answer_set(
        answers.encode(),
        sentences.encode(),
        actor=owner,
        title=more.pop("title", slug.capitalize()),
        slug=slug,
        visibility=visibility,
        **more,
    )


def make_version(owner: User, **more: Any) -> AnswerSetVersion:
    version = make_set(owner, **more).latest
    assert version is not None
    return version


def make_shipped(owner: User) -> AnswerSetVersion:
    return make_version(owner, slug="shipped", answers=shipped("answers"), sentences=shipped("sentences"))


def hand_in(
    version: AnswerSetVersion,
    owner: User,
    text: str = LATE,
    *,
    system: str = "late",
    visibility: str = "public",
) -> Submission:
    about = services.About(system, visibility=visibility)
    return services.submit(version, text.encode(), f"{system}.tsv", about, actor=owner)
