"""The embedded demo: a small grammar, the corpus it generates, a transformer and n-gram models trained on that corpus,
a uniform model, and eleven suites.

See docs/demo.md. Only the modules that load it into the database (actors, apps, loader) import Django.
"""
