"""The reference with its words in the order of the vocabulary's file: `REFERENCE_PYTHON ordered.py run … ic …`.

It keeps them in sets, so that which of equally near candidates are taken, and in which order they stand, hangs on the
hash seed of the process. With this its logs of ic can be compared byte for byte. Needs nothing of this project.
"""

from __future__ import annotations

from collections.abc import Iterable


class Ordered(dict):  # type: ignore[type-arg]
    """A set in the order of its words, as far as the reference uses one."""

    def __init__(self, words: Iterable[str] = ()) -> None:
        super().__init__(dict.fromkeys(words))

    def __or__(self, other: Iterable[str]) -> Ordered:  # type: ignore[override]
        return Ordered([*self, *other])


def main() -> None:
    """As `lmc`."""
    import lmchallenge  # type: ignore[import-not-found]
    from lmchallenge import run

    run.set = Ordered  # type: ignore[attr-defined]
    lmchallenge.cli()


if __name__ == "__main__":
    main()
