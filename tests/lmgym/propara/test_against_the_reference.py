"""Comparison with the reference on random and randomly damaged files. Runs where GYM_PROPARA_REFERENCE names
its evaluator.py (allenai/aristo-leaderboard, propara/evaluator); it is not part of this repository.

One process of the reference answers all cases, so that thousands take minutes and not hours;
benchmarks/propara/bench.py compares whole programs. GYM_PROPARA_CASES sets the number of cases,
GYM_PROPARA_SEED their seed.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lmgym.propara.recorded import run
from tests.lmgym.propara.worlds import shipped, track

REFERENCE = os.environ.get("GYM_PROPARA_REFERENCE", "")
CASES = int(os.environ.get("GYM_PROPARA_CASES", "500"))
SEED = int(os.environ.get("GYM_PROPARA_SEED", "1"))
MAX_STEP = 10_000
pytestmark = [
    pytest.mark.foreign,
    pytest.mark.skipif(not REFERENCE, reason="set GYM_PROPARA_REFERENCE to the reference's evaluator.py"),
]

NAMES = ("water", "water; vapor", "ice ; snow", "a AND b", "the sun", "oil;", " gas ", "Ōsaka", "x OR y", "")
PLACES = (
    *(
        "sea",
        "the sea",
        "The Sea",
        "seas",
        "a pond",
        "pond OR lake",
        "?",
        "-",
        "sky AND sea",
        "null",
        "unk",
        "Null",
    ),
    *(
        "",
        " ",
        "another   pond",
        "skies",
        "dying",
        "sky AND the sky",
        "sun OR ",
        "organization",
        "étang",
        "the the sea",
    ),
)
CELLS = (
    *(
        "",
        " ",
        "-",
        "?",
        "x",
        "1",
        "0",
        "-1",
        "+2",
        "01",
        "1_0",
        "1.0",
        "٣",
        "99",
        "NONE",
        "MOVE",
        "CREATE",
        "DESTROY",
    ),
    *("none", "null", "unk", "the sea", "sea AND the sea", "\ufeff1", "a\u2028b", "\x0c", "\x85"),
)
ENDS = ("\n", "\r\n", "\r")


@dataclass
class Outcome:
    code: int
    out: str
    metrics: str | None
    diagnostics: str | None


@pytest.fixture(scope="module")
def reference():
    """Run the reference's main() in a process with PYTHONHASHSEED=0, the seed of the recorded cases."""
    server = Path(__file__).with_name("reference_server.py")
    command = [sys.executable, str(server), str(Path(REFERENCE).resolve().parent)]
    environment = {**os.environ, "PYTHONHASHSEED": "0"}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin
        assert process.stdout

        def main(*arguments: str | None) -> tuple[int, str]:
            process.stdin.write(json.dumps([os.getcwd(), *arguments]) + "\n")
            process.stdin.flush()
            code, out = json.loads(process.stdout.readline())
            return code, out

        yield main
        process.stdin.close()


def theirs(main, predictions: str, answers: str, sentences: str | None) -> Outcome:
    return Outcome(*main(answers, predictions, "metrics.json", "diagnostics.txt", sentences), *written())


def ours(predictions: str, answers: str, sentences: str | None) -> Outcome:
    arguments = ["evaluate", "-p", predictions, "-a", answers, "-o", "metrics.json", "-d", "diagnostics.txt"]
    done = run([*arguments, *(["-s", sentences] if sentences else [])])
    assert done.err.startswith("Error: ") == (done.code == 1)
    return Outcome(done.code, done.out, *written())


def written() -> list[str | None]:
    found: list[str | None] = []
    for path in (Path("metrics.json"), Path("diagnostics.txt")):
        found.append(path.read_text(encoding="utf-8") if path.exists() else None)
        path.unlink(missing_ok=True)
    return found


def world(rng: random.Random) -> tuple[str, str, str]:
    """Return answers, predictions and sentences, either random or from the shipped answer set."""
    if rng.random() < 0.25:
        return shipped("answers"), shipped(rng.choice(["answers", "hasty"])), shipped("sentences")
    told: list[str] = []
    files: list[list[str]] = [[], []]
    for process in rng.sample(range(60), rng.randint(1, 4)):
        steps = rng.randint(1, 6)
        told += [f"{process}\t{step}\tSentence {step}.\n" for step in range(1, steps + 1)]
        for name in rng.sample(NAMES, rng.randint(1, 4)):
            where = [rng.choice(PLACES) for _ in range(steps + 1)]
            for rows in files:
                if rng.random() < 0.4:
                    where = [rng.choice([place, rng.choice(PLACES)]) for place in where]
                if rng.random() < 0.3:
                    where = [place for place in where for _ in range(2)][: steps + 1]
                rows += ["\t".join(map(str, row)) + "\n" for row in track(process, name, where)]
    return "".join(files[0]), "".join(files[1]), "".join(told)


def spoilt(text: str, rng: random.Random) -> str:
    """Change, double, drop, swap or cut a few rows or cells."""
    rows = text.splitlines(keepends=True) or ["\n"]
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at = rng.randrange(len(rows))
        cells = rows[at].rstrip("\n").split("\t")
        match rng.randrange(9):
            case 0 | 1 | 2:
                cells[rng.randrange(len(cells))] = rng.choice(CELLS)
            case 3:
                cells.insert(rng.randrange(len(cells) + 1), rng.choice(CELLS))
            case 4:
                del cells[rng.randrange(len(cells))]
            case 5:
                rows.insert(rng.randrange(len(rows) + 1), rows[at])
                continue
            case 6 if len(rows) > 1:
                del rows[at]
                continue
            case 7:
                rng.shuffle(rows)
                continue
            case _:
                rows.insert(at, rng.choice(["\n", " \n", "\t\n", "process\tsentence\tx\ty\tz\tz\n"]))
                continue
        rows[at] = "\t".join(cells) + "\n"
    return "".join(rows)


def varied(text: str, rng: random.Random) -> bytes:
    """Randomly change the line endings, strip the final ones, and append a byte that is not UTF-8."""
    if rng.random() < 0.2:
        text = text.replace("\n", rng.choice(ENDS))
    if rng.random() < 0.1:
        text = text.rstrip("\r\n")
    data = text.encode()
    return data + b"\xff" if rng.random() < 0.02 else data


def test_fresh_cases_give_what_the_reference_gives(reference, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = random.Random(SEED)
    codes: list[int] = []
    for number in range(CASES):
        case = f"case {number} of seed {SEED}"
        texts = dict(zip(("a.tsv", "p.tsv", "s.tsv"), world(rng), strict=True))
        for name in rng.choice(
            [(), ("p.tsv",), ("p.tsv",), ("p.tsv",), ("a.tsv",), ("a.tsv", "p.tsv"), ("s.tsv",)]
        ):
            texts[name] = spoilt(texts[name], rng)
        for name, text in texts.items():
            Path(name).write_bytes(varied(text, rng))
        sentences = "s.tsv" if rng.random() < 0.4 else None
        wanted, given = theirs(reference, "p.tsv", "a.tsv", sentences), ours("p.tsv", "a.tsv", sentences)
        codes.append(wanted.code)
        assert given == wanted, case
        plain = run(["evaluate", "-p", "p.tsv", "-a", "a.tsv", "-o", "metrics.json"])
        if sentences is None:
            assert (plain.code, plain.out, written()[0]) == (
                given.code,
                given.out.removeprefix("Writing diagnostics to file diagnostics.txt\n"),
                given.metrics,
            ), case
        written()
    assert CASES < 100 or all(codes.count(code) > CASES / 20 for code in (0, 1, 2))
