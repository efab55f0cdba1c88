"""Ways to get an answer from a model. Importing this package imports neither torch, transformers nor Django.

`BACKENDS` describes the kinds; `load_backend` builds one, importing its module only then; `probe` tries it
out.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from models_registry.backends.base import Backend, BackendError, BackendSpec, ModelFacts, probe

_DEVICE = {"type": "string", "pattern": "^(auto|cpu|cuda(:([0-9]{1,2}|all))?)$", "default": "auto"}
_DTYPE = {"enum": ["float32", "bfloat16", "float16"], "default": "float32"}
_CPU_BFLOAT16 = {
    "type": "boolean",
    "default": False,
    "description": "Really compute in bfloat16 on a CPU: faster on some, and off by up to bits per token.",
}
_KERNELS = {
    "enum": ["stock", "packed"],
    "description": "Linear kernels on a CPU; without it the faster ones are found by timing.",
}
_PATH = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[A-Za-z0-9_][A-Za-z0-9_./-]*$"}
_REPO = {
    "type": "string",
    "maxLength": 200,
    "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*$",
}
_REVISION = {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[A-Za-z0-9_][A-Za-z0-9_./-]*$"}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def _closed(required: list[str], **properties: Any) -> dict[str, Any]:
    """An object schema that refuses unknown keys."""
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_CAUSAL_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["source"],
    "oneOf": [
        _closed(
            ["source", "repo"],
            source={"const": "hub"},
            repo=_REPO,
            revision={**_REVISION, "default": "main"},
            dtype=_DTYPE,
            device=_DEVICE,
            cpu_bfloat16=_CPU_BFLOAT16,
            kernels=_KERNELS,
        ),
        _closed(
            ["source", "path"],
            source={"const": "directory"},
            path=_PATH,
            dtype=_DTYPE,
            device=_DEVICE,
            cpu_bfloat16=_CPU_BFLOAT16,
            kernels=_KERNELS,
        ),
    ],
}

_METHOD = {"enum": ["within_word_l2r", "original"], "default": "within_word_l2r"}

_MASKED_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["source"],
    "oneOf": [
        _closed(
            branch["required"],
            **{
                name: kind
                for name, kind in branch["properties"].items()
                if name not in ("cpu_bfloat16", "kernels")
            },
            method=_METHOD,
        )
        for branch in _CAUSAL_SCHEMA["oneOf"]
    ],
}

_UNIFORM_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    **_closed(
        ["vocabulary_size"],
        vocabulary_size={"type": "integer", "minimum": 2, "maximum": 10**12},
        unit={"enum": ["word", "character"], "default": "word"},
    ),
}

_NGRAM_SCHEMA: dict[str, Any] = {"$schema": _DRAFT, **_closed(["path"], path=_PATH)}

BACKENDS: dict[str, BackendSpec] = {
    spec.kind: spec
    for spec in (
        BackendSpec(
            kind="causal",
            label="Causal language model (transformers)",
            schema=_CAUSAL_SCHEMA,
            needs_torch=True,
            help="A left-to-right model with safetensors weights and a fast tokenizer, "
            "from the Hugging Face Hub or from a folder in the model directory.",
            module="models_registry.backends.causal",
        ),
        BackendSpec(
            kind="masked",
            label="Masked language model (transformers)",
            schema=_MASKED_SCHEMA,
            needs_torch=True,
            help="A model that fills gaps (BERT, RoBERTa and the like), scored by pseudo-log-likelihood: each "
            "token given the words on both sides. Not comparable with left-to-right surprisals.",
            module="models_registry.backends.masked",
        ),
        BackendSpec(
            kind="ngram",
            label="N-gram model",
            schema=_NGRAM_SCHEMA,
            needs_torch=False,
            help="Smoothed counts of word sequences, from a file in the model directory.",
            module="models_registry.backends.ngram",
        ),
        BackendSpec(
            kind="uniform",
            label="Uniform baseline",
            schema=_UNIFORM_SCHEMA,
            needs_torch=False,
            help="Every token gets the same number of bits: what a model that knows nothing would score.",
            module="models_registry.backends.uniform",
            needs_files=False,
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


def load_backend(kind: str, config: dict[str, Any], *, model_dir: Path, hub_allowed: bool) -> Backend:
    """Load a model. `model_dir` is the only place local models come from; `hub_allowed` says whether this
    site may fetch from the Hugging Face Hub. Raises BackendError(message, hint)."""
    spec = check_config(kind, config)
    try:
        module = import_module(spec.module)
    except ModuleNotFoundError as error:
        raise BackendError(
            f"The backend {kind!r} needs the package {error.name!r}, which is not installed.",
            "Install the pins of requirements.txt.",
        ) from error
    backend: Backend = module.load(config, model_dir=Path(model_dir), hub_allowed=hub_allowed)
    return backend


__all__ = [
    "BACKENDS",
    "Backend",
    "BackendError",
    "BackendSpec",
    "ModelFacts",
    "check_config",
    "load_backend",
    "probe",
    "schema_for",
]
