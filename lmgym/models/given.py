"""Load a model from a folder, a file, a hub id, a (model, tokenizer) pair, or an object with `score`."""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

from lmgym.models.backends import Backend, BackendError, ModelFacts, load_backend
from lmgym.models.backends.ngram_file import FILE_NAME
from lmgym.models.backends.schemas import PATH_PATTERN
from lmgym.models.engine import ScoringFailure, ScoringPolicy, TokenScores
from lmgym.models.engine.server_tokens import align_server_tokens
from lmgym.models.engine.token_alignment import TokenAlignmentError
from lmgym.text import count

Tokens: TypeAlias = Sequence[tuple[str, float | None]]
"""Tokens of a text in order, as spelled in the text, each with its surprisal in bits; None = no value."""

_HUB_ID = re.compile(r"([\w.-]+/)?[\w.-]+(@[\w./-]+)?", re.ASCII)
_FILE_SUFFIXES = (".gguf", ".ngram", ".json", ".safetensors", ".bin", ".pt")


@runtime_checkable
class Scorer(Protocol):
    """Interface of a user-supplied model: `score(texts)` returns the tokens of each text, in order."""

    def score(self, texts: Sequence[str]) -> Sequence[Tokens | TokenScores]: ...


@dataclass(frozen=True)
class LoadedModel:
    """A model ready to score.

    Attributes:
        name: name in results.
        kind: backend kind recorded in the provenance.
    """

    name: str
    kind: str
    backend: Backend


def name_of(model: Any) -> str:
    """Return the default name of a model in results."""
    if isinstance(model, str | Path):
        text = str(model)
        return (
            text
            if _is_hub_id(text)
            else Path(text).resolve().name.removesuffix(".ngram").removesuffix(".gguf")
        )
    if isinstance(model, tuple):
        return (
            str(getattr(model[0], "name_or_path", "")).rstrip("/").rpartition("/")[2]
            or type(model[0]).__name__
        )
    return str(getattr(model, "name", "") or type(model).__name__)


def open_model(model: Any, *, device: str = "auto", dtype: str = "float32") -> LoadedModel:
    """Load a model.

    Args:
        model: a folder with config.json and safetensors, causal or masked; a GGUF file; an n-gram file;
            "organisation/name", or a short name such as "gpt2", on the Hugging Face Hub, optionally with
            "@revision" (gated and private models with the token in the environment variable HF_TOKEN);
            a (model, tokenizer) pair of transformers objects; a `Backend`; or a `Scorer`.
        device: auto, cpu, cuda, cuda:1, or cuda:all for a model larger than one GPU.
        dtype: float32, bfloat16 or float16.

    Returns:
        The model, with the same start token as on the site.

    Raises:
        BackendError: the model cannot be used.
    """
    name = name_of(model)
    if isinstance(model, tuple):
        from lmgym.models.backends.causal import from_memory

        return _with_start_token(LoadedModel(name, "causal", from_memory(*model)))
    if isinstance(model, str) and not model.strip():
        raise BackendError("The name of the model is empty.", "Pass a folder, a file or a hub id.")
    if isinstance(model, str | Path):
        return _with_start_token(_from_files(name, str(model), {"device": device, "dtype": dtype}))
    if isinstance(getattr(model, "facts", None), ModelFacts):
        return LoadedModel(name, "python", model)
    if isinstance(model, Scorer):
        return LoadedModel(name, "python", _ScorerBackend(model, name))
    raise BackendError(
        f"{type(model).__name__} is not a model.",
        "Pass a folder, a hub id, a pair (model, tokenizer), or an object with score(texts).",
    )


def _is_hub_id(text: str) -> bool:
    is_file = text.endswith(_FILE_SUFFIXES) or Path(text).exists()
    return not is_file and _HUB_ID.fullmatch(text) is not None


