"""Python types for API responses. `raw` is the whole response."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

Raw = Mapping[str, Any]
FINAL = ("done", "failed", "cancelled")


@dataclass(frozen=True)
class Suite:
    slug: str
    title: str
    owner: str | None
    """User name; None if hidden, as in unlisted suites of other users."""
    visibility: str
    n_items: int
    n_predictions: int
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Suite:
        return cls(
            slug=raw["slug"],
            title=raw["title"],
            owner=raw["owner"],
            visibility=raw["visibility"],
            n_items=raw["n_items"],
            n_predictions=raw["n_predictions"],
            raw=raw,
        )

    @property
    def revisions(self) -> list[int]:
        """Numbers of the frozen revisions, newest first; empty for suites from a list."""
        return [row["number"] for row in self.raw.get("revisions", []) if row["state"] == "frozen"]

    @property
    def has_draft(self) -> bool:
        return any(row["state"] == "draft" for row in self.raw.get("revisions", []))


@dataclass(frozen=True)
class Model:
    slug: str
    name: str
    backend: str
    status: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Model:
        return cls(raw["slug"], raw["name"], raw["backend"], raw["status"], raw=raw)

    @property
    def state(self) -> str:
        """`status`: unapproved, refused, unchecked, ready or broken."""
        return self.status

    @property
    def is_final(self) -> bool:
        """True if no check is in progress. An unapproved model waits for staff."""
        return self.status != "unchecked"


@dataclass(frozen=True)
class Prediction:
    """Result of a prediction over all items: `passed` of `n` items, 95% interval, chance level, mean margin in bits.

    Ties and items that are not evaluable count as not passed. `against_chance`: above, at, below, tied, missing,
    unknown-words, or empty, by the one-sided p in either direction, corrected for the number of predictions in the run.
    """

    prediction_number: int
    prediction: str
    formula: str
    n: int
    passed: int
    rate: float | None
    low: float | None
    high: float | None
    chance: float | None
    chance_standard_error: float | None
    ties: int
    too_close: int
    not_evaluable: int
    passed_with_sums: int | None
    passed_with_means: int | None
    changed_by_length: int | None
    p: float | None
    p_below: float | None
    p_corrected: float | None
    p_below_corrected: float | None
    against_chance: str
    mean_margin: float | None
    margin_low: float | None
    margin_high: float | None
    effect_size_g: float | None

    @classmethod
    def of(cls, raw: Raw) -> Prediction:
        return cls(**{field.name: raw[field.name] for field in fields(cls)})


@dataclass(frozen=True)
class Run:
    id: str
    suite: str
    revision: int
    model: str
    state: str
    predictions: tuple[Prediction, ...]
    done: int
    total: int
    error: str
    raw: Raw = field(repr=False, compare=False)
    n_words: int | None = None
    n_unknown_words: int | None = None
    unknown_words: tuple[str, ...] = ()
    behind: str = ""
    """Reason for waiting, in words."""

    @classmethod
    def of(cls, raw: Raw) -> Run:
        progress = raw["progress"] or {}
        return cls(
            id=raw["id"],
            suite=raw["suite"],
            revision=raw["revision"],
            model=raw["model"],
            state=raw["state"],
            predictions=tuple(map(Prediction.of, raw["predictions"])),
            done=progress.get("done", 0),
            total=progress.get("total", 0),
            error=progress.get("error", ""),
            behind=progress.get("behind", ""),
            n_words=raw["n_words"],
            n_unknown_words=raw["n_unknown_words"],
            unknown_words=tuple(raw["unknown_words"]),
            raw=raw,
        )

    @property
    def is_final(self) -> bool:
        return self.state in FINAL

    @property
    def rate(self) -> float | None:
        """Mean pass rate of the predictions, as on the leaderboard with the rule `each`; None if none has a rate."""
        rates = [row.rate for row in self.predictions if row.rate is not None]
        return sum(rates) / len(rates) if rates else None


@dataclass(frozen=True)
class Game:
    """A game of LM Challenge, or an uploaded log. `version`: 4 (wp, tc, ic) or 5 (wc, we, ce, wr)."""

    id: str
    title: str
    game: str
    version: int
    state: str
    lines: int
    error: str
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Game:
        error = raw["problem"] or (raw["progress"] or {}).get("error", "")
        names = ("id", "title", "game", "version", "state", "lines")
        return cls(**{name: raw[name] for name in names}, error=error, raw=raw)

    @property
    def is_final(self) -> bool:
        return self.state in (*FINAL, "lost")

    @property
    def behind(self) -> str:
        """Reason for waiting, in words."""
        return str((self.raw["progress"] or {}).get("behind", ""))


@dataclass(frozen=True)
class Submission:
    """Predictions for ProPara, with F1 by the official and the corrected metric; None = no score."""

    id: str
    answer_set: str
    version: int
    system: str
    state: str
    f1: float | None
    corrected_f1: float | None
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> Submission:
        names = ("id", "answer_set", "version", "system", "state")
        f1, corrected = ((raw[metric] or {}).get("f1") for metric in ("reference", "corrected"))
        return cls(**{name: raw[name] for name in names}, f1=f1, corrected_f1=corrected, raw=raw)


@dataclass(frozen=True)
class AgentCase:
    """Result of a case in a run. `outcome`: pass, fail, error, timeout, skipped; `passed` of `n` iterations with a
    verdict; `checks_made`: number of checks over all iterations."""

    name: str
    outcome: str
    passed: int
    n: int
    errors: int
    checks_made: int

    @property
    def is_unchecked(self) -> bool:
        """True if the case has checks but none was made, for example because a test's name is misspelt."""
        return self.outcome == "skipped" and self.passed > 0 and not self.checks_made


@dataclass(frozen=True)
class AgentRun:
    """Run of an agent suite. `versions`: versions that the agent reported during the run."""

    id: str
    suite: str
    server: str
    state: str
    versions: tuple[str, ...]
    cases: tuple[AgentCase, ...]
    raw: Raw = field(repr=False, compare=False)

    @classmethod
    def of(cls, raw: Raw) -> AgentRun:
        names = ("name", "outcome", "passed", "n", "errors", "checks_made")
        cases = tuple(AgentCase(*(case[name] for name in names)) for case in raw["cases"])
        return cls(
            raw["id"], raw["suite"], raw["server"], raw["state"], tuple(raw["versions"]), cases, raw=raw
        )

    @property
    def is_final(self) -> bool:
        return self.state in FINAL


@dataclass(frozen=True)
class ScoredToken:
    """Token of a scored sentence. `surprisal` is in bits, None if not predicted; `start` and `end` are offsets."""

    token: str
    token_id: int
    start: int
    end: int
    surprisal: float | None
    special: bool


@dataclass(frozen=True)
class ScoredSentence:
    text: str
    surprisal: float | None
    failure: str
    tokens: tuple[ScoredToken, ...]

    @classmethod
    def of(cls, raw: Raw) -> ScoredSentence:
        names = ("token", "token_id", "start", "end", "surprisal", "special")
        tokens = tuple(ScoredToken(*(token[name] for name in names)) for token in raw["tokens"])
        return cls(raw["text"], raw["surprisal"], raw["failure"], tokens)
