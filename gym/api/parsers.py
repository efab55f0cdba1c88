"""Reading request bodies."""

from __future__ import annotations

from typing import Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser as RestJSONParser


class JSONParser(RestJSONParser):
    """JSON whose depth cannot exhaust the stack: what is nested too deep is a 400 like other bad JSON."""

    def parse(self, stream: Any, media_type: Any = None, parser_context: Any = None) -> Any:
        try:
            return super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("JSON parse error - nested too deep") from error
