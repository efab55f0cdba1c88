"""A tiny domain: a job that processes numbered chunks and stores one row per chunk."""
