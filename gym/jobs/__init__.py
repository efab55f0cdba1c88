"""Background work: Job rows are the truth, messages only wake a worker up. Knows no domain."""
