"""Readers of untrusted files under limits of bytes, time and memory; writers of CSV and zip."""
