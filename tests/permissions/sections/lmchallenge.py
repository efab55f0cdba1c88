"""Permissions: corpora and games of LM Challenge. dora may view the private corpus and bob may edit it; games
belong to their players alone."""

from __future__ import annotations

from tests.lmchallenge.worlds import LOG, make_corpus, play, upload
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

MINE = (404, 404, 404, 404, 200, 200)
EDIT_MINE = ("in", 404, 404, 404, 200, 200)
EDIT_OPEN = ("in", 403, 403, 403, 200, 200)
ACT_MINE = ("in", 404, 404, 404, 302, 302)
ACT_OPEN = ("in", 403, 403, 403, 302, 302)

SENDERS = (401, 400, 400, 400, 400, 400)
API_OPEN = (401, 403, 403, 403, 200, 200)
API_MINE = (401, 404, 404, 404, 200, 200)

ROWS: list[Row] = [
    ("GET", "lmc-list", [], OPEN),
    ("GET", "lmc-corpus-new", [], MEMBERS),
    ("POST", "lmc-corpus-new", [], INCOMPLETE),
    ("GET", "lmc-upload", [], MEMBERS),
    ("POST", "lmc-upload", [], INCOMPLETE),
    ("GET", "lmc-compare", [], OPEN),
    ("GET", "lmc-compare-csv", [], (404,) * 6),
    ("GET", "lmc-compare-text", [], (404,) * 6),
    ("GET", "lmc-corpus", ["open-corpus"], OPEN),
    ("GET", "lmc-corpus", ["unlisted-corpus"], OPEN),
    ("GET", "lmc-corpus", ["private-corpus"], HIDDEN),
    ("GET", "lmc-corpus-edit", ["open-corpus"], EDIT_OPEN),
    ("POST", "lmc-corpus-edit", ["open-corpus"], INCOMPLETE_OPEN),
    ("GET", "lmc-corpus-edit", ["private-corpus"], EDITORS),
    ("POST", "lmc-corpus-edit", ["private-corpus"], INCOMPLETE_EDITORS),
    ("GET", "lmc-corpus-download", ["open-corpus", "corpus.jsonl"], OPEN),
    ("GET", "lmc-corpus-download", ["open-corpus", "corpus.exe"], (404,) * 6),
    ("GET", "lmc-corpus-download", ["private-corpus", "corpus.txt"], HIDDEN),
    ("GET", "lmc-start", ["open-corpus"], MEMBERS),
    ("POST", "lmc-start", ["open-corpus"], INCOMPLETE),
    ("GET", "lmc-start", ["private-corpus"], ("in", 404, 200, 200, 200, 200)),
    ("POST", "lmc-start", ["private-corpus"], ("in", 404, 400, 400, 400, 400)),
    ("GET", "lmc-game", ["open-game"], OPEN),
    ("GET", "lmc-game", ["private-game"], MINE),
    ("GET", "lmc-progress", ["open-game"], (286,) * 6),
    ("GET", "lmc-progress", ["private-game"], (404, 404, 404, 404, 286, 286)),
    ("GET", "lmc-edit", ["open-game"], EDIT_OPEN),
    ("POST", "lmc-edit", ["open-game"], INCOMPLETE_OPEN),
    ("GET", "lmc-edit", ["private-game"], EDIT_MINE),
    ("POST", "lmc-edit", ["private-game"], INCOMPLETE_MINE),
    ("POST", "lmc-cancel", ["open-game"], ACT_OPEN),
    ("POST", "lmc-cancel", ["private-game"], ACT_MINE),
    ("POST", "lmc-retry", ["open-game"], ACT_OPEN),
    ("POST", "lmc-retry", ["private-game"], ACT_MINE),
    ("GET", "lmc-text", ["open-game"], OPEN),
    ("GET", "lmc-text", ["private-game"], MINE),
    ("GET", "lmc-search", ["open-game"], OPEN),
    ("GET", "lmc-search", ["private-game"], (404,) * 6),
    ("GET", "lmc-download", ["open-game", "targets.log"], OPEN),
    ("GET", "lmc-download", ["open-game", "targets.exe"], (404,) * 6),
    ("GET", "lmc-download", ["private-game", "statistics.json"], MINE),
    *people_rows("lmc-corpus", "api-lmc-corpus", "private-corpus", "open-corpus", "bobs-corpus-role"),
    # REST API
    ("GET", "api-lmc-corpora", [], OPEN),
    ("POST", "api-lmc-corpora", [], SENDERS),
    ("GET", "api-lmc-corpus", ["open-corpus"], OPEN),
    ("GET", "api-lmc-corpus", ["private-corpus"], HIDDEN),
    ("PATCH", "api-lmc-corpus", ["open-corpus"], API_OPEN),
    ("PATCH", "api-lmc-corpus", ["private-corpus"], API_EDITORS),
    ("GET", "api-lmc-corpus-file", ["open-corpus", "corpus.jsonl"], OPEN),
    ("GET", "api-lmc-corpus-file", ["private-corpus", "corpus.txt"], HIDDEN),
    ("GET", "api-lmc-players", [], OPEN),
    ("GET", "api-lmc-games", [], OPEN),
    ("POST", "api-lmc-games", [], SENDERS),
    ("POST", "api-lmc-logs", [], SENDERS),
    ("GET", "api-lmc-compare", [], (400,) * 6),
    ("GET", "api-lmc-game", ["open-game"], OPEN),
    ("GET", "api-lmc-game", ["private-game"], MINE),
    ("PATCH", "api-lmc-game", ["open-game"], API_OPEN),
    ("PATCH", "api-lmc-game", ["private-game"], API_MINE),
    ("POST", "api-lmc-cancel", ["open-game"], (401, 403, 403, 403, 409, 409)),
    ("POST", "api-lmc-cancel", ["private-game"], (401, 404, 404, 404, 409, 409)),
    ("GET", "api-lmc-log", ["open-game", "lengths.log.gz"], OPEN),
    ("GET", "api-lmc-log", ["private-game", "targets.log"], MINE),
    ("GET", "api-lmc-statistics", ["open-game"], OPEN),
    ("GET", "api-lmc-statistics", ["private-game"], MINE),
]
LAST: list[Row] = [
    ("POST", "lmc-count-again", ["open-game"], ACT_OPEN),
    ("POST", "lmc-count-again", ["private-game"], ACT_MINE),
    *leaving_rows("lmc-corpus", "api-lmc-corpus", "shared-corpus", "bobs-other-corpus-role"),
    ("DELETE", "api-lmc-game", ["doomed-game"], (401, 404, 404, 404, 204, 204)),
    ("DELETE", "api-lmc-corpus", ["doomed-corpus"], (401, 404, 404, 404, 204, 204)),
    ("POST", "lmc-delete", ["private-game"], ACT_MINE),
    ("POST", "lmc-delete", ["open-game"], ACT_OPEN),
    ("POST", "lmc-corpus-delete", ["private-corpus"], OWNER_ACTS),
    ("POST", "lmc-corpus-delete", ["open-corpus"], ACT_OPEN),
]


def add_objects(people, world) -> None:
    """Create alice's public, unlisted and private corpora, a public ic game, and private uploaded logs."""
    corpus = make_corpus(people.alice, "The cat sat.\n", slug="open-corpus")
    unlisted = make_corpus(people.alice, "The cat sat.\n", slug="unlisted-corpus", visibility="unlisted")
    world["unlisted-corpus"] = unlisted.slug
    for name, role in (("private-corpus", "bobs-corpus-role"), ("shared-corpus", "bobs-other-corpus-role")):
        shared = make_corpus(people.alice, "The cat sat.\n", slug=name, visibility="private")
        share(shared, people)
        world[role] = shared.collaborations.get(user=people.bob).pk
    make_corpus(people.alice, "The cat sat.\n", slug="doomed-corpus", visibility="private")
    world["doomed-game"] = upload(people.alice, LOG, visibility="private").key
    world["open-game"] = play(corpus, people.alice, "ic").key
    world["private-game"] = upload(people.alice, LOG, visibility="private").key
