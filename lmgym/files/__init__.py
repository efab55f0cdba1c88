"""Readers of untrusted files under limits of bytes, time and memory; writing of zip archives."""
