"""Log formatter for GYM_LOG_FORMAT=json: one object a line."""

from __future__ import annotations

import logging
from typing import Any

from pythonjsonlogger.json import JsonFormatter

from gym.accounts.redaction import redacted

HIDDEN = ("request", "taskName", "server_time")
"""Attributes that Django and Python add to records; `request` would be its address."""


class JsonLines(JsonFormatter):
    """Formatter with time, level, logger, process, message, and the fields of the request or job, without secrets."""

    def __init__(self) -> None:
        super().__init__(
            "%(levelname)s %(name)s %(process)d %(message)s",
            timestamp="time",
            rename_fields={"levelname": "level", "name": "logger"},
            json_ensure_ascii=False,
        )

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        super().add_fields(log_data, record, message_dict)
        for name in HIDDEN:
            log_data.pop(name, None)

    def format(self, record: logging.LogRecord) -> str:
        return redacted(super().format(record))
