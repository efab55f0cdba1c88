"""One sentence in detail: its tokens by region. Values are in bits."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from lmgym.runs.compute import SentenceResult, region_bits, token_bits


@dataclass(frozen=True)
class ShownToken:
    """A token to display. `text`: the characters it covers in the sentence; `token`: its form in the
    vocabulary; `start` and `end`: character offsets."""

    text: str
    token: str
    token_id: int
    start: int
    end: int
    surprisal: float | None
    straddles: bool
    special: bool
    not_computed: bool = False
    part: str = ""
    """Such as "2/3" for the second of three tokens that share a character; empty if it shares none."""


@dataclass(frozen=True)
class ShownRegion:
    region_number: int
    region: str
    content: str
    surprisal: float | None
    critical: bool
    tokens: list[ShownToken]
    not_computed: bool = False


@dataclass(frozen=True)
class ShownSentence:
    """A sentence to display, with its tokens by region. `specials`: tokens outside regions."""

    result: SentenceResult
    regions: list[ShownRegion]
    specials: list[ShownToken]


def shown_sentence(
    result: SentenceResult, names: Sequence[str], contents: Sequence[str], critical: Collection[int]
) -> ShownSentence:
    """Assign tokens to regions. `names`, `contents`: of the regions, in order; `critical`: numbers of regions that
    some formula refers to."""
    by_region: dict[int | None, list[ShownToken]] = {}
    for region_number, token in shown_tokens(result):
        by_region.setdefault(region_number, []).append(token)
    return ShownSentence(
        result=result,
        regions=[
            ShownRegion(
                region.region_number,
                region.region,
                region.content,
                region.surprisal,
                region.region_number in critical,
                by_region.get(region.region_number, []),
                region.not_computed,
            )
            for region in region_bits(names, contents, result)
        ],
        specials=by_region.get(None, []),
    )


def shown_tokens(result: SentenceResult) -> Iterator[tuple[int | None, ShownToken]]:
    """Yield each token with the number of its region; None: outside regions."""
    tokens = list(token_bits(result))
    parts = parts_of_characters([(token.start, token.end) for token in tokens])
    for token, part in zip(tokens, parts, strict=True):
        yield (
            token.region_number,
            ShownToken(
                text=result.text[token.start : token.end],
                token=token.token,
                token_id=token.token_id,
                start=token.start,
                end=token.end,
                surprisal=token.surprisal,
                straddles=token.straddles,
                special=token.region_number is None,
                not_computed=token.not_computed,
                part=part,
            ),
        )


def parts_of_characters(places: Sequence[tuple[int, int]]) -> list[str]:
    """Number neighbouring tokens that share characters, such as bytes of one character: "1/3", "2/3", "3/3".
    Other tokens get ""."""
    runs: list[list[int]] = []
    for place, (start, end) in enumerate(places):
        is_shared = place > 0 and max(start, places[place - 1][0]) < min(end, places[place - 1][1])
        if is_shared:
            runs[-1].append(place)
        else:
            runs.append([place])
    return [f"{k}/{len(run)}" if len(run) > 1 else "" for run in runs for k, _ in enumerate(run, start=1)]
