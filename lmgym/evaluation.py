"""Public functions of the library: `evaluate`, `score`, `load_suite`, `lint`."""

from __future__ import annotations

import glob
import json
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lmgym.errors import FormatError, Interrupted, InvalidArgument
from lmgym.models.backends.base import require_possible
from lmgym.models.engine import ScoringFailure, ScoringPolicy
from lmgym.models.given import LoadedModel, name_of, open_model
from lmgym.results import Result, Run
from lmgym.runs.compute import metric_of
from lmgym.runs.provenance import coverage_of_run, provenance
from lmgym.runs.score_store import FileStore
from lmgym.runs.scoring import Progress, score_document
from lmgym.suites.formats import SuiteDocument, read_json
from lmgym.suites.intake import ENCODINGS, read_any
from lmgym.suites.intake.parsing import CHOICES, ParseOptions
from lmgym.suites.lint import Finding
from lmgym.suites.lint import lint as findings_of
from lmgym.suites.regions import JOIN_POLICIES
from lmgym.text.problems import Problem

if TYPE_CHECKING:
    import pandas as pd


def load_suite(
    source: str | Path | Mapping[str, Any] | pd.DataFrame | SuiteDocument,
    name: str = "",
    *,
    columns: Mapping[str, str] | None = None,
    sheet: str = "",
    encoding: str = "",
    header: str | int = "",
    layout: str = "",
    prediction: str = "",
    cut: str = "",
    fillers: str = "",
    empty: str = "",
    incomplete: str = "",
    marks: str = "",
    markup: str = "",
    conditions: Mapping[str, str] | None = None,
    regions: Mapping[str, str] | None = None,
) -> SuiteDocument:
    """Load a suite from a file (JSON, JSON Lines, CSV, TSV, .xlsx, .ods, Parquet, items of Ibex), the dictionary of a
    JSON suite, or a DataFrame. A `SuiteDocument` is returned unchanged.

    If a table leaves something open, NotUnderstood says which of the arguments after `name` answers it.

    Args:
        source: a DataFrame needs the columns of a CSV file: long (one row per region: item_number, condition_name,
            region_number, content) or wide (one row per sentence); see docs/suite-format.md.
        name: name of a suite that is a table; default: the file name, or "suite" for a DataFrame. JSON names itself.
        columns: roles of table columns by letter: {"A": "item", "B": "condition", "C": "text"}; see
            `lmgym.suites.intake.parsing.ROLES`. Required if it is unclear which columns are regions.
        sheet: sheet of a workbook; required if several sheets could be the suite.
        encoding: encoding of a text file that is not UTF-8; see `lmgym.suites.intake.ENCODINGS`.
        header: number of the row that names the columns; "no" if none does. Default: it is found.
        layout: "good_bad" or "bad_good": every two rows of a list of sentences are a pair, in this order; "groups":
            without an item column, an item begins when a condition is repeated; "single": without a condition column,
            every row is an item in the only condition.
        prediction: condition of a pair that should have the lower total surprisal; "matched": each target of contexts
            and targets is more likely after its own context; "-": no prediction.
        cut: "/", "|" or "words": where a single column of text is cut into regions; "none": it is not.
        fillers: "out" or "keep": what to do with items that have different conditions from most; "1", "2", …: which of
            several experiments is read.
        empty: "text", "out" or "keep": take cells without text (empty or ∅) as empty texts, leave their items out, or
            keep the signs as text.
        incomplete: "fill" or "out": give rows without a condition the one above (merged cells), or leave them out
            (remarks below the table).
        marks: "remove" or "keep": what to do with marks of judgements (*) and of words (*word*, _word_, [word]); "cut":
            remove them, and cut sentences at the marked words.
        markup: "remove" or "keep": what to do with HTML in texts.
        conditions, regions: new names by name in the table: {"gram": "match", "odd": ""}; "" leaves it out.

    Raises:
        InvalidArgument: unknown encoding or answer, a name that the table lacks, or unsupported type of source.
        FormatError: the suite is malformed; lists every problem with its location.
        OSError: the file cannot be read.
    """
    if encoding and encoding not in ENCODINGS:
        raise InvalidArgument(
            f"{encoding!r} is not a supported encoding. Choose one of {', '.join(ENCODINGS)}."
        )
    answers = {
        "layout": layout,
        "cut": cut,
        "fillers": fillers,
        "empty": empty,
        "incomplete": incomplete,
        "marks": marks,
        "markup": markup,
    }
    for option, value in answers.items():
        if value and value not in CHOICES[option]:
            raise InvalidArgument(f"{option}={value!r} is unknown. Choose {', '.join(CHOICES[option])}.")
    options = ParseOptions(
        encoding=encoding,
        sheet=sheet,
        header=str(header),
        columns=dict(columns or {}),
        layout=layout,
        prediction=prediction,
        cut=cut,
        fillers=fillers,
        empty=empty,
        incomplete=incomplete,
        marks=marks,
        markup=markup,
        conditions=dict(conditions or {}),
        regions=dict(regions or {}),
    )
    if isinstance(source, SuiteDocument):
        return source
    if isinstance(source, Mapping):
        try:
            return read_json(json.dumps(source).encode())
        except TypeError as error:
            raise FormatError(
                [Problem("suite", f"The dictionary cannot be written as JSON: {error}.")]
            ) from error
    if isinstance(source, str) and not source.strip():
        raise InvalidArgument("The name of the suite file is empty.")
    if isinstance(source, str | Path):
        path = Path(source).expanduser()
        return read_any(path.read_bytes(), name or path.name, options)
    if hasattr(source, "to_csv"):
        return read_any(source.to_csv(index=False).encode(), f"{name or 'suite'}.csv", options)
    raise InvalidArgument(
        f"{type(source).__name__} is not a suite. Pass a file, a dictionary or a DataFrame."
    )


