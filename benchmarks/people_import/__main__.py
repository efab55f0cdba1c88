"""Time of importing a simulated experiment with a million reading times, as a long CSV file and as PCIbex results.

    OMP_NUM_THREADS=1 python -m benchmarks.people_import [--people 1042]

Each file is read and matched to its suite, words compared; the observations must equal those that were simulated.
Times are processor time of one process.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator

import numpy as np

from lmgym.people.intake import import_people, words_of
from lmgym.people.observations import COLUMNS, Observations
from lmgym.people.simulate import Experiment, pcibex_results, simulate
from lmgym.suites.formats.documents import SentenceDoc, SuiteDocument
from lmgym.text.csv_writer import csv_text

WORDS = ["the", "boat", "left,", "harbour", "was", "quiet", "and", "men", "looked", "at", "it"]
SALT = b"salt of the benchmark"


def suite(random: np.random.Generator) -> SuiteDocument:
    """Make a suite of 80 items, 4 conditions and 6 regions of two words."""
    sentences = tuple(
        SentenceDoc(
            item, name, tuple(f"{random.choice(WORDS)}{item} {random.choice(WORDS)}{name}" for _ in range(6))
        )
        for item in range(1, 81)
        for name in "abcd"
    )
    return SuiteDocument("benchmark", "sum", {}, tuple(map(str, range(1, 7))), tuple("abcd"), sentences)


def long_csv(data: Observations, document: SuiteDocument) -> str:
    """Write one row per word, with the sentence."""
    table = document.table()
    texts = {key: [word.text for word in words_of(sentence)] for key, sentence in table.items()}
    columns = (data.participant, data.item, data.condition, data.region, data.word, data.value, data.trial)
    rows = zip(*(column.tolist() for column in columns), strict=True)
    header = ("participant", "item", "condition", "region", "word_number", "word", "sentence", "rt", "trial")

    def cells() -> Iterator[tuple[object, ...]]:
        for person, item, number, region, word, value, trial in rows:
            key = (item, document.conditions[number])
            yield (
                f"p{person}",
                item,
                key[1],
                region,
                word,
                texts[key][word - 1],
                table[key].text,
                value,
                trial,
            )

    return csv_text(header, cells())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--people", type=int, default=1042)
    people = parser.parse_args().people
    random = np.random.default_rng(0)
    document = suite(random)
    bits = {(s.item, s.condition): random.exponential(8, 12).tolist() for s in document.sentences}
    data = simulate(document, bits, Experiment(n_participants=people), seed=1)
    print("| file | observations | MB | seconds |\n|---|---:|---:|---:|")
    for name, text in (
        ("long CSV", long_csv(data, document)),
        ("PCIbex results", pcibex_results(data, document)),
    ):
        file = text.encode()
        start = time.process_time()
        result = import_people(file, name, document, salt=SALT)
        seconds = time.process_time() - start
        if result.matched is None or result.matched.observations is None:
            raise SystemExit("\n".join(map(str, result.problems)))
        read = result.matched.observations
        if any(not np.array_equal(getattr(read, column), getattr(data, column)) for column in COLUMNS):
            raise SystemExit(f"{name}: other observations than were simulated")
        print(f"| {name} | {len(read):,} | {len(file) / 1e6:.0f} | {seconds:.1f} |")
    print(f"\nPeak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.1f} GB, files included")


if __name__ == "__main__":
    main()
