"""The commands: what `--help` says, and what they print for small inputs that are written here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from benchmarks.record.people import write
from benchmarks.record.shapes import shape
from benchmarks.record.world import CASES, TEXTS, World, suite

OURS = ("gym", "suites", "models_registry")
SUBCOMMANDS = (
    "lmc",
    *(
        f"lmc {name}"
        for name in ("run", "run adaptive wp", "run adaptive tc", "run adaptive ic", "stats", "serve")
    ),
    *(f"lmc {name}" for name in ("ic-opt", "pretty", "compare", "corpus")),
    *(f"lmc corpus {name}" for name in ("to-json", "to-text", "sort", "check", "vocab")),
    *("propara", "propara evaluate", "propara explain"),
)
CLIENT = ("models", "suites", "run", "import", "export", "score")
SECONDS = 300
CHANCE = (
    (re.compile(r"\b\d+(\.\d+)? (s|ms|MB|GB|seconds)\b"), r"<n> \2"),
    (re.compile(r"\"seconds\": [\d.]+"), '"seconds": <n>'),
    (re.compile(r"(?<=time=\")[\d.]+"), "<n>"),
    (re.compile(r"\x1b\[[\d;]*m"), ""),
)


def record(world: World, out: Path, inputs: Path) -> None:
    """Ask every command for its help, and run them on the inputs. The world changes, so this comes last."""
    from django.core.management import get_commands, load_command_class

    for name, app in sorted(get_commands().items()):
        if str(app).split(".")[0] in OURS:
            parser = load_command_class(str(app), name).create_parser("manage.py", name)
            write(out / "help" / f"{name}.txt", parser.format_help().splitlines())
    for name in SUBCOMMANDS:
        _record(world, out / "help", [name], [*name.split(), "--help"], inputs)
    for word in ("", *CLIENT):
        _record(world, out / "help", ["client", word], ["-m", "gym.client", *word.split(), "--help"], inputs)
    _write_inputs(world, inputs)
    for line in LINES:
        given, _, output = line.partition(" > ")
        command, _, source = given.partition(" < ")
        words = command.split()
        text = (inputs / source).read_bytes() if source else b""
        said = _record(world, out, [line.replace("/", "_")], words, inputs, text)
        if output:
            (inputs / output).write_bytes(said)


LINES = (
    "lint_suite suite.json",
    "lint_suite suite.json --format json",
    "lint_suite wrong.json",
    "evaluate suite.json --model demo-ngram",
    "evaluate suite.json --model demo-ngram --format csv --join natural --metric mean",
    "evaluate suite.json --model demo-gpt2 --format json --whitespace trailing",
    "evaluate suite.json --model demo-uniform --format csv --eos --no-cache",
    "evaluate suite.json --model nothing",
    "import_suite suite.json --owner bob --freeze --tags fresh",
    "import_suite wrong.json --owner bob",
    "export_suite recorded --revision 2",
    "export_suite recorded --revision 1 --format csv",
    "export_suite recorded --revision 1 --format tsv",
    "export_suite recorded --revision 1 --format json-early",
    "upload_results results.csv --check",
    "upload_results results.csv --owner bob",
    "upload_results wrong.json",
    "trim_scores --keep 100",
    "store_scores",
    "demo --no-runs",
    "doctor",
    "propara evaluate -p predictions.tsv -a answers.tsv",
    "propara evaluate -p predictions.tsv -a answers.tsv -s sentences.tsv --format json --bootstrap 200",
    "propara evaluate -p predictions.tsv -a answers.tsv -o scores.json -d diagnostics.txt",
    "propara evaluate -p wrong.json -a answers.tsv",
    "propara evaluate -p short.tsv -a answers.tsv",
    "propara explain < answers.tsv",
    "lmc corpus to-json < corpus.txt > corpus.jsonl",
    "lmc corpus to-text < corpus.jsonl",
    "lmc corpus check < corpus.jsonl",
    "lmc corpus vocab < corpus.txt > vocab.txt",
    "lmc run adaptive wp < corpus.txt > wp.log",
    "lmc run --train adaptive wp < corpus.txt > trained.log",
    "lmc run model:demo-ngram wp < corpus.txt > ngram.log",
    "lmc run --train adaptive tc < corpus.txt > tc.log",
    "lmc run model:demo-ngram ic vocab.txt < corpus.txt > ic.log",
    "lmc run -f json adaptive wp < corpus.jsonl",
    "lmc stats wp.log trained.log ngram.log",
    "lmc stats tc.log --more --auto-space",
    "lmc stats ic.log --more",
    "lmc stats ngram.log -o csv -f alpha",
    "lmc stats ngram.log -p line",
    "lmc stats wrong.json",
    "lmc ic-opt ic.log",
    "lmc pretty ngram.log",
    "lmc compare trained.log ngram.log",
    "lmc compare wp.log tc.log",
    "agenttest hello.hocon numbers.hocon --server embedded",
    "agenttest varies.hocon --server embedded --format json",
    "agenttest hello.hocon varies.hocon --server embedded --format junit --early-stop",
    "agenttest wrong.json --server embedded",
    "assess varies.hocon --server embedded --format json",
    "assess varies.hocon --server embedded --namer namer",
)
"""`<` names the standard input, `>` the file that the output becomes."""


def _write_inputs(world: World, inputs: Path) -> None:
    texts = {
        "suite.json": json.dumps(suite("fresh"), indent=1),
        "wrong.json": '{"meta": {"name": "wrong"}, "items": [',
        "corpus.txt": "".join(f"{text}\n" for text in TEXTS * 2),
        "results.csv": "model,suite,item,correct\n"
        + "".join(f"by command,recorded,{item},{item % 2 == 0}\n" for item in range(1, 8)),
        **{f"{name.rsplit('/', 1)[-1]}.hocon": text for name, text in CASES.items()},
    }
    for name, text in texts.items():
        (inputs / name).write_text(text, encoding="utf-8")
    for name in ("answers.tsv", "sentences.tsv"):
        page = world.people["owner"].ask("GET", f"/propara/everyday-processes/v1/download/{name}/")
        (inputs / name).write_bytes(page.body)
    rows = (inputs / "answers.tsv").read_text(encoding="utf-8").splitlines()
    (inputs / "predictions.tsv").write_text("".join(f"{row.replace('kettle', 'cup')}\n" for row in rows))
    (inputs / "short.tsv").write_text("".join(f"{row}\n" for row in rows[:-3]))


def _record(
    world: World, folder: Path, title: list[str], words: list[str], cwd: Path, text: bytes = b""
) -> bytes:
    manage = [] if words[0] == "-m" else [str(Path.cwd() / "manage.py")]
    ran = subprocess.run(
        [sys.executable, *manage, *words],
        input=text,
        capture_output=True,
        cwd=cwd,
        timeout=SECONDS,
        check=False,
    )
    lines = [f"$ {' '.join(words)}", f"status: {ran.returncode}", "--"]
    scrub = world.scrubber.of_answer()
    for name, said in (("", ran.stdout), ("# standard error", ran.stderr)):
        if said:
            shaped = shape(said, "text/plain", scrub)
            lines += [*([name] if name else []), *map(_without_chance, shaped)]
    write(folder / f"{' '.join(title).strip()}.txt", lines)
    return ran.stdout


def _without_chance(line: str) -> str:
    for pattern, text in CHANCE:
        line = pattern.sub(text, line)
    return line
