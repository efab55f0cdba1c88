"""Backends: load models and score texts with them. Importing this package imports neither torch nor transformers.

`BACKENDS` describes the kinds; `load_backend` imports the module of a kind and loads a model; `probe` tests the model.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from lmgym.models.backends.base import (
    Backend,
    BackendError,
    BackendSpec,
    BackendUnavailable,
    DeviceMissing,
    ExternalAccess,
    FilesMissing,
    ModelFacts,
    NotOnThisMachine,
    probe,
)
from lmgym.models.backends.memory_check import MemoryInUse
from lmgym.models.backends.schemas import (
    CAUSAL_SCHEMA,
    LMZOO_SCHEMA,
    MASKED_SCHEMA,
    NGRAM_SCHEMA,
    OPENAI_SCHEMA,
    UNIFORM_SCHEMA,
)

BACKENDS: dict[str, BackendSpec] = {
    spec.kind: spec
    for spec in (
        BackendSpec(
            kind="causal",
            label="Causal language model (transformers)",
            schema=CAUSAL_SCHEMA,
            needs_torch=True,
            help="A left-to-right model with safetensors weights and a fast tokenizer, "
            "from the Hugging Face Hub or from a folder in the model directory.",
            module="lmgym.models.backends.causal",
        ),
        BackendSpec(
            kind="masked",
            label="Masked language model (transformers)",
            schema=MASKED_SCHEMA,
            needs_torch=True,
            help="A model that predicts masked tokens (BERT, RoBERTa and others), scored by pseudo-log-likelihood: "
            "each token given the words on both sides. Not comparable with left-to-right surprisals.",
            module="lmgym.models.backends.masked",
        ),
        BackendSpec(
            kind="ngram",
            label="N-gram model",
            schema=NGRAM_SCHEMA,
            needs_torch=False,
            help="Smoothed counts of word sequences, from a file in the model directory.",
            module="lmgym.models.backends.ngram",
        ),
        BackendSpec(
            kind="uniform",
            label="Uniform baseline",
            schema=UNIFORM_SCHEMA,
            needs_torch=False,
            help="Every token has the same surprisal: the score of a model without any knowledge.",
            module="lmgym.models.backends.uniform",
            needs_files=False,
        ),
        BackendSpec(
            kind="openai",
            label="Completion server (OpenAI-compatible)",
            schema=OPENAI_SCHEMA,
            needs_torch=False,
            help="A server that returns log-probabilities of the tokens of a prompt (vLLM, llama-cpp-python and "
            "others). Sentences are sent to it, and this site must allow its address.",
            module="lmgym.models.backends.openai",
            needs_external_access=True,
        ),
        BackendSpec(
            kind="lmzoo",
            label="LM Zoo container",
            schema=LMZOO_SCHEMA,
            needs_torch=False,
            help="A container with LM Zoo's commands, configured by this site's administrator.",
            module="lmgym.models.backends.lmzoo",
            needs_external_access=True,
        ),
    )
}


def schema_for(spec: BackendSpec, config: dict[str, Any]) -> dict[str, Any]:
    """Return the part of the schema for the configuration's source, so that messages refer only to that part."""
    for branch in spec.schema.get("oneOf", ()):
        if isinstance(config, dict) and branch["properties"]["source"]["const"] == config.get("source"):
            matching: dict[str, Any] = branch
            return matching
    return spec.schema


def check_config(kind: str, config: dict[str, Any]) -> BackendSpec:
    """Check a configuration against the schema of its kind, and return its spec.

    Raises:
        BackendError: an unknown kind, or an invalid field, which the message names.
    """
    spec = BACKENDS.get(kind)
    if spec is None:
        raise BackendError(f"Unknown backend {kind!r}.", f"Choose one of {', '.join(BACKENDS)}.")
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = schema_for(spec, config)
    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path) or "configuration"
        is_pattern = error.validator == "pattern"  # its message is a regular expression
        reason = f"{error.instance!r} is not allowed" if is_pattern else error.message
        hint = (
            f"{error.schema.get('title', where)}: {error.schema.get('description', '')}" if is_pattern else ""
        )
        raise BackendError(f"Invalid configuration ({spec.label}): {where}: {reason}.", hint)
    return spec


def load_backend(
    kind: str,
    config: dict[str, Any],
    *,
    model_dir: Path,
    hub_allowed: bool,
    external_access: ExternalAccess | None = None,
) -> Backend:
    """Load a model.

    Args:
        config: configuration that fits the schema of `kind`.
        model_dir: the only folder with local models.
        hub_allowed: models may be fetched from the Hugging Face Hub.
        external_access: permissions of models on other servers and in containers.

    Raises:
        BackendError: the model cannot be used.
    """
    spec = check_config(kind, config)
    more = {"external_access": external_access or ExternalAccess()} if spec.needs_external_access else {}
    try:
        module = import_module(spec.module)
        backend: Backend = module.load(config, model_dir=Path(model_dir), hub_allowed=hub_allowed, **more)
    except ModuleNotFoundError as error:  # torch and transformers are imported by `load`
        raise BackendError(
            f"The backend {kind!r} needs the package {error.name!r}, which is not installed.",
            'pip install "lm-gym[hf]"',
        ) from error
    return backend


__all__ = [
    "BACKENDS",
    "Backend",
    "BackendError",
    "BackendSpec",
    "BackendUnavailable",
    "DeviceMissing",
    "ExternalAccess",
    "FilesMissing",
    "MemoryInUse",
    "ModelFacts",
    "NotOnThisMachine",
    "check_config",
    "load_backend",
    "probe",
    "schema_for",
]
