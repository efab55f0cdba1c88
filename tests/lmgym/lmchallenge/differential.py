"""Random games for both programs. Run by the reference's own Python, this file plays a list of games with the
reference: `REFERENCE_PYTHON differential.py < cases.json`. It needs no other code of this project.

A case is the arguments of `lmc` and its standard input; an answer is [standard output, name of the error or null].
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import sys
from collections.abc import Iterable, Iterator
from typing import Any

MODEL = "differential:Model"
FILTERS = ["all", "nospace", "nomarker", "alpha", "alphaonly", "alphaemoji", "emoji"]
ODD = (
    "the cat sat on a mat can't I you e-mail @BOB @ #tag 3.14 x_y naïve Ünïcode cafe\u0301 猫が好き Привет "
    "שלום مرحبا हिन्दी ไทย ß Ⅷ ½ ² ª ǅ — – … :-) !? ((( ¿que? don’t 🍕 👍🏽 👨‍👩‍👧 🇬🇧 ❤️ 🥹 !💩 💩! ☃ © ™ € 𝒳 𐐷 "
    "\u200b \u200d \ufeff \u00ad \u2028 \u0085 \u3000 \u00a0 \x1c \x0b \x7f ¨ ǂ ʼ ゛ ﬁ Å ٣ _ ‿ ﹏ ~ ` ^ $ + < = > |"
)
SPACED = [
    "👍 🏽",
    "☝ 🏻",
    "🇨 🇦 🇹",
    "x🇧 🇫🇷",
    "# \ufe0f \u20e3",
    "👨 \u200d 👩",
    "👏 👏",
    "!👍 🏽",
    "🇨 ",
    "🏽 👍",
    "❤ \ufe0f",
]
"""Emoji that the reference's list spells with spaces: complete, partial, and attached to other characters."""
WORDS = [*ODD.split(" "), *SPACED]


