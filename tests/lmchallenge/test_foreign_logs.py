"""Logs of other programs: every accepted log can be shown, however odd its structure and however large its
numbers."""

from __future__ import annotations

import gzip
import html
import io
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.urls import reverse
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gym.lmchallenge import storage
from gym.lmchallenge.downloads import offered
from gym.lmchallenge.models import Game
from gym.lmchallenge.storage import reduced
from lmgym.lmchallenge.errors import LogError
from lmgym.lmchallenge.logs import coloured, log_rows, pretty
from lmgym.lmchallenge.logs.decoder import read_lines, read_rows
from lmgym.lmchallenge.logs.interpolation import Mix, Tokens
from tests.lmchallenge.worlds import make_corpus, play, run_alone, upload

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=2),
    max_leaves=3,
)
SCORE = st.floats() | st.integers(-9, 9) | st.none()
TEXT = st.text(max_size=4)


def entry(**fields: st.SearchStrategy[object]) -> st.SearchStrategy[dict[str, object]]:
    """Return a strategy for objects with any of these fields, each valid or arbitrary."""
    return st.fixed_dictionaries({}, optional={name: kind | ANYTHING for name, kind in fields.items()})


PREDICTIONS = st.lists(st.tuples(TEXT, SCORE) | ANYTHING, max_size=4)
COUNT = st.integers(0, 300) | st.just(5_000_000_000)
RANKED = entry(target=TEXT, targetChars=COUNT, rank=st.integers(0, 9), score=SCORE, predictions=PREDICTIONS)
CORRECTED = entry(
    target=TEXT,
    targetChars=COUNT,
    verbatim=TEXT,
    verbatimMatch=st.booleans(),
    score=st.tuples(st.floats(), SCORE),
    candidates=st.lists(st.tuples(TEXT, st.floats(), SCORE) | ANYTHING, max_size=3),
)
ROWS = st.sampled_from(["wp", "tc", "ic"]).flatmap(
    lambda game: st.fixed_dictionaries(
        {log_rows.RESULT_KEYS[game]: st.lists(CORRECTED if game == "ic" else RANKED, min_size=1, max_size=3)},
        optional={"userId": ANYTHING},
    )
)


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(ROWS, st.sampled_from(["all", "alphaemoji", "alphaonly"]))
def test_whatever_a_log_may_hold_can_be_shown(row, keep):
    line = json.dumps(row).encode()
    try:
        ((_, found),) = read_rows([line + b"\n"])
        ((_, decoded),) = read_lines([line + b"\n"])
        if decoded.game == "ic":  # as counting does before anything is shown
            Tokens.of(
                [entry.candidates for entry in decoded.entries], [entry.score for entry in decoded.entries]
            )
    except LogError:
        return
    mix = Mix(0.5, -1.0) if decoded.game == "ic" else None
    pieces = list(
        coloured.pieces(pretty.spans(decoded, keep, mix, "corrected", coloured.MOST_STARS), mix, None)
    )
    assert sum(len(piece.words) for piece in pieces) < 20_000
    for form in offered(Game()):
        log_rows.line_of(reduced(found, form))


ODD = [
    {"wordPredictions": [{"target": "a", "rank": 1, "score": "high"}]},
    {"wordPredictions": [{"target": "a", "predictions": [["b", None]]}]},
    {"wordPredictions": [{"target": "a", "predictions": ["b", "c"]}]},
    {"wordPredictions": [{"target": "a", "predictions": None}]},
    {"wordPredictions": [{"target": "a", "predictions": [["b", 1.0, 2], [], 3]}]},
    {"textCompletions": [{"target": "a", "rank": 0, "score": [1]}]},
    {"wordPredictions": [{"targetChars": 3.0, "rank": 2.0, "score": -1}]},
]


