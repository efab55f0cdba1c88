"""How fast and how exact surprisals are, next to minicons and lm-eval. Run `make bench-engine`."""
