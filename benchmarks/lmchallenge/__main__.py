"""`python -m benchmarks.lmchallenge --reference DIR/bin/lmc`: compare times, logs and statistics with the reference.

Install the reference into a separate environment: `python -m venv DIR && DIR/bin/pip install -r
benchmarks/lmchallenge/requirements.txt`. Without --reference, only the batched causal player is measured.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent
MIXTURE = '{"alpha": 0.3, "oov_penalty": -6}'
ROOT = HERE.parents[1]


def corpus(lines: int, seed: int = 1) -> str:
    """Generate lines of eight words of a Zipfian vocabulary, with some punctuation."""
    rand = random.Random(seed)
    words = vocabulary()
    weights = [1 / (at + 3) for at in range(len(words))]
    return "".join(
        " ".join(rand.choices(words, weights, k=8)) + rand.choice([".", "!", "?", ""]) + "\n"
        for _ in range(lines)
    )


def vocabulary(size: int = 2000) -> list[str]:
    """Generate pronounceable words."""
    rand = random.Random(2)
    parts = [a + b for a in "bdfgklmnprst" for b in "aeiou"]
    return list(
        dict.fromkeys(
            "".join(rand.choices(parts, k=rand.choice([1, 2, 2, 3, 3, 4]))) for _ in range(size * 3)
        )
    )[:size]


def timed(command: list[str], source: Path | None, target: Path) -> dict[str, float]:
    """Measure a whole process in seconds: wall time, and processor time including that of its child processes."""
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "0", "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # as when installed: with compiled modules
    environment["PYTHONPYCACHEPREFIX"] = str(target.parent / "compiled")
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    with target.open("wb") as out, (source or Path(os.devnull)).open("rb") as input_file:
        subprocess.run(
            command, stdin=input_file, stdout=out, stderr=subprocess.DEVNULL, env=environment, check=True
        )
    end, after = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"s": end - start, "cpu_s": used}


def best(command: list[str], source: Path | None, target: Path, rounds: int = 3) -> dict[str, float]:
    """Return the minimum of each measurement over several runs."""
    runs = [timed(command, source, target) for _ in range(rounds)]
    return {key: min(run[key] for run in runs) for key in runs[0]}


def compare_with_reference(reference: str, lines: int, copies: int, folder: Path) -> list[dict[str, object]]:
    """Run every game and its statistics with both programs. Then run statistics, colours and the search for
    the mixture on a log that is `copies` times as long.
    """
    model = f"{sys.executable} -S -E {HERE / 'model.py'}"
    programs = {"reference": [reference], "gym": [sys.executable, "-m", "lmgym", "lmc"]}
    (folder / "vocabulary.txt").write_text("\n".join(vocabulary()) + "\n")
    rows: list[dict[str, object]] = []
    for game, share, extra in (
        ("wp", 1.0, []),
        ("tc", 0.5, []),
        ("ic", 0.15, [str(folder / "vocabulary.txt")]),
    ):
        text = folder / f"{game}.txt"
        text.write_text(corpus(max(1, int(lines * share))))
        row: dict[str, object] = {"game": game, "lines": int(lines * share)}
        logs = {name: folder / f"{game}.{name}.log" for name in programs}
        outputs = {name: folder / f"{game}.{name}.out" for name in programs}
        for name, command in programs.items():
            timed([*command, "run", model, "wp"], Path(os.devnull), folder / "warm")
            row[f"run_{name}"] = best([*command, "run", model, game, *extra], text, logs[name], 2)
        if game == "ic":  # the reference, with ties in file order, only to compare the logs
            ordered = [str(Path(reference).with_name("python")), str(HERE / "ordered.py")]
            timed([*ordered, "run", model, game, *extra], text, logs["reference"])
        row["same_log"] = logs["reference"].read_bytes() == logs["gym"].read_bytes()
        long = folder / f"{game}.long.log"
        long.write_bytes(logs["gym"].read_bytes() * (copies if game != "ic" else max(1, copies // 25)))
        readers = {
            "stats_short": ["stats", str(logs["gym"])],
            "stats_long": ["stats", str(long)],
            "pretty_long": ["pretty", *(["-a", MIXTURE] if game == "ic" else []), str(long)],
            **({"ic_opt_long": ["ic-opt", str(long)]} if game == "ic" else {}),
        }
        for part, words in readers.items():
            for name, command in programs.items():
                row[f"{part}_{name}"] = best([*command, *words], None, outputs[name])
            theirs, ours = (path.read_text() for path in outputs.values())
            is_json = words[0] != "pretty"
            row[f"same_{part}"] = _close(json.loads(theirs), json.loads(ours)) if is_json else theirs == ours
        for part in ("run", *readers):
            reference_s, gym_s = (row[f"{part}_{name}"] for name in programs)
            row[f"times_{part}"] = {key: reference_s[key] / gym_s[key] for key in gym_s}  # type: ignore[index]
        rows.append(row)
    return rows


def _close(a: object, b: object) -> bool:
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_close(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_close, a, b))
    if isinstance(a, int | float) and isinstance(b, int | float):
        return math.isclose(a, b, abs_tol=1e-9)
    return a == b


SHAPES = {
    "small": {"n_embd": 192, "n_layer": 4, "n_head": 4},
    "gpt2": {"n_embd": 768, "n_layer": 12, "n_head": 12},
}


LINES = 8


ROUNDS = 3


def batched(words: int, candidates: int, shape: str) -> dict[str, object]:
    """Time a random model on eight lines of `words` words, as many as a game plays together.

    Compares the player with all contexts at once, the player one call at a time, the same computation by
    transformers (without and with a cache for the context), and a process that wraps the model plainly (see
    `plain`). All but the first work one call at a time, on about two dozen contexts spread over the lines.
    Returns milliseconds of processor time per call, the best of several rounds in which the methods
    alternate.
    """
    from benchmarks.lmchallenge.plain import PlainProcess, same_answers
    from lmgym.lmchallenge.play.backend_players import CausalPlayer
    from lmgym.lmchallenge.play.player import Request
    from lmgym.lmchallenge.tokens import tokens
    from lmgym.models.backends import load_backend

    result: dict[str, object] = {"lines": LINES, "words": words, "candidates": candidates, "shape": shape}
    text = " ".join(corpus(words * LINES).splitlines()).split()
    lines = [" ".join(text[at : at + words]) for at in range(0, words * LINES, words)]
    with tempfile.TemporaryDirectory() as folder:
        _save(f"{folder}/m", shape)
        backend = load_backend(
            "causal", {"source": "directory", "path": "m"}, model_dir=Path(folder), hub_allowed=False
        )
        plain = PlainProcess(f"{folder}/m")
    result["device"] = backend.facts.device
    choices = vocabulary()[:candidates]
    for name, candidate_words, options in (
        ("predictions", None, {}),
        ("candidates", choices, {}),
        (
            "candidates_spelled_one_way",
            choices,
            {"paths": 1},
        ),  # the only spelling that the plain process considers
    ):
        player = CausalPlayer(backend, **options)
        same, cached = (
            same_answers(CausalPlayer(backend, **options), plain.model, cached=cached)
            for cached in (False, True)
        )
        requests = [Request(line[:start], candidate_words) for line in lines for start, _ in tokens(line)]
        few = requests[:: max(1, len(requests) // 24)]
        ways: dict[str, tuple[int, Callable[[], object]]] = {
            "batched": (len(requests), lambda player=player, all=requests: player.predict(all)),
            "one_by_one": (
                len(few),
                lambda player=player, few=few: [player.predict([request]) for request in few],
            ),
            "same_answers": (len(few), lambda same=same, few=few: [same(request) for request in few]),
            "same_answers_cached": (
                len(few),
                lambda cached=cached, few=few: [cached(request) for request in few],
            ),
            "plain": (
                len(few),
                lambda few=few: [plain.predict(request.context, request.candidates) for request in few],
            ),
        }
        player.predict(requests[:2])
        same(few[0])
        cached(few[0])
        plain.predict(few[0].context, candidate_words)
        times = dict.fromkeys(ways, math.inf)
        for _ in range(ROUNDS):
            for way, (calls, ask) in ways.items():
                start = time.process_time()
                ask()
                times[way] = min(times[way], 1000 * (time.process_time() - start) / calls)
        gap = max(
            abs(x - y)
            for a, b in zip(
                player.predict(requests)[:: max(1, len(requests) // 24)], map(same, few), strict=True
            )
            for (_, x), (_, y) in zip(a, b, strict=True)
        )
        result[name] = {
            "calls": len(requests),
            **{f"{way}_ms": value for way, value in times.items()},
            **{f"times_{way}": value / times["batched"] for way, value in times.items() if way != "batched"},
            "largest_difference": gap,
        }
    return result


def _save(folder: str, shape: str) -> None:
    """Save a random GPT-2 with a tokenizer trained on the corpus. For the full shape, its vocabulary is filled up to
    GPT-2's.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2000, special_tokens=["<s>"], initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(corpus(400).splitlines(), trainer)
    size = 50257 if shape == "gpt2" else tokenizer.get_vocab_size()
    config = GPT2Config(vocab_size=size, n_positions=256, bos_token_id=0, eos_token_id=0, **SHAPES[shape])
    GPT2LMHeadModel(config).save_pretrained(folder)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<s>").save_pretrained(folder)


def main() -> None:
    """Print the results of each part as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reference", help="path of the reference's lmc")
    parser.add_argument("--lines", type=int, default=1000)
    parser.add_argument("--copies", type=int, default=50, help="length of the long logs for stats, in copies")
    parser.add_argument(
        "--words",
        type=int,
        nargs="*",
        default=[8, 24, 96],
        help="words per line; without values, no models are timed",
    )
    parser.add_argument("--candidates", type=int, nargs="*", default=[10, 100])
    parser.add_argument("--shape", choices=list(SHAPES), default="small")
    options = parser.parse_args()
    if options.reference:
        with tempfile.TemporaryDirectory() as folder:
            rows = compare_with_reference(options.reference, options.lines, options.copies, Path(folder))
        print(json.dumps({"with_reference": rows}, indent=2), flush=True)
    for words in options.words:
        for candidates in options.candidates:
            print(json.dumps({"batched": batched(words, candidates, options.shape)}, indent=2), flush=True)


if __name__ == "__main__":
    main()
