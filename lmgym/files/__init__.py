"""Readers of untrusted files under limits on bytes, time and memory; writing of zip archives."""
