"""Ways to get an answer from a model. Importing this package imports neither torch, transformers nor Django.

`BACKENDS` describes the kinds; `load_backend` builds one, importing its module only then; `probe` tries it
out.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

from models_registry.backends.base import (
    Backend,
    BackendError,
    BackendSpec,
    BackendUnavailable,
    ExternalAccess,
    FilesMissing,
    ModelFacts,
    probe,
)
from models_registry.backends.remote_schemas import LMZOO_SCHEMA, OPENAI_SCHEMA

_DEVICE = {
    "title": "Device",
    "description": "auto, cpu, cuda, cuda:1, or cuda:all for a model larger than one GPU. Without it the site decides.",
    "type": "string",
    "pattern": "^(auto|cpu|cuda(:([0-9]{1,2}|all))?)$",
    "default": "auto",
}
_DTYPE = {
    "title": "Number format",
    "description": "What the weights are computed in.",
    "enum": ["float32", "bfloat16", "float16"],
    "default": "float32",
}
_CPU_BFLOAT16 = {
    "title": "bfloat16 on a CPU",
    "type": "boolean",
    "default": False,
    "description": "Really compute in bfloat16 on a CPU: faster on some, and off by up to bits per token.",
}
_KERNELS = {
    "title": "Linear kernels",
    "enum": ["stock", "packed"],
    "description": "Linear kernels on a CPU; without it the faster ones are found by timing.",
}
_PATH = {
    "title": "Folder or file",
    "description": "Its name below the model directory of this site.",
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": "^[A-Za-z0-9_][A-Za-z0-9_./-]*$",
}
_REPO = {
    "title": "Hub id",
    "description": "organisation/name, e.g. openai-community/gpt2",
    "type": "string",
    "maxLength": 200,
    "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*/[A-Za-z0-9_][A-Za-z0-9_.-]*$",
}
_REVISION = {
    "title": "Hub revision",
    "description": "Branch, tag or commit. The check pins it to a commit.",
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": "^[A-Za-z0-9_][A-Za-z0-9_./-]*$",
    "x-main": True,
}
_DRAFT = "https://json-schema.org/draft/2020-12/schema"


def _closed(required: list[str], title: str = "", **properties: Any) -> dict[str, Any]:
    """An object schema that refuses unknown keys."""
    named = {"title": title} if title else {}
    closed = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return named | closed


_CAUSAL_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["source"],
    "oneOf": [
        _closed(
            ["source", "repo"],
            "Causal language model from the Hugging Face hub",
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
            "Causal language model from a folder in the model directory",
            source={"const": "directory"},
            path=_PATH,
            dtype=_DTYPE,
            device=_DEVICE,
            cpu_bfloat16=_CPU_BFLOAT16,
            kernels=_KERNELS,
        ),
    ],
}

_METHOD = {
    "x-main": True,
    "title": "Pseudo-log-likelihood",
    "description": "Each token is masked and read off, given the words on both sides. within_word_l2r masks the later "
    "tokens of its own word too (Kauf & Ivanova 2023), original only the token (Salazar et al. 2020). These bits are "
    "not comparable with the surprisals of left-to-right models; runs and exports say so.",
    "enum": ["within_word_l2r", "original"],
    "default": "within_word_l2r",
}

_MASKED_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["source"],
    "oneOf": [
        _closed(
            branch["required"],
            branch["title"].replace("Causal", "Masked"),
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
        vocabulary_size={"title": "Vocabulary size", "type": "integer", "minimum": 2, "maximum": 10**12},
        unit={"title": "What is one token", "enum": ["word", "character"], "default": "word", "x-main": True},
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
        BackendSpec(
            kind="openai",
            label="Completion server (OpenAI-compatible)",
            schema=OPENAI_SCHEMA,
            needs_torch=False,
            help="A server that tells how likely a prompt is: vLLM, llama.cpp and others. Only sentences are sent "
            "there, by way of the addresses this site allows.",
            module="models_registry.backends.openai",
            needs_external_access=True,
        ),
        BackendSpec(
            kind="lmzoo",
            label="LM Zoo container",
            schema=LMZOO_SCHEMA,
            needs_torch=False,
            help="A container that speaks the commands of LM Zoo. The administrator of this site lists which.",
            module="models_registry.backends.lmzoo",
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
    try:
        module = import_module(spec.module)
    except ModuleNotFoundError as error:
        raise BackendError(
            f"The backend {kind!r} needs the package {error.name!r}, which is not installed.",
            "Install the pins of requirements.txt.",
        ) from error
    more = {"external_access": external_access or ExternalAccess()} if spec.needs_external_access else {}
    backend: Backend = module.load(config, model_dir=Path(model_dir), hub_allowed=hub_allowed, **more)
    return backend


__all__ = [
    "BACKENDS",
    "Backend",
    "BackendError",
    "BackendSpec",
    "BackendUnavailable",
    "ExternalAccess",
    "FilesMissing",
    "ModelFacts",
    "check_config",
    "load_backend",
    "probe",
    "schema_for",
]
