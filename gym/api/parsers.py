"""The parser for JSON bodies."""

from __future__ import annotations

from math import isinf
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser as RestJSONParser
from rest_framework.utils.json import strict_constant

from lmgym.files.bounded import Limits, load

LIMITS = Limits(values=1_000_000)


class JSONParser(RestJSONParser):
    """Parser for JSON that the database can store. A body over the size limit is a 413. Too many values, nesting that
    is too deep, lone surrogates, U+0000, NaN, infinity and integers beyond 64 bits are a 400."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        body = stream.read(most + 1)
        if len(body) > most:
            raise RequestDataTooBig
        try:
            text = body.decode((parser_context or {}).get("encoding", settings.DEFAULT_CHARSET))
            data = load(text, LIMITS, parse_constant=strict_constant)
            _check(data, "$")
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deeply") from error
        except ValueError as error:
            raise ParseError(f"JSON parse error - {error}") from error
        return data


def _check(value: Any, path: str) -> None:
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= character <= "\udfff" for character in value):
            raise ParseError(f"{path} contains an invalid character (U+0000 or half of a surrogate pair).")
    elif isinstance(value, float):
        if isinf(value):
            raise ParseError(f"{path} is a number that is too large to store.")
    elif isinstance(value, int):
        if abs(value) >= 2**63:
            raise ParseError(f"{path} is a number that is too large to store.")
    elif isinstance(value, list):
        for place, element in enumerate(value):
            _check(element, f"{path}[{place}]")
    elif isinstance(value, dict):
        for name, element in value.items():
            _check(name, f"A name in {path}")
            _check(element, f"{path}.{name}")
