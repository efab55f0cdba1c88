"""Permissions: ProPara's answer sets and submissions. dora may view the private set and bob may edit it;
submissions belong to their submitters alone."""

from __future__ import annotations

from gym.propara import services
from tests.permissions.sections import (
    API_EDITORS,
    EDITORS,
    HIDDEN,
    INCOMPLETE,
    INCOMPLETE_EDITORS,
    INCOMPLETE_MINE,
    INCOMPLETE_OPEN,
    MEMBERS,
    OPEN,
    OWNER_ACTS,
    Row,
    leaving_rows,
    people_rows,
    share,
)
from tests.propara.worlds import LATE, LIGHT, hand_in, make_set, make_version

MINE = (404, 404, 404, 404, 200, 200)
EDIT_MINE = ("in", 404, 404, 404, 200, 200)
EDIT_OPEN = ("in", 403, 403, 403, 200, 200)
ACT_MINE = ("in", 404, 404, 404, 302, 302)
ACT_OPEN = ("in", 403, 403, 403, 302, 302)

SENDERS = (401, 400, 400, 400, 400, 400)
API_OPEN = (401, 403, 403, 403, 200, 200)
API_MINE = (401, 404, 404, 404, 200, 200)

ROWS: list[Row] = [
    ("GET", "propara-list", [], OPEN),
    ("GET", "propara-new", [], MEMBERS),
    ("POST", "propara-new", [], INCOMPLETE),
    ("POST", "propara-rescore", [], ("in", 403, 403, 403, 403, 302)),
    ("GET", "propara-set", ["open-answers"], OPEN),
    ("GET", "propara-set", ["unlisted-answers"], OPEN),
    ("GET", "propara-set", ["private-answers"], HIDDEN),
    ("GET", "propara-version", ["open-answers", 1], OPEN),
    ("GET", "propara-version", ["open-answers", 9], (404,) * 6),
    ("GET", "propara-version", ["private-answers", 1], HIDDEN),
    ("GET", "propara-download", ["open-answers", 1, "prompts.jsonl"], OPEN),
    ("GET", "propara-download", ["open-answers", 1, "exe"], (404,) * 6),
    ("GET", "propara-download", ["private-answers", 1, "answers.tsv"], HIDDEN),
    ("GET", "propara-answers", ["open-answers", 1, 7], OPEN),
    ("GET", "propara-answers", ["open-answers", 1, 8], (404,) * 6),
    ("GET", "propara-answers", ["private-answers", 1, 7], HIDDEN),
    ("GET", "propara-edit", ["open-answers"], EDIT_OPEN),
    ("POST", "propara-edit", ["open-answers"], INCOMPLETE_OPEN),
    ("GET", "propara-edit", ["private-answers"], EDITORS),
    ("POST", "propara-edit", ["private-answers"], INCOMPLETE_EDITORS),
    ("GET", "propara-version-new", ["open-answers"], EDIT_OPEN),
    ("POST", "propara-version-new", ["open-answers"], INCOMPLETE_OPEN),
    ("GET", "propara-version-new", ["private-answers"], EDITORS),
    ("POST", "propara-version-new", ["private-answers"], INCOMPLETE_EDITORS),
    ("GET", "propara-submit", ["open-answers", 1], MEMBERS),
    ("POST", "propara-submit", ["open-answers", 1], INCOMPLETE),
    ("GET", "propara-submit", ["private-answers", 1], ("in", 404, 200, 200, 200, 200)),
    ("POST", "propara-submit", ["private-answers", 1], ("in", 404, 400, 400, 400, 400)),
    ("GET", "propara-submission", ["open-submission"], OPEN),
    ("GET", "propara-submission", ["private-submission"], MINE),
    ("GET", "propara-submission", ["waiting-submission"], MINE),
    ("GET", "propara-submission-download", ["open-submission", "json"], OPEN),
    ("GET", "propara-submission-download", ["open-submission", "exe"], (404,) * 6),
    ("GET", "propara-submission-download", ["private-submission", "file"], MINE),
    ("GET", "propara-submission-edit", ["open-submission"], EDIT_OPEN),
    ("POST", "propara-submission-edit", ["open-submission"], INCOMPLETE_OPEN),
    ("GET", "propara-submission-edit", ["private-submission"], EDIT_MINE),
    ("POST", "propara-submission-edit", ["private-submission"], INCOMPLETE_MINE),
    ("POST", "propara-submission-agree", ["open-submission"], ACT_OPEN),
    ("POST", "propara-submission-agree", ["waiting-submission"], ACT_MINE),
    ("POST", "propara-submission-save", ["open-submission"], ACT_OPEN),
    ("POST", "propara-submission-save", ["checked-submission"], ACT_MINE),
    ("GET", "propara-submission", ["checked-submission"], MINE),
    ("POST", "propara-score-earlier", ["open-answers", 1], ACT_OPEN),
    ("POST", "propara-score-earlier", ["private-answers", 1], ("in", 404, 403, 302, 302, 302)),
    ("POST", "propara-score-on", ["open-submission", 1], ACT_OPEN),
    ("POST", "propara-score-on", ["private-submission", 1], ACT_MINE),
    ("GET", "propara-published", ["open-answers", 1], EDIT_OPEN),
    ("POST", "propara-published", ["open-answers", 1], INCOMPLETE_OPEN),
    ("GET", "propara-published", ["private-answers", 1], EDITORS),
    ("GET", "propara-published-edit", ["open-answers", 1, "published-result"], EDIT_OPEN),
    ("POST", "propara-published-edit", ["open-answers", 1, "published-result"], INCOMPLETE_OPEN),
    ("POST", "propara-published-known", ["open-answers", 1], ACT_OPEN),
    ("GET", "propara-process", ["open-submission", 7], OPEN),
    ("GET", "propara-process", ["open-submission", 8], (404,) * 6),
    ("GET", "propara-process", ["private-submission", 7], MINE),
    ("GET", "propara-compare", [], OPEN),
    ("GET", "propara-compare-download", ["differences.csv"], (404,) * 6),
    ("GET", "propara-compare-process", [7], (404,) * 6),
    ("GET", "propara-compare-former", ["open-submission", "other-submission"], (301,) * 6),
    ("GET", "propara-compare-former-process", ["open-submission", "other-submission", 7], (301,) * 6),
    *people_rows("propara", "api-propara-set", "private-answers", "open-answers", "bobs-answers-role"),
    # REST API
    ("GET", "api-propara-sets", [], OPEN),
    ("POST", "api-propara-sets", [], SENDERS),
    ("GET", "api-propara-set", ["open-answers"], OPEN),
    ("GET", "api-propara-set", ["private-answers"], HIDDEN),
    ("PATCH", "api-propara-set", ["open-answers"], API_OPEN),
    ("PATCH", "api-propara-set", ["private-answers"], API_EDITORS),
    ("POST", "api-propara-versions", ["open-answers"], (401, 403, 403, 403, 400, 400)),
    ("POST", "api-propara-versions", ["private-answers"], (401, 404, 403, 400, 400, 400)),
    ("GET", "api-propara-version", ["private-answers", 1], HIDDEN),
    ("GET", "api-propara-version-file", ["open-answers", 1, "answers.tsv"], OPEN),
    ("GET", "api-propara-version-file", ["private-answers", 1, "answers.tsv"], HIDDEN),
    ("GET", "api-propara-leaderboard", ["open-answers", 1], OPEN),
    ("GET", "api-propara-leaderboard", ["private-answers", 1], HIDDEN),
    ("POST", "api-propara-evaluate", [], SENDERS),
    ("GET", "api-propara-compare", [], (400,) * 6),
    ("GET", "api-propara-submissions", [], OPEN),
    ("POST", "api-propara-submissions", [], SENDERS),
    ("GET", "api-propara-submission", ["open-submission"], OPEN),
    ("GET", "api-propara-submission", ["private-submission"], MINE),
    ("PATCH", "api-propara-submission", ["open-submission"], API_OPEN),
    ("PATCH", "api-propara-submission", ["private-submission"], API_MINE),
    ("POST", "api-propara-agree", ["open-submission"], (401, 403, 403, 403, 400, 400)),
    ("POST", "api-propara-agree", ["private-submission"], (401, 404, 404, 404, 400, 400)),
    ("GET", "api-propara-report", ["open-submission"], OPEN),
    ("GET", "api-propara-report", ["private-submission"], MINE),
    ("GET", "api-propara-processes", ["private-submission"], MINE),
    ("GET", "api-propara-process", ["private-submission", 7], MINE),
    ("GET", "api-propara-file", ["open-submission", "report.txt"], OPEN),
    ("GET", "api-propara-file", ["private-submission", "file"], MINE),
]
LAST: list[Row] = [
    *leaving_rows("propara", "api-propara-set", "shared-answers", "bobs-other-answers-role"),
    ("POST", "propara-published-delete", ["open-answers", 1, "published-result"], ACT_OPEN),
    ("DELETE", "api-propara-submission", ["other-submission"], (401, 403, 403, 403, 204, 204)),
    ("DELETE", "api-propara-submission", ["doomed-submission"], (401, 404, 404, 404, 204, 204)),
    ("DELETE", "api-propara-set", ["doomed-answers"], (401, 404, 404, 404, 204, 204)),
    ("POST", "propara-submission-delete", ["private-submission"], ACT_MINE),
    ("POST", "propara-submission-delete", ["open-submission"], ACT_OPEN),
    ("POST", "propara-delete", ["private-answers"], OWNER_ACTS),
    ("POST", "propara-delete", ["open-answers"], ACT_OPEN),
]


