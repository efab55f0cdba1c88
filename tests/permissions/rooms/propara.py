"""Who gets what: ProPara's answer sets and submissions. They have no collaborators: bob and dora are strangers here."""

from __future__ import annotations

from tests.permissions.rooms import MEMBERS, OPEN, Row
from tests.propara.site.worlds import LATE, LIGHT, hand_in, make_set, make_version

MINE = (404, 404, 404, 404, 200, 200)
EDIT_MINE = ("in", 404, 404, 404, 200, 200)
EDIT_OPEN = ("in", 403, 403, 403, 200, 200)
ACT_MINE = ("in", 404, 404, 404, 302, 302)
ACT_OPEN = ("in", 403, 403, 403, 302, 302)

ROWS: list[Row] = [
    ("GET", "propara-list", [], OPEN),
    ("GET", "propara-new", [], MEMBERS),
    ("POST", "propara-rescore", [], ("in", 403, 403, 403, 403, 302)),
    ("GET", "propara-set", ["open-answers"], OPEN),
    ("GET", "propara-set", ["unlisted-answers"], OPEN),
    ("GET", "propara-set", ["private-answers"], MINE),
    ("GET", "propara-version", ["open-answers", 1], OPEN),
    ("GET", "propara-version", ["open-answers", 9], (404,) * 6),
    ("GET", "propara-version", ["private-answers", 1], MINE),
    ("GET", "propara-download", ["open-answers", 1, "prompts.jsonl"], OPEN),
    ("GET", "propara-download", ["open-answers", 1, "exe"], (404,) * 6),
    ("GET", "propara-download", ["private-answers", 1, "answers.tsv"], MINE),
    ("GET", "propara-answers", ["open-answers", 1, 7], OPEN),
    ("GET", "propara-answers", ["open-answers", 1, 8], (404,) * 6),
    ("GET", "propara-answers", ["private-answers", 1, 7], MINE),
    ("GET", "propara-edit", ["open-answers"], EDIT_OPEN),
    ("GET", "propara-edit", ["private-answers"], EDIT_MINE),
    ("GET", "propara-version-new", ["open-answers"], EDIT_OPEN),
    ("GET", "propara-version-new", ["private-answers"], EDIT_MINE),
    ("GET", "propara-submit", ["open-answers", 1], MEMBERS),
    ("GET", "propara-submit", ["private-answers", 1], EDIT_MINE),
    ("GET", "propara-generate", ["open-answers", 1], MEMBERS),
    ("GET", "propara-generate", ["private-answers", 1], EDIT_MINE),
    ("GET", "propara-submission", ["open-submission"], OPEN),
    ("GET", "propara-submission", ["private-submission"], MINE),
    ("GET", "propara-submission", ["waiting-submission"], MINE),
    ("GET", "propara-submission-progress", ["open-submission"], (286,) * 6),
    ("GET", "propara-submission-progress", ["private-submission"], (404, 404, 404, 404, 286, 286)),
    ("GET", "propara-submission-download", ["open-submission", "json"], OPEN),
    ("GET", "propara-submission-download", ["open-submission", "exe"], (404,) * 6),
    ("GET", "propara-submission-download", ["private-submission", "file"], MINE),
    ("GET", "propara-submission-edit", ["open-submission"], EDIT_OPEN),
    ("GET", "propara-submission-edit", ["private-submission"], EDIT_MINE),
    ("POST", "propara-submission-agree", ["open-submission"], ACT_OPEN),
    ("POST", "propara-submission-agree", ["waiting-submission"], ACT_MINE),
    ("POST", "propara-submission-cancel", ["open-submission"], ("in", 403, 403, 403, 403, 403)),
    ("POST", "propara-submission-cancel", ["private-submission"], ("in", 404, 404, 404, 403, 403)),
    ("POST", "propara-submission-retry", ["private-submission"], ("in", 404, 404, 404, 403, 403)),
    ("GET", "propara-process", ["open-submission", 7], OPEN),
    ("GET", "propara-process", ["open-submission", 8], (404,) * 6),
    ("GET", "propara-process", ["private-submission", 7], MINE),
    ("GET", "propara-compare-pick", [], OPEN),
    ("GET", "propara-compare", ["open-submission", "other-submission"], OPEN),
    ("GET", "propara-compare", ["open-submission", "private-submission"], MINE),
    ("GET", "propara-compare-process", ["open-submission", "other-submission", 7], OPEN),
    ("GET", "propara-compare-process", ["open-submission", "private-submission", 7], MINE),
]
LAST: list[Row] = [
    ("POST", "propara-submission-delete", ["private-submission"], ACT_MINE),
    ("POST", "propara-submission-delete", ["open-submission"], ACT_OPEN),
    ("POST", "propara-delete", ["private-answers"], ACT_MINE),
    ("POST", "propara-delete", ["open-answers"], ACT_OPEN),
]
FORMS = (
    "propara-new",
    "propara-edit",
    "propara-version-new",
    "propara-submit",
    "propara-generate",
    "propara-submission-edit",
)


def furnish(people, world) -> None:
    """alice's open, unlisted and private answer sets, and submissions of hers to the open one."""
    version = make_version(people.alice, slug="open-answers")
    make_set(people.alice, slug="unlisted-answers", visibility="unlisted")
    make_set(people.alice, slug="private-answers", visibility="private")
    world["open-submission"] = hand_in(version, people.alice).key
    world["other-submission"] = hand_in(version, people.alice, LIGHT, system="right").key
    world["private-submission"] = hand_in(version, people.alice, LIGHT, visibility="private").key
    world["waiting-submission"] = hand_in(version, people.alice, "\n" + LATE).key
