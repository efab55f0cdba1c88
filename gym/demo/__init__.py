"""The embedded demo: a small grammar, the corpus and suites it generates, and three models trained from it.

Nothing in here imports Django; `gym.demo.catalogue` is what a loader reads. See docs/demo.md.
"""
