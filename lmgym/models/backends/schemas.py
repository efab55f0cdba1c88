"""JSON schemas for the configuration of each kind of model, used by forms, the API and validation."""

from __future__ import annotations

from typing import Any

from lmgym.models.engine.policy import MAX_BOS

_DEVICE = {
    "title": "Device",
    "description": "auto, cpu, cuda, cuda:1, or cuda:all for a model larger than one GPU. By default the site decides.",
    "type": "string",
    "pattern": "^(auto|cpu|cuda(:([0-9]{1,2}|all))?)$",
    "default": "auto",
}
_DTYPE = {
    "title": "Number format",
    "description": "Number format of the weights in computations.",
    "enum": ["float32", "bfloat16", "float16"],
    "default": "float32",
}
_CPU_BFLOAT16 = {
    "title": "bfloat16 on a CPU",
    "type": "boolean",
    "default": False,
    "description": "Compute in bfloat16 on a CPU: faster on some CPUs, with errors of up to several bits per token.",
}
_KERNELS = {
    "title": "Linear kernels",
    "enum": ["stock", "packed"],
    "description": "Linear kernels on a CPU. Default: whichever are faster when timed.",
}
_BOS_TOKEN = {
    "title": "Start token",
    "description": "Prepended to every sentence, spelled as in the vocabulary, e.g. <|endoftext|>. By default, the "
    "declared token is used, unless it opens a chat turn or another token saves more than 2% of the bits of plain "
    "sentences.",
    "type": "string",
    "maxLength": MAX_BOS,
}
PATH_PATTERN = r"^\w[\w ./+=,@()-]*$"
"""Name of a file or folder. `files.inside` checks that it is inside the model directory."""
_PATH = {
    "title": "Folder or file",
    "description": "Path below the model directory of this site.",
    "type": "string",
    "minLength": 1,
    "maxLength": 200,
    "pattern": PATH_PATTERN,
}
_REPO = {
    "title": "Hub id",
    "description": "organisation/name, e.g. openai-community/gpt2. The check completes old names such as gpt2.",
    "type": "string",
    "maxLength": 200,
    "pattern": "^([A-Za-z0-9_][A-Za-z0-9_.-]*/)?[A-Za-z0-9_][A-Za-z0-9_.-]*$",
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
    """Build an object schema that rejects unknown keys."""
    titled = {"title": title} if title else {}
    closed = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return titled | closed


CAUSAL_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["source"],
    "oneOf": [
        _closed(
            ["source", "repo"],
            "Causal language model from the Hugging Face Hub",
            source={"const": "hub"},
            repo=_REPO,
            revision={**_REVISION, "default": "main"},
            dtype=_DTYPE,
            device=_DEVICE,
            cpu_bfloat16=_CPU_BFLOAT16,
            kernels=_KERNELS,
            bos_token=_BOS_TOKEN,
        ),
        _closed(
            ["source", "path"],
            "Causal language model from a folder, or a GGUF file, in the model directory",
            source={"const": "directory"},
            path=_PATH,
            dtype=_DTYPE,
            device=_DEVICE,
            cpu_bfloat16=_CPU_BFLOAT16,
            kernels=_KERNELS,
            bos_token=_BOS_TOKEN,
        ),
    ],
}

_METHOD = {
    "x-main": True,
    "title": "Pseudo-log-likelihood",
    "description": "Each token is masked and predicted from the words on both sides. within_word_l2r also masks later "
    "tokens of the same word (Kauf & Ivanova 2023); original masks only the token (Salazar et al. 2020). The bits are "
    "not comparable with the surprisals of left-to-right models; runs and exports state this.",
    "enum": ["within_word_l2r", "original"],
    "default": "within_word_l2r",
}

MASKED_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["source"],
    "oneOf": [
        _closed(
            branch["required"],
            branch["title"].replace("Causal", "Masked").replace(", or a GGUF file,", ""),
            **{
                name: kind
                for name, kind in branch["properties"].items()
                if name not in ("cpu_bfloat16", "bos_token")
            },
            method=_METHOD,
        )
        for branch in CAUSAL_SCHEMA["oneOf"]
    ],
}

UNIFORM_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    **_closed(
        ["vocabulary_size"],
        vocabulary_size={"title": "Vocabulary size", "type": "integer", "minimum": 2, "maximum": 10**12},
        unit={"title": "Unit of a token", "enum": ["word", "character"], "default": "word", "x-main": True},
    ),
}

NGRAM_SCHEMA: dict[str, Any] = {"$schema": _DRAFT, **_closed(["path"], path=_PATH)}

OPENAI_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["base_url", "model"],
    "additionalProperties": False,
    "properties": {
        "base_url": {
            "title": "Address of the API",
            "description": "Up to and including /v1, e.g. https://lab.example.org/v1. The administrator of this site "
            "decides which servers are allowed.",
            "type": "string",
            "maxLength": 500,
            "pattern": r"^https?://[^\s?#@]+$",
        },
        "model": {
            "title": "Name of the model on the server",
            "description": "As listed by the server under /models.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "pattern": r"^\S+$",
        },
        "api_key": {
            "title": "API key",
            "description": "Stored encrypted, sent only to this server, and never shown again. It is used for everyone "
            "who may run the model.",
            "type": "string",
            "maxLength": 2000,
            "writeOnly": True,
        },
        "reference": {
            "x-main": True,
            "title": "Reference",
            "description": "A model of this site with the same weights. The check scores some sentences with both and "
            "notes how far they differ.",
            "type": "string",
            "maxLength": 80,
            "pattern": "^[-a-zA-Z0-9_]+$",
        },
        "method": {
            "title": "Scoring method",
            "description": "auto tries echo=true first (llama.cpp, vLLM), then prompt_logprobs (vLLM).",
            "enum": ["auto", "echo", "prompt_logprobs"],
            "default": "auto",
        },
        "bos_token": {
            "x-main": True,
            "title": "Start token",
            "description": "Prepended to every sentence unless the server adds one, e.g. <|endoftext|>. Without one "
            "the first token has no value.",
            "type": "string",
            "maxLength": 60,
            "pattern": r"^\S*$",
            "default": "",
        },
        "eos_token": {
            "title": "End token",
            "description": "Needed only for runs that score the end of the sentence.",
            "type": "string",
            "maxLength": 60,
            "pattern": r"^\S*$",
            "default": "",
        },
        "batch": {
            "title": "Sentences per request",
            "type": "integer",
            "minimum": 1,
            "maximum": 256,
            "default": 16,
        },
        "seconds": {
            "title": "Time limit of one request",
            "description": "In seconds, from name lookup to the last byte.",
            "type": "integer",
            "minimum": 1,
            "maximum": 600,
            "default": 60,
        },
    },
}

LMZOO_SCHEMA: dict[str, Any] = {
    "$schema": _DRAFT,
    "type": "object",
    "required": ["command"],
    "additionalProperties": False,
    "properties": {
        "command": {
            "title": "Command",
            "description": "One of the commands that the administrator of this site lists in GYM_LMZOO_COMMANDS.",
            "type": "string",
            "maxLength": 80,
            "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        },
        "seconds": {
            "title": "Time limit of one call",
            "description": "In seconds. One call scores at most one chunk of sentences.",
            "type": "integer",
            "minimum": 1,
            "maximum": 3600,
            "default": 300,
        },
    },
}
