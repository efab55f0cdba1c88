"""A methods paragraph of two sentences, what was run and how it was scored, with the BibTeX entries it cites."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

from lmgym import __version__
from lmgym.runs.rules import Rule
from lmgym.runs.studied import DIGITS, MOST_NAMED, Studied, named_model
from lmgym.text import count
from lmgym.text.bibtex import Entry, bibtex
from lmgym.text.paper_tables import escape_markdown
from lmgym.text.tex import escape

FORMS: Mapping[str, str] = {"tex": "application/x-tex", "md": "text/markdown", "bib": "application/x-bibtex"}
"""Content types by file extension."""
SOFTWARE = Entry(
    "lm-gym",
    bibtex(
        key="lm-gym",
        title="LM Gym: targeted tests of language models",
        authors=[],
        year=None,
        address="",
        note=f"Version {__version__}",
    ),
)
AGAINST_CHANCE = "exact one-sided binomial tests against chance, Holm-corrected over the predictions of a run"


@dataclass(frozen=True)
class Code:
    """Text in a typewriter font."""

    text: str


@dataclass(frozen=True)
class Cite:
    keys: tuple[str, ...]


Phrase: TypeAlias = tuple["str | Code | Cite", ...]


@dataclass(frozen=True)
class Methods:
    """The paragraph and its references. `save(path)` writes .tex, .md (Pandoc's citations) or .bib."""

    pieces: Phrase
    entries: tuple[Entry, ...]

    def latex(self) -> str:
        return "".join(map(_latex, self.pieces)) + "\n"

    def markdown(self) -> str:
        return "".join(map(_markdown, self.pieces)) + "\n"

    def bibtex(self) -> str:
        return "\n".join(entry.text for entry in self.entries)

    def _repr_markdown_(self) -> str:
        """Return what notebooks display."""
        return self.markdown()

    def written(self, form: str) -> str:
        """Return the text in one of FORMS."""
        writers: dict[str, Callable[[], str]] = {"tex": self.latex, "md": self.markdown, "bib": self.bibtex}
        return writers[form]()

    def save(self, path: str | Path) -> Path:
        """Write in the format of the path's extension. Raises ValueError for an extension not in FORMS."""
        target = Path(path).expanduser()
        form = target.suffix.removeprefix(".").lower()
        if form not in FORMS:
            raise ValueError(f"{target} must end in one of .{', .'.join(FORMS)}.")
        target.write_text(self.written(form), encoding="utf-8")
        return target


def _latex(piece: str | Code | Cite) -> str:
    if isinstance(piece, Cite):
        return rf"~\cite{{{','.join(piece.keys)}}}"
    return rf"\texttt{{{escape(piece.text)}}}" if isinstance(piece, Code) else escape(piece)


def _markdown(piece: str | Code | Cite) -> str:
    if isinstance(piece, Cite):
        return f" [{'; '.join(f'@{key}' for key in piece.keys)}]"
    return f"`{piece.text}`" if isinstance(piece, Code) else escape_markdown(piece)


@dataclass(frozen=True)
class References:
    """BibTeX entries of suites, by title and revision (`Studied.suite_name`), and of models, by label. `collection`:
    phrase and entries of the collection that the suites belong to, cited instead of them."""

    suites: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    models: Mapping[str, Sequence[Entry]] = field(default_factory=dict)
    collection: tuple[str, Sequence[Entry]] | None = None


def methods(
    runs: Sequence[Studied], references: References, rule: Rule, tests: str = AGAINST_CHANCE
) -> Methods:
    """Write the paragraph.

    Args:
        runs: at least one.
        rule: how pass rates combine the predictions of a suite.
        tests: the tests in the table of these runs, in words, such as AGAINST_CHANCE.
    """
    pieces = (
        *what_was_scored(runs, references), "; ",
        f"pass rates follow the scoring rule “{rule.label}” ({rule.counts}), ties count as failed, and we report 95% "
        f"Wilson intervals and {tests}.",
    )  # fmt: skip
    return with_references(pieces, references)


def what_was_scored(runs: Sequence[Studied], references: References) -> Phrase:
    """Name the models, the suites, LM Gym and the settings. Leaves the second sentence open."""
    return (
        *_what_was_run(runs, references), " with LM Gym ", __version__, Cite((SOFTWARE.key,)), ". ",
        *_how_it_was_scored(runs),
    )  # fmt: skip


def with_references(pieces: Phrase, references: References, more: Sequence[Entry] = ()) -> Methods:
    """Return the paragraph with the entries that it cites. `more`: entries of other things than suites and models."""
    cited = {key for piece in pieces if isinstance(piece, Cite) for key in piece.keys}
    groups = (*references.suites.values(), *references.models.values())
    entries = {entry.key: entry for group in groups for entry in group}
    if references.collection:
        entries |= {entry.key: entry for entry in references.collection[1]}
    entries |= {entry.key: entry for entry in (*more, SOFTWARE)}
    return Methods(_merged(pieces), tuple(entry for key, entry in entries.items() if key in cited))


def _merged(pieces: Phrase) -> Phrase:
    """Join neighbouring texts."""
    merged: list[str | Code | Cite] = []
    for piece in pieces:
        if isinstance(piece, str) and merged and isinstance(merged[-1], str):
            merged[-1] += piece
        else:
            merged.append(piece)
    return tuple(merged)


def _what_was_run(runs: Sequence[Studied], references: References) -> Phrase:
    models = {run.model: run for run in runs}
    named_models = [
        (
            named_model(
                run.model, run.model_version, "results computed elsewhere" if run.is_uploaded else ""
            ),
            *_cite(references.models.get(label, ())),
        )
        for label, run in models.items()
    ]
    return ("We evaluated ", *_listed(named_models), " on ", *_suites(runs, references))


def _suites(runs: Sequence[Studied], references: References) -> Phrase:
    suites = {run.suite_name: run for run in runs}
    n = len(suites)
    noun = "the test suite " if n == 1 else f"{n} test suites"
    if references.collection:
        words, entries = references.collection
        return (f"{'the test suite' if n == 1 else f'the {n} test suites'} of {words}", *_cite(entries))
    if n > MOST_NAMED:
        entries = [entry for name in suites for entry in references.suites.get(name, ())]
        return (noun, *_cite(entries))
    phrases = [(_suite(run), *_cite(references.suites.get(name, ()))) for name, run in suites.items()]
    return (noun if n == 1 else "the test suites ", *_listed(phrases))


def _suite(run: Studied) -> str:
    facts = [
        "" if run.revision is None else f"revision {run.revision}",
        f"sha256 {run.sha256[:DIGITS]}",
        f"{count(run.n_items, 'item')} in {count(run.n_conditions, 'condition')}" if run.n_items else "",
    ]
    return named_model(run.suite, *facts)


def _cite(entries: Iterable[Entry]) -> Phrase:
    keys = tuple(dict.fromkeys(entry.key for entry in entries))
    return (Cite(keys),) if keys else ()


def _listed(phrases: Sequence[Phrase]) -> Phrase:
    """Join phrases: "a, b and c"."""
    joined: list[str | Code | Cite] = []
    for k, phrase in enumerate(phrases):
        if k:
            joined.append(" and " if k == len(phrases) - 1 else ", ")
        joined.extend(phrase)
    return tuple(joined)


_JOINS = {
    "space": "joined by spaces",
    "natural": "joined by spaces, except before punctuation",
    "none": "joined without spaces",
}


def _how_it_was_scored(runs: Sequence[Studied]) -> Phrase:
    """Describe the settings of each model, by its first run that was computed here."""
    known: dict[str, Studied] = {}
    for run in runs:
        if not run.is_uploaded:
            known.setdefault(run.model, run)
    unknown = list(dict.fromkeys(run.model for run in runs if run.model not in known))
    if not known:
        return ("How the sentences were scored is not recorded",)
    left_out = (f"; how {' and '.join(unknown)} scored the sentences is not recorded",) if unknown else ()
    return (
        *_by_model(known, _kind), " were computed ", *_by_model(known, _start),
        ", the regions were ", *_by_model(known, lambda run: (_JOINS.get(str(run.policy.get("join")), "joined"),)),
        ", and a region’s value is the ", *_by_model(known, lambda run: (str(run.policy.get("metric", "sum")),)),
        " over its tokens", *_more(known), *left_out,
    )  # fmt: skip


def _kind(run: Studied) -> Phrase:
    kind = run.scored_as.score_kind
    return ("Surprisals in bits",) if kind == "surprisal" else (f"{kind[:1].upper()}{kind[1:]}s in bits",)


def _start(run: Studied) -> Phrase:
    token = run.provenance.get("bos")
    if run.scored_as.score_kind != "surprisal":
        return ("with the tokens on both sides as context",)
    if token and run.policy.get("bos") != "never":
        return ("after the start token ", Code(str(token)))
    return ("without a start token",)


def _more(models: Mapping[str, Studied]) -> Phrase:
    """Describe settings that few runs have."""
    phrases = {label: _rare_settings(run) for label, run in models.items()}
    if not any(phrases.values()):
        return ()
    return (", with ", *_by_model(models, lambda run: _rare_settings(run) or ("no further settings",)))


def _rare_settings(run: Studied) -> Phrase:
    policy = run.policy
    settings = [
        "the end token scored" if policy.get("eos") and run.provenance.get("end_token_scored") else "",
        "the end of a word counted as part of the word" if policy.get("whitespace") == "trailing" else "",
        f"long texts scored in windows that share {count(policy['overlap'], 'token')}"
        if policy.get("overlap") is not None
        else "",
    ]
    words = ", ".join(filter(None, settings))
    return (words,) if words else ()


def _by_model(models: Mapping[str, Studied], phrase: Callable[[Studied], Phrase]) -> Phrase:
    """Return what all models share, or each phrase with its models in brackets."""
    by_phrase: dict[Phrase, list[str]] = {}
    for label, run in models.items():
        by_phrase.setdefault(phrase(run), []).append(label)
    if len(by_phrase) == 1:
        return next(iter(by_phrase))
    return _listed([(*words, f" ({', '.join(labels)})") for words, labels in by_phrase.items()])
