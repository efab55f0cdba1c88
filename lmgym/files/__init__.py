"""Readers of untrusted files with limits on bytes, time and memory; writers of zip archives and workbooks."""
