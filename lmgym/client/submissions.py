"""ProPara: predictions, the leaderboard, and why a submission scores as it does."""

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
        """Scored at once against the newest version of the reference answers, or the one named. A file that had to be
        repaired is `waiting`, with every change in `raw["repairs"]`, unless `agree_to_repairs`. `card`: system,
        visibility, description, paper, link."""
        body: dict[str, Any] = {"answer_set": answer_set, "agree_to_repairs": agree_to_repairs, **card}
        body |= {"version": version} if version is not None else {}
        sent = self.transport.send("POST", "propara/submissions/", body=body, files=[(name, data)])
        return Submission.of(sent.json())

    def submission(self, key: str) -> Submission:
        return Submission.of(self.get(f"propara/submissions/{quote(key)}/"))

    def agree(self, key: str) -> Submission:
        """Score a waiting submission as repaired."""
        return Submission.of(self.post(f"propara/submissions/{quote(key)}/agree/"))

    def leaderboard(self, answer_set: str, version: int | None = None) -> list[dict[str, Any]]:
        """Rows of the newest version or of the one named, best first."""
        place = f"propara/answer-sets/{quote(answer_set)}/"
        number = version or max(self.get(place)["versions"], default=None)
        if number is None:
            raise ApiError(404, {"detail": f"{answer_set} has no version yet."})
        return list(self.rows(f"{place}versions/{number}/leaderboard/"))

    def explanation(self, key: str, process: int | None = None) -> dict[str, Any]:
        """The report of a submission (both metrics, intervals, warnings, mistakes); of one process its grids, summaries
        and mistakes, and every pair with its parts and the reason."""
        what = "report" if process is None else f"processes/{process}"
        return dict(self.get(f"propara/submissions/{quote(key)}/{what}/"))

    def compare_submissions(self, first: str, *others: str) -> dict[str, Any]:
        """Each of the others against the first, paired over the processes: `comparisons`, and `rows` by process."""
        return dict(self.get("propara/compare/", first=first, second=list(others)))