@pytest.mark.django_db
@pytest.mark.parametrize("row", ODD, ids=json.dumps)
def test_every_page_of_an_odd_log_is_there(client, people, row):
    game = upload(people.alice, json.dumps(row) + "\n")
    assert game.is_counted, game.problem
    for name in ("lmc-game", "lmc-text"):
        assert client.get(reverse(name, args=[game.key]), {"line": 1}).status_code == 200
    for form in ("targets", "lengths", "predictions"):
        if offered(game)[form]:
            answer = client.get(reverse("lmc-download", args=[game.key, f"{form}.log"]))
            assert b"".join(answer.streaming_content)


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["wordPredictions", "textCompletions"])
def test_a_few_bytes_that_stand_for_millions_of_characters_are_told_and_not_drawn(client, people, key):
    game = upload(people.alice, json.dumps({key: [{"targetChars": 5_000_000_000}]}) + "\n")
    answer = client.get(reverse("lmc-text", args=[game.key])).content.decode()
    assert "5,000,000,000 characters" in answer
    assert answer.count("*") < 2_000


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_that_would_fill_the_memory_is_named_and_not_decoded(monkeypatch, packed):
    monkeypatch.setattr(storage, "LINE_BYTES", 200)
    line = json.dumps({"wordPredictions": [{"target": "a"}]}).encode() + b"\n"
    for long in (b" " * 200 + line, b"x" * 100_000):
        data = line + long + line
        stream = io.BytesIO(gzip.compress(data) if packed else data)
        with pytest.raises(LogError, match=r"my\.log, line 2: more than 0 MB"):
            list(storage.parse_upload(stream, "my.log", 1_000_000, storage.LogContents()))
    fits = line.rstrip().ljust(199) + b"\n"
    (rows,) = storage.parse_upload(io.BytesIO(line + fits), "my.log", 1_000_000, storage.LogContents())
    assert len(rows) == 2


@pytest.mark.django_db
def test_ranks_of_text_completion_are_shown_from_one_with_what_the_log_says(client, people):
    for ranks, first, last in (((0, 2), "1 (0 in the log)", "3 (2 in the log)"), ((1, 3), "1", "3")):
        entries = [{"target": "ab", "rank": rank, "score": -1} for rank in ranks]
        game = upload(people.alice, json.dumps({"textCompletions": entries}) + "\n")
        answer = client.get(reverse("lmc-text", args=[game.key]), {"line": 1}).content.decode()
        assert f'<td class="num">{first}</td>' in answer
        assert f'<td class="num">{last}</td>' in answer


CANDIDATES = [["a", -1, -2], ["b", -3, None]]
PAIRS = {"score": [-1, -2], "candidates": CANDIDATES}


@pytest.mark.parametrize(
    "entry",
    [
        {"target": "a", "verbatim": "b"},
        {"target": "a", "verbatim": "b", "verbatimMatch": None},
        {"target": "a", "verbatimMatch": False},
        {"target": None, "targetChars": 1, "verbatim": "b"},
        {"targetChars": 1, "verbatim": "b", "verbatimMatch": False},
    ],
    ids=json.dumps,
)
def test_a_log_in_lengths_holds_no_word(entry):
    row = {"inputCorrections": [{**entry, **PAIRS}]}
    ((_, read),) = read_rows([json.dumps(row).encode()])
    assert reduced(read, "lengths")["inputCorrections"] == [
        {"targetChars": 1, "verbatimMatch": False, "score": [-1, -2], "candidates": [[-1, -2], [-3, None]]}
    ]


WP = "".join(
    json.dumps({"wordPredictions": [{"target": word, "rank": 1, "score": -1} for word in line.split()]})
    + "\n"
    for line in [
        "The cat sat on the mat .",
        "The cat sat on the red mat .",
        "",
        "Is the dog on the mat ? No !",
    ]
)


