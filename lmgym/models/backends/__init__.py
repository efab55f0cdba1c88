"""Ways to get an answer from a model. Importing this package imports neither torch, transformers nor Django.

`BACKENDS` describes the kinds; `load_backend` builds one, importing its module only then; `probe` tries it
out.
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
            help="A model that fills gaps (BERT, RoBERTa and the like), scored by pseudo-log-likelihood: each "
            "token given the words on both sides. Not comparable with left-to-right surprisals.",
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
            help="Every token gets the same number of bits: what a model that knows nothing would score.",
            module="lmgym.models.backends.uniform",
            needs_files=False,
        ),
        BackendSpec(
            kind="openai",
            label="Completion server (OpenAI-compatible)",
            schema=OPENAI_SCHEMA,
            needs_torch=False,
            help="A server that tells how likely a prompt is: vLLM, llama.cpp and others. Only sentences are sent "
            "there, by way of the addresses this site allows.",
            module="lmgym.models.backends.openai",
            needs_external_access=True,
        ),
        BackendSpec(
            kind="lmzoo",
            label="LM Zoo container",
            schema=LMZOO_SCHEMA,
            needs_torch=False,
            help="A container that speaks the commands of LM Zoo. The administrator of this site lists which.",
            module="lmgym.models.backends.lmzoo",
            needs_external_access=True,
        ),
    )
}


def schema_for(spec: BackendSpec, config: dict[str, Any]) -> dict[str, Any]:
    """The schema `config` is held against: of several sources the one it names, so that messages are about
    that one."""
    for branch in spec.schema.get("oneOf", ()):
        if isinstance(config, dict) and branch["properties"]["source"]["const"] == config.get("source"):
            found: dict[str, Any] = branch
            return found
    return spec.schema


def check_config(kind: str, config: dict[str, Any]) -> BackendSpec:
    """The spec of `kind`, after `config` has passed its schema; BackendError names the first offending
    field."""
    spec = BACKENDS.get(kind)
    if spec is None:
        raise BackendError(
            f"There is no backend of the kind {kind!r}.", f"Choose one of {', '.join(BACKENDS)}."
        )
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    schema = schema_for(spec, config)
    error = best_match(Draft202012Validator(schema).iter_errors(config))
    if error is not None:
        where = ".".join(str(part) for part in error.absolute_path) or "configuration"
        raise BackendError(f"The configuration of a {spec.label} is not right: {where}: {error.message}.")
    return spec


def load_backend(
    kind: str,
    config: dict[str, Any],
    *,
    model_dir: Path,
    hub_allowed: bool,
    external_access: ExternalAccess | None = None,
) -> Backend:
    """Load a model. `model_dir` is the only place local models come from; `hub_allowed` says whether this
    site may fetch from the Hugging Face Hub; `external_access` is what models need that answer from elsewhere.
    Raises BackendError(message, hint)."""
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
