"""The embedded demo: a small grammar, the corpus it generates, three models trained on that corpus, and eleven suites.

See docs/demo.md. Only the modules that load it into the database (actors, apps, loader) import Django.
"""
