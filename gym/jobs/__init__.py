"""Background jobs. Rows hold the state; messages only wake up workers. Apps register the handlers."""
