"""`Result` of `lmgym.evaluate`: runs as tidy DataFrames. Values are in bits; missing values are NaN, never 0."""

from __future__ import annotations

import gzip
import json
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, astuple, dataclass, field, fields
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmgym.charts.figure import Figure
from lmgym.comparison import COMPARED, compared_rows
from lmgym.errors import InvalidArgument
from lmgym.files.bounded import Limits
from lmgym.frames import frame
from lmgym.models.engine import ScoringPolicy
from lmgym.runs import tables
from lmgym.runs.against_chance import Verdict, verdicts
from lmgym.runs.compute import RunResult, SentenceResult, region_bits, token_bits
from lmgym.runs.coverage import Coverage, Spelling, coverage_share
from lmgym.runs.figures import Drawn, rates_figure, regions_figure
from lmgym.runs.groups import group_rates
from lmgym.runs.methods import Methods, References, methods
from lmgym.runs.outcomes import PredictionOutcome
from lmgym.runs.paper import SuiteRates, predictions_table, regions_table, suites_table
from lmgym.runs.rules import RULES, Rule, Score, prediction_statistics, score
from lmgym.runs.studied import Studied
from lmgym.suites.authors import read_authors
from lmgym.suites.formats import SuiteDocument, designs, read_json, write_json
from lmgym.suites.formats.item_data import item_data as item_data_of
from lmgym.suites.formulas import parse
from lmgym.text import count
from lmgym.text.bibtex import Entry, bibtex, plain_key
from lmgym.text.columns import Column, Row, columns, header
from lmgym.text.paper_tables import PaperTable
from lmgym.text.replacing import replacing_files

RUNS = "runs.jsonl.gz"
"""File of a saved result with all runs, one per line; the tables are made from them."""

if TYPE_CHECKING:
    import pandas as pd

    from lmgym.people.against import Against
    from lmgym.people.observations import Observations


@dataclass(frozen=True)
class Run:
    """One suite on one model. `coverage` is None if words were not counted: the model's vocabulary is open, or no
    sentence has tokens."""

    suite: SuiteDocument
    model: str
    policy: ScoringPolicy
    result: RunResult
    provenance: dict[str, Any]
    coverage: Coverage | None
    completed: date = field(default_factory=lambda: date(*time.gmtime()[:3]))

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """Verdicts of the predictions against chance, Holm-corrected over the suite's predictions."""
        coverage = self.coverage
        share = coverage_share(coverage.n_words, coverage.n_unknown) if coverage else None
        return verdicts(self.result.predictions, coverage=share)

    @property
    def _context(self) -> Row:
        facts = self.provenance
        return self.suite.name, facts["suite_sha256"], self.model, facts["score_kind"], self.policy.whitespace

    @property
    def studied(self) -> Studied:
        """The run as a paper names it."""
        return Studied(
            suite=self.suite.name,
            revision=None,
            sha256=self.provenance["suite_sha256"],
            model=self.model,
            n_items=len(self.suite.items),
            n_conditions=len(self.suite.conditions),
            policy=self.policy.to_dict(),
            provenance=self.provenance,
            completed=self.completed,
        )

    def score(self, rule: Rule) -> Score:
        """Score the run under a rule."""
        expected = len(self.suite.predictions)
        return score(self.result.predictions, rule, expected, len(self.suite.region_names))

    def _predictions(self) -> Iterator[Row]:
        policy = tables.policy_values(self.policy.to_dict())
        for row, verdict in zip(self.result.predictions, self.verdicts, strict=True):
            figures = prediction_statistics(row)
            rate = tables.prediction_rate(row.position, row.prediction, row.formula, row, verdict, figures)
            yield *astuple(rate), *policy

    def _outcomes(self) -> Iterator[Row]:
        for row in self.result.predictions:
            yield from tables.outcome_rows(row.position, row.prediction, row.formula, self.result.items, row)

    def _regions(self) -> Iterator[Row]:
        names = self.suite.region_names
        for row in self.result.sentences:
            for region in region_bits(names, self.suite.sentences[row.position].contents, row):
                yield tables.region_row(row.item, row.condition, region)

    def _tokens(self) -> Iterator[Row]:
        for row in self.result.sentences:
            for number, token in enumerate(token_bits(row), start=1):
                yield tables.token_row(row.item, row.condition, number, token)


