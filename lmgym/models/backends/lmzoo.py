"""Models in LM Zoo containers: run `spec`, `get_surprisals`, `tokenize` and `unkify` with limits on time and output.

Argument lists come from the site's settings, never from a form, and run without a shell. Tokens are aligned with the
text by `engine.token_alignment`, with the rules in the container's spec.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import signal
import subprocess
import tempfile
import threading
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

from lmgym.models.backends.base import BackendError, ExternalAccess, ModelFacts, require_possible
from lmgym.models.engine.policy import ScoringPolicy
from lmgym.models.engine.scores import ScoringFailure, TokenScores
from lmgym.models.engine.token_alignment import TokenAlignmentError, align_tokens
from lmgym.models.engine.token_rules import TokenRules, read_spec
from lmgym.text.problems import FormatError

UNSUPPORTED = 99
"""Exit status for a command that the container does not support."""

MOST_OUTPUT = 64_000_000
_MOST_ERRORS = 2_000
_PASSED_ON = ("PATH", "HOME", "LANG", "DOCKER_HOST", "XDG_RUNTIME_DIR")
_HEADER = ["sentence_id", "token_id", "token", "surprisal"]
_PROBE = "The keys are on the table ."
Row = tuple[str, float]


class Unsupported(Exception):
    """The container does not support a command."""


class CommandFailed(BackendError):
    """A command of the container failed; the message ends with its standard error."""


def run_command(
    argv: Sequence[str], command: str, text: str | None, seconds: float, most_output: int = MOST_OUTPUT
) -> str:
    """Run `argv… command [/dev/stdin]` and return its standard output.

    Args:
        text: standard input; None = no input file.
        seconds: time limit.
        most_output: limit on the output in bytes.

    Raises:
        CommandFailed: the command could not be started, failed, or exceeded a limit.
        Unsupported: the container does not have the command.
    """
    full = [*argv, command, *(["/dev/stdin"] if text is not None else [])]
    environment = {name: os.environ[name] for name in _PASSED_ON if name in os.environ}
    with tempfile.TemporaryFile() as errors, tempfile.TemporaryDirectory(prefix="lmzoo-") as folder:
        try:
            process = subprocess.Popen(  # noqa: S603 - an argument list of the administrator, no shell
                full,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        except OSError as error:
            raise CommandFailed(f"{command}: {argv[0]} cannot be started: {error.strerror}.") from error
        watched = _Watched(process, seconds, most_output)
        output = watched.run((text or "").encode("utf-8", "surrogatepass"))
        stderr = _tail(errors)
    if watched.why:
        raise CommandFailed(f"{command} {watched.why}{stderr}")
    if process.returncode == UNSUPPORTED:
        raise Unsupported(command)
    if process.returncode:
        raise CommandFailed(f"{command} ended with exit status {process.returncode}{stderr}")
    try:
        return output.decode("utf-8")
    except UnicodeDecodeError as error:
        raise CommandFailed(
            f"{command} wrote output that is not UTF-8 (byte {error.start}){stderr}"
        ) from error


class _Watched:
    """A process that is killed, with all its children, when it exceeds its limit on time or output."""

    def __init__(self, process: subprocess.Popen[bytes], seconds: float, most_output: int) -> None:
        self._process = process
        self._seconds = seconds
        self._most = most_output
        self.why = ""

    def run(self, data: bytes) -> bytes:
        """Write the standard input and return the standard output."""
        timer = threading.Timer(self._seconds, self._kill, [f"took longer than {self._seconds:g} s"])
        feeder = threading.Thread(target=self._feed, args=(data,), daemon=True)
        timer.start()
        feeder.start()
        try:
            assert self._process.stdout is not None
            output = self._process.stdout.read(self._most + 1)
            if len(output) > self._most:
                self._kill(f"wrote more than {self._most:,} bytes")
            self._process.wait()
        finally:
            timer.cancel()
            self._kill("")  # remaining children
            feeder.join(5)
            self._process.stdout and self._process.stdout.close()
        return output

    def _feed(self, data: bytes) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # the process may end without reading everything
            self._process.stdin.write(data)
        with contextlib.suppress(OSError):
            self._process.stdin.close()

    def _kill(self, why: str) -> None:
        self.why = self.why or why
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)


def _tail(errors: IO[bytes]) -> str:
    """Format the last part of stderr as the end of a sentence."""
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _MOST_ERRORS))
    text = errors.read(_MOST_ERRORS).decode("utf-8", "replace")
    text = "".join(character for character in text if character.isprintable() or character == "\n").strip()
    return f". Its error output: {text}" if text else ", without error output."


class LMZooBackend:
    """Backend that scores texts with `get_surprisals`. The container decides on start and end tokens."""

    def __init__(
        self, name: str, argv: Sequence[str], seconds: float, spec: dict[str, Any], rules: TokenRules
    ) -> None:
        self._argv = tuple(argv)
        self._seconds = seconds
        self._rules = rules
        vocabulary = spec["vocabulary"].get("items")
        self.starts = self.ends = False
        digest = hashlib.sha256(
            json.dumps(["lmzoo 1", self._argv, spec], sort_keys=True).encode()
        ).hexdigest()
        image = spec.get("image") if isinstance(spec.get("image"), dict) else {}
        self.facts = ModelFacts(
            parameters=None,
            vocabulary_size=len(vocabulary) if isinstance(vocabulary, list) else None,
            tokenizer=f"{spec['tokenizer'].get('type', 'unknown')}, {'cased' if rules.cased else 'uncased'}",
            context_length=None,
            bos=None,
            eos=None,
            dtype="as in the container",
            device="container",
            revision=str(image.get("version", ""))[:64] if image else "",
            fingerprint=digest,
            architecture=f"LM Zoo: {rules.name or name}",
            notes=("The container decides whether a start token is prepended.",),
        )

    def check_tokens(self) -> None:
        """Compare the tokens of `tokenize` and `get_surprisals` for one sentence. Raises BackendError."""
        [rows] = self._surprisals([_PROBE])
        tokens = [token for token, _ in rows]
        try:
            tokenized = self._run("tokenize", [_PROBE]).split("\n")[0].split()
        except Unsupported:
            tokenized = tokens
        if tokenized != tokens:
            raise BackendError(
                f"For one sentence, tokenize returns {' '.join(tokenized)[:200]!r}, but get_surprisals returns "
                f"{' '.join(tokens)[:200]!r}.",
                "All commands of a container must tokenize a sentence in the same way.",
            )
        scores = self._scores(_PROBE, rows)
        if isinstance(scores, ScoringFailure):
            raise BackendError(f"The tokens of a probe sentence cannot be aligned: {scores.reason}")
        special = scores.special
        self.starts, self.ends = bool(special) and special[0], len(special) > 1 and special[-1]
        self.facts = replace(
            self.facts,
            bos=scores.tokens[0] if self.starts else None,
            eos=scores.tokens[-1] if self.ends else None,
        )

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """Score all tokens of texts. See `Backend.score`.

        Raises:
            BackendError: the container cannot follow the policy, or a command failed.
        """
        self._require_possible(policy)
        results: dict[str, TokenScores | ScoringFailure] = {}
        lines = []
        for text in dict.fromkeys(texts):
            if not text.strip():
                results[text] = TokenScores([], [], [], [], [])
            elif len(text.splitlines()) > 1:
                results[text] = ScoringFailure(
                    "it contains a line break, but LM Zoo reads one sentence per line"
                )
            else:
                lines.append(text)
        if lines:
            tables = self._surprisals(lines)
            results |= {text: self._scores(text, rows) for text, rows in zip(lines, tables, strict=True)}
            self._retry_with_unknown_words(results)
        return [self._without_end(results[text], policy) for text in texts]

    def _require_possible(self, policy: ScoringPolicy) -> None:
        require_possible("lmzoo", policy)
        if policy.bos == "always" and not self.starts:
            raise BackendError("This container does not use a start token.")
        if policy.named_bos and policy.named_bos != self.facts.bos:
            raise BackendError(
                f"The container decides on the start token, so {policy.named_bos!r} cannot be used."
            )
        if policy.bos == "never" and self.starts:
            raise BackendError("This container always uses a start token.")
        if policy.eos and not self.ends:
            raise BackendError("This container does not score the end of a sentence.")

    def _run(self, command: str, texts: Sequence[str]) -> str:
        return run_command(self._argv, command, "".join(f"{text}\n" for text in texts), self._seconds)

    def _surprisals(self, texts: Sequence[str]) -> list[list[Row]]:
        try:
            return read_surprisals(self._run("get_surprisals", texts), len(texts))
        except Unsupported:
            raise BackendError(
                "This container does not support the command get_surprisals, so it cannot be used."
            ) from None

    def _scores(
        self, text: str, rows: Sequence[Row], rules: TokenRules | None = None
    ) -> TokenScores | ScoringFailure:
        if not rows:
            return ScoringFailure("the container returned no tokens for the sentence")
        try:
            spans = align_tokens(text, [token for token, _ in rows], rules or self._rules)
        except TokenAlignmentError as error:
            return ScoringFailure(str(error))
        bits: list[float | None] = []
        for index, (token, value) in enumerate(rows):
            if index == 0 and (value == 0 or math.isnan(value)):
                bits.append(None)  # a first token without context is not scored
            elif not (math.isfinite(value) and value >= 0):
                return ScoringFailure(f"the surprisal of token {index + 1}, {token!r}, is {value}")
            else:
                bits.append(value)
        size, last = len(text), len(rows) - 1
        offsets = [
            (size, size) if span.special and index == last and index else (span.start, span.end)
            for index, span in enumerate(spans)
        ]
        tokens = [token for token, _ in rows]
        ids = [zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in tokens]
        return TokenScores(tokens, ids, offsets, bits, [span.special for span in spans])

    def _retry_with_unknown_words(self, results: dict[str, TokenScores | ScoringFailure]) -> None:
        """Retry the alignment of failed sentences with the unknown words that `unkify` reports."""
        failed = [
            text
            for text, result in results.items()
            if isinstance(result, ScoringFailure) and len(text.splitlines()) == 1
        ]
        if not failed:
            return
        try:
            flags = [line.split() for line in self._run("unkify", failed).splitlines()]
        except (Unsupported, CommandFailed):
            return  # keep the first reason
        for text, rows, marks in zip(failed, self._surprisals(failed), flags, strict=False):
            unknown = {token for (token, _), mark in zip(rows, marks, strict=False) if mark == "1"}
            if unknown:
                rules = replace(self._rules, unknown=self._rules.unknown | unknown)
                results[text] = self._scores(text, rows, rules)

    def _without_end(
        self, result: TokenScores | ScoringFailure, policy: ScoringPolicy
    ) -> TokenScores | ScoringFailure:
        if isinstance(result, ScoringFailure) or policy.eos or not (len(result) > 1 and result.special[-1]):
            return result
        return TokenScores(
            result.tokens[:-1], result.ids[:-1], result.offsets[:-1], result.bits[:-1], result.special[:-1]
        )


def read_surprisals(text: str, n_sentences: int) -> list[list[Row]]:
    """Read tokens and bits of each sentence from the table `sentence_id token_id token surprisal`.

    Numbers of sentences and tokens start at 1.

    Raises:
        BackendError: an invalid table, with the line.
    """
    lines = text.split("\n")
    if lines[0].rstrip("\r").split("\t") != _HEADER:
        raise BackendError(
            f"get_surprisals: line 1 must be {' '.join(_HEADER)}, separated by tabs, but is {lines[0][:80]!r}."
        )
    sentences: list[list[Row]] = [[] for _ in range(n_sentences)]
    for number, line in enumerate(lines[1:], start=2):
        line = line.rstrip("\r")
        if not line:
            continue
        cells = line.split("\t")
        try:
            sentence, token_id, token, value = int(cells[0]), int(cells[1]), cells[2], float(cells[3])
        except (ValueError, IndexError):
            raise BackendError(
                f"get_surprisals: line {number} must have two ids, a token and a surprisal: {line[:80]!r}."
            ) from None
        if not 1 <= sentence <= n_sentences:
            raise BackendError(
                f"get_surprisals: line {number} refers to sentence {sentence} of {n_sentences}."
            )
        if token_id != len(sentences[sentence - 1]) + 1:
            raise BackendError(
                f"get_surprisals: line {number}: token {token_id} of sentence {sentence} is out of order."
            )
        sentences[sentence - 1].append((token, value))
    return sentences


def load(
    config: dict[str, Any], *, model_dir: Path, hub_allowed: bool, external_access: ExternalAccess
) -> LMZooBackend:
    """Read the spec of the container and score one sentence. Raises BackendError."""
    name = config["command"]
    argv = external_access.commands.get(name)
    if not argv:
        names = ", ".join(sorted(external_access.commands)) or "none so far"
        raise BackendError(
            f"This site has no LM Zoo command {name!r}.",
            f"The administrator lists commands in GYM_LMZOO_COMMANDS ({names}).",
        )
    seconds = float(config.get("seconds", 300))
    try:
        text = run_command(argv, "spec", None, seconds, 20_000_000)
        rules = read_spec(text.encode())
        spec = json.loads(text)
    except Unsupported:
        raise BackendError(
            "This container does not support the command spec, so its tokens cannot be read."
        ) from None
    except FormatError as error:
        raise BackendError(f"The spec of this container cannot be used: {error}") from error
    backend = LMZooBackend(name, argv, seconds, spec, rules)
    backend.check_tokens()
    return backend
