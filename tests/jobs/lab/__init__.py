"""A tiny app for tests: a job that processes numbered chunks and stores one row per chunk."""
