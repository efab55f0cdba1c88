"""What administrators watch: metrics, logs of requests, reports of errors (docs/watching.md)."""
