"""Large corpora and logs are streamed: memory does not grow with them."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lmgym.conftest import ROOT

PROGRAM = """
import resource, sys
from tests.lmgym.conftest import ROOT
from lmgym.lmchallenge import corpus, gzip_reader
from lmgym.lmchallenge.logs import log_rows
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.corpus_tools import CorpusInspector
from lmgym.lmchallenge.play.loop import play
from lmgym.lmchallenge.logs.decoder import read_lines
from lmgym.lmchallenge.logs.stats import statistics
from lmgym.lmchallenge.logs.table import read_table
from lmgym.lmchallenge.tokens import FILTERS

class Quiet:
    together = 16
    def predict(self, requests): return [[("cat", -1.0), ("the", -2.0)] for _ in requests]
    def train(self, text): pass
    def clear(self): pass
    def check(self): pass
    def close(self): pass

def text(n):
    for number in range(n):
        yield b"the cat sat on the mat number %d\\n" % number

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

def run(n, path):
    inspector = CorpusInspector("text")
    lines = inspector.inspect(corpus.read(text(n)))
    with open(path, "wb") as out:
        for line in play(lines, GameOptions("wp").build(), Quiet(), train=False):
            out.write(log_rows.line_of(line.row).encode())
    played = peak()
    with gzip_reader.opened(path) as stream:
        table = read_table(read_lines(stream), filters=list(FILTERS))
    for name in FILTERS:
        assert statistics(table.by(name))[0]["lines"] == n
    return played, peak()

run(2000, sys.argv[1])
small = peak()
played, counted = run(100_000, sys.argv[1])
print(played - small, counted - small)
"""


@pytest.mark.process
@pytest.mark.long
def test_a_corpus_of_a_hundred_thousand_lines_is_played_and_counted_in_bounded_memory(tmp_path: Path):
    """Playing keeps no finished lines in memory; counting keeps some tens of bytes per token (here 800,000
    tokens)."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "log")],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=ROOT,
    )
    played, counted = map(float, done.stdout.split())
    assert played < 16
    assert counted < 300
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss > 0


LINE = """
import resource, sys
from lmgym.lmchallenge import corpus
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.lmchallenge.play.loop import play

class Quiet:
    together = 16
    def predict(self, requests): return [[] for _ in requests]
    def train(self, text): pass
    def clear(self): pass
    def check(self, now=False): return False
    def close(self): pass

def run(game, kilobytes):
    words = ["word", "ward", "cord"]
    text = "word " * (kilobytes * 200)
    options = GameOptions(game, num_candidates=3)
    (played,) = play([corpus.Line(1, text)], options.build(words), Quiet())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

small = run(sys.argv[1], 1)
print(run(sys.argv[1], 60) - small)
"""


@pytest.mark.process
@pytest.mark.parametrize("game", ["wp", "tc", "ic"])
def test_memory_grows_with_the_line_and_not_with_its_square(game: str):
    """In a line of 60,000 characters, the 12,000 contexts would take 370 MB if all were held at once."""
    done = subprocess.run(
        [sys.executable, "-c", LINE, game],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=ROOT,
    )
    assert float(done.stdout) < 40
