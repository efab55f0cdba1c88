"""Language models: backends that load them, the engine that computes surprisals."""
