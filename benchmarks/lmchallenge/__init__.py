"""LM Challenge beside the reference program: whole runs, statistics, and batched causal play."""
