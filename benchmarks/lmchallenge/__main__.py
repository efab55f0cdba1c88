"""`python -m benchmarks.lmchallenge --reference DIR/bin/lmc`: times, and whether both give the same log and statistics.

The reference goes into an environment of its own: `python -m venv DIR && DIR/bin/pip install -r
benchmarks/lmchallenge/requirements.txt`. Without --reference only the batched causal player is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def corpus(lines: int, seed: int = 1) -> str:
    """Lines of eight words of a Zipfian vocabulary, with some punctuation."""
    rand = random.Random(seed)
    words = vocabulary()
    weights = [1 / (at + 3) for at in range(len(words))]
    return "".join(
        " ".join(rand.choices(words, weights, k=8)) + rand.choice([".", "!", "?", ""]) + "\n"
        for _ in range(lines)
    )


def vocabulary(size: int = 2000) -> list[str]:
    """Pronounceable words."""
    rand = random.Random(2)
    parts = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    return list(
        dict.fromkeys(
            "".join(rand.choices(parts, k=rand.choice([1, 2, 2, 3, 3, 4]))) for _ in range(size * 3)
        )
    )[:size]


def timed(command: list[str], source: Path | None, target: Path) -> float:
    """Seconds of a whole process."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    with target.open("wb") as out, (source or Path(os.devnull)).open("rb") as given:
        subprocess.run(
            command, stdin=given, stdout=out, stderr=subprocess.DEVNULL, env=environment, check=True
        )
    return time.perf_counter() - start


def beside(reference: str, lines: int, folder: Path) -> list[dict[str, object]]:
    """Every game and its statistics by both programs."""
    model = f"{sys.executable} -S -E {HERE / 'model.py'}"
    ours = [sys.executable, "-m", "gym.lmchallenge"]
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary()) + "\n")
    rows: list[dict[str, object]] = []
    for game, share, extra in (
        ("wp", 1.0, []),
        ("tc", 0.5, []),
        ("ic", 0.15, [str(folder / "vocabulary.txt")]),
    ):
        text = folder / f"{game}.txt"
        text.write_text(corpus(max(1, int(lines * share))))
        logs = {}
        for name, command in (("reference", [reference]), ("gym", ours)):
            log = logs[name] = folder / f"{game}.{name}.log"
            played = timed([*command, "run", model, game, *extra], text, log)
            counted = timed([*command, "stats", str(log)], None, folder / f"{game}.{name}.json")
            rows.append(
                {
                    "game": game,
                    "program": name,
                    "lines": int(lines * share),
                    "run_s": played,
                    "stats_s": counted,
                }
            )
        found = [json.loads((folder / f"{game}.{name}.json").read_text()) for name in ("reference", "gym")]
        rows[-1]["same_statistics"] = found[0][0].keys() == found[1][0].keys() and (
            game == "ic" or all(_close(found[0][0][key], found[1][0][key]) for key in found[0][0])
        )
        rows[-1]["same_log"] = game == "ic" or logs["reference"].read_bytes() == logs["gym"].read_bytes()
    return rows


def _close(a: object, b: object) -> bool:
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, abs_tol=1e-9)
    return a == b


def batched(lines: int) -> dict[str, object]:
    """One small random model: all contexts of several lines at once, and one call at a time."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    from gym.lmchallenge.causal import CausalPlayer
    from gym.lmchallenge.player import Request
    from gym.lmchallenge.tokens import tokens
    from models_registry.backends import load_backend

    text = corpus(400).splitlines()
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=["<s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(text, trainer)
    with tempfile.TemporaryDirectory() as folder:
        size = tokenizer.get_vocab_size()
        config = GPT2Config(
            vocab_size=size, n_positions=256, n_embd=192, n_layer=4, n_head=4, bos_token_id=0, eos_token_id=0
        )
        GPT2LMHeadModel(config).save_pretrained(f"{folder}/m")
        PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(f"{folder}/m")
        backend = load_backend(
            "causal", {"source": "directory", "path": "m"}, model_dir=Path(folder), hub_allowed=False
        )
    player = CausalPlayer(backend)
    words = vocabulary()[:100]
    result: dict[str, object] = {"lines": lines, "device": backend.facts.device}
    for name, given in (("predictions", None), ("candidates", words)):
        requests = [Request(line[:start], given) for line in text[:lines] for start, _ in tokens(line)]
        player.predict(requests[:2])
        start = time.perf_counter()
        together = player.predict(requests)
        middle = time.perf_counter()
        alone = [player.predict([request])[0] for request in requests]
        end = time.perf_counter()
        gap = max(
            abs(x - y)
            for a, b in zip(together, alone, strict=True)
            for (_, x), (_, y) in zip(a, b, strict=True)
        )
        result[name] = {
            "calls": len(requests),
            "batched_s": middle - start,
            "one_by_one_s": end - middle,
            "times": (end - middle) / (middle - start),
            "largest_difference": gap,
        }
    return result


def main() -> None:
    """Print JSON, part by part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", help="the reference's lmc")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--causal-lines", type=int, default=16)
    options = parser.parse_args()
    if options.reference:
        with tempfile.TemporaryDirectory() as folder:
            print(
                json.dumps({"beside": beside(options.reference, options.lines, Path(folder))}, indent=2),
                flush=True,
            )
    if options.causal_lines:
        print(json.dumps({"batched": batched(options.causal_lines)}, indent=2))


if __name__ == "__main__":
    main()
