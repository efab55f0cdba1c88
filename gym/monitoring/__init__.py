"""Monitoring for administrators: metrics, logs of requests, reports of errors (docs/watching.md)."""
