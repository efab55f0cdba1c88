"""Whether a GPU gives the numbers it should, bears what goes wrong, and how fast it is: python -m benchmarks.gpu."""
