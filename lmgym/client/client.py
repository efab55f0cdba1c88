"""The class `Client`. Use `get`, `post` and `rows` for operations without a method; `table` imports pandas."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .agent_tests import AgentTests
from .games import Games
from .submissions import Submissions
from .transport import ApiError
from .values import Model, Run, ScoredSentence, Suite

if TYPE_CHECKING:
    import pandas as pd


class Client(Games, Submissions, AgentTests):
    """Client for suites, models, runs and surprisals. Base classes add LM Challenge, ProPara and agent tests.

    Every request raises ApiError for an error response, and NotReached if the server does not respond.
    """

    # --- suites ---

    def suites(self, **filters: Any) -> Iterator[Suite]:
        """List suites. `filters`: q, tag, language, sort and other parameters of `GET suites/`."""
        return map(Suite.of, self.rows("suites/", **filters))

    def suite(self, slug: str) -> Suite:
        return Suite.of(self.get(f"suites/{quote(slug)}/"))

    def import_suite(self, name: str, data: bytes, *, again: bool = False, **card: str) -> Suite:
        """Create a suite with a draft from a file in any supported format. Raises an ApiError with code "exists" if an
        identical suite exists, unless `again` is set."""
        card |= {"again": "true"} if again else {}
        return Suite.of(self.transport.send("POST", "suites/", body=card, files=[(name, data)]).json())

    def put_draft(self, slug: str, name: str, data: bytes) -> int:
        """Replace the suite's draft, or create one. Returns the number of its future revision."""
        draft = self.transport.send(
            "PUT", f"suites/{quote(slug)}/draft/", files=[(name, data)], headers={"If-Match": "*"}
        ).json()
        return int(draft["revision"])

    def discard_draft(self, slug: str) -> None:
        self.transport.send("DELETE", f"suites/{quote(slug)}/draft/")

    def freeze(self, slug: str, note: str = "") -> int:
        """Freeze the draft. Returns the revision's number."""
        return int(self.post(f"suites/{quote(slug)}/freeze/", {"note": note})["number"])

    def differs(self, slug: str, old: int, new: int) -> bool:
        """Return whether two revisions differ."""
        return any(self.get(f"suites/{quote(slug)}/diff/{old}/{new}/").values())

    def suite_file(self, slug: str, revision: int | None = None, form: str = "json") -> bytes:
        """Download a revision (default: the newest frozen one). `form`: json, json-trimmed, json-early, csv, tsv, xlsx,
        csv-excel, blimp (minimal pairs, JSONL), lm-eval or inspect-ai (zipped folders of tasks) or bib. Raises
        ApiError if no revision is frozen."""
        number = revision or next(iter(self.suite(slug).revisions), None)
        if number is None:
            raise ApiError(404, {"detail": f"{slug} has no frozen revision yet."})
        return self.transport.send(
            "GET", f"suites/{quote(slug)}/revisions/{number}/export/{quote(form)}/"
        ).body

    def collection(self, slug: str) -> dict[str, Any]:
        """Read a collection, with the suites in it that you may see."""
        return dict(self.get(f"collections/{quote(slug)}/"))

    def create_collection(self, slug: str, title: str = "") -> dict[str, Any]:
        """Create an empty collection. `title`: default: the slug."""
        return dict(self.post("collections/", {"slug": slug, "title": title or slug}))

    def add_to_collection(self, slug: str, suite: str, revision: int | None = None) -> None:
        """Append a revision of a suite (default: the newest frozen one), unless the collection has it."""
        entry = {"suite": suite} | ({"revision": revision} if revision is not None else {})
        self.post(f"collections/{quote(slug)}/suites/", entry)

    def publish_collection(self, slug: str, *, make_public: Sequence[str] = ()) -> dict[str, Any]:
        """Make a collection public and permanent. Its suites must be public, or be named in `make_public`, which makes
        them public too."""
        return dict(self.post(f"collections/{quote(slug)}/publish/", {"make_public": list(make_public)}))

    # --- models and runs ---

    def models(self, **filters: Any) -> Iterator[Model]:
        return map(Model.of, self.rows("models/", **filters))

    def model(self, slug: str) -> Model:
        return Model.of(self.get(f"models/{quote(slug)}/"))

    def register_model(self, slug: str, backend: str, config: Mapping[str, Any], **card: Any) -> Model:
        """Register a model. Models that read files wait for approval unless staff register them; others are checked at
        once.

        Args:
            config: configuration that fits the JSON schema of the backend (`GET backends/{kind}/`).
            card: name (default: the slug), visibility and other fields of `POST models/`.
        """
        body = {"slug": slug, "name": slug, "backend": backend, "config": dict(config), **card}
        return Model.of(self.post("models/", body))

    def register_series(
        self, slug: str, backend: str, config: Mapping[str, Any], revisions: str, **card: Any
    ) -> list[Model]:
        """Register the checkpoints of a Hub model, one model each, or none of them.

        Args:
            revisions: branches and tags, separated by commas; `step*` and `step{1000..9000..1000}` are patterns.
            config, card: see `register_model`.
        """
        body = {"slug": slug, "name": slug, "backend": backend, "config": dict(config), **card}
        return _series(self.post("model-series/", body | {"revisions": revisions}))

    def approve_series(self, slug: str) -> list[Model]:
        """Approve all waiting checkpoints of this model's series and queue their checks. Staff only."""
        return _series(self.post(f"models/{quote(slug)}/approve-series/"))

    def check_model(self, slug: str) -> Model:
        """Queue the model's check again, for example after adding its files."""
        return Model.of(self.post(f"models/{quote(slug)}/check/"))

    def approve_model(self, slug: str) -> Model:
        """Approve a model and queue its check. Staff only."""
        return Model.of(self.post(f"models/{quote(slug)}/approve/"))

    def wait_for_model(
        self, slug: str, *, on_update: Callable[[Model], None] | None = None, seconds: float = 3600.0
    ) -> Model:
        """Poll until no check is in progress; `on_update` is called with each response. Raises TimeoutError."""
        return self._ended(self.model, slug, on_update, seconds)

    def start_run(
        self,
        suite: str,
        model: str,
        *,
        revision: int | None = None,
        policy: Mapping[str, Any] | None = None,
        again: bool = False,
    ) -> Run:
        """Queue a run, or return an existing run of the same revision, model and policy unless `again` is set."""
        body: dict[str, Any] = {"suite": suite, "model": model} | ({"again": True} if again else {})
        body |= {"revision": revision} if revision is not None else {}
        body |= {"policy": dict(policy)} if policy else {}
        return Run.of(self.post("runs/", body))

    def run(self, key: str) -> Run:
        return Run.of(self.get(f"runs/{quote(key)}/"))

    def wait(
        self, key: str, *, on_update: Callable[[Run], None] | None = None, seconds: float = 3600.0
    ) -> Run:
        """Poll until the run has ended; `on_update` is called with each response. Raises TimeoutError."""
        return self._ended(self.run, key, on_update, seconds)

    def run_batch(
        self,
        suites: Sequence[str],
        models: Sequence[str],
        *,
        policy: Mapping[str, Any] | None = None,
        again: bool = False,
    ) -> list[str]:
        """Queue a run of every model on the newest frozen revision of every suite.

        Returns:
            The ids of the runs, suite by suite. Existing runs, finished or not, are reused unless `again` is set.

        Raises:
            ApiError: a run was refused. Nothing was queued; `errors` has every reason.
        """
        body = {"suites": list(suites), "models": list(models), "policy": dict(policy or {})}
        cells = self.post("runs/batch/", {**body, "again": again, "all_or_nothing": True})["cells"]
        return [cell["run"] for cell in cells]

    def change_runs(self, action: str, **filters: str) -> dict[str, Any]:
        """Cancel, retry or delete many runs.

        Args:
            action: "cancel", "retry" or "delete".
            filters: suite, model, tag, state; owner (default: your account).

        Returns:
            {"done": number of runs, "refused": {reason: number}, "left": number beyond the limit of one request}.
        """
        changed: dict[str, Any] = self.post("runs/many/", {"action": action, **filters})
        return changed

    def wait_all(
        self, keys: Iterable[str], *, on_update: Callable[[Run], None] | None = None, seconds: float = 3600.0
    ) -> list[Run]:
        """Wait for several runs, `seconds` in total. Raises TimeoutError."""
        end = time.monotonic() + seconds
        return [self.wait(key, on_update=on_update, seconds=max(0.0, end - time.monotonic())) for key in keys]

    def table(self, runs: Iterable[Run]) -> pd.DataFrame:
        """Build a DataFrame with one row per prediction of the finished runs.

        Columns: `run`, `revision` and `source`, then the columns of `lmgym.Result.rates`; see docs/names.md.
        """
        import io

        import pandas as pd

        from lmgym.runs.tables import RATES, StoredRunFacts
        from lmgym.text.columns import header

        frames = [pd.DataFrame(columns=header(StoredRunFacts, *RATES))]
        for run in runs:
            if run.state == "done":
                table = self.transport.send("GET", "exports/predictions/csv/", query={"run": run.id}).body
                frames.append(pd.read_csv(io.BytesIO(table), keep_default_na=False, na_values=[""]))
        return pd.concat(frames[1:], ignore_index=True) if len(frames) > 1 else frames[0]

    def compare(self, first: str, second: str) -> dict[str, Any]:
        """Compare two runs on the same items: two models, or two revisions of a suite.

        Returns:
            `suite`; `first` and `second`, the two sides; `rate`, the comparison of their pass rates, with the columns
            of `lmgym.Result.compare` and models named by their slugs; `margin`, the difference of their margins in
            bits, or None; `unlike`, other settings that differ; `note`, how the numbers were computed; and the other
            fields of a pair in `GET compare/{suite}/`.

        Raises:
            ValueError: the runs cannot be compared, or one is not the run that counts for its model on its revision.
        """
        runs = [self.run(key) for key in (first, second)]
        if runs[0].suite != runs[1].suite:
            raise ValueError(f"The runs are on different suites: {runs[0].suite} and {runs[1].suite}.")
        models, revisions = ({getattr(run, name): 1 for run in runs} for name in ("model", "revision"))
        query = {"model": ",".join(models), "r": ",".join(map(str, revisions))}
        comparison = self.get(f"compare/{quote(runs[0].suite)}/", **query)
        sides = comparison["sides"]
        for pair in comparison["pairs"]:
            left, right = sides[pair["first"]], sides[pair["second"]]
            if {left["run"], right["run"]} == {run.id for run in runs}:
                more = {name: comparison[name] for name in ("suite", "unlike", "note")}
                rate = pair["rate"] | {"first": _name(left, revisions), "second": _name(right, revisions)}
                return {**pair, **more, "rate": rate, "first": left, "second": right}
        raise ValueError(
            "Only the newest runs of two models or two revisions can be compared; "
            f"{' and '.join(run.id for run in runs)} are not such a pair."
        )

    def export(
        self,
        what: str = "predictions",
        form: str = "csv",
        *,
        suites: Sequence[str] = (),
        models: Sequence[str] = (),
        tag: str | None = None,
        collection: str | None = None,
        every: bool = False,
    ) -> bytes:
        """Export the results of many runs as one table, by suites, models, tag or collection.

        Args:
            what: the table: scores, predictions, outcomes, regions or tokens.
            form: csv or parquet.
            every: export all finished runs; default: only the run that counts for each model on each revision
                (docs/results.md).
        """
        query = {"suite": ",".join(suites) or None, "model": ",".join(models) or None, "tag": tag}
        query |= {"collection": collection, "all": "true" if every else None}
        return self.transport.send("GET", f"exports/{quote(what)}/{quote(form)}/", query=query).body

    def results(self, key: str) -> dict[str, Any]:
        """Read all results of a run: predictions, items, regions, tokens."""
        return dict(self.get(f"runs/{quote(key)}/results/"))

    def upload_results(self, name: str, data: bytes, **choice: str) -> dict[str, Any]:
        """Upload results computed elsewhere (docs/uploading-results.md). The Idempotency-Key is a hash of the content,
        so an upload repeated within a day is not stored twice.

        Args:
            choice: suite, model, unit, visibility and other fields of `POST uploads/`.

        Returns:
            The response of `POST uploads/`.
        """
        content = hashlib.sha256(repr(sorted(choice.items())).encode() + data).hexdigest()
        headers = {"Idempotency-Key": content[:32]}
        response = self.transport.send("POST", "uploads/", body=choice, files=[(name, data)], headers=headers)
        return dict(response.json())

    def plan_upload(self, name: str, data: bytes, **choice: str) -> dict[str, Any]:
        """Preview `upload_results`; nothing is stored."""
        return dict(self.transport.send("POST", "uploads/plan/", body=choice, files=[(name, data)]).json())

    # --- human data ---

    def import_human_data(
        self,
        name: str,
        data: bytes,
        *,
        suite: str,
        answers: Mapping[str, str] | None = None,
        seconds: float = 600.0,
        **choice: str,
    ) -> dict[str, Any]:
        """Import reading times or judgments for a suite, and wait until it is done (docs/people.md).

        Args:
            answers: answers to questions about the file, by name.
            choice: revision, title.

        Returns:
            The last response of `GET human-data/imports/{id}/`: `state` "done" with the slug `human_data`; "asks" with
            open questions; or "failed" with `problems` or an `error`.

        Raises:
            ApiError: the file has open questions or does not match the suite; `errors` has the reasons.
            TimeoutError: the import is not done; it continues.
        """
        body = {
            "suite": suite,
            **choice,
            **{f"answers.{key}": value for key, value in (answers or {}).items()},
        }
        row = self.transport.send("POST", "human-data/", body=body, files=[(name, data)]).json()
        return self._polled(f"human-data/imports/{quote(row['id'])}/", row, seconds)

    def human_data(self, slug: str) -> dict[str, Any]:
        """Read a data set: what it is, exclusions, and the suite's predictions evaluated on people."""
        return dict(self.get(f"human-data/{quote(slug)}/"))

    def human_data_file(self, slug: str, form: str = "csv") -> bytes:
        """Download the observations as csv or parquet, or the citation as bib."""
        return self.transport.send("GET", f"human-data/{quote(slug)}/observations/{quote(form)}/").body

    def compare_with_people(
        self, slug: str, models: Sequence[str], *, seconds: float = 3600.0, **options: Any
    ) -> dict[str, Any]:
        """Compare models with a data set, and wait for the result.

        Args:
            models: slugs of models that have run on the data's revision.
            options: spill_over, regions.

        Returns:
            The comparison; `result` has its tables, with the columns of `Result.against` (docs/names.md).

        Raises:
            TimeoutError: the comparison is not done; it continues.
        """
        body = {"models": list(models), **options}
        made = self.post(f"human-data/{quote(slug)}/comparisons/", body)
        return self._polled(f"human-data/{quote(slug)}/comparisons/{quote(made['id'])}/", made, seconds)

    def comparison_table(self, slug: str, key: str, what: str, form: str = "csv") -> bytes:
        """Download a table of a comparison, such as gains, or observations: the fitted ones with all predictors."""
        place = f"human-data/{quote(slug)}/comparisons/{quote(key)}/{quote(what)}/{quote(form)}/"
        return self.transport.send("GET", place).body

    def _polled(self, place: str, body: Mapping[str, Any], seconds: float) -> dict[str, Any]:
        end = time.monotonic() + seconds
        while body["state"] in ("queued", "running"):
            if time.monotonic() > end:
                raise TimeoutError(f"not done after {seconds:.0f} s; it continues: {place}")
            self.transport.sleep(1.0)
            body = self.get(place)
        return dict(body)

    # --- sentences ---

    def score(
        self,
        model: str,
        sentences: Sequence[str],
        *,
        policy: Mapping[str, Any] | None = None,
        seconds: float = 600.0,
    ) -> list[ScoredSentence]:
        """Compute the surprisals of the tokens of sentences. Raises TimeoutError."""
        body: dict[str, Any] = {"model": model, "sentences": list(sentences)}
        body |= {"policy": dict(policy)} if policy else {}
        response = self.transport.send("POST", "score/", body=body)
        end, result = time.monotonic() + seconds, response.json()
        while response.status == 202:
            if time.monotonic() > end:
                raise TimeoutError(
                    f"no scores after {seconds:.0f} s; they will appear at {response.headers['Location']}"
                )
            self.transport.sleep(float(response.headers.get("Retry-After", "1")))
            response = self.transport.send("GET", f"score/{quote(result['id'])}/")
            result = response.json()
        return list(map(ScoredSentence.of, result["sentences"]))


def _name(side: Mapping[str, Any], revisions: Collection[int]) -> str:
    """Name a side of a comparison as files of results do: by the model's slug, with the revision if there are two."""
    return f"{side['model']}, r{side['revision']}" if len(revisions) > 1 else str(side["model"])


def _series(answer: Any) -> list[Model]:
    return [Model.of(raw) for raw in answer["models"]]