def lint(doc: Any, join: str = "space") -> list[Finding]:
    """Check a suite without a model. The codes of findings are listed in docs/suite-format.md.

    Args:
        doc: anything `load_suite` accepts.
        join: how regions are joined into a sentence: "space", "natural" or "none".

    Returns:
        Findings: errors, then warnings, then information.

    Raises:
        InvalidArgument: unknown `join`, or unsupported type of suite.
        FormatError: the suite is malformed.
        OSError: the file cannot be read.
    """
    if join not in JOIN_POLICIES:
        raise InvalidArgument(f"join={join!r} is unknown. Choose {', '.join(JOIN_POLICIES)}.")
    return findings_of(load_suite(doc), join)


def evaluate(
    suites: Any,
    models: Any,
    *,
    policy: ScoringPolicy | Mapping[str, Any] | None = None,
    device: str = "auto",
    dtype: str = "float32",
    progress: bool | None = None,
    cache: str | Path | None = None,
) -> Result:
    """Run suites on models. On the same machine with the same kernels, the numbers equal the site's bit for bit.

    Each model is loaded once, scores all suites, and is released before the next one is loaded.

    Args:
        suites: a file, a pattern ("suites/*.json"), anything `load_suite` accepts, or a list of these.
        models: one model or several (see `lmgym.models.given.open_model`), or {name: model}.
        policy: start and end tokens, joining, metric, whitespace; see `ScoringPolicy`. Without a metric, each suite
            uses its own.
        device, dtype: for models loaded from files.
        progress: show a progress bar on standard error; None = only in a terminal or a notebook.
        cache: file that keeps sentence scores between calls; created if missing. A sentence is scored again if the
            model, a setting that changes the values of its tokens, the kind of device or a library version changes.
            Scores of models without a fingerprint, such as objects with `score`, are not cached.

    Returns:
        A `Result` with one run per model and suite. A sentence that cannot be scored has NaN and a reason; other
        sentences are not affected.

    Raises:
        InvalidArgument: no suite, an unsupported type of suite, no model, two models with the same name, or an invalid
            policy.
        FormatError: a suite is malformed.
        OSError: a suite file cannot be read.
        BackendError: a model cannot be loaded, or does not support the policy.
        Interrupted: Ctrl-C (a KeyboardInterrupt); the completed runs are in `result`.
    """
    documents = list(_documents(suites))
    if not documents:
        raise InvalidArgument(f"No suite found: {suites!r}.")
    named = _named(models)
    if not named:
        raise InvalidArgument("No model given.")
    policies = [_policy(document, policy) for document in documents]
    runs: list[Run] = []
    try:
        with _bar(progress) as step:
            for name, model in named:
                loaded = (
                    model if isinstance(model, LoadedModel) else open_model(model, device=device, dtype=dtype)
                )
                for document, suite_policy in zip(documents, policies, strict=True):
                    bar = step(f"{name} · {document.name}")
                    runs.append(_run(document, name, loaded, suite_policy, bar, cache))
    except KeyboardInterrupt:
        raise Interrupted(Result(tuple(runs))) from None
    return Result(tuple(runs))


def score(
    texts: str | Sequence[str],
    model: Any,
    *,
    policy: ScoringPolicy | Mapping[str, Any] | None = None,
    device: str = "auto",
    dtype: str = "float32",
) -> pd.DataFrame:
    """Compute surprisals of single texts.

    Returns:
        A DataFrame with one row per token: `text_number` and `token_number` (from 1), `token`, `token_id`, `start` and
        `end` (character offsets), `special`, `surprisal` in bits (NaN = not scored, e.g. the first token without a
        start token), and `failure`. A text that cannot be scored has one row with the reason in `failure`.

    Raises:
        InvalidArgument: a text is not a string, or the policy is invalid.
        BackendError: the model cannot be loaded, or does not support the policy.
    """
    rows = [texts] if isinstance(texts, str) else list(texts)
    if not all(isinstance(text, str) for text in rows):
        raise InvalidArgument("Texts must be strings: pass one string or a list of strings.")
    loaded = model if isinstance(model, LoadedModel) else open_model(model, device=device, dtype=dtype)
    scoring_policy = policy if isinstance(policy, ScoringPolicy) else _of_mapping(policy or {})
    require_possible(loaded.kind, scoring_policy)
    cells: list[tuple[Any, ...]] = []
    for number, result in enumerate(loaded.backend.score(rows, scoring_policy), start=1):
        if isinstance(result, ScoringFailure):
            cells.append((number, None, None, None, None, None, None, None, result.reason))
            continue
        columns = zip(result.tokens, result.ids, result.offsets, result.special, result.bits, strict=True)
        for token_number, (token, token_id, (start, end), special, bits) in enumerate(columns, start=1):
            cells.append((number, token_number, token, token_id, start, end, special, bits, ""))
    return token_frame(cells)