def _from_files(name: str, text: str, options: dict[str, str]) -> LoadedModel:
    if _is_hub_id(text):
        from lmgym.models.backends import hub
        from lmgym.models.backends.hub_listing import HubToken

        repo, _, revision = text.partition("@")
        value = os.environ.get("HF_TOKEN", "").strip()
        token = HubToken(value, "the token in HF_TOKEN") if value else None
        try:
            fetched = hub.fetch(repo, revision or "main", token=token)
        except ModuleNotFoundError as error:  # huggingface_hub
            message = f"Models of the Hub need the package {error.name!r}, which is not installed."
            raise BackendError(message, 'pip install "lm-gym[hf]"') from error
        except BackendError as error:
            if "/" in repo and not Path(repo).parent.is_dir():
                raise
            # a short name, or one in an existing folder, may as well be the mistyped name of a folder
            message = f"No model found: there is no folder or file {repo}. On the Hub: {error.message}"
            raise BackendError(message, error.hint) from error
        config = {"source": "hub", "repo": fetched.repo, "revision": fetched.commit}
        return _load(name, _kind_of(fetched.folder), config | options, Path())
    path = Path(text).expanduser().resolve()
    if not path.exists():
        raise BackendError(
            f"No model found at {text}.",
            'Pass a folder, an n-gram file, or a hub id such as "openai-community/gpt2".',
        )
    if not re.match(PATH_PATTERN, path.name):
        raise BackendError(
            f"{path.name!r} is not a valid model name.",
            "Rename it: the name must begin with a letter, digit or _, and may contain spaces and - . + = , @ ( ).",
        )
    if (path.is_file() and path.suffix != ".gguf") or (path / FILE_NAME).is_file():
        return _load(name, "ngram", {"path": path.name}, path.parent)
    return _load(name, _kind_of(path), {"source": "directory", "path": path.name} | options, path.parent)


def _kind_of(folder: Path) -> str:
    """Return "masked" if config.json names a masked-LM class, else "causal".

    Errors in config.json are reported when the model is loaded.
    """
    try:
        architectures = json.loads((folder / "config.json").read_bytes()).get("architectures") or ()
    except (OSError, ValueError, AttributeError):
        return "causal"
    return "masked" if any(str(name).endswith("ForMaskedLM") for name in architectures) else "causal"


def _load(name: str, kind: str, config: dict[str, Any], model_dir: Path) -> LoadedModel:
    return LoadedModel(name, kind, load_backend(kind, config, model_dir=model_dir, hub_allowed=True))


def _with_start_token(model: LoadedModel) -> LoadedModel:
    if choose := getattr(model.backend, "choose_start_token", None):
        choose()
    return model


class _ScorerBackend:
    """A `Scorer` as a backend. Tokens are located in the text by their spelling."""

    def __init__(self, scorer: Scorer, name: str) -> None:
        self._scorer = scorer
        self.facts = ModelFacts(
            parameters=None,
            vocabulary_size=None,
            tokenizer="its own",
            context_length=None,
            bos=None,
            eos=None,
            dtype="unknown",
            device="unknown",
            revision="",
            fingerprint="",
            architecture=name,
            notes=("Scores come from the caller's code.",),
        )

    def score(
        self,
        texts: Sequence[str],
        policy: ScoringPolicy,
        needed: Sequence[Sequence[tuple[int, int]]] | None = None,
    ) -> list[TokenScores | ScoringFailure]:
        """Score texts. Raises BackendError for policies that the caller's code cannot follow."""
        if policy.bos != "auto" or policy.eos or policy.whitespace != "none":
            raise BackendError(
                "Your score(texts) function controls start tokens, end tokens and whitespace correction itself.",
                "Leave bos, eos and whitespace at their defaults.",
            )
        results = list(self._scorer.score(list(texts)))
        if len(results) != len(texts):
            raise BackendError(
                f"score(texts) returned {count(len(results), 'result')} for {count(len(texts), 'text')}."
            )
        return [_with_offsets(text, tokens) for text, tokens in zip(texts, results, strict=True)]


def _with_offsets(text: str, tokens: Tokens | TokenScores) -> TokenScores | ScoringFailure:
    if isinstance(tokens, TokenScores):
        return tokens
    spelled = [token for token, _ in tokens]
    try:
        offsets = align_server_tokens(text, spelled)
    except TokenAlignmentError as error:
        return ScoringFailure(str(error))
    bits = [None if value is None else float(value) for _, value in tokens]
    n = len(spelled)
    return TokenScores(spelled, [_id_of(token) for token in spelled], offsets, bits, [False] * n)


def _id_of(token: str) -> int:
    """Derive a token id from the spelling."""
    return zlib.crc32(token.encode("utf-8", "surrogatepass"))
