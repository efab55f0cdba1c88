"""Background jobs: rows hold the state, messages only wake workers up. Independent of any domain."""
