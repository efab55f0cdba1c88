"""A small world of results to draw, and ways to look at drawings."""

from __future__ import annotations

import struct
import zlib
from urllib.parse import urlencode

import pytest
import vl_convert
from django.urls import reverse

from gym.evaluations import services
from gym.jobs.testing import run_pending
from gym.results.figure_views import KINDS
from suites.services import set_tags
from tests.conversations import site as agents
from tests.factories import make_model, make_revision
from tests.lmchallenge.site import worlds as lmc
from tests.propara.site import worlds as propara
from tests.results.worlds import finished_run


@pytest.fixture
def world(people):
    """Two checkpoints of one model with sizes and perplexities, on a suite, its modified twin and a third."""
    models = [
        make_model(people.alice, slug=f"m{k}", parameters=10**k * 5000, perplexity=90.0 - 10 * k,
                   tags=["group:ours", f"step:{k}000"])
        for k in (1, 2)
    ]  # fmt: skip
    for name, tag in (("embed", "a"), ("embed_mod", "a"), ("npi", "b"), ("npi_two", "b")):
        revision = make_revision(people.alice, name=name, items=4)
        set_tags(revision.suite, [tag])
        finished_run(revision, models[0], [1, 0, 0, 1])
        finished_run(revision, models[1], [1, 1, 0, 1])
    revision = make_revision(people.alice, name="scored")
    run = services.queue_run(revision, models[0], actor=people.alice)
    run_pending()
    of_run = {"run": run.key, "prediction": "0", "item": "1"}
    queries = {kind: {"of": "m1"} for kind in KINDS} | {
        kind: of_run for kind in KINDS if kind.startswith("run-")
    }
    queries["compare-suites"] = {"model": "m1,m2"}
    queries["compare-items"] = {"model": "m1,m2", "suite": "npi"}
    queries |= {"suite-models": {"suite": "scored", "r": "1"}, **_neighbours(people)}
    return queries | {"run": run.key}


def _neighbours(people):
    """A game with a mixture, two systems' answers, a tested agent."""
    corpus = lmc.make_corpus(people.alice, lmc.USERS.replace("u1", "u0").replace("u2", "u0"))
    game = lmc.play(corpus, people.alice, "ic")
    learner = lmc.play(corpus, people.alice, "wp", train=True)
    version = propara.make_version(people.alice)
    submissions = [propara.hand_in(version, people.alice, system=name) for name in ("late", "later")]
    run_pending()
    suite = agents.make_suite(people.alice)
    server = agents.make_server(people.alice)
    for _ in range(2):
        agents.make_run(suite, server)
    return {
        "lmc-search": {"game": game.key},
        "lmc-learning": {"game": learner.key},
        "propara-board": {"set": version.answer_set.slug, "v": "1"},
        "propara-actions": {"submission": submissions[0].key},
        "agent-matrix": {"suite": suite.slug},
        "agent-suite-trend": {"suite": suite.slug},
        "agent-trend": {"suite": suite.slug, "case": str(agents.make_case(suite).pk)},
    }


def address(kind, form, world):
    return f"{reverse('figure', args=[kind, form])}?{urlencode(world[kind])}"


def pixels(svg: str) -> bytes:
    """Gray values, row by row; the converter's PNG has 8-bit RGBA."""
    png = bytes(vl_convert.svg_to_png(svg, scale=1))
    place, data, width, depth, kind = 8, b"", 0, 0, 0
    while place < len(png):
        length, name = struct.unpack(">I4s", png[place : place + 8])
        body = png[place + 8 : place + 8 + length]
        if name == b"IHDR":
            width, _, depth, kind = struct.unpack(">IIBB", body[:10])
        data += body if name == b"IDAT" else b""
        place += length + 12
    assert (depth, kind) == (8, 6)
    return _unfiltered(zlib.decompress(data), 4 * width)[1::4]


def _unfiltered(data: bytes, stride: int) -> bytes:
    """PNG's five line filters undone (PNG specification, section 9)."""
    out = bytearray()
    before = bytearray(stride)
    for start in range(0, len(data), stride + 1):
        how, line = data[start], bytearray(data[start + 1 : start + 1 + stride])
        for i in range(stride):
            left = line[i - 4] if i > 3 else 0
            corner = before[i - 4] if i > 3 else 0
            up = before[i]
            p = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(p - v))
            line[i] = (line[i] + (0, left, up, (left + up) // 2, paeth)[how]) & 255
        out += line
        before = line
    return bytes(out)


def ink(gray: bytes) -> int:
    return sum(value < 192 for value in gray)
