"""Data-driven tests of agents: case files, the assessor that runs them, verdicts and pass rates (docs/agents.md)."""
