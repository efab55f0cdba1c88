"""Compare LM Challenge with the reference program: whole runs, statistics, and batched causal play."""