@pytest.mark.django_db
def test_a_log_is_filed_under_the_corpus_that_was_played(client, people):
    corpus = make_corpus(people.alice)
    client.force_login(people.alice)
    answer = client.post(
        reverse("lmc-upload"), {"file": a_file(WP), "visibility": "public", "corpus": corpus.slug}
    )
    assert answer.status_code == 302
    game = run_alone(Game.objects.get())
    text = client.get(game.get_absolute_url()).content.decode()
    assert "All tokens match the corpus: 4 of 4 lines." in text
    assert game.fingerprint == play(corpus, people.alice).fingerprint
    part = upload(people.alice, "".join(WP.splitlines(keepends=True)[1:3]), corpus=corpus)
    text = client.get(part.get_absolute_url()).content.decode()
    assert "All tokens match the corpus: lines 2 to 3 of 4." in text


@pytest.mark.django_db
def test_a_log_of_another_text_is_refused_at_the_first_place_and_can_be_kept_without_a_corpus(client, people):
    corpus = make_corpus(people.alice)
    client.force_login(people.alice)
    data = "\n" + WP.replace('"red"', '"big"')
    given = {"visibility": "private"}
    answer = client.post(reverse("lmc-upload"), {**given, "file": a_file(data), "corpus": corpus.slug})
    assert answer.status_code == 400
    text = html.unescape(answer.content.decode())
    assert "my.log, line 3: the logged text does not match the corpus." in text
    assert "Token 6 is 'big'; in line 2 of the corpus it is 'red'." in text
    assert "Choose the corpus that was played, or none." in text
    assert not Game.objects.exists()
    assert client.post(reverse("lmc-upload"), {**given, "file": a_file(data)}).status_code == 302
    assert run_alone(Game.objects.get()).is_counted


def a_file(text: str) -> SimpleUploadedFile:
    return SimpleUploadedFile("my.log", text.encode())


def downloaded(client, game, form):
    answer = client.get(reverse("lmc-download", args=[game.key, f"{form}.log"]))
    return b"".join(answer.streaming_content) if answer.status_code == 200 else None


@pytest.mark.django_db
def test_what_a_log_holds_is_not_read_off_its_last_line(client, people):
    rows = [{"wordPredictions": [{"target": "word", "predictions": [["dog", -1]]}]}, {"wordPredictions": []}]
    game = upload(people.alice, "".join(f"{json.dumps(row)}\n" for row in rows))
    assert b"dog" in downloaded(client, game, "predictions")
    assert b"dog" not in downloaded(client, game, "targets")
    hidden = [{"wordPredictions": [{"targetChars": 4}]}, {"wordPredictions": []}]
    game = upload(people.alice, "".join(f"{json.dumps(row)}\n" for row in hidden))
    assert not game.has_targets
    assert downloaded(client, game, "targets") is None


@pytest.mark.django_db
@pytest.mark.parametrize("form", ["wp", "ic"])
def test_a_log_that_is_hidden_in_part_shows_no_word_where_lengths_are_asked(client, people, form):
    rows = {
        "wp": [{"wordPredictions": [{"target": "secret"}]}, {"wordPredictions": [{"targetChars": 4}]}],
        "ic": [
            {
                "inputCorrections": [
                    {
                        "targetChars": 6,
                        "verbatimMatch": True,
                        "score": [-1, -2],
                        "candidates": [["secret", -1, -2]],
                    }
                ]
            }
        ],
    }[form]
    game = upload(people.alice, "".join(f"{json.dumps(row)}\n" for row in rows))
    assert b"secret" not in downloaded(client, game, "lengths")
    assert b"secret" in downloaded(client, game, "targets")


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"trainingChars": "many"}, "Line 2 of the log: trainingChars is 'many'"),
        (
            {
                "inputCorrections": [
                    {"target": "a", "verbatim": "a", "score": [-1, -2], "candidates": [["a", -1, "x"]]}
                ]
            },
            "the log, line 2: 'x' is not a score",
        ),
    ],
    ids=["trainingChars", "candidates"],
)
def test_a_line_that_cannot_be_counted_is_refused_before_anything_is_kept(people, change, words):
    row = {"inputCorrections": [{"target": "a", "verbatim": "a", **PAIRS}]}
    with pytest.raises(LogError, match=words):
        upload(people.alice, f"{json.dumps(row)}\n{json.dumps({**row, **change})}\n")
    assert not Game.objects.exists()
