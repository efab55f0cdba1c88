"""Time from an edited cell to its result, with the real server, queue and worker."""