@dataclass(frozen=True)
class Result:
    """Runs of suites on models, ordered by model, then by suite."""

    runs: tuple[Run, ...]

    def __repr__(self) -> str:
        suites, models = ({getattr(run, name) for run in self.runs} for name in ("_context", "model"))
        names = count(len(models), "model"), count(len({s[:2] for s in suites}), "suite")
        return f"<lmgym.Result: {', '.join((count(len(self.runs), 'run'), *names))}>"

    def rates(self) -> pd.DataFrame:
        """Return one row per run and prediction: `n`, `passed`, `rate` with its 95% interval `low`, `high` (Wilson),
        `chance`, `ties`, p and verdict `against_chance`, margins in bits, and the policy. Ties do not pass. All
        columns: docs/names.md."""
        return self._frame(columns(*tables.RATES), Run._predictions)

    def rates_by(self, item_data: str) -> pd.DataFrame:
        """Return one row per run, prediction and value of item data: `group`, `n`, `passed`, `rate` with its 95%
        interval, and margins in bits. Items without a value come last, with an empty `group`. All columns:
        docs/names.md.

        Args:
            item_data: name of item data, such as "verb class" (docs/suite-format.md). Suites without it are left out.

        Raises:
            InvalidArgument: no suite has item data of this name with one value for each item.
        """
        by_suite = {id(run.suite): item_data_of(run.suite).by_item for run in self.runs}
        if not any(item_data in names for names in by_suite.values()):
            known = dict.fromkeys(name for names in by_suite.values() for name in names)
            raise InvalidArgument(
                f"No item data {item_data!r} with one value for each item. Choose: {', '.join(known) or 'none'}."
            )

        def rows(run: Run) -> Iterator[Row]:
            if (of_items := by_suite[id(run.suite)].get(item_data)) is None:
                return
            for row in run.result.predictions:
                for group in group_rates(row, run.result.items, item_data, of_items):
                    yield astuple(group)

        return self._frame(columns(tables.GroupRate), rows)

    def outcomes(self) -> pd.DataFrame:
        """Return one row per run, prediction and item: `outcome` (held, failed, tie, not evaluable), `margin`, and
        whether the item passes (`passed`) or is too close to call (`too_close`)."""
        return self._frame(columns(tables.Outcome), Run._outcomes)

    def regions(self) -> pd.DataFrame:
        """Return one row per run, item, condition and region, with its `content` and `surprisal`."""
        return self._frame(columns(tables.Region), Run._regions)

    def tokens(self) -> pd.DataFrame:
        """Return one row per token, including start and end tokens (`special`), with its position in the sentence."""
        return self._frame(columns(tables.Token), Run._tokens)

    def compare(self, first: str, second: str) -> pd.DataFrame:
        """Compare two models item by item on the suites that were run on both.

        Returns:
            One row per prediction: both rates, `difference` (second − first) with its 95% interval (Newcombe, paired
            rates), the items that only one of them gets right, the exact two-sided p of McNemar's test, and
            `p_corrected`, Holm-corrected over all rows.

        Raises:
            InvalidArgument: one of the models has no run, or they share no suite.
        """
        outcomes = self.outcomes()
        sides = [outcomes[outcomes["model"] == self._known(name)] for name in (first, second)]
        try:
            rows = compared_rows(*sides)
        except InvalidArgument as error:
            raise InvalidArgument(
                f"{first} and {second} have no predictions in common. Run both on the same suite."
            ) from error
        return frame(COMPARED, rows)

    def against(self, people: Observations, *, suite: str | None = None, **options: Any) -> Against:
        """Compare the models with people on one suite: mixed models of reading times, gains in log-likelihood, sizes of
        the predicted effects.

        Args:
            people: reading times or judgments of the suite's sentences.
            suite: name of the suite; required if there are several.
            options: `spill_over`, `transform`, `regions`, `language`, `controls`, `folds` and `slopes`, see
                `lmgym.people.fit_data.Options`.

        Returns:
            An object with the frames `coefficients()`, `gains()`, `differences()`, `effects()`, `item_effects()`,
            `cells()`, `fits()` and `table()`, and R code that fits the same models (`r_call`).

        Raises:
            InvalidArgument: the number of matching suites is not one, an unknown option, or no observation of the
                suite.
        """
        from lmgym.people.against import against
        from lmgym.people.fit_data import Options

        runs = [run for run in self.runs if suite in (None, run.suite.name)]
        documents = {run.provenance["suite_sha256"]: run.suite for run in runs}
        if len(documents) != 1:
            raise InvalidArgument(f"{len(documents)} suites match. Specify one suite.")
        if unknown := set(options) - {option.name for option in fields(Options)}:
            raise InvalidArgument(f"Unknown option {min(unknown)!r}.")
        (document,) = documents.values()
        sentences = {run.model: run.result.sentences for run in runs}
        return against(people, document, sentences, Options(**options))

    def plot(self, what: str = "regions", *, suite: str | None = None, model: str | None = None) -> Figure:
        """Draw a chart. Notebooks display it; its `save(path)` writes SVG, PNG or PDF, or the data as CSV or JSON,
        depending on the file extension.

        Args:
            what: "regions": mean surprisal by region and condition with 95% intervals, of one run; "rates": pass
                rate of each prediction with its 95% interval and chance level, by model.
            suite, model: only runs of this suite and of this model.

        Raises:
            InvalidArgument: unknown chart, no matching run, or regions of several runs.
        """
        if what not in _CHARTS:
            raise InvalidArgument(f"Unknown chart {what!r}. Choose {', '.join(map(repr, _CHARTS))}.")
        runs = [run for run in self.runs if suite in (None, run.suite.name) and model in (None, run.model)]
        if not runs:
            raise InvalidArgument("No run matches. Specify a suite and a model of this result, or neither.")
        return _CHARTS[what](runs)

    def table(self, what: str = "predictions", *, suite: str | None = None, rule: str = "each") -> PaperTable:
        """Build a table for a paper: `latex()`, `markdown()`, `csv()`, or `save(path)` as .tex, .md or .csv.

        Args:
            what: "predictions": pass rate of each prediction by model; "suites": pass rate on each suite by model;
                "regions": mean surprisal by condition and region, of one suite.
            suite: only this suite.
            rule: for suites: how predictions are combined, "each", "all" or "first".

        Raises:
            InvalidArgument: unknown table, suite or rule, or regions of several suites.
        """
        runs = [run for run in self.runs if suite in (None, run.suite.name)]
        if not runs:
            raise InvalidArgument(
                f"No run of the suite {suite!r}." if suite else "Without a run there is no table."
            )
        if what not in _TABLES:
            raise InvalidArgument(f"Unknown table {what!r}. Choose {', '.join(map(repr, _TABLES))}.")
        return _TABLES[what](runs, _rule(rule))

    def methods(self, *, rule: str = "each") -> Methods:
        """Write a methods paragraph of two sentences: `latex()`, `markdown()`, its references with `bibtex()`, or
        `save(path)` as .tex, .md or .bib.

        Args:
            rule: how pass rates combine predictions, "each", "all" or "first".

        Raises:
            InvalidArgument: no run, or an unknown rule.
        """
        if not self.runs:
            raise InvalidArgument("There are no runs to describe.")
        references = References(
            {run.studied.suite_name: [_suite_entry(run)] for run in self.runs},
            {run.model: [_model_entry(run)] for run in self.runs},
        )
        return methods([run.studied for run in self.runs], references, _rule(rule))

    @classmethod
    def load(cls, folder: str | Path) -> Result:
        """Read the results that `save` or `lmgym evaluate --save` wrote to a folder. Only runs.jsonl.gz is read, so
        changes to the tables have no effect.

        Raises:
            InvalidArgument: the folder has no runs.jsonl.gz, or it is damaged.
            OSError: the file cannot be read.
        """
        path = Path(folder).expanduser() / RUNS
        if not path.is_file():
            raise InvalidArgument(f"{path} does not exist. Write it with lmgym evaluate --save {folder}")
        try:
            with gzip.open(path) as file:
                return cls(tuple(_run_of(json.loads(line)) for line in file))
        except (gzip.BadGzipFile, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            raise InvalidArgument(
                f"{path} is damaged, or from another version of lmgym. Run lmgym evaluate again."
            ) from error

    def save(self, folder: str | Path) -> Path:
        """Write rates.csv, outcomes.csv, regions.csv, tokens.csv, provenance.json, the methods paragraph
        (methods.tex, methods.md, references.bib), and runs.jsonl.gz for `load` to a folder, creating it if needed.
        Results that it holds are replaced, unless writing fails.

        Raises:
            InvalidArgument: `folder` is a file.
            OSError: the files cannot be written.
        """
        target = Path(folder).expanduser()
        if target.is_file():
            raise InvalidArgument(f"{target} is a file. Choose a folder.")
        with replacing_files(target) as part:
            self._save(part)
        return target

    def _save(self, folder: Path) -> None:
        for name in ("rates", "outcomes", "regions", "tokens"):
            getattr(self, name)().to_csv(folder / f"{name}.csv", index=False)
        if self.runs:
            for name in ("methods.tex", "methods.md", "references.bib"):
                self.methods().save(folder / name)
        with gzip.GzipFile(folder / RUNS, "wb", mtime=0) as file:
            for run in self.runs:
                file.write(f"{json.dumps(_stored(run))}\n".encode())
        facts = [
            {
                "suite": run.suite.name,
                "model": run.model,
                "completed": run.completed.isoformat(),
                "policy": run.policy.to_dict(),
                "provenance": run.provenance,
                "failures": {row.text: row.failure for row in run.result.sentences if row.failure},
            }
            for run in self.runs
        ]
        text = json.dumps(facts, ensure_ascii=False, indent=2, allow_nan=False)
        (folder / "provenance.json").write_text(text + "\n", encoding="utf-8")

    def upload(self, site: str, token: str, *, visibility: str = "private") -> list[dict[str, Any]]:
        """Upload the runs with all tokens to a site, one file per model and suite. The site marks them as computed
        elsewhere.

        Can be repeated after a failure: the site does not store a file twice.

        Args:
            site: URL of the site. Its suites are matched by name, and must have the same sentences.
            token: an API token with write access.
            visibility: visibility of models that are new to the site: private or public.

        Returns:
            The site's response for each file, with `id`, `state`, the ids of its `runs`, and `report` (notices and
            warnings), among others.

        Raises:
            lmgym.client.ApiError: the site rejects a file.
            lmgym.client.NotReached: no connection.
        """
        from lmgym.client import Client

        client = Client(site, token)
        responses = []
        for run in self.runs:
            data = Result((run,)).tokens().to_csv(index=False).encode()
            name = f"{run.model}-{run.suite.name}.csv".replace("/", "-")
            responses.append(client.upload_results(name, data, visibility=visibility))
        return responses

    def _frame(self, header: Sequence[Column], rows: Callable[[Run], Iterable[Row]]) -> pd.DataFrame:
        cells = ((*run._context, *row) for run in self.runs for row in rows(run))
        return frame((*columns(tables.RunFacts), *header), cells)

    def _known(self, name: str) -> str:
        names = list(dict.fromkeys(run.model for run in self.runs))
        if name not in names:
            raise InvalidArgument(f"No run of {name!r}. Models: {', '.join(names) or 'none'}.")
        return name


def _stored(run: Run) -> dict[str, Any]:
    """Return a run as JSON, from which `_run_of` restores it."""
    result = run.result
    return {
        "suite": write_json(run.suite),
        "model": run.model,
        "policy": run.policy.to_dict(),
        "completed": run.completed.isoformat(),
        "provenance": run.provenance,
        "coverage": run.coverage and asdict(run.coverage),
        "items": result.items,
        "sentences": [vars(row) for row in result.sentences],
        "predictions": [vars(row) for row in result.predictions],
        "region_summary": result.region_summary,
    }


def _run_of(stored: dict[str, Any]) -> Run:
    suite = read_json(stored["suite"].encode(), Limits())
    positions = {(row.item, row.condition): place for place, row in enumerate(suite.sentences)}
    sentences = [
        SentenceResult(**row | {"position": positions[row["item"], row["condition"]]})
        for row in stored["sentences"]
    ]
    predictions = [PredictionOutcome(**row) for row in stored["predictions"]]
    words = stored["coverage"]
    return Run(
        suite,
        stored["model"],
        ScoringPolicy.from_dict(stored["policy"]),
        RunResult(stored["items"], sentences, predictions, stored["region_summary"]),
        stored["provenance"],
        words and Coverage(words["n_words"], tuple(words["unknown"]), Spelling(**words["spelling"])),
        date.fromisoformat(stored["completed"]),
    )


def _rule(key: str) -> Rule:
    if key not in RULES:
        raise InvalidArgument(f"Unknown rule {key!r}. Choose {', '.join(map(repr, RULES))}.")
    return RULES[key]


def _suite_entry(run: Run) -> Entry:
    digest = run.studied.sha256
    authors = [author.name for author in read_authors(str(run.suite.meta.get("author") or ""))]
    key = plain_key(f"{run.suite.name}-{digest[:8]}")
    note = f"Test suite, sha256 {digest}"
    return Entry(
        key, bibtex(key=key, title=run.suite.name, authors=authors, year=None, address="", note=note)
    )


def _model_entry(run: Run) -> Entry:
    key = plain_key(run.model)
    commit, digest = (str(run.provenance.get(name) or "") for name in ("model_revision", "model_fingerprint"))
    address = f"https://huggingface.co/{run.model.partition('@')[0]}" if len(commit) == 40 else ""
    note = f"Language model, {f'commit {commit}' if commit else f'fingerprint {digest}'}"
    return Entry(key, bibtex(key=key, title=run.model, authors=[], year=None, address=address, note=note))


def _predictions_table(runs: Sequence[Run], rule: Rule) -> PaperTable:
    return predictions_table([(run.studied, run.result.predictions) for run in runs])


def _suites_table(runs: Sequence[Run], rule: Rule) -> PaperTable:
    models = list(dict.fromkeys(run.model for run in runs))
    scores: dict[str, dict[str, Score]] = {}
    for run in runs:
        scores.setdefault(run.suite.name, {})[run.model] = run.score(rule)
    rows = [SuiteRates(name, [by_model.get(model) for model in models]) for name, by_model in scores.items()]
    return suites_table(rows, models, rule, [run.studied for run in runs])


def _regions_table(runs: Sequence[Run], rule: Rule) -> PaperTable:
    if len({run.studied.sha256 for run in runs}) > 1:
        raise InvalidArgument("Regions differ between suites. Specify one suite.")
    summaries = [(run.studied, run.result.region_summary) for run in runs]
    return regions_table(summaries, runs[0].suite.region_names)


_TABLES: dict[str, Callable[[Sequence[Run], Rule], PaperTable]] = {
    "predictions": _predictions_table,
    "suites": _suites_table,
    "regions": _regions_table,
}
"""Tables for papers, by name."""


def _drawn(run: Run) -> Drawn:
    return Drawn(run.model, run.suite.name, run.policy.whitespace, {})


def _regions_figure(runs: Sequence[Run]) -> Figure:
    if len(runs) > 1:
        raise InvalidArgument(f"{len(runs)} runs match. Specify one suite and one model.")
    (run,) = runs
    predictions = run.suite.predictions
    critical = {region for prediction in predictions for region in parse(prediction.formula).regions}
    looks = designs.looks(designs.factors_in(run.suite.meta, run.suite.conditions), run.suite.conditions)
    return regions_figure(
        _drawn(run), run.suite.region_names, run.result.region_summary, critical, looks=looks
    )


def _rates_figure(runs: Sequence[Run]) -> Figure:
    drawn = [(_drawn(run), run.result.predictions, run.verdicts) for run in runs]
    rows = [(*run._context, *row) for run in runs for row in run._predictions()]
    return rates_figure(drawn, header(tables.RunFacts, *tables.RATES), rows)


_CHARTS: dict[str, Callable[[Sequence[Run]], Figure]] = {"regions": _regions_figure, "rates": _rates_figure}
"""Charts by name."""
