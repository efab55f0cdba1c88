"""Speed and accuracy of surprisals, compared with minicons and lm-eval. Run `make bench-engine`."""
