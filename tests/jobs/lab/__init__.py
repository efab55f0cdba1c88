"""A tiny domain: a job that works off numbered chunks and stores one row per chunk."""
