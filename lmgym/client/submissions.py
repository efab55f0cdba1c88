"""Client methods for ProPara: submissions, leaderboards, reports, comparisons."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from .connection import Connection
from .transport import ApiError
from .values import Submission


class Submissions(Connection):
    def submit_predictions(
        self,
        answer_set: str,
        name: str,
        data: bytes,
        *,
        version: int | None = None,
        agree_to_repairs: bool = False,
        **card: str,
    ) -> Submission:
        """Upload and score predictions.

        Args:
            version: version of the reference answers; default: the newest.
            agree_to_repairs: score a file that needs repairs immediately; otherwise the submission is `waiting`, with
                the repairs in `raw["repairs"]`.
            card: further fields: system, visibility, description, paper, link.
        """
        body: dict[str, Any] = {"answer_set": answer_set, "agree_to_repairs": agree_to_repairs, **card}
        body |= {"version": version} if version is not None else {}
        response = self.transport.send("POST", "propara/submissions/", body=body, files=[(name, data)])
        return Submission.of(response.json())

    def submission(self, key: str) -> Submission:
        return Submission.of(self.get(f"propara/submissions/{quote(key)}/"))

    def agree(self, key: str) -> Submission:
        """Agree to the repairs of a waiting submission, and score it."""
        return Submission.of(self.post(f"propara/submissions/{quote(key)}/agree/"))

    def leaderboard(self, answer_set: str, version: int | None = None) -> list[dict[str, Any]]:
        """Read the leaderboard of a version (default: the newest), best first. Raises ApiError without any version."""
        path = f"propara/answer-sets/{quote(answer_set)}/"
        number = version or max(self.get(path)["versions"], default=None)
        if number is None:
            raise ApiError(404, {"detail": f"{answer_set} has no version yet."})
        return list(self.rows(f"{path}versions/{number}/leaderboard/"))

    def explanation(self, key: str, process: int | None = None) -> dict[str, Any]:
        """Read the report of a submission (both metrics, intervals, warnings, mistakes), or the details of one process
        (grids, summaries, mistakes, and each pair with its parts and the reason for its score)."""
        section = "report" if process is None else f"processes/{process}"
        return dict(self.get(f"propara/submissions/{quote(key)}/{section}/"))

    def compare_submissions(self, first: str, *others: str) -> dict[str, Any]:
        """Compare the first submission with each of the others, paired by process: `comparisons`, and `rows` by
        process."""
        return dict(self.get("propara/compare/", first=first, second=list(others)))
