"""From an edited cell to its result: through the real server, the real queue and a real worker."""
