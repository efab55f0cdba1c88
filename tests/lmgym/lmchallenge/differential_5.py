"""Random games of version 5 for both programs, as in differential.py for version 4. Run by the reference's
own Python, this file plays a list of games with the reference."""

from __future__ import annotations

import io
import json
import random
import sys
from collections.abc import Iterator
from typing import Any

import differential

MODEL = "differential_5:Model"
PATTERNS = [
    "$alpha", "$alphaonly", "$emoji", "$alphaemoji", "$nospace", "^t", "~a", r"\p{L}+$", "$user=a", "$message=[01]",
    "$token=0", "$character=1.*",
]  # fmt: skip


class Model(differential.Model):
    """The model of version 4 with keyword options. Its scores are log probabilities, including infinite
    ones."""

    def __init__(self, **options: Any) -> None:
        super().__init__(options)


def games(rand: random.Random, count: int, folder: str) -> Iterator[dict[str, Any]]:
    """Yield cases of `run`; their vocabularies are written into `folder`."""
    for number in range(count):
        form = rand.choice(["text", "json"])
        options = ["-t"] if rand.random() < 0.5 else []
        options += ["-f", form] if rand.random() < 0.5 else []
        options += ["-o", '{"salt": 7, "name": "é"}'] if rand.random() < 0.2 else []
        game = rand.choice(["wc", "we", "ce", "wr"])
        after: list[str] = []
        if game == "wc":
            after = ["-p"] if rand.random() < 0.3 else []
        elif game == "wr":
            after = differential.correction(rand, f"{folder}/vocabulary.{number}")
        text = differential.corpus(rand, form).replace('"userId"', '"user"')
        yield {"argv": ["run", *options, MODEL, game, *after], "stdin": text}


def readings(rand: random.Random, log: str, other: str) -> Iterator[list[str]]:
    """Yield the arguments of commands that read the log `log`; some also read `other`, a log of the same
    texts.
    """
    few = ["-n", str(rand.randrange(1, 9))] if rand.random() < 0.3 else []
    yield ["stats", *few, log]
    yield ["stats", "-H", log, other]
    yield ["stats", "-o", "csv", log]
    keep = ["-k", rand.choice(["all", "message", "token"])]
    yield ["grep", *keep, rand.choice(PATTERNS), log]
    yield ["grep", *keep, "-a", rand.choice(PATTERNS), rand.choice(PATTERNS), log]
    yield ["pretty", log]
    yield ["diff", other, log]


def main() -> None:
    """Play the cases from standard input with the reference."""
    import lmchallenge  # type: ignore[import-not-found]
    from lmchallenge import run
    from ordered import Ordered  # type: ignore[import-not-found]  # benchmarks/lmchallenge is on the path there

    run.set = Ordered  # type: ignore[attr-defined]
    answers: list[list[str | None]] = []
    cases, written = json.load(sys.stdin), sys.stdout
    for case in cases:
        raw = case["stdin"].encode("utf-8", "surrogatepass")
        sys.stdin = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", newline="\n")
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogatepass", newline="")
        sys.stdout, error = out, None
        try:
            lmchallenge.cli.main(args=case["argv"], standalone_mode=False)
        except Exception as found:  # its name is the answer
            error = type(found).__name__
        sys.stdout = written
        out.flush()
        answers.append([out.buffer.getvalue().decode("utf-8", "surrogatepass"), error])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