class Model:
    """Deterministic model that learns. Its replies depend on a hash of the context."""

    def __init__(self, options: dict[str, Any]) -> None:
        self.options = options
        self.learnt: list[str] = []

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def predict(self, context: str, candidates: Iterable[str] | None) -> list[tuple[str, float]]:
        """Return scores with many ties. Some candidates are missing, some texts are repeated, and lists have
        various lengths."""
        seed = hashlib.md5(
            repr((context, len(self.learnt), self.options)).encode("utf-8", "surrogatepass"),
            usedforsecurity=False,
        )
        rand = random.Random(seed.digest())
        if candidates is not None:
            return [
                (word, self._score(word, context)) for word in candidates if self._score(word, "keep") > -4.5
            ]
        pool = [
            *WORDS[:40],
            *(f"{word} " for word in WORDS[:10]),
            "",
            "t",
            "th",
            " ",
            " c",
            *self.learnt[-20:],
        ]
        found = [rand.choice(pool) for _ in range(rand.randrange(12))]
        return [(word, self._score(word, context)) for word in found]

    def _score(self, word: str, context: str) -> float:
        digest = hashlib.md5(f"{word}|{len(context)}".encode("utf-8", "surrogatepass"), usedforsecurity=False)
        number = digest.digest()[0]
        if number > 253:
            return math.inf if number & 1 else -math.inf
        return -number / 3 if number & 1 else -float(number // 50)

    def train(self, text: str) -> None:
        self.learnt.extend(text.split())

    def clear(self) -> None:
        self.learnt = []


def text(rand: random.Random) -> str:
    """Generate a line of arbitrary text without newlines."""
    parts = rand.choices(WORDS, k=rand.choice([0, 1, 2, 5, 9]))
    gaps = ["", " ", " ", " ", "  ", "\t", ", ", "\u00a0", "\r\r"]
    return "".join(part + rand.choice(gaps) for part in parts)


def corpus(rand: random.Random, form: str) -> str:
    """Generate a few lines, sometimes without a final newline."""
    lines = [text(rand) for _ in range(rand.randrange(1, 9))]
    if form == "json":
        lines = [json.dumps(_row(rand, line), ensure_ascii=rand.random() < 0.5) for line in lines]
    return "\n".join(lines) + rand.choice(["\n", "\r\n", ""])


def _row(rand: random.Random, line: str) -> dict[str, Any]:
    row: dict[str, Any] = {"text": line}
    if rand.random() < 0.8:
        row["userId"] = rand.choice(["a", "a", "a", "b", "ü", 1, 1.0, True, None, 2.5, ""])
    if rand.random() < 0.7:
        row["timestamp"] = rand.choice([1, 1, 1.0, 2, None, "2", 0])
    if rand.random() < 0.2:
        row["place"] = rand.choice(["x", {"b": 1, "a": [None, 0.1, "é"]}, -0.0, 1e300, "\U0001f600"])
    return row


def games(rand: random.Random, count: int, folder: str) -> Iterator[dict[str, Any]]:
    """Yield cases of `run`; their vocabularies are written into `folder`."""
    for number in range(count):
        form = rand.choice(["text", "json"])
        options = ["-t"] if rand.random() < 0.5 else []
        options += ["-W"] if rand.random() < 0.3 else []
        options += ["-o", '{"salt": 7, "name": "é"}'] if rand.random() < 0.2 else []
        game = rand.choice(["wp", "tc", "ic"])
        after: list[str] = []
        if game == "wp":
            after = ["-p"] if rand.random() < 0.5 else []
        elif game == "tc":
            after = ["-n", str(rand.choice([0, 1, 2, 3, 50]))] if rand.random() < 0.7 else []
        else:
            after = correction(rand, f"{folder}/vocabulary.{number}")
        yield {"argv": ["run", "-f", form, *options, MODEL, game, *after], "stdin": corpus(rand, form)}


def correction(rand: random.Random, path: str) -> list[str]:
    """Return options of ic or wr, and write their vocabulary to `path`."""
    words = rand.choices(WORDS, k=rand.randrange(60))
    words += ["".join(rand.choices("thecaosnm", k=rand.randrange(1, 5))) for _ in range(rand.randrange(60))]
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write("\n".join(words) + rand.choice(["", "\n", "\r\n"]))
    options = ["-r", str(rand.randrange(1, 99)), "-n", str(rand.choice([1, 2, 3, 8, 100]))]
    if rand.random() < 0.5:
        options += ["-p", str(rand.choice([0.01, 0.3, 0.9]))]
    if rand.random() < 0.5:
        options += ["--error-chars", rand.choice(["x", "abc", "é猫🍕", "-", "@#"])]
    return [*options, path]


def readings(rand: random.Random, game: str, log: str, other: str) -> Iterator[list[str]]:
    """Yield the arguments of commands that read the log `log`; some also read `other`, a log of the same
    texts.
    """
    keep = rand.choice(FILTERS)
    mix = json.dumps(
        {"alpha": rand.choice([0, 0.25, 0.7, 1, 1.5]), "oov_penalty": rand.choice([-8, -1.5, 0, 2])}
    )
    few = ["-n", str(rand.randrange(1, 6))] if rand.random() < 0.3 else []
    for part in ("all", "user", "line"):
        yield ["stats", "-f", keep, "-p", part, *few, log]
    yield ["stats", "-f", rand.choice(FILTERS), log, other]
    yield ["stats", "-o", "csv", "-f", "all", log]
    if game == "ic":
        yield ["stats", "-a", mix, "-f", keep, log]
        target = rand.choice(["accuracy", "improvement", "corrected_errors"])
        yield ["ic-opt", "-f", keep, "-t", target, *few, log]
        yield ["ic-opt", "-a", "-0.5:1.5:4", "-o", rand.choice(["-3:1:3", "-2"]), "-f", "all", log]
        yield ["pretty", "-f", keep, "-a", mix, log]
        yield ["pretty", "-f", keep, "-a", mix, "-a", mix, other, log]
        return
    yield ["pretty", "-f", keep, log]
    yield ["pretty", "-f", keep, other, log]


def main() -> None:
    """Play the cases from standard input with the reference."""
    import io

    import lmchallenge  # type: ignore[import-not-found]
    from lmchallenge import run
    from ordered import Ordered  # type: ignore[import-not-found]  # benchmarks/lmchallenge is on the path there

    run.set = Ordered  # type: ignore[attr-defined]
    answers: list[list[str | None]] = []
    source = sys.stdin
    for case in json.load(source):
        raw = case["stdin"].encode("utf-8", "surrogatepass")
        given = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8", newline="\n")  # as Python opens sys.stdin
        out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogatepass", newline="")
        defaults = run.run_stream.__defaults__
        run.run_stream.__defaults__ = (given, defaults[1], out, defaults[3])
        kept, sys.stdout = sys.stdout, out
        error = None
        try:
            lmchallenge.cli.main(args=case["argv"], standalone_mode=False)
        except Exception as found:  # its name is the answer
            error = type(found).__name__
        sys.stdout = kept
        out.flush()
        answers.append([out.buffer.getvalue().decode("utf-8", "surrogatepass"), error])
    json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