def token_frame(cells: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """Build, from its rows, the DataFrame that `score` returns."""
    import pandas as pd

    names = (
        "text_number", "token_number", "token", "token_id", "start", "end", "special",
        "surprisal", "failure",
    )  # fmt: skip
    frame = pd.DataFrame(list(cells), columns=list(names))
    whole = dict.fromkeys(("text_number", "token_number", "token_id", "start", "end"), "Int64")
    return frame.astype(whole | {"special": "boolean", "surprisal": "float64"})


def files_like(pattern: str) -> list[str]:
    """Expand a glob pattern to sorted files; return an existing path, or one without wildcards, unchanged."""
    if not glob.has_magic(pattern) or Path(pattern).exists():
        return [pattern]
    return sorted(glob.glob(str(Path(pattern).expanduser()), recursive=True))


def _documents(suites: Any) -> Iterator[SuiteDocument]:
    if isinstance(suites, str):
        suites = files_like(suites)
    elif isinstance(suites, Path | Mapping | SuiteDocument) or hasattr(suites, "to_csv"):
        suites = [suites]
    if not isinstance(suites, Iterable):
        raise InvalidArgument(
            f"{type(suites).__name__} is not a suite. Pass a file, a dictionary or a DataFrame."
        )
    for suite in suites:
        if isinstance(suite, str) and (files := files_like(suite)) != [suite]:
            yield from _documents(map(Path, files))
            continue
        try:
            yield load_suite(suite)
        except FormatError as error:
            if isinstance(suite, str | Path):
                error.add_note(f"in {suite}")
            raise


def _named(models: Any) -> list[tuple[str, Any]]:
    if isinstance(models, Mapping):
        return [(str(name), model) for name, model in models.items()]
    several = (
        isinstance(models, Iterable)
        and not isinstance(models, str | Path | tuple)
        and not hasattr(models, "score")
    )
    named = [
        (model.name if isinstance(model, LoadedModel) else name_of(model), model)
        for model in (models if several else [models])
    ]
    names = [name for name, _ in named]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise InvalidArgument(
            f"Two models are called {twice!r}. Pass a dictionary with unique names: {{'first': …, 'second': …}}."
        )
    return named


def _policy(document: SuiteDocument, requested: ScoringPolicy | Mapping[str, Any] | None) -> ScoringPolicy:
    if isinstance(requested, ScoringPolicy):
        return requested
    if requested is not None and not isinstance(requested, Mapping):
        raise InvalidArgument(
            f"{requested!r} is not a policy. Pass a ScoringPolicy or a dictionary of its fields."
        )
    return _of_mapping({"metric": metric_of(document), **(requested or {})})


def _of_mapping(fields: Mapping[str, Any]) -> ScoringPolicy:
    try:
        return ScoringPolicy.from_dict(fields)
    except ValueError as error:
        raise InvalidArgument(f"Invalid policy: {error}.") from error


def _run(
    document: SuiteDocument,
    name: str,
    model: LoadedModel,
    policy: ScoringPolicy,
    progress: Progress,
    cache: str | Path | None,
) -> Run:
    require_possible(model.kind, policy)
    facts = model.backend.facts
    store = None
    if (
        cache is not None and facts.fingerprint
    ):  # without a fingerprint, a changed model would get the old model's scores
        store = FileStore(Path(cache).expanduser(), facts, policy)
    result = score_document(document, model.backend, policy, store=store, progress=progress)
    coverage = coverage_of_run(facts, result.sentences)
    origin = provenance(document.sha256(), model.kind, model.backend, result, policy, coverage)
    return Run(document, name, policy, result, origin, coverage)


def _is_in_notebook() -> bool:
    """Return True in a notebook kernel, whose streams are not terminals."""
    shell = ipython.get_ipython() if (ipython := sys.modules.get("IPython")) else None
    return hasattr(shell, "kernel")


@contextmanager
def _bar(show: bool | None) -> Iterator[Any]:
    """Yield a function that starts the next run under a name and returns its `progress` callback."""
    from tqdm import TqdmWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TqdmWarning)  # without ipywidgets the notebook's bar is plain text
        from tqdm.auto import tqdm
    if show is None and _is_in_notebook():
        show = True
    disable = None if show is None else not show
    with tqdm(unit="sentence", disable=disable, leave=False) as bar:

        def step(name: str) -> Progress:
            bar.reset(total=0)
            bar.set_description(name)

            def progress(done: int, total: int) -> None:
                bar.total = total
                bar.update(done - bar.n)

            return progress

        yield step
