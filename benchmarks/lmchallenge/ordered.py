"""Run the reference with its words in the order of the vocabulary file: `REFERENCE_PYTHON ordered.py run … ic …`.

The reference keeps words in sets, so the choice and the order of equally near candidates depend on the hash seed of the
process. With this order, its ic logs can be compared byte for byte. Needs no other code of this project.
"""

from __future__ import annotations

from collections.abc import Iterable


class Ordered(dict):  # type: ignore[type-arg]
    """A set that keeps the order of its words, with the operations that the reference uses."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        super().__init__(dict.fromkeys(words))

    def __or__(self, other: Iterable[str]) -> Ordered:  # type: ignore[override]
        return Ordered([*self, *other])


def main() -> None:
    import lmchallenge  # type: ignore[import-not-found]
    from lmchallenge import run

    run.set = Ordered  # type: ignore[attr-defined]
    lmchallenge.cli()


if __name__ == "__main__":
    main()
