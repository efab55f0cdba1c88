"""What may be configured of models that answer from elsewhere: servers, and commands of the site's administrator."""

from __future__ import annotations

from typing import Any

DRAFT = "https://json-schema.org/draft/2020-12/schema"

OPENAI_SCHEMA: dict[str, Any] = {
    "$schema": DRAFT,
    "type": "object",
    "required": ["base_url", "model"],
    "additionalProperties": False,
    "properties": {
        "base_url": {
            "title": "Address of the API",
            "description": "Up to and with /v1, e.g. https://lab.example.org/v1. Where this site may send requests is "
            "decided by its administrator.",
            "type": "string",
            "maxLength": 500,
            "pattern": r"^https?://[^\s?#@]+$",
        },
        "model": {
            "title": "Name of the model there",
            "description": "As the server lists it under /models.",
            "type": "string",
            "minLength": 1,
            "maxLength": 200,
            "pattern": r"^\S+$",
        },
        "api_key": {
            "title": "API key",
            "description": "Stored encrypted, sent to that server only, never shown again. Whoever may run the model "
            "uses it.",
            "type": "string",
            "maxLength": 2000,
            "writeOnly": True,
        },
        "method": {
            "title": "How scores are asked for",
            "description": "auto tries echo=true first (llama.cpp, vLLM), then prompt_logprobs (vLLM).",
            "enum": ["auto", "echo", "prompt_logprobs"],
            "default": "auto",
        },
        "bos_token": {
            "x-main": True,
            "title": "Start token",
            "description": "Put before every sentence unless the server does it by itself, e.g. <|endoftext|>. Without "
            "one the first token has no value.",
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
            "description": "In seconds, for everything from the look-up of the name to the last byte.",
            "type": "integer",
            "minimum": 1,
            "maximum": 600,
            "default": 60,
        },
    },
}

LMZOO_SCHEMA: dict[str, Any] = {
    "$schema": DRAFT,
    "type": "object",
    "required": ["command"],
    "additionalProperties": False,
    "properties": {
        "command": {
            "title": "Command",
            "description": "One of those that the administrator of this site lists in GYM_LMZOO_COMMANDS.",
            "type": "string",
            "maxLength": 80,
            "pattern": "^[A-Za-z0-9_][A-Za-z0-9_.-]*$",
        },
        "seconds": {
            "title": "Time limit of one call",
            "description": "In seconds. A call scores up to a chunk of sentences.",
            "type": "integer",
            "minimum": 1,
            "maximum": 3600,
            "default": 300,
        },
    },
}
