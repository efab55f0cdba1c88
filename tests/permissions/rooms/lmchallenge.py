"""Who gets what: corpora and games of LM Challenge. They have no collaborators: bob and dora are strangers here."""

from __future__ import annotations

from tests.lmchallenge.site.worlds import LOG, make_corpus, play, upload
from tests.permissions.rooms import MEMBERS, OPEN, Row

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
    ("GET", "lmc-upload", [], MEMBERS),
    ("GET", "lmc-compare", [], OPEN),
    ("GET", "lmc-playground", [], MEMBERS),
    ("GET", "lmc-corpus", ["open-corpus"], OPEN),
    ("GET", "lmc-corpus", ["unlisted-corpus"], OPEN),
    ("GET", "lmc-corpus", ["private-corpus"], MINE),
    ("GET", "lmc-corpus-edit", ["open-corpus"], EDIT_OPEN),
    ("GET", "lmc-corpus-edit", ["private-corpus"], EDIT_MINE),
    ("GET", "lmc-corpus-download", ["open-corpus", "vocabulary.txt"], OPEN),
    ("GET", "lmc-corpus-download", ["open-corpus", "corpus.exe"], (404,) * 6),
    ("GET", "lmc-corpus-download", ["private-corpus", "corpus.txt"], MINE),
    ("GET", "lmc-start", ["open-corpus"], MEMBERS),
    ("GET", "lmc-start", ["private-corpus"], EDIT_MINE),
    ("GET", "lmc-game", ["open-game"], OPEN),
    ("GET", "lmc-game", ["private-game"], MINE),
    ("GET", "lmc-progress", ["open-game"], (286,) * 6),
    ("GET", "lmc-progress", ["private-game"], (404, 404, 404, 404, 286, 286)),
    ("GET", "lmc-edit", ["open-game"], EDIT_OPEN),
    ("GET", "lmc-edit", ["private-game"], EDIT_MINE),
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
    # REST API
    ("GET", "api-lmc-corpora", [], OPEN),
    ("POST", "api-lmc-corpora", [], SENDERS),
    ("GET", "api-lmc-corpus", ["open-corpus"], OPEN),
    ("GET", "api-lmc-corpus", ["private-corpus"], MINE),
    ("PATCH", "api-lmc-corpus", ["open-corpus"], API_OPEN),
    ("PATCH", "api-lmc-corpus", ["private-corpus"], API_MINE),
    ("GET", "api-lmc-corpus-file", ["open-corpus", "corpus.jsonl"], OPEN),
    ("GET", "api-lmc-corpus-file", ["private-corpus", "corpus.txt"], MINE),
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
    ("POST", "api-lmc-retry", ["open-game"], (401, 403, 403, 403, 409, 409)),
    ("POST", "api-lmc-retry", ["private-game"], (401, 404, 404, 404, 409, 409)),
    ("GET", "api-lmc-log", ["open-game", "lengths.log.gz"], OPEN),
    ("GET", "api-lmc-log", ["private-game", "targets.log"], MINE),
    ("GET", "api-lmc-statistics", ["open-game"], OPEN),
    ("GET", "api-lmc-statistics", ["private-game"], MINE),
    ("GET", "api-lmc-search", ["open-game"], OPEN),
    ("GET", "api-lmc-search", ["private-game"], (404,) * 6),
]
LAST: list[Row] = [
    ("DELETE", "api-lmc-game", ["doomed-game"], (401, 404, 404, 404, 204, 204)),
    ("DELETE", "api-lmc-corpus", ["doomed-corpus"], (401, 404, 404, 404, 204, 204)),
    ("POST", "lmc-delete", ["private-game"], ACT_MINE),
    ("POST", "lmc-delete", ["open-game"], ACT_OPEN),
    ("POST", "lmc-corpus-delete", ["private-corpus"], ACT_MINE),
    ("POST", "lmc-corpus-delete", ["open-corpus"], ACT_OPEN),
]
FORMS = ("lmc-playground", "lmc-corpus-new", "lmc-corpus-edit", "lmc-start", "lmc-upload", "lmc-edit")


def furnish(people, world) -> None:
    """alice's open, unlisted and private corpora; a game of ic for all, and an uploaded log for herself."""
    corpus = make_corpus(people.alice, "The cat sat.\n", slug="open-corpus")
    make_corpus(people.alice, "The cat sat.\n", slug="unlisted-corpus", visibility="unlisted")
    make_corpus(people.alice, "The cat sat.\n", slug="private-corpus", visibility="private")
    make_corpus(people.alice, "The cat sat.\n", slug="doomed-corpus", visibility="private")
    world["doomed-game"] = upload(people.alice, LOG, visibility="private").key
    world["open-game"] = play(corpus, people.alice, "ic").key
    world["private-game"] = upload(people.alice, LOG, visibility="private").key
