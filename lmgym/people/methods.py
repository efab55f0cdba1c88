"""The methods paragraph of models against people: what was fitted to what, and the entries it cites."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lmgym.people.effects import MIN_PARTICIPANTS
from lmgym.people.exclusions import Dropped
from lmgym.people.fit_data import Options
from lmgym.people.observations import Measure
from lmgym.people.region_means import RESAMPLES, SEED
from lmgym.people.tables import Fit
from lmgym.runs.methods import Cite, Code, Methods, Phrase, References, what_was_scored, with_references
from lmgym.runs.studied import DIGITS, Studied
from lmgym.text import count, listing
from lmgym.text.bibtex import Entry

LME4 = Entry(
    "bates-2015",
    """@article{bates-2015,
  title = {Fitting Linear Mixed-Effects Models Using {lme4}},
  author = {Bates, Douglas and M{\\"a}chler, Martin and Bolker, Ben and Walker, Steve},
  journal = {Journal of Statistical Software},
  volume = {67},
  number = {1},
  pages = {1--48},
  year = {2015},
  doi = {10.18637/jss.v067.i01}
}
""",
)
WORDFREQ = Entry(
    "speer-2022",
    """@misc{speer-2022,
  title = {rspeer/wordfreq: v3.0},
  author = {Speer, Robyn},
  year = {2022},
  howpublished = {Zenodo},
  note = {doi 10.5281/zenodo.7199437}
}
""",
)


@dataclass(frozen=True)
class StudiedPeople:
    """A data set as a paper names it.

    Attributes:
        sha256: of its file; "" if unknown.
        n_participants: 0 for means over participants.
        n: observations before exclusions.
        dropped: what the exclusions dropped.
        entries: what is cited for it.
    """

    title: str
    measure: Measure
    sha256: str
    n: int
    n_participants: int
    dropped: Sequence[Dropped]
    entries: Sequence[Entry]
    is_simulated: bool = False

    @property
    def n_kept(self) -> int:
        """Participants without those that the exclusions dropped altogether."""
        return self.n_participants - sum(len(one.participants) for one in self.dropped)


def people_methods(
    people: StudiedPeople,
    runs: Sequence[Studied],
    references: References,
    fits: Sequence[Fit],
    options: Options,
    left_out: Mapping[str, int],
    not_fitted: Sequence[str] = (),
    *,
    has_gains: bool = True,
) -> Methods:
    """Write the paragraph.

    Args:
        fits: of the models; empty for judgments.
        left_out: as in `Against`.
        not_fitted: labels of models without a fit.
        has_gains: whether the fits were cross-validated.
    """
    pieces: Phrase = (*what_was_scored(runs, references), ". ", *_data(people), *_dropped(people.dropped))
    entries = list(people.entries)
    if fits:
        uses_frequency = "log_frequency" in fits[0].fixed_formula
        pieces += (
            *_fitted(people, fits, options, left_out, not_fitted, uses_frequency=uses_frequency),
            _cross_validated(min(options.folds, fits[0].n_items)) if has_gains else "",
        )
        entries += [LME4, *([WORDFREQ] if uses_frequency else [])]
    pieces += (_effects(people),)
    return with_references(pieces, references, entries)


def _data(people: StudiedPeople) -> Phrase:
    who = (
        f" of {count(people.n_participants, 'participant')}"
        if people.n_participants
        else ", means over participants"
    )
    digest = f", sha256 of the file {people.sha256[:DIGITS]}" if people.sha256 else ""
    kind = "simulated data" if people.is_simulated else "human data"
    return (
        f"They were compared with the {kind} “{people.title}”",
        *((Cite(tuple(entry.key for entry in people.entries)),) if people.entries else ()),
        f": {people.n:,} values of {people.measure.name}{who}{digest}. ",
    )


def _dropped(dropped: Sequence[Dropped]) -> Phrase:
    if not dropped:
        return ("No observation was excluded.",)
    settings = [f"{one.n_observations:,} ({one.label})" for one in dropped]
    return (f"We excluded, in this order, {listing(settings)}.",)


def _fitted(
    people: StudiedPeople,
    fits: Sequence[Fit],
    options: Options,
    left_out: Mapping[str, int],
    not_fitted: Sequence[str],
    *,
    uses_frequency: bool,
) -> Phrase:
    formulas = list(dict.fromkeys(fit.fixed_formula for fit in fits))
    times = "Logarithms of reading times" if options.transform == "log" else "Reading times in ms"
    unused = [f"{n:,} {reason}" for reason, n in left_out.items()]
    are_means = fits[0].n_participants is None
    if are_means and people.n_participants:
        times += ", averaged over participants by item and word or region,"
    size = f"{fits[0].n:,} {'means over participants' if are_means else 'observations'}"
    each = f"each model except {listing(not_fitted)}" if not_fitted else "each model"
    pieces: Phrase = (f" {times} were fitted for {each} by the linear mixed model ",)
    for place, formula in enumerate(formulas):
        pieces += (*((" or ",) if place else ()), Code(formula))
    pieces += (
        f" to {size} of {count(fits[0].n_items, 'item')}",
        ", weighted by the number of participants" if are_means else "",
        f" (not used: {listing(unused)})" if unused else "",
        " by REML, with the likelihood of lme4", Cite((LME4.key,)), " and 95% Wald intervals.",
    )  # fmt: skip
    if uses_frequency:
        pieces += (
            " ",
            Code("log_frequency"),
            " is the Zipf frequency of wordfreq",
            Cite((WORDFREQ.key,)),
            ".",
        )
    return pieces


def _cross_validated(folds: int) -> str:
    return (
        " The gain of a model is its log-likelihood on held-out items minus that of the baseline without surprisal, in "
        f"nats per observation, both fitted by ML in {folds}-fold cross-validation over items (seed {SEED}), "
        "with 95% bootstrap intervals over items."
    )


def _effects(people: StudiedPeople) -> str:
    drawn = (
        f"participants and items ({RESAMPLES:,} resamples of both"
        if people.n_participants
        else f"items ({RESAMPLES:,} resamples"
    )
    ceiling = (
        "; their correlations with the effects in models have a ceiling, the square root of the split-half reliability "
        "of people’s effects"
    )
    return (
        f" Effects of the predictions in people have 95% percentile intervals over {drawn}, seed {SEED})"
        f"{ceiling if people.n_kept >= MIN_PARTICIPANTS else ''}."
    )
