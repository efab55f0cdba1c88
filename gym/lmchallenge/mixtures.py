"""The mixtures of the two scores of `ic`, and the grid that is searched for the best one. Plain numbers; `mixing`
reckons with them."""

from __future__ import annotations

from dataclasses import dataclass

from gym.lmchallenge.errors import OptionError

MOST = 100_000


@dataclass(frozen=True)
class Mix:
    """One mixture."""

    alpha: float
    oov_penalty: float

    def as_dict(self) -> dict[str, float]:
        """As `ic-opt` prints it."""
        return {"alpha": self.alpha, "oov_penalty": self.oov_penalty}


@dataclass(frozen=True)
class Domain:
    """`n` values from `low` to `high`, or their middle if n is 1."""

    low: float
    high: float
    n: int

    @classmethod
    def parse(cls, text: str) -> Domain:
        """MIN:MAX:N or one value. Raises OptionError."""
        try:
            if ":" not in text:
                return cls(float(text), float(text), 1)
            low, high, n = text.split(":")
            domain = cls(float(low), float(high), int(n))
        except ValueError:
            raise OptionError(
                f"{text!r} is no range.", "Write MIN:MAX:N or one value, such as 0:1:11."
            ) from None
        if not 1 <= domain.n <= MOST:
            raise OptionError(f"{text!r} asks for {domain.n:,} values.", f"From 1 to {MOST:,} are possible.")
        return domain

    def values(self) -> list[float]:
        """The values, spelled as min + step * i, which is not always the nearest float to the round number."""
        if self.n == 1:
            return [(self.low + self.high) / 2]
        step = (self.high - self.low) / (self.n - 1)
        return [self.low + step * at for at in range(self.n)]


ALPHA = Domain(0.0, 1.0, 11)
OOV_PENALTY = Domain(-8, 0, 5)


def grid(alpha: Domain = ALPHA, oov_penalty: Domain = OOV_PENALTY) -> list[Mix]:
    """All mixtures, lowest penalty first and within it the lowest alpha."""
    return [Mix(a, o) for o in oov_penalty.values() for a in alpha.values()]