def add_objects(people, world) -> None:
    """Create alice's public, unlisted and private answer sets, and her submissions to the public one."""
    version = make_version(people.alice, slug="open-answers")
    unlisted = make_set(people.alice, slug="unlisted-answers", visibility="unlisted")
    world["unlisted-answers"] = unlisted.slug
    for name, role in (
        ("private-answers", "bobs-answers-role"),
        ("shared-answers", "bobs-other-answers-role"),
    ):
        answer_set = make_set(people.alice, slug=name, visibility="private")
        share(answer_set, people)
        world[role] = answer_set.collaborations.get(user=people.bob).pk
    world["open-submission"] = hand_in(version, people.alice).key
    world["other-submission"] = hand_in(version, people.alice, LIGHT, system="right").key
    world["private-submission"] = hand_in(version, people.alice, LIGHT, visibility="private").key
    make_set(people.alice, slug="doomed-answers", visibility="private")
    world["doomed-submission"] = hand_in(version, people.alice, LIGHT, visibility="private").key
    world["waiting-submission"] = hand_in(version, people.alice, "\n" + LATE).key
    checked = services.check_first(version, LATE.encode(), "x.tsv", services.About("x"), actor=people.alice)
    world["checked-submission"] = checked.key
    for name in ("published-result", "doomed-result"):
        row = services.add_published(
            version, actor=people.alice, system=name, f1=0.5, citation=f"Paper of {name}"
        )
        world[name] = row.pk
