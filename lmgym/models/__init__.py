"""Language models: backends load them, the engine computes surprisals."""
