"""The operations that programs need most. `get`, `post` … reach all the others."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

from .agent_tests import AgentTests
from .games import Games
from .submissions import Submissions
from .transport import ApiError
from .values import Model, Run, ScoredSentence, Suite


class Client(Games, Submissions, AgentTests):
    """Suites, models, runs and surprisals; LM Challenge, ProPara and agent tests come with its bases."""

    # --- suites ---

    def suites(self, **filters: Any) -> Iterator[Suite]:
        """Filters are those of GET /suites/: q, tag, language, sort."""
        return map(Suite.of, self.rows("suites/", **filters))

    def suite(self, slug: str) -> Suite:
        return Suite.of(self.get(f"suites/{quote(slug)}/"))

    def import_suite(self, name: str, data: bytes, *, again: bool = False, **card: str) -> Suite:
        """A new suite of yours with a draft, from a file in any format of the import page. An ApiError with the code
        "there" names the suite that says the same, unless `again`."""
        card |= {"again": "true"} if again else {}
        return Suite.of(self.transport.send("POST", "suites/", body=card, files=[(name, data)]).json())

    def put_draft(self, slug: str, name: str, data: bytes) -> int:
        """Replace the suite's draft, or open one. Returns the number of the revision that it will be."""
        draft = self.transport.send(
            "PUT", f"suites/{quote(slug)}/draft/", files=[(name, data)], headers={"If-Match": "*"}
        ).json()
        return int(draft["revision"])

    def discard_draft(self, slug: str) -> None:
        self.transport.send("DELETE", f"suites/{quote(slug)}/draft/")

    def freeze(self, slug: str, note: str = "") -> int:
        """Freeze the draft. Returns the number of the revision."""
        return int(self.post(f"suites/{quote(slug)}/freeze/", {"note": note})["number"])

    def differs(self, slug: str, old: int, new: int) -> bool:
        """Whether two revisions say different things."""
        return any(self.get(f"suites/{quote(slug)}/diff/{old}/{new}/").values())

    def export(self, slug: str, revision: int | None = None, form: str = "json") -> bytes:
        """A revision as a file: json, json-trimmed, json-early, csv, tsv, blimp (minimal pairs, JSONL), lm-eval (a
        zipped task folder), bib. Default: the newest frozen one."""
        number = revision or next(iter(self.suite(slug).revisions), None)
        if number is None:
            raise ApiError(404, {"detail": f"{slug} has no frozen revision yet."})
        return self.transport.send(
            "GET", f"suites/{quote(slug)}/revisions/{number}/export/{quote(form)}/"
        ).body

    # --- models and runs ---

    def models(self, **filters: Any) -> Iterator[Model]:
        return map(Model.of, self.rows("models/", **filters))

    def model(self, slug: str) -> Model:
        return Model.of(self.get(f"models/{quote(slug)}/"))

    def start_run(
        self,
        suite: str,
        model: str,
        *,
        revision: int | None = None,
        policy: Mapping[str, Any] | None = None,
        again: bool = False,
    ) -> Run:
        """The run that is there where the same one is, unless `again`."""
        body: dict[str, Any] = {"suite": suite, "model": model} | ({"again": True} if again else {})
        body |= {"revision": revision} if revision is not None else {}
        body |= {"policy": dict(policy)} if policy else {}
        return Run.of(self.post("runs/", body))

    def run(self, key: str) -> Run:
        return Run.of(self.get(f"runs/{quote(key)}/"))

    def wait(self, key: str, *, seen: Callable[[Run], None] | None = None, seconds: float = 3600.0) -> Run:
        """Ask until the run has ended; `seen` is told every time. Raises TimeoutError."""
        return self._ended(self.run, key, seen, seconds)

    def results(self, key: str) -> dict[str, Any]:
        """Everything a run found: predictions, items, regions, tokens."""
        return dict(self.get(f"runs/{quote(key)}/results/"))

    def upload_results(self, name: str, data: bytes, **choice: str) -> dict[str, Any]:
        """A file of results that were computed elsewhere (docs/uploading-results.md). `choice`: suite, model, unit,
        visibility and what else the API takes. A file that has arrived is not kept a second time when it is sent
        again: its key is made of its content. Returns what POST /uploads/ answers."""
        content = hashlib.sha256(repr(sorted(choice.items())).encode() + data).hexdigest()
        headers = {"Idempotency-Key": content[:32]}
        answer = self.transport.send("POST", "uploads/", body=choice, files=[(name, data)], headers=headers)
        return dict(answer.json())

    # --- sentences ---

    def score(
        self,
        model: str,
        sentences: Sequence[str],
        *,
        policy: Mapping[str, Any] | None = None,
        seconds: float = 600.0,
    ) -> list[ScoredSentence]:
        """Surprisals of the tokens of these sentences. Raises TimeoutError."""
        body: dict[str, Any] = {"model": model, "sentences": list(sentences)}
        body |= {"policy": dict(policy)} if policy else {}
        answer = self.transport.send("POST", "score/", body=body)
        end, found = time.monotonic() + seconds, answer.json()
        while answer.status == 202:
            if time.monotonic() > end:
                raise TimeoutError(
                    f"no scores after {seconds:.0f} s; they will be at {answer.headers['Location']}"
                )
            self.transport.sleep(float(answer.headers.get("Retry-After", "1")))
            answer = self.transport.send("GET", f"score/{quote(found['id'])}/")
            found = answer.json()
        return list(map(ScoredSentence.of, found["sentences"]))
